#include "services/data-connector/store/diff.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* A table from text: first line the names, then rows; cells divided by |, empty = null, digits =
 * numbers. */
static const tab_table *table(tab_arena *a, const char *text)
{
    tab_builder *b[8] = { NULL };
    tab_column *col = tab_arena_new_of(a, tab_column, 8);
    size_t cols = 0, rows = 0, line = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n"), c = 0;
        for (size_t at = 0; at <= n; c++) {
            size_t len = strcspn(text + at, "|\n");
            tab_str cell = tab_arena_copy(a, (tab_str){ text + at, len });
            if (line == 0)
                b[cols++] = tab_builder_new(a, cell);
            else if (len == 0)
                tab_builder_null(b[c]);
            else if (strspn(cell.p, "0123456789.-") == len)
                tab_builder_number(b[c], strtod(cell.p, NULL));
            else
                tab_builder_text(b[c], cell);
            at += len + 1;
        }
        rows += line++ > 0;
        text += n + (text[n] == '\n');
    }
    for (size_t c = 0; c < cols; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    *t = (tab_table){ TAB_S("t"), rows, cols, col };
    return t;
}

Test(diff, counts_rows_as_a_person_would)
{
    static const struct {
        const char *name, *before, *after, *key;
        uint64_t added, changed, removed, unchanged;
    } cases[] = {
        { "nothing changed", "id|x\n1|a\n2|b", "id|x\n1|a\n2|b", "id", 0, 0, 0, 2 },
        { "rows in another order", "id|x\n1|a\n2|b", "id|x\n2|b\n1|a", "id", 0, 0, 0, 2 },
        { "columns in another order", "id|x\n1|a\n2|b", "x|id\na|1\nb|2", "", 0, 0, 0, 2 },
        { "each kind", "id|x\n1|a\n2|b\n3|b", "id|x\n2|b\n3|c\n4|b", "id", 1, 1, 1, 1 },
        { "no key: a multiset", "x\na\na\nb", "x\na\nb\nb\nc", "", 2, 0, 1, 2 },
        { "an added column holds something", "id|x\n1|a\n2|a", "id|x|y\n1|a|\n2|a|5", "id", 0, 1, 0, 1 },
        { "a removed column held something", "id|x|y\n1|a|\n2|a|5", "id|x\n1|a\n2|a", "id", 0, 1, 0, 1 },
        { "a pair identifies", "d|s|v\n1|a|5\n1|b|5\n2|a|5\n2|b|6", "d|s|v\n1|a|5\n1|b|7\n2|a|5\n2|b|6",
          "d,s", 0, 1, 0, 3 },
        { "a fresh number each time is no key", "u|x\n11|a\n12|b\n13|c", "u|x\n21|a\n22|b\n23|c", "x", 0, 3,
          0, 0 },
        { "a null in the key is no key", "id|x\n1|a\n|a", "id|x\n1|a\n|a", "", 0, 0, 0, 2 },
        { "from nothing", "id|x", "id|x\n1|a", "", 1, 0, 0, 0 },
        { "to nothing", "id|x\n1|a", "id|x", "", 0, 0, 1, 0 },
        { "a number that became text is the same as text", "id|x\na|1\nb|2", "id|x\na|1\nb|z", "id", 0, 1, 0,
          1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        row_diff d;
        char key[64] = "";
        cr_assert_eq(diff_tables(a, table(a, cases[i].before), table(a, cases[i].after), NULL, 0, &d, NULL),
                     TAB_OK);
        for (size_t k = 0; k < d.n_key; k++)
            snprintf(key + strlen(key), sizeof key - strlen(key), "%s%.*s", k ? "," : "", TAB_STR(d.key[k]));
        cr_expect(d.added == cases[i].added && d.changed == cases[i].changed &&
                      d.removed == cases[i].removed && d.unchanged == cases[i].unchanged,
                  "%s: +%lu ~%lu -%lu =%lu", cases[i].name, d.added, d.changed, d.removed, d.unchanged);
        if (cases[i].key[0] != '\0')
            cr_expect_str_eq(key, cases[i].key, "%s: key %s", cases[i].name, key);
    }
}

Test(diff, says_what_happened_to_the_columns)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    row_diff d;
    cr_assert_eq(
        diff_tables(a, table(a, "id|x|gone\n1|2|3"), table(a, "id|new|x\n1|5|text"), NULL, 0, &d, NULL),
        TAB_OK);
    cr_expect(d.n_added == 1 && tab_str_eq(d.columns_added[0], TAB_S("new")));
    cr_expect(d.n_removed == 1 && tab_str_eq(d.columns_removed[0], TAB_S("gone")));
    cr_expect(d.n_types == 1 && tab_str_eq(d.types_changed[0], TAB_S("x")));
}

