/* Tails of chance for expectations.c. */
#ifndef DATA_CHANCE_H
#define DATA_CHANCE_H

#include <stddef.h>

/* Of `all` cells `marked` bear a mark; `drawn` are drawn without replacement. */
typedef struct {
    double all, marked, drawn;
} chance_draw;

/* P(X >= x) and P(X <= x) of marked ones among those drawn, hypergeometric and exact. */
double chance_at_least(const chance_draw *d, double x);
double chance_at_most(const chance_draw *d, double x);
/* Twice the smaller tail, at most 1. */
double chance_both(const chance_draw *d, double x);
/* The least that chance_both can come to, whatever x: P that all marked ones are drawn, or none. */
double chance_least(const chance_draw *d);

/* How far out on a normal distribution p lies, of both tails; 37 at most. */
double chance_normal(double p);
/* P(|T| >= t) of Student's distribution, by Wallace's transformation (Annals of Mathematical Statistics 30,
 * 1959). */
double chance_student(double t, double degrees);

#endif
