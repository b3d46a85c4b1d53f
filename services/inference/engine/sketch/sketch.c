/* See sketch.h. A text that is a number's digits counts as that number: a piece of numbers and one of texts
 * may be of one column. */
#include "services/inference/engine/sketch/sketch.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/json/spread.h"
#include "services/inference/engine/sketch/distinct.h"
#include "services/inference/engine/sketch/frequent.h"
#include "services/inference/engine/sketch/kll.h"

/* Of all columns together, and bounds for one. FEW, SMALL: as spread.c has them. */
enum { QUANTILE_ROOM = 1 << 18, QUANTILE_LEAST = 128, QUANTILE_MOST = TAB_KLL_MOST };
enum { FREQUENT_ROOM = 1 << 20, FREQUENT_LEAST = 256, FREQUENT_MOST = 4096 };
enum { FEW = 12, SMALL = 20 };

struct tab_sketch {
    uint64_t rows, present, numbers;
    tab_kll quantiles;
    tab_frequent frequent;
    tab_distinct distinct;
};

static size_t share(size_t room, size_t columns, size_t least, size_t most)
{
    size_t n = room / (columns > 0 ? columns : 1);
    return n < least ? least : n > most ? most : n;
}

tab_sketch *tab_sketch_new(size_t columns)
{
    tab_sketch *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    tab_kll_init(&s->quantiles, share(QUANTILE_ROOM, columns, QUANTILE_LEAST, QUANTILE_MOST));
    tab_frequent_init(&s->frequent, share(FREQUENT_ROOM, columns, FREQUENT_LEAST, FREQUENT_MOST));
    return s;
}

void tab_sketch_free(tab_sketch *s)
{
    if (s == NULL)
        return;
    tab_kll_free(&s->quantiles);
    tab_frequent_free(&s->frequent);
    free(s);
}

/* Finalizer of MurmurHash3: every bit of x in every bit of the result. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDu;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53u;
    return x ^ x >> 33;
}

static uint64_t hash_number(double x)
{
    uint64_t bits;
    x = x == 0 ? 0 : x; /* -0 too */
    memcpy(&bits, &x, sizeof bits);
    return mix(bits + 0x9E3779B97F4A7C15u);
}

static uint64_t hash_text(tab_str s)
{
    return mix(tab_fnv1a(TAB_FNV1A, s.p, s.n));
}

/* Of a text in a file the same as of a number where its digits are one. */
static bool is_number(tab_str s, double *ret)
{
    size_t n = 0;
    return s.n > 0 && tab_number_read(s.p, s.p + s.n, &n, ret) == TAB_NUMBER_EXACT && n == s.n;
}

static bool add_number(tab_sketch *s, double x, uint64_t times)
{
    uint64_t h = hash_number(x);
    bool good = tab_frequent_add(&s->frequent, h, x, TAB_S(""), times);
    tab_distinct_add(&s->distinct, h);
    for (uint64_t i = 0; i < times; i++)
        good = good && tab_kll_add(&s->quantiles, x);
    s->numbers += times;
    s->present += times;
    return good;
}

static bool add_text(tab_sketch *s, tab_str text, uint64_t times)
{
    uint64_t h = hash_text(text);
    tab_distinct_add(&s->distinct, h);
    s->present += times;
    return tab_frequent_add(&s->frequent, h, (double)NAN, text, times);
}

/* A piece's equal cells are counted first, and taken once. */
static bool add_levels(tab_sketch *s, const tab_column *c, size_t rows)
{
    uint32_t *count = calloc(c->levels + 1, sizeof *count);
    bool good = count != NULL;
    for (size_t i = 0; good && i < rows; i++)
        if (c->code[i] < c->levels)
            count[c->code[i]]++;
    for (size_t k = 0; good && k < c->levels; k++) {
        tab_str text = tab_level(c, k);
        double x;
        if (count[k] > 0)
            good = c->kind[k] != TAB_CELL_BOOL && is_number(text, &x) ? add_number(s, x, count[k])
                                                                      : add_text(s, text, count[k]);
    }
    free(count);
    return good;
}

bool tab_sketch_add(tab_sketch *s, const tab_column *c, size_t rows)
{
    bool good = true;
    s->rows += rows;
    if (c->layout == TAB_CODED)
        return add_levels(s, c, rows);
    for (size_t i = 0; good && i < rows; i++)
        good = isnan(c->num[i]) || add_number(s, c->num[i], 1);
    return good;
}

