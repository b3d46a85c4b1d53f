/* Whatever the body: its parts lie within it. */
#include <stdlib.h>

#include "common/files/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + (size == 0)); /* exactly its size, for the sanitizer to see a byte too far */
    tab_part part[8];
    size_t n = 0;
    tab_error err = { 0 };
    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    if (tab_multipart_read("multipart/form-data; boundary=b", (tab_str){ copy, size }, part, 8, &n, &err) ==
        TAB_OK) {
        for (size_t i = 0; i < n; i++)
            if (part[i].bytes.p < copy || part[i].bytes.p + part[i].bytes.n > copy + size ||
                part[i].name.n == 0)
                abort();
    } else if (err.message[0] == 0) {
        abort();
    }
    free(copy);
    return 0;
}
