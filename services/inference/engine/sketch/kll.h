/* Quantiles of a stream in little room: Karnin, Lang & Liberty, "Optimal quantile approximation in streams"
 * (2016). An item of level h stands for 2^h numbers; a full level is sorted, and every other item, from the
 * first or the second by a coin, goes up. */
#ifndef TAB_KLL_H
#define TAB_KLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAB_KLL_LEVELS = 48, TAB_KLL_MOST = 1024 }; /* MOST: of k */

typedef struct {
    size_t k, levels;
    double *item[TAB_KLL_LEVELS]; /* room for twice k and more */
    size_t n[TAB_KLL_LEVELS];
    uint64_t coin;
    double least, most; /* exact */
    uint64_t count;
} tab_kll;

void tab_kll_init(tab_kll *s, size_t k);
void tab_kll_free(tab_kll *s);
bool tab_kll_add(tab_kll *s, double x); /* finite; false: out of memory */

/* n items as level h of an empty sketch; false: out of memory, or they are too many. */
bool tab_kll_level(tab_kll *s, size_t h, const char *items, size_t n);

/* The items in order, with what each stands for; the caller's to free. *ret_n: items. NULL: out of memory. */
typedef struct {
    double x;
    uint64_t weight;
} tab_kll_item;
tab_kll_item *tab_kll_items(const tab_kll *s, size_t *ret_n);

#endif
