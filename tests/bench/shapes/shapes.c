/* Whole passes by the shape of their tables: does a cell cost the same whatever it stands in, and how soon is
 * a cancel heard?
 *
 *   shapes [CANCELS [SHAPE ...]]   each shape once to its end, then CANCELS times (6) to a random moment
 *
 * Prints CPU per cell beside the median of all shapes (goal: at most 5 x), and of the cancels the longest time
 * until the pass had ended, by the clock and by the CPU of one thread (goal: 0.2 s), with the phase in which
 * it came. Each pass is a process of its own, on two threads. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "services/inference/engine/engine.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/pool.h"

enum { TABLES = 64, THREADS = 2, SHAPES_MOST = 16 };

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double unit(uint64_t i, uint64_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

typedef void cell_fn(tab_builder *b, size_t table, size_t row, size_t col);

/* Numbers, counts, categories and codes; the odd columns follow one hidden number of their row. */
static void mixed(tab_builder *b, size_t table, size_t i, size_t j)
{
    static const char *const word[] = { "ash", "birch", "cedar", "elm", "fir", "larch", "oak", "pine" };
    char text[32];
    double own = unit(tab_mix2(table, i), j), shared = unit(tab_mix2(table, i), 1u << 20);
    double u = j % 2 == 0 ? own : 0.8 * shared + 0.2 * own;
    switch (tab_mix2(table, j) % 4) {
    case 0:
        tab_builder_number(b, (double)(long)(1e4 * u) / 1e2);
        return;
    case 1:
        tab_builder_number(b, (double)(1 + (long)(u * (double)(10 + tab_mix2(j, table) % 500))));
        return;
    case 2:
        tab_builder_text(b, tab_str_of(word[(size_t)(8 * u)]));
        return;
    default:
        snprintf(text, sizeof text, "%c%07u", 'a' + (char)(j % 26), (unsigned)(1e7 * u));
        tab_builder_text(b, tab_str_of(text));
    }
}

/* Numbers and, last, one of 5,000 classes near to what two of them say. */
static void of_classes(tab_builder *b, size_t table, size_t i, size_t j)
{
    char text[16];
    if (j < 9) {
        tab_builder_number(b, (double)(long)(1e4 * unit(i, j)) / 1e4);
        return;
    }
    (void)table;
    snprintf(text, sizeof text, "k%05u", (unsigned)((0.9 * unit(i, 0) + 0.1 * unit(i, 1)) * 5000));
    tab_builder_text(b, tab_str_of(text));
}

static void equal(tab_builder *b, size_t table, size_t i, size_t j)
{
    (void)table, (void)i;
    if (j % 2 == 0)
        tab_builder_text(b, tab_str_of("the same"));
    else
        tab_builder_number(b, 7);
}

static void unlike_texts(tab_builder *b, size_t table, size_t i, size_t j)
{
    char text[40];
    uint64_t x = tab_mix2(tab_mix2(table, i), j);
    snprintf(text, sizeof text, "%016llx %08x", (unsigned long long)x, (unsigned)tab_mix2(x, 1));
    tab_builder_text(b, tab_str_of(text));
}

static void unlike_numbers(tab_builder *b, size_t table, size_t i, size_t j)
{
    tab_builder_number(b, 1e6 * unit(tab_mix2(table, i), j));
}

