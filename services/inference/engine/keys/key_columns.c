/* See key_columns.h: a column's distinct values are sorted twice, by the id of their normal form (to look
 * them up) and by size or first appearance (their rank); what else is known of the column is counted on the
 * way. */
#include "services/inference/engine/keys/key_columns.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"

enum { FEWEST_SMOOTH = 8, LEAST_COUNTED = 2, LEAST_MOMENTS = 8 };
/* Share of a range that a counter fills, and of its rows that come after the row before. */
static const double COUNTED = 0.9;
/* Of a calendar: the share of steps that are near their median, how near the months are to one another, and
 * the share of their span that years fill. */
static const double EVEN = 0.7, NEAR = 0.1, YEARS = 0.9;

/* A value while its column is sorted: its normal form, its rows, the first of them. */
typedef struct {
    uint32_t key, rows, first;
    double number;
} entry;

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* What a value is ranked by, and where it stands among the sorted keys. */
typedef struct {
    double x;
    uint32_t at;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->x != y->x)
        return x->x < y->x ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Values that are equal in normal form become one entry. Returns how many are left. */
static uint32_t join_equal(entry *e, uint32_t n)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (to > 0 && e[to - 1].key == e[i].key) {
            e[to - 1].rows += e[i].rows;
            if (e[i].first < e[to - 1].first)
                e[to - 1].first = e[i].first;
        } else {
            e[to++] = e[i];
        }
    }
    return to;
}

/* Whole numbers, unless one is a fraction or beyond 2^53; up to one row in fifty may hold something
 * else. Hosts that are read as names do not hold them: they refer to nothing that a join would find. */
static tab_key_kind kind_of(const tab_view *w)
{
    if (w->hosts)
        return TAB_KEY_OTHER;
    if (w->kind == TAB_VIEW_DATE)
        return TAB_KEY_DATE;
    if (w->kind == TAB_VIEW_TEXT)
        return TAB_KEY_TEXT;
    for (uint32_t i = 0; i < w->values; i++) {
        double x = w->value[i].number;
        if (isnan(x) ? w->value[i].rows * 50 > w->present : x != trunc(x) || fabs(x) > 9e15)
            return TAB_KEY_OTHER;
    }
    return TAB_KEY_WHOLE;
}

