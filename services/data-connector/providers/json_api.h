/* APIs that answer in JSON (http.h below): one place, its login, and what the answers' parts are. */
#ifndef DATA_JSON_API_H
#define DATA_JSON_API_H

#include "services/data-connector/protocols/http.h"
#include "services/data-connector/protocols/json_spans.h"
#include "services/data-connector/providers/array_rows.h"

typedef struct {
    const source *s;
    const char *host;
    uint16_t port;
    bool plain;
    http_pair secret[4]; /* headers of every request; they go to this host alone */
    size_t n_secret;
} json_api;

/* One request; body n 0: none. Every answer is OK, whatever its status (http_good says what that means). */
tab_status api_call(const json_api *api, tab_arena *a, const char *method, const char *path,
                    const char *query, tab_str body, http_answer *ret, tab_error *err) TAB_CHECKED;

/* A link that an answer holds, or that a credential names: https, no user. false: none that is followed. The
 * request's host, port, path and query are set. */
bool api_link(tab_arena *a, const char *url, http_request *ret) TAB_CHECKED;

/* Text at a JSON pointer; "" where there is none. VALIDATION on source where the answer is no JSON. */
tab_status api_text(tab_arena *a, tab_str body, const char *pointer, const char **ret,
                    tab_error *err) TAB_CHECKED;

/* The value at a JSON pointer, read. VALIDATION on source: there is none, or it is deeper than `depth`. */
tab_status api_part(tab_arena *a, tab_str body, const char *pointer, size_t depth, const tab_json **ret,
                    tab_error *err) TAB_CHECKED;

/* Adds the columns of a schema: an array of objects that have a `name` and, under `type`, how the source
 * spells its type, which type_of reads. */
tab_status api_columns(array_rows *rows, const tab_json *all, const char *type,
                       int (*type_of)(tab_str spelling), tab_error *err) TAB_CHECKED;

/* Whether a token can be a header's value: printable ASCII without a space. */
bool api_token(const char *s);

/* Sleeps between two questions whether a statement has ended, longer each time (`turn`). CANCELLED a little
 * before the deadline, so that there is time to cancel the statement. */
tab_status api_pause(const source *s, unsigned turn, tab_error *err) TAB_CHECKED;

/* A query as the operand of FROM ( ... ): without the semicolons and the space at its end. There a statement
 * can only read. VALIDATION on options.query: nothing is left. */
tab_status api_subquery(tab_arena *a, const char *query, const char **ret, tab_error *err) TAB_CHECKED;

/* The name between two quotes, each of which is doubled within. NULL: the arena is full. */
const char *api_quoted(tab_arena *a, const char *name, char quote);
/* " ORDER BY" the columns of options.key, or "". NULL: the arena is full. */
const char *api_order(tab_arena *a, const source *s, char quote);

/* What a source says that its own protocol does not have. */
tab_status api_other_format(tab_error *err);

#endif
