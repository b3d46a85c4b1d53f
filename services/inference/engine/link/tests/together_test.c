/* What belongs together in a record is of one row. */
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/link/tests/tables.h"

enum { PEOPLE = 150, MOVED = 40, COLS = 6, STREET = 3, POSTAL, CITY };

static void write_person(size_t k, size_t home, size_t col, char out[CELL])
{
    static const char *const city[] = {
        "Lisbon", "Hamburg", "Amsterdam", "Rome", "Manchester", "Lyon", "Oslo"
    };
    const char *f = given[chance(k, 1, 18)], *l = family[chance(k, 2, 18)];
    if (col == 0)
        snprintf(out, CELL, "%s %s", f, l);
    else if (col == 1)
        snprintf(out, CELL, "%s.%s%u@mail.example", f, l, chance(k, 8, 1000));
    else if (col == 2)
        snprintf(out, CELL, "(212) %u-%u", 100 + chance(k, 3, 900), 1000 + chance(k, 4, 9000));
    else if (col == STREET)
        snprintf(out, CELL, "%u %s Street", 1 + chance(home, 6, 200), family[chance(home, 7, 18)]);
    else if (col == POSTAL)
        snprintf(out, CELL, "%05u", 10000 + chance(home, 9, 80000));
    else
        snprintf(out, CELL, "%s", city[chance(home, 5, 7)]);
}

static void old_list(size_t r, size_t col, char out[CELL])
{
    write_person(r, r, col, out);
}

/* The first ones have moved; of some of them the new postal code is not known. */
static void new_list(size_t r, size_t col, char out[CELL])
{
    write_person(r, r < MOVED ? 1000 + r : r, col, out);
    if (col == POSTAL && r < MOVED / 4)
        out[0] = 0;
}

static tab_str text_at(const Tabella__Column *c, size_t row, char buf[32])
{
    if (!c->coded)
        return (tab_str){ buf, tab_number_text(((const double *)(const void *)c->numbers.data)[row], buf) };
    uint32_t code = ((const uint32_t *)(const void *)c->codes.data)[row];
    const uint32_t *end = (const uint32_t *)(const void *)c->level_end.data;
    if (code == TAB_NULL)
        return (tab_str){ buf, 0 };
    uint32_t from = code == 0 ? 0 : end[code - 1];
    return (tab_str){ (const char *)c->level_text.data + from, end[code] - from };
}

static bool same(tab_str x, size_t row, size_t col, cell_of *cell)
{
    char want[CELL] = "", plain[32];
    cell(row, col, want);
    size_t n = strlen(want);
    if (col == POSTAL && n > 0) /* a number, where all of a column are */
        n = tab_number_text(strtod(want, NULL), plain);
    return tab_str_eq(x, (tab_str){ col == POSTAL && n > 0 ? plain : want, n });
}

Test(together, an_address_is_of_one_row)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "old", PEOPLE, COLS, old_list);
    w.table[1] = table_of(w.arena, "new", PEOPLE, COLS, new_list);
    cross(&w);
    const Tabella__UnifiedRows *u = w.unified;
    size_t both = 0, apart = 0;
    cr_assert_eq(u->records->n_columns, COLS);
    for (size_t i = 0; i < u->records->rows; i++) {
        uint32_t a = u->from_row[2 * i], b = u->from_row[2 * i + 1];
        if (a == UINT32_MAX || b == UINT32_MAX)
            continue;
        both++;
        bool is_old = true, is_new = true;
        for (size_t c = STREET; c <= CITY; c++) {
            char buf[32];
            tab_str x = text_at(u->records->columns[c], i, buf);
            is_old = is_old && same(x, a, c, old_list);
            is_new = is_new && same(x, b, c, new_list);
        }
        cr_expect(is_old || is_new, "entity %zu, rows %u and %u", i, a, b);
        apart += b < MOVED;
    }
    cr_expect_geq(both, PEOPLE * 3 / 4);
    cr_expect_geq(apart, MOVED / 2);
    tab_arena_free(w.arena);
}
