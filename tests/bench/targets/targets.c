/* What the engine knows of every column as a target, for tests/bench/targets/run:
 *
 *   targets [--shuffled] FILE.csv ...
 *
  * --shuffled puts the cells of each column in an order of its own: nothing tells of anything. A line "table
  * FILE CPU SOMETHING" (CPU seconds of the selection; 1 where a column is told beyond chance, 0 where none
  * is, - where there are too few rows or none is eligible) and then a line a column: position, name, 1 where
  * it is eligible, its score, the evidence of predict/choose/rank.h; tabs between. "evidence NAME ..." comes
  * first.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/choose/rank.h"

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

/* Each column's cells in an order of their own: Fisher and Yates. NULL: out of memory. */
static const tab_table *shuffled(tab_arena *a, const tab_table *t)
{
    tab_table *s = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    size_t *at = tab_arena_new_of(a, size_t, t->rows + 1);
    if (s == NULL || col == NULL || at == NULL)
        return NULL;
    for (size_t c = 0; c < t->cols; c++) {
        tab_builder *b = tab_builder_new(a, t->col[c].name);
        for (size_t i = 0; i < t->rows; i++) {
            size_t j = (size_t)(tab_unit(tab_mix2(i, c + 1)) * (double)(i + 1));
            at[i] = at[j], at[j] = i;
        }
        for (size_t i = 0; b != NULL && i < t->rows; i++)
            tab_builder_cell(b, tab_cell_at(&t->col[c], at[i]));
        if (b == NULL || !tab_builder_finish(b, &col[c]))
            return NULL;
    }
    *s = (tab_table){ .id = t->id, .rows = t->rows, .cols = t->cols, .col = col };
    return s;
}

static bool print_table(const char *path, bool shuffle)
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
              (!shuffle || (t = shuffled(a, t)) != NULL) && tab_profile_table(&e, t, &p, &err) == TAB_OK;
    tab_contender *c = ok ? tab_arena_new_of(a, tab_contender, t->cols + 1) : NULL;
    double began = cpu();
    ok = c != NULL && tab_contenders(&e, p, 0, NULL, NULL, TAB_TASK_AUTO, c, &open, &err) == TAB_OK;
    if (ok) {
        bool something = false, asked = open > 0 && t->rows >= 40;
        for (size_t k = 0; k < open; k++)
            something = something || !c[k].chance;
        printf("table\t%s\t%.3f\t%s\n", path, cpu() - began, !asked ? "-" : something ? "1" : "0");
        for (size_t k = 0; k < t->cols; k++)
            print_column(p, &c[k]);
    } else
        fprintf(stderr, "targets: %s: %s\n", path, err.message);
    free((void *)(uintptr_t)bytes.p);
    return ok;
}

int main(int argc, char **argv)
{
    bool shuffle = argc > 1 && strcmp(argv[1], "--shuffled") == 0, ok = argc > 1 + shuffle;
    printf("evidence");
    for (size_t i = 0; i < TAB_CLUES; i++)
        printf("\t%s", tab_clue_name[i]);
    printf("\n");
    for (int i = 1 + shuffle; i < argc; i++)
        ok = print_table(argv[i], shuffle) && ok;
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
