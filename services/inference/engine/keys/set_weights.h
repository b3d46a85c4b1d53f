/* The weights of each feature of sets.h, the constant last. Made by `train-keys` (tests/bench/keys). */
#ifndef TAB_KEY_SET_WEIGHTS_H
#define TAB_KEY_SET_WEIGHTS_H

#include "services/inference/engine/keys/sets.h"

/* clang-format off */
static const double tab_key_set_weights[TAB_KEY_SET_FEATURES + 1] = {
    [TAB_KEY_SET_F_MISSED] = -25.6582,
    [TAB_KEY_SET_F_COVERED] = 0.3281,
    [TAB_KEY_SET_F_CHANCE_LEAST] = 0.7565,
    [TAB_KEY_SET_F_LOOSE] = 1.1700,
    [TAB_KEY_SET_F_REFERS] = 1.7800,
    [TAB_KEY_SET_F_EXACT] = -302.7067,
    [TAB_KEY_SET_F_ONCE] = -1.6972,
    [TAB_KEY_SET_F_ROWS] = -0.2507,
    [TAB_KEY_SET_F_WITHIN] = -0.6060,
    [TAB_KEY_SET_F_PARENT_WITHIN] = 0.5755,
    [TAB_KEY_SET_F_APART] = -0.0938,
    [TAB_KEY_SET_F_ORDER] = 0.6816,
    [TAB_KEY_SET_F_OTHERS] = -2.2274,
    [TAB_KEY_SET_F_SMALLEST] = -1.1021,
    [TAB_KEY_SET_F_FIRST] = 3.3906,
    [TAB_KEY_SET_F_PARENT_UP] = -1.9393,
    [TAB_KEY_SET_F_BACK] = -4.2968,
    [TAB_KEY_SET_FEATURES] = -2.1979,
};
/* clang-format on */

#endif
