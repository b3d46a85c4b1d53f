/* Whatever the bytes: reading tables neither crashes nor reads outside, and what was accepted, written and
 * read again is the same. */
#include <stdlib.h>

#include "common/table/table_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(256 * size + (1 << 20));
    const tab_table *const *tables, *const *again;
    size_t n, m;
    if (tab_wire_read(a, (tab_str){ (const char *)data, size }, &tables, &n, NULL) != TAB_OK)
        return 0;
    tab_wire *w;
    if (tab_wire_new(a, tables, n, &w, NULL) != TAB_OK)
        return 0;
    char *p = tab_arena_alloc(a, tab_wire_bytes(w) + 1, 1);
    if (p == NULL)
        return 0;
    tab_wire_copy(w, 0, tab_wire_bytes(w), p);
    if (tab_wire_read(a, (tab_str){ p, tab_wire_bytes(w) }, &again, &m, NULL) != TAB_OK || m != n)
        abort();
    for (size_t i = 0; i < n; i++)
        if (!tab_table_equal(tables[i], again[i]))
            abort();
    return 0;
}
