/* Checks of two columns (expectations.h): learnt on one half of the known rows, counted in the other and
 * in the judged ones. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/data-connector/expectations/checks.h"

/* EXCEPTIONS: of a dependency among rows that it was learnt on. KNOWN_SHARE: one value of the column that
 * follows has at most so many, else nothing is said by it. COVERED: rows whose value stood at least twice. */
static const double EXCEPTIONS = 0.02, KNOWN_SHARE = 0.9, COVERED = 0.5;
/* ORDER: of rows in which one number is at most another. TOGETHER: on the same side of both medians, or the
 * other ones. */
static const double ORDER = 0.005, TOGETHER = 0.65;
enum { LEAST = 40 }; /* rows that anything is learnt on */

/* ---- what is kept of a column ---------------------------------------------------------------- */

typedef struct {
    uint64_t id;
    uint32_t row;
} placed;

static int by_id(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    return a->id != b->id ? (a->id < b->id ? -1 : 1) : (a->row > b->row) - (a->row < b->row);
}

bool expect_side_of(tab_arena *a, const expect_pool *p, const expect_column *c, expect_side *ret)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(EXPECT_SCRATCH);
    placed *of = scratch == NULL ? NULL : tab_arena_new_of(scratch, placed, p->n + 1);
    size_t n = 0, present = 0, numbers = 0, times = 0;
    *ret = (expect_side){ .name = c->name };
    if (of == NULL)
        return false;
    for (size_t r = 0; r < p->n; r++) {
        bool known = r < p->known;
        if (c->id[r] != 0)
            of[n++] = (placed){ c->id[r], (uint32_t)r };
        present += known && c->id[r] != 0;
        numbers += known && c->kind[r] == CELL_NUMBER;
        times += known && c->kind[r] == CELL_TIME;
    }
    if (present < LEAST)
        return true;
    qsort(of, n, sizeof *of, by_id);
    for (size_t i = 0; i < n; i++)
        ret->levels += i == 0 || of[i].id != of[i - 1].id;
    if (ret->levels > 1 && ret->levels < present / 2) {
        if ((ret->code = tab_arena_new_of(a, uint32_t, p->n + 1)) == NULL)
            return false;
        memset(ret->code, 0xff, p->n * sizeof *ret->code);
        for (size_t i = 0, at = 0; i < n; i++)
            ret->code[of[i].row] = (uint32_t)(at += i > 0 && of[i].id != of[i - 1].id);
    }
    ret->times = times > numbers;
    if (10 * (ret->times ? times : numbers) < 9 * present)
        return true;
    if ((ret->number = tab_arena_new_of(a, double, p->n + 1)) == NULL)
        return false;
    for (size_t r = 0; r < p->n; r++)
        ret->number[r] = (c->kind[r] == CELL_TIME) == ret->times ? c->number[r] : (double)NAN;
    return true;
}

/* ---- one column follows from another --------------------------------------------------------- */

/* The rows that are learnt on, by the value of one column. */
typedef struct {
    uint32_t *from; /* (levels + 1) */
    uint32_t *row;
    uint32_t *most;  /* (levels) the other column's value that stands most often, UINT32_MAX: not known */
    uint32_t *count; /* (levels of the other column) */
} groups;

static bool group(tab_arena *a, const expect_pool *p, const expect_side *x, size_t levels, groups *g)
{
    *g = (groups){ tab_arena_new_of(a, uint32_t, x->levels + 2), tab_arena_new_of(a, uint32_t, p->n + 1),
                   tab_arena_new_of(a, uint32_t, x->levels + 1), tab_arena_new_of(a, uint32_t, levels + 1) };
    if (tab_arena_full(a))
        return false;
    for (size_t r = 0; r < p->n; r++)
        if (p->learnt[r] && x->code[r] != UINT32_MAX)
            g->from[x->code[r] + 2]++;
    for (size_t k = 1; k < x->levels + 2; k++)
        g->from[k] += g->from[k - 1];
    for (size_t r = 0; r < p->n; r++)
        if (p->learnt[r] && x->code[r] != UINT32_MAX)
            g->row[g->from[x->code[r] + 1]++] = (uint32_t)r;
    return true;
}

/* What y follows from x, learnt; false where it does not. */
static bool follows(const expect_side *x, const expect_side *y, groups *g)
{
    double rows = 0, covered = 0, right = 0, most_of_all = 0;
    for (size_t k = 0; k < x->levels; k++) {
        uint32_t best = UINT32_MAX, n = 0;
        for (uint32_t i = g->from[k]; i < g->from[k + 1]; i++) {
            uint32_t v = y->code[g->row[i]];
            if (v == UINT32_MAX)
                continue;
            n++, g->count[v]++;
            if (best == UINT32_MAX || g->count[v] > g->count[best] ||
                (g->count[v] == g->count[best] && v < best))
                best = v;
        }
        rows += n;
        g->most[k] = n > 1 ? best : UINT32_MAX;
        covered += n > 1 ? n : 0;
        right += n > 1 ? g->count[best] : 0;
        for (uint32_t i = g->from[k]; i < g->from[k + 1]; i++)
            if (y->code[g->row[i]] != UINT32_MAX)
                g->count[y->code[g->row[i]]] = 0;
    }
    if (rows < LEAST || covered < COVERED * rows || covered - right > EXCEPTIONS * covered)
        return false;
    for (uint32_t i = 0; i < g->from[x->levels]; i++)
        if (y->code[g->row[i]] != UINT32_MAX)
            most_of_all = fmax(most_of_all, ++g->count[y->code[g->row[i]]]);
    for (uint32_t i = 0; i < g->from[x->levels]; i++)
        if (y->code[g->row[i]] != UINT32_MAX)
            g->count[y->code[g->row[i]]] = 0;
    return most_of_all <= KNOWN_SHARE * rows;
}

