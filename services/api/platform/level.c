/* /platform/v1/service-level: what became of serve calls, by month, day and endpoint (decisions 0685, 0767).
 * keys has the gateways' counts. */
#include "common/base/integer.h"
#include "common/security/ids.h"
#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/service_calls.h"

enum { MONTHS = 3, MONTHS_MOST = 24, NAME_MOST = 128 };

static void real_or_null(tab_out *o, const char *key, bool there, double value)
{
    tab_out_key(o, key);
    if (there)
        tab_out_double(o, value);
    else
        tab_out_null(o);
}

static void spans_member(tab_out *o, const char *list, const char *key, size_t n,
                         Tabella__ServedSpan *const *of)
{
    open_member(o, list, '[');
    for (size_t i = 0; i < n; i++) {
        const Tabella__ServedSpan *s = of[i];
        uint64_t ours = s->answered + s->failed;
        tab_out_open(o, '{');
        text_member(o, key, s->span);
        uint_member(o, "calls", ours + s->refused + s->abandoned);
        uint_member(o, "answered", s->answered);
        uint_member(o, "failed", s->failed);
        uint_member(o, "refused", s->refused);
        uint_member(o, "abandoned", s->abandoned);
        real_or_null(o, "availability", ours > 0, (double)s->answered / (double)(ours > 0 ? ours : 1));
        real_or_null(o, "p50_ms", s->answered > 0, s->p50_ms);
        real_or_null(o, "p95_ms", s->answered > 0, s->p95_ms);
        real_or_null(o, "p99_ms", s->answered > 0, s->p99_ms);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

/* By id or name; a deleted one by its id, for its counts stay. */
static tab_status which_endpoint(request *r, tab_str text, char **ret, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    const Tabella__Endpoint *e = NULL;
    *ret = q.id_or_name = STR(tab_arena_copy(r->arena, text).p);
    if (*ret == NULL)
        return tab_no_memory(err);
    tab_status s = text.n == 0 || text.n > NAME_MOST
                       ? TAB_NOT_FOUND
                       : call(r, "jobs", "GetEndpoint", &q.base, &tabella__endpoint__descriptor, &e, err);
    if (s == TAB_NOT_FOUND)
        return tab_id_valid(text, "")
                   ? TAB_OK
                   : tab_fail(err, TAB_VALIDATION, "endpoint", "there is no endpoint `%.*s`",
                              (int)(text.n < NAME_MOST ? text.n : NAME_MOST), text.p);
    if (s == TAB_OK)
        *ret = e->id;
    return s;
}

tab_status get_service_level(request *r, tab_error *err)
{
    Tabella__ServiceLevelRequest q = TABELLA__SERVICE_LEVEL_REQUEST__INIT;
    const Tabella__ServiceLevelReply *y = NULL;
    int64_t months = MONTHS;
    tab_str text;
    TAB_TRY(query_param(r, "months", &text, err));
    if (text.p != NULL && !tab_integer_read(text, 1, MONTHS_MOST, &months))
        return tab_fail(err, TAB_VALIDATION, "months", "`months` must be a whole number from 1 to %d.",
                        MONTHS_MOST);
    q.months = (uint32_t)months;
    TAB_TRY(query_param(r, "endpoint", &text, err));
    if (text.p != NULL)
        TAB_TRY(which_endpoint(r, text, &q.endpoint, err));
    TAB_TRY(call(r, "keys", "ServiceLevel", &q.base, &tabella__service_level_reply__descriptor, &y, err));
    if (strcmp(y->endpoint, q.endpoint) != 0)
        return tab_fail(
            err, TAB_UNAVAILABLE, "",
            "service levels of endpoints are not available yet because an upgrade is in progress; "
            "try again later");
    tab_out_open(&r->out, '{');
    spans_member(&r->out, "months", "month", y->n_months, y->months);
    spans_member(&r->out, "days", "day", y->n_days, y->days);
    if (text.p == NULL)
        spans_member(&r->out, "endpoints", "endpoint_id", y->n_endpoints, y->endpoints);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}
