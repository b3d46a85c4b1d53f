/* Whatever the bytes: reading a file of a statistics program neither crashes nor outgrows its arena. The
 * library that reads them is built without instrumentation: what it does to memory that it was lent is seen,
 * what it does to its own by the allocator alone. */
#include <stdlib.h>

#include "common/files/statistics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)16 << 20);
    const tab_table *t;
    tab_statistics_notes notes;
    tab_error err = { 0 };
    if (a == NULL)
        abort();
    tab_status s = tab_statistics_read(a, (tab_str){ (const char *)data, size }, TAB_S("t"), 64, 100000, &t,
                                       &notes, &err);
    if (s == TAB_OK ? t->cols == 0 || t->cols > 64 || t->rows * t->cols > 100000 : err.message[0] == 0)
        abort();
    return 0;
}
