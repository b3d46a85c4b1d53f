/* What an organization may use: as keys says it at each question, so that another plan or cap holds from the
 * next one on. While keys is away, as it said last. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "common/base/hash.h"
#include "common/base/proto.h"
#include "services/metering/metering.h"

metering_terms metering_terms_of(const Tabella__Org *o)
{
    return (metering_terms){ .lifetime = o->lifetime,
                             .add_usage = o->add_usage_enabled,
                             .cap_set = o->spend_cap_set,
                             .cap_usd = o->spend_cap_usd,
                             .allowance = o->allowance_cells,
                             .cells_per_minute = o->limits == NULL ? 0 : o->limits->cells_per_minute };
}

int64_t metering_limit(const metering_terms *t, double usd_per_million)
{
    int64_t most = INT64_MAX / 4000; /* far beyond any plan, and sums of it do not overflow */
    int64_t allowance = (t->allowance < (uint64_t)most ? (int64_t)t->allowance : most) * 1000;
    if (t->allowance > 0 && !t->add_usage)
        return allowance;
    if (!t->cap_set || usd_per_million <= 0)
        return INT64_MAX;
    /* The cap in whole thousandths; what a double loses of "0.001 USD" is far below one. */
    double cap = floor(t->cap_usd / usd_per_million * 1e9 + 1e-3);
    return allowance + (cap < (double)most * 1000 ? (int64_t)cap : most * 1000);
}

double metering_usd(const metering_terms *t, double usd_per_million, int64_t used_milli, int64_t cost_milli)
{
    double allowance = (double)t->allowance * 1000, before = (double)used_milli - allowance;
    double after = before + (double)cost_milli;
    if (t->allowance > 0 && !t->add_usage)
        return 0;
    assert(cost_milli >= 0); /* so that no call is paid out */
    return ((after > 0 ? after : 0) - (before > 0 ? before : 0)) / 1e9 * usd_per_million;
}

void metering_refusal(const metering_terms *t, int64_t used_milli, int64_t cost_milli, int64_t resets_us,
                      char *why, size_t size, uint32_t *ret_retry_s)
{
    char resets[16];
    double allowance = (double)t->allowance, used = (double)used_milli / 1000,
           cost = (double)cost_milli / 1000;
    double left = allowance > used ? allowance - used : 0;
    metering_resets_in(resets_us, resets, sizeof resets);
    *ret_retry_s = t->lifetime || resets_us <= 0 ? 86400 : (uint32_t)(resets_us / 1000000 + 1);
    if (t->allowance == 0 || t->add_usage)
        snprintf(why, size, "the spend cap of %g USD is reached; it resets in %s", t->cap_usd, resets);
    else if (t->lifetime)
        snprintf(why, size, "the lifetime allowance of %.0f cells has %.0f left and this call needs %.0f",
                 allowance, floor(left), ceil(cost));
    else
        snprintf(why, size,
                 "the weekly allowance of %.0f cells has %.0f left and this call needs %.0f; it resets in %s",
                 allowance, floor(left), ceil(cost), resets);
}

/* Kept for when keys is away; written where it differs from what this process stored within the minute. */
static tab_status store(metering *m, tab_call *call, const Tabella__Org *o, tab_error *err)
{
    tab_str bytes = tab_proto_write(call->arena, &o->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    uint64_t hash = tab_fnv1a(tab_fnv1a(TAB_FNV1A, o->org, strlen(o->org)), bytes.p, bytes.n);
    int64_t minute = tab_mono_ms() / 60000;
    hash = tab_fnv1a(hash, &minute, sizeof minute);
    uint64_t *stored = &m->stored[tab_text_slot(o->org, METERING_SLOTS)];
    pthread_mutex_lock(&m->lock);
    bool same = *stored == hash;
    pthread_mutex_unlock(&m->lock);
    if (same)
        return TAB_OK;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(metering_account_put(tx, o, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    pthread_mutex_lock(&m->lock);
    *stored = hash;
    pthread_mutex_unlock(&m->lock);
    return TAB_OK;
}

tab_status metering_org(metering *m, tab_call *call, Tabella__Org **ret, tab_error *err)
{
    Tabella__GetOrgRequest q = TABELLA__GET_ORG_REQUEST__INIT;
    q.org = (char *)call->org;
    tab_answer answer = { 0 };
    tab_error away = { 0 };
    tab_ask ask = { .service = "keys",
                    .method = "GetOrg",
                    .org = call->org,
                    .deadline = tab_within_ms(call->deadline, 500),
                    .in = &q.base,
                    .reply = &tabella__org__descriptor,
                    .arena = call->arena };
    int64_t until = atomic_load(&m->keys_away);
    if (until == 0 || tab_mono_ms() >= until) {
        if (tab_rpc_call(m->rpc, &ask, &answer, &away) == TAB_OK) {
            atomic_store(&m->keys_away, 0);
            *ret = (Tabella__Org *)(uintptr_t)answer.msg;
            return store(m, call, *ret, err);
        }
        if (away.status == TAB_UNAVAILABLE || away.status == TAB_CANCELLED)
            atomic_store(&m->keys_away, tab_mono_ms() + METERING_KEYS_AWAY_MS);
    }
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(metering_account_get(tx, call->arena, call->org, ret, err));
    return tab_tx_commit(&tx, err);
}
