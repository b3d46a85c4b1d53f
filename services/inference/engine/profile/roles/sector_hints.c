/* See sector_hints.h, and stages.h for tab_tell_sector. The sector model is asked once more for each column
 * with that column left out (the difference of log odds is what the column said: Robnik-Sikonja & Kononenko,
 * TKDE 2008). */
#include "services/inference/engine/profile/roles/sector_hints.h"

#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/features/features_internal.h"
#include "services/inference/engine/sector/affinity.h"

/* Bounds on the work: columns that may be named, values whose words are looked up. */
enum { COLUMNS = 64, VALUES = TAB_LOOKED_AT };

static const double LEAST = 0.05; /* log odds below which a column said nothing; chosen by hand */

/* Labels of a table's sector are a judgement, and some tables are of two: where the model says 0.95, 0.82 to
 * 0.94 are right. */
void tab_tell_sector(float *p)
{
    static const float FROM = 0.8f, SLOPE = 0.5f;
    int top = 0;
    for (int s = 1; s < TAB_SECTORS; s++)
        top = p[s] > p[top] ? s : top;
    if (p[top] <= FROM)
        return;
    float told = FROM + (p[top] - FROM) * SLOPE, rest = 0;
    for (int s = 0; s < TAB_SECTORS; s++)
        rest += s == top ? 0 : p[s];
    for (int s = 0; s < TAB_SECTORS; s++)
        p[s] = s == top ? told : rest > 0 ? p[s] * (1 - told) / rest : (1 - told) / (TAB_SECTORS - 1);
}

static double log_odds(double p)
{
    return log(fmax(p, 1e-9) / fmax(1 - p, 1e-9));
}

/* The sector's log odds with column k left out. rest (n) and x (TAB_SECTOR_INPUTS) are scratch. */
static double without(const tab_staged *const *c, size_t n, size_t k, size_t rows, size_t sector,
                      const tab_staged **rest, float *x)
{
    float z[TAB_SECTORS * TAB_SECTOR_TIED], p[TAB_SECTORS];
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (i != k)
            rest[m++] = c[i];
    tab_sector_inputs(rest, m, rows, x, z);
    tab_linear_apply(tab_model_sector(), x, z, p);
    return log_odds((double)p[sector]);
}

/* Keeps the term unless it is there. */
static bool keep(tab_arena *a, tab_sector_hint *h, tab_str term)
{
    for (size_t i = 0; i < h->words; i++)
        if (tab_str_eq(h->word[i], term))
            return true;
    h->word[h->words] = tab_arena_copy(a, term);
    return h->word[h->words++].p != NULL;
}

/* A term of the sector's lists, or a word that no list holds and that stands near them alone. */
static bool is_term(tab_str term, size_t sector)
{
    const tab_lexeme *x = tab_lexicon_find(term);
    if (x != NULL)
        return (x->sectors >> sector & 1) != 0;
    const tab_affinity *row = term.n < 3 ? NULL : tab_affinity_find(term);
    return row != NULL && tab_affinity_sector(row) == (int)sector;
}

/* The sector's terms among the parts of a word that no list has, as words.c looks them up. */
static bool find_parts(tab_arena *a, tab_str word, size_t sector, tab_sector_hint *h)
{
    size_t from[TAB_WORDS], to[TAB_WORDS], n = tab_parts_of(word, from, to);
    if (tab_lexicon_find(word) != NULL)
        return true;
    for (size_t i = 0; i < n && h->words < TAB_HINT_WORDS; i++) {
        tab_str part = { word.p + from[i], to[i] - from[i] };
        if (is_term(part, sector) && !keep(a, h, part))
            return false;
    }
    return true;
}

/* The sector's terms among the column's values: a whole value, else its words. Persons are not quoted. */
static bool find_words(tab_arena *a, const tab_reading *r, size_t sector, tab_sector_hint *h)
{
    if (r->level == NULL || h->col->pii)
        return true;
    for (size_t k = 0; k < r->levels && k < VALUES && h->words < TAB_HINT_WORDS; k++) {
        char buf[512];
        size_t from[TAB_WORDS], to[TAB_WORDS];
        tab_str folded = tab_fold(r->level[k], buf, sizeof buf);
        if (is_term(folded, sector)) {
            if (!keep(a, h, folded))
                return false;
            continue;
        }
        size_t n = tab_words_of(folded, from, to);
        for (size_t i = 0; i < n && h->words < TAB_HINT_WORDS; i++) {
            tab_str word = { folded.p + from[i], to[i] - from[i] };
            if (word.n > 2 && is_term(word, sector)) {
                if (!keep(a, h, word))
                    return false;
            } else if (!find_parts(a, word, sector, h)) {
                return false;
            }
        }
    }
    return true;
}

bool tab_sector_hints(tab_arena *a, const tab_staged *const *c, tab_profile *p)
{
    size_t n = p->table->cols, rows = p->table->rows, top = 0;
    const tab_staged **rest = tab_arena_new_of(a, const tab_staged *, n + 1);
    float *x = tab_arena_new_of(a, float, TAB_SECTOR_INPUTS);
    if (rest == NULL || x == NULL)
        return false;
    for (size_t s = 1; s < TAB_SECTORS; s++)
        top = p->sector[s] > p->sector[top] ? s : top;
    double all = log_odds(p->sector[top]);
    for (size_t k = 0; k < n && k < COLUMNS && n > 1; k++) {
        tab_sector_hint h = { .col = &p->col[k], .weight = all - without(c, n, k, rows, top, rest, x) };
        size_t at = p->hints;
        if (h.weight < LEAST)
            continue;
        /* the strongest first, the earlier of equals */
        while (at > 0 && p->hint[at - 1].weight < h.weight)
            at--;
        if (at == TAB_SECTOR_HINTS)
            continue;
        p->hints += p->hints < TAB_SECTOR_HINTS;
        for (size_t i = p->hints - 1; i > at; i--)
            p->hint[i] = p->hint[i - 1];
        p->hint[at] = h;
    }
    for (size_t i = 0; i < p->hints; i++)
        if (!find_words(a, c[p->hint[i].col->index]->reading, top, &p->hint[i]))
            return false;
    return true;
}
