/* The body of a fitted state, as its reader takes it once a digest was held against it: whatever the bytes
 * say, it is read within bounds or refused, and what was read is freed. The head before it, with its digest,
 * is in the unit tests. */
#include <stdlib.h>

#include "services/inference/states/state_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const uint8_t key[STATE_KEY];
    serve_state *st = NULL;
    tab_error err = { 0 };
    if (state_body_read((tab_str){ (const char *)bytes, n }, &st, &err) == TAB_OK)
        serve_state_free(st);
    st = NULL;
    if (state_read((tab_str){ (const char *)bytes, n }, TAB_S("name"), key, &st, &err) == TAB_OK)
        serve_state_free(st);
    return 0;
}
