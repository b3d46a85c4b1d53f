/* Whatever the bytes, the ending of the name and what is asked of the reading (the first byte chooses both):
 * reading a file neither crashes nor outgrows its limits, and an error says something. */
#include <stdlib.h>

#include "common/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "a.csv", "a.json", "a.ndjson", "a.xlsx",
                                         "a.gz",  "a",      "a.arrow",  "a.parquet" };
    static const tab_reading_asked asked[] = {
        TAB_READING_FOUND,
        { .header_rows = 0, .skip_lines = -1 },
        { .header_rows = 3, .skip_lines = 1, .delimiter = ';', .quote = TAB_READING_UNQUOTED },
        { .header_rows = -1, .skip_lines = 2, .quote = '\'', .encoding = "utf-16le", .one_table = true },
    };
    const tab_file_limits most = { 1 << 22, 100000, 64, 8, false, false };
    if (size == 0)
        return 0;
    char *copy = malloc(size); /* exactly its size, for the sanitizer to see a byte too far */
    tab_arena *a = tab_arena_new(64 << 20);
    tab_file f;
    tab_error err = { 0 };
    if (copy == NULL || a == NULL)
        abort();
    memcpy(copy, data + 1, size - 1);
    copy[size - 1] = 0;
    tab_str name = tab_str_of(names[data[0] % (sizeof names / sizeof *names)]);
    const tab_reading_asked *how = &asked[data[0] / 64];
    if (tab_file_read_as(a, name, (tab_str){ copy, size - 1 }, &most, how, &f, &err) == TAB_OK) {
        for (size_t i = 0; i < f.n; i++)
            for (size_t c = 0; c < f.table[i]->cols; c++)
                for (size_t r = 0; r < f.table[i]->rows; r++)
                    (void)tab_cell_at(&f.table[i]->col[c], r);
    } else if (err.message[0] == 0) {
        abort();
    }
    tab_arena_free(a);
    free(copy);
    return 0;
}
