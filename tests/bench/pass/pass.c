/* How fast the prediction pass is, in one process:
 *
 *   pass fit ROWS [BASE]     profile and fit a table of ROWS x 20 on two threads: wall, CPU seconds, peak
 *                            memory; then one row and 1,000 rows answered by the fitted model, with a hash
 *                            of the answers' bytes
 *   pass classes ROWS [BASE] the same for 19 numbers and a target of two classes
 *   pass histogram ROWS      filling histograms of 20 features against memcpy of as much memory */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/boost/boost_grow.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/pool.h"

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

enum { COLS = 20, WORDS = 5 };

/* Whether two classes are asked for: of two numbers and noise. */
static bool classes;

/* The sum of three draws, about 0. */
static double bell(size_t i, size_t j)
{
    return unit(i, j) + unit(i, j + COLS) + unit(i, j + 2 * COLS) - 1.5;
}

/* Fourteen numbers, five categories, and a target that depends on two of the one and one of the other. */
static tab_table *table(tab_arena *a, size_t from, size_t rows)
{
    static const char *const words[WORDS] = { "north", "south", "east", "west", "centre" };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    if (t == NULL || col == NULL)
        return NULL;
    for (size_t j = 0; j < COLS; j++) {
        char name[8];
        snprintf(name, sizeof name, "c%zu", j);
        tab_builder *b = tab_builder_new(a, tab_arena_copy(a, tab_str_of(name)));
        for (size_t i = from; b != NULL && i < from + rows; i++) {
            size_t word = (size_t)(WORDS * unit(i, j));
            if (classes && j < COLS - 1)
                tab_builder_number(b, (double)(long)(1e3 * bell(i, j)) / 1e3);
            else if (classes)
                tab_builder_text(
                    b, tab_str_of(bell(i, 0) + bell(i, 1) + 0.3 * bell(i, 99) > 0 ? words[0] : words[1]));
            else if (j < 14)
                tab_builder_number(b, (double)(long)(1e4 * unit(i, j)) / 1e4);
            else if (j < 19)
                tab_builder_text(b, tab_str_of(words[word]));
            else
                tab_builder_number(b, 6 * unit(i, 0) - 3 * unit(i, 1) +
                                          (double)(size_t)(WORDS * unit(i, 14)) + unit(i, 99));
        }
        if (b == NULL || !tab_builder_finish(b, &col[j]))
            return NULL;
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = COLS, .col = col };
    return t;
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int serve(const tab_fitted *f, size_t rows, size_t times)
{
    uint64_t hash = 0;
    double wall[200], cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < times; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        tab_engine e = { .arena = a };
        tab_table *t = table(a, 1000 * 1000 * 1000 + i * rows, rows);
        Tabella__Prediction *m = NULL;
        double began = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (t == NULL || tab_score(&e, f, t, false, &m, NULL) != TAB_OK)
            return EXIT_FAILURE;
        wall[i] = seconds(CLOCK_MONOTONIC) - began;
        cpu = (i == 0 ? 0 : cpu) + seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
        size_t n = tabella__prediction__get_packed_size(m);
        uint8_t *bytes = tab_arena_alloc(a, n + 1, 1);
        if (bytes == NULL)
            return EXIT_FAILURE;
        tabella__prediction__pack(m, bytes);
        for (size_t k = 0; k < n; k++)
            hash = tab_mix2(hash, bytes[k]);
    }
    qsort(wall, times, sizeof *wall, by_double);
    printf(
        "  %zu row%s answered: median %.2f ms, best %.2f ms, %.2f ms of CPU on one thread; bytes %016llx\n",
        rows, rows > 1 ? "s" : "", 1e3 * wall[times / 2], 1e3 * wall[0], 1e3 * cpu / (double)times,
        (unsigned long long)hash);
    return EXIT_SUCCESS;
}

