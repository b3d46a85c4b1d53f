/* Tables of a test by their cells as text: digits become numbers, an empty cell null. */
#ifndef TAB_KEYS_TESTS_CELLS_H
#define TAB_KEYS_TESTS_CELLS_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/align/view.h"

typedef struct {
    size_t rows, cols;
    const char *const *name; /* (cols); NULL: c0, c1, ... */
    const char *(*cell)(size_t table, size_t row, size_t col);
} cells;

/* Views of n tables, which live in e->arena but for the views; these are the caller's. */
static tab_views *cells_seen(const tab_engine *e, const cells *of, size_t n)
{
    tab_arena *a = e->arena;
    tab_profile **profile = tab_arena_new_of(a, tab_profile *, n);
    tab_table *table = tab_arena_new_of(a, tab_table, n);
    tab_views *v = NULL;
    for (size_t t = 0; t < n; t++) {
        tab_column *col = tab_arena_new_of(a, tab_column, of[t].cols);
        for (size_t c = 0; c < of[t].cols; c++) {
            const char *name = of[t].name != NULL ? of[t].name[c] : tab_arena_printf(a, "c%zu", c);
            tab_builder *b = tab_builder_new(a, tab_str_of(name));
            for (size_t r = 0; r < of[t].rows; r++) {
                const char *s = of[t].cell(t, r, c);
                char *end;
                double x = strtod(s, &end);
                if (*s == 0)
                    tab_builder_null(b);
                else if (*end == 0)
                    tab_builder_number(b, x);
                else
                    tab_builder_text(b, tab_str_of(s));
            }
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        table[t] = (tab_table){ .id = tab_str_of(tab_arena_printf(a, "table %zu", t)),
                                .rows = (uint32_t)of[t].rows,
                                .cols = of[t].cols,
                                .col = col };
        cr_assert_eq(tab_profile_table(e, &table[t], &profile[t], NULL), TAB_OK);
    }
    cr_assert_eq(tab_views_new(e, profile, n, &v, NULL), TAB_OK);
    return v;
}

#endif
