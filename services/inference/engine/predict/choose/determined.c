#include "services/inference/engine/predict/choose/determined.h"

#include <stdlib.h>

/* Rows of a pair of values, in the mean, from which on their one class is no accident; and of how many rows
 * one may be otherwise. By hand. */
enum { ROWS_A_PAIR = 4, ONE_OF = 200 };

/* Rows of the class that most rows of their pair (f, g) have, and the number of pairs that occur. count,
 * of 256 by 256 by classes, is zeroed and left so. */
static size_t agree(const tab_data *d, size_t f, size_t g, const uint32_t *label, size_t classes,
                    uint32_t *count, size_t *ret_pairs)
{
    size_t same = 0;
    *ret_pairs = 0;
    for (size_t i = 0; i < d->rows; i++)
        if (label[i] != TAB_NULL)
            count[((size_t)d->bin[f][i] * 256 + d->bin[g][i]) * classes + label[i]]++;
    for (size_t i = 0; i < d->rows; i++) {
        uint32_t *of = count + ((size_t)d->bin[f][i] * 256 + d->bin[g][i]) * classes, most = 0;
        for (size_t k = 0; k < classes; k++) {
            most = of[k] > most ? of[k] : most;
            of[k] = 0;
        }
        same += most;
        *ret_pairs += most > 0;
    }
    return same;
}

bool tab_fixed_by_two(const tab_encoder *enc, const tab_data *d, const uint32_t *label, size_t classes,
                      const size_t *first, size_t n, size_t ret[2])
{
    uint32_t *count = calloc((size_t)256 * 256 * classes, sizeof *count);
    size_t known = 0;
    bool found = false;
    for (size_t i = 0; i < d->rows; i++)
        known += label[i] != TAB_NULL;
    for (size_t i = 0; count != NULL && !found && i < n; i++)
        for (size_t g = 0; !found && g < enc->n; g++) {
            size_t f = first[i], pairs;
            if (enc->f[g].source == enc->f[f].source)
                continue;
            size_t same = agree(d, f, g, label, classes, count, &pairs);
            found = pairs * ROWS_A_PAIR <= known && (known - same) * ONE_OF <= known;
            ret[0] = enc->f[f].source, ret[1] = enc->f[g].source;
        }
    free(count);
    return found;
}
