/* Factors of a product (see stages.h). A price and a number of pieces of few whole values look as references
 * to keys do, by themselves; that their product, less a discount, stands beside them does not: nobody
 * multiplies keys. */
#include <math.h>

#include "services/inference/engine/profile/roles/stages.h"

/* A row holds by chance in less than one of ten: LEAST rows of which nineteen in twenty hold are no accident
 * among TRIED^3 triples. */
enum { TRIED = 24, ROWS = 100, LEAST = 12, SHARES = 4 };

typedef struct {
    tab_staged *of[TRIED];
    double v[TRIED][ROWS], share[SHARES][ROWS]; /* NaN where missing */
    size_t n, shares, rows;
} numbers;

static double number_at(const tab_reading *r, size_t row)
{
    if (r->column->layout == TAB_NUMBERS)
        return r->column->num[row];
    return r->code[row] == TAB_NULL ? (double)NAN : r->num[r->code[row]];
}

/* Numbers of more than three values, and what a discount may be: values within 0 to 1. */
static void read_numbers(tab_staged *const *c, size_t n, size_t rows, numbers *t)
{
    size_t step = rows / ROWS + 1;
    *t = (numbers){ .rows = (rows + step - 1) / step };
    for (size_t k = 0; k < n && t->n < TRIED; k++) {
        const tab_features *f = &c[k]->features;
        const tab_reading *r = c[k]->reading;
        if (!r->can_number || r->can_date || f->distinct < 2)
            continue;
        bool share = f->min >= 0 && f->max <= 1 && t->shares < SHARES;
        double *to = share ? t->share[t->shares] : t->v[t->n];
        for (size_t i = 0; i < t->rows; i++)
            to[i] = number_at(r, i * step);
        if (share)
            t->shares++;
        else if (f->distinct > 3)
            t->of[t->n++] = c[k];
    }
}

/* To the last of two decimals, or to half a thousandth. */
static bool gives(double product, double total)
{
    return fabs(product - total) <= fmax(0.0051, 5e-4 * fabs(total));
}

/* Whether a x b, less the share d (SHARES: less nothing), is the total. Where one of them is 0 or 1 nothing
 * is said. */
static bool multiplied(const numbers *t, size_t a, size_t b, size_t total, size_t d)
{
    size_t seen = 0, good = 0;
    for (size_t i = 0; i < t->rows; i++) {
        double x = t->v[a][i], y = t->v[b][i], z = t->v[total][i], by = d < SHARES ? 1 - t->share[d][i] : 1;
        if (isnan(x) || isnan(y) || isnan(z) || isnan(by) || x == 0 || x == 1 || y == 0 || y == 1)
            continue;
        good += gives(x * y * by, z);
        if (++seen >= LEAST && good * 20 < seen * 19)
            return false;
    }
    return seen >= LEAST && good * 20 >= seen * 19;
}

static bool is_product(const numbers *t, size_t a, size_t b, size_t total)
{
    bool is = multiplied(t, a, b, total, SHARES);
    for (size_t d = 0; d < t->shares && !is; d++)
        is = multiplied(t, a, b, total, d);
    return is;
}

static void deny(tab_staged *c)
{
    static const float LEFT = 0.01f;
    float lost = (1 - LEFT) * c->p2[TAB_ROLE_ID];
    c->p2[TAB_ROLE_ID] -= lost;
    for (int r = 0; r < TAB_ROLES && lost < 1; r++)
        c->p2[r] /= 1 - lost;
}

void tab_deny_factors(tab_staged *const *c, size_t n, size_t rows)
{
    static const float DOUBTED = 0.05f; /* below it, a key is not what the column is called */
    numbers t;
    read_numbers(c, n, rows, &t);
    for (size_t a = 0; a < t.n; a++)
        for (size_t b = 0; b < t.n && t.of[a]->p2[TAB_ROLE_ID] > DOUBTED; b++)
            for (size_t z = 0; z < t.n; z++)
                if (a != b && z != a && z != b && is_product(&t, a, b, z)) {
                    deny(t.of[a]);
                    break;
                }
}
