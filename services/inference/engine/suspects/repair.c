/* What a doubted cell likely was: a noisy channel (Kernighan, Church & Gale, A spelling correction program
 * based on a noisy channel model, 1990). Slips that people and programs make are undone one at a time, and
 * what comes out is taken where the column knows it:
 *
 *   key       a more frequent value that is equal but for case, blanks and signs
 *   number    digits written as letters ("1O0"), a unit or a sign too many, a value written twice, a comma
 *             for the point, a minus too many; where that is a number as the column has them
 *   swapped   the value of another doubted cell of the row, where each fits the other's column
 *   variant   another case, no signs at the ends, one sign less, another sign between, a letter for the digit
 *             that looks like it or a digit for the letter, a zero lost in front; where a fifth of the
 *             column's cells have that form */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/order.h"
#include "services/inference/engine/suspects/given.h"

enum { LONGEST = 64 };
static const double KNOWN_FORM = 0.2;

typedef struct {
    uint64_t hash;
    uint32_t level; /* of a key: its most frequent level; of a form: any */
    uint32_t cells;
} entry;

/* A column as repairs look things up in it. */
typedef struct {
    const tab_seen *v;
    entry *key, *form; /* sorted by hash, one a hash */
    size_t keys, forms;
    bool numbers, positive; /* positive: next to no cell is below 0 */
    double least, most;
} lookup;

static int by_hash(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash > y->hash ? 1 : -1;
    if (x->cells != y->cells)
        return x->cells > y->cells ? -1 : 1;
    return (x->level > y->level) - (x->level < y->level);
}

static bool alnum(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static uint64_t key_of(tab_str t)
{
    uint64_t h = TAB_FNV1A;
    for (size_t i = 0; i < t.n; i++)
        if (alnum((unsigned char)t.p[i]))
            h = tab_fnv1a(h, (char[]){ lower(t.p[i]) }, 1);
    return h;
}

/* One entry a hash: its first by by_hash's order, its cells summed. */
static size_t merged(entry *x, size_t n)
{
    size_t m = 0;
    if (n > 0)
        qsort(x, n, sizeof *x, by_hash);
    for (size_t i = 0; i < n; i++)
        if (m > 0 && x[m - 1].hash == x[i].hash)
            x[m - 1].cells += x[i].cells;
        else
            x[m++] = x[i];
    return m;
}

static const entry *find(const entry *x, size_t n, uint64_t hash)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (x[mid].hash < hash)
            from = mid + 1;
        else
            to = mid;
    }
    return from < n && x[from].hash == hash ? &x[from] : NULL;
}

/* Where the numbers of a column lie: between its 0.005 and 0.995 quantiles. */
static bool range_of(tab_arena *a, const double *num, size_t rows, lookup *k)
{
    size_t n = 0, below = 0;
    for (size_t i = 0; i < rows; i++)
        n += isfinite(num[i]), below += num[i] < 0;
    k->positive = below <= n / 50;
    double *x = tab_arena_new_of(a, double, (n < TAB_SUSPECT_QUANTILES ? n : TAB_SUSPECT_QUANTILES) + 1);
    if (x == NULL)
        return false;
    n = tab_sampled_numbers(num, rows, n, x);
    k->numbers = n >= TAB_SUSPECT_ROWS;
    if (!k->numbers)
        return true;
    qsort(x, n, sizeof *x, tab_ascending_double);
    k->least = tab_quantile_of(x, n, 0.005);
    k->most = tab_quantile_of(x, n, 0.995);
    return true;
}

static bool look_at(tab_search *s, tab_arena *a, size_t column, lookup *k)
{
    const tab_seen *v = &s->seen[column];
    size_t levels = v->levels <= TAB_SUSPECT_LEVELS ? v->levels : 0;
    *k = (lookup){ .v = v };
    if (v->num != NULL && v->col->type == TAB_NUMERIC && !range_of(a, v->num, s->rows, k))
        return false;
    k->key = tab_arena_new_of(a, entry, levels + 1);
    k->form = tab_arena_new_of(a, entry, levels + 1);
    if (k->key == NULL || k->form == NULL)
        return false;
    for (size_t l = 0; l < levels; l++) {
        k->key[l] = (entry){ key_of(v->text[l]), (uint32_t)l, v->count[l] };
        k->form[l] = (entry){ tab_suspects_form(v->text[l], true), (uint32_t)l, v->count[l] };
    }
    k->keys = merged(k->key, levels);
    k->forms = merged(k->form, levels);
    return true;
}

/* ---- tries --------------------------------------------------------------------------------------------- */

