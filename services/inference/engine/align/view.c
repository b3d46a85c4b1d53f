/* See view.h: columns as align/ and link/ compare them. link/cross_tables.c builds the views once a pass. A
 * column's distinct values are normalised once; texts and tokens of all tables are interned in one table of
 * terms, by their 64-bit hash. Two different terms of one hash would be taken for equal: a chance of one in
 * 10^8 among a million terms.
 *
 *   read_table ─> column_coded or column_numbers ─> fill_value     normal form, key, tokens
 *              ─> sort_numbers                                     for quantiles
 *   weigh_terms ─> count_columns                                   frequencies, when all are known */
#include "services/inference/engine/align/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/order.h"
#include "services/inference/engine/align/codes.h"
#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/align/view_pool.h"
#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/profile/roles/roles.h"

/* Doubles an array until `need` items fit. False: out of memory, or more than 32-bit indexes hold. */
static bool reserve(void *array, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return true;
    size_t to = *cap == 0 ? 1024 : *cap;
    while (to < need)
        to *= 2;
    void *grown = to > UINT32_MAX ? NULL : realloc(*(void **)array, to * size);
    if (grown == NULL)
        return false;
    *(void **)array = grown;
    *cap = to;
    return true;
}

uint32_t tab_view_text(tab_views *v, tab_str s)
{
    struct tab_view_scratch *o = v->own;
    if (!reserve(&o->text, &o->text_cap, o->text_n + s.n + 1, 1)) {
        o->failed = true;
        return 0;
    }
    if (s.n > 0)
        memcpy(o->text + o->text_n, s.p, s.n);
    uint32_t at = (uint32_t)o->text_n;
    o->text_n += s.n;
    return at;
}

void tab_view_tokens(tab_views *v, tab_value *x)
{
    struct tab_view_scratch *o = v->own;
    size_t n = 0;
    x->tok = (uint32_t)o->tok_n;
    x->tok_n = 0;
    if (o->buffered == 0)
        return;
    qsort(o->buffer, o->buffered, sizeof *o->buffer, tab_ascending_u32);
    /* each token once, ascending: comparisons walk two lists side by side */
    for (size_t i = 0; i < o->buffered; i++)
        if (i == 0 || o->buffer[i] != o->buffer[i - 1])
            o->buffer[n++] = o->buffer[i];
    if (!reserve(&o->tok, &o->tok_cap, o->tok_n + n, sizeof *o->tok)) {
        o->failed = true;
        return;
    }
    memcpy(o->tok + o->tok_n, o->buffer, n * sizeof *o->buffer);
    x->tok_n = (uint32_t)n;
    o->tok_n += n;
}

/* Doubles the table of terms. */
static bool more_slots(struct tab_view_scratch *o)
{
    size_t slots = o->slots == 0 ? 4096 : o->slots * 2;
    uint64_t *hash = calloc(slots, sizeof *hash);
    uint32_t *id = malloc(slots * sizeof *id);
    if (hash == NULL || id == NULL) {
        free(hash);
        free(id);
        return false;
    }
    for (size_t i = 0; i < o->slots; i++)
        if (o->slot_hash[i] != 0) {
            size_t at = tab_place(o->slot_hash[i]) & (slots - 1);
            while (hash[at] != 0)
                at = (at + 1) & (slots - 1);
            hash[at] = o->slot_hash[i];
            id[at] = o->slot_id[i];
        }
    free(o->slot_hash);
    free(o->slot_id);
    o->slot_hash = hash;
    o->slot_id = id;
    o->slots = slots;
    return true;
}

