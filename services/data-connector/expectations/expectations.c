/* See expectations.h. Kinds: missing, type, range, distribution, length, value, new_values, format, repeated
 * (columns.c); dependency, order, together (pairs.c); column, rows (here). */
#include "services/data-connector/expectations/expectations.h"

#include <math.h>
#include <stdlib.h>

#include "services/data-connector/expectations/checks.h"

/* RATE: of false ones among those said, and of syncs of an unchanged source of which anything is said.
 * COLUMNS: of a table; SIDES: held against each other. LEAST_ROWS: known ones. RATIOS: from as many on the
 * number of rows is judged. */
static const double RATE = 0.01;
enum { COLUMNS = 500, SIDES = 64, LEAST_ROWS = 20, RATIOS = 4 };
/* Of a table as many rows at most are looked at; for earlier steps fewer, and so many steps. */
enum { ROWS = 20000, STEP_ROWS = 5000, STEPS = 6, LEAST_STEPS = 3 };

/* ---- the number of rows ---------------------------------------------------------------------- */

/* How much more or fewer rows than in the snapshot before, beside the same of earlier ones: a new draw's
 * interval of Student's distribution, with no less spread than counts have by themselves. */
static bool rows(expect_list *list, const expectations_case *c)
{
    double ratio[EXPECT_COUNTS + 1], mean = 0, variance = 0;
    size_t n = 0;
    double newer = (double)c->known->rows;
    for (size_t i = 0; i < c->n_counts && c->counts[i] > 0; i++) {
        ratio[n++] = log(newer / (double)c->counts[i]);
        newer = (double)c->counts[i];
    }
    if (n < RATIOS || c->known->rows == 0)
        return true;
    double was = (double)c->known->rows, is = (double)c->judged->rows;
    for (size_t i = 0; i < n; i++)
        mean += ratio[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (ratio[i] - mean) * (ratio[i] - mean) / (double)(n - 1);
    variance = fmax(variance, 1 / was + 1 / fmax(is, 1));
    double t = (log(fmax(is, 0.5) / was) - mean) / sqrt(variance * (1 + 1 / (double)n));
    expectation e = { .kind = "rows", .p = chance_student(fabs(t), (double)(n - 1)) };
    e.before = was, e.after = is;
    e.reason = tab_str_of(tab_arena_printf(list->a,
                                           "%zu rows; %zu before, and %zu syncs before that changed "
                                           "them by less",
                                           c->judged->rows, c->known->rows, n));
    return !tab_arena_full(list->a) && expect_add(list, &e);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool check(expect_list *list, const expect_pool *p)
{
    expect_side *side = tab_arena_new_of(p->a, expect_side, SIDES);
    size_t n = 0;
    bool ok = side != NULL;
    for (size_t k = 0; ok && k < p->of[0]->cols && k < COLUMNS; k++) {
        TAB_AUTO(tab_arena) *scratch = tab_arena_new(EXPECT_SCRATCH);
        expect_column col;
        tab_str address = tab_arena_copy(list->a, p->address[0][k]);
        if (scratch == NULL || tab_arena_full(list->a))
            return false;
        if (!expect_column_there(p, address)) {
            expectation gone = { .kind = "column", .column = address, .before = 1 };
            gone.reason = TAB_S("the column is not there any more");
            ok = expect_add(list, &gone);
            continue;
        }
        ok = expect_column_read(scratch, p, address, &col) && expect_check_column(list, p, &col) &&
             (n == SIDES || expect_side_of(p->a, p, &col, &side[n++]));
    }
    return ok && expect_check_pairs(list, p, side, n);
}

static bool checked(tab_arena *a, const expect_rows *known, const expect_rows *judged, bool appended,
                    size_t most, expect_list *ret)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(EXPECT_SCRATCH);
    expect_pool p;
    *ret = (expect_list){ .a = a };
    if (scratch == NULL || !expect_pool_new(scratch, known, judged, most, &p))
        return false;
    p.appended = appended;
    return check(ret, &p);
}

/* ---- earlier steps --------------------------------------------------------------------------- */

/* What is known of how restless a check is: as many steps that differ by chance alone are believed before any
 * is seen. */
static const double CALM = 8;

typedef struct {
    double *sum; /* (checks) of squared z */
    uint32_t *n; /* (checks) steps that it was made of */
} restless;

static bool same_check(const expectation *x, const expectation *y)
{
    return strcmp(x->kind, y->kind) == 0 && tab_str_eq(x->column, y->column) && tab_str_eq(x->with, y->with);
}

/* A step was longer or shorter than the judged one: what is no chance grows with the square root of rows. */
static void note(const expect_list *of, const expect_list *step, double longer, restless *ret)
{
    for (size_t i = 0, at = 0; i < of->n; i++)
        for (size_t k = 0; of->of[i].p < RATE && k < step->n; k++) {
            const expectation *e = &step->of[(at + k) % step->n];
            if (!same_check(e, &of->of[i]))
                continue;
            double z = chance_normal(e->p), over = fmax(0, z * z - 1);
            ret->sum[i] += z * z - over + over * longer;
            ret->n[i]++;
            at = (at + k) % step->n;
            break;
        }
}

static bool step(const expect_list *of, const expect_rows *known, const expect_rows *judged,
                 const expectations_case *c, double rows_judged, restless *ret)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(EXPECT_SCRATCH);
    expect_list list;
    if (a == NULL || !checked(a, known, judged, c->appended, STEP_ROWS, &list))
        return false;
    double rows = (double)(judged->n < STEP_ROWS ? judged->n : STEP_ROWS);
    note(of, &list, fmax(1, fmin(rows_judged, ROWS) / fmax(rows, 1)), ret);
    return true;
}

