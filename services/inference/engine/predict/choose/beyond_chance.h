/* Whether out-of-fold answers go with the target by more than chance. */
#ifndef TAB_BEYOND_CHANCE_H
#define TAB_BEYOND_CHANCE_H

#include "services/inference/engine/learn/stack/stack.h"

/* By how many standard deviations of a random order of the targets the answers of s, out of fold, agree with
 * them: of numbers by ranks (Spearman 1904), of classes by the probability of the true class. One far value
 * decides neither. NaN: out of memory, or nothing varies.
 *
 * The deviation is that of rows by themselves times the root of 2: of two rows that learn from each other
 * each one's agreement is the other's as well. */
double tab_agreement_z(const tab_problem *p, const tab_stack *s);

/* The z that chance passes in at most a share alpha of the cases, for one of n: the normal tail at z is below
 * exp(-z^2 / 2) (Chernoff), and n of them are below their sum. */
double tab_chance_z(size_t n, double alpha);
#endif