/* The id of a term; by its 64-bit hash, which stands for it. `at` is its text where already stored. */
static uint32_t intern(tab_views *v, tab_str s, uint32_t at)
{
    struct tab_view_scratch *o = v->own;
    uint64_t h = tab_hash_bytes(s.p, s.n, 0) | 1;
    /* at most half full, so that a look-up ends soon */
    if (2 * (v->terms + 1) > o->slots && !more_slots(o)) {
        o->failed = true;
        return 0;
    }
    size_t i;
    for (i = tab_place(h) & (o->slots - 1); o->slot_hash[i] != 0; i = (i + 1) & (o->slots - 1))
        if (o->slot_hash[i] == h)
            return o->slot_id[i];
    /* both lists grow together */
    size_t cap = o->term_cap, cap2 = o->term_cap;
    if (!reserve(&v->term_at, &cap, v->terms + 1, 4) || !reserve(&v->term_n, &cap2, v->terms + 1, 4)) {
        o->failed = true;
        return 0;
    }
    o->term_cap = cap;
    v->term_at[v->terms] = at != UINT32_MAX ? at : tab_view_text(v, s);
    v->term_n[v->terms] = (uint32_t)s.n;
    o->slot_hash[i] = h;
    o->slot_id[i] = (uint32_t)v->terms;
    return (uint32_t)v->terms++;
}

/* A token of the value at hand, for tab_text_tokens. Tokens beyond 1,024 are dropped. */
static void collect(void *ctx, tab_str token)
{
    tab_views *v = ctx;
    struct tab_view_scratch *o = v->own;
    if (o->buffered < sizeof o->buffer / sizeof *o->buffer)
        o->buffer[o->buffered++] = intern(v, token, UINT32_MAX);
}

static double as_decimal(double x)
{
    return x == 0 ? 0 : x; /* no minus zero */
}

/* How many digits of an international telephone number are its country's (ITU-T E.164: 1 and 7, zones of two
 * digits, else three). */
static size_t country_digits(const char *digits)
{
    static const char *const TWO =
        "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 "
        "58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98";
    if (digits[0] == '1' || digits[0] == '7')
        return 1;
    for (const char *p = TWO; *p != 0; p += p[2] == 0 ? 2 : 3)
        if (memcmp(p, digits, 2) == 0)
            return 2;
    return 3;
}

/* The number within its country, the same in all notations (decision 0707): without "+49", "0049", and the 0
 * before an area. */
static size_t national(bool plus, char digits[24], size_t n)
{
    enum { SHORT = 8, LEAST = 6 }; /* "01-02-2024" is no number to call */
    size_t from = 0;
    if (!plus && n > 10 && memcmp(digits, "00", 2) == 0) {
        plus = true;
        from = 2;
    }
    if (plus || (n == 11 && digits[0] == '1'))
        from += country_digits(digits + from);
    while (n > SHORT && from < n && digits[from] == '0')
        from++;
    if (from + LEAST > n)
        return n;
    memmove(digits, digits + from, n - from);
    return n - from;
}

/* Digits of a cell that looks like a telephone number: 7 to 15, and nothing but punctuation; in two groups
 * or more, unless its column is known to hold such (bare: then a program's ".0" behind is none). */
static size_t phone_digits(tab_str s, bool bare, char out[24])
{
    size_t n = 0, groups = 0;
    if (bare && s.n > 2 && memcmp(s.p + s.n - 2, ".0", 2) == 0)
        s.n -= 2;
    /* groups: runs of digits; any other byte than these marks makes it no number */
    bool in = false, plus = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool d = c >= '0' && c <= '9';
        if (d && n < 20)
            out[n++] = c;
        else if (!d && c != ' ' && c != '-' && c != '/' && c != '(' && c != ')' && c != '+' && c != '.')
            return 0;
        plus = plus || c == '+';
        groups += d && !in;
        in = d;
    }
    if (n < 7 || n > 15 || (groups < 2 && !plus && !bare))
        return 0;
    return national(plus, out, n);
}

/* A date as "year month day", with the clock time where it is not midnight, so that dates of any notation
 * are one text. 0: beyond some 11,000 years. */
static size_t date_text(double seconds, char *out)
{
    double days = floor(seconds / 86400.0);
    if (!(fabs(days) < 4e6))
        return 0;
    int y, m, d;
    tab_civil_from_days((int64_t)days, &y, &m, &d);
    int64_t rest = (int64_t)(seconds - days * 86400.0);
    int n = snprintf(out, 48, "%d %d %d", y, m, d);
    if (rest != 0)
        n += snprintf(out + n, 48 - (size_t)n, " %d %d %d", (int)(rest / 3600), (int)(rest / 60 % 60),
                      (int)(rest % 60));
    return (size_t)n;
}

