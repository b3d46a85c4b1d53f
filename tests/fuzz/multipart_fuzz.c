/* Whatever the body: its parts lie within it; and taken as it comes, in pieces of any size, it has the same.
 * */
#include <stdlib.h>

#include "common/files/multipart_stream.h"

enum { PARTS = 8 };

typedef struct {
    const uint8_t *p;
    size_t n, piece;
} source;

static tab_status pull(void *arg, char *to, size_t most, size_t *ret_n, tab_error *err)
{
    source *s = arg;
    size_t n = s->n < s->piece ? s->n : s->piece;
    (void)err;
    n = n < most ? n : most;
    if (n > 0)
        memcpy(to, s->p, n);
    s->p += n;
    s->n -= n;
    *ret_n = n;
    return TAB_OK;
}

static void same(const uint8_t *data, size_t size, size_t piece, tab_status want, const tab_part *part,
                 size_t n)
{
    static char bytes[1 << 20];
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    source in = { data, size, piece };
    tab_parts *p;
    tab_part got;
    bool more = true;
    tab_error err = { 0 };
    size_t i = 0;
    tab_status s = tab_parts_open(a, "multipart/form-data; boundary=b", pull, &in, PARTS, &p, &err);
    while (s == TAB_OK && (s = tab_parts_next(p, &got, &more, &err)) == TAB_OK && more) {
        size_t at = 0;
        tab_str some;
        while ((s = tab_parts_take(p, &some, &err)) == TAB_OK && some.n > 0) {
            memcpy(bytes + at, some.p, some.n);
            at += some.n;
        }
        if (s == TAB_OK && want == TAB_OK &&
            (i >= n || !tab_str_eq(part[i].name, got.name) || !tab_str_eq(part[i].file_name, got.file_name) ||
             !tab_str_eq(part[i].bytes, (tab_str){ bytes, at })))
            abort();
        i++;
    }
    if (s != want || (s == TAB_OK && i != n) || (s != TAB_OK && err.message[0] == 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 20)
        return 0;
    char *copy = malloc(size + (size == 0)); /* exactly its size, for the sanitizer to see a byte too far */
    tab_part part[PARTS];
    size_t n = 0;
    tab_error err = { 0 };
    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    tab_status s =
        tab_multipart_read("multipart/form-data; boundary=b", (tab_str){ copy, size }, part, PARTS, &n, &err);
    for (size_t i = 0; s == TAB_OK && i < n; i++)
        if (part[i].bytes.p < copy || part[i].bytes.p + part[i].bytes.n > copy + size || part[i].name.n == 0)
            abort();
    if (s != TAB_OK && err.message[0] == 0)
        abort();
    same(data, size, size > 0 ? 1 + data[size - 1] % 61 : 1, s, part, n);
    same(data, size, size + 1, s, part, n);
    free(copy);
    return 0;
}
