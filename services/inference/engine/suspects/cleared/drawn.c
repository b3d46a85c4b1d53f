/* Forms that a column makes by chance. Codes of letters and digits have a few cells of digits alone, prices
 * a few of eight figures, addresses a few with three dashes: rare forms, and nothing wrong with them.
 *
 * A column's cells are drawn again, in thought, twice over: sign by sign, each given the one before it and
 * its place; and run by run (digits, capitals, small letters), the class of each given the one before it
 * and its place, the length of digits and signs given their class and place. The probability of a form's
 * own cells, from the cells of all other forms, times the column's cells is how many are to be expected. A
 * form is explained where as many as there are come up by chance in one column of twenty, and each of its
 * steps is one that COMMON of the cells take that come as far: two errors of one kind in cells of two forms
 * do not explain each other. A sign that next to all cells have (the @ of an address) is one that no chance
 * leaves out: what lacks it is not explained. */
#include <math.h>

#include "services/inference/engine/suspects/parts.h"

enum { PLACES = 40, CLASSES = 8, LENGTHS = 16 };
static const double COMMON = 0.005, BY_CHANCE = 0.05, NEXT_TO_ALL = 0.99;

/* Small letters, capitals, digits, three signs that the column has most of, all others, the end. */
typedef struct {
    uint8_t of[256];
} alphabet;

enum { SMALL, CAPITAL, DIGIT, SIGN, OTHER = 6, END = 7 };

static alphabet classes_of(const tab_seen *v)
{
    alphabet x;
    double seen[256] = { 0 };
    for (size_t l = 0; l < v->levels; l++)
        for (size_t i = 0; i < v->text[l].n && i < PLACES; i++)
            seen[(unsigned char)v->text[l].p[i]] += v->count[l];
    for (int c = 0; c < 256; c++) {
        bool letter = (c >= 'a' && c <= 'z') || c >= 0x80;
        x.of[c] = letter ? SMALL : c >= 'A' && c <= 'Z' ? CAPITAL : c >= '0' && c <= '9' ? DIGIT : OTHER;
    }
    for (int k = SIGN; k < OTHER; k++) {
        int most = -1;
        for (int c = 0; c < 256; c++)
            if (x.of[c] == OTHER && seen[c] > 0 && (most < 0 || seen[c] > seen[most]))
                most = c;
        if (most >= 0)
            x.of[most] = (uint8_t)k;
    }
    return x;
}

/* Cells by what comes after what: at a place (of signs, or of runs), behind a class (END: at the beginning).
 * length: of the run at this place. */
typedef struct {
    double sign[PLACES + 1][CLASSES][CLASSES];
    double run[PLACES + 1][CLASSES][CLASSES], length[PLACES + 1][CLASSES][LENGTHS];
} drawn;

/* A text's steps. Each calls for two counts: how many cells take it, and how many come as far. */
typedef struct {
    const drawn *all, *own; /* of all cells, of the form's own */
    double sign, run;       /* probabilities */
} taken;

static double share(const double *all, const double *own, size_t n, size_t at)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += all[i] - own[i];
    double p = sum > 0 ? (all[at] - own[at]) / sum : 0;
    return p >= COMMON ? p : 0;
}

/* Adds `cells` to d, where it is not NULL; else multiplies t's probabilities. A sign that is not one of the
 * column's three commonest is a class with all others: only its runs are of one sign. */
static void walk(const alphabet *x, tab_str text, double cells, drawn *d, taken *t)
{
    size_t runs = 0, n = text.n < PLACES ? text.n : PLACES;
    uint8_t before = END, last = END;
    for (size_t i = 0, k; i <= n; i++) {
        uint8_t c = i < n ? x->of[(unsigned char)text.p[i]] : END;
        if (d != NULL)
            d->sign[i][before][c] += cells;
        else
            t->sign *= share(t->all->sign[i][before], t->own->sign[i][before], CLASSES, c);
        before = c;
        if (i > 0 && i < n && c == x->of[(unsigned char)text.p[i - 1]])
            continue;
        for (k = i; k < n && x->of[(unsigned char)text.p[k]] == c; k++)
            ;
        /* how many letters a run has is not of the form */
        size_t length = c == SMALL || c == CAPITAL ? 0 : k - i < LENGTHS ? k - i : LENGTHS - 1;
        if (d != NULL)
            d->run[runs][last][c] += cells, d->length[runs][c][length] += cells;
        else
            t->run *= share(t->all->run[runs][last], t->own->run[runs][last], CLASSES, c) *
                      share(t->all->length[runs][c], t->own->length[runs][c], LENGTHS, length);
        last = c, runs++;
    }
}

/* P(X >= k) of a Poisson variable. */
static double at_least(double mean, double k)
{
    double term = exp(-mean), below = 0;
    for (double i = 0; i < k && i < 1000; i++) {
        below += term;
        term *= mean / (i + 1);
    }
    return 1 - below;
}

/* Adds or takes away the cells of levels [from, to). */
static void count(const alphabet *x, const tab_seen *v, const tab_formed *f, size_t from, size_t to,
                  double by, drawn *d)
{
    for (size_t i = from; i < to; i++)
        walk(x, v->text[f[i].level], by * v->count[f[i].level], d, NULL);
}

/* The signs that next to all cells have. */
static void signs_of_all(const tab_seen *v, bool *ret)
{
    size_t have[256] = { 0 };
    for (size_t l = 0; l < v->levels; l++) {
        bool seen[256] = { false };
        for (size_t i = 0; i < v->text[l].n; i++) {
            unsigned char c = (unsigned char)v->text[l].p[i];
            have[c] += seen[c] ? 0 : v->count[l];
            seen[c] = true;
        }
    }
    for (int c = 0; c < 256; c++) {
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
        ret[c] = !alnum && c != ' ' && (double)have[c] >= NEXT_TO_ALL * (double)v->present;
    }
}

/* Whether a text has every one of these signs. */
static bool has_signs(tab_str t, const bool *sign)
{
    for (int c = 0; c < 256; c++)
        if (sign[c] && (t.n == 0 || memchr(t.p, c, t.n) == NULL))
            return false;
    return true;
}

bool tab_suspects_drawn(tab_search *s, const tab_seen *v, const tab_formed *f, size_t n, bool *ret)
{
    drawn *all = tab_arena_new_of(s->scratch, drawn, 1), *own = tab_arena_new_of(s->scratch, drawn, 1);
    if (all == NULL || own == NULL)
        return false;
    alphabet x = classes_of(v);
    bool sign[256];
    signs_of_all(v, sign);
    for (size_t l = 0; l < v->levels; l++)
        walk(&x, v->text[l], v->count[l], all, NULL);
    for (size_t i = 0, to; i < n; i = to) {
        double p = 0, cells = 0;
        for (to = i; to < n && f[to].form == f[i].form; to++)
            cells += v->count[f[to].level];
        count(&x, v, f, i, to, 1, own);
        for (size_t k = i; k < to; k++) {
            taken t = { all, own, 1, 1 };
            walk(&x, v->text[f[k].level], 0, NULL, &t);
            p = fmax(p, fmax(t.sign, t.run));
        }
        count(&x, v, f, i, to, -1, own);
        for (size_t k = i; k < to; k++)
            ret[f[k].level] =
                at_least(p * (double)v->present, cells) >= BY_CHANCE && has_signs(v->text[f[k].level], sign);
    }
    return true;
}
