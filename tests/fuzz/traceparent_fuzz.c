/* Whatever a caller sends as traceparent: it is read within its bytes, and what is taken consists of hex
 * digits and dashes alone, for it goes into log lines and to the api as it is. */
#include <stdlib.h>
#include <string.h>

#include "gateway/module/tab_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *own = malloc(size > 0 ? size : 1); /* with no byte behind it */
    if (own == NULL)
        return 0;
    if (size > 0)
        memcpy(own, data, size);
    if (tab_traceparent_valid(own, size)) {
        char text[TAB_TRACEPARENT + 1] = { 0 };
        memcpy(text, own, TAB_TRACEPARENT);
        if (strspn(text, "0123456789abcdef-") != TAB_TRACEPARENT || strncmp(text, "ff", 2) == 0 ||
            (strncmp(text, "00", 2) == 0 && size != TAB_TRACEPARENT))
            abort();
        (void)tab_traceparent_sampled(own);
    }
    free(own);
    return 0;
}
