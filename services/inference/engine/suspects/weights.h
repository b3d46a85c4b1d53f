/* The weights of each kind's logistic regression, in the order of its finder's features, the
 * constant last. Made by `make bench-suspects ARGS="--fit FILE"`. */
#ifndef TAB_SUSPECTS_WEIGHTS_H
#define TAB_SUSPECTS_WEIGHTS_H

static const double tab_suspect_weights[TAB_SUSPECT_KINDS][TAB_SUSPECT_FEATURES + 1] = {
    [TAB_SUSPECT_FORMAT] = { -1.283, 2.333, 5.760, 4.133, -1.796, 2.756, 2.022, -1.211, -0.070, 1.344, -3.916,
                             18.808, -22.500, 1.622, -6.908, -6.965 },
    [TAB_SUSPECT_TYPO] = { -7.315, 16.262, -1.659, -3.279, 0.196, -3.446, 1.240, -0.295, 0.380, 0.000, 0.000,
                           0.000, 0.000, 0.000, 0.000, -4.887 },
    [TAB_SUSPECT_RULE] = { 2.938, -8.712, 0.207, 6.861, 7.908, -4.311, -2.976, 0.079, 3.420, 0.854, 1.250,
                           0.000, 0.000, 0.000, 0.000, -12.948 },
    [TAB_SUSPECT_OUTLIER] = { 1.565, 6.749, 2.481, -2.500, -0.158, -4.114, -1.268, -0.124, 1.385, -0.078,
                              0.000, -1.849, 0.000, 0.000, 2.783, -3.558 },
    [TAB_SUSPECT_RANGE] = { 1.612, 3.867, 1.863, 1.183, 0.485, -0.650, -3.790, 1.641, 1.861, -1.515, 0.233,
                            -0.889, -7.523, 2.726, 3.552, -4.694 },
    [TAB_SUSPECT_SWAPPED] = { -0.025, 0.041, 0.000, -0.569, 0.398, 0.126, 0.000, 0.000, 0.000, 0.000, 0.000,
                              0.000, 0.000, 0.000, 0.000, 2.955 },
    [TAB_SUSPECT_IDENTITY] = { 8.730, -0.844, 6.552, -8.155, 7.741, -5.822, -0.553, 0.873, 1.804, 7.171,
                               0.281, 0.777, 0.000, 0.000, 0.000, -13.143 },
    [TAB_SUSPECT_VARIANT] = { -4.866, 7.063, 0.602, -2.595, 1.586, -3.242, 2.691, -1.525, -1.737, -0.681,
                              5.026, 3.302, 0.000, 0.000, 0.000, -0.114 },
    [TAB_SUSPECT_ORDER] = { 2.387, -2.735, 3.662, 1.266, -1.247, 4.695, -5.865, 10.431, -2.908, 12.624,
                            -0.001, 7.524, 0.379, 0.000, 0.000, -11.926 },
    [TAB_SUSPECT_INEQUALITY] = { 4.197, -4.009, 1.059, 0.924, -5.217, 2.975, -2.490, 5.466, -4.663, 3.965,
                                 0.473, 2.818, 7.235, -1.867, 10.600, -7.599 },
    [TAB_SUSPECT_REFERENCE] = { 1 },  /* its own feature is its log odds */
    [TAB_SUSPECT_CALENDAR] = { 1 },   /* the same */
    [TAB_SUSPECT_CODE] = { 1 },       /* the same */
    [TAB_SUSPECT_STILL] = { 1 },      /* the same */
    [TAB_SUSPECT_UNIT] = { 1 },       /* the same */
    [TAB_SUSPECT_MISPLACED] = { 1 },  /* the same */
    [TAB_SUSPECT_IMPOSSIBLE] = { 1 }, /* the same */
};

/* Of a cell's log odds, another kind's confidence, whether both would have it mended to the same,
 * whether it can be mended; the constant. */
enum { TAB_SUSPECT_SETTLED = 4 };
static const double tab_suspect_settled[TAB_SUSPECT_SETTLED + 1] = { 0.991, 1.482, 1.619, 0.610, -0.892 };
#endif