/* What is known of a column's texts. */
typedef enum { WORDS, PHONES, CODES, HOSTS } writing;

/* One distinct value: its normal form is the number's or the date's own where the column is one. */
static void fill_value(tab_views *v, tab_view_kind kind, writing is, tab_value *x, tab_str raw)
{
    struct tab_view_scratch *o = v->own;
    char buf[TAB_NORMAL_MAX];
    size_t n = 0;
    o->buffered = 0;
    /* one text for every notation of a date, a number, a telephone number; other texts in their normal
     * form */
    if (kind == TAB_VIEW_DATE && !isnan(x->number)) {
        n = date_text(x->number, buf);
    } else if (kind == TAB_VIEW_NUMBER && !isnan(x->number)) {
        n = tab_number_text(as_decimal(x->number), buf);
    } else {
        n = is == HOSTS ? tab_host_name(o->hosts, raw, buf) : phone_digits(raw, is == PHONES, buf);
        if (n == 0) {
            n = tab_text_normal(raw, buf);
            tab_text_joined((tab_str){ raw.p, raw.n < 1024 ? raw.n : 1024 }, collect, v);
        }
    }
    if (kind == TAB_VIEW_TEXT && is == CODES) { /* its parts are tokens beside the whole */
        tab_text_tokens((tab_str){ buf, n }, collect, v);
        n = tab_code_close(buf, n);
    }
    x->text = tab_view_text(v, (tab_str){ buf, n });
    x->text_n = (uint32_t)n;
    tab_str normal = { buf, n };
    /* equal normal forms get equal keys; a number or a date is its own only token */
    x->key = intern(v, normal, x->text);
    if (kind == TAB_VIEW_TEXT || isnan(x->number))
        tab_text_tokens(normal, collect, v);
    else if (n > 0)
        collect(v, normal);
    tab_view_tokens(v, x);
}

/* How far a column reads as numbers, and under which decimal mark. */
typedef struct {
    double share;
    char decimal;
} reading;

/* The share of at most 4,000 levels that are numbers, under the decimal mark that suits more of them. */
static reading read_numbers(const tab_column *c)
{
    size_t ok[2] = { 0, 0 }, seen = 0, step = c->levels > 4000 ? c->levels / 4000 : 1;
    for (size_t i = 0; i < c->levels; i += step) {
        /* both decimal marks are tried, as two tables may differ */
        tab_str s = tab_level(c, i);
        double x;
        if (s.n == 0 || c->kind[i] == TAB_CELL_BOOL)
            continue;
        seen++;
        ok[0] += tab_read_number(s, '.', &x);
        ok[1] += tab_read_number(s, ',', &x);
    }
    reading r = { 0, ok[1] > ok[0] ? ',' : '.' };
    if (seen > 0)
        r.share = (double)ok[ok[1] > ok[0]] / (double)seen;
    return r;
}

/* "+12125550000": seven digits or more behind a plus are somebody's number. */
static bool dialled(tab_str s)
{
    size_t n = 1;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return s.n >= 8 && s.p[0] == '+' && n == s.n;
}

/* Whether more than one level in twenty has leading zeros, or is dialled. Such digits are names, not numbers:
 * "00512" is not 512 apples. */
static bool names(const tab_column *c)
{
    size_t found = 0, seen = 0;
    for (size_t i = 0; i < c->levels && i < 2000; i++) {
        tab_str s = tab_level(c, i);
        seen++;
        /* "07:30" is a time, not a padded number */
        bool padded =
            s.n > 1 && s.p[0] == '0' && s.p[1] >= '0' && s.p[1] <= '9' && memchr(s.p, ':', s.n) == NULL;
        found += padded || dialled(s);
    }
    return found * 20 > seen;
}

/* A column of texts: of dates where its profile says so, of numbers where 80 % of the values are (the share
 * that profile/features/column.h asks for), else of texts, written so (text). */
