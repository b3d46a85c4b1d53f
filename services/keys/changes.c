/* What changes of keys share: a key as it stands in the reply, the gateway's entries written anew; and
 * SetKey. */
#include "common/base/proto.h"
#include "services/keys/bounds.h"
#include "services/keys/keys.h"

enum { NAME_MOST = 128 };

tab_status keys_name_good(const char *name, tab_error *err)
{
    size_t n = tab_utf8_count(tab_str_of(name));
    if (n == 0 || n > NAME_MOST)
        return tab_fail(err, TAB_VALIDATION, "name", "A name must have 1 to %d characters.", NAME_MOST);
    return TAB_OK;
}

tab_status keys_show(tab_tx *tx, tab_call *call, const char *id, const char *secret, tab_error *err)
{
    Tabella__ApiKey **found;
    size_t n;
    tab_status s = keys_store_list(tx, call->arena, call->org, id, "", &found, &n, err);
    if (s != TAB_OK)
        return s;
    if (n != 1)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such key.");
    Tabella__ApiKey *out = call->out;
    *out = *found[0];
    if (secret != NULL)
        out->secret = tab_proto_text(call->arena, secret);
    return TAB_OK;
}

tab_status keys_refill(keys *self, tab_call *call, const char *org, const char *key, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    uint8_t(*hash)[TAB_SECRET_HASH];
    size_t n = 0;
    TAB_TRY(tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(keys_store_hashes(tx, call->arena, org, key, &hash, &n, err));
    for (size_t i = 0; i < n; i++) {
        keys_granted found;
        bool known;
        TAB_TRY(keys_store_grant(tx, hash[i], &known, &found, err));
        if (known)
            TAB_TRY(keys_cache_fill(&self->cache, hash[i], &found, err));
    }
    return tab_tx_commit(&tx, err);
}

static const char *change_of(tab_arena *a, const Tabella__SetKeyRequest *q, const char *networks,
                             const char *endpoints)
{
    char until[TAB_TIME_TEXT] = "never";
    if (q->expires_at != 0)
        tab_time_text_s(q->expires_at, until);
    return tab_arena_printf(a, "%s%s%s%s%s%s%s", q->name[0] != 0 ? "name " : "",
                            q->set_expires ? "expires " : "", q->set_expires ? until : "",
                            q->set_networks ? " networks " : "",
                            !q->set_networks   ? ""
                            : networks[0] == 0 ? "any"
                                               : networks,
                            q->set_endpoints ? " endpoints " : "",
                            !q->set_endpoints   ? ""
                            : endpoints[0] == 0 ? "any"
                                                : endpoints);
}

tab_status keys_set_key(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__SetKeyRequest *q = call->in;
    const char *networks = NULL, *endpoints = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    if (q->name[0] != 0)
        TAB_TRY(keys_name_good(q->name, err));
    if (q->set_expires)
        TAB_TRY(keys_expiry_good(q->expires_at, err));
    TAB_TRY(keys_networks_read(call->arena, q->networks, q->n_networks, &networks, err));
    TAB_TRY(keys_endpoints_read(call->arena, q->endpoints, q->n_endpoints, &endpoints, err));
    if (q->set_networks && strcmp(q->id, call->actor) == 0 && !keys_networks_hold(networks, call->address))
        return tab_fail(
            err, TAB_VALIDATION, "networks",
            "These networks do not include %s, from which this call comes; its own key would be locked out.",
            call->address);
    const char *change = change_of(call->arena, q, networks, endpoints);
    if (change == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(keys_store_own(tx, call->org, q->id, q->own_of, err));
    TAB_TRY(keys_store_set(tx, call->org, q, networks, endpoints, err));
    TAB_TRY(keys_audit(tx, call, call->org, q->actor, "key.update", q->id, change, err));
    TAB_TRY(keys_show(tx, call, q->id, NULL, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return keys_refill(self, call, call->org, q->id, err);
}
