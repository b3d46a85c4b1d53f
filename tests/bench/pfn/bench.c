/* CPU seconds of the in-context transformer on one core: encoding a context, then queries on the cached
 * context. GFLOP/s counts two operations a multiply-add of the network (norms, exp and GELU are not
 * counted). */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/pfn/net.h"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float normal(uint64_t i)
{
    return (float)(sqrt(-2 * log(tab_unit(tab_mix2(i, 1)) + 1e-18)) *
                   cos(2 * M_PI * tab_unit(tab_mix2(i, 2))));
}

static float *table(size_t n, size_t m, uint64_t seed)
{
    float *x = malloc(n * m * sizeof *x);
    for (size_t i = 0; x != NULL && i < n * m; i++)
        x[i] = normal(tab_mix2(seed, i));
    return x;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static const struct {
        size_t n, m;
    } shapes[] = { { 200, 10 }, { 1000, 20 }, { 1000, 50 }, { 4096, 20 } };
    const char *why;
    const tab_pfn *w = tab_pfn_default(&why);
    if (w == NULL)
        return fprintf(stderr, "%s\n", why), 1;
    openblas_set_num_threads(1);
    printf("pfn e %u, %u blocks\n%12s %10s %8s %12s %14s %8s %10s\n", w->e, w->blocks, "context", "encode s",
           "GFLOP/s", "1 row ms", "1,000 rows s", "GFLOP/s", "cache MB");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t n = shapes[s].n, m = shapes[s].m;
        float *x = table(n, m, 1), *q = table(1000, m, 2), *code = table(m, TAB_PFN_CODE, 3),
              *logp = malloc(10000 * sizeof *logp);
        uint8_t *slot = malloc(n), *cat = calloc(m, 1);
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        if (x == NULL || q == NULL || code == NULL || logp == NULL || slot == NULL || cat == NULL ||
            a == NULL)
            return 1;
        for (size_t i = 0; i < n; i++)
            slot[i] = x[i] > 0;
        double t = cpu();
        tab_pfn_context *c = tab_pfn_encode(w, a, &(tab_pfn_table){ n, m, x, cat }, slot, code, NULL);
        double encode = cpu() - t;
        double one[50];
        for (size_t i = 0; i < 50; i++) {
            t = cpu();
            if (c == NULL || !tab_pfn_query(c, &(tab_pfn_table){ 1, m, q + i * m, cat }, logp))
                return 1;
            one[i] = cpu() - t;
        }
        qsort(one, 50, sizeof *one, by_value);
        t = cpu();
        if (!tab_pfn_query(c, &(tab_pfn_table){ 1000, m, q, cat }, logp))
            return 1;
        double many = cpu() - t;
        printf("%6zu x %-3zu %10.3f %8.1f %12.2f %14.3f %8.1f %10.1f\n", n, m, encode,
               2e-9 * tab_pfn_encode_work(w, n, m) / encode, 1e3 * one[25], many,
               2e-6 * tab_pfn_query_work(w, n, m) / many, (double)tab_arena_used(a) / 1e6);
        fflush(stdout);
        free(x), free(q), free(code), free(logp), free(slot), free(cat);
    }
    return 0;
}
