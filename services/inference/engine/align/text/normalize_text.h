/* Text as a matcher sees it: one normal form for what people write differently, and its tokens.
 *
 *   "Café  O'Brien, Nº 007"  ->  "cafe obrien no 7"        tokens: cafe, obrien, no, 7
 *   "KX-TS620B"              ->  "kx ts620b"               tokens: kx, ts620b, kxts620b
 *   "Cola 0,5 L"             ->  "cola 500ml"              (quantities.h)
 *
 * Unicode compatibility decomposition and case folding (UAX #15, NFKC_Casefold), Greek and Cyrillic in Latin
 * letters (decision 0762), Latin, Hebrew and Arabic points dropped, other scripts' marks kept (they carry
 * vowels), HTML character references read, apostrophes dropped, other punctuation a space, leading zeros of
 * digit runs dropped.
 * Scripts that write no spaces (Han, kana, Thai ...) give overlapping pairs of letters as tokens. */
#ifndef TAB_ALIGN_NORMALIZE_TEXT_H
#define TAB_ALIGN_NORMALIZE_TEXT_H

#include "common/base/base.h"

enum { TAB_NORMAL_MAX = 1536 }; /* bytes of normal text; what is longer is cut */

/* Writes the normal form of s, at most TAB_NORMAL_MAX bytes, and returns its length. Any bytes are safe:
 * what is not UTF-8 reads as a space. */
size_t tab_text_normal(tab_str s, char out[TAB_NORMAL_MAX]);

/* Calls emit for each token of a normal form and for each hyphenated or otherwise joined word of the raw
 * text as a whole ("ts-620" also gives "ts620"). */
void tab_text_tokens(tab_str normal, void (*emit)(void *ctx, tab_str token), void *ctx);

/* Joined words: raw is the text before normalisation; at most `max` bytes of raw are read. */
void tab_text_joined(tab_str raw, void (*emit)(void *ctx, tab_str token), void *ctx);

/* FNV-1a with a finalizer; the same on every machine. */
static inline uint64_t tab_hash_bytes(const char *p, size_t n, uint64_t seed)
{
    uint64_t h = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

static inline uint64_t tab_hash_mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}
#endif
