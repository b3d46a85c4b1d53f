/* A file at an address: https://host[:port]/path/orders.csv, any format of common/files, or a SQLite
 * database. http only in networks that the operator allows. */
#include "services/data-connector/protocols/http.h"
#include "services/data-connector/providers/file_table.h"

static const char *const members[] = { HTTP_LOGIN, NULL }, *const options[] = { "sheet", "reading", NULL };

static tab_status read_https(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    http_pair accept = { "Accept", "*/*" }, login[3];
    http_request q = { .method = "GET",
                       .plain = strcmp(s->ref->scheme, "http") == 0,
                       .host = s->ref->host,
                       .port = s->ref->port,
                       .path = http_path(a, s->ref, 0),
                       .query = "",
                       .header = &accept,
                       .n_header = 1,
                       .secrets = login,
                       .redirects = 3 };
    http_answer x;
    if (q.path == NULL)
        return tab_no_memory(err);
    TAB_TRY(http_login(s, a, login, &q.n_secrets, err));
    TAB_TRY(http_call(s, a, &q, &x, err));
    TAB_TRY(http_good(&x, err));
    return file_table(s, a, tab_str_of(s->ref->segment[s->ref->segments - 1]), x.body, ret, err);
}

#define HTTPS(text, number)                                                                 \
    {                                                                                       \
        .scheme = text, .port = number, .least = 1, .most = REF_SEGMENTS, .by_name = false, \
        .credentials = members, .options = options, .read = read_https, .files = true       \
    }
const provider provider_https = HTTPS("https", 443), provider_http = HTTPS("http", 80);
