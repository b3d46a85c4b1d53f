/* What the engine sees of time in tables, for tests/bench/series/run:
 *
 *   series-find [--time] FILE.csv TARGET [FILE.csv TARGET ...]
 *
 * Rows whose target is empty are asked. A line a file, tabs between: file, kind, time columns, keys (with +
 * between), unit, step, regular, series, seasons, calendar, confidence, how the asked rows lie (in shares),
 * column of new groups, notes. TARGET "-": none. --time ends with the CPU seconds of the search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/series/series.h"

static tab_str slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, room = 1 << 16;
    char *p = malloc(room);
    for (size_t got; f != NULL && p != NULL && (got = fread(p + n, 1, room - n - 1, f)) > 0;)
        if ((n += got) + 1 >= room)
            p = realloc(p, room *= 2);
    if (f != NULL)
        fclose(f);
    return (tab_str){ p, f == NULL ? 0 : n };
}

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_columns(const tab_table *t, const size_t *column, size_t n)
{
    printf("\t");
    for (size_t i = 0; i < n; i++)
        printf("%s%.*s", i > 0 ? "+" : "", (int)t->col[column[i]].name.n, t->col[column[i]].name.p);
}

static void print_places(tab_arena *a, const tab_series *s, const tab_profile *p, size_t target,
                         const bool *asked)
{
    tab_row_place *place;
    size_t n = 0, of[4] = { 0 }, fresh = 0, column, rows = p->table->rows;
    bool *rows_new;
    if (!tab_series_place(a, s, rows, asked, &place) ||
        !tab_asked_groups(a, p, s, target, asked, &column, &rows_new))
        exit(EXIT_FAILURE);
    for (size_t r = 0; r < rows; r++)
        if (asked[r])
            n++, of[place[r].relation]++, fresh += place[r].new_series;
    double all = n > 0 ? (double)n : 1;
    printf("\tafter %.2f among %.2f before %.2f new %.2f\t", (double)of[TAB_PLACE_AFTER] / all,
           (double)of[TAB_PLACE_AMONG] / all, (double)of[TAB_PLACE_BEFORE] / all, (double)fresh / all);
    if (column < p->table->cols)
        printf("%.*s", (int)p->table->col[column].name.n, p->table->col[column].name.p);
}

static bool print_file(const char *path, const char *name, double *spent)
{
    static const char *const kinds[] = { "none", "column", "parts", "order" }, *const units[] = {
        "seconds", "months", "years", "number", "workdays"
    };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    tab_engine e = { .arena = a };
    tab_str bytes = slurp(path);
    const tab_table *t = NULL;
    tab_csv_notes notes;
    tab_profile *p = NULL;
    tab_error err = { 0 };
    tab_series s;
    if (tab_csv_read(a, bytes, TAB_S("t"), &t, &notes, &err) != TAB_OK ||
        tab_profile_table(&e, t, &p, &err) != TAB_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        return false;
    }
    size_t target = 0;
    while (target < t->cols && !tab_str_eq(t->col[target].name, tab_str_of(name)))
        target++;
    bool *asked = tab_arena_new_of(a, bool, t->rows + 1);
    for (size_t r = 0; target < t->cols && r < t->rows; r++)
        asked[r] = tab_cell_at(&t->col[target], r).kind == TAB_CELL_NULL;
    double began = cpu();
    if (tab_series_find(a, p, target, asked, &s, &err) != TAB_OK)
        return false;
    *spent += cpu() - began;
    printf("%s\t%s", path, kinds[s.kind]);
    print_columns(t, s.time, s.times);
    print_columns(t, s.key, s.keys);
    printf("\t%s\t%.6g\t%s\t%zu\t", units[s.unit], s.step, s.regular ? "regular" : "irregular", s.n);
    for (size_t i = 0; i < s.seasons; i++)
        printf("%s%.6g", i > 0 ? "," : "", s.season[i]);
    printf("\t%s\t%.2f", s.calendar ? "calendar" : "plain", s.confidence);
    print_places(a, &s, p, target, asked);
    printf("\t");
    for (size_t i = 0; i < s.notes; i++)
        printf("%s%s", i > 0 ? "; " : "", s.note[i]);
    printf("\n");
    free((void *)(uintptr_t)bytes.p);
    return true;
}

int main(int argc, char **argv)
{
    bool ok = argc > 2, timed = ok && strcmp(argv[1], "--time") == 0;
    double spent = 0;
    for (int i = timed ? 2 : 1; i + 1 < argc; i += 2)
        ok &= print_file(argv[i], argv[i + 1], &spent);
    if (timed)
        printf("cpu %.6f s\n", spent);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
