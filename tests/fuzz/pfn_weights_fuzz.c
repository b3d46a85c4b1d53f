/* Weight files of the in-context transformer. The digest is made right first, or nothing behind it would ever
 * be read. A small file cannot hold the network, so most inputs end in the directory; what is accepted is
 * run. */
#include <sodium.h>
#include <stdlib.h>

#include "services/inference/engine/learn/pfn/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *b = malloc(size + 32);
    if (b == NULL)
        return 0;
    if (size > 0)
        memcpy(b, data, size);
    crypto_hash_sha256((unsigned char *)b + size, (const unsigned char *)b, size);
    tab_pfn *w = NULL;
    tab_error err = { 0 };
    tab_status s = tab_pfn_load((tab_str){ b, size + 32 }, &w, &err);
    if ((s == TAB_OK) != (w != NULL) || (s != TAB_OK && err.message[0] == '\0'))
        abort();
    tab_pfn_free(w);
    free(b);
    return 0;
}
