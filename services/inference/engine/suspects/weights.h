/* The weights of each kind's logistic regression, in the order of its finder's features, the
 * constant last. Made by `make bench-suspects ARGS="--fit FILE"`. */
#ifndef TAB_SUSPECTS_WEIGHTS_H
#define TAB_SUSPECTS_WEIGHTS_H

static const double tab_suspect_weights[TAB_SUSPECT_KINDS][TAB_SUSPECT_FEATURES + 1] = {
    [TAB_SUSPECT_FORMAT] = { -1.210, 2.978, 6.784, 4.704, -1.425, 3.844, 2.654, -1.102, -0.111, 2.674, 0.000,
                             0.000, -12.559 },
    [TAB_SUSPECT_TYPO] = { -6.643, 14.671, -3.749, -3.166, 0.124, -3.484, 2.091, -0.300, -0.131, 0.000, 0.000,
                           0.000, -4.805 },
    [TAB_SUSPECT_RULE] = { 3.234, -7.509, -0.055, 7.405, 8.991, -4.218, -2.117, -0.088, 3.287, -1.200, 1.220,
                           0.000, -11.456 },
    [TAB_SUSPECT_OUTLIER] = { 1.757, 8.824, 2.502, -3.618, 0.587, -4.052, -1.387, -0.518, 3.744, -0.648,
                              0.000, -2.275, -3.136 },
    [TAB_SUSPECT_RANGE] = { 4.215, 5.362, 1.788, 1.222, 0.756, -0.369, -5.046, -2.228, 2.051, -7.045, 0.305,
                            -2.524, -1.928 },
    [TAB_SUSPECT_SWAPPED] = { -0.090, -0.030, 0.001, -0.451, 0.488, 0.066, 0.000, 0.000, 0.000, 0.000, 0.000,
                              0.000, 2.846 },
    [TAB_SUSPECT_IDENTITY] = { 8.730, -0.844, 4.052, -8.155, 7.741, -5.822, -0.553, 0.873, 1.804, 7.171,
                               0.281, 0.777, -12.393 },
};
#endif