static bool steps(const expect_list *of, const expectations_case *c, size_t judged, restless *ret)
{
    size_t n = c->known->rows, blocks = n / (judged > LEAST_ROWS ? judged : LEAST_ROWS);
    blocks = blocks < LEAST_STEPS + 1 ? LEAST_STEPS + 1 : blocks > 4 * STEPS ? 4 * STEPS : blocks;
    for (size_t b = blocks > STEPS ? blocks - STEPS : 1;
         c->appended && b < blocks && n / blocks >= LEAST_ROWS; b++) {
        expect_rows known = { c->known, NULL, 0, b * n / blocks };
        expect_rows next = { c->known, NULL, known.n, (b + 1) * n / blocks - known.n };
        if (!step(of, &known, &next, c, (double)judged, ret))
            return false;
    }
    for (size_t e = 0; !c->appended && e < c->n_earlier; e++) {
        const tab_table *newer = e == 0 ? c->known : c->earlier[e - 1];
        expect_rows known = { c->earlier[e], NULL, 0, c->earlier[e]->rows };
        expect_rows next = { newer, NULL, 0, newer->rows };
        if (known.n >= LEAST_ROWS && !step(of, &known, &next, c, (double)judged, ret))
            return false;
    }
    return true;
}

static bool calmed(expect_list *list, const expectations_case *c, size_t judged)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(EXPECT_SCRATCH);
    restless r = { a == NULL ? NULL : tab_arena_new_of(a, double, list->n + 1),
                   a == NULL ? NULL : tab_arena_new_of(a, uint32_t, list->n + 1) };
    bool any = false;
    for (size_t i = 0; i < list->n; i++)
        any = any || list->of[i].p < RATE;
    if (!any)
        return true;
    if (r.sum == NULL || r.n == NULL || !steps(list, c, judged, &r))
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (r.n[i] > 0) {
            double degrees = CALM + (double)r.n[i];
            double spread = sqrt(fmax(1, (CALM + r.sum[i]) / degrees));
            double p = chance_student(chance_normal(list->of[i].p) / spread, degrees);
            list->of[i].p = fmax(list->of[i].p, p);
        }
    return true;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static int least_likely_first(const void *x, const void *y)
{
    const expectation *a = x, *b = y;
    double da = fabs(a->after - a->before), db = fabs(b->after - b->before);
    if (a->weighed != b->weighed)
        return a->weighed < b->weighed ? -1 : 1;
    if (da != db)
        return da > db ? -1 : 1;
    return (a > b) - (a < b);
}

/* Orders the list; how many of it are said. */
static size_t keep(expect_list *list, double rate)
{
    double all = (double)list->n, pairs = 0;
    size_t said = 0;
    for (size_t i = 0; i < list->n; i++)
        pairs += list->of[i].with.n > 0;
    for (size_t i = 0; i < list->n; i++) {
        double family = list->of[i].with.n > 0 ? pairs : all - pairs;
        double weight = pairs > 0 && pairs < all ? all / (2 * family) : 1;
        list->of[i].weighed = list->of[i].p / weight;
    }
    if (list->n > 0)
        qsort(list->of, list->n, sizeof *list->of, least_likely_first);
    for (size_t i = 0; i < list->n; i++)
        if (list->of[i].weighed <= rate * (double)(i + 1) / all)
            said = i + 1;
    return said;
}

/* Where a column by itself is said, what it has to do with others follows from that. */
static bool follows_from(const expectation *e, const expectation *of, size_t n)
{
    for (size_t i = 0; i < n && e->with.n > 0; i++)
        if (of[i].with.n == 0 && of[i].column.n > 0 &&
            (tab_str_eq(of[i].column, e->column) || tab_str_eq(of[i].column, e->with)))
            return true;
    return false;
}

tab_status expectations_judge(tab_arena *a, const expectations_case *c, expectations *ret, tab_error *err)
{
    expect_rows known = { c->known, NULL, 0, c->known->rows };
    expect_rows judged = { c->judged, c->rows, 0, c->rows != NULL ? c->n_rows : c->judged->rows };
    expect_list list;
    *ret = (expectations){ .rows = judged.n };
    if (known.n < LEAST_ROWS)
        return TAB_OK;
    if (!checked(a, &known, &judged, c->appended, ROWS, &list) || !calmed(&list, c, judged.n) ||
        !rows(&list, c) || tab_arena_full(a))
        return tab_no_memory(err);
    size_t said = keep(&list, RATE * c->share);
    ret->checks = list.n;
    ret->changed = tab_arena_new_of(a, expectation, said + 1);
    if (ret->changed == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < said && ret->n_changed < EXPECT_SAID; i++)
        if (!follows_from(&list.of[i], list.of, said))
            ret->changed[ret->n_changed++] = list.of[i];
    return TAB_OK;
}
