/* Texts that were cut at one length: a field of 40 letters holds what was longer as its first 40.
 *
 *   length    more values than the lengths just below would have are exactly as long as the longest; what is
 *             more than those have is the share that was cut
 *   ends      their last words are beginnings of words that the column has elsewhere, and no words of it
 *             themselves, more often than the last words of shorter values are, and not by chance
 *
 * By Bayes' rule a value that ends in such a beginning was cut but for the share of uncut values that do, and
 * another one of the greatest length with what is left of the share. Nothing is fitted. Decision 0912. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/suspects/parts.h"

enum { LEAST_LENGTH = 8, LEAST_VALUES = 5, LENGTHS = 4096, BELOW = 4, WORDS = 1 << 18 };
static const double LEAST_CUT = 0.75, MOST_LONGEST = 0.5, FALSE = 1e-4, ODDS = 20, SURE = 0.3;

/* A column's values by their lengths in letters. */
typedef struct {
    tab_search *s;
    const tab_seen *v;
    uint32_t *length;  /* (levels) */
    size_t most, many; /* the greatest length, and how many values have it */
    double cut;        /* the share of these that were cut, by their number */
    tab_str *word;     /* (words) those that are not the last of a value, in order */
    size_t words;
} texts;

static size_t letters(tab_str t)
{
    size_t n = 0;
    for (size_t i = 0; i < t.n; i++)
        n += ((unsigned char)t.p[i] & 0xc0) != 0x80;
    return n;
}

static bool of_word(char c)
{
    char k = tab_sign_class((unsigned char)c);
    return k == 'a' || k == '9' || (unsigned char)c >= 0x80;
}

static unsigned char small(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Of the first n bytes. */
static int compared(tab_str x, tab_str y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i >= x.n || i >= y.n)
            return (i < x.n) - (i < y.n);
        int d = (int)small(x.p[i]) - (int)small(y.p[i]);
        if (d != 0)
            return d;
    }
    return 0;
}

static int by_word(const void *a, const void *b)
{
    const tab_str *x = a, *y = b;
    return compared(*x, *y, x->n > y->n ? x->n : y->n);
}

/* The word that t ends with; n = 0: it ends with none, or is one word. */
static tab_str last_word(tab_str t)
{
    size_t from = t.n;
    while (from > 0 && of_word(t.p[from - 1]))
        from--;
    return from == 0 ? (tab_str){ t.p, 0 } : (tab_str){ t.p + from, t.n - from };
}

/* Whether so many values are as long as the longest that most of them were cut. */
static bool piles_up(texts *x)
{
    uint32_t of[LENGTHS] = { 0 };
    const tab_seen *v = x->v;
    x->most = 0;
    for (size_t l = 0; l < v->levels; l++) {
        x->length[l] = v->count[l] > 0 ? (uint32_t)letters(v->text[l]) : 0;
        if (x->length[l] >= LENGTHS)
            return false;
        x->most = x->length[l] > x->most ? x->length[l] : x->most;
        of[x->length[l]]++;
    }
    x->many = of[x->most];
    if (x->most < LEAST_LENGTH || x->many < LEAST_VALUES ||
        (double)x->many > MOST_LONGEST * (double)v->levels)
        return false;
    size_t below = x->most / 8 > BELOW ? x->most / 8 : BELOW, n = 1;
    for (size_t k = 1; k <= below; k++)
        n += of[x->most - k];
    x->cut = 1 - (double)n / (double)below / (double)x->many;
    return x->cut >= LEAST_CUT;
}

static bool collect(texts *x)
{
    tab_str *word = tab_arena_new_of(x->s->scratch, tab_str, WORDS);
    if (word == NULL)
        return false;
    for (size_t l = 0; l < x->v->levels; l++) {
        tab_str t = x->v->text[l];
        size_t end = t.n - last_word(t).n;
        for (size_t i = 0, k; i < end && x->words < WORDS; i = k + 1) {
            for (k = i; k < end && of_word(t.p[k]); k++)
                ;
            if (k > i)
                word[x->words++] = (tab_str){ t.p + i, k - i };
        }
    }
    if (x->words > 0)
        qsort(word, x->words, sizeof *word, by_word);
    x->word = word;
    return true;
}

/* Whether the value ends in what is no word of the column and begins one. */
static bool ends_within(const texts *x, size_t l)
{
    tab_str w = last_word(x->v->text[l]);
    size_t from = 0, to = x->words;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (by_word(&x->word[mid], &w) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return w.n > 0 && from < x->words && x->word[from].n > w.n && compared(x->word[from], w, w.n) == 0;
}

/* The chance that k and more of n are drawn at rate p, k > n p, at most (Chernoff). */
static double by_chance(double k, double n, double p)
{
    double q = k / n;
    return exp(-n * (q * log(q / p) + (q < 1 ? (1 - q) * log((1 - q) / (1 - p)) : 0)));
}

static void doubt(const texts *x, const bool *within, double longest, double shorter)
{
    double uncut = (1 - x->cut) * shorter, both = fmax(0, longest - uncut);
    double sure[2] = { longest < 1 ? fmax(0, x->cut - both) / (1 - longest) : 0, 1 - uncut / longest };
    for (size_t i = 0; i < x->s->rows; i++) {
        uint32_t l = x->v->code[i];
        if (l == TAB_NULL || x->length[l] != x->most || sure[within[l]] < SURE)
            continue;
        tab_suspect *c = tab_suspects_add(x->s, i, (size_t)(x->v - x->s->seen), TAB_SUSPECT_CODE);
        if (c == NULL)
            return;
        double p = fmin(sure[within[l]], ODDS / (1 + ODDS));
        c->f[0] = (float)log(p / (1 - p));
        c->f[TAB_CODE_CUT] = 1;
        c->agree = (uint32_t)x->many;
        c->of = (uint32_t)x->most;
    }
}

static bool look(texts *x)
{
    tab_arena *a = x->s->scratch;
    x->length = tab_arena_new_of(a, uint32_t, x->v->levels + 1);
    if (x->length == NULL)
        return false;
    if (!piles_up(x))
        return true;
    bool *within = tab_arena_new_of(a, bool, x->v->levels + 1);
    size_t n[2] = { 0 }, of[2] = { 0 };
    if (within == NULL || !collect(x))
        return false;
    for (size_t l = 0; l < x->v->levels; l++) {
        bool longest = x->length[l] == x->most;
        within[l] = ends_within(x, l);
        n[longest] += within[l], of[longest]++;
    }
    double longest = (double)n[1] / (double)of[1], shorter = (double)(n[0] + 1) / (double)(of[0] + 2);
    if (longest > shorter && by_chance((double)n[1], (double)of[1], shorter) < FALSE)
        doubt(x, within, longest, shorter);
    return true;
}

void tab_suspects_cut(tab_search *s)
{
    for (size_t c = 0; c < s->p->table->cols && !s->failed && !tab_engine_cancelled(s->e); c++) {
        const tab_seen *v = &s->seen[c];
        if (v->code == NULL || v->num != NULL || v->present < TAB_SUSPECT_ROWS)
            continue;
        texts x = { .s = s, .v = v };
        s->failed = !look(&x);
    }
}
