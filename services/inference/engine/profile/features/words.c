/* See features_internal.h: the words of a column's values in the lexicon. features.c calls tab_look_up for
 * each value that it looks at; sector_hints.c finds the same words again to name them.
 *
 *   value ─> itself, its words, pairs of neighbours ─> lists, sectors
 *   a word that the lexicon lacks ─> its parts ("loan_status") ─> sectors alone */
#include "services/inference/engine/profile/features/features_internal.h"

/* A term that few sectors share says more; a whole cell more than a word in it. */
static void sector_vote(float *sector, uint32_t set, double weight)
{
    int n = __builtin_popcount(set);
    for (int s = 0; s < TAB_SECTORS; s++)
        if ((set >> s & 1) != 0)
            sector[s] += (float)(weight / (n * sqrt(n)));
}

/* Marks that divide words. A dash or an apostrophe does not: "Saint-Denis" and "O'Neil" are one word. */
static bool separates(char c)
{
    static const bool marks[256] = {
        [' '] = true, [','] = true, [';'] = true, ['/'] = true, ['('] = true, [')'] = true, ['|'] = true,
        ['"'] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true, [':'] = true,
    };
    return marks[(unsigned char)c];
}

/* Whether a word list holds the folded term. */
static bool in_list(tab_str term, tab_list list)
{
    const tab_lexeme *x = tab_lexicon_find(term);
    return x != NULL && (x->lists >> list & 1) != 0;
}

/* A name as China, Japan and Korea write it, with nothing between its parts: two to four characters of
 * three bytes, the family's one or two before the given one or two. Returns the lists that the parts are
 * in, 0 for other text. */
static uint64_t unspaced_name(tab_str s)
{
    uint64_t r = 0;
    if (s.n < 6 || s.n > 12)
        return 0;
    for (size_t i = 0; i < s.n; i += 3)
        if ((unsigned char)s.p[i] < 0xe4 || (unsigned char)s.p[i] > 0xed) /* U+4000 to U+DFFF */
            return 0;
    for (size_t cut = 3; cut <= 6 && s.n - cut >= 3 && s.n - cut <= 6; cut += 3) {
        tab_str family = { s.p, cut }, given = { s.p + cut, s.n - cut };
        if (in_list(family, TAB_LIST_LAST_NAME))
            r |= UINT64_C(1) << TAB_LIST_LAST_NAME | (uint64_t)in_list(given, TAB_LIST_FIRST_NAME)
                                                         << TAB_LIST_FIRST_NAME;
    }
    return r;
}

size_t tab_words_of(tab_str folded, size_t from[TAB_WORDS], size_t to[TAB_WORDS])
{
    size_t n = 0;
    for (size_t i = 0; i < folded.n && n < TAB_WORDS;) {
        while (i < folded.n && separates(folded.p[i]))
            i++;
        size_t b = i;
        while (i < folded.n && !separates(folded.p[i]))
            i++;
        size_t e = i;
        while (e > b && memchr(".!?'", folded.p[e - 1], 4) != NULL)
            e--;
        if (e > b) {
            from[n] = b;
            to[n++] = e;
        }
    }
    return n;
}

size_t tab_parts_of(tab_str word, size_t from[TAB_WORDS], size_t to[TAB_WORDS])
{
    size_t n = 0;
    for (size_t i = 0; i < word.n && n < TAB_WORDS;) {
        size_t b = i;
        while (i < word.n && memchr("_-.#", word.p[i], 4) == NULL)
            i++;
        if (i - b > 2 && i - b < word.n) {
            from[n] = b;
            to[n++] = i;
        }
        i++;
    }
    return n;
}

/* The sectors of the parts of a word that no list has: "loan_status". */
static uint32_t sectors_of_parts(tab_str word)
{
    size_t from[TAB_WORDS], to[TAB_WORDS], n = tab_parts_of(word, from, to);
    uint32_t sectors = 0;
    for (size_t i = 0; i < n; i++) {
        const tab_lexeme *x = tab_lexicon_find((tab_str){ word.p + from[i], to[i] - from[i] });
        sectors |= x != NULL ? x->sectors : 0;
    }
    return sectors;
}

/* Looks the folded value, its words and its pairs of neighbouring words up in the lexicon, and lets them
 * vote for sectors: a whole value with weight 1, a pair of words with 0.8, single words together with 0.4
 * (with half of both, and with 1 and 0.8, 0.01 fewer sectors and 0.002 fewer roles are right, decision
 * 0307). At most 24 words; a pair of at most 48 bytes. */
void tab_look_up(tab_str folded, gather *g, float *sector)
{
    const tab_lexeme *x = tab_lexicon_find(folded);
    uint64_t any = 0;
    uint32_t sectors = 0;
    if (x != NULL) {
        for (uint64_t m = x->lists; m != 0; m &= m - 1)
            g->full[__builtin_ctzll(m)]++;
        if (x->sectors != 0)
            sector_vote(sector, x->sectors, 1);
    }
    size_t from[TAB_WORDS], to[TAB_WORDS], n = tab_words_of(folded, from, to);
    enum { TEXT = 4 }; /* words of a text: what has fewer is a name itself */
    bool given = false, family = false, named = false, after_given = false, families = n >= 2 && n <= 4;
    for (size_t k = 0; k < n; k++) {
        tab_str w = { folded.p + from[k], to[k] - from[k] };
        const tab_lexeme *y = n == 1 && w.n == folded.n ? x : tab_lexicon_find(w);
        if (y != NULL) {
            any |= y->lists;
            sectors |= n > 1 && w.n > 2 ? y->sectors : 0;
            given |= k == 0 && (y->lists >> TAB_LIST_FIRST_NAME & 1) != 0;
            family |= k + 1 == n && k > 0 && (y->lists >> TAB_LIST_LAST_NAME & 1) != 0;
            named |= after_given && (y->lists >> TAB_LIST_LAST_NAME & 1) != 0;
        } else {
            sectors |= sectors_of_parts(w);
        }
        after_given = y != NULL && (y->lists >> TAB_LIST_FIRST_NAME & 1) != 0;
        families = families && y != NULL && (y->lists >> TAB_LIST_LAST_NAME & 1) != 0 && !(k == 0 && given);
        if (k + 1 < n && to[k + 1] - from[k] < 48) {
            tab_str two = { folded.p + from[k], to[k + 1] - from[k] };
            const tab_lexeme *z = two.n == folded.n ? NULL : tab_lexicon_find(two);
            if (z != NULL) {
                any |= z->lists & (UINT64_C(1) << TAB_LIST_CITY |
                                   UINT64_C(1) << TAB_LIST_COUNTRY | /* lists of names in two words */
                                   UINT64_C(1) << TAB_LIST_REGION | UINT64_C(1) << TAB_LIST_COMPANY |
                                   UINT64_C(1) << TAB_LIST_JOB_TITLE);
                if (z->sectors != 0)
                    sector_vote(sector, z->sectors, 0.8);
            }
        }
    }
    g->named += named && n >= TEXT;
    g->families += families;
    bool whole = false;
    if (n == 1 && x == NULL) {
        uint64_t parts = unspaced_name(folded);
        whole = parts != 0;
        family = whole;
        given = (parts >> TAB_LIST_FIRST_NAME & 1) != 0;
        any |= parts;
    }
    for (uint64_t m = any; m != 0; m &= m - 1)
        g->token[__builtin_ctzll(m)]++;
    if (sectors != 0)
        sector_vote(sector, sectors, 0.4);
    g->first_given += given && (n >= 2 || whole);
    g->last_family += family && (whole || (n >= 2 && n <= 5));
}
