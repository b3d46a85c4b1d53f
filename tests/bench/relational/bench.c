/* Prediction with all tables of a set beside the one with the target's table alone: the held-out log-loss, or
 * RMSE, of the same rows.
 *
 *   relational [-s SEEDS] FOLDER...     FOLDER: TABLE.csv, target.txt (table.column)
 *
 * Prints a line a set and the geometric means: of sets named noise-* and leak-*, and of the others. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/evaluate/held_out.h"

enum { TABLES = 64 };

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tab_str slurp(tab_arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    tab_str s = { NULL, 0 };
    if (f == NULL)
        return s;
    size_t room = 0;
    char *p = NULL;
    for (size_t got = 1; got > 0; s.n += got) {
        if (room - s.n < 65536)
            p = realloc(p, room = 2 * room + 131072);
        if (p == NULL)
            exit(1);
        got = fread(p + s.n, 1, room - s.n, f);
    }
    fclose(f);
    if (!tab_arena_adopt(a, p, room))
        exit(1);
    s.p = p;
    return s;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t read_tables(tab_arena *a, const char *folder, const tab_table **t)
{
    char *name[TABLES], path[2048];
    size_t n = 0, kept = 0;
    DIR *d = opendir(folder);
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL && n < TABLES;) {
        size_t len = strlen(e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".csv") == 0 && strcmp(e->d_name, "truth.csv") != 0)
            name[n++] = tab_arena_printf(a, "%.*s", (int)(len - 4), e->d_name);
    }
    closedir(d);
    qsort(name, n, sizeof *name, by_name);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, name[i]);
        tab_error err = { 0 };
        if (tab_csv_read(a, slurp(a, path), tab_str_of(name[i]), &t[kept], NULL, &err) == TAB_OK)
            kept++;
        else
            fprintf(stderr, "%s: %s\n", path, err.message);
    }
    return kept;
}

/* Log-loss, or RMSE. */
static double loss_of(const Tabella__HeldOut *h)
{
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, "log_loss") == 0 || strcmp(h->metrics[i]->name, "rmse") == 0)
            return h->metrics[i]->value;
    return (double)NAN;
}

static double held_out(tab_arena *a, const tab_table *t, const tab_selection *s, const tab_links *l, int seed)
{
    tab_engine e = { .arena = a, .seed = (uint64_t)seed };
    tab_evaluate_options o = {
        .task = s->task, .target = s->column, .table = (uint32_t)s->table, .links = l
    };
    Tabella__HeldOut *h = NULL;
    tab_error err = { 0 };
    if (tab_evaluate(&e, t, &o, &h, &err) != TAB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return (double)NAN;
    }
    return loss_of(h);
}

typedef struct {
    double log_ratio, worst;
    size_t n;
} mean;

static bool measure(const char *folder, int seeds, mean *of)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)12 << 30);
    const tab_table *t[TABLES];
    char path[2048];
    const char *name = strrchr(folder, '/') == NULL ? folder : strrchr(folder, '/') + 1;
    size_t n = read_tables(a, folder, t);
    snprintf(path, sizeof path, "%s/target.txt", folder);
    tab_str target = slurp(a, path);
    while (target.n > 0 && (uint8_t)target.p[target.n - 1] <= ' ')
        target.n--;
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = target;
    tab_profile *p[TABLES];
    tab_selection s;
    tab_error err = { 0 };
    tab_status st = n < 2 || target.n == 0 ? TAB_NOT_FOUND : TAB_OK;
    for (size_t i = 0; st == TAB_OK && i < n; i++)
        st = tab_profile_table(&e, t[i], &p[i], &err);
    if (st == TAB_OK)
        st = tab_select(&e, p, n, NULL, &o, &s, &err);
    tab_linked linked = { 0 };
    tab_fitted *f = NULL;
    tab_references refs = { 0 };
    if (st == TAB_OK)
        st = tab_references_find(&e, p, n, &refs, &err);
    double began = cpu();
    if (st == TAB_OK)
        st = tab_fit_linked(&e, p, n, &refs, &s, &o, false, &linked, &f, &err);
    double took = cpu() - began;
    tab_fitted_free(f);
    if (st != TAB_OK) {
        fprintf(stderr, "%s: %s\n", folder, err.message);
        return false;
    }
    double ratio = 0, alone = 0, all = 0;
    for (int k = 0; k < seeds; k++) {
        double x = held_out(a, t[s.table], &s, NULL, k);
        double y = linked.links == NULL ? x : held_out(a, t[s.table], &s, linked.links, k);
        alone += x / seeds;
        all += y / seeds;
        ratio += log(y / x) / seeds;
    }
    printf("%-16s %6zu rows  alone %9.4f  all %9.4f  ratio %.4f  fit %5.1f s ", name, t[s.table]->rows, alone,
           all, exp(ratio), took);
    for (size_t i = 0; linked.set != NULL && i < tab_link_set_size(linked.set) && i < 6; i++)
        printf("%s %.*s", i == 0 ? "" : ",", TAB_STR(tab_link_set_name(linked.set, i)));
    printf("\n");
    fflush(stdout);
    of->log_ratio += ratio;
    of->worst = fmax(of->worst, exp(ratio));
    of->n++;
    return true;
}

int main(int argc, char **argv)
{
    mean effect = { 0 }, none = { 0 };
    int seeds = 3, first = 1;
    if (argc > 2 && strcmp(argv[1], "-s") == 0) {
        seeds = atoi(argv[2]);
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        bool noise = strstr(argv[i], "/noise-") != NULL || strstr(argv[i], "/leak-") != NULL;
        if (!measure(argv[i], seeds < 1 ? 1 : seeds, noise ? &none : &effect))
            return 1;
    }
    if (effect.n > 0)
        printf("others linked: geometric mean of ratios %.4f, worst %.4f, sets %zu\n",
               exp(effect.log_ratio / (double)effect.n), effect.worst, effect.n);
    if (none.n > 0)
        printf("others noise:  geometric mean of ratios %.4f, worst %.4f, sets %zu\n",
               exp(none.log_ratio / (double)none.n), none.worst, none.n);
    return 0;
}