uint64_t tab_sketch_present(const tab_sketch *s)
{
    return s->present;
}

uint64_t tab_sketch_numbers(const tab_sketch *s)
{
    return s->numbers;
}

uint64_t tab_sketch_distinct(const tab_sketch *s, bool *ret_exact)
{
    *ret_exact = !s->frequent.dropped;
    if (*ret_exact)
        return s->frequent.n;
    double n = tab_distinct_estimate(&s->distinct);
    return n < (double)s->present ? (uint64_t)llround(n) : s->present;
}

uint64_t tab_sketch_count(const tab_sketch *s, tab_str text, bool *ret_exact)
{
    double x;
    const tab_frequent_value *v =
        tab_frequent_find(&s->frequent, is_number(text, &x) ? hash_number(x) : hash_text(text));
    *ret_exact = !s->frequent.dropped;
    return v != NULL ? v->count + v->lost : 0;
}

double tab_sketch_quantile(const tab_sketch *s, double q)
{
    size_t n = 0;
    tab_kll_item *item = tab_kll_items(&s->quantiles, &n);
    double x = n > 0 && item != NULL ? item[n - 1].x : (double)NAN;
    uint64_t below = 0;
    if (q <= 0 || q >= 1) {
        free(item);
        return s->quantiles.count == 0 ? (double)NAN : q <= 0 ? s->quantiles.least : s->quantiles.most;
    }
    for (size_t i = 0; item != NULL && i < n; i++) {
        below += item[i].weight;
        if ((double)below >= q * (double)s->quantiles.count) {
            x = item[i].x;
            break;
        }
    }
    free(item);
    return x;
}

/* ---- spread ------------------------------------------------------------------------------------------ */

static Tabella__Spread *spread_new(tab_arena *a, const tab_sketch *s)
{
    bool exact;
    Tabella__Spread *m = tab_arena_new_of(a, Tabella__Spread, 1);
    if (m == NULL)
        return NULL;
    tabella__spread__init(m);
    m->value = tab_arena_new_of(a, ProtobufCBinaryData, TAB_SPREAD_VALUES);
    m->rows = tab_arena_new_of(a, uint64_t, TAB_SPREAD_VALUES);
    m->bins = tab_arena_new_of(a, uint64_t, TAB_SPREAD_BINS);
    m->distinct = tab_sketch_distinct(s, &exact);
    m->present = s->present;
    return tab_arena_full(a) ? NULL : m;
}

/* What the items stand for, in bins of one width from the least to the greatest number. */
static bool bins(const tab_sketch *s, Tabella__Spread *m)
{
    size_t n = 0;
    uint64_t left = s->quantiles.count;
    tab_kll_item *item = tab_kll_items(&s->quantiles, &n);
    m->low = s->quantiles.least;
    m->high = s->quantiles.most;
    m->n_bins = TAB_SPREAD_BINS;
    m->present = s->numbers;
    for (size_t i = 0; item != NULL && i < n; i++) { /* halves do not overflow */
        size_t k = (size_t)((item[i].x / 2 - m->low / 2) / (m->high / 2 - m->low / 2) * TAB_SPREAD_BINS);
        uint64_t w = item[i].weight < left ? item[i].weight : left;
        m->bins[k < TAB_SPREAD_BINS ? k : TAB_SPREAD_BINS - 1] += w;
        left -= w;
    }
    free(item);
    return item != NULL;
}

/* Numbers ascending, else as they came; the more frequent first. */
static int by_rows(const void *x, const void *y)
{
    const tab_frequent_value *a = *(tab_frequent_value *const *)x, *b = *(tab_frequent_value *const *)y;
    uint64_t m = a->count + a->lost, n = b->count + b->lost;
    if (m != n)
        return m > n ? -1 : 1;
    if (!isnan(a->number) && !isnan(b->number))
        return (a->number > b->number) - (a->number < b->number);
    return (a->first > b->first) - (a->first < b->first);
}

