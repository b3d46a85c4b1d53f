/* The order of rows. Of the labelled tables' measures three in four have neighbouring rows that are alike
 * (correlation above 0.04), of independent draws one in four: tables are sorted, come in blocks, or run
 * through time, and columns that follow the same order follow each other. One standard normal series a
 * table says what neighbours share; each column mixes it with noise of its own (a one-factor Gaussian
 * copula; decision 0207). */
#include <math.h>

#include "tools/train/maker.h"

bool drift_begin(maker *m)
{
    chance *c = m->c;
    double *d = tab_arena_new_of(m->a, double, m->rows), way = chance_unit(c), at = chance_normal(c);
    if (d == NULL)
        return false;
    if (way < 0.2) { /* no order */
        m->drift = NULL;
        return true;
    }
    double keeps = 1 - exp(-1.5 - 4 * chance_unit(c)); /* of a walk, from row to row */
    size_t block = 2 + (size_t)((double)m->rows * 0.5 * chance_unit(c) * chance_unit(c));
    for (size_t i = 0; i < m->rows; i++) {
        if (way < 0.55) /* blocks */
            at = i % block == 0 ? chance_normal(c) : at;
        else if (way < 0.85) /* through time */
            at = keeps * at + sqrt(1 - keeps * keeps) * chance_normal(c);
        else /* sorted by something */
            at = 3.46 * (((double)i + 0.5) / (double)m->rows - 0.5);
        d[i] = at;
    }
    m->drift = d;
    return true;
}

void drift_column(maker *m)
{
    bool follows = chance_of(m->c, 0.75);
    double tie = sqrt(0.02 + 0.96 * chance_unit(m->c));
    m->tie = m->drift == NULL || !follows ? 0 : chance_of(m->c, 0.5) ? tie : -tie;
}

double drift_normal(maker *m, size_t row)
{
    double x = chance_normal(m->c);
    return m->tie == 0 ? x : m->tie * m->drift[row] + sqrt(1 - m->tie * m->tie) * x;
}

double drift_unit(maker *m, size_t row)
{
    if (m->tie == 0)
        return chance_unit(m->c);
    return fmin(1 - 1e-9, 0.5 * erfc(-drift_normal(m, row) / M_SQRT2));
}
