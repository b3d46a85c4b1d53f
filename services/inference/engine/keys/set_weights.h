/* The weights of references by several columns: of each feature of sets.h, the constant last. Made by
 * `train-keys --sets-write FILE`. */
#ifndef TAB_KEY_SET_WEIGHTS_H
#define TAB_KEY_SET_WEIGHTS_H

#include "services/inference/engine/keys/sets.h"

static const double tab_key_set_weights[TAB_KEY_SET_FEATURES + 1] = {
    [TAB_KEY_SET_F_MISSED] = -16.4580,     [TAB_KEY_SET_F_COVERED] = -0.5623,
    [TAB_KEY_SET_F_CHANCE_LEAST] = 0.7557, [TAB_KEY_SET_F_LOOSE] = 2.0222,
    [TAB_KEY_SET_F_REFERS] = 1.6718,       [TAB_KEY_SET_F_EXACT] = -413.4551,
    [TAB_KEY_SET_F_ONCE] = -1.2826,        [TAB_KEY_SET_F_ROWS] = -0.0399,
    [TAB_KEY_SET_F_WITHIN] = -0.5685,      [TAB_KEY_SET_F_PARENT_WITHIN] = 0.5144,
    [TAB_KEY_SET_F_APART] = -0.0211,       [TAB_KEY_SET_F_ORDER] = 1.3528,
    [TAB_KEY_SET_F_OTHERS] = -2.4563,      [TAB_KEY_SET_F_SMALLEST] = -1.3481,
    [TAB_KEY_SET_F_FIRST] = 1.2748,        [TAB_KEY_SET_F_PARENT_UP] = -0.4869,
    [TAB_KEY_SET_F_BACK] = -3.5969,        [TAB_KEY_SET_FEATURES] = -0.8091,
};

#endif
