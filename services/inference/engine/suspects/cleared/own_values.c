/* Rare forms that are values of their own. In a column of names and words O'Neill, McKinnon or "2500hd" are
 * rare forms and nothing wrong with them; what tells them from slips is that a slip leaves the value that was
 * meant standing elsewhere in the column, wherever values come again and again.
 *
 * Of a form with k values that no other form's value is near (equal but for case and signs, one byte more,
 * less or other, or a word in front or behind) and t values that one is near:
 *
 *     slips    q^k (1 - q)^t    q: a value stands alone (cells of values that stand once, of all cells: Good
 *                               1953, of Turing's), or more than one slip was made (MORE)
 *     values   (1 - e)^k e^t    e: a value of the usual forms is near another one
 *
 * All values of a form share its lot, since one hand or one program may have made all of its slips. The ratio
 * weighs against the form where it speaks for values; it never speaks for slips, which have their own
 * features. Where values hardly come again (addresses) q is near 1 and nothing is said; columns of codes,
 * numbers and units have a syntax, and are left out. Decision 0845. */
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/suspects/parts.h"

enum { LONGEST = 48 };
static const double MORE = 0.05;     /* of slips change more than one thing */
static const double OF_DIGITS = 0.5; /* of the cells hold a digit: a syntax */
static const float MOST = 1;         /* of the feature: a factor of 1,000 */

typedef struct {
    uint64_t key; /* of a value, or of it with a byte left out */
    uint32_t level;
} near_key;

static int by_key(const void *a, const void *b)
{
    const near_key *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->level > y->level) - (x->level < y->level);
}

/* Letters and digits alone, of one case; n: 0 where t is too long. */
static size_t plain(tab_str t, char buf[LONGEST])
{
    size_t n = 0;
    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i], k = tab_sign_class((unsigned char)c);
        if (k != 'a' && k != '9')
            continue;
        if (n == LONGEST)
            return 0;
        buf[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return n;
}

/* The keys of t into out (room for LONGEST + 1); how many. */
static size_t keys_of(tab_str t, uint32_t level, near_key *out)
{
    char buf[LONGEST];
    size_t n = plain(t, buf), keys = 0;
    if (n == 0)
        return 0;
    out[keys++] = (near_key){ tab_fnv1a(TAB_FNV1A, buf, n), level };
    for (size_t i = 0; i < n && n > 2; i++) {
        uint64_t h = tab_fnv1a(TAB_FNV1A, buf, i);
        out[keys++] = (near_key){ tab_fnv1a(h, buf + i + 1, n - i - 1), level };
    }
    return keys;
}

/* Values of the usual forms by their keys. */
typedef struct {
    near_key *key;
    size_t n;
} neighbours;

static bool is_near(const neighbours *w, tab_str t, uint32_t level)
{
    near_key own[LONGEST + 1];
    size_t keys = keys_of(t, level, own);
    for (size_t i = 0; i < keys; i++) {
        size_t from = 0, to = w->n;
        while (from < to) {
            size_t mid = (from + to) / 2;
            if (w->key[mid].key < own[i].key)
                from = mid + 1;
            else
                to = mid;
        }
        for (; from < w->n && w->key[from].key == own[i].key; from++)
            if (w->key[from].level != level)
                return true;
    }
    return false;
}

/* The same, or without its first word, or its last. */
static bool has_neighbour(const neighbours *w, tab_str t, uint32_t level)
{
    size_t first = 0, last = t.n;
    while (first < t.n && t.p[first] != ' ')
        first++;
    while (last > 0 && t.p[last - 1] != ' ')
        last--;
    return is_near(w, t, level) ||
           (first + 1 < t.n && is_near(w, (tab_str){ t.p + first + 1, t.n - first - 1 }, level)) ||
           (last > 1 && is_near(w, (tab_str){ t.p, last - 1 }, level));
}

static bool has_digit(tab_str t)
{
    for (size_t i = 0; i < t.n; i++)
        if (t.p[i] >= '0' && t.p[i] <= '9')
            return true;
    return false;
}

/* What the column says of slips and values; false: it has a syntax, or too much in it. */
static bool column_of(const tab_seen *v, const bool *rare, double *ret_alone, size_t *ret_usual)
{
    double cells = 0, digits = 0, alone = 0;
    size_t usual = 0;
    for (size_t l = 0; l < v->levels; l++) {
        if (rare[l])
            continue;
        usual++;
        cells += v->count[l];
        digits += has_digit(v->text[l]) ? v->count[l] : 0;
        alone += v->count[l] == 1;
    }
    *ret_alone = (alone + 1) / (cells + 2);
    *ret_usual = usual;
    return v->num == NULL && v->levels <= TAB_SUSPECT_LEVELS && cells > 0 && digits < OF_DIGITS * cells;
}

bool tab_suspects_own_values(tab_search *s, const tab_seen *v, const bool *rare, const tab_formed *f,
                             size_t n, float *ret)
{
    double alone;
    size_t usual, near = 0;
    for (size_t l = 0; l < v->levels; l++)
        ret[l] = 0;
    if (n == 0 || !column_of(v, rare, &alone, &usual))
        return true;
    neighbours w = { tab_arena_new_of(s->scratch, near_key, usual * (LONGEST + 1) + 1), 0 };
    if (w.key == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        if (!rare[l])
            w.n += keys_of(v->text[l], (uint32_t)l, w.key + w.n);
    if (w.n > 0)
        qsort(w.key, w.n, sizeof *w.key, by_key);
    for (size_t l = 0; l < v->levels; l++)
        near += !rare[l] && has_neighbour(&w, v->text[l], (uint32_t)l);
    double e = (1 + (double)near) / (2 + (double)usual), q = MORE + (1 - MORE) * alone * (1 - e);
    for (size_t i = 0, k; i < n; i = k) {
        double ratio = 0; /* natural logarithm, of values to slips */
        for (k = i; k < n && f[k].form == f[i].form; k++) {
            bool is = has_neighbour(&w, v->text[f[k].level], f[k].level);
            ratio += is ? log(e / (1 - q)) : log((1 - e) / q);
        }
        float told = (float)fmin(fmax(ratio / log(1000), 0), (double)MOST);
        for (size_t j = i; j < k; j++)
            ret[f[j].level] = told;
    }
    return true;
}
