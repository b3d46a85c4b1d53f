/* Weights of align.c's features: log-odds before the columns compete.
 *
 *   values  from the columns' values alone. Set by hand and checked with tests/bench/match, where F1 is flat
 *           around them (decision 0106). A logistic fit, one source left out, gave a lower F1 at 0.5
 *   list    one column lists what values there are and the other holds them. Fitted (logistic, weights of one
 *           sign) to 40 pairs made from the tables of tests/bench/match: one table against lists of the
 *           other's values among lists of all others' (decision 0171; tests/bench/match/lists.py)
 *   rows    with matched rows; set by hand as the first. Their intercept matters: one more or less costs
 *           0.004 and 0.008 of F1 on real cases, up to 0.06 on fabricated ones (decision 0307) */
#ifndef TAB_ALIGN_WEIGHTS_H
#define TAB_ALIGN_WEIGHTS_H

#include "services/inference/engine/align/align.h"

/* clang-format off */
static const struct {
    float of[3];
} tab_align_weight[TAB_ALIGN_FEATURES] = {
    /*  values   list   rows */
    { {      2,   2.7f,      1 } }, /* values in common: Jaccard; list: rows explained softly */
    { {      1,  0.75f,      1 } }, /* share of the smaller set of values that is common; list: of the values held */
    { {      2,   2.7f,      1 } }, /* rows that hold common values, the smaller share; list: of the other column */
    { {      3,      0,      2 } }, /* cosine of the idf-weighted tokens */
    { {      2,   0.5f,      1 } }, /* cosine of the hashed 3-grams */
    { {      1,   0.5f,   0.5f } }, /* cosine of the shapes */
    { {   1.5f,      0,      1 } }, /* one less the largest distance of the distributions */
    { {  -0.5f,  -0.5f,  -0.5f } }, /* both are numbers */
    { {     -3,  -1.7f,     -2 } }, /* only one is */
    { {      1,  0.15f,      1 } }, /* ratio of the distinct shares; list: values explained softly */
    { {      1,      0,   0.5f } }, /* ratio of the mean lengths */
    { {   0.5f,      0,   0.5f } }, /* ratio of the mean numbers of tokens */
    { {      1,      0,   0.5f } }, /* likeness of the shares of digits */
    { {      1,      0,      1 } }, /* one role: product of its confidences */
    { {   0.5f,      0,   0.5f } }, /* one type */
    { {     -2,   1.1f,     -1 } }, /* few values: 1 / sqrt(1 + values) */
    { {      2,   1.6f,      1 } }, /* few values x Jaccard; list: how many are held */
    { {      1,      0,   0.5f } }, /* both are dates */
    { {      0,      0,      0 } }, /* one lists what the other holds */
    { {      0,      0,      2 } }, /* rows: mean likeness */
    { {      0,      0,      4 } }, /* rows: the same above chance */
    { {      0,      0,      2 } }, /* rows: share of equal values */
    { {      0,      0,      4 } }, /* rows: rank correlation */
    { {      0,      0,      3 } }, /* rows: association, the smaller direction */
    { {      0,      0,      1 } }, /* rows: the larger one */
    { {      0,      0,     -1 } }, /* rows: one value missing */
    { {      0,      0,      0 } }, /* rows: trust by their number */
};
/* clang-format on */
static const float tab_align_intercept[3] = { -6.5f, -7.4f, -6.5f };
#endif