Test(diff, lists_the_rows_that_are_not_as_before)
{
    static const struct {
        const char *name, *before, *after, *want;
    } cases[] = {
        { "by a key", "id|x\n1|a\n2|b\n3|b", "id|x\n2|b\n3|c\n4|b", "~2>1 -0 +2" },
        { "as a multiset", "x\na\na\nb", "x\na\nb\nb\nc", "-1 +2 +3" },
        { "nothing", "id|x\n1|a", "id|x\n1|a", "" },
        { "all new", "id|x", "id|x\n1|a\n2|a", "+0 +1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        row_diff d;
        row_changes list;
        char got[64] = "";
        cr_assert_eq(
            diff_rows(a, table(a, cases[i].before), table(a, cases[i].after), NULL, 0, &d, &list, NULL),
            TAB_OK);
        for (size_t k = 0; k < list.n; k++) {
            const row_change *c = &list.row[k];
            size_t n = strlen(got);
            if (c->kind == ROW_CHANGED)
                snprintf(got + n, sizeof got - n, "%s~%u>%u", k ? " " : "", c->before, c->after);
            else
                snprintf(got + n, sizeof got - n, "%s%c%u", k ? " " : "", c->kind == ROW_ADDED ? '+' : '-',
                         c->kind == ROW_ADDED ? c->after : c->before);
        }
        cr_expect_str_eq(got, cases[i].want, "%s: %s", cases[i].name, got);
        cr_expect_eq(list.n, d.added + d.changed + d.removed);
    }
}

Test(diff, takes_the_declared_key)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    const tab_str key[] = { TAB_S("k") };
    row_diff d;
    const tab_table *x = table(a, "id|k|v\n1|a|5\n2|b|6"), *y = table(a, "id|k|v\n1|b|6\n2|a|5");
    cr_assert_eq(diff_tables(a, x, y, key, 1, &d, NULL), TAB_OK);
    cr_expect(d.n_key == 1 && tab_str_eq(d.key[0], TAB_S("k")) && d.changed == 2);
    cr_assert_eq(diff_tables(a, x, y, NULL, 0, &d, NULL), TAB_OK);
    cr_expect(d.n_key == 1 && tab_str_eq(d.key[0], TAB_S("id")) && d.changed == 2);
}

/* changed + unchanged + added = new rows, + removed = old rows; diff(a, a) is unchanged; swapping
 * swaps. */
Test(diff, holds_its_sums_for_random_tables)
{
    unsigned seed = 12345;
    for (int round = 0; round < 200; round++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
        const tab_table *t[2];
        for (int side = 0; side < 2; side++) {
            char text[4096] = "p|q|r";
            for (int r = 0; r < (int)(seed % 17); r++) {
                seed = seed * 1103515245u + 12345u;
                char row[64], p[8] = "";
                if (seed % 13 != 0)
                    snprintf(p, sizeof p, "%u", seed / 65536 % 9);
                snprintf(row, sizeof row, "\n%s|%c|%u", p, 'a' + (int)(seed / 4096 % 3), seed / 1048576 % 4);
                strcat(text, row);
            }
            seed = seed * 1103515245u + 12345u;
            t[side] = table(a, text);
        }
        row_diff d, back, self;
        cr_assert_eq(diff_tables(a, t[0], t[1], NULL, 0, &d, NULL), TAB_OK);
        cr_assert_eq(diff_tables(a, t[1], t[0], NULL, 0, &back, NULL), TAB_OK);
        cr_assert_eq(diff_tables(a, t[0], t[0], NULL, 0, &self, NULL), TAB_OK);
        cr_expect_eq(d.changed + d.unchanged + d.added, t[1]->rows);
        cr_expect_eq(d.changed + d.unchanged + d.removed, t[0]->rows);
        cr_expect(d.added == back.removed && d.removed == back.added && d.changed == back.changed);
        cr_expect(self.unchanged == t[0]->rows && self.added == 0 && self.changed == 0);
    }
}

/* id; x, which repeats among the first rows; y, which repeats only behind those that are looked at first. */
static const tab_table *long_table(tab_arena *a, size_t rows, size_t first)
{
    static const char *const names[] = { "x", "y", "id" };
    tab_builder *b[3];
    tab_column *col = tab_arena_new_of(a, tab_column, 3);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t c = 0; c < 3; c++)
        b[c] = tab_builder_new(a, tab_str_of(names[c]));
    for (size_t r = 0; r < rows; r++) {
        size_t y = r + 1 == rows ? r - 1 : r;
        tab_builder_number(b[0], (double)(r % 5000));
        tab_builder_number(b[1], (double)(first + y) / 3);
        tab_builder_number(b[2], (double)(first + r));
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    *t = (tab_table){ TAB_S("t"), rows, 3, col };
    return t;
}

Test(diff, of_long_tables_finds_the_key_that_is_one)
{
    enum { ROWS = 40000 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    row_diff d;
    const tab_table *before = long_table(a, ROWS, 0), *after = long_table(a, ROWS, 100);
    cr_assert_eq(diff_tables(a, before, after, NULL, 0, &d, NULL), TAB_OK);
    cr_expect(d.n_key == 1 && tab_str_eq(d.key[0], TAB_S("id")));
    cr_expect(d.added == 100 && d.removed == 100 && d.changed == ROWS - 100, "%llu",
              (unsigned long long)d.changed);
}
