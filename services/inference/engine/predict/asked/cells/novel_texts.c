/* See novel_texts.h. How often the next text of the same kind holds something new is told by what known texts
 * hold once (Good, Biometrika 1953). A text is read once, however many rows have it. */
#include "services/inference/engine/predict/asked/cells/novel_texts.h"

#include <stdlib.h>

#include "services/inference/engine/features/mix.h"

/* SLOTS: of the runs of three, by their hashes. GRAMS: read of a text, TEXTS: of either kind, LEAST: that
 * tell anything. By hand, as are MORE and TIMES: the share of new runs in asked texts is MORE and TIMES that
 * of known ones. */
enum { SLOTS = 1 << 16, GRAMS = 256, TEXTS = 20000, LEAST = 20 };
static const double MORE = 0.1, TIMES = 5;

/* What rows have a level. */
enum { KNOWN = 1, ASKED = 2 };

/* Digits are all one: a number that no code had is no news. */
static unsigned char plain(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c >= '0' && c <= '9' ? '0' : c;
}

/* The slot of the run of three bytes at i, a blank being before the text and behind it. */
static size_t slot_of(tab_str s, size_t i)
{
    uint64_t g = 0;
    for (size_t k = i; k < i + 3; k++)
        g = g << 8 | (k == 0 || k > s.n ? ' ' : plain((unsigned char)s.p[k - 1]));
    return tab_mix(g) % SLOTS;
}

static size_t grams_of(tab_str s)
{
    return s.n < GRAMS ? s.n : GRAMS;
}

/* Adds a known text; a run that it holds twice stands there once: last (SLOTS) is the text that had it. */
static void add(tab_str s, uint32_t text, uint32_t *last, uint32_t *texts)
{
    for (size_t i = 0; i < grams_of(s); i++) {
        size_t slot = slot_of(s, i);
        texts[slot] += last[slot] != text;
        last[slot] = text;
    }
}

/* The share of a text's runs that at most `own` known texts have. */
static double novelty(tab_str s, uint32_t own, const uint32_t *texts)
{
    size_t n = grams_of(s), novel = 0;
    for (size_t i = 0; i < n; i++)
        novel += texts[slot_of(s, i)] <= own;
    return n > 0 ? (double)novel / (double)n : 0;
}

/* levels: KNOWN, ASKED or both. last and texts (SLOTS) are zero. */
static bool novel(const tab_column_profile *c, const uint8_t *levels, uint32_t *last, uint32_t *texts)
{
    double sum[2] = { 0 };
    size_t n[2] = { 0 };
    for (size_t l = 0, k = 0; l < c->levels && k < TEXTS; l++)
        if ((levels[l] & KNOWN) != 0)
            add(c->level[l], (uint32_t)++k, last, texts);
    for (size_t l = 0; l < c->levels; l++) {
        bool known = (levels[l] & KNOWN) != 0;
        if (levels[l] != 0 && n[known] < TEXTS)
            sum[known] += novelty(c->level[l], known, texts), n[known]++;
        if (levels[l] == (KNOWN | ASKED) && n[0] < TEXTS)
            n[0]++; /* nothing is new in it */
    }
    return n[0] >= LEAST && n[1] >= LEAST && sum[0] / (double)n[0] > MORE + TIMES * sum[1] / (double)n[1];
}

bool tab_asked_novel_texts(const tab_column_profile *c, const bool *asked, size_t rows, bool *ret)
{
    uint8_t *levels = calloc(c->levels + 1, sizeof *levels);
    uint32_t *last = calloc(2 * SLOTS, sizeof *last);
    bool ok = levels != NULL && last != NULL;
    for (size_t r = 0; ok && r < rows; r++)
        if (c->code[r] != TAB_NULL)
            levels[c->code[r]] |= asked[r] ? ASKED : KNOWN;
    *ret = ok && novel(c, levels, last, last + SLOTS);
    free(levels);
    free(last);
    return ok;
}
