/* The weights of each feature of within.h, the constant last. Made by `train-keys` (tests/bench/keys). */
#ifndef TAB_KEY_WITHIN_WEIGHTS_H
#define TAB_KEY_WITHIN_WEIGHTS_H

#include "services/inference/engine/keys/within.h"

/* clang-format off */
static const double tab_key_within_weights[TAB_KEY_WITHIN_FEATURES + 1] = {
    [TAB_KEY_WITHIN_F_EVIDENCE] = 1.0452,
    [TAB_KEY_WITHIN_F_NONE] = 3.9150,
    [TAB_KEY_WITHIN_F_SELVES] = -2.6419,
    [TAB_KEY_WITHIN_FEATURES] = -7.7296,
};
/* clang-format on */

#endif
