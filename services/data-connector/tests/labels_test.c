#include "services/data-connector/store/labels.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* A table from text: first line the names, then rows; cells divided by |, empty = null, digits = numbers but
 * between quotes. */
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
            else if (cell.p[0] == '\'')
                tab_builder_text(b[c], (tab_str){ cell.p + 1, len - 1 });
            else if (strspn(cell.p, "0123456789.-") == len)
                tab_builder_number(b[c], strtod(cell.p, NULL));
            else if (strcmp(cell.p, "true") == 0 || strcmp(cell.p, "false") == 0)
                tab_builder_bool(b[c], cell.p[0] == 't');
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
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = cols, .col = col };
    return t;
}

Test(labels, are_put_where_they_belong)
{
    /* target `y`, told as the first column of the second table */
    static const struct {
        const char *name, *data, *told, *want;
        uint64_t added, labelled, known;
    } cases[] = {
        { "a new row", "id|x|y\n1|a|5\n2|b|6", "o|id|x\n7|3|c", "id|x|y\n1|a|5\n2|b|6\n3|c|7", 1, 0, 0 },
        { "a row without a label", "id|x|y\n1|a|5\n2|b|", "o|id|x\n7|2|b", "id|x|y\n1|a|5\n2|b|7", 0, 1, 0 },
        { "the source knows it", "id|x|y\n1|a|5\n2|b|7", "o|id|x\n7|2|b", "id|x|y\n1|a|5\n2|b|7", 0, 0, 1 },
        { "the source has mended it", "id|x|y\n1|a|5\n2|b|8", "o|id|x\n7|2|b", "id|x|y\n1|a|5\n2|b|8", 0, 0,
          1 },
        { "two answers for one row of the table", "id|x|y\n1|a|5\n2|b|", "o|id|x\n7|2|b\n8|2|b",
          "id|x|y\n1|a|5\n2|b|7\n2|b|8", 1, 1, 0 },
        { "alike rows, one without a label", "x|y\na|5\na|\nb|1", "o|x\n5|a\n6|a", "x|y\na|5\na|5\nb|1\na|6",
          1, 1, 0 },
        { "alike rows, one of this label", "x|y\na|5\na|6\nb|1", "o|x\n6|a\n6|a", "x|y\na|5\na|6\nb|1\na|6",
          1, 0, 1 },
        { "another order, a column that is not told, one that the table lacks", "id|x|z|y\n1|a|4|5\n2|b|4|",
          "o|w|x|id\n7|9|b|2\n8|9|c|3", "id|x|z|y\n1|a|4|5\n2|b|4|7\n3|c||8", 1, 1, 0 },
        { "a file's text is the number that it writes", "id|y\n1|5\n2|", "o|id\n'7|'2\n'8|'3",
          "id|y\n1|5\n2|7\n3|8", 1, 1, 0 },
        { "a number is the text that a column has", "code|y\n'1|no\n'2|", "o|code\nyes|2\nno|3",
          "code|y\n'1|no\n'2|yes\n'3|no", 1, 1, 0 },
        { "truth values of a file", "id|y\n1|true\n2|", "o|id\n'false|2\n'true|3",
          "id|y\n1|true\n2|false\n3|true", 1, 1, 0 },
        { "nulls that are told are nulls", "id|x|y\n1||5\n2||", "o|id|x\n7|2|\n8|3|c",
          "id|x|y\n1||5\n2||7\n3|c|8", 1, 1, 0 },
        { "nothing told", "id|y\n1|5", "o|id", "id|y\n1|5", 0, 0, 0 },
        { "an empty table", "id|y", "o|id\n7|1", "id|y\n1|7", 1, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
        const tab_table *t = table(a, cases[i].data), *want = table(a, cases[i].want);
        labels l;
        cr_assert(labels_put(a, t, t->cols - 1, table(a, cases[i].told), 0, &l, NULL) == TAB_OK);
        cr_expect(l.added == cases[i].added && l.labelled == cases[i].labelled && l.known == cases[i].known,
                  "%s: %d %d %d", cases[i].name, (int)l.added, (int)l.labelled, (int)l.known);
        cr_expect(tab_table_equal(l.table, want), "%s: another table", cases[i].name);
    }
}

Test(labels, memory_that_runs_out_is_an_error)
{
    for (size_t room = 1 << 10; room < 1 << 16; room += 1 << 11) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26), *small = tab_arena_new(room);
        labels l;
        tab_status s = labels_put(small, table(a, "id|y\n1|5\n2|"), 1, table(a, "o|id\n7|2"), 0, &l, NULL);
        cr_expect(s == TAB_INTERNAL || (s == TAB_OK && l.labelled == 1));
    }
}
