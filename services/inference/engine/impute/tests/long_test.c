/* Long tables, of which a part is read: what is told by rows of the whole (copies, groups) is looked up
 * there. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/impute.h"

enum { LONG = 80000, COPIES = 4 }; /* one row in COPIES is that before it */

static double draw(size_t row, size_t what)
{
    return tab_unit(tab_mix2(row, what + 400));
}

static const char *kind_of(size_t row)
{
    return draw(row, 1) < 0.5 ? "low" : "high";
}

/* The last column says whether the number lies below a half; hole(row): it is missing. */
static void fill(bool (*hole)(size_t row), Tabella__Imputation **m, tab_arena *a)
{
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    fputs("client,share,kind\n", f);
    for (size_t r = 0; r < LONG; r++) {
        size_t of = r % COPIES == 1 ? r - 1 : r;
        if (of % 60 > 5) /* of some rows no client is known */
            fprintf(f, "client %zu", of / 6);
        fprintf(f, ",%.4f,%s\n", draw(of, 1), hole(r) ? "" : kind_of(of));
    }
    fclose(f);
    const tab_table *t;
    tab_profile *p;
    tab_engine e = { .arena = a };
    tab_impute_target none = { 0 };
    cr_assert_eq(tab_csv_read(a, (tab_str){ csv, n }, TAB_S("t"), &t, NULL, NULL), TAB_OK);
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, m, NULL), TAB_OK);
    free(csv);
}

static bool here_and_there(size_t row)
{
    return draw(row, 2) < 0.04;
}

static bool later_clients(size_t row)
{
    return row > 50000 && draw(row / 6, 2) < 0.2;
}

/* Every hole is filled, nine of ten with what stood there. */
static void check(bool (*hole)(size_t row))
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    Tabella__Imputation *m;
    size_t holes = 0, filled = 0, right = 0;
    fill(hole, &m, a);
    for (size_t r = 0; r < LONG; r++)
        holes += hole(r);
    cr_assert(m->value->coded);
    for (size_t i = 0; i < m->n_row; i++) {
        uint32_t code, from = 0;
        memcpy(&code, m->value->codes.data + 4 * i, 4);
        if (code > 0)
            memcpy(&from, m->value->level_end.data + 4 * (code - 1), 4);
        bool kind = m->column[i] == 2;
        filled += kind;
        right += kind && m->value->level_text.data[from] == *kind_of(m->row[i] - (m->row[i] % COPIES == 1));
    }
    cr_assert_eq(filled, holes);
    cr_assert(right > holes * 9 / 10, "%zu of %zu", right, holes);
}

Test(long_tables, copies_stand_together)
{
    check(here_and_there);
}

Test(long_tables, groups_of_which_nothing_is_known)
{
    check(later_clients);
}