static int fit(size_t rows, const char *base)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)16 << 30);
    TAB_AUTO(tab_pool) *pool = tab_pool_new(1, false);
    tab_table *t = table(a, 0, rows);
    tab_engine e = { .arena = a, .parallel_for = tab_pool_for, .parallel_arg = pool };
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_fit_options o = { .base = base,
                          .target = COLS - 1,
                          .task = classes ? TAB_TASK_CLASSIFICATION : TAB_TASK_REGRESSION };
    double began = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (t == NULL || tab_profile_table(&e, t, &p, NULL) != TAB_OK || tab_fit(&e, p, &o, &f, NULL) != TAB_OK)
        return EXIT_FAILURE;
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("fit of %zu x %d, %s, two threads: %.1f s, %.1f s of CPU, peak %.2f GB\n", rows, COLS, base,
           seconds(CLOCK_MONOTONIC) - began, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           (double)u.ru_maxrss / 1e6);
    int rc = serve(f, 1, 200);
    return rc != EXIT_SUCCESS ? rc : serve(f, 1000, 20);
}

/* Bytes that a fill reads: a bin a row and feature, a row's number and gradient a row and four features. */
static int histogram(size_t rows)
{
    enum { F = 20, BINS = 254, TIMES = 7 };
    tab_boost_recipe r = { .leaves = 2 };
    tab_grower w = { .r = &r, .columns = F, .pool_stride = F * 256 };
    uint32_t bins[F], offset[F], column[F];
    uint8_t *bin[F];
    w.bins = bins, w.offset = offset, w.column = column, w.bin = bin;
    w.order = malloc(rows * sizeof *w.order);
    w.gh = malloc(rows * sizeof *w.gh);
    int64_t *hist = aligned_alloc(64, w.pool_stride * sizeof *hist);
    size_t read = rows * F + rows * (F / 4) * (sizeof *w.order + sizeof *w.gh);
    char *from = malloc(read), *to = malloc(read);
    if (w.order == NULL || w.gh == NULL || hist == NULL || from == NULL || to == NULL)
        return EXIT_FAILURE;
    for (size_t f = 0; f < F; f++) {
        bins[f] = BINS, offset[f] = (uint32_t)f * 256, column[f] = (uint32_t)f;
        bin[f] = malloc(rows);
        if (bin[f] == NULL)
            return EXIT_FAILURE;
        for (size_t i = 0; i < rows; i++)
            bin[f][i] = (uint8_t)(unit(i, f) * BINS);
    }
    for (size_t i = 0; i < rows; i++)
        w.order[i] = (uint32_t)i, w.gh[i] = (int64_t)i;
    memset(from, 1, read), memset(to, 1, read);
    tab_grow_leaf l = { .count = (uint32_t)rows };
    double fill = 1e9, copy = 1e9;
    for (int k = 0; k < TIMES; k++) {
        double began = seconds(CLOCK_THREAD_CPUTIME_ID);
        tab_grow_fill(&w, &l, hist);
        double mid = seconds(CLOCK_THREAD_CPUTIME_ID);
        memcpy(k % 2 ? from : to, k % 2 ? to : from, read);
        double end = seconds(CLOCK_THREAD_CPUTIME_ID);
        fill = mid - began < fill ? mid - began : fill;
        copy = end - mid < copy ? end - mid : copy;
    }
    printf("histograms of %zu x %d: %.2f ns a bin, %.1f GB/s read; "
           "memcpy moves %.1f GB/s (reads and writes): %.2f of it (goal 0.60); one thread, CPU time\n",
           rows, F, 1e9 * fill / (double)(rows * F), (double)read / 1e9 / fill, 2 * (double)read / 1e9 / copy,
           copy / fill / 2);
    for (size_t f = 0; f < F; f++)
        free(bin[f]);
    free(w.order), free(w.gh), free(hist), free(from), free(to);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    size_t rows = argc > 2 ? (size_t)atol(argv[2]) : 0;
    classes = argc > 1 && strcmp(argv[1], "classes") == 0;
    if (rows > 0 && (classes || strcmp(argv[1], "fit") == 0))
        return fit(rows, argc > 3 ? argv[3] : "base-2");
    if (rows > 0 && strcmp(argv[1], "histogram") == 0)
        return histogram(rows);
    fputs("usage: pass fit|classes ROWS [BASE] | pass histogram ROWS\n", stderr);
    return EXIT_FAILURE;
}
