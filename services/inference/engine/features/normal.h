/* The standard normal distribution. */
#ifndef TAB_NORMAL_H
#define TAB_NORMAL_H

/* The share below x. */
double tab_normal_below(double x);
double tab_normal_density(double x);
/* The x with a share p of (0, 1) below it, by Acklam's rational form, error below 1e-9 of it. */
double tab_normal_quantile(double p);
#endif
