/* Checks of one column (expectations.h). */
#include <math.h>
#include <stdlib.h>

#include "common/base/time.h"
#include "services/data-connector/expectations/checks.h"

/* A mark that cannot become rarer than this by any count is not tried. */
static const double NEVER = 1e-4;
enum { SHOWN = 80 };

static const char *const KINDS[] = { "missing", "numbers", "booleans", "dates", "texts" };

static bool say(expect_list *list, const expect_column *c, const char *kind, expect_verdict v, tab_str value,
                const char *what)
{
    tab_arena *a = list->a;
    expectation e = { .kind = kind, .column = c->name, .value = value, .p = v.p };
    e.before = v.before, e.after = v.after;
    if (v.p < 0.01)
        e.reason = tab_str_of(tab_arena_printf(a, "%s of the cells %s; %s before", expect_share(a, v.after),
                                               what, expect_share(a, v.before)));
    return !tab_arena_full(a) && expect_add(list, &e);
}

/* ---- kinds of cells -------------------------------------------------------------------------- */

static bool kinds(expect_list *list, const expect_column *c)
{
    expect_counts all = c->present;
    all.known += c->kinds[CELL_MISSING].known;
    all.judged += c->kinds[CELL_MISSING].judged;
    if (!say(list, c, "missing", expect_test(&c->kinds[CELL_MISSING], &all), (tab_str){ 0 }, "are missing"))
        return false;
    expect_verdict best = { .p = 1 };
    size_t at = 0, n = 0;
    for (size_t k = CELL_NUMBER; k < CELL_KINDS; k++) {
        chance_draw d = expect_draw(&c->kinds[k], &c->present);
        if (!(d.marked > 0) || d.marked >= d.all)
            continue;
        expect_verdict v = expect_test(&c->kinds[k], &c->present);
        if (n++ == 0 || v.p < best.p || (v.p == best.p && v.after > best.after))
            best = v, at = k;
    }
    best.p = fmin(1, best.p * (double)n);
    return n == 0 ||
           say(list, c, "type", best, (tab_str){ 0 }, tab_arena_printf(list->a, "are %s", KINDS[at]));
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct {
    uint64_t id;
    uint32_t row;
} placed;

static int by_id(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    return a->id != b->id ? (a->id < b->id ? -1 : 1) : (a->row > b->row) - (a->row < b->row);
}

static placed *in_order(tab_arena *a, const expect_pool *p, const uint64_t *id, expect_counts *ret,
                        size_t *ret_n)
{
    placed *of = tab_arena_new_of(a, placed, p->n + 1);
    *ret = (expect_counts){ 0 };
    *ret_n = 0;
    for (size_t r = 0; of != NULL && r < p->n; r++)
        if (id[r] != 0) {
            of[(*ret_n)++] = (placed){ id[r], (uint32_t)r };
            expect_count(p, r, ret);
        }
    if (of != NULL)
        qsort(of, *ret_n, sizeof *of, by_id);
    return of;
}

/* Of values too rare to be tried one by one: how many judged cells have a value that no known cell has. With
 * c cells of a value, of n known and m judged ones, all c are judged ones with a probability h of at most
 * (m / (n + m))^c; the sum is bounded by Bernstein's inequality, which holds for such draws too (Hoeffding,
 * JASA 58, 1963: drawing without replacement is the tamer one). */
typedef struct {
    double seen, expected, variance, most;
} strangers;

static double never_before(const strangers *s)
{
    double over = s->seen - s->expected;
    return over > 0 ? exp(-over * over / (2 * (s->variance + s->most * over / 3))) : 1;
}

/* Bytes of a value that a sentence has: whole characters. */
static size_t shown(tab_str value)
{
    size_t n = value.n < SHOWN ? value.n : SHOWN;
    while (n > 0 && n < value.n && ((unsigned char)value.p[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* The values of a column, or the forms of its texts. */
static bool values(expect_list *list, const expect_pool *p, const expect_column *c, const uint64_t *id,
                   const char *kind, const char *kind_new)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(EXPECT_SCRATCH);
    expect_counts among;
    expect_verdict best = { .p = 1 };
    strangers s = { 0 };
    size_t n = 0, tried = 0, at = 0;
    placed *of = scratch == NULL ? NULL : in_order(scratch, p, id, &among, &n);
    if (of == NULL)
        return false;
    for (size_t i = 0, to; i < n; i = to) {
        expect_counts marked = { 0 };
        for (to = i; to < n && of[to].id == of[i].id; to++)
            expect_count(p, of[to].row, &marked);
        chance_draw d = expect_draw(&marked, &among);
        if (!(d.drawn > 0) || !(d.marked > 0) || d.drawn >= d.all)
            continue;
        if (chance_least(&d) < NEVER) {
            expect_verdict v = expect_test(&marked, &among);
            if (tried++ == 0 || v.p < best.p)
                best = v, at = of[i].row;
            continue;
        }
        double h = 1;
        for (double k = 0; k < d.marked; k++)
            h *= (d.drawn - k) / (d.all - k);
        s.seen += marked.known > 0 ? 0 : marked.judged;
        s.expected += d.marked * h;
        s.variance += d.marked * d.marked * h * (1 - h);
        s.most = fmax(s.most, d.marked);
    }
    best.p = fmin(1, best.p * (double)tried);
    tab_str value = tried > 0 && best.p < 0.01 ? expect_value(list->a, p, c, at) : (tab_str){ 0 };
    const char *what = tab_arena_printf(list->a, "%s \"%.*s\"", id == c->id ? "are" : "are written like",
                                        (int)shown(value), value.n > 0 ? value.p : "");
    if (what == NULL || (tried > 0 && !say(list, c, kind, best, value, what)))
        return false;
    if (s.most == 0 || kind_new == NULL)
        return true;
    expectation fresh = { .kind = kind_new, .column = c->name, .p = never_before(&s) };
    fresh.after = s.seen / among.judged;
    fresh.reason = tab_str_of(tab_arena_printf(
        list->a, "%s of the cells have a value that was never there; %s were to be expected",
        expect_share(list->a, fresh.after), expect_share(list->a, s.expected / among.judged)));
    return !tab_arena_full(list->a) && expect_add(list, &fresh);
}

/* Values of a column that had none twice: n known and m judged cells make (n + m)^2 / 2 pairs, of which those
 * that are alike lie anywhere by chance. */
static bool repeated(expect_list *list, const expect_pool *p, const expect_column *c)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(EXPECT_SCRATCH);
    expect_counts among;
    size_t n = 0, twice = 0, alike = 0;
    placed *of = scratch == NULL ? NULL : in_order(scratch, p, c->id, &among, &n);
    if (of == NULL)
        return false;
    for (size_t i = 0, to; i < n; i = to) {
        size_t known = 0, judged = 0;
        for (to = i; to < n && of[to].id == of[i].id; to++) {
            known += of[to].row < p->known;
            judged += of[to].row >= p->known;
        }
        twice += known > 1;
        alike += judged > 1 || (p->appended && judged > 0 && known > 0);
    }
    double k = among.known, m = among.judged;
    if (twice > 0 || !(k > 0) || !(m > 0))
        return true;
    double share = p->appended ? 1 - k * k / ((k + m) * (k + m)) : m * m / (k * k + m * m);
    expect_verdict v = { pow(share, (double)alike), 0, (double)alike / m };
    return say(list, c, "repeated", v, (tab_str){ 0 }, "have a value that stands twice");
}

/* ---- spread ---------------------------------------------------------------------------------- */

typedef struct {
    double x;
    uint32_t row;
} measured;

static int by_x(const void *p, const void *q)
{
    const measured *a = p, *b = q;
    return a->x != b->x ? (a->x < b->x ? -1 : 1) : (a->row > b->row) - (a->row < b->row);
}

typedef struct {
    expect_verdict best;
    size_t tried, row;
    double bound;
    bool above;
} spread;

/* From one end of the order on: the outermost cell, the outermost two, four, eight and so on to a half. */
static void from_end(const expect_pool *p, const measured *of, size_t n, const expect_counts *among,
                     bool above, spread *s)
{
    double all = among->known + among->judged, next = 1, seen = 0;
    expect_counts marked = { 0 };
    for (size_t i = 0; i < n && next <= all / 2; i++) {
        const measured *m = &of[above ? n - 1 - i : i];
        expect_count(p, m->row, &marked);
        seen++;
        bool last = i + 1 == n || of[above ? n - 2 - i : i + 1].x != m->x;
        if (!last || seen < next)
            continue;
        while (next <= seen)
            next *= 2;
        chance_draw d = expect_draw(&marked, among);
        if (d.marked >= d.all || chance_least(&d) >= NEVER)
            continue;
        expect_verdict v = expect_test(&marked, among);
        if (s->tried++ == 0 || v.p < s->best.p)
            s->best = v, s->bound = m->x, s->above = above, s->row = m->row;
    }
}

static tab_str bound_text(tab_arena *a, double x, bool time)
{
    char text[TAB_TIME_TEXT + 32];
    if (!time)
        return tab_arena_copy(a, (tab_str){ text, tab_number_text(x, text) });
    tab_time_text_s((int64_t)x, text);
    return tab_arena_copy(a, tab_str_of(text));
}

/* Numbers or moments, or the lengths of texts. */
static bool spread_of(expect_list *list, const expect_pool *p, const expect_column *c, const double *x,
                      bool times, const char *inside)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(EXPECT_SCRATCH);
    measured *of = scratch == NULL ? NULL : tab_arena_new_of(scratch, measured, p->n + 1);
    expect_counts among = { 0 };
    spread s = { .best = { .p = 1 } };
    size_t n = 0;
    if (of == NULL)
        return false;
    for (size_t r = 0; r < p->n; r++)
        if (!isnan(x[r]) && (x != c->number || (c->kind[r] == CELL_TIME) == times)) {
            of[n++] = (measured){ x[r], (uint32_t)r };
            expect_count(p, r, &among);
        }
    qsort(of, n, sizeof *of, by_x);
    from_end(p, of, n, &among, true, &s);
    from_end(p, of, n, &among, false, &s);
    s.best.p = fmin(1, s.best.p * (double)s.tried);
    if (s.tried == 0)
        return true;
    tab_str bound = bound_text(list->a, s.bound, times);
    const char *what = x == c->length ? tab_arena_printf(list->a, "have %.*s bytes or %s", (int)bound.n,
                                                         bound.p, s.above ? "more" : "fewer")
                                      : tab_arena_printf(list->a, "are %.*s or %s", (int)bound.n, bound.p,
                                                         s.above ? "more" : "less");
    bool outside = s.best.before == 0 && x == c->number;
    return what != NULL && say(list, c, outside ? "range" : inside, s.best, bound, what);
}

bool expect_check_column(expect_list *list, const expect_pool *p, const expect_column *c)
{
    return kinds(list, c) && values(list, p, c, c->id, "value", "new_values") &&
           values(list, p, c, c->form, "format", NULL) && repeated(list, p, c) &&
           spread_of(list, p, c, c->number, false, "distribution") &&
           spread_of(list, p, c, c->number, true, "distribution") &&
           spread_of(list, p, c, c->length, false, "length");
}
