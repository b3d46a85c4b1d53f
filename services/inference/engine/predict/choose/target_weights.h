/* Weights of predict/choose/rank.h: tests/bench/targets/run --fit, decision 0298. */
#ifndef TAB_TARGET_WEIGHTS_H
#define TAB_TARGET_WEIGHTS_H

/* clang-format off */
static const float tab_target_weight[TAB_CLUES] = {
      0.56f, /* skill */
      1.00f, /* beyond */
     -0.58f, /* computed */
     -0.66f, /* chance */
     -0.26f, /* determined */
     -0.62f, /* part */
      2.04f, /* last */
      1.39f, /* first */
     -0.79f, /* place */
      0.81f, /* two */
      0.31f, /* few */
     -0.26f, /* many */
      0.95f, /* distinct */
      0.43f, /* whole */
      0.56f, /* tail */
      1.17f, /* amount */
      1.27f, /* rating */
     -0.45f, /* count */
     -0.89f, /* percentage */
      0.59f, /* status */
      0.39f, /* flag */
     -0.72f, /* age */
     -0.98f, /* person */
     -0.73f, /* where */
     -0.21f, /* when */
     -0.29f, /* what */
};
/* clang-format on */
#endif
