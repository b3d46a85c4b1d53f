/* Whatever the bytes: reading CSV neither crashes nor outgrows its arena, and the table has the
 * header's width. */
#include <stdlib.h>

#include "common/files/csv/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1); /* exactly its size, for the sanitizer to see a byte too far */
    tab_arena *a = tab_arena_new(512 * size + (1 << 22));
    const tab_table *t;
    tab_error err = { 0 };
    if (copy == NULL || a == NULL)
        abort();
    memcpy(copy, data, size);
    if (tab_csv_read(a, (tab_str){ copy, size }, TAB_S("t"), &t, NULL, &err) == TAB_OK) {
        if (t->cols == 0)
            abort();
        for (size_t c = 0; c < t->cols; c++)
            for (size_t r = 0; r < t->rows; r++)
                (void)tab_cell_at(&t->col[c], r);
    } else if (err.message[0] == 0) {
        abort();
    }
    tab_arena_free(a);
    free(copy);
    return 0;
}
