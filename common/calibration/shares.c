/* See shares.h. The steps of the shift are 1 / SPAN and 1 / sqrt(SPAN), of the rows within which shares shall
 * hold; the grid of temperatures is even in its logarithm, and mixtures lie between its points. */
#include "common/calibration/shares.h"

#include <math.h>

enum { TS = TAB_SHARES_TEMPERATURES, SHIFTS = TAB_SHARES_SHIFTS, MOST = TAB_SHARES_CLASSES };
static const double inverse[TS] = { 0.25, 0.5, M_SQRT1_2, 1, M_SQRT2, 2, 4 }; /* 1 / T */
static const double SPAN = 500, LEAST = 1e-9, FARTHEST = 30;

void tab_shares_begin(tab_shares *s)
{
    *s = (tab_shares){ 0 };
    s->weight[0][TS / 2] = 1; /* the model as it is; the others gain their shares as outcomes come */
}

bool tab_shares_sound(const tab_shares *s)
{
    bool ok = s->classes <= MOST;
    double sum = 0;
    for (size_t j = 0; ok && j < SHIFTS; j++) {
        for (size_t k = 0; k < s->classes; k++)
            ok = ok && fabs((double)s->shift[j][k]) <= FARTHEST;
        for (size_t t = 0; t < TS; t++) {
            ok = ok && s->weight[j][t] >= 0;
            sum += s->weight[j][t];
        }
    }
    return ok && fabs(sum - 1) < 1e-6;
}

size_t tab_shares_place(const tab_shares *s, uint64_t hash)
{
    for (size_t k = 0; k < s->classes; k++)
        if (s->known[k] == hash)
            return k;
    return SIZE_MAX;
}

static double shift_of(const tab_shares *s, size_t j, size_t place)
{
    return place < s->classes ? (double)s->shift[j][place] : 0;
}

/* ---- an outcome ------------------------------------------------------------------------------ */

/* A row's classes, and the others as one more class of equal parts. */
typedef struct {
    size_t n, is, place[MOST + 1];
    double log_share[MOST + 1], parts[MOST + 1];
} row;

static size_t place_new(tab_shares *s, uint64_t hash)
{
    size_t k = tab_shares_place(s, hash);
    if (k == SIZE_MAX && s->classes < MOST) {
        k = s->classes++;
        s->known[k] = hash;
        for (size_t j = 0; j < SHIFTS; j++)
            s->shift[j][k] = 0;
    }
    return k;
}

/* Of shift j and temperature t, over the row. */
static void expert(const tab_shares *s, const row *r, size_t j, size_t t, double ret[MOST + 1])
{
    double most = -INFINITY, sum = 0;
    for (size_t k = 0; k < r->n; k++) {
        ret[k] = inverse[t] * r->log_share[k] + log(r->parts[k]) + shift_of(s, j, r->place[k]);
        most = fmax(most, ret[k]);
    }
    for (size_t k = 0; k < r->n; k++)
        sum += ret[k] = exp(ret[k] - most);
    for (size_t k = 0; k < r->n; k++)
        ret[k] /= sum;
}

/* The weights of shift j by what its experts said of the class that came true, and its step along their
 * mixture's gradient. Before the first outcome all weight is the first shift's: the others have no mixture
 * yet and stay where they are (decision 0695). */
static double follow(tab_shares *s, const row *r, size_t j)
{
    static const double step[SHIFTS] = { 0, 1 / SPAN, 0.044721359549995794 };
    double mixed[MOST + 1] = { 0 }, p[MOST + 1], before = 0, sum = 0;
    for (size_t t = 0; t < TS; t++) {
        expert(s, r, j, t, p);
        for (size_t k = 0; k < r->n; k++)
            mixed[k] += s->weight[j][t] * p[k];
        before += s->weight[j][t];
        s->weight[j][t] *= fmax(p[r->is], LEAST);
        sum += s->weight[j][t];
    }
    for (size_t k = 0; k < r->n; k++)
        if (r->place[k] < s->classes) {
            double off = before > 0 ? (k == r->is) - mixed[k] / before : 0;
            double b = (double)s->shift[j][r->place[k]] + step[j] * off;
            s->shift[j][r->place[k]] = (float)fmin(fmax(b, -FARTHEST), FARTHEST);
        }
    return sum;
}

void tab_shares_tell(tab_shares *s, const tab_shares_row *given, size_t is)
{
    row r = { .n = given->n < MOST ? given->n : MOST };
    double sum = 0;
    for (size_t k = 0; k < r.n; k++) {
        r.place[k] = place_new(s, given->hash[k]);
        r.log_share[k] = log(fmax(given->share[k], LEAST));
        r.parts[k] = 1;
    }
    r.is = is < r.n ? is : r.n;
    if (given->others > 0 || r.is == r.n) {
        r.parts[r.n] = given->others > 0 ? given->others : 1;
        r.log_share[r.n] = log(fmax(given->rest / r.parts[r.n], LEAST));
        r.place[r.n++] = SIZE_MAX;
    }
    for (size_t j = 0; j < SHIFTS; j++)
        sum += follow(s, &r, j);
    for (size_t j = 0; j < SHIFTS; j++)
        for (size_t t = 0; t < TS; t++)
            s->weight[j][t] = (1 - 1 / SPAN) * s->weight[j][t] / sum + 1 / (SPAN * SHIFTS * TS);
}

/* ---- what is served -------------------------------------------------------------------------- */

void tab_shares_move(const tab_shares *s, const size_t *place, const double *share, size_t n, double *scratch,
                     double *ret)
{
    double *log_share = scratch, *term = scratch + n;
    for (size_t k = 0; k < n; k++) {
        log_share[k] = log(fmax(share[k], LEAST));
        ret[k] = 0;
    }
    for (size_t j = 0; j < SHIFTS; j++)
        for (size_t t = 0; t < TS; t++) {
            double most = -INFINITY, sum = 0;
            for (size_t k = 0; k < n; k++) {
                term[k] = inverse[t] * log_share[k] + shift_of(s, j, place[k]);
                most = fmax(most, term[k]);
            }
            for (size_t k = 0; k < n; k++)
                sum += term[k] = exp(term[k] - most);
            for (size_t k = 0; k < n; k++)
                ret[k] += s->weight[j][t] * term[k] / sum;
        }
}
