#include "services/inference/engine/predict/choose/foresight.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "services/inference/engine/learn/clones.h"
#include "services/inference/engine/predict/choose/rank.h"

/* SAMPLE: rows that columns are compared on. Chosen by hand, not measured. */
enum { SAMPLE = 256, PARTS = 9 };
/* A closer column is a copy. The rows of which a part of a date must be one. */
static const float COPY = 0.985f;
static const double SAME = 0.98;

/* z (SAMPLE): the sampled values of a column, standardised, far ones cut; of categories, whether it is the
 * commonest. False: they do not vary. */
static bool sample(const tab_profile *p, size_t column, size_t rows, size_t step, float *z, uint32_t *count)
{
    const tab_column_profile *c = &p->col[column];
    uint32_t top = 0;
    double sum = 0, square = 0, n = 0;
    if (c->number == NULL && c->code == NULL)
        return false;
    for (size_t i = 0; c->number == NULL && i < rows; i++)
        if (c->code[i * step] != TAB_NULL)
            count[c->code[i * step]]++;
    for (uint32_t k = 0; c->number == NULL && k < c->levels; k++)
        top = count[k] > count[top] ? k : top;
    for (size_t i = 0; i < rows; i++) {
        double v = c->number != NULL               ? c->number[i * step]
                   : c->code[i * step] == TAB_NULL ? (double)NAN
                                                   : c->code[i * step] == top;
        z[i] = (float)v;
        sum += isnan(v) ? 0 : v, square += isnan(v) ? 0 : v * v, n += !isnan(v);
    }
    for (size_t i = 0; c->number == NULL && i < rows; i++)
        if (c->code[i * step] != TAB_NULL)
            count[c->code[i * step]] = 0;
    double mean = n > 0 ? sum / n : 0, sd = n > 0 ? sqrt(fmax(0, square / n - mean * mean)) : 0, again = 0;
    for (size_t i = 0; i < rows; i++) {
        double v = isnan((double)z[i]) || !(sd > 0) ? 0 : ((double)z[i] - mean) / sd;
        z[i] = (float)fmax(-3, fmin(3, v));
        again += (double)(z[i] * z[i]);
    }
    for (size_t i = 0; again > 0 && i < rows; i++)
        z[i] /= (float)sqrt(again);
    return again > 0;
}

TAB_CLONES static float product(const float *x, const float *y)
{
    float part[8] = { 0 }, sum = 0;
    for (size_t i = 0; i < SAMPLE; i += 8)
        for (size_t k = 0; k < 8; k++)
            part[k] += x[i + k] * y[i + k];
    for (size_t k = 0; k < 8; k++)
        sum += part[k];
    return sum;
}

bool tab_foresee(tab_arena *a, const tab_profile *p, tab_contender *c)
{
    size_t cols = p->table->cols, rows = p->table->rows < SAMPLE ? p->table->rows : SAMPLE, levels = 0;
    size_t step = rows > 0 ? p->table->rows / rows : 1;
    for (size_t k = 0; k < cols; k++)
        levels = p->col[k].levels > levels ? p->col[k].levels : levels;
    float *z = tab_arena_new_of(a, float, cols *SAMPLE + 1), *most = tab_arena_new_of(a, float, cols + 1);
    bool *varies = tab_arena_new_of(a, bool, cols + 1);
    uint32_t *count = tab_arena_new_of(a, uint32_t, levels + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t k = 0; k < cols; k++)
        varies[k] = sample(p, k, rows, step, z + k * SAMPLE, count);
    for (size_t i = 0; i < cols; i++)
        for (size_t j = 0; varies[i] && j < i; j++) {
            float r = varies[j] ? product(z + i * SAMPLE, z + j * SAMPLE) : 0;
            if (r * r > COPY)
                continue;
            most[i] = r * r > most[i] ? r * r : most[i];
            most[j] = r * r > most[j] ? r * r : most[j];
        }
    /* the greatest of so many squared correlations by chance */
    double chance = 2 * log((double)(cols + 1)) / (double)(rows + 1);
    for (size_t k = 0; k < cols; k++) {
        const tab_column_profile *q = &p->col[k];
        c[k].skill = fmax(0, (double)most[k] - chance);
        c[k].alone[0] = c[k].skill;
        c[k].classes = c[k].numeric ? 0 : q->distinct;
        c[k].whole = q->decimals == 0;
        c[k].above = 0.5;
        if (c[k].eligible)
            c[k].score = tab_target_score(p, &c[k]);
        c[k].skill = c[k].alone[0] = 0;
    }
    return true;
}

/* The parts of a time in UTC. */
static void parts_of(double seconds, double part[PARTS])
{
    time_t t = (time_t)seconds;
    struct tm g = { 0 };
    gmtime_r(&t, &g);
    part[0] = g.tm_year + 1900;
    part[1] = g.tm_mon + 1;
    part[2] = g.tm_mday;
    part[3] = g.tm_wday;
    part[4] = g.tm_wday == 0 ? 7 : g.tm_wday;
    part[5] = floor(g.tm_mon / 3.0) + 1;
    part[6] = g.tm_hour;
    part[7] = g.tm_min;
    part[8] = g.tm_yday + 1;
}

bool tab_part_of_date(const tab_profile *p, size_t column, size_t *ret_of)
{
    const tab_column_profile *c = &p->col[column];
    if (c->type != TAB_NUMERIC || c->number == NULL || c->decimals > 0 || c->distinct < 2)
        return false;
    size_t rows = p->table->rows, step = rows > SAMPLE ? rows / SAMPLE : 1;
    /* so many rows in which none is the same, and the rest need not be looked at: of many dates beside many
     * numbers nearly all pairs end after a dozen */
    size_t wrong = (size_t)((1 - SAME) * (double)(rows / step + 1)) + 1;
    for (size_t k = 0; k < p->table->cols; k++) {
        const tab_column_profile *d = &p->col[k];
        size_t same[PARTS] = { 0 }, n = 0, most = 0;
        if (k == column || d->type != TAB_DATETIME || d->number == NULL)
            continue;
        for (size_t i = 0; i < rows && n - most <= wrong; i += step) {
            double part[PARTS];
            if (isnan(c->number[i]) || isnan(d->number[i]) || fabs(d->number[i]) > 1e11)
                continue;
            parts_of(d->number[i], part);
            n++;
            for (size_t m = 0; m < PARTS; m++) {
                same[m] += fabs(part[m] - c->number[i]) < 0.5;
                most = same[m] > most ? same[m] : most;
            }
        }
        for (size_t m = 0; m < PARTS; m++)
            if (n >= 8 && (double)same[m] >= SAME * (double)n) {
                *ret_of = k;
                return true;
            }
    }
    return false;
}
