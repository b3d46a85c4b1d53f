/* A file of the journal of bills, as a process that died may have left it. */
#include "services/api/serve/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void sum(void *arg, const char *id, tab_str bytes)
{
    size_t *all = arg;
    *all += strlen(id);
    for (size_t i = 0; i < bytes.n; i++)
        *all += (unsigned char)bytes.p[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t all = 0, whole;
    journal_read((tab_str){ (const char *)data, size }, sum, &all, &whole);
    return whole > size ? __builtin_trap(), 1 : 0;
}
