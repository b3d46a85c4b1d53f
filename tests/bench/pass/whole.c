/* Whole passes (understanding, links, prediction, imputation) on shapes that once grew faster than the work:
 *
 *   whole classes [N [ROWS]]   a target of N classes (5,000) in ROWS rows (10,000), three numbers beside it
 *   whole tables [N]           N tables (64) of 20 rows and 40 columns, nothing shared
 *   whole columns [N [ROWS]]   N columns of numbers (10,000), ROWS rows (1,000)
 *   whole wide [N [ROWS]]      N columns (10,000) of eight kinds with 3 % of gaps, half of them told by eight
 *                              hidden numbers, ROWS rows (1,000)
 *   whole chain [N [ROWS]]     N tables (12) of ROWS rows (10,000), each of which refers to the one before
 *   whole schema DIR [TARGET]  the CSV files of a folder (tests/bench/keys/public.py writes such); TARGET:
 *                              the column to predict
 *
 * Prints wall and CPU seconds on two threads, peak memory, and CPU seconds by phase. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "services/inference/engine/engine.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/pool.h"
#include "tests/bench/match/cases.h"

enum { TABLES = 64, PHASES = 64 };

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU seconds by the name of the phase; a phase lasts until the next one is told. */
typedef struct {
    char name[PHASES][48];
    double used[PHASES], from;
    size_t n, now;
} phases;

static void told(void *arg, const char *name, double done)
{
    phases *p = arg;
    double t = seconds(CLOCK_PROCESS_CPUTIME_ID);
    (void)done;
    if (p->n > 0)
        p->used[p->now] += t - p->from;
    p->from = t;
    for (p->now = 0; p->now < p->n && strcmp(p->name[p->now], name) != 0;)
        p->now++;
    if (p->now == p->n && p->n < PHASES - 1)
        snprintf(p->name[p->n++], sizeof p->name[0], "%s", name);
}

