/* See pool.h. */
#include "services/data-connector/expectations/pool.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/time.h"

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The i-th of `take` rows out of n: one of each stretch of equal length, at a place that is as good as
 * drawn. */
static size_t drawn(size_t i, size_t take, size_t n)
{
    if (take >= n)
        return i;
    size_t from = i * n / take, to = (i + 1) * n / take;
    return from + mixed(i + 1) % (to - from);
}

static void add(expect_pool *p, const expect_rows *r, size_t most)
{
    size_t take = r->n < most ? r->n : most;
    for (size_t i = 0; i < take; i++) {
        size_t k = drawn(i, take, r->n);
        p->at[p->n++] = r->list != NULL ? r->list[k] : (uint32_t)(r->first + k);
    }
}

bool expect_pool_new(tab_arena *a, const expect_rows *known, const expect_rows *judged, size_t most,
                     expect_pool *ret)
{
    *ret = (expect_pool){ .a = a,
                          .learnt = tab_arena_new_of(a, bool, 2 * most),
                          .at = tab_arena_new_of(a, uint32_t, 2 * most),
                          .of = { known->t, judged->t } };
    if (tab_arena_full(a))
        return false;
    for (int side = 0; side < 2; side++) {
        ret->address[side] = tab_arena_new_of(a, tab_str, ret->of[side]->cols + 1);
        for (size_t c = 0; ret->address[side] != NULL && c < ret->of[side]->cols; c++)
            ret->address[side][c] = tab_column_address(a, ret->of[side], c);
    }
    add(ret, known, most);
    ret->known = ret->n;
    add(ret, judged, most);
    for (size_t i = 0; i < ret->known; i++)
        ret->learnt[i] = (mixed(i + 77) & 1) != 0;
    return !tab_arena_full(a);
}

/* ---- a column -------------------------------------------------------------------------------- */

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A day or a moment, ISO 8601, in microseconds. */
static bool moment(tab_str s, int64_t *ret)
{
    char day[] = "0000-00-00T00:00:00Z";
    if (s.n < 10 || s.n > 35 || !digit(s.p[0]) || !digit(s.p[3]) || s.p[4] != '-' || s.p[7] != '-')
        return false;
    if (s.n > 10)
        return s.n >= 19 && tab_time_parse(s, ret);
    memcpy(day, s.p, 10);
    return tab_time_parse(tab_str_of(day), ret);
}

/* Runs of digits, of letters and of capitals are one each. */
static uint64_t form_of(tab_str s)
{
    uint64_t h = TAB_FNV1A;
    char before = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        char is = digit(c) ? '9' : c >= 'A' && c <= 'Z' ? 'A' : (c >= 'a' && c <= 'z') || c < 0 ? 'a' : c;
        if (is != before || (is != '9' && is != 'A' && is != 'a'))
            h = tab_fnv1a(h, &is, 1);
        before = is;
    }
    return h | 1;
}

typedef struct {
    uint64_t id, form;
    double number, length;
    uint8_t kind;
} cell_view;

static cell_view number_view(double x)
{
    x = x == 0 ? 0 : x; /* -0 is 0 */
    return (cell_view){ mixed(tab_fnv1a(TAB_FNV1A, &x, sizeof x)) | 1, 0, x, NAN, CELL_NUMBER };
}

