/* Numbers that what their column holds cannot be: an age below 0, a latitude of 95. With such cells in it the
 * column looks like any other of numbers, so the table is profiled again, on a sample of the rows that have
 * none: where the rest of the column is told as ages, a cell outside is as surely wrong as the column is ages.
 *
 * Where the column's tail goes on to the cell (winter's temperatures below those of autumn), the rest would
 * look like another thing only for want of it, and nothing is said: the tail is exponential, by the 0.02 and
 * 0.1 quantiles on the cell's side, and makes LEAST of a cell as far out. Decision 0911. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/suspects/given.h"

enum { SAMPLE = 2000 };
static const double OUTSIDE = 0.05; /* of a column's numbers at most */
static const double BEGINS = 0.02, RISES = 0.1, LEAST = 0.3;
static const double ODDS = 20, SURE = 0.3; /* that are said at most; probability of the role at least */

typedef struct {
    tab_role role;
    double low, high;
} bound;

static const bound BOUNDS[] = { { TAB_ROLE_AGE, 0, 125 },
                                { TAB_ROLE_LATITUDE, -90, 90 },
                                { TAB_ROLE_LONGITUDE, -180, 180 } };

static bool is_outside(const bound *b, double x)
{
    return isfinite(x) && (x < b->low || x > b->high);
}

/* Whether a few of the column's numbers are outside. */
static bool is_broken(const tab_search *s, const tab_seen *v, const bound *b)
{
    size_t n = 0, out = 0;
    if (v->num == NULL || v->col->type != TAB_NUMERIC)
        return false;
    for (size_t i = 0; i < s->rows; i++)
        n += isfinite(v->num[i]), out += is_outside(b, v->num[i]);
    return out > 0 && (double)out <= OUTSIDE * (double)n && n - out >= TAB_SUSPECT_ROWS;
}

/* The first columns of a sample of the rows that have nothing outside in the columns of `broken`. NULL:
 * memory ran out. */
static tab_table *rest_of(const tab_search *s, size_t cols, const bool *broken, const bound *b)
{
    tab_arena *a = s->scratch;
    size_t most = s->rows < SAMPLE ? s->rows : SAMPLE, rows = 0;
    uint32_t *row = tab_arena_new_of(a, uint32_t, most);
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    if (row == NULL || col == NULL || t == NULL)
        return NULL;
    for (size_t i = 0; i < most; i++) {
        size_t at = tab_sampled_row(s->rows, most, i);
        bool out = false;
        for (size_t c = 0; c < cols; c++)
            out |= broken[c] && is_outside(b, s->seen[c].num[at]);
        if (!out)
            row[rows++] = (uint32_t)at;
    }
    for (size_t c = 0; c < cols; c++) {
        const tab_column *own = &s->p->table->col[c];
        tab_builder *built = tab_builder_new(a, own->name);
        if (built == NULL)
            return NULL;
        for (size_t i = 0; i < rows; i++)
            tab_builder_cell(built, tab_cell_at(own, row[i]));
        if (!tab_builder_finish(built, &col[c]))
            return NULL;
    }
    *t = (tab_table){ .id = s->p->table->id, .rows = rows, .cols = cols, .col = col };
    return t;
}

/* How many cells as far out as x the column's tail makes. v: its n numbers within bounds, sorted. */
static double made_by_tail(const double *v, size_t n, double x)
{
    bool low = x < v[0];
    double begins = tab_quantile_of(v, n, low ? BEGINS : 1 - BEGINS);
    double falls = fabs(tab_quantile_of(v, n, low ? RISES : 1 - RISES) - begins) / log(RISES / BEGINS);
    return falls > 0 ? BEGINS * (double)n * exp(-fabs(x - begins) / falls) : 0;
}

static void doubt(tab_search *s, size_t column, const bound *b, double sure)
{
    const tab_seen *v = &s->seen[column];
    double *in = tab_arena_new_of(s->scratch, double, s->rows + 1);
    size_t n = 0;
    if (in == NULL) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < s->rows; i++)
        if (isfinite(v->num[i]) && !is_outside(b, v->num[i]))
            in[n++] = v->num[i];
    qsort(in, n, sizeof *in, tab_ascending_double);
    for (size_t i = 0; i < s->rows; i++) {
        double x = v->num[i];
        if (!is_outside(b, x) || made_by_tail(in, n, x) >= LEAST)
            continue;
        tab_suspect *c = tab_suspects_add(s, i, column, TAB_SUSPECT_IMPOSSIBLE);
        if (c == NULL)
            return;
        c->f[0] = (float)fmin(log(sure / (1 - sure)), log(ODDS));
        c->f[TAB_IMPOSSIBLE_ROLE] = (float)b->role;
        c->agree = (uint32_t)n;
        c->of = (uint32_t)v->present;
        if (-x >= tab_quantile_of(in, n, BEGINS) && -x <= tab_quantile_of(in, n, 1 - BEGINS))
            c->suggestion = tab_suspects_number_text(s->arena, -x, v->col->decimals);
    }
}

static void look(tab_search *s, const bound *b)
{
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    bool broken[TAB_SUSPECT_COLUMNS] = { false }, any = false;
    tab_engine e = *s->e;
    tab_error err = { 0 };
    tab_profile *p = NULL;
    for (size_t c = 0; c < cols; c++)
        any |= broken[c] = is_broken(s, &s->seen[c], b);
    const tab_table *t = any ? rest_of(s, cols, broken, b) : NULL;
    e.arena = s->scratch;
    if (any && (t == NULL || tab_profile_table(&e, t, &p, &err) != TAB_OK))
        s->failed |= !tab_engine_cancelled(s->e);
    for (size_t c = 0; p != NULL && c < cols && !s->failed; c++) {
        double sure = tab_told_role(p->col[c].role, p->col[c].role_confidence);
        if (broken[c] && p->col[c].role == (int)b->role && sure >= SURE)
            doubt(s, c, b, fmin(sure, 1 - 1e-6));
    }
}

void tab_suspects_bounds(tab_search *s)
{
    for (size_t i = 0; i < sizeof BOUNDS / sizeof *BOUNDS && !s->failed && !tab_engine_cancelled(s->e); i++)
        look(s, &BOUNDS[i]);
}
