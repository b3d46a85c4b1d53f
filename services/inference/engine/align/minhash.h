/* MinHash with banding (Broder 1997; Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, 3.4): texts
 * that share most of their tokens share a band, whatever the tokens' frequency. Linear in the tokens. */
#ifndef TAB_MINHASH_H
#define TAB_MINHASH_H

#include "common/base/base.h"

enum {
    TAB_BANDS = 8,
    TAB_BAND_ROWS = 2 /* of token sets with Jaccard index j a band is equal with probability j^2 */
};

/* Keys of the bands of a set of n >= 1 tokens; the same on every machine. */
void tab_minhash(const uint32_t *token, size_t n, uint64_t band[TAB_BANDS]);
#endif
