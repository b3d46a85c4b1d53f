/* Sorting for the prior, in a file of its own below all others. */
#include "tools/pretrain/prior/internal.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void tab_prior_sort(float *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
}