static bool column_coded(tab_views *v, const tab_column_profile *p, size_t rows, writing text, tab_view *w)
{
    const tab_column *c = p->column;
    tab_arena *a = v->own->arena;
    bool dated = p->type == TAB_DATETIME && p->number != NULL;
    /* dates first, then numbers, then numbers with units; else texts */
    reading r = read_numbers(c);
    bool phones = p->role == TAB_ROLE_PHONE && !dated;
    w->kind = dated                                    ? TAB_VIEW_DATE
              : r.share >= 0.8 && !phones && !names(c) ? TAB_VIEW_NUMBER
                                                       : TAB_VIEW_TEXT;
    /* a column that profile reads as numbers with units or currencies is compared by those numbers */
    bool measured =
        !dated && !phones && w->kind == TAB_VIEW_TEXT && p->type == TAB_NUMERIC && p->number != NULL;
    if (measured)
        w->kind = TAB_VIEW_NUMBER;

    writing is = phones ? PHONES : w->kind == TAB_VIEW_TEXT ? text : WORDS;

    /* levels -> values: levels that are empty in normal form are no value */
    uint32_t *value_of = tab_arena_new_of(a, uint32_t, c->levels);
    w->value = tab_arena_new_of(a, tab_value, c->levels);
    w->code = tab_arena_new_of(a, uint32_t, rows);
    if (value_of == NULL || w->value == NULL || w->code == NULL)
        return false;
    for (size_t i = 0; i < c->levels; i++)
        value_of[i] = TAB_NULL;
    for (size_t row = 0; row < rows; row++) {
        uint32_t code = c->code[row];
        w->code[row] = TAB_NULL;
        if (code == TAB_NULL)
            continue;
        if (value_of[code] == TAB_NULL) {
            /* the level's first row: its value is filled once */
            tab_value *x = &w->value[w->values];
            tab_str raw = tab_level(c, code);
            x->number = (double)NAN;
            x->first = (uint32_t)row;
            if (dated || measured)
                x->number = p->number[row];
            else if (w->kind == TAB_VIEW_NUMBER && !tab_read_number(raw, r.decimal, &x->number))
                x->number = (double)NAN;
            fill_value(v, w->kind, is, x, raw);
            value_of[code] = x->text_n == 0 ? TAB_NULL - 1 : w->values;
            if (v->own->failed)
                return false;
            w->values += x->text_n > 0;
        }
        /* TAB_NULL - 1: the level is empty in normal form */
        if (value_of[code] >= TAB_NULL - 1)
            continue;
        w->code[row] = value_of[code];
        w->value[value_of[code]].rows++;
        w->present++;
    }
    return true;
}

/* A column that arrives as numbers: distinct ones by open addressing. */
static bool column_numbers(tab_views *v, const tab_column_profile *p, size_t rows, tab_view *w)
{
    tab_arena *a = v->own->arena;
    size_t slots = 16;
    while (slots < 2 * rows)
        slots *= 2;
    uint32_t *slot = malloc(slots * sizeof *slot);
    w->code = tab_arena_new_of(a, uint32_t, rows);
    /* values grow as they come: how many there are is not known */
    size_t cap = 0;
    tab_value *values = NULL;
    bool ok = slot != NULL && w->code != NULL;
    bool dated = p->type == TAB_DATETIME && p->number != NULL;
    bool phones = p->role == TAB_ROLE_PHONE && !dated;
    w->kind = dated ? TAB_VIEW_DATE : phones ? TAB_VIEW_TEXT : TAB_VIEW_NUMBER;
    if (ok)
        memset(slot, 0xff, slots * sizeof *slot); /* TAB_NULL: the slot is free */
    const double *num = dated ? p->number : p->column->num;
    for (size_t row = 0; ok && row < rows; row++) {
        double x = as_decimal(num[row]);
        w->code[row] = TAB_NULL;
        if (isnan(x))
            continue;
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        size_t i = tab_place(bits) & (slots - 1);
        while (slot[i] != TAB_NULL && values[slot[i]].number != x)
            i = (i + 1) & (slots - 1);
        if (slot[i] == TAB_NULL) {
            if (!reserve(&values, &cap, (size_t)w->values + 1, sizeof *values)) {
                ok = false;
                break;
            }
            values[w->values] = (tab_value){ .number = x, .first = (uint32_t)row };
            char digits[32]; /* a telephone number that a program wrote as a number */
            tab_str raw = phones ? (tab_str){ digits, tab_number_text(x, digits) } : (tab_str){ NULL, 0 };
            fill_value(v, w->kind, phones ? PHONES : WORDS, &values[w->values], raw);
            slot[i] = w->values++;
        }
        /* the row's value, new or known */
        w->code[row] = slot[i];
        values[slot[i]].rows++;
        w->present++;
    }
    free(slot);
    w->value = ok ? tab_arena_new_of(a, tab_value, w->values) : NULL;
    if (w->value != NULL && w->values > 0)
        memcpy(w->value, values, w->values * sizeof *values);
    free(values);
    return w->value != NULL && !v->own->failed;
}