/* Whether the column has such numbers, or nearly. */
static bool number_fits(const lookup *k, tab_str t)
{
    size_t n;
    double x, pad = (k->most - k->least) / 10;
    return t.n > 0 && tab_number_read(t.p, t.p + t.n, &n, &x) != TAB_NUMBER_NONE && n == t.n &&
           x >= k->least - pad && x <= k->most + pad;
}

static bool form_fits(const lookup *k, tab_str t)
{
    const entry *e = t.n > 0 ? find(k->form, k->forms, tab_suspects_form(t, true)) : NULL;
    return e != NULL && e->cells >= KNOWN_FORM * (double)k->v->present;
}

/* What t would be with one slip undone. */
typedef struct {
    char buf[LONGEST + 1];
    size_t n;
} try;

static tab_str of(const try *x)
{
    return (tab_str){ x->buf, x->n };
}

static bool numeral(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-';
}

/* Letters that look like digits as these. */
static void digits_for_letters(tab_str t, try *x)
{
    for (x->n = 0; x->n < t.n; x->n++) {
        char c = t.p[x->n];
        x->buf[x->n] = (char)(c == 'O' || c == 'o' ? '0' : c == 'l' || c == 'I' ? '1' : c);
    }
}

static void without(tab_str t, size_t at, try *x)
{
    memcpy(x->buf, t.p, at);
    memcpy(x->buf + at, t.p + at + 1, t.n - at - 1);
    x->n = t.n - 1;
}

static void replaced(tab_str t, char was, char by, try *x)
{
    for (x->n = 0; x->n < t.n; x->n++)
        x->buf[x->n] = t.p[x->n] == was ? by : t.p[x->n];
}

/* The longest part of t that is a number of the column, and no piece of one; n = 0: none. */
static tab_str number_within(const lookup *k, tab_str t)
{
    tab_str best = { NULL, 0 };
    for (size_t from = 0; from < t.n; from++)
        for (size_t to = t.n; to > from && to - from > best.n; to--)
            if (numeral(t.p[from]) && numeral(t.p[to - 1]) && (from == 0 || !numeral(t.p[from - 1])) &&
                (to == t.n || !numeral(t.p[to])) && number_fits(k, (tab_str){ t.p + from, to - from }))
                best = (tab_str){ t.p + from, to - from };
    return best;
}

/* The number that t was meant to be; n = 0: none of the tries is one of the column. */
static tab_str number_of(const lookup *k, tab_str t, try *x)
{
    size_t half = t.n / 2, first = !k->positive && t.p[0] == '-'; /* no slip where others have it */
    digits_for_letters(t, x);
    if (number_fits(k, of(x)))
        return of(x);
    if (t.n % 2 == 1 && t.p[half] == ' ' && memcmp(t.p, t.p + half + 1, half) == 0 &&
        number_fits(k, (tab_str){ t.p, half }))
        return (tab_str){ t.p, half };
    replaced(t, ',', '.', x);
    if (number_fits(k, of(x)))
        return of(x);
    for (size_t i = first; i < t.n; i++) {
        if (t.p[i] >= '0' && t.p[i] <= '9')
            continue;
        without(t, i, x);
        if (number_fits(k, of(x)))
            return of(x);
    }
    x->buf[0] = '-';
    memcpy(x->buf + 1, t.p, t.n);
    x->n = t.n + 1;
    if (k->most <= 0 && number_fits(k, of(x)))
        return of(x);
    size_t n;
    double y;
    bool number = tab_number_read(t.p, t.p + t.n, &n, &y) != TAB_NUMBER_NONE && n == t.n;
    return number ? (tab_str){ NULL, 0 } : number_within(k, t);
}

/* t with a letter for the digit that it looks like, or a digit for a letter, or with the zero that it lost in
 * front; n = 0: none is of a form that the column has. */
static tab_str lookalike_of(const lookup *k, tab_str t, try *x)
{
    for (size_t i = 0; i < t.n; i++)
        for (size_t p = 0; p < 2 * TAB_LOOKALIKES; p++) {
            if (t.p[i] != tab_lookalikes[p / 2][p % 2])
                continue;
            memcpy(x->buf, t.p, t.n);
            x->buf[i] = tab_lookalikes[p / 2][1 - p % 2];
            x->n = t.n;
            if (form_fits(k, of(x)))
                return of(x);
        }
    bool digits = t.n > 1;
    for (size_t i = 0; i < t.n; i++)
        digits &= t.p[i] >= '0' && t.p[i] <= '9';
    x->buf[0] = '0';
    memcpy(x->buf + 1, t.p, t.n);
    x->n = t.n + 1;
    return digits && form_fits(k, of(x)) ? of(x) : (tab_str){ NULL, 0 };
}

