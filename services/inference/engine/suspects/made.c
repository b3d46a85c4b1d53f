/* See made.h. A row's numbers of an identity but one give that one:
 *
 *   sum       y, or a summand: what is left of y
 *   product   y, or a factor: y over the others
 *
 * Rounding may leave it open to its last decimal (a net of a rounded tax). So what an identity gives of a
 * number is asked in rows where that is known: it counts where it is right to the last decimal in TELLS of
 * them, and of several the one that is right most often. What was made serves the row's other identities: net
 * gives tax, both give gross. */
#include "services/inference/engine/suspects/made.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/suspects/identities.h"

enum { ROUNDS = 3, MISSING_MOST = 1 << 22, ASKED = 1000 };
static const double TELLS = 0.5;

typedef struct {
    double v;
    uint32_t row;
} placed;

/* The table's numbers, the made ones among them as they come. */
typedef struct {
    tab_identities *x;
    const tab_numbers *u;
    double *num[TAB_SUSPECT_NUMBERS];
    placed *placed[TAB_SUSPECT_NUMBERS]; /* (places) the known ones, sorted */
    size_t places[TAB_SUSPECT_NUMBERS];
    double tells[TAB_IDENTITIES]
                [TAB_SUSPECT_NUMBERS]; /* share of rows; 0: the number is not of the identity */
    tab_number_made *made;
    size_t n, room;
} maker;

static double rounded(double v, double unit)
{
    double shift = round(1 / unit);
    return shift >= 1 ? round(v * shift) / shift : v;
}

/* What the factor of form f is of which the form makes v. */
static double unformed(tab_form f, double v)
{
    switch (f) {
    case TAB_FORM_LESS:
        return 1 - v;
    case TAB_FORM_MORE:
        return v - 1;
    case TAB_FORM_LESS_HUNDREDTHS:
        return 100 * (1 - v);
    case TAB_FORM_MORE_HUNDREDTHS:
        return 100 * (v - 1);
    case TAB_FORM_INVERSE:
        return 1 / v;
    default:
        return v;
    }
}

/* Term i of d in this row by all others; NaN where one is missing. */
static double term_of(const maker *m, const tab_identity *d, size_t row, size_t i)
{
    double y = m->x->num[d->y][row], rest = d->sum ? 0 : d->k, added = 0;
    for (size_t t = 0; t < d->n; t++) {
        if (t == i)
            continue;
        double a = m->x->num[d->of[t]][row];
        if (tab_identity_adds(d, t))
            added += d->sign[t] * a;
        else
            rest *= tab_form_of(d->form[t], a);
    }
    if (tab_identity_adds(d, i))
        return d->sign[i] * (d->sum ? y - added : y - rest);
    return unformed(d->form[i], (y - added) / rest);
}

/* The number of column k that d makes in this row; NaN: none. */
static double made_by(const maker *m, const tab_identity *d, size_t row, size_t k)
{
    double v = d->y == k ? tab_identity_made(m->x, d, row, SIZE_MAX, 0) : (double)NAN;
    for (size_t i = 0; i < d->n; i++)
        if (d->of[i] == k)
            v = term_of(m, d, row, i);
    v = rounded(v, m->x->unit[k]);
    bool below = v < 0 && m->u->q[k].least >= 0;
    return isfinite(v) && !below ? v : (double)NAN;
}

/* In which share of the rows where all are known the i-th identity gives column k to its last decimal. */
static double tells(const maker *m, size_t i, size_t k)
{
    size_t rows = m->x->s->rows, most = rows < ASKED ? rows : ASKED, known = 0, right = 0;
    for (size_t r = 0; r < most; r++) {
        size_t row = tab_sampled_row(rows, most, r);
        double is = m->x->num[k][row], v = made_by(m, &m->x->found[i], row, k);
        if (!isfinite(is) || isnan(v))
            continue;
        known++;
        right += fabs(is - v) < 0.5 * m->x->unit[k];
    }
    return known > 0 ? (double)right / (double)known : 0;
}

/* The identity that tells the number best; NULL: none does. */
static const tab_identity *maker_of(const maker *m, size_t row, size_t k, double *ret)
{
    const tab_identity *best = NULL;
    double most = TELLS;
    for (size_t i = 0; i < m->x->n; i++) {
        double v = m->tells[i][k] > most ? made_by(m, &m->x->found[i], row, k) : (double)NAN;
        if (!isnan(v))
            best = &m->x->found[i], *ret = v, most = m->tells[i][k];
    }
    return best;
}

static int by_cell(const void *a, const void *b)
{
    const tab_number_made *x = a, *y = b;
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->column > y->column) - (x->column < y->column);
}

static int by_number(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return x->v != y->v ? (x->v > y->v) - (x->v < y->v) : (x->row > y->row) - (x->row < y->row);
}

/* The first row that has the number v in column k, of a column of classes. */
static uint32_t like(const maker *m, size_t k, double v)
{
    const placed *p = m->placed[k];
    size_t from = 0, to = m->places[k];
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (p[mid].v < v)
            from = mid + 1;
        else
            to = mid;
    }
    return from < m->places[k] && p[from].v == v ? p[from].row : TAB_NULL;
}

