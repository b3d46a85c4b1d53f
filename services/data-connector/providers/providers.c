/* The source families that there are; a new one is one more row. Called by the methods of connections. */
#include "services/data-connector/source/source.h"

extern const provider provider_postgres, provider_mysql, provider_mariadb, provider_https, provider_http,
    provider_s3, provider_s3_https, provider_s3_http, provider_rest, provider_rest_http, provider_graphql,
    provider_graphql_http, provider_azblob, provider_azblob_https, provider_azblob_http, provider_clickhouse,
    provider_clickhouse_http, provider_mongodb, provider_snowflake, provider_snowflake_https,
    provider_bigquery, provider_bigquery_https, provider_databricks, provider_gdrive, provider_gdrive_https,
    provider_qdrant, provider_qdrant_http, provider_supabase, provider_supabase_https, provider_supabase_http,
    provider_odbc;
static const provider *const providers[] = {
    &provider_postgres,
    &provider_mysql,
    &provider_mariadb,
    &provider_https,
    &provider_http,
    &provider_s3,
    &provider_s3_https,
    &provider_s3_http,
    &provider_rest,
    &provider_rest_http,
    &provider_graphql,
    &provider_graphql_http,
    &provider_azblob,
    &provider_azblob_https,
    &provider_azblob_http,
    &provider_clickhouse,
    &provider_clickhouse_http,
    &provider_mongodb,
    &provider_snowflake,
    &provider_snowflake_https,
    &provider_bigquery,
    &provider_bigquery_https,
    &provider_databricks,
    &provider_gdrive,
    &provider_gdrive_https,
    &provider_qdrant,
    &provider_qdrant_http,
    &provider_supabase,
    &provider_supabase_https,
    &provider_supabase_http,
    &provider_odbc,
};

size_t provider_all(const provider *const **ret)
{
    *ret = providers;
    return sizeof providers / sizeof *providers;
}

const provider *provider_of(const char *scheme)
{
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (strcmp(providers[i]->scheme, scheme) == 0)
            return providers[i];
    return NULL;
}
