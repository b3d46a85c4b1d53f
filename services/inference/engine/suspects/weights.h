/* The weights of each kind's logistic regression, in the order of its finder's features, the constant last.
 * Made by `make bench-suspects ARGS=--fit`. */
#ifndef TAB_SUSPECTS_WEIGHTS_H
#define TAB_SUSPECTS_WEIGHTS_H

static const double tab_suspect_weights[TAB_SUSPECT_KINDS][TAB_SUSPECT_FEATURES + 1] = {
    [TAB_SUSPECT_FORMAT] = { -0.267, 2.055, 7.839, 3.926, -0.864, 1.650, 2.709, -1.158, -0.391, 2.401, 0.000,
                             0.000, -11.578 },
    [TAB_SUSPECT_TYPO] = { -6.509, 14.828, -3.843, -3.225, 0.096, -3.402, 2.191, -0.269, -0.160, 0.000, 0.000,
                           0.000, -4.982 },
    [TAB_SUSPECT_RULE] = { 3.334, -8.681, 0.168, 7.456, 7.115, -3.955, -2.601, 0.085, 3.424, 1.820, 1.799,
                           0.000, -14.211 },
    [TAB_SUSPECT_OUTLIER] = { 1.355, 7.830, 2.819, -3.528, 0.597, -4.477, -1.342, -0.049, 3.184, -0.166,
                              0.000, -1.954, -3.314 },
    [TAB_SUSPECT_RANGE] = { 4.014, 5.307, 1.811, 1.139, 0.717, -0.621, -5.231, -2.266, 1.931, -6.973, 0.522,
                            -2.379, -1.753 },
    [TAB_SUSPECT_SWAPPED] = { 0.087, 0.108, 0.000, -0.443, 0.516, 0.142, 0.000, 0.000, 0.000, 0.000, 0.000,
                              0.000, 2.592 },
};
#endif
