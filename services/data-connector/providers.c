/* The source families that there are; a new one is one more row. Called by the methods of connections. */
#include "services/data-connector/source.h"

extern const provider provider_postgres, provider_mysql, provider_mariadb, provider_https, provider_http,
    provider_s3, provider_s3_https, provider_s3_http;
static const provider *const providers[] = {
    &provider_postgres, &provider_mysql, &provider_mariadb,  &provider_https,
    &provider_http,     &provider_s3,    &provider_s3_https, &provider_s3_http,
};

const provider *provider_of(const char *scheme)
{
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (strcmp(providers[i]->scheme, scheme) == 0)
            return providers[i];
    return NULL;
}
