/* Codes of one form, and the cells that one slip took out of it: a letter for the digit that looks like it, a
 * digit for a letter ("RO051" among R0050 and R0052), zeros lost in front ("437" among 00438 and 01512, as
 * spreadsheets lose them).
 *
 * The form is exact: how many digits, capitals or small letters, each sign. It must be that of nearly all
 * cells, and for lost zeros some of the others must begin with one. That a right cell has another form, and
 * one that such a slip would make, is as likely as other cells have other forms that no slip makes: the odds
 * are cells to ten times those, and one (Laplace), at most ODDS.
 *
 * The same holds of addresses, and of the cells that lack their @. Signs at large (commas, points) are left
 * out by right cells too often. Decision 0758. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/suspects/parts.h"

enum { LONGEST = 64, REPEATED = 2, OTHERS = 10 };
static const double ONE_FORM = 0.95, ZEROS = 0.01, ODDS = 20, NEXT_TO_ALL = 0.95;

typedef struct {
    uint64_t form;
    uint32_t level;
    uint32_t cells;
} formed;

static int by_form(const void *a, const void *b)
{
    const formed *x = a, *y = b;
    return x->form != y->form ? (x->form > y->form) - (x->form < y->form)
                              : (x->level > y->level) - (x->level < y->level);
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool all_digits(tab_str t)
{
    for (size_t i = 0; i < t.n; i++)
        if (!digit(t.p[i]))
            return false;
    return t.n > 0;
}

static bool any_digit(tab_str t)
{
    for (size_t i = 0; i < t.n; i++)
        if (digit(t.p[i]))
            return true;
    return false;
}

/* A column of codes: the form of nearly all of them, one that has it, and how many begin with a zero. */
typedef struct {
    const tab_seen *v;
    uint64_t form;
    tab_str one;
    size_t have, zeros;
} codes;

/* Whether nearly all cells have one form; *ret_ok false: memory ran out. */
static bool of_one_form(tab_search *s, const tab_seen *v, codes *ret, bool *ret_ok)
{
    formed *f = tab_arena_new_of(s->scratch, formed, v->levels + 1);
    *ret = (codes){ .v = v };
    *ret_ok = f != NULL;
    for (size_t l = 0; f != NULL && l < v->levels; l++)
        f[l] = (formed){ tab_suspects_form(v->text[l], true), (uint32_t)l, v->count[l] };
    if (f != NULL && v->levels > 0)
        qsort(f, v->levels, sizeof *f, by_form);
    for (size_t i = 0, to; f != NULL && i < v->levels; i = to) {
        size_t have = 0, zeros = 0;
        for (to = i; to < v->levels && f[to].form == f[i].form; to++) {
            have += f[to].cells;
            zeros += v->text[f[to].level].n > 0 && v->text[f[to].level].p[0] == '0' ? f[to].cells : 0;
        }
        if (have > ret->have)
            *ret = (codes){ v, f[i].form, v->text[f[i].level], have, zeros };
    }
    return (double)ret->have >= ONE_FORM * (double)v->present && ret->have < v->present &&
           any_digit(ret->one) && ret->one.n < LONGEST;
}

/* t with a character for the one that it looks like, of the column's form; in buf. n = 0: none is. */
static tab_str without_lookalike(const codes *c, tab_str t, char *buf)
{
    for (size_t i = 0; i < t.n; i++)
        for (size_t p = 0; p < 2 * TAB_LOOKALIKES; p++) {
            if (t.p[i] != tab_lookalikes[p / 2][p % 2])
                continue;
            memcpy(buf, t.p, t.n);
            buf[i] = tab_lookalikes[p / 2][1 - p % 2];
            if (tab_suspects_form((tab_str){ buf, t.n }, true) == c->form)
                return (tab_str){ buf, t.n };
        }
    return (tab_str){ buf, 0 };
}

