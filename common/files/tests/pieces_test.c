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
