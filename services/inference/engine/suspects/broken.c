/* Which cell of a row is wrong in which a sum or a product does not hold (identities.c): that is told by what
 * each would have to be. A quantity that would have to be 3.27 is none, a cell whose other identities hold is
 * right, and so is a price that its article has in other rows, where what it would have to be is none of its
 * prices. Decision 0720. */
#include <math.h>

#include "services/inference/engine/suspects/identities.h"

enum { KIN_COLUMNS = 8, KIN_LEVELS = 2000, ENDS = 3, KIN_LEAST = 5, KIN_MANY = 12 };
static const double KIN_TELLS = 0.5;

/* Of a number the outermost of the rows that share a value of another column. */
typedef struct {
    double low[ENDS], high[ENDS]; /* from the outermost on */
    uint32_t n;
} kin;

/* The same of each value; v NULL: there is no such column. */
typedef struct {
    const tab_seen *v;
    kin *of; /* (levels) */
} kin_column;

typedef struct {
    kin_column column[KIN_COLUMNS];
    size_t n;
} kindred;

static void keep_outermost(double *end, double x, double sign)
{
    for (size_t i = 0; i < ENDS; i++)
        if (sign * x < sign * end[i]) {
            double t = end[i];
            end[i] = x, x = t;
        }
}

/* Fills what number k is in the rows of each value of the columns that have few. False: memory ran out. */
static bool kindred_of(const tab_identities *x, size_t k, kindred *ret)
{
    tab_search *s = x->s;
    ret->n = 0;
    for (size_t c = 0; c < s->p->table->cols && ret->n < KIN_COLUMNS; c++) {
        const tab_seen *v = &s->seen[c];
        if (v->code == NULL || v->num != NULL || v->levels < 2 || v->levels > KIN_LEVELS ||
            v->levels > s->rows / KIN_LEAST)
            continue;
        kin *of = tab_arena_new_of(s->scratch, kin, v->levels);
        if (of == NULL)
            return false;
        for (size_t l = 0; l < v->levels; l++)
            for (size_t i = 0; i < ENDS; i++)
                of[l].low[i] = INFINITY, of[l].high[i] = -INFINITY;
        for (size_t row = 0; row < s->rows; row++) {
            double a = x->num[k][row];
            if (v->code[row] == TAB_NULL || !isfinite(a))
                continue;
            kin *g = &of[v->code[row]];
            keep_outermost(g->low, a, 1);
            keep_outermost(g->high, a, -1);
            g->n++;
        }
        ret->column[ret->n++] = (kin_column){ v, of };
    }
    return true;
}

/* Whether the rows of its kind have the number as it is, and none as it would be: of many rows one more at
 * each end may be wrong as well. */
static bool is_its_kinds(const tab_identities *x, const kindred *all, size_t k, size_t row, double would)
{
    const tab_scale *q = &x->u->q[k];
    double is = x->num[k][row];
    for (size_t c = 0; c < all->n; c++) {
        uint32_t level = all->column[c].v->code[row];
        if (level == TAB_NULL || all->column[c].of[level].n <= KIN_LEAST)
            continue;
        const kin *g = &all->column[c].of[level];
        size_t skip = g->n > KIN_MANY;
        double low = g->low[skip + (is <= g->low[skip])], high = g->high[skip + (is >= g->high[skip])];
        double wide = fmax(high - low, x->unit[k]);
        bool inside = is >= low - wide / 2 && is <= high + wide / 2;
        bool outside = would < low - wide || would > high + wide;
        if (inside && outside && high - low < KIN_TELLS * (q->most - q->least))
            return true;
    }
    return false;
}

/* The columns of d: y, then its terms. */
static size_t member(const tab_identity *d, size_t i)
{
    return i == 0 ? d->y : d->of[i - 1];
}

/* What member i of a row would have to be, as its column writes numbers; NaN: nothing would do. */
static double would_be(const tab_identities *x, const tab_identity *d, size_t row, size_t i)
{
    double y = x->num[d->y][row], v = tab_identity_made(x, d, row, SIZE_MAX, 0), unit = x->unit[member(d, i)],
           w;
    if (i == 0) {
        w = v;
    } else if (tab_identity_adds(d, i - 1)) {
        w = x->num[d->of[i - 1]][row] + d->sign[i - 1] * (y - v);
    } else {
        double a = x->num[d->of[i - 1]][row],
               on_top = d->added ? d->sign[d->n - 1] * x->num[d->of[d->n - 1]][row] : 0;
        double f = (y - on_top) / ((v - on_top) / tab_form_of(d->form[i - 1], a));
        switch (d->form[i - 1]) {
        case TAB_FORM_LESS:
            w = 1 - f;
            break;
        case TAB_FORM_MORE:
            w = f - 1;
            break;
        case TAB_FORM_LESS_HUNDREDTHS:
            w = 100 * (1 - f);
            break;
        case TAB_FORM_MORE_HUNDREDTHS:
            w = 100 * (f - 1);
            break;
        case TAB_FORM_INVERSE:
            w = 1 / f;
            break;
        default:
            w = f;
        }
    }
    return isfinite(w) ? round(w / unit) * unit : (double)NAN;
}