static double unit(uint64_t i, uint64_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* One column of a made table: cell (row, col) by what kind it is. */
typedef void (*cell_fn)(tab_builder *b, size_t table, size_t row, size_t col, size_t rows, size_t cols);

static bool make(tab_arena *a, size_t table, size_t rows, size_t cols, cell_fn cell, tab_table *ret)
{
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    if (col == NULL)
        return false;
    for (size_t j = 0; j < cols; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", j)));
        for (size_t i = 0; b != NULL && i < rows; i++)
            cell(b, table, i, j, rows, cols);
        if (b == NULL || !tab_builder_finish(b, &col[j]))
            return false;
    }
    *ret = (tab_table){
        .id = tab_str_of(tab_arena_printf(a, "t%zu", table)), .rows = rows, .cols = cols, .col = col
    };
    return true;
}

static size_t classes; /* of the set `classes` */

/* Three numbers, then the class: one of `classes` names, near to what the numbers say. */
static void class_cell(tab_builder *b, size_t table, size_t i, size_t j, size_t rows, size_t cols)
{
    (void)table, (void)rows;
    if (j + 1 < cols) {
        tab_builder_number(b, (double)(long)(1e4 * unit(i, j)) / 1e4);
        return;
    }
    char name[16];
    size_t k = (size_t)((0.9 * unit(i, 0) + 0.1 * unit(i, 77)) * (double)classes);
    snprintf(name, sizeof name, "k%05zu", k);
    tab_builder_text(b, tab_str_of(name));
}

/* Numbers, few words, codes: a column's kind and its range differ by table. */
static void mixed_cell(tab_builder *b, size_t table, size_t i, size_t j, size_t rows, size_t cols)
{
    char text[32];
    double u = unit(tab_mix2(table, i), j);
    (void)rows, (void)cols;
    switch (tab_mix2(table, j) % 4) {
    case 0:
        tab_builder_number(b, (double)(long)(1e4 * u) / 1e2);
        return;
    case 1:
        tab_builder_number(b, (double)(1 + (long)(u * (double)(10 + tab_mix2(j, table) % 500))));
        return;
    case 2:
        snprintf(text, sizeof text, "w%u of %u", (unsigned)(6 * u), (unsigned)(tab_mix2(j, table) % 5000));
        break;
    default:
        snprintf(text, sizeof text, "%c%07u", 'a' + (char)(j % 26), (unsigned)(1e7 * u));
    }
    tab_builder_text(b, tab_str_of(text));
}

/* Numbers; the last column follows the first two. */
static void number_cell(tab_builder *b, size_t table, size_t i, size_t j, size_t rows, size_t cols)
{
    (void)table, (void)rows;
    double x = j + 1 < cols ? unit(i, j) : 3 * unit(i, 0) - unit(i, 1) + 0.2 * unit(i, 99991);
    tab_builder_number(b, (double)(long)(1e4 * x) / 1e4);
}

/* A column's kind goes by its number: keys once, then measures, counts, categories, flags, dates, words.
 * Every other column follows one of eight numbers of its row. */
static void wide_cell(tab_builder *b, size_t table, size_t i, size_t j, size_t rows, size_t cols)
{
    static const char *const word[] = {
        "ash", "birch", "cedar", "elm", "fir", "larch", "maple", "oak", "pine"
    };
    char text[48];
    double u = unit(i, j), z = j % 2 == 0 ? unit(tab_mix2(i, j / 8 % 8), 7) : unit(tab_mix2(i, j), 7);
    double v = 0.8 * z + 0.2 * u;
    (void)table, (void)rows, (void)cols;
    if (j > 0 && unit(tab_mix2(j, i), 3) < 0.03) {
        tab_builder_null(b);
        return;
    }
    switch (j == 0 ? 9 : tab_mix2(j, 1) % 8) {
    case 0:
    case 1:
    case 2:
        tab_builder_number(b, (double)(long)(1e4 * v) / 1e2);
        return;
    case 3:
        tab_builder_number(b, (double)(long)(40 * v));
        return;
    case 4:
        snprintf(text, sizeof text, "%s", word[(size_t)(9 * v)]);
        break;
    case 5:
        snprintf(text, sizeof text, "%s", v > 0.4 ? "yes" : "no");
        break;
    case 6:
        snprintf(text, sizeof text, "20%02u-%02u-%02u", 10 + (unsigned)(14 * v), 1 + (unsigned)(12 * u),
                 1 + (unsigned)(28 * unit(j, i)));
        break;
    case 7:
        snprintf(text, sizeof text, "%s %s", word[(size_t)(9 * u)], word[(size_t)(9 * unit(j, i))]);
        break;
    default:
        snprintf(text, sizeof text, "K%06zu", 100000 + i);
    }
    tab_builder_text(b, tab_str_of(text));
}

/* A key, a reference to the table before, a category, and numbers; keys are counted from 1 on. */
static void chain_cell(tab_builder *b, size_t table, size_t i, size_t j, size_t rows, size_t cols)
{
    static const char *const word[] = { "north", "south", "east", "west", "centre" };
    double u = unit(tab_mix2(table, i), j);
    (void)cols;
    if (j == 0)
        tab_builder_number(b, (double)(i + 1) + 1e5 * (double)table);
    else if (j == 1)
        tab_builder_number(b, (double)(1 + (size_t)(u * (double)rows)) + 1e5 * ((double)table - 1));
    else if (j == 2)
        tab_builder_text(b, tab_str_of(word[(size_t)(5 * u)]));
    else
        tab_builder_number(b, (double)(long)(1e4 * u) / 1e2);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t read_schema(tab_arena *a, const char *folder, tab_table *t)
{
    char *names[512];
    size_t n = 0, kept = 0;
    DIR *d = opendir(folder);
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL && n < 512;) {
        size_t len = strlen(e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".csv") == 0 && strcmp(e->d_name, "truth.csv") != 0)
            names[n++] = tab_arena_printf(a, "%.*s", (int)(len - 4), e->d_name);
    }
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n && kept < TABLES; i++)
        kept += csv_table(a, tab_arena_printf(a, "%s/%s.csv", folder, names[i]), names[i], &t[kept]);
    return kept;
}

/* For qsort and bsearch: texts by their bytes, which is the order of classes. */
static int by_text(const void *a, const void *b)
{
    const tab_str *x = a, *y = b;
    int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
    return c != 0 ? c : (x->n > y->n) - (x->n < y->n);
}