/* The text that t was meant to be, of a form that the column has. */
static tab_str variant_of(const lookup *k, tab_str t, try *x)
{
    static const char SIGNS[][2] = { { '/', '-' }, { '.', '/' }, { '.', ':' }, { '_', ' ' }, { ',', '.' } };
    size_t from = 0, to = t.n;
    while (from < to && !alnum((unsigned char)t.p[from]))
        from++;
    while (to > from && !alnum((unsigned char)t.p[to - 1]))
        to--;
    if (to - from < t.n && form_fits(k, (tab_str){ t.p + from, to - from }))
        return (tab_str){ t.p + from, to - from };
    for (int way = 0; way < 3; way++) { /* lower, UPPER, Each Word */
        bool begins = true;
        for (x->n = 0; x->n < t.n; x->n++) {
            char c = lower(t.p[x->n]);
            bool letter = c >= 'a' && c <= 'z';
            x->buf[x->n] = letter && (way == 1 || (way == 2 && begins)) ? (char)(c - 'a' + 'A') : c;
            begins = !alnum((unsigned char)c);
        }
        if (!tab_str_eq(of(x), t) && form_fits(k, of(x)))
            return of(x);
    }
    for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++) {
        replaced(t, SIGNS[i][0], SIGNS[i][1], x);
        if (!tab_str_eq(of(x), t) && form_fits(k, of(x)))
            return of(x);
    }
    for (size_t i = 0; i < t.n; i++) {
        without(t, i, x);
        if (!alnum((unsigned char)t.p[i]) && form_fits(k, of(x)))
            return of(x);
    }
    for (size_t n = t.n; n > 1 && t.n - n < 2 && t.p[n - 1] == t.p[n - 2]; n--)
        if (form_fits(k, (tab_str){ t.p, n - 1 })) /* the last sign written once more */
            return (tab_str){ t.p, n - 1 };
    return lookalike_of(k, t, x);
}

static tab_str repair_of(const lookup *k, tab_str t, uint32_t own, try *x)
{
    if (t.n == 0 || t.n >= LONGEST)
        return (tab_str){ NULL, 0 };
    if (k->numbers)
        return number_of(k, t, x);
    assert(t.n < sizeof x->buf);
    const entry *e = find(k->key, k->keys, key_of(t));
    if (e != NULL && own != TAB_NULL && e->level != own && k->v->count[e->level] > k->v->count[own])
        return k->v->text[e->level];
    return variant_of(k, t, x);
}

/* ---- the doubted cells --------------------------------------------------------------------------------- */

/* n doubted cells. */
typedef struct {
    tab_search *s;
    tab_suspect *c;
    size_t n;
    uint32_t *by_row;  /* (n) in the order of their rows */
    uint32_t *partner; /* (n) another of the row whose value would fit this one's column; NONE */
    bool *some;        /* (columns) has doubted cells */
} doubted;

static const uint32_t NONE = UINT32_MAX;

/* The cell's text, in buf (40) where it is a number. */
static tab_str text_of(const tab_search *s, const tab_suspect *c, char *buf)
{
    const tab_seen *v = &s->seen[c->column];
    if (v->code != NULL && v->code[c->row] != TAB_NULL)
        return v->text[v->code[c->row]];
    bool number = v->num != NULL && isfinite(v->num[c->row]) && v->col->type == TAB_NUMERIC;
    return (tab_str){ buf, number ? tab_number_text(v->num[c->row], buf) : 0 };
}

/* The first other doubted cell of the row that would fit; `at`: the place of c[i] in by_row. */
static uint32_t partner_of(const doubted *d, const lookup *k, size_t at)
{
    enum { NEAR = 16 }; /* a row of more doubted cells is wrong as a whole */
    const tab_suspect *own = &d->c[d->by_row[at]];
    size_t from = at > NEAR ? at - NEAR : 0, to = at + NEAR < d->n ? at + NEAR : d->n;
    for (size_t j = from; j < to; j++) {
        char buf[40];
        const tab_suspect *other = &d->c[d->by_row[j]];
        if (other->row != own->row || other->column == own->column)
            continue;
        tab_str t = text_of(d->s, other, buf);
        if (k->numbers ? number_fits(k, t) : form_fits(k, t))
            return d->by_row[j];
    }
    return NONE;
}

/* Whether the digits behind a text's last sign, a comma or a point, are decimals and no thousands: the other
 * sign stands before it, or there are not three of them. */
static bool has_decimals(tab_str t, char sign)
{
    size_t i = t.n, digits = 0;
    while (i > 0 && t.p[i - 1] >= '0' && t.p[i - 1] <= '9')
        i--, digits++;
    if (i < 2 || t.p[i - 1] != sign || digits == 0)
        return false;
    return digits != 3 || memchr(t.p, sign == ',' ? '.' : ',', i - 1) != NULL;
}