/* The numbers of up to SAMPLE rows at even distances, for quantiles; an error of 1/64 in a share at most. */
static bool sort_numbers(tab_views *v, size_t rows, tab_view *w)
{
    enum { SAMPLE = 4096 };
    if (w->kind == TAB_VIEW_TEXT)
        return true;
    w->sorted = tab_arena_new_of(v->own->arena, double, rows < SAMPLE ? rows : SAMPLE);
    if (w->sorted == NULL)
        return false;
    size_t step = (rows + SAMPLE - 1) / SAMPLE;
    for (size_t row = 0; row < rows; row += step)
        if (w->code[row] != TAB_NULL && !isnan(w->value[w->code[row]].number))
            w->sorted[w->sorted_n++] = w->value[w->code[row]].number;
    qsort(w->sorted, w->sorted_n, sizeof *w->sorted, tab_ascending_double);
    return true;
}

/* A value says the less of a column the more columns hold it: log(columns / holders), as a share of what a
 * value in two columns has. */
static bool count_columns(tab_views *v)
{
    /* last: the column that held the term last, so that a column counts once; held: how many columns hold
     * it */
    uint32_t columns = 0;
    uint32_t *last = calloc(v->terms + 1, sizeof *last), *held = calloc(v->terms + 1, sizeof *held);
    v->telling = tab_arena_new_of(v->own->arena, float, v->terms);
    bool ok = last != NULL && held != NULL && v->telling != NULL;
    for (size_t t = 0; ok && t < v->n; t++)
        for (size_t c = 0; c < v->table[t].cols; c++) {
            const tab_view *w = &v->table[t].col[c];
            columns += w->values > 0;
            for (uint32_t i = 0; i < w->values; i++) {
                uint32_t key = w->value[i].key;
                held[key] += last[key] != columns;
                last[key] = columns;
            }
        }
    /* a value in two columns tells most, one in all columns nothing */
    float most = columns > 2 ? logf((float)columns / 2) : 0;
    for (size_t i = 0; ok && i < v->terms; i++)
        v->telling[i] = held[i] > 2 && most > 0 ? logf((float)columns / (float)held[i]) / most : 1;
    free(last);
    free(held);
    return ok;
}

/* Numbers that are counted through stand once in each table and are in all of them. */
float tab_view_once(const tab_view *w)
{
    size_t held[3] = { 0 };
    for (uint32_t i = 0; i < w->values; i++)
        held[w->value[i].rows <= 2 ? w->value[i].rows : 0]++;
    return w->kind != TAB_VIEW_TEXT ? 1 : fminf((2 * (float)held[2] + 1) / ((float)held[1] + 1), 1);
}

/* The views of one table's columns. */
static tab_status read_table(const tab_engine *e, tab_views *v, const tab_profile *p, const bool *codes,
                             tab_table_view *tv, tab_error *err)
{
    *tv = (tab_table_view){ .profile = p, .rows = p->table->rows, .cols = p->table->cols };
    tv->col = tab_arena_new_of(v->own->arena, tab_view, tv->cols + TAB_VIEW_JOINED);
    if (tv->col == NULL)
        return tab_no_memory(err);
    v->total_rows += tv->rows;
    for (size_t c = 0; c < tv->cols; c++) {
        tab_view *w = &tv->col[c];
        w->profile = &p->col[c];
        w->chief = (uint32_t)c;
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        w->hosts = tab_host_names_has(v->own->hosts, (size_t)(tv - v->table), c);
        writing text = codes[c] ? CODES : w->hosts ? HOSTS : WORDS;
        /* numbers as they came, or levels */
        bool ok = p->col[c].column->layout == TAB_NUMBERS ? column_numbers(v, w->profile, tv->rows, w)
                                                          : column_coded(v, w->profile, tv->rows, text, w);
        if (!ok || !sort_numbers(v, tv->rows, w))
            return tab_no_memory(err);
        w->once = tab_view_once(w);
    }
    return TAB_OK;
}

