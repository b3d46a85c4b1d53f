/* See codes.h. */
#include "services/inference/engine/align/codes.h"

#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"

/* LOOKED: levels that are looked at, and GLANCE of them before a column of words is left. A code has LEAST to
 * MOST letters and digits; a word has more than RUN letters on end. SOME codes that are divided otherwise are
 * no slip. Of more than COLUMNS columns of codes each is compared with itself alone. */
enum { LOOKED = 20000, GLANCE = 50, LEAST = 4, MOST = 34, RUN = 4, SOME = 3, COLUMNS = 100 };

typedef struct {
    uint64_t closed, open; /* hashes of a normal form without and with its spaces */
    bool digits;           /* a space stands between digits */
} written;

static int by_closed(const void *a, const void *b)
{
    const written *x = a, *y = b;
    return (x->closed > y->closed) - (x->closed < y->closed);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether a value is a code: letters and digits of ASCII, divided by marks or not. */
static bool is_code(tab_str s)
{
    size_t letters = 0, digits = 0, run = 0, longest = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !is_digit(c) && memchr(" -./_", c, 5) == NULL)
            return false;
        run = letter ? run + 1 : 0;
        longest = run > longest ? run : longest;
        letters += letter;
        digits += is_digit(c);
    }
    return letters > 0 && digits > 0 && longest <= RUN && letters + digits >= LEAST &&
           letters + digits <= MOST;
}

static bool divides_digits(const char *text, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++)
        if (text[i] == ' ' && is_digit(text[i - 1]) && is_digit(text[i + 1]))
            return true;
    return false;
}

size_t tab_code_close(char *text, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ')
            text[to++] = text[i];
    return to;
}

/* The codes of one column, by their closed forms; n is 0 where it is none of codes. */
typedef struct {
    size_t table, column, n;
    written *code;
    bool otherwise; /* some of them are divided otherwise somewhere */
} code_column;

/* How many of the column's codes are written in two ways. *moved: one of them is divided between digits both
 * times. */
static size_t written_twice(const code_column *x, bool *moved)
{
    size_t twice = 0;
    for (size_t i = 1; i < x->n; i++) {
        const written *p = &x->code[i - 1], *q = &x->code[i];
        bool differ = p->closed == q->closed && p->open != q->open;
        twice += differ;
        *moved = *moved || (differ && p->digits && q->digits);
    }
    return twice;
}

/* Reads up to LOOKED levels. False: out of memory. */
static bool read_codes(const tab_column *c, tab_arena *a, code_column *ret)
{
    size_t seen = 0, step = c->levels / LOOKED + 1;
    bool moved = false;
    ret->n = 0;
    ret->code = NULL;
    for (size_t i = 0; i < c->levels; i += step) {
        tab_str s = tab_level(c, i);
        seen += s.n > 0;
        if (s.n == 0 || !is_code(s)) {
            if (seen >= GLANCE && ret->n * 10 < seen * 9)
                break;
            continue;
        }
        if (ret->code == NULL && (ret->code = tab_arena_new_of(a, written, c->levels / step + 1)) == NULL)
            return false;
        char text[TAB_NORMAL_MAX];
        size_t n = tab_text_normal(s, text);
        written *w = &ret->code[ret->n++];
        w->digits = divides_digits(text, n);
        w->open = tab_hash_bytes(text, n, 0);
        w->closed = tab_hash_bytes(text, tab_code_close(text, n), 0);
    }
    if (ret->n < SOME || ret->n * 10 < seen * 9)
        ret->n = 0;
    else
        qsort(ret->code, ret->n, sizeof *ret->code, by_closed);
    ret->otherwise = written_twice(ret, &moved) >= SOME;
    if (moved)
        ret->n = 0;
    return true;
}

/* How many codes both columns hold, divided otherwise. */
static size_t divided_otherwise(const code_column *x, const code_column *y)
{
    size_t n = 0;
    for (size_t i = 0, j = 0; i < x->n && j < y->n;) {
        uint64_t p = x->code[i].closed, q = y->code[j].closed;
        n += p == q && x->code[i].open != y->code[j].open;
        i += p <= q;
        j += q <= p;
    }
    return n;
}

bool tab_codes_find(tab_profile *const *profiles, size_t n, tab_arena *a, bool ***ret)
{
    size_t cols = 0, found = 0;
    for (size_t t = 0; t < n; t++)
        cols += profiles[t]->table->cols;
    code_column *x = tab_arena_new_of(a, code_column, cols);
    *ret = tab_arena_new_of(a, bool *, n);
    for (size_t t = 0; x != NULL && *ret != NULL && t < n; t++) {
        if (((*ret)[t] = tab_arena_new_of(a, bool, profiles[t]->table->cols)) == NULL)
            return false;
        for (size_t c = 0; c < profiles[t]->table->cols; c++) {
            const tab_column *column = profiles[t]->col[c].column;
            x[found] = (code_column){ .table = t, .column = c };
            if (column->layout != TAB_NUMBERS && !read_codes(column, a, &x[found]))
                return false;
            found += x[found].n > 0;
        }
    }
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < found && found <= COLUMNS; i++)
        for (size_t j = i + 1; j < found; j++)
            if (x[i].table != x[j].table && divided_otherwise(&x[i], &x[j]) >= SOME)
                x[i].otherwise = x[j].otherwise = true;
    for (size_t i = 0; i < found; i++)
        (*ret)[x[i].table][x[i].column] = x[i].otherwise;
    return true;
}
