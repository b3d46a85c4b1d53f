#include "services/metering/whole_cells.h"

uint64_t whole_total(const int64_t *milli, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += milli[i];
    return sum > 0 ? (uint64_t)(sum + 500) / 1000 : 0;
}

void whole_cells(const int64_t *milli, size_t n, uint64_t *ret)
{
    uint64_t left = whole_total(milli, n);
    for (size_t i = 0; i < n; i++) {
        ret[i] = milli[i] > 0 ? (uint64_t)milli[i] / 1000 : 0;
        left -= ret[i];
    }
    /* what is over goes to the largest remainders, one each; of equal ones to the first */
    for (; left > 0; left--) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (milli[i] > 0 && ret[i] == (uint64_t)milli[i] / 1000 &&
                (best == n || milli[i] % 1000 > milli[best] % 1000))
                best = i;
        if (best == n)
            return;
        ret[best]++;
    }
}