static const struct shape {
    const char *name;
    size_t tables, rows, cols;
    cell_fn *cell;
    bool last_is_target;
} shapes[] = {
    { "plain", 1, 50000, 20, mixed, false },
    { "10,000 columns", 1, 100, 10000, mixed, false },
    { "64 tables", 64, 800, 20, mixed, false },
    { "5,000 classes", 1, 100000, 10, of_classes, true },
    { "1M rows", 1, 1000000, 4, mixed, false },
    { "all equal", 1, 50000, 20, equal, false },
    { "all unlike texts", 1, 50000, 20, unlike_texts, false },
    { "all unlike numbers", 1, 50000, 20, unlike_numbers, false },
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool make(tab_arena *a, const struct shape *s, size_t table, tab_table *ret)
{
    tab_column *col = tab_arena_new_of(a, tab_column, s->cols);
    for (size_t j = 0; col != NULL && j < s->cols; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", j)));
        for (size_t i = 0; b != NULL && i < s->rows; i++)
            s->cell(b, table, i, j);
        if (b == NULL || !tab_builder_finish(b, &col[j]))
            return false;
    }
    *ret = (tab_table){
        .id = tab_str_of(tab_arena_printf(a, "t%zu", table)), .rows = s->rows, .cols = s->cols, .col = col
    };
    return col != NULL;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* What a pass tells, in memory that its parent reads. */
typedef struct {
    double wall, cpu;            /* of the pass */
    double heard, heard_cpu;     /* from the cancel to its end; CPU of all threads meanwhile */
    char phase[48], slowest[48]; /* in which the cancel came; that cost most CPU */
    double slowest_cpu;
    bool ended, cancelled;
} outcome;

static struct {
    atomic_bool cancel;
    double after, at, at_cpu; /* the cancel: seconds after the start, and when it came */
    char phase[48];
    double phase_from;
    outcome *out;
} one;

static void told(void *arg, const char *phase, double done)
{
    (void)arg, (void)done;
    double now = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (strcmp(phase, one.phase) == 0)
        return;
    if (now - one.phase_from > one.out->slowest_cpu) {
        one.out->slowest_cpu = now - one.phase_from;
        snprintf(one.out->slowest, sizeof one.out->slowest, "%s", one.phase);
    }
    one.phase_from = now;
    snprintf(one.phase, sizeof one.phase, "%s", phase);
}

static void *canceller(void *arg)
{
    (void)arg;
    struct timespec t = { (time_t)one.after, (long)(1e9 * (one.after - (double)(time_t)one.after)) };
    nanosleep(&t, NULL);
    snprintf(one.out->phase, sizeof one.out->phase, "%s", one.phase);
    one.at = seconds(CLOCK_MONOTONIC);
    one.at_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    atomic_store(&one.cancel, true);
    return NULL;
}

static void pass(const struct shape *s, double after, outcome *ret)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)16 << 30);
    TAB_AUTO(tab_pool) *pool = tab_pool_new(THREADS - 1, false);
    static tab_table t[TABLES];
    const tab_table *all[TABLES];
    for (size_t k = 0; k < s->tables; k++) {
        if (!make(a, s, k, &t[k]))
            return;
        all[k] = &t[k];
    }
    one.after = after;
    one.out = ret;
    tab_engine e = { .arena = a,
                     .cancel = &one.cancel,
                     .progress = told,
                     .parallel_for = tab_pool_for,
                     .parallel_arg = pool };
    tab_run_options o = TAB_RUN_DEFAULTS;
    if (s->last_is_target)
        o.target = TAB_TARGET_COLUMN, o.target_column = t->col[t->cols - 1].name;
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    pthread_t thread;
    double wall = seconds(CLOCK_MONOTONIC), cpu = one.phase_from = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (after > 0 && pthread_create(&thread, NULL, canceller, NULL) != 0)
        return;
    tab_status done = tab_engine_run(&e, all, s->tables, &o, &b, &err);
    double end = seconds(CLOCK_MONOTONIC), end_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    told(NULL, "", 1);
    if (after > 0)
        pthread_join(thread, NULL);
    ret->wall = end - wall;
    ret->cpu = end_cpu - cpu;
    ret->ended = done == TAB_OK || done == TAB_CANCELLED;
    ret->cancelled = done == TAB_CANCELLED;
    ret->heard = ret->cancelled ? end - one.at : 0;
    ret->heard_cpu = ret->cancelled ? end_cpu - one.at_cpu : 0;
    if (!ret->ended)
        fprintf(stderr, "%s: %s\n", s->name, err.message);
}

/* In a process of its own, whose memory goes with it. after: seconds until the cancel; 0: none. */
static bool apart(const struct shape *s, double after, outcome *ret)
{
    outcome *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pass(s, after, shared);
        _exit(0);
    }
    int status = 0;
    bool good = child > 0 && waitpid(child, &status, 0) == child && status == 0 && shared->ended;
    *ret = *shared;
    munmap(shared, sizeof *shared);
    return good;
}

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc <= 2;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The cancels of a shape that takes `wall` seconds; the one that was heard last. */
static bool cancels(const struct shape *s, size_t n, double wall, outcome *ret_worst)
{
    *ret_worst = (outcome){ 0 };
    for (size_t k = 0; k < n; k++) {
        outcome c;
        double after = wall * ((double)k + unit(k, (uint64_t)time(NULL))) / (double)n;
        if (!apart(s, after > 1e-3 ? after : 1e-3, &c))
            return false;
        if (c.heard_cpu > ret_worst->heard_cpu)
            *ret_worst = c;
    }
    return true;
}

int main(int argc, char **argv)
{
    size_t n_cancels = argc > 1 ? (size_t)atol(argv[1]) : 6, n = 0;
    double per_cell[SHAPES], sorted[SHAPES];
    outcome whole[SHAPES], late[SHAPES];
    const struct shape *of[SHAPES];
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *s = &shapes[i];
        if (!wanted(s->name, argc, argv))
            continue;
        if (!apart(s, 0, &whole[n]) || !cancels(s, n_cancels, whole[n].wall, &late[n]))
            return EXIT_FAILURE;
        fprintf(stderr, "# %s: %.1f s of CPU\n", s->name, whole[n].cpu);
        of[n] = s;
        sorted[n] = per_cell[n] = 1e6 * whole[n].cpu / (double)(s->tables * s->rows * s->cols);
        n++;
    }
    qsort(sorted, n, sizeof *sorted, ascending);
    double median = n == 0 ? 1 : n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
    printf("%-20s %8s %8s %8s %9s  %-24s %s\n", "shape", "s of CPU", "us/cell", "x median", "heard s",
           "cancel in", "costs most");
    for (size_t i = 0; i < n; i++)
        printf("%-20s %8.2f %8.2f %8.2f %4.2f/%4.2f  %-24s %s %.2f\n", of[i]->name, whole[i].cpu, per_cell[i],
               per_cell[i] / median, late[i].heard, late[i].heard_cpu / THREADS, late[i].phase,
               whole[i].slowest, whole[i].slowest_cpu);
    return EXIT_SUCCESS;
}