/* t with the zeros that it lost in front. n = 0: it lost none. */
static tab_str with_zeros(const codes *c, tab_str t, char *buf)
{
    size_t n = c->one.n;
    if (!all_digits(c->one) || !all_digits(t) || t.n >= n || t.p[0] == '0' ||
        (double)c->zeros < fmax(2, ZEROS * (double)c->have))
        return (tab_str){ buf, 0 };
    memset(buf, '0', n - t.n);
    memcpy(buf + n - t.n, t.p, t.n);
    return (tab_str){ buf, n };
}

/* What the value of this level was meant to be, in buf (LONGEST); n = 0: no slip makes it. */
static tab_str meant(const codes *c, size_t l, char *buf)
{
    tab_str t = c->v->text[l], to = { buf, 0 };
    if (t.n == 0 || t.n >= LONGEST || c->v->count[l] > REPEATED || tab_suspects_form(t, true) == c->form)
        return to;
    to = without_lookalike(c, t, buf);
    return to.n > 0 ? to : with_zeros(c, t, buf);
}

static void doubt(tab_search *s, size_t column, const codes *c, double odds)
{
    for (size_t i = 0; i < s->rows && !s->failed; i++) {
        char buf[LONGEST];
        tab_str to = c->v->code[i] == TAB_NULL ? (tab_str){ buf, 0 } : meant(c, c->v->code[i], buf);
        tab_suspect *x = to.n == 0 ? NULL : tab_suspects_add(s, i, column, TAB_SUSPECT_CODE);
        if (x == NULL)
            continue;
        x->f[0] = (float)log(odds);
        x->suggestion = tab_arena_copy(s->arena, to);
        x->agree = (uint32_t)c->have;
        x->of = (uint32_t)c->v->present;
    }
}

/* False: memory ran out. */
static bool of_column(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    codes c;
    bool ok = true;
    if (v->present < TAB_SUSPECT_ROWS || !of_one_form(s, v, &c, &ok))
        return v->present < TAB_SUSPECT_ROWS || ok;
    size_t others = v->present - c.have, slips = 0;
    for (size_t l = 0; l < v->levels; l++) {
        char buf[LONGEST];
        slips += meant(&c, l, buf).n > 0 ? v->count[l] : 0;
    }
    double odds = (double)v->present / (double)(OTHERS * (1 + others - slips));
    if (slips > 0)
        doubt(s, column, &c, fmin(ODDS, odds));
    return true;
}

static bool has_at(tab_str t)
{
    return t.n > 0 && memchr(t.p, '@', t.n) != NULL;
}

/* The cells of a column of addresses that lack the @. */
static void without_at(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    size_t have = 0;
    for (size_t l = 0; l < v->levels; l++)
        have += has_at(v->text[l]) ? v->count[l] : 0;
    if (have == v->present || (double)have < NEXT_TO_ALL * (double)v->present)
        return;
    double odds = (double)v->present / (double)(OTHERS * (v->present - have));
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = v->code[i];
        if (l == TAB_NULL || v->text[l].n == 0 || v->count[l] > REPEATED || has_at(v->text[l]))
            continue;
        tab_suspect *x = tab_suspects_add(s, i, column, TAB_SUSPECT_CODE);
        if (x == NULL)
            return;
        x->f[0] = (float)log(fmin(ODDS, odds));
        x->f[TAB_CODE_LACKS_AT] = 1;
        x->agree = (uint32_t)have;
        x->of = (uint32_t)v->present;
    }
}

void tab_suspects_codes(tab_search *s)
{
    for (size_t c = 0; c < s->p->table->cols && !s->failed && !tab_engine_cancelled(s->e); c++) {
        const tab_seen *v = &s->seen[c];
        if (v->code != NULL && v->col->column->layout == TAB_CODED && v->col->type != TAB_DATETIME)
            s->failed = !of_column(s, c);
        if (v->code != NULL && v->present >= TAB_SUSPECT_ROWS && !s->failed)
            without_at(s, c);
    }
}