/* Document frequencies, idf and nicknames of all terms, and what their columns say of them. False: the arena
 * is full. */
static bool weigh_terms(tab_views *v)
{
    tab_arena *a = v->own->arena;
    v->df = tab_arena_new_of(a, uint32_t, v->terms);
    v->idf = tab_arena_new_of(a, float, v->terms);
    v->rarity = tab_arena_new_of(a, float, v->terms);
    v->nickname = tab_arena_new_of(a, tab_nickname, v->terms);
    tab_nicknames *names = tab_nicknames_new();
    bool ok = v->df != NULL && v->idf != NULL && v->rarity != NULL && v->nickname != NULL && names != NULL;
    /* in how many rows each token stands; a value counts for all its rows */
    for (size_t t = 0; ok && t < v->n; t++)
        for (size_t c = 0; c < v->table[t].cols; c++)
            for (uint32_t i = 0; i < v->table[t].col[c].values; i++) {
                const tab_value *x = &v->table[t].col[c].value[i];
                for (uint32_t k = 0; k < x->tok_n; k++)
                    v->df[v->tok[x->tok + k]] += x->rows;
            }
    for (size_t i = 0; ok && i < v->terms; i++) {
        /* rarity is 0 where a token stands in every row, idf never is */
        float share = (float)v->total_rows / (float)(v->df[i] > 0 ? v->df[i] : 1);
        v->idf[i] = logf(1 + share);
        v->rarity[i] = share > 1 ? logf(share) : 0;
        v->nickname[i] = tab_nicknames_find(names, (tab_str){ v->text + v->term_at[i], v->term_n[i] });
    }
    tab_nicknames_free(names);
    return ok && count_columns(v);
}

/* Tables are read one after the other, since they share one table of terms. */
tab_status tab_views_new(const tab_engine *e, tab_profile *const *profiles, size_t n, tab_views **ret,
                         tab_error *err)
{
    TAB_AUTO(tab_views) *v = calloc(1, sizeof *v);
    struct tab_view_scratch *o = v == NULL ? NULL : calloc(1, sizeof *o);
    if (o == NULL)
        return tab_no_memory(err);
    /* the scratch goes with the views; its lists become theirs */
    v->own = o;
    o->arena = tab_arena_new(SIZE_MAX / 2);
    v->table = o->arena == NULL ? NULL : tab_arena_new_of(o->arena, tab_table_view, n);
    if (v->table == NULL)
        return tab_no_memory(err);
    v->n = n;
    bool **codes = NULL;
    if (!tab_codes_find(profiles, n, o->arena, &codes) ||
        !tab_host_names_find(profiles, n, o->arena, &o->hosts))
        return tab_no_memory(err);
    for (size_t t = 0; t < n; t++)
        TAB_TRY(read_table(e, v, profiles[t], codes[t], &v->table[t], err));
    v->text = o->text;
    v->tok = o->tok;
    free(o->slot_hash); /* no term is added from here on */
    free(o->slot_id);
    o->slot_hash = NULL;
    o->slot_id = NULL;
    if (!weigh_terms(v))
        return tab_no_memory(err);
    *ret = tab_take(&v);
    return TAB_OK;
}

void tab_views_free(tab_views *v)
{
    if (v == NULL)
        return;
    if (v->own != NULL) {
        free(v->own->slot_hash);
        free(v->own->slot_id);
        free(v->own->tok);
        free(v->own->text);
        tab_arena_free(v->own->arena);
    }
    free(v->own);
    free(v->term_at);
    free(v->term_n);
    free(v);
}
