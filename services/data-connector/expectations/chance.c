/* See chance.h. */
#include "services/data-connector/expectations/chance.h"

#include <math.h>

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

static double log_at(const chance_draw *d, double x)
{
    return log_choose(d->marked, x) + log_choose(d->all - d->marked, d->drawn - x) -
           log_choose(d->all, d->drawn);
}

/* The sum from x on, upwards or downwards. Terms fall from the mode on; where x lies on its other side the
 * sum passes it, and ends only behind it. */
static double tail(const chance_draw *d, double x, int step)
{
    double least = fmax(0, d->drawn + d->marked - d->all), most = fmin(d->marked, d->drawn), sum = 0;
    double mode = floor((d->drawn + 1) * (d->marked + 1) / (d->all + 2));
    x = step > 0 ? fmax(x, least) : fmin(x, most);
    for (double term = x < least || x > most ? 0 : exp(log_at(d, x)); x >= least && x <= most; x += step) {
        sum += term;
        double rest = (d->all - d->marked) - (d->drawn - x);
        term *= step > 0 ? (d->marked - x) * (d->drawn - x) / ((x + 1) * (rest + 1))
                         : x * rest / ((d->marked - x + 1) * (d->drawn - x + 1));
        if (term < 1e-17 * sum && (step > 0 ? x >= mode : x <= mode))
            break;
        if (!(term > 0)) /* the far side's terms underflow: each is taken by itself */
            term = x + step >= least && x + step <= most ? exp(log_at(d, x + step)) : 0;
    }
    return fmin(sum, 1);
}

double chance_at_least(const chance_draw *d, double x)
{
    return x > d->drawn * d->marked / d->all ? tail(d, x, 1) : fmin(1, fmax(0, 1 - tail(d, x - 1, -1)));
}

double chance_at_most(const chance_draw *d, double x)
{
    return x < d->drawn * d->marked / d->all ? tail(d, x, -1) : fmin(1, fmax(0, 1 - tail(d, x + 1, 1)));
}

double chance_both(const chance_draw *d, double x)
{
    if (!(d->all > 0))
        return 1;
    return x > d->drawn * d->marked / d->all ? fmin(1, 2 * chance_at_least(d, x))
                                             : fmin(1, 2 * chance_at_most(d, x));
}

double chance_least(const chance_draw *d)
{
    double least = fmax(0, d->drawn + d->marked - d->all), most = fmin(d->marked, d->drawn);
    return fmin(1, 2 * exp(fmin(log_at(d, least), log_at(d, most))));
}

double chance_normal(double p)
{
    double low = 0, high = 37;
    for (int i = 0; i < 60; i++) {
        double z = (low + high) / 2;
        *(erfc(z / sqrt(2)) > p ? &low : &high) = z;
    }
    return low;
}

double chance_student(double t, double degrees)
{
    double u = (8 * degrees + 1) / (8 * degrees + 3) * sqrt(degrees * log1p(t * t / degrees));
    return erfc(u / sqrt(2));
}
