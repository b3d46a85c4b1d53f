/* CPU time of tab_profile_table: milliseconds a column on the labelled tables (at most 300 rows), and
 * megabytes a second on long columns made here. speed FOLDER */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "services/inference/engine/profile/roles/roles.h"
#include "tools/train/labelled.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double profile_time(const tab_table *t, tab_arena *a)
{
    tab_engine e = { .arena = a };
    tab_profile *p;
    double from = seconds();
    if (tab_profile_table(&e, t, &p, NULL) != TAB_OK)
        return -1;
    return seconds() - from;
}

static void long_column(const char *what, int kind)
{
    enum { ROWS = 1000000 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    size_t bytes = 0;
    uint64_t s = 1;
    for (int i = 0; i < ROWS; i++) {
        char t[80];
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        unsigned r = (unsigned)(s >> 33);
        int n = 0;
        if (kind == 0) {
            tab_builder_number(b, r % 100000 / 100.0);
            n = 8;
        } else {
            n = kind == 1 ? snprintf(t, sizeof t, "category %u", r % 50)
                : kind == 2
                    ? snprintf(t, sizeof t, "20%02u-%02u-%02u %02u:%02u:%02u", r % 23, r / 23 % 12 + 1,
                               r / 300 % 28 + 1, r / 9000 % 24, r / 216000 % 60, i % 60)
                    : snprintf(t, sizeof t, "order %u of customer %u in a longer line of text", r, i);
            tab_builder_text(b, (tab_str){ t, (size_t)n });
        }
        bytes += (size_t)n;
    }
    tab_column c;
    if (!tab_builder_finish(b, &c))
        return;
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 1, .col = &c };
    double took = 1e9;
    for (int again = 0; again < 3; again++) { /* the best of three: other programs share this machine */
        TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)4 << 30);
        took = fmin(took, profile_time(&t, work));
    }
    printf("long column of %-22s %7.0f MB/s\n", what, (double)bytes / 1e6 / took);
}

int main(int argc, char **argv)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_labelled *t;
    size_t n, cols = 0;
    double took = 0;
    if (argc == 2 && tab_labelled_read(a, argv[1], &t, &n)) {
        for (size_t i = 0; i < n; i++) {
            double best = 1e9;
            for (int again = 0; again < 4; again++) {
                TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)1 << 30);
                best = fmin(best, profile_time(t[i].table, work));
            }
            took += best;
            cols += t[i].table->cols;
        }
        printf("%zu tables, %zu columns: %.3f ms of CPU a column, best of four\n", n, cols,
               1e3 * took / (double)cols);
    }
    long_column("numbers", 0);
    long_column("categories", 1);
    long_column("timestamps", 2);
    long_column("nearly unique text", 3);
    return 0;
}