/* One more round over what is missing of column k. How many numbers came. */
static size_t make_column(maker *m, size_t k)
{
    size_t before = m->n, column = m->u->col[k];
    const tab_column *c = m->x->s->p->table->col + column;
    for (size_t row = 0; row < m->x->s->rows && m->n < m->room; row++) {
        double v;
        bool missing = c->layout == TAB_NUMBERS ? isnan(c->num[row]) : c->code[row] == TAB_NULL;
        const tab_identity *d = missing && isnan(m->num[k][row]) ? maker_of(m, row, k, &v) : NULL;
        if (d == NULL)
            continue;
        double held = (double)d->rows * (1 - d->broken);
        m->num[k][row] = v;
        m->made[m->n++] = (tab_number_made){ (uint32_t)row, (uint32_t)column, v, like(m, k, v),
                                             (held + 1) / ((double)d->rows + 2) };
    }
    return m->n - before;
}

/* The k-th column's known numbers in their order, with the row of each. False: memory ran out. */
static bool place(maker *m, tab_arena *a, size_t k)
{
    const double *x = m->num[k];
    m->placed[k] = tab_arena_new_of(a, placed, m->x->s->rows + 1);
    if (m->placed[k] == NULL)
        return false;
    for (size_t row = 0; row < m->x->s->rows; row++)
        if (isfinite(x[row]))
            m->placed[k][m->places[k]++] = (placed){ x[row], (uint32_t)row };
    if (m->places[k] > 0)
        qsort(m->placed[k], m->places[k], sizeof *m->placed[k], by_number);
    return true;
}

/* The numbers that identities have a part in, copied so that made ones can be put among them; *ret: cells
 * that are missing. False: memory ran out. */
static bool copy_numbers(maker *m, tab_arena *a, size_t *ret)
{
    size_t rows = m->x->s->rows, missing = 0;
    uint32_t part = 0;
    for (size_t i = 0; i < m->x->n; i++)
        part |= tab_identity_columns(&m->x->found[i]);
    for (size_t k = 0; k < m->u->n; k++) {
        const double *from = m->x->num[k];
        if ((part & 1u << k) == 0)
            continue;
        m->num[k] = tab_arena_new_of(a, double, rows + 1);
        if (m->num[k] == NULL)
            return false;
        memcpy(m->num[k], from, rows * sizeof *from);
        for (size_t row = 0; row < rows; row++)
            missing += !isfinite(from[row]);
        if (m->x->s->seen[m->u->col[k]].amount != NULL && !place(m, a, k))
            return false;
        m->x->num[k] = m->num[k];
    }
    *ret = missing < MISSING_MOST ? missing : MISSING_MOST;
    return true;
}

static bool make(tab_search *s, const tab_numbers *u, tab_arena *a, tab_number_made **ret, size_t *ret_n)
{
    maker m = { .u = u };
    m.x = tab_identities_find(s, u);
    if (m.x == NULL)
        return false;
    if (m.x->n == 0)
        return true;
    if (!copy_numbers(&m, s->scratch, &m.room) ||
        (m.made = tab_arena_new_of(a, tab_number_made, m.room + 1)) == NULL)
        return false;
    for (size_t i = 0; i < m.x->n; i++)
        for (size_t k = 0; k < u->n; k++)
            if ((tab_identity_columns(&m.x->found[i]) & 1u << k) != 0)
                m.tells[i][k] = tells(&m, i, k);
    size_t came = 1;
    for (size_t round = 0; round < ROUNDS && came > 0; round++) {
        came = 0;
        for (size_t k = 0; k < u->n; k++)
            came += m.num[k] != NULL ? make_column(&m, k) : 0;
    }
    if (m.n > 0)
        qsort(m.made, m.n, sizeof *m.made, by_cell);
    *ret = m.made;
    *ret_n = m.n;
    return true;
}

/* Whether a number is missing. */
static bool lacks(const tab_search *s, const tab_numbers *u)
{
    for (size_t k = 0; k < u->n; k++)
        if (u->q[k].n < s->rows)
            return true;
    return false;
}

tab_status tab_numbers_made(const tab_engine *e, tab_arena *a, const tab_profile *p, tab_number_made **ret,
                            size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new(TAB_SUSPECT_BYTES);
    tab_profile *const one = (tab_profile *)(uintptr_t)p;
    tab_search s = {
        .e = e, .arena = own, .scratch = own, .p = p, .all = &one, .tables = 1, .rows = p->table->rows
    };
    tab_numbers u;
    *ret = NULL;
    *ret_n = 0;
    if (s.rows < TAB_SUSPECT_ROWS)
        return TAB_OK;
    if (own == NULL || !tab_suspects_view_numbers(&s) || !tab_suspects_scales(&s, &u) ||
        !tab_suspects_amounts(&s, &u))
        return tab_no_memory(err);
    if (u.n < 2 || !lacks(&s, &u))
        return TAB_OK;
    bool ok = make(&s, &u, a, ret, ret_n);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    return ok ? TAB_OK : tab_no_memory(err);
}

const tab_number_made *tab_number_made_at(const tab_number_made *of, size_t n, uint32_t row, uint32_t column)
{
    tab_number_made key = { .row = row, .column = column };
    return n == 0 ? NULL : bsearch(&key, of, n, sizeof *of, by_cell);
}
