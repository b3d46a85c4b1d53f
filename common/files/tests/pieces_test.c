/* What is read in pieces is what is read at once. */
#include "common/files/pieces/pieces.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/csv/csv.h"
#include "common/files/parquet/parquet.h"

static const tab_reading_asked found = TAB_READING_FOUND;

static void put(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert(f != NULL && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

/* All pieces of the file or folder, one below the other. */
static const tab_table *joined(tab_arena *a, const char *path, size_t size, size_t *ret_pieces)
{
    TAB_AUTO(tab_pieces) *p = NULL;
    tab_error err = { 0 };
    cr_assert(tab_pieces_open(path, &found, size, &p, &err) == TAB_OK, "%s", err.message);
    cr_assert(tab_pieces_survey(p, NULL, &err) == TAB_OK, "%s", err.message);
    size_t cols = tab_pieces_measure(p).cols;
    tab_builder **b = tab_arena_new_of(a, tab_builder *, cols);
    for (size_t c = 0; c < cols; c++)
        b[c] = tab_builder_new(a, tab_arena_copy(a, tab_pieces_top(p)->col[c].name));
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    *t = (tab_table){ .id = tab_arena_copy(a, tab_pieces_top(p)->id), .cols = cols, .col = col };
    uint64_t done = 0;
    for (*ret_pieces = 0;; ++*ret_pieces) {
        tab_piece x;
        const tab_table *piece = NULL;
        size_t wide;
        cr_assert(tab_pieces_next(p, &x, &done, &err) == TAB_OK, "%s", err.message);
        if (x.bytes == NULL)
            break;
        cr_assert(tab_piece_read(p, &x, a, &piece, &wide, &err) == TAB_OK, "%s", err.message);
        tab_piece_free(&x);
        for (size_t c = 0; c < cols; c++)
            for (size_t r = 0; r < piece->rows; r++)
                tab_builder_cell(b[c], tab_cell_at(&piece->col[c], r));
        t->rows += piece->rows;
    }
    cr_expect(done == tab_pieces_measure(p).bytes);
    for (size_t c = 0; c < cols; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    return t;
}

/* A text with fields of several lines, quotes in quotes and lines without any character. */
static size_t text_of(char *to, size_t rows)
{
    size_t n = (size_t)sprintf(to, "id;note;value\n");
    for (size_t i = 0; i < rows; i++)
        n += (size_t)sprintf(to + n, "%zu;\"line %zu\nand \"\"more\"\"; of it\";%s%zu.5\n%s", i, i,
                             i % 5 == 0 ? "-" : "", i % 97, i % 50 == 49 ? "\n" : "");
    return n;
}

Test(pieces, of_a_text_are_its_records)
{
    char path[] = "/tmp/pieces-XXXXXX", *text = malloc(1 << 20);
    int fd = mkstemp(path);
    size_t n = text_of(text, 3000), pieces;
    const tab_table *whole;
    tab_csv_notes notes;
    tab_error err;
    put(path, text, n);
    for (size_t size = 300; size < 100000; size = size * 2 + 1) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        const tab_table *t = joined(a, path, size, &pieces);
        cr_assert(tab_csv_read(a, (tab_str){ text, n }, t->id, &whole, &notes, &err) == TAB_OK);
        cr_expect(tab_table_equal(t, whole), "pieces of %zu bytes", size);
        cr_expect(pieces >= n / size, "%zu pieces of %zu", pieces, size);
    }
    close(fd);
    unlink(path);
    free(text);
}

/* ---- texts of which something shows only far below ----------------------------------------------- */

enum {
    ROWS = 44000,
    LATE = 43000
}; /* the first rows are more than the head in which a file's form is found */

typedef enum {
    PLAIN,
    UNNAMED,     /* the header ends with a delimiter, and a late row fills that column */
    WIDER,       /* a late row has two fields more */
    TEXT,        /* a late cell of a column of numbers is none */
    LATIN,       /* a late letter is of an old encoding */
    ZERO,        /* a late cell holds a zero byte */
    QUOTED,      /* late quoted fields of several lines, with delimiters and quotes */
    MARKED,      /* a byte order mark above everything */
    NO_HEADER,   /* and numbers of two digits behind the point, a late one of which is a text */
    TWO_HEADERS, /* a row of groups above the names */
    COMMENTS,
    ESCAPES, /* line ends behind a backslash */
    RETURNS, /* lines end with a carriage return alone */
    BOTH,    /* with a return and a line feed */
    EMPTY,   /* lines without any character between rows */
    KINDS
} kind;

static uint64_t seed_of_rows = 11;

static unsigned draw(unsigned n)
{
    seed_of_rows = seed_of_rows * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed_of_rows >> 33) % n;
}

static size_t put_row(char *to, size_t i, kind k)
{
    const char *end = k == RETURNS ? "\r" : k == BOTH ? "\r\n" : "\n";
    bool late = i == LATE;
    size_t n = (size_t)sprintf(to, "%zu,", i);
    if (late && k == LATIN)
        n += (size_t)sprintf(to + n, "Gr\xf6n,");
    else if (late && k == ZERO)
        n += (size_t)sprintf(to + n, "a%cb,", 0);
    else if (k == QUOTED && i % 1000 > 990)
        n += (size_t)sprintf(to + n, "\"of %zu,\nand \"\"more\"\"\n\",", i);
    else if (k == ESCAPES && i % 1000 == 7)
        n += (size_t)sprintf(to + n, "a\\\nb \\\"c\\\",");
    else
        n += (size_t)sprintf(to + n, "word %u of \xc3\xa9,", draw(500));
    n +=
        (size_t)sprintf(to + n, late && (k == TEXT || k == NO_HEADER) ? "n/k" : "%u.%u0", draw(90), draw(10));
    n += (size_t)sprintf(to + n, ",%u", draw(9000));
    if (k == UNNAMED)
        n += (size_t)sprintf(to + n, late ? ",see below" : ",");
    if (k == WIDER && late)
        n += (size_t)sprintf(to + n, ",,further");
    n += (size_t)sprintf(to + n, "%s", end);
    if (k == EMPTY && i % 500 == 499)
        n += (size_t)sprintf(to + n, "%s", end);
    if (k == COMMENTS && i % 700 == 3)
        n += (size_t)sprintf(to + n, "# no row, \"of course%s", end);
    return n;
}

static size_t put_text(char *to, kind k)
{
    const char *end = k == RETURNS ? "\r" : k == BOTH ? "\r\n" : "\n";
    size_t n = (size_t)sprintf(to, k == MARKED ? "\xef\xbb\xbf" : "%s", "");
    if (k == TWO_HEADERS)
        n += (size_t)sprintf(to + n, "Order,,Sales,\n");
    if (k != NO_HEADER)
        n += (size_t)sprintf(to + n, "id,note,price,count%s%s", k == UNNAMED ? "," : "", end);
    for (size_t i = 0; i < ROWS; i++)
        n += put_row(to + n, i, k);
    return n;
}

/* As files.c has it: the names of a header of several rows are all of them. */
static const tab_table *read_whole(tab_arena *a, tab_str text, tab_str id)
{
    tab_layout_part part[TAB_LAYOUT_PARTS];
    tab_csv_notes notes;
    const tab_table *t;
    tab_error err;
    size_t n;
    cr_assert(tab_csv_read(a, text, id, &t, &notes, &err) == TAB_OK, "%s", err.message);
    if (notes.seen.uppers == 0)
        return t;
    cr_assert(tab_layout_parts(a, t, &notes.seen, part, &n, &err) == TAB_OK && n == 1);
    return part[0].table;
}

Test(pieces, of_a_text_say_what_all_of_it_says)
{
    char path[] = "/tmp/pieces-XXXXXX", *text = malloc(4 << 20);
    int fd = mkstemp(path);
    for (kind k = PLAIN; k < KINDS; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        size_t n = put_text(text, k), pieces;
        cr_assert(n / ROWS * LATE > (1 << 20) && n < (4 << 20));
        put(path, text, n);
        const tab_table *t = joined(a, path, 300000 + 1000 * draw(100), &pieces);
        const tab_table *whole = read_whole(a, (tab_str){ text, n }, t->id);
        cr_expect(t->cols == whole->cols && t->rows == whole->rows, "kind %d: %zu x %zu, whole %zu x %zu",
                  (int)k, t->rows, t->cols, whole->rows, whole->cols);
        cr_expect(tab_table_equal(t, whole), "kind %d", (int)k);
        cr_expect(pieces > 2);
    }
    close(fd);
    unlink(path);
    free(text);
}

Test(pieces, of_a_folder_whose_files_end_with_a_column_without_name)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    char folder[] = "/tmp/pieces-XXXXXX", path[64];
    static const char *const file[] = { "x,y,\n0,1,\n", "x,y,\n2,3,late\n", "y,x\n5,4\n" };
    size_t pieces;
    cr_assert(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%c.csv", folder, 'a' + (int)i);
        put(path, file[i], strlen(file[i]));
    }
    const tab_table *t = joined(a, folder, 1 << 16, &pieces);
    cr_assert(t->rows == 3 && t->cols == 3 && pieces == 3);
    cr_expect(t->col[0].num[2] == 4 && t->col[1].num[2] == 5);
    cr_expect(tab_cell_at(&t->col[2], 0).kind == TAB_CELL_NULL);
    cr_expect(tab_str_eq(tab_cell_at(&t->col[2], 1).text, TAB_S("late")));
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%c.csv", folder, 'a' + (int)i);
        unlink(path);
    }
    rmdir(folder);
}