/* Pearson's correlation of a value's place with the logarithm of its rows. */
static double slope_of(const uint32_t *rank, const uint32_t *rows, uint32_t n)
{
    /* means, then the products about them */
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (uint32_t i = 0; i < n; i++) {
        mx += rank[i];
        my += log((double)rows[i]);
    }
    mx /= n;
    my /= n;
    for (uint32_t i = 0; i < n; i++) {
        double dx = rank[i] - mx, dy = log((double)rows[i]) - my;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    return xx > 0 && yy > 1e-12 ? xy / sqrt(xx * yy) : 0;
}

/* The share of rows that are greater than the row before; of texts, that were not there before. */
static double climbing_of(const tab_view *w, size_t rows, bool number)
{
    size_t up = 0, n = 0;
    uint32_t before = TAB_NULL, seen = 0;
    for (size_t r = 0; r < rows; r++) {
        uint32_t c = w->code[r];
        if (c == TAB_NULL)
            continue;
        if (before != TAB_NULL) {
            up += number ? w->value[c].number > w->value[before].number : c > seen;
            n++;
        }
        seen = c > seen ? c : seen;
        before = c;
    }
    return n > 0 ? (double)up / (double)n : 0;
}

/* Correlation of the logarithms of the rows of neighbouring numbers, where there are enough of them. The
 * column's values stand in the order of their rank. */
static double smooth_of(const uint32_t *rows, uint32_t n)
{
    double mean = 0, all = 0, next = 0;
    if (n < FEWEST_SMOOTH)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        mean += log((double)rows[i]) / n;
    for (uint32_t i = 0; i < n; i++) {
        double d = log((double)rows[i]) - mean;
        all += d * d;
        next += i + 1 < n ? d * (log((double)rows[i + 1]) - mean) : 0;
    }
    return all > 1e-9 ? next / all : 0;
}

/* Share of rows that are multiples of five, less the share of values that are. */
static double round_of(const tab_view *w)
{
    double rows = 0, fives = 0, values = 0, five_values = 0;
    for (uint32_t i = 0; i < w->values; i++) {
        double x = w->value[i].number;
        bool five = !isnan(x) && fmod(x, 5) == 0;
        rows += w->value[i].rows;
        values++;
        fives += five ? w->value[i].rows : 0;
        five_values += five;
    }
    return rows > 0 ? fives / rows - five_values / values : 0;
}

/* Whether whole numbers count the rows: from 0 or 1 on, by one at a time but for a few gaps, all there, in
 * the order of the rows but for a few. */
static bool counts_rows(const tab_key_column *c, size_t rows)
{
    return c->kind == TAB_KEY_WHOLE && c->n == rows && c->present == rows && rows >= LEAST_COUNTED &&
           (c->least == 0 || c->least == 1) && c->n >= COUNTED * (c->most - c->least + 1) &&
           c->climbing >= COUNTED;
}

/* Whether moments follow one another at even steps: most steps are near their median, as those of months and
 * of working days are. Years fill their span. False also when out of memory. */
static bool is_calendar(const tab_key_column *c)
{
    uint32_t n = c->numbers, even = 0;
    if (n < LEAST_MOMENTS)
        return false;
    if (c->kind == TAB_KEY_WHOLE)
        return c->least >= 1500 && c->most <= 2200 && c->n >= YEARS * (c->most - c->least + 1);
    double *step = malloc(n * sizeof *step);
    for (uint32_t i = 1; step != NULL && i < n; i++)
        step[i - 1] = c->number[i] - c->number[i - 1];
    if (step != NULL)
        qsort(step, n - 1, sizeof *step, tab_ascending_double);
    for (uint32_t i = 0; step != NULL && i + 1 < n; i++)
        even += fabs(step[i] - step[(n - 1) / 2]) <= NEAR * step[(n - 1) / 2];
    free(step);
    return even >= EVEN * (n - 1);
}

/* Mean length, share of digits and words of at most 500 values. */
static void looks(const tab_views *v, const tab_view *w, tab_key_column *c)
{
    double seen = 0, bytes = 0, digits = 0, words = 0;
    uint32_t step = w->values / 500 + 1;
    for (uint32_t i = 0; i < w->values; i += step) {
        tab_str s = tab_value_text(v, &w->value[i]);
        bytes += (double)s.n;
        words += 1;
        for (size_t k = 0; k < s.n; k++) {
            digits += s.p[k] >= '0' && s.p[k] <= '9';
            words += s.p[k] == ' ';
        }
        seen++;
    }
    c->length = bytes / seen;
    c->digits = bytes > 0 ? digits / bytes : 0;
    c->words = words / seen;
}

/* One column of the result. False: out of memory. */
static bool fill(const tab_views *v, const tab_view *w, size_t rows, tab_arena *a, tab_key_column *c)
{
    c->kind = kind_of(w);
    c->present = w->present;
    if (w->values == 0)
        return true;
    entry *e = malloc(w->values * sizeof *e);
    placed *p = malloc(w->values * sizeof *p);
    uint32_t *by_rank = malloc(w->values * sizeof *by_rank);
    bool ok = e != NULL && p != NULL && by_rank != NULL;
    /* distinct values, by the id of their normal form; equal ones are joined */
    for (uint32_t i = 0; ok && i < w->values; i++)
        e[i] = (entry){ w->value[i].key, w->value[i].rows, w->value[i].first, w->value[i].number };
    if (ok) {
        qsort(e, w->values, sizeof *e, by_key);
        c->n = join_equal(e, w->values);
        c->key = tab_arena_new_of(a, uint32_t, c->n);
        c->rows = tab_arena_new_of(a, uint32_t, c->n);
        c->rank = tab_arena_new_of(a, uint32_t, c->n);
        bool measured = c->kind == TAB_KEY_WHOLE || c->kind == TAB_KEY_DATE;
        if (measured)
            c->number = tab_arena_new_of(a, double, c->n);
        ok = c->key != NULL && c->rows != NULL && c->rank != NULL && (!measured || c->number != NULL);
        /* what each is ranked by: texts by their first row, numbers and dates by size */
        for (uint32_t i = 0; ok && i < c->n; i++) {
            c->key[i] = e[i].key;
            c->rows[i] = e[i].rows;
            p[i] = (placed){ c->kind == TAB_KEY_TEXT || isnan(e[i].number) ? e[i].first : e[i].number, i };
            if (measured && !isnan(e[i].number))
                c->number[c->numbers++] = e[i].number;
        }
        if (ok) {
            qsort(p, c->n, sizeof *p, by_place);
            for (uint32_t i = 0; i < c->n; i++) {
                c->rank[p[i].at] = i;
                by_rank[i] = c->rows[p[i].at];
            }
            if (c->kind == TAB_KEY_WHOLE) {
                c->smooth = smooth_of(by_rank, c->n);
                c->round = round_of(w);
            }
            if (c->numbers > 0) {
                qsort(c->number, c->numbers, sizeof *c->number, tab_ascending_double);
                c->least = c->number[0];
                c->most = c->number[c->numbers - 1];
                c->calendar = is_calendar(c);
            }
            /* one value in fifty may stand twice: keys of dirty tables do (key_columns.h) */
            c->unique = (double)c->n >= 0.98 * (double)c->present;
            c->slope = slope_of(c->rank, c->rows, c->n);
            c->climbing = climbing_of(w, rows, c->kind != TAB_KEY_TEXT);
            looks(v, w, c);
        }
    }
    free(e);
    free(p);
    free(by_rank);
    c->counter = ok && counts_rows(c, rows);
    return ok;
}

bool tab_key_columns_lead(const tab_views *v, const tab_key_columns *k)
{
    for (size_t t = 0; t < v->n; t++) {
        const tab_key_column *c = &k->col[k->at[t]];
        if (k->at[t] == k->at[t + 1] || !c->counter || c->least != k->col[k->at[0]].least)
            return false;
    }
    return v->n > 1;
}

/* Fills place and nth. */
static void say_places(const tab_views *v, tab_key_columns *k)
{
    for (size_t t = 0; t < v->n; t++) {
        uint32_t nth = 0, place = 0;
        for (size_t i = k->at[t]; i < k->at[t + 1]; i++) {
            tab_key_column *c = &k->col[i];
            c->nth = nth;
            c->place = place;
            nth += c->unique && c->n > 1 && c->kind != TAB_KEY_OTHER;
            place += !(c->counter && c->kind == TAB_KEY_OTHER);
        }
    }
}

void tab_key_columns_index(const tab_views *v, tab_key_columns *k, bool index)
{
    for (size_t t = 0; t < v->n; t++)
        k->col[k->at[t]].kind = index ? TAB_KEY_OTHER : TAB_KEY_WHOLE;
    say_places(v, k);
}

tab_status tab_key_columns_new(const tab_engine *e, const tab_views *v, tab_arena *a, tab_key_columns *ret,
                               tab_error *err)
{
    size_t n = 0;
    ret->at = tab_arena_new_of(a, size_t, v->n + 1);
    for (size_t t = 0; ret->at != NULL && t < v->n; t++) {
        ret->at[t] = n;
        n += v->table[t].cols;
    }
    ret->col = tab_arena_new_of(a, tab_key_column, n);
    if (ret->at == NULL || ret->col == NULL)
        return tab_no_memory(err);
    ret->at[v->n] = n;
    for (size_t t = 0; t < v->n; t++) {
        for (size_t i = 0; i < v->table[t].cols; i++) {
            tab_key_column *c = &ret->col[ret->at[t] + i];
            c->table = (uint32_t)t;
            c->column = (uint32_t)i;
            if (tab_engine_cancelled(e))
                return tab_fail(err, TAB_CANCELLED, "", "cancelled");
            if (!fill(v, &v->table[t].col[i], v->table[t].rows, a, c))
                return tab_no_memory(err);
        }
    }
    say_places(v, ret);
    return TAB_OK;
}