/* Whether the row holds with w in place of that number. */
static bool mends(const tab_identities *x, const tab_identity *d, size_t row, size_t number, double w)
{
    double y = d->y == number ? w : x->num[d->y][row], v = tab_identity_made(x, d, row, number, w);
    return isfinite(w) && isfinite(v) && tab_identity_equal(d, y, v);
}

/* Of the identities that do not hold in the row, the share that does with w in place of that number. */
static double share_mended(const tab_identities *x, size_t row, size_t number, double w)
{
    size_t mended = 0, broken = 0;
    for (size_t k = 0; k < x->n; k++)
        if (tab_identity_holds(x, &x->found[k], row) == 0) {
            broken++;
            mended += mends(x, &x->found[k], row, number, w);
        }
    return broken > 0 ? (double)mended / (double)broken : 0;
}

/* Of the identities that the number takes part in, how many hold and how many do not in this row. */
static void others(const tab_identities *x, size_t number, size_t row, size_t *ret_hold, size_t *ret_broken)
{
    *ret_hold = *ret_broken = 0;
    for (size_t k = 0; k < x->n; k++)
        for (size_t i = 0; i <= x->found[k].n; i++)
            if (member(&x->found[k], i) == number) {
                int h = tab_identity_holds(x, &x->found[k], row);
                *ret_hold += h == 1;
                *ret_broken += h == 0;
            }
}

/* How far from the middle of its column a number is, in its spread. */
static double far_from(const tab_scale *q, double v)
{
    double at = tab_on_scale(q, v);
    return !isfinite(at) ? 30 : q->spread > 0 ? fabs(at - q->median) / q->spread : at == q->median ? 0 : 10;
}

/* Whether one cell alone makes all identities of the row hold again: then the others are right, for they
 * would need another error beside theirs. */
static bool one_mends_all(const tab_identities *x, size_t row)
{
    for (size_t k = 0; k < x->n; k++) {
        const tab_identity *d = &x->found[k];
        for (size_t i = 0; i <= d->n && tab_identity_holds(x, d, row) == 0; i++)
            if (share_mended(x, row, member(d, i), would_be(x, d, row, i)) == 1)
                return true;
    }
    return false;
}

static void blame(tab_identities *x, const tab_identity *d, const kindred *kin_of, size_t row)
{
    double would[TAB_IDENTITY_SUMMANDS + 1];
    size_t able = 0;
    bool one = one_mends_all(x, row);
    for (size_t i = 0; i <= d->n; i++) {
        const tab_scale *q = &x->u->q[member(d, i)];
        double span = q->most - q->least;
        would[i] = would_be(x, d, row, i);
        bool may = mends(x, d, row, member(d, i), would[i]) && would[i] >= q->least - span &&
                   would[i] <= q->most + span && (!q->positive || would[i] > 0 || q->least <= 0);
        may = may && (!one || share_mended(x, row, member(d, i), would[i]) == 1);
        may = may && !is_its_kinds(x, &kin_of[i], member(d, i), row, would[i]);
        able += may;
        would[i] = may ? would[i] : (double)NAN;
    }
    for (size_t i = 0; i <= d->n && !x->s->failed; i++) {
        size_t k = member(d, i), hold, broken;
        const tab_scale *q = &x->u->q[k];
        double is = x->num[k][row];
        others(x, k, row, &hold, &broken);
        if (!isfinite(would[i]))
            continue;
        tab_suspect *c = tab_suspects_add(x->s, row, x->u->col[k], TAB_SUSPECT_IDENTITY);
        if (c == NULL)
            return;
        double ratio = is != 0 && would[i] != 0 ? log10(fabs(would[i] / is)) : (double)NAN;
        c->f[0] = (float)(log10(d->broken + 1e-4) / -4);
        c->f[1] = i == 0;
        c->f[2] = 1 / (float)able;
        c->f[3] = (float)hold / (float)(hold + broken);
        c->f[4] = (float)(fmin(tab_log_count(1 + far_from(q, is)), 2) / 2);
        c->f[5] = (float)(fmin(tab_log_count(1 + far_from(q, would[i])), 2) / 2);
        c->f[6] = isfinite(ratio) && fabs(ratio) > 0.5 && fabs(ratio - round(ratio)) < 1e-6;
        c->f[7] = is == -would[i] && is != 0;
        c->f[8] = (float)share_mended(x, row, k, would[i]);
        c->f[9] = (float)(tab_log_count((double)d->rows) / 4);
        c->f[10] = d->sum;
        c->f[11] = (float)(d->n < TAB_IDENTITY_TERMS ? d->n : TAB_IDENTITY_TERMS) / TAB_IDENTITY_TERMS;
        c->alternatives = d->group;
        c->other = x->u->col[i == 0 ? d->of[0] : d->y];
        c->agree = (uint32_t)((1 - d->broken) * (double)d->rows + 0.5);
        c->of = (uint32_t)d->rows;
        c->suggestion =
            tab_suspects_number_text(x->s->arena, would[i], x->s->seen[x->u->col[k]].col->decimals);
    }
}

