/* Tables for the tests of linking, written cell by cell. */
#ifndef TAB_LINK_TESTS_TABLES_H
#define TAB_LINK_TESTS_TABLES_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/cross_tables.h"

enum { CELL = 96, TABLES = 4 };

/* Writes the cell of a row and column; an empty cell is null. A cell of digits and at most one point is a
 * number. */
typedef void cell_of(size_t row, size_t col, char out[CELL]);

static inline uint32_t chance(size_t a, size_t b, uint32_t n)
{
    return (uint32_t)(tab_hash_mix(tab_hash_mix(a, b), 99) >> 21) % n;
}

static inline tab_table table_of(tab_arena *a, const char *id, size_t rows, size_t cols, cell_of *cell)
{
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    for (size_t c = 0; c < cols; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(""));
        for (size_t r = 0; r < rows; r++) {
            char text[CELL] = "", *end;
            cell(r, c, text);
            double x = strtod(text, &end);
            if (*text == 0)
                tab_builder_null(b);
            else if (*end == 0)
                tab_builder_number(b, x);
            else
                tab_builder_text(b, tab_str_of(text));
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    return (tab_table){ .id = tab_str_of(id), .rows = rows, .cols = cols, .col = col };
}

typedef struct {
    tab_arena *arena;
    size_t n;
    tab_table table[TABLES];
    Tabella__Bundle b;
    Tabella__CrossTableMap *map; /* of b, as the two below */
    Tabella__UnifiedRows *unified;
    uint64_t linked;
} world;

static inline void cross(world *w)
{
    tab_profile *p[TABLES];
    tab_error err = { 0 };
    tab_engine e = { .arena = w->arena };
    for (size_t i = 0; i < w->n; i++)
        cr_assert_eq(tab_profile_table(&e, &w->table[i], &p[i], &err), TAB_OK);
    w->b = (Tabella__Bundle)TABELLA__BUNDLE__INIT;
    cr_assert_eq(tab_cross_tables(&e, p, w->n, 0.5, &w->b, NULL, &err), TAB_OK);
    w->map = w->b.cross_table_map;
    w->unified = w->b.unified_rows;
    w->linked = w->b.records_linked;
}

static const char *const given[] = { "Anna",  "Bruno", "Clara", "Dario",  "Elena",  "Felix",
                                     "Greta", "Hugo",  "Irene", "Jonas",  "Karin",  "Leo",
                                     "Maria", "Nils",  "Olga",  "Pietro", "Quirin", "Rosa" };
static const char *const family[] = { "Abbot",  "Keller", "Castle", "Moreau", "Eriksen", "Novak",
                                      "Greco",  "Haas",   "Ibsen",  "Jansen", "Kovacs",  "Lindt",
                                      "Muller", "Nagy",   "Ortega", "Petrov", "Rossi",   "Silva" };
static const char *const town[] = { "Lisbon", "Turin", "Graz", "Bergen", "Leeds", "Lyon", "Split" };

#endif
