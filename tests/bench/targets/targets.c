/* What the engine knows of every column as a target, for tests/bench/targets/run:
 *
 *   targets FILE.csv ...
 *
 * A line "table FILE CPU" (CPU seconds of the selection) and then a line a column: position, name, 1 where it
 * is eligible, its score, the evidence of predict/rank.h; tabs between. "evidence NAME ..." comes first. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/files/csv.h"
#include "services/inference/engine/predict/rank.h"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tab_str slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, room = 1 << 16;
    char *p = malloc(room);
    for (size_t got; f != NULL && p != NULL && (got = fread(p + n, 1, room - n, f)) > 0;)
        if ((n += got) == room)
            p = realloc(p, room *= 2);
    if (f != NULL)
        fclose(f);
    return (tab_str){ p, f == NULL ? 0 : n };
}

static void print_column(const tab_profile *p, const tab_contender *c)
{
    double x[TAB_CLUES];
    tab_target_evidence(p, c, x);
    tab_str name = p->table->col[c->column].name;
    printf("%zu\t", c->column);
    for (size_t i = 0; i < name.n; i++)
        putchar(name.p[i] == '\t' || name.p[i] == '\n' ? ' ' : name.p[i]);
    printf("\t%d\t%.5f", c->eligible, c->eligible ? tab_target_score(p, c) : 0);
    for (size_t i = 0; i < TAB_CLUES; i++)
        printf("\t%.5f", x[i]);
    printf("\t# %s\n", c->reason);
}

static bool print_table(const char *path)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_engine e = { .arena = a };
    tab_str bytes = slurp(path);
    const tab_table *t = NULL;
    tab_csv_notes notes;
    tab_profile *p = NULL;
    tab_error err = { 0 };
    size_t open;
    bool ok = tab_csv_read(a, bytes, TAB_S("t"), &t, &notes, &err) == TAB_OK &&
              tab_profile_table(&e, t, &p, &err) == TAB_OK;
    tab_contender *c = ok ? tab_arena_new_of(a, tab_contender, t->cols + 1) : NULL;
    double began = cpu();
    ok = c != NULL && tab_contenders(&e, p, 0, TAB_TASK_AUTO, c, &open, &err) == TAB_OK;
    if (ok) {
        printf("table\t%s\t%.3f\n", path, cpu() - began);
        for (size_t k = 0; k < t->cols; k++)
            print_column(p, &c[k]);
    } else
        fprintf(stderr, "targets: %s: %s\n", path, err.message);
    free((void *)(uintptr_t)bytes.p);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = argc > 1;
    printf("evidence");
    for (size_t i = 0; i < TAB_CLUES; i++)
        printf("\t%s", tab_clue_name[i]);
    printf("\n");
    for (int i = 1; i < argc; i++)
        ok = print_table(argv[i]) && ok;
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