/* The numbers that are 0 in several of the broken rows: an invoice that is not paid yet, a claim that is
 * refused, is not wrong. In those rows nothing is. */
static uint32_t left_open(const tab_identities *x, const tab_identity *d)
{
    enum { MADE = 2, TERM = 3 }; /* rows, of what is made and of what makes it */
    size_t n[TAB_IDENTITY_SUMMANDS + 1] = { 0 };
    uint32_t open = 0;
    for (size_t row = 0; row < x->s->rows; row++)
        for (size_t i = 0; i <= d->n && tab_identity_holds(x, d, row) == 0; i++)
            n[i] += x->num[member(d, i)][row] == 0;
    for (size_t i = 0; i <= d->n; i++)
        open |= n[i] >= (i == 0 ? MADE : TERM) ? 1u << i : 0;
    return open;
}

static bool is_left_open(const tab_identities *x, const tab_identity *d, uint32_t open, size_t row)
{
    for (size_t i = 0; i <= d->n; i++)
        if ((open & 1u << i) != 0 && x->num[member(d, i)][row] == 0)
            return true;
    return false;
}

static uint8_t verdict_of(int holds)
{
    return holds < 0 ? TAB_LAW_SILENT : holds == 0 ? TAB_LAW_BROKEN : TAB_LAW_HOLDS;
}

/* The rows in which it does not hold, *ret_n of them, less those that are of another kind; *ret_broken: their
 * share. NULL: memory ran out. */
static uint32_t *broken_rows(const tab_identities *x, const tab_identity *d, size_t *ret_n,
                             double *ret_broken)
{
    tab_search *s = x->s;
    uint32_t open = left_open(x, d);
    size_t n = 0, known = 0, own[TAB_IDENTITY_SUMMANDS + 1];
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    uint8_t *judged = a == NULL ? NULL : tab_arena_new_of(a, uint8_t, s->rows + 1);
    for (size_t row = 0; judged != NULL && row < s->rows; row++)
        judged[row] = verdict_of(tab_identity_holds(x, d, row));
    for (size_t i = 0; i <= d->n; i++)
        own[i] = x->u->col[member(d, i)];
    if (judged == NULL || !tab_suspects_told_apart(s, judged, own, d->n + 1))
        return NULL;
    for (size_t row = 0; row < s->rows; row++)
        n += judged[row] == TAB_LAW_BROKEN, known += judged[row] != TAB_LAW_SILENT;
    uint32_t *rows = tab_arena_new_of(s->scratch, uint32_t, n + 1);
    *ret_n = 0;
    for (size_t row = 0; rows != NULL && row < s->rows; row++)
        if (judged[row] == TAB_LAW_BROKEN && !is_left_open(x, d, open, row))
            rows[(*ret_n)++] = (uint32_t)row;
    *ret_broken = known > 0 ? (double)n / (double)known : 0;
    return rows;
}

void tab_identity_broken(tab_identities *x, size_t k)
{
    tab_identity *d = &x->found[k];
    size_t n = 0;
    uint32_t *rows = broken_rows(x, d, &n, &d->broken);
    kindred *kin_of = tab_arena_new_of(x->s->scratch, kindred, d->n + 1);
    x->s->failed |= rows == NULL || kin_of == NULL;
    for (size_t i = 0; n > 0 && i <= d->n && !x->s->failed; i++)
        x->s->failed = !kindred_of(x, member(d, i), &kin_of[i]);
    for (size_t i = 0; i < n && !x->s->failed && !tab_engine_cancelled(x->s->e); i++)
        blame(x, d, kin_of, rows[i]);
}
