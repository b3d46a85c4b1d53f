/* See retention.h. */
#include "common/rpc/retention.h"

#include <stdio.h>

#include "common/rpc/outbox.h"
#include "proto/events.pb-c.h"
#include "proto/keys.pb-c.h"

enum { PAGE = 1000, ASK_MS = 3000, DETAIL = 256 };

tab_status tab_certificate_put(tab_tx *tx, const char *schema, const tab_call *call, const char *org,
                               const char *actor, const tab_certificate *c, tab_error *err)
{
    char id[TAB_ID], detail[DETAIL];
    Tabella__AuditEvent e = TABELLA__AUDIT_EVENT__INIT;
    tab_id_new(id, "aud_");
    snprintf(detail, sizeof detail, "{\"of\":\"%s\",\"rows\":%lld,\"bytes\":%lld,\"sha256\":\"%s\"}", c->of,
             (long long)c->rows, (long long)c->bytes, c->sha256);
    e.event_id = id;
    e.org_id = (char *)org;
    e.at_us = tab_now_us();
    e.actor = (char *)(actor[0] != '\0' ? actor : call == NULL ? "system" : call->actor);
    e.action = (char *)"deletion.certificate";
    e.subject = (char *)c->object;
    e.detail = detail;
    e.request_id = (char *)(call == NULL ? "" : call->request_id);
    e.address = (char *)(call == NULL ? "" : call->address);
    return tab_outbox_put(tx, schema, id, "tabella.event.audit", org, &e.base, err);
}

static tab_status ask(tab_rpc *rpc, const tab_retention *r, tab_arena *a, const Tabella__ListKeepReply **ret,
                      tab_error *err)
{
    Tabella__ListKeepRequest q = TABELLA__LIST_KEEP_REQUEST__INIT;
    tab_answer answer = { 0 };
    q.what = (char *)r->what;
    q.after = (char *)r->after;
    q.limit = PAGE;
    tab_ask k = { .service = "keys",
                  .method = "ListKeep",
                  .org = TAB_ORG_ALL,
                  .deadline = tab_in_ms(ASK_MS),
                  .in = &q.base,
                  .reply = &tabella__list_keep_reply__descriptor,
                  .arena = a };
    TAB_TRY(tab_rpc_call(rpc, &k, &answer, err));
    *ret = answer.msg;
    return TAB_OK;
}

/* What went of a page, and its certificates. */
static tab_status swept(tab_retention *r, tab_tx *tx, const char *schema, void *arg, const char *orgs,
                        const char *days, int64_t most, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    if (r->batch != NULL)
        return r->batch(tx, arg, orgs, days, most, ret_n, err);
    TAB_TRY(tab_tx_query(tx, &rows, err, r->sql, TAB_P(tab_p_text(orgs), tab_p_text(days), tab_p_int(most))));
    for (size_t i = 0; i < tab_rows_count(rows); i++) {
        const char *org = tab_rows_text(rows, i, 0);
        tab_certificate c = { .of = r->what,
                              .object = org,
                              .rows = tab_rows_int(rows, i, 2),
                              .bytes = tab_rows_int(rows, i, 3),
                              .sha256 = tab_rows_text(rows, i, 4) };
        TAB_TRY(tab_certificate_put(tx, schema, NULL, org, "", &c, err));
        *ret_n += (size_t)tab_rows_int(rows, i, 1);
    }
    return TAB_OK;
}

tab_status tab_retention_batch(tab_retention *r, tab_rpc *rpc, tab_tx *tx, const char *schema, void *arg,
                               int64_t most, size_t *ret_n, tab_error *err)
{
    *ret_n = 0;
    bool from_first = r->after[0] == '\0';
    for (bool more = true; more && *ret_n == 0;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(8 << 20);
        const Tabella__ListKeepReply *y = NULL;
        if (a == NULL)
            return tab_no_memory(err);
        TAB_TRY(ask(rpc, r, a, &y, err));
        size_t n = y->n_org < y->n_days ? y->n_org : y->n_days;
        char **day = tab_arena_new_of(a, char *, n + 1);
        for (size_t i = 0; day != NULL && i < n; i++)
            day[i] = tab_arena_printf(a, "%u", y->days[i]);
        if (tab_arena_full(a))
            return tab_no_memory(err);
        bool last = n < PAGE;
        more = !last || !from_first; /* once around */
        from_first = from_first || last;
        snprintf(r->after, sizeof r->after, "%s", last ? "" : y->org[n - 1]);
        if (n == 0)
            continue;
        const char *orgs = tab_pg_array(a, y->org, n), *days = tab_pg_array(a, day, n);
        if (orgs == NULL || days == NULL)
            return tab_no_memory(err);
        TAB_TRY(swept(r, tx, schema, arg, orgs, days, most, ret_n, err));
    }
    return TAB_OK;
}
