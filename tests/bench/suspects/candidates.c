/* What the finders of engine/suspects see in tables, for tests/bench/suspects/fit:
 *
 *   suspect-candidates [--judged] FILE.csv ...
 *
 * A line a candidate, tabs between: file, row, column (both from 0), kind, confidence, suggestion, features.
 * --judged: suspects alone, as the bundle has them. Each file ends with a line "file, cells, CPU seconds". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/suspects.h"

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

static void print_text(tab_str t)
{
    for (size_t i = 0; i < t.n; i++)
        putchar(t.p[i] == '\t' || t.p[i] == '\n' || t.p[i] == '\r' ? ' ' : t.p[i]);
}

static int look(const char *path, bool judged)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_str bytes = slurp(path);
    const tab_table *t = NULL;
    tab_profile *p = NULL;
    tab_suspect *s = NULL;
    size_t n = 0;
    if (a == NULL || tab_csv_read(a, bytes, TAB_S("t"), &t, NULL, &err) != TAB_OK ||
        tab_profile_table(&e, t, &p, &err) != TAB_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        return 1;
    }
    double begin = cpu();
    tab_status st =
        judged ? tab_suspects_find(&e, p, 0, &s, &n, &err) : tab_suspects_candidates(&e, p, &s, &n, &err);
    if (st != TAB_OK)
        return 1;
    double took = cpu() - begin;
    for (size_t i = 0; i < n; i++) {
        printf("%s\t%u\t%u\t%s\t%.6f\t", path, s[i].row, s[i].column, tab_suspect_name(s[i].kind),
               s[i].confidence);
        print_text(s[i].suggestion);
        for (size_t k = 0; k < TAB_SUSPECT_FEATURES; k++)
            printf("\t%.6g", (double)s[i].f[k]);
        printf("\n");
    }
    printf("%s\t%zu\t%.3f\n", path, t->rows * t->cols, took);
    free((void *)(uintptr_t)bytes.p);
    return 0;
}

int main(int n, char **arg)
{
    bool judged = n > 1 && strcmp(arg[1], "--judged") == 0;
    int bad = 0;
    for (int i = 1 + judged; i < n; i++)
        bad |= look(arg[i], judged);
    return bad;
}
