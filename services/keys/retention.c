/* How long what an organization owns is kept (decision 0665). keys alone knows; whoever keeps something asks
 * for the organizations that keep it for a time, and sweeps. */
#include <string.h>

#include "common/base/proto.h"
#include "services/keys/keys.h"

enum { DAYS_MOST = 36500, PAGE_MOST = 1000 };

#define KEEP(name)                                                        \
    {                                                                     \
        name, "UPDATE keys.org SET keep_" name " = $2 WHERE org = $1",    \
            "SELECT o.org, coalesce(o.keep_" name ", p.keep_" name ") "   \
            "FROM keys.org o JOIN keys.plan p ON p.name = o.plan "        \
            "WHERE o.org > $1 AND coalesce(o.keep_" name ", p.keep_" name \
            ") IS NOT NULL ORDER BY o.org LIMIT $2"                       \
    }
static const struct {
    const char *name, *set, *list;
} keeps[] = { KEEP("runs"), KEEP("logs"), KEEP("snapshots"), KEEP("outcomes") };
enum { KEEPS = sizeof keeps / sizeof *keeps };

static tab_status keep_named(const char *what, size_t *ret, tab_error *err)
{
    for (*ret = 0; *ret < KEEPS; ++*ret)
        if (strcmp(what, keeps[*ret].name) == 0)
            return TAB_OK;
    return tab_fail(err, TAB_VALIDATION, "retention",
                    "`retention` can have runs, logs, snapshots and outcomes");
}

tab_status keys_keeps_read(const tab_rows *r, size_t row, size_t col, tab_arena *a, Tabella__Org *ret,
                           tab_error *err)
{
    Tabella__Keep *k = tab_arena_new_of(a, Tabella__Keep, (size_t)2 * KEEPS);
    ret->keep = tab_arena_new_of(a, Tabella__Keep *, KEEPS);
    ret->plan_keep = tab_arena_new_of(a, Tabella__Keep *, KEEPS);
    if (k == NULL || ret->keep == NULL || ret->plan_keep == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < (size_t)2 * KEEPS; i++) {
        if (tab_rows_null(r, row, col + i))
            continue;
        tabella__keep__init(&k[i]);
        k[i].what = tab_proto_text(a, keeps[i % KEEPS].name);
        k[i].days = (uint32_t)tab_rows_int(r, row, col + i);
        if (i < KEEPS)
            ret->keep[ret->n_keep++] = &k[i];
        else
            ret->plan_keep[ret->n_plan_keep++] = &k[i];
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status keys_keep_set(tab_tx *tx, const char *org, const Tabella__Keep *k, tab_error *err)
{
    size_t i;
    TAB_TRY(keep_named(k->what, &i, err));
    if (k->days > DAYS_MOST)
        return tab_fail(err, TAB_VALIDATION, "retention",
                        "days of `retention` must be from 1 to %d, or null for the plan's", DAYS_MOST);
    return tab_tx_query(tx, NULL, err, keeps[i].set,
                        TAB_P(tab_p_text(org), k->days == 0 ? tab_p_null() : tab_p_int(k->days)));
}

tab_status keys_list_keep(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListKeepRequest *q = call->in;
    Tabella__ListKeepReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    size_t what;
    TAB_TRY(keep_named(q->what, &what, err));
    if (q->limit < 1 || q->limit > PAGE_MOST)
        return tab_fail(err, TAB_VALIDATION, "limit", "`limit` must be from 1 to 1000.");
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_finish(&tx, &r, err, keeps[what].list, TAB_P(tab_p_text(q->after), tab_p_int(q->limit))));
    size_t n = tab_rows_count(r);
    out->org = tab_arena_new_of(call->arena, char *, n + 1);
    out->days = tab_arena_new_of(call->arena, uint32_t, n + 1);
    if (out->org == NULL || out->days == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        out->org[i] = tab_proto_text(call->arena, tab_rows_text(r, i, 0));
        out->days[i] = (uint32_t)tab_rows_int(r, i, 1);
    }
    out->n_org = out->n_days = n;
    return tab_arena_full(call->arena) ? tab_no_memory(err) : TAB_OK;
}
