/* What every provider of source.h uses. */
#include "services/data-connector/source.h"

const char *credential(const source *s, const char *name)
{
    for (size_t i = 0; i < s->n_credentials; i++)
        if (strcmp(s->credentials[i]->name, name) == 0)
            return s->credentials[i]->value;
    return "";
}
