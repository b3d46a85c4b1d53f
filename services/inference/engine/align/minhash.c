/* See minhash.h: keys by which sets of tokens that have much in common are likely to meet, for
 * link/blocking.c. A band's key hashes the smallest hash of the set under each of its rows' hash functions
 * (Broder 1997): two sets have the same smallest hash with the probability of their Jaccard similarity. */
#include "services/inference/engine/align/minhash.h"

#include "services/inference/engine/align/text/normalize_text.h"

void tab_minhash(const uint32_t *token, size_t n, uint64_t band[TAB_BANDS])
{
    for (uint64_t b = 0; b < TAB_BANDS; b++) {
        /* the band's number keeps keys of different bands apart */
        band[b] = b;
        for (uint64_t r = 0; r < TAB_BAND_ROWS; r++) {
            uint64_t least = UINT64_MAX;
            for (size_t i = 0; i < n; i++) {
                /* mixed twice: tokens are small numbers in a row */
                uint64_t h = tab_hash_mix(token[i], b * TAB_BAND_ROWS + r + 1);
                h = tab_hash_mix(h, h >> 29);
                least = h < least ? h : least;
            }
            band[b] = tab_hash_mix(band[b], least);
        }
    }
}
