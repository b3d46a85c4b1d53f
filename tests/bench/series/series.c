/* Time structure found in made tables (services/inference/engine/series/tests/made.h), by kind of table:
 *
 *   series-bench [SEED [DUMP]]
 *
 * A line a kind: tables, and those of which the kind, the columns, the keys, the step, the season and the
 * place of the asked rows are right, and all of it. DUMP: a folder for tables that are not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "services/inference/engine/series/tests/held.h"

enum { GROUPS = 64 };

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    struct {
        const char *name;
        size_t n, right, of[HELD_PARTS];
    } group[GROUPS] = { 0 };
    size_t groups = 0, all = 0, time = 0, right = 0, false_times = 0;
    double spent = 0, worst = 0;
    for (size_t i = 0; i < MADE_WITH_TIME + MADE_WITHOUT; i++) {
        made_table m;
        made_series(seed, i, &m);
        held h;
        if (!hold_series(&m, &h))
            return EXIT_FAILURE;
        size_t g = 0;
        while (g < groups && strcmp(group[g].name, m.group) != 0)
            g++;
        groups += g == groups;
        group[g].name = m.group;
        group[g].n++, group[g].right += h.right;
        for (size_t k = 0; k < HELD_PARTS; k++)
            group[g].of[k] += h.is[k];
        all++, right += h.right, time += m.kind != TAB_TIME_NONE;
        false_times += m.kind == TAB_TIME_NONE && !h.right;
        spent += h.seconds, worst = fmax(worst, h.seconds);
        if (!h.right)
            fprintf(stderr, "%zu %s: %s\n", i, m.group, h.said);
        if (!h.right && argc > 2) {
            char path[512];
            snprintf(path, sizeof path, "%s/%zu.csv", argv[2], i);
            FILE *f = fopen(path, "w");
            if (f != NULL) {
                fwrite(m.text, 1, m.n, f);
                fclose(f);
            }
        }
        free(m.text);
    }
    printf("%-24s %6s %6s %6s %6s %6s %6s %6s %6s\n", "kind of table", "tables", "kind", "cols", "keys",
           "step", "season", "place", "right");
    for (size_t g = 0; g < groups; g++) {
        printf("%-24s %6zu", group[g].name, group[g].n);
        for (size_t k = 0; k < HELD_PARTS; k++)
            printf(" %6zu", group[g].of[k]);
        printf(" %6zu\n", group[g].right);
    }
    printf("all %zu, right %zu (%.1f %%), false times %zu of %zu; %.2f ms a table, %.2f at most\n", all,
           right, 100 * (double)right / (double)all, false_times, all - time, 1000 * spent / (double)all,
           1000 * worst);
    return EXIT_SUCCESS;
}