static bool values(tab_arena *a, const tab_sketch *s, Tabella__Spread *m)
{
    const tab_frequent_value **v = calloc(s->frequent.n + 1, sizeof *v);
    if (v == NULL)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < s->frequent.n;
         i++) { /* what may be less frequent than one that was dropped is not */
        const tab_frequent_value *x = &s->frequent.value[i];
        if (x->count + x->lost > s->frequent.off)
            v[n++] = x;
    }
    qsort(v, n, sizeof *v, by_rows);
    for (; m->n_value < n && m->n_value < TAB_SPREAD_VALUES; m->n_value++) {
        const tab_frequent_value *x = v[m->n_value];
        char buf[32];
        tab_str text =
            tab_arena_copy(a, isnan(x->number) ? (tab_str){ x->text, x->n }
                                               : (tab_str){ buf, tab_number_text(x->number, buf) });
        m->value[m->n_value] = (ProtobufCBinaryData){ text.n, (uint8_t *)(uintptr_t)text.p };
        m->rows[m->n_value] = x->count + x->lost;
    }
    m->n_rows = m->n_value;
    free(v);
    return !tab_arena_full(a);
}

Tabella__Spread *tab_sketch_spread(tab_arena *a, const tab_sketch *s, bool numbers)
{
    Tabella__Spread *m = spread_new(a, s);
    if (m == NULL)
        return NULL;
    if (numbers && m->distinct > FEW && s->numbers > 0)
        return bins(s, m) ? m : NULL;
    bool named = numbers || m->present <= SMALL || 10 * m->distinct <= 9 * m->present;
    return !named || values(a, s, m) ? m : NULL;
}

/* ---- as bytes ---------------------------------------------------------------------------------------- */

/* What has one length, then the levels' items, then the frequent values. */
typedef struct {
    uint64_t rows, present, numbers, k, levels, n[TAB_KLL_LEVELS], coin, count;
    double least, most;
    uint64_t values, values_most, came, off, dropped;
    tab_distinct distinct;
} head;

void tab_sketch_write(const tab_sketch *s, tab_out *o)
{
    const tab_kll *q = &s->quantiles;
    const tab_frequent *f = &s->frequent;
    head h = { .rows = s->rows,
               .present = s->present,
               .numbers = s->numbers,
               .k = q->k,
               .levels = q->levels,
               .coin = q->coin,
               .count = q->count,
               .least = q->least,
               .most = q->most,
               .values = f->n,
               .values_most = f->most,
               .came = f->came,
               .off = f->off,
               .dropped = f->dropped,
               .distinct = s->distinct };
    for (size_t i = 0; i < q->levels; i++)
        h.n[i] = q->n[i];
    tab_out_bytes(o, &h, sizeof h);
    for (size_t i = 0; i < q->levels; i++)
        tab_out_bytes(o, q->item[i], q->n[i] * sizeof *q->item[i]);
    tab_out_bytes(o, f->value, f->n * sizeof *f->value);
}

/* n elements of a size off the front; NULL: there are not so many. */
static const char *take(tab_str *rest, uint64_t n, size_t size)
{
    const char *p = rest->p;
    if (n > rest->n / size)
        return NULL;
    *rest = (tab_str){ rest->p + n * size, rest->n - n * size };
    return p;
}

static bool read_all(tab_sketch *s, tab_str *rest)
{
    head h;
    const char *p = take(rest, 1, sizeof h);
    if (p == NULL)
        return false;
    memcpy(&h, p, sizeof h);
    if (h.k < QUANTILE_LEAST || h.k > QUANTILE_MOST || h.levels < 1 || h.levels > TAB_KLL_LEVELS ||
        h.values_most > FREQUENT_MOST)
        return false;
    s->rows = h.rows;
    s->present = h.present;
    s->numbers = h.numbers;
    s->distinct = h.distinct;
    tab_kll_init(&s->quantiles, h.k);
    tab_frequent_init(&s->frequent, h.values_most);
    for (size_t i = 0; i < h.levels; i++)
        if ((p = take(rest, h.n[i], sizeof(double))) == NULL || !tab_kll_level(&s->quantiles, i, p, h.n[i]))
            return false;
    s->quantiles.levels = h.levels;
    s->quantiles.coin = h.coin;
    s->quantiles.count = h.count;
    s->quantiles.least = h.least;
    s->quantiles.most = h.most;
    p = take(rest, h.values, sizeof(tab_frequent_value));
    if (p == NULL || !tab_frequent_fill(&s->frequent, p, h.values))
        return false;
    s->frequent.came = h.came;
    s->frequent.off = h.off;
    s->frequent.dropped = h.dropped != 0;
    return true;
}

tab_sketch *tab_sketch_read(tab_str *rest)
{
    tab_sketch *s = calloc(1, sizeof *s);
    if (s != NULL && read_all(s, rest))
        return s;
    tab_sketch_free(s);
    return NULL;
}
