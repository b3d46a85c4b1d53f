/* Whatever small tables come: the whole pass, the held-out report and serve calls end in sound answers with
 * finite numbers, or in a refusal of the interface. services/inference/tests/odd.c makes the tables and says
 * what must hold. ODD_PRINT=1 shows the tables of a finding. */
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/tests/odd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (getenv("ODD_PRINT") != NULL)
        odd_print(data, size);
    const char *why = odd_try(data, size);
    if (why == NULL)
        return 0;
    fprintf(stderr, "%s\n", why);
    abort();
}