static cell_view level_view(const tab_column *c, size_t level)
{
    tab_str s = tab_level(c, level), bare = s;
    cell_view v = { mixed(tab_fnv1a(TAB_FNV1A, s.p, s.n)) | 1, 0, NAN, NAN, CELL_TEXT };
    int64_t us;
    size_t n;
    double x;
    while (bare.n > 0 && (bare.p[0] == ' ' || bare.p[0] == '\t'))
        bare.p++, bare.n--;
    if (bare.n == 0)
        return (cell_view){ 0, 0, NAN, NAN, CELL_MISSING };
    if (c->kind[level] == TAB_CELL_NUMBER) {
        char digits[64];
        memcpy(digits, s.p, s.n < sizeof digits ? s.n : sizeof digits - 1);
        digits[s.n < sizeof digits ? s.n : sizeof digits - 1] = '\0';
        x = strtod(digits, NULL);
        if (isfinite(x) && fabs(x) < 0x1p53)
            return number_view(x); /* as a column of numbers has it */
        v.number = isfinite(x) ? x : (double)NAN;
        v.kind = CELL_NUMBER;
    } else if (tab_number_read(s.p, s.p + s.n, &n, &x) == TAB_NUMBER_EXACT && n == s.n) {
        return number_view(x); /* a text because another cell of its column is none */
    } else if (c->kind[level] == TAB_CELL_BOOL || tab_str_eq(s, TAB_S("true")) ||
               tab_str_eq(s, TAB_S("false"))) {
        v.kind = CELL_BOOL;
    } else if (moment(s, &us)) {
        v.number = (double)us;
        v.kind = CELL_TIME;
    } else {
        v.form = form_of(s);
        v.length = (double)s.n;
    }
    return v;
}

static const tab_column *column_of(const expect_pool *p, int side, tab_str address)
{
    for (size_t c = 0; c < p->of[side]->cols; c++)
        if (tab_str_eq(p->address[side][c], address))
            return &p->of[side]->col[c];
    return NULL;
}

bool expect_column_there(const expect_pool *p, tab_str address)
{
    return column_of(p, 1, address) != NULL;
}

bool expect_column_read(tab_arena *a, const expect_pool *p, tab_str address, expect_column *ret)
{
    *ret = (expect_column){ .name = address,
                            .id = tab_arena_new_of(a, uint64_t, p->n + 1),
                            .form = tab_arena_new_of(a, uint64_t, p->n + 1),
                            .number = tab_arena_new_of(a, double, p->n + 1),
                            .length = tab_arena_new_of(a, double, p->n + 1),
                            .kind = tab_arena_new_of(a, uint8_t, p->n + 1) };
    const tab_column *of[] = { column_of(p, 0, address), column_of(p, 1, address) };
    for (size_t r = 0; r < p->n && !tab_arena_full(a); r++) {
        const tab_column *c = of[r >= p->known];
        cell_view v = { 0, 0, NAN, NAN, CELL_MISSING };
        if (c != NULL && c->layout == TAB_NUMBERS && !isnan(c->num[p->at[r]]))
            v = number_view(c->num[p->at[r]]);
        else if (c != NULL && c->layout == TAB_CODED && c->code[p->at[r]] != TAB_NULL)
            v = level_view(c, c->code[p->at[r]]);
        ret->id[r] = v.id, ret->form[r] = v.form, ret->kind[r] = v.kind;
        ret->number[r] = v.number, ret->length[r] = v.length;
        expect_count(p, r, &ret->kinds[v.kind]);
        if (v.kind != CELL_MISSING)
            expect_count(p, r, &ret->present);
    }
    return !tab_arena_full(a);
}

tab_str expect_value(tab_arena *a, const expect_pool *p, const expect_column *c, size_t row)
{
    const tab_column *of = column_of(p, row >= p->known, c->name);
    char digits[32];
    tab_cell x = of != NULL ? tab_cell_at(of, p->at[row]) : (tab_cell){ .kind = TAB_CELL_NULL };
    if (x.kind == TAB_CELL_NULL)
        return (tab_str){ 0 };
    if (x.text.n == 0 && x.kind == TAB_CELL_NUMBER)
        return tab_arena_copy(a, (tab_str){ digits, tab_number_text(x.num, digits) });
    return x.text;
}

/* ---- the test -------------------------------------------------------------------------------- */

chance_draw expect_draw(const expect_counts *marked, const expect_counts *among)
{
    return (chance_draw){ among->known + among->judged, marked->known + marked->judged, among->judged };
}

expect_verdict expect_test(const expect_counts *marked, const expect_counts *among)
{
    chance_draw d = expect_draw(marked, among);
    if (!(among->known > 0) || !(among->judged > 0))
        return (expect_verdict){ .p = 1 };
    return (expect_verdict){ chance_both(&d, marked->judged), marked->known / among->known,
                             marked->judged / among->judged };
}
