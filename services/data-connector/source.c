#include "services/data-connector/source.h"

static const provider *const providers[] = { &provider_postgres };

const provider *provider_of(const char *scheme)
{
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (strcmp(providers[i]->scheme, scheme) == 0)
            return providers[i];
    return NULL;
}

const char *credential(const source *s, const char *name)
{
    for (size_t i = 0; i < s->n_credentials; i++)
        if (strcmp(s->credentials[i]->name, name) == 0)
            return s->credentials[i]->value;
    return "";
}