/* A target of words: how good the answers are, which are of models that did not see their row's class. */
static void judge(tab_arena *a, const Tabella__Prediction *p, const tab_column *target)
{
    const Tabella__Results *r = p->results;
    tab_str *own = tab_arena_new_of(a, tab_str, r->n_row + 1);
    tab_str *class = tab_arena_new_of(a, tab_str, r->n_row + 1);
    size_t n = 0;
    double loss = 0, right = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        tab_cell c = tab_cell_at(target, r->row[i]);
        if (c.kind != TAB_CELL_TEXT)
            return;
        class[i] = own[i] = c.text;
    }
    qsort(class, r->n_row, sizeof *class, by_text);
    for (size_t i = 0; i < r->n_row; i++)
        if (n == 0 || by_text(&class[n - 1], &class[i]) != 0)
            class[n++] = class[i];
    for (size_t i = 0; i < r->n_row; i++) {
        size_t k = (size_t)((tab_str *)bsearch(&own[i], class, n, sizeof *class, by_text) - class);
        loss -= log(fmax(r->probabilities[i * n + k], 1e-15)) / (double)r->n_row;
        right += r->label[i] == k;
    }
    printf("  log-loss %.4f, right %.4f of %zu rows, %zu classes; left out:", loss, right / (double)r->n_row,
           r->n_row, n);
    for (size_t i = 0; i < p->n_skipped; i++)
        printf(" [%s]", p->skipped[i]);
    printf("\n");
}

static int run(tab_arena *a, const char *what, const tab_table *t, size_t n, const char *target)
{
    TAB_AUTO(tab_pool) *pool = tab_pool_new(1, false);
    phases ph = { .n = 0 };
    tab_engine e = {
        .arena = a, .progress = told, .progress_arg = &ph, .parallel_for = tab_pool_for, .parallel_arg = pool
    };
    tab_run_options o = TAB_RUN_DEFAULTS;
    if (strcmp(what, "classes") == 0)
        o.target = TAB_TARGET_COLUMN, o.target_column = t->col[t->cols - 1].name;
    if (target != NULL)
        o.target = TAB_TARGET_COLUMN, o.target_column = tab_str_of(target);
    const tab_table *all[TABLES];
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    size_t cells = 0;
    for (size_t i = 0; i < n; i++) {
        all[i] = &t[i];
        cells += t[i].rows * t[i].cols;
    }
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (tab_engine_run(&e, all, n, &o, &b, &err) != TAB_OK) {
        fprintf(stderr, "%s: %s\n", what, err.message);
        return EXIT_FAILURE;
    }
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    told(&ph, "end", 1);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%s: %zu tables, %zu cells, two threads: %.1f s, %.1f s of CPU, peak %.2f GB\n ", what, n, cells,
           wall, cpu, (double)u.ru_maxrss / 1e6);
    for (size_t i = 0; i < ph.n; i++)
        if (ph.used[i] >= 0.05)
            printf(" %s %.1f", ph.name[i], ph.used[i]);
    printf("\n");
    const Tabella__Prediction *p = b->prediction;
    if (o.target == TAB_TARGET_COLUMN && p != NULL && p->classes != NULL)
        judge(a, p, &t[p->table].col[p->target->column]);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)16 << 30);
    static tab_table t[TABLES];
    const char *what = argc > 1 ? argv[1] : "";
    size_t n = argc > 2 ? (size_t)atol(argv[2]) : 0, rows = argc > 3 ? (size_t)atol(argv[3]) : 0, k = 1;
    bool ok = false;
    if (strcmp(what, "classes") == 0) {
        classes = n > 0 ? n : 5000;
        ok = make(a, 0, rows > 0 ? rows : 10000, 4, class_cell, t);
    } else if (strcmp(what, "columns") == 0 || strcmp(what, "wide") == 0) {
        ok = make(a, 0, rows > 0 ? rows : 1000, n > 0 ? n : 10000, *what == 'c' ? number_cell : wide_cell, t);
    } else if (strcmp(what, "tables") == 0 || strcmp(what, "chain") == 0) {
        bool chain = *what == 'c';
        n = n > 0 ? n : chain ? 12 : 64;
        ok = n <= TABLES;
        for (k = 0; ok && k < n; k++)
            ok = chain ? make(a, k, rows > 0 ? rows : 10000, 8, chain_cell, &t[k])
                       : make(a, k, 20, 40, mixed_cell, &t[k]);
    } else if (strcmp(what, "schema") == 0 && argc > 2) {
        ok = (k = read_schema(a, argv[2], t)) > 0;
    }
    if (!ok) {
        fputs("usage: whole classes|tables|columns|wide|chain [N [ROWS]] | whole schema DIR [TARGET]\n",
              stderr);
        return EXIT_FAILURE;
    }
    return run(a, what, t, k, *what == 's' && argc > 3 ? argv[3] : NULL);
}
