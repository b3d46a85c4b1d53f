/* See follow.h. */
#include "common/calibration/follow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/calibration/live.h"
#include "common/json/json.h"
#include "common/security/receipt.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* A class by its JSON text; numbers however they were written: 1 and 1.0 are one. */
static uint64_t hash_of(const tab_column *classes, size_t k)
{
    tab_out o = { 0 };
    char number[40], *end;
    tab_out_cell(&o, classes, k);
    tab_out_bytes(&o, "", 1);
    uint64_t h = 0;
    if (!o.failed) {
        double x = strtod(o.p, &end);
        bool is = o.p[0] != '"' && end == o.p + o.n - 1 && isfinite(x);
        int n = is ? snprintf(number, sizeof number, "%.17g", x) : 0;
        h = tab_receipt_class(is ? (tab_str){ number, (size_t)n } : (tab_str){ o.p, o.n - 1 });
    }
    tab_out_free(&o);
    return h;
}

size_t tab_quantile_place(const Tabella__Prediction *p, double at)
{
    for (size_t k = 0; k < p->n_quantile_levels; k++)
        if (fabs(p->quantile_levels[k] - at) < 1e-9)
            return k;
    return SIZE_MAX;
}

tab_status tab_class_hashes(tab_arena *a, const Tabella__Prediction *p, size_t n, uint64_t **ret,
                            tab_error *err)
{
    tab_column classes;
    *ret = tab_arena_new_of(a, uint64_t, n + 1);
    if (*ret == NULL)
        return tab_no_memory(err);
    if (p->classes == NULL || !tab_column_view(p->classes, n, &classes))
        return tab_fail(err, TAB_INTERNAL, "", "an answer is damaged");
    for (size_t k = 0; k < n; k++)
        (*ret)[k] = hash_of(&classes, k);
    return TAB_OK;
}

static double *copied(tab_arena *a, const double *from, size_t n)
{
    double *to = tab_arena_new_of(a, double, n + 1);
    if (to != NULL && n > 0)
        memcpy(to, from, n * sizeof *to);
    return to;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int side(double level)
{
    return level < 0.5 - 1e-9 ? -1 : level > 0.5 + 1e-9;
}

static void move_numbers(const Tabella__Prediction *p, Tabella__Results *r, const tab_bands *b)
{
    size_t levels = p->n_quantile_levels, low = tab_quantile_place(p, 0.1),
           median = tab_quantile_place(p, 0.5), high = tab_quantile_place(p, 0.9);
    if (low == SIZE_MAX || median == SIZE_MAX || high == SIZE_MAX || r->n_quantiles != r->n_value * levels)
        return;
    for (size_t i = 0; i < r->n_value; i++) {
        double *q = r->quantiles + i * levels, l = q[low], m = q[median], h = q[high];
        for (size_t k = 0; k < levels; k++)
            q[k] = tab_bands_move(b->at, l, m, h, q[k], side(p->quantile_levels[k]));
        r->value[i] = tab_bands_move(b->at, l, m, h, r->value[i], 0);
        if (i < r->n_std && h > l)
            r->std[i] *= (q[high] - q[low]) / (h - l);
    }
}

/* ---- classes --------------------------------------------------------------------------------- */

typedef struct {
    tab_shares shares;
    size_t n, *place; /* classes, and where the state knows them */
    double *scratch, *moved;
} mover;

static tab_status mover_of(tab_arena *a, const Tabella__Prediction *p, size_t n, mover *m, tab_error *err)
{
    uint64_t *hash = NULL;
    m->n = n;
    m->place = tab_arena_new_of(a, size_t, n + 1);
    m->scratch = tab_arena_new_of(a, double, 2 * n + 1);
    m->moved = tab_arena_new_of(a, double, n + 1);
    if (m->place == NULL || m->scratch == NULL || m->moved == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_class_hashes(a, p, n, &hash, err));
    for (size_t k = 0; k < n; k++)
        m->place[k] = tab_shares_place(&m->shares, hash[k]);
    return TAB_OK;
}

static void move_classes(Tabella__Results *r, mover *m)
{
    for (size_t i = 0; i < r->n_label; i++) {
        double *p = r->probabilities + i * m->n;
        size_t best = r->label[i];
        double all = 0; /* less than 1 where a class that nobody knows may come */
        for (size_t k = 0; k < m->n; k++)
            all += p[k];
        tab_shares_move(&m->shares, m->place, p, m->n, m->scratch, m->moved);
        for (size_t k = 0; k < m->n; k++)
            p[k] = all * m->moved[k];
        for (size_t k = 0; k < m->n; k++)
            best = p[k] > p[best] ? k : best;
        r->label[i] = (uint32_t)best;
    }
}

static tab_status shares_of(tab_arena *a, const Tabella__LiveCalibration *c, Tabella__Prediction *p,
                            tab_error *err)
{
    Tabella__Results *of[] = { p->results, p->missing_target_results };
    mover m = { .n = 0 };
    if (!tab_live_get_shares(c, &m.shares))
        return tab_fail(err, TAB_INTERNAL, "", "a calibration cannot be read");
    for (size_t i = 0; i < 2; i++) {
        Tabella__Results *r = of[i];
        if (r == NULL || r->n_label == 0)
            continue;
        if (m.n == 0)
            TAB_TRY(mover_of(a, p, r->n_probabilities / r->n_label, &m, err));
        if (r->n_probabilities != m.n * r->n_label)
            return tab_fail(err, TAB_INTERNAL, "", "an answer is damaged");
        move_classes(r, &m);
    }
    return TAB_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

tab_status tab_follow_outcomes(tab_arena *a, const Tabella__LiveCalibration *c, Tabella__Bundle *b,
                               const tab_followed **ret, tab_error *err)
{
    Tabella__Prediction *p = b->prediction;
    *ret = NULL;
    if (p == NULL || p->results == NULL)
        return TAB_OK;
    const Tabella__Results *r = p->results;
    tab_followed *f = tab_arena_new_of(a, tab_followed, 1);
    if (f == NULL)
        return tab_no_memory(err);
    f->state = c == NULL ? 0 : c->state;
    f->bands = tab_bands_static;
    f->quantiles = copied(a, r->quantiles, r->n_quantiles);
    f->probabilities = copied(a, r->probabilities, r->n_probabilities);
    if (f->quantiles == NULL || f->probabilities == NULL)
        return tab_no_memory(err);
    *ret = f;
    if (c == NULL || c->task == 0)
        return TAB_OK;
    if (c->task == TAB_RECEIPT_CLASS)
        return shares_of(a, c, p, err);
    if (!tab_live_get_bands(c, &f->bands))
        return tab_fail(err, TAB_INTERNAL, "", "a calibration cannot be read");
    move_numbers(p, p->results, &f->bands);
    if (p->missing_target_results != NULL)
        move_numbers(p, p->missing_target_results, &f->bands);
    return TAB_OK;
}
