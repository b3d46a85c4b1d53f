#include "services/inference/engine/features/missingness.h"

#include <math.h>

static const double CHANCE = 0.001;

/* n times the divergence of a share from another, in nats. */
static double divergence(double n, double share, double other)
{
    double in = share > 0 ? share * log(share / other) : 0;
    return n * (in + (share < 1 ? (1 - share) * log((1 - share) / (1 - other)) : 0));
}

static double share(size_t gaps, size_t rows)
{
    return (double)gaps / (double)rows;
}

/* Twice the logarithm of the likelihood ratio has one degree of freedom, whose tail exp(-x / 2) bounds. */
bool tab_gaps_differ(const tab_gap_count *c, size_t columns)
{
    if (c->known == 0 || c->asked == 0 || c->asked_gaps == 0 || columns == 0)
        return false;
    double known = share(c->known_gaps, c->known), asked = share(c->asked_gaps, c->asked);
    double all = share(c->known_gaps + c->asked_gaps, c->known + c->asked);
    return asked > known &&
           divergence((double)c->known, known, all) + divergence((double)c->asked, asked, all) >
               log((double)columns / CHANCE);
}

double tab_gaps_thin(const tab_gap_count *c)
{
    double known = share(c->known_gaps, c->known), asked = share(c->asked_gaps, c->asked);
    return (asked - known) / (asked * (1 - known));
}