Test(pieces, of_a_parquet_file_are_its_groups)
{
    static const char *const names[] = { "plain", "pages", "nested", "rare", "polars", "fast", "empty" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        char path[128], *bytes = tab_arena_alloc(a, 1, 1 << 20);
        const tab_table *whole;
        tab_error err;
        size_t pieces;
        snprintf(path, sizeof path, "common/files/tests/parquet/%s.parquet", names[i]);
        FILE *f = fopen(path, "rb");
        size_t n = fread(bytes, 1, (1 << 20) - 1, f);
        fclose(f);
        const tab_table *t = joined(a, path, 1 << 16, &pieces);
        cr_assert(tab_parquet_read(a, (tab_str){ bytes, n }, t->id, 1000, 1000000, 1 << 24, &whole, &err) ==
                  TAB_OK);
        cr_expect(tab_table_equal(t, whole), "%s", names[i]);
    }
}

Test(pieces, of_a_folder_are_its_files_by_name_with_columns_by_name)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    char folder[] = "/tmp/pieces-XXXXXX", path[64];
    static const char *const file[][2] = {
        { "b.csv", "y,x\n3,2\n5,4\n" }, { "a.csv", "x,y\n0,1\n" }, { "_log.csv", "z\n1\n" }, { "c.md", "no" }
    };
    size_t pieces;
    cr_assert(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, file[i][0]);
        put(path, file[i][1], strlen(file[i][1]));
    }
    const tab_table *t = joined(a, folder, 1 << 16, &pieces);
    cr_assert(t->rows == 3 && t->cols == 2 && pieces == 2);
    for (size_t i = 0; i < 3; i++)
        cr_expect(t->col[0].num[i] == 2 * (double)i && t->col[1].num[i] == 2 * (double)i + 1);
    snprintf(path, sizeof path, "%s/d.csv", folder);
    put(path, "x,z\n1,2\n", 8);
    tab_pieces *p = NULL;
    tab_error err = { 0 };
    cr_expect(tab_pieces_open(folder, &found, 1 << 16, &p, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "d.csv") != NULL, "%s", err.message);
    for (const char *const *x = (const char *const[]){ "a.csv", "b.csv", "_log.csv", "c.md", "d.csv", NULL };
         *x != NULL; x++) {
        snprintf(path, sizeof path, "%s/%s", folder, *x);
        unlink(path);
    }
    rmdir(folder);
}
