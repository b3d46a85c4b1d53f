/* See sample.h and decision 0160: which rows a member of the in-context transformer reads. pfn.c asks once a
 * member. Rare classes keep more rows than their share; pfn.c takes the shift of the classes' shares back
 * from the answers. */
#include "services/inference/engine/learn/pfn/sample.h"

#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"

enum { LEAST = 50, RARE = 100 /* one row in so many */ }; /* decision 0160 */

/* Three rounds: LEAST of every class, then rare classes up to half of what is left, then the others in
 * proportion. */
void tab_pfn_quota(const size_t *count, size_t classes, size_t room, size_t *quota)
{
    size_t n = 0, present = 0, left = room, rare = 0, common = 0;
    for (size_t c = 0; c < classes; c++)
        n += count[c], present += count[c] > 0;
    if (n <= room) {
        memcpy(quota, count, classes * sizeof *quota);
        return;
    }
    /* the first round: at most half of the room goes to it */
    size_t least = room / present / 2 < LEAST ? room / present / 2 : LEAST;
    for (size_t c = 0; c < classes; c++) {
        quota[c] = count[c] < least ? count[c] : least;
        left -= quota[c];
        *(count[c] < n / RARE ? &rare : &common) += count[c] - quota[c];
    }
    /* the second and third: `given` rows to rare classes, the rest to common ones, each class in proportion
     * to the rows it still has */
    size_t half = common > 0 ? left / 2 : left, given = rare < half ? rare : half;
    for (size_t c = 0; c < classes; c++) {
        bool few = count[c] < n / RARE;
        size_t all = few ? rare : common, share = few ? given : left - given;
        share = share < all ? share : all;
        if (all > 0)
            quota[c] += (size_t)((double)(count[c] - quota[c]) * ((double)share / (double)all) + 1e-9);
    }
}

/* A row, its class, and the hash by which it is drawn. */
typedef struct {
    uint32_t class, row;
    uint64_t key;
} keyed;

/* For qsort. */
static int by_class_and_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->class != y->class)
        return (x->class > y->class) - (x->class < y->class);
    if (x->key != y->key)
        return (x->key > y->key) - (x->key < y->key);
    return (x->row > y->row) - (x->row < y->row); /* copies: they are alike */
}

size_t tab_pfn_sample(const tab_data *d, const uint32_t *label, size_t classes, size_t room, uint64_t seed,
                      uint32_t *row, size_t n)
{
    if (n <= room)
        return n;
    keyed *k = malloc(n * sizeof *k);
    size_t *count = calloc(classes, sizeof *count), *quota = calloc(classes, sizeof *quota), kept = 0;
    if (k == NULL || count == NULL || quota == NULL) {
        free(k), free(count), free(quota);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t class = label != NULL ? label[row[i]] : 0;
        k[i] = (keyed){ class, row[i], tab_mix2(d->hash[row[i]], seed) };
        count[class]++;
    }
    /* of each class the rows with the smallest hashes; a copy of a row has the same one */
    tab_pfn_quota(count, classes, room, quota);
    qsort(k, n, sizeof *k, by_class_and_key);
    for (size_t i = 0, rank = 0; i < n; i++) {
        rank = i > 0 && k[i].class == k[i - 1].class ? rank + 1 : 0;
        if (rank < quota[k[i].class])
            row[kept++] = k[i].row;
    }
    /* positions ascend again, as contexts do */
    qsort(row, kept, sizeof *row, tab_ascending_u32);
    free(k), free(count), free(quota);
    return kept;
}