/* Whether a column writes 3,42 for 3.42. */
static bool writes_commas(const tab_seen *v)
{
    enum { LOOKED_AT = 500 };
    size_t commas = 0, points = 0;
    bool text = v->code != NULL && v->num != NULL && v->col->column->layout == TAB_CODED;
    for (size_t l = 0; text && l < v->levels && l < LOOKED_AT; l++) {
        commas += has_decimals(v->text[l], ',');
        points += has_decimals(v->text[l], '.');
    }
    return commas > 10 * points;
}

/* A suggested number as such a column writes it; a text of the column's own is that already. */
static void with_comma(tab_search *s, const lookup *k, tab_suspect *c)
{
    tab_str t = c->suggestion;
    const char *point = t.n > 0 ? memchr(t.p, '.', t.n) : NULL;
    const entry *own = point == NULL ? NULL : find(k->key, k->keys, key_of(t));
    size_t n;
    double x;
    if (point == NULL || (own != NULL && tab_str_eq(k->v->text[own->level], t)) ||
        tab_number_read(t.p, t.p + t.n, &n, &x) == TAB_NUMBER_NONE || n != t.n)
        return;
    size_t before = (size_t)(point - t.p);
    c->suggestion = tab_str_of(
        tab_arena_printf(s->arena, "%.*s,%.*s", (int)before, t.p, (int)(t.n - before - 1), point + 1));
}

static bool repair_column(const doubted *d, size_t column)
{
    tab_search *s = d->s;
    lookup k;
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    if (a == NULL || !look_at(s, a, column, &k))
        return false;
    for (size_t i = 0; i < d->n; i++) {
        tab_suspect *c = &d->c[d->by_row[i]];
        char buf[40];
        try x;
        if (c->column != column)
            continue;
        d->partner[d->by_row[i]] = partner_of(d, &k, i);
        if (c->suggestion.n > 0)
            continue;
        tab_str t = text_of(s, c, buf);
        tab_str to = repair_of(&k, t, k.v->code == NULL ? TAB_NULL : k.v->code[c->row], &x);
        if (to.n > 0 && !tab_str_eq(to, t))
            c->suggestion = tab_arena_copy(s->arena, to);
    }
    bool commas = writes_commas(k.v);
    for (size_t i = 0; commas && i < d->n; i++)
        if (d->c[i].column == column)
            with_comma(s, &k, &d->c[i]);
    return !tab_arena_full(s->arena);
}

/* What a slip explains by itself is no exchange. */
static bool is_code_mended(const tab_suspect *c)
{
    return c->kind == TAB_SUSPECT_CODE && c->suggestion.n > 0;
}

/* Two cells that would each fit the other's column have each other's value. */
static void change_places(const doubted *d)
{
    for (size_t i = 0; i < d->n; i++) {
        uint32_t j = d->partner[i];
        char a[40], b[40];
        if (j == NONE || j <= i || d->partner[j] != i)
            continue;
        if (d->c[i].kind == TAB_SUSPECT_IDENTITY && d->c[j].kind == TAB_SUSPECT_IDENTITY)
            continue; /* one or the other is wrong, of one identity */
        if (is_code_mended(&d->c[i]) || is_code_mended(&d->c[j]))
            continue;
        d->c[i].suggestion = tab_arena_copy(d->s->arena, text_of(d->s, &d->c[j], a));
        d->c[j].suggestion = tab_arena_copy(d->s->arena, text_of(d->s, &d->c[i], b));
    }
}

static int by_row(const void *a, const void *b, void *c)
{
    const tab_suspect *x = (tab_suspect *)c + *(const uint32_t *)a,
                      *y = (tab_suspect *)c + *(const uint32_t *)b;
    if (x->row != y->row)
        return x->row > y->row ? 1 : -1;
    if (x->column != y->column)
        return x->column > y->column ? 1 : -1;
    return (x > y) - (x < y);
}

bool tab_suspects_repair(tab_search *s, tab_suspect *c, size_t n)
{
    size_t cols = s->p->table->cols;
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    if (a == NULL)
        return false;
    doubted d = { .s = s,
                  .c = c,
                  .n = n,
                  .by_row = tab_arena_new_of(a, uint32_t, n + 1),
                  .partner = tab_arena_new_of(a, uint32_t, n + 1),
                  .some = tab_arena_new_of(a, bool, cols + 1) };
    if (d.by_row == NULL || d.partner == NULL || d.some == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        d.by_row[i] = (uint32_t)i;
        d.partner[i] = NONE;
        d.some[c[i].column] = true;
    }
    if (n > 0)
        qsort_r(d.by_row, n, sizeof *d.by_row, by_row, c);
    for (size_t k = 0; k < cols && !tab_engine_cancelled(s->e); k++)
        if (d.some[k] && !repair_column(&d, k))
            return false;
    change_places(&d);
    return !tab_arena_full(s->arena);
}