static bool say(expect_list *list, const char *kind, const expect_side *x, const expect_side *y,
                expect_verdict v, const char *what)
{
    tab_arena *a = list->a;
    expectation e = { .kind = kind, .column = y->name, .with = x->name, .p = v.p };
    e.before = v.before, e.after = v.after;
    if (v.p < 0.01)
        e.reason = tab_str_of(tab_arena_printf(a, "in %s of the rows %s; in %s before",
                                               expect_share(a, v.after), what, expect_share(a, v.before)));
    return !tab_arena_full(a) && expect_add(list, &e);
}

static bool dependency(expect_list *list, const expect_pool *p, const expect_side *x, const expect_side *y,
                       groups *g)
{
    expect_counts marked = { 0 }, among = { 0 };
    if (!follows(x, y, g))
        return true;
    for (size_t r = 0; r < p->n; r++) {
        if (p->learnt[r] || x->code[r] == UINT32_MAX || y->code[r] == UINT32_MAX ||
            g->most[x->code[r]] == UINT32_MAX)
            continue;
        expect_count(p, r, &among);
        if (g->most[x->code[r]] != y->code[r])
            expect_count(p, r, &marked);
    }
    return say(list, "dependency", x, y, expect_test(&marked, &among),
               tab_arena_printf(list->a, "`%.*s` is not what follows from `%.*s`", TAB_STR(y->name),
                                TAB_STR(x->name)));
}

static bool dependencies(expect_list *list, const expect_pool *p, const expect_side *s, size_t n)
{
    size_t levels = 0;
    for (size_t i = 0; i < n; i++)
        levels = s[i].levels > levels ? s[i].levels : levels;
    for (size_t i = 0; i < n; i++) {
        TAB_AUTO(tab_arena) *scratch = tab_arena_new(EXPECT_SCRATCH);
        groups g;
        if (s[i].code == NULL)
            continue;
        if (scratch == NULL || !group(scratch, p, &s[i], levels, &g))
            return false;
        for (size_t k = 0; k < n; k++)
            if (k != i && s[k].code != NULL && !dependency(list, p, &s[i], &s[k], &g))
                return false;
    }
    return true;
}

/* ---- two numbers ----------------------------------------------------------------------------- */

static bool median_learnt(const expect_pool *p, const expect_side *s, double *scratch, double *ret)
{
    size_t n = 0;
    for (size_t r = 0; r < p->n; r++)
        if (p->learnt[r] && !isnan(s->number[r]))
            scratch[n++] = s->number[r];
    qsort(scratch, n, sizeof *scratch, tab_ascending_double);
    *ret = n > 0 ? scratch[n / 2] : 0;
    return n >= LEAST;
}

typedef enum { AT_MOST, AT_LEAST, SAME_SIDE, OTHER_SIDE } relation;

static bool holds(relation how, double x, double y, double middle_x, double middle_y)
{
    switch (how) {
    case AT_MOST:
        return x <= y;
    case AT_LEAST:
        return x >= y;
    case SAME_SIDE:
        return (x > middle_x) == (y > middle_y);
    default:
        return (x > middle_x) != (y > middle_y);
    }
}

static bool related(expect_list *list, const expect_pool *p, const expect_side *x, const expect_side *y,
                    const double middle[2], relation how)
{
    static const char *const what[] = { "is above", "is below", "does not go with", "does not go against" };
    expect_counts marked = { 0 }, among = { 0 };
    double rows = 0, against = 0;
    for (size_t r = 0; r < p->n; r++) {
        if (isnan(x->number[r]) || isnan(y->number[r]))
            continue;
        bool broken = !holds(how, x->number[r], y->number[r], middle[0], middle[1]);
        if (p->learnt[r]) {
            rows++, against += broken;
            continue;
        }
        expect_count(p, r, &among);
        if (broken)
            expect_count(p, r, &marked);
    }
    if (rows < LEAST || against > (how < SAME_SIDE ? ORDER : 1 - TOGETHER) * rows)
        return true;
    return say(list, how < SAME_SIDE ? "order" : "together", x, y, expect_test(&marked, &among),
               tab_arena_printf(list->a, "`%.*s` %s `%.*s`", TAB_STR(x->name), what[how], TAB_STR(y->name)));
}

static bool numbers(expect_list *list, const expect_pool *p, const expect_side *s, size_t n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(EXPECT_SCRATCH);
    double *scratch = a == NULL ? NULL : tab_arena_new_of(a, double, p->n + 1);
    double *middle = a == NULL ? NULL : tab_arena_new_of(a, double, n + 1);
    bool *enough = a == NULL ? NULL : tab_arena_new_of(a, bool, n + 1);
    if (scratch == NULL || middle == NULL || enough == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        enough[i] = s[i].number != NULL && median_learnt(p, &s[i], scratch, &middle[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            for (relation how = AT_MOST; enough[i] && enough[k] && how <= OTHER_SIDE; how++) {
                if (how < SAME_SIDE && s[i].times != s[k].times)
                    continue;
                if (!related(list, p, &s[i], &s[k], (double[]){ middle[i], middle[k] }, how))
                    return false;
            }
    return true;
}

bool expect_check_pairs(expect_list *list, const expect_pool *p, const expect_side *s, size_t n)
{
    return dependencies(list, p, s, n) && numbers(list, p, s, n);
}
