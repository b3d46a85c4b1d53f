/* What a next snapshot has beyond chance, for tests/bench/expectations/run. Of each line of the input
 *
 *   new|appended TAB known.csv TAB judged.csv [TAB earlier.csv ...]
 *
 * a line a finding, tabs between: line (from 0), kind, column, the other column, p, before, after, reason;
 * then a line "line, checks, CPU seconds". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/files/csv/csv.h"
#include "services/data-connector/expectations/expectations.h"

static const tab_table *read_csv(tab_arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, room = 1 << 16;
    char *p = malloc(room);
    const tab_table *t = NULL;
    tab_error err = { 0 };
    for (size_t got; f != NULL && p != NULL && (got = fread(p + n, 1, room - n - 1, f)) > 0;)
        if ((n += got) + 1 >= room)
            p = realloc(p, room *= 2);
    if (f == NULL || p == NULL || tab_csv_read(a, (tab_str){ p, n }, TAB_S("t"), &t, NULL, &err) != TAB_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        exit(1);
    }
    fclose(f);
    return t;
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

static void judge(size_t line, char *text)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    expectations_case c = { .appended = strcmp(strtok(text, "\t"), "appended") == 0, .share = 1 };
    expectations found;
    tab_error err = { 0 };
    c.known = read_csv(a, strtok(NULL, "\t"));
    c.judged = read_csv(a, strtok(NULL, "\t"));
    c.n_rows = c.judged->rows;
    for (const char *path; c.n_earlier < EXPECT_EARLIER && (path = strtok(NULL, "\t")) != NULL;)
        c.earlier[c.n_earlier++] = read_csv(a, path);
    double begin = cpu();
    if (expectations_judge(a, &c, &found, &err) != TAB_OK)
        exit(1);
    for (size_t i = 0; i < found.n_changed; i++) {
        const expectation *e = &found.changed[i];
        printf("%zu\t%s\t", line, e->kind);
        print_text(e->column);
        putchar('\t');
        print_text(e->with);
        printf("\t%.3g\t%.5f\t%.5f\t", e->p, e->before, e->after);
        print_text(e->reason);
        putchar('\n');
    }
    printf("%zu\t%zu\t%.4f\n", line, found.checks, cpu() - begin);
}

int main(void)
{
    char *text = NULL;
    size_t room = 0, line = 0;
    for (ssize_t n; (n = getline(&text, &room, stdin)) > 0; line++) {
        text[n - 1] = '\0';
        judge(line, text);
    }
    free(text);
    return 0;
}
