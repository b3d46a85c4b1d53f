/* Fitted states: what an endpoint's answers are computed from, and how it comes to this process.
 *
 *   memory (states.c) ──miss──> disk (state_disk.c) ──miss──> PostgreSQL (state_store.c) ──miss──> fit
 *          <── read, checked ──        <── kept ──                  <── written once ──
 *
 * A state holds the profiles of the pinned tables, the fitted learners with what calibrates them, the indexes
 * of linked rows and the models that fill gaps: all that a call needs beside its own rows. It is a function
 * of the pinned snapshots, the base model, the configuration and the engine's build, and of nothing else. Its
 * key names these (organization, endpoint, revisions), so a state never has to be invalidated: what changes
 * an endpoint gives it another key, and the old state is evicted for want of use.
 *
 * A creation, a refresh, an upgrade or an edit runs a pass over the same data anyway, to evaluate it; the
 * state is made of that pass's parts and written before the first call comes. A miss fits from the snapshots:
 * after a release whose engine differs, or where all copies were lost.
 *
 * What holds:
 *
 *   - What is served is always what its bytes say: a state that was just fitted is written, read back, and
 *     the one that was read is served (decision 0407). So an endpoint answers with the same bytes from
 *     memory, disk, database or another process, today and after a restart.
 *   - Bytes that are not what was written are refused before anything of them is used: a keyed digest over
 *     header, name and body (state_pack.h). A file that was moved to another endpoint's name is refused too.
 *     The state is then fitted again; no answer comes of damaged bytes.
 *   - A burst of calls for a state that is not there fits it once. Callers may leave; the fit goes on for
 *     whoever comes then. What is borrowed is never freed under its borrower.
 *   - Memory and disk are bounded, by bytes; the least recently used goes first.
 *   - Each key has two homes among the live workers (homes.c, rendezvous hashing): the first has it in
 *     memory, the second on its disk, so that a lost worker costs a read and no fit.
 *   - Deleted endpoints leave memory, disks and database soon after the deletion (deleted_endpoints.c). */
#include "services/inference/states/serve_state.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/inference/engine/horizon/horizon.h"
#include "services/inference/engine/keys/keys.h"
#include "services/inference/engine/pool.h"
#include "services/inference/engine/profile/given.h"
#include "services/inference/serve/request.h"
#include "services/inference/states/state_store.h"

/* At one of the key's homes. */
static tab_status at_home(inference *self, tab_call *call, const char *method, const char *home,
                          const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                          const Tabella__ServeRequest *slot, const void *ret, tab_error *err)
{
    tab_ask ask = { .service = "inference",
                    .method = method,
                    .worker = home,
                    .in = in,
                    .tables = call->tables,
                    .n_tables = call->n_tables,
                    .inner = true,
                    .repeats = slot != NULL, /* a serve call changes nothing */
                    .reply = reply,
                    .arena = call->arena };
    if (slot != NULL) {
        ask.slot = slot->state->endpoint_id;
        ask.slots = slot->at_once;
        ask.slot_calls = (uint32_t)slot->n_calls;
    }
    tab_answer answer = { 0 };
    tab_error away = { 0 };
    tab_ask_inherit(&ask, call);
    ask.actor = "inference"; /* the owner answers by itself, whoever it takes for the owner */
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, &away);
    if (s == TAB_OK)
        *(const void **)(uintptr_t)ret = answer.msg;
    else if (s != TAB_UNAVAILABLE || tab_rpc_lost(s, &away))
        tab_fail(err, s, away.param, "%s", away.message);
    return s;
}

tab_status serve_at_owner(inference *self, tab_call *call, const char *method, const char *key,
                          const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                          const Tabella__ServeRequest *slot, const void *ret, tab_error *err)
{
    char home[2][40];
    tab_status s = TAB_UNAVAILABLE;
    if (strcmp(call->actor, "inference") == 0)
        return s;
    homes_of(self, key, home);
    for (int i = 0; i < 2 && s == TAB_UNAVAILABLE && !tab_rpc_lost(s, err); i++) {
        if (home[i][0] == 0 || strcmp(home[i], tab_rpc_worker(self->rpc)) == 0)
            return TAB_UNAVAILABLE; /* here */
        s = at_home(self, call, method, home[i], in, reply, slot, ret, err);
    }
    return s;
}

bool serve_as_kept(inference *self, tab_call *call, const char *key, const Tabella__ServeRequest *q,
                   const Tabella__ServeReply **ret)
{
    char release[STATE_RELEASE], home[40];
    tab_error err = { 0 };
    if (q->as_kept || self->store == NULL || !homes_other_release(self))
        return false;
    tab_loan *here = tab_states_borrow(self->states, tab_str_of(key));
    tab_states_give(self->states, here);
    if (here != NULL || state_store_has(self->store, key, release) || release[0] == 0)
        return false;
    home_of_release(self, key, release, home);
    if (home[0] == 0)
        return false;
    Tabella__ServeRequest theirs = *q;
    theirs.as_kept = true;
    tab_status s =
        at_home(self, call, "Serve", home, &theirs.base, &tabella__serve_reply__descriptor, q, ret, &err);
    if (s == TAB_OK)
        atomic_fetch_add(&self->store->as_kept, 1);
    return s == TAB_OK;
}

static tab_status fit(const tab_engine *e, serve_state *st, const tab_run_options *options, tab_error *err)
{
    tab_references refs = { 0 };
    tab_status s = TAB_OK;
    for (size_t t = 0; s == TAB_OK && t < st->n; t++)
        s = tab_profile_given(e, st->table[t], &options->given, &st->profile[t], err);
    tab_profile *const *asked = st->profile;
    tab_horizon ahead;
    if (s == TAB_OK && st->n > 1)
        s = tab_references_find(e, st->profile, st->n, &refs, err);
    if (s == TAB_OK && !tab_sectors_pool(e->arena, st->profile, st->n, &refs))
        s = tab_no_memory(err);
    if (s == TAB_OK)
        s = tab_select_target(e, st->profile, st->n, &refs, options, &st->sel, err);
    if (s == TAB_OK && options->horizon > 0)
        s = tab_look_ahead(e, st->profile, st->n, &st->sel, options, &ahead, &asked, err);
    if (s == TAB_OK && !st->sel.none)
        s = tab_fit_linked(e, asked, st->n, &refs, &st->sel, options, true, &st->linked, &st->fitted, err);
    if (s == TAB_OK && st->n > 1)
        s = tab_key_columns_named(e, st->profile, st->n, &st->key, err);
    return s == TAB_OK ? serve_state_ready(st, err) : s;
}

/* The fit of an endpoint, with a copy of what the call that caused it said. */
typedef struct {
    inference *self;
    tab_call call;
    const Tabella__ServeState *key;
    pass p;
    tab_run_options options;
    serve_state *st;
    bool ahead;
    tab_status s;
    tab_error *err;
} make;

enum { FIT_MS = 2 * 3600000 }; /* as long as the pass of a creation */

static void *make_new(void *arg)
{
    const serve_first *f = arg;
    tab_arena *a = tab_arena_new(16 << 20);
    make *k = a == NULL ? NULL : tab_arena_new_of(a, make, 1);
    tab_str bytes = k == NULL ? (tab_str){ NULL, 0 } : tab_proto_write(a, &f->key->base);
    if (bytes.p != NULL) {
        k->self = f->self;
        k->ahead = f->ahead;
        k->key = tab_proto_read(a, &tabella__serve_state__descriptor, bytes);
        k->call = (tab_call){ .method = f->call->method,
                              .org = tab_proto_text(a, f->call->org),
                              .request_id = tab_proto_text(a, f->call->request_id),
                              .actor = tab_proto_text(a, f->call->actor),
                              .deadline = tab_in_ms(FIT_MS),
                              .cancel = &f->self->ends,
                              .arena = a,
                              .rpc = f->call->rpc };
    }
    if (bytes.p != NULL && k->key != NULL && !tab_arena_full(a))
        return k;
    tab_arena_free(a);
    return NULL;
}

static void make_free(void *own)
{
    make *k = own;
    tab_arena_free(k->call.arena); /* k lies in it */
}

static void compute_state(void *arg)
{
    make *k = arg;
    k->s =
        serve_state_load(k->self, &k->call, k->key->sources, k->key->n_sources, &k->options, &k->st, k->err);
    if (k->s != TAB_OK)
        return;
    tab_engine e = pass_engine(&k->p, k->st->arena, 0);
    k->s = fit(&e, k->st, &k->options, k->err);
}

/* What the state's bytes say, in place of what was fitted: the same for any process. */
static serve_state *settled(inference *self, const char *key, serve_state *st)
{
    serve_state *kept = NULL;
    tab_error err = { 0 };
    if (self->store == NULL)
        return st;
    tab_status s = state_store_write(self->store, key, st, &kept, &err);
    if (s == TAB_OK) {
        homes_tell(self, key);
        return kept;
    }
    tab_log_fields(TAB_WARN, "a state is not kept", "state", key, "why", err.message, NULL);
    return st;
}

/* By a pass over the snapshots. */
static tab_status fit_state(make *k, const char *key, tab_error *err)
{
    /* one that is ahead of its calls has a place among jobs, and is named as they are */
    TAB_TRY(pass_begin(&k->p, k->self, &k->call, k->ahead ? k->key->endpoint_id : NULL, true, err));
    pass_compute(&k->p, compute_state, k);
    pass_end(&k->p);
    if (k->s != TAB_OK) {
        serve_state_free(k->st);
        return pass_status(&k->p, k->s, err);
    }
    serve_state *st = settled(k->self, key, k->st);
    if (st != k->st)
        serve_state_free(k->st);
    k->st = st;
    return TAB_OK;
}

static tab_status make_state(void *own, void **ret, size_t *ret_bytes, tab_error *err)
{
    make *k = own;
    const Tabella__RunOptions *o = k->key->options;
    const char *base = NULL;
    char key[SERVE_KEY];
    tab_error away = { 0 };
    k->err = err;
    tab_log_context(k->call.request_id, k->call.org);
    TAB_TRY(base_resolve(k->self, k->call.org, o == NULL ? NULL : o->base_model, &base, err));
    serve_key(key, k->call.org, k->key, base);
    if (k->self->store != NULL && state_store_read(k->self->store, key, &k->st, &away) != TAB_OK)
        tab_log_fields(TAB_WARN, "a kept state is not to be had", "state", key, "why", away.message, NULL);
    if (k->st == NULL) {
        TAB_TRY(options_of(k->call.arena, o, base, &k->options, err));
        TAB_TRY(fit_state(k, key, err));
    }
    *ret = k->st;
    *ret_bytes = serve_state_bytes(k->st);
    return TAB_OK;
}

const tab_states_maker serve_state_maker = { make_new, make_state, make_free };

bool serve_keep(inference *self, tab_call *call, const char *key, serve_state *st)
{
    tab_loan *loan = NULL;
    serve_state *kept = settled(self, key, st);
    if (kept != st && !tab_arena_defer(call->arena, serve_state_free, st)) { /* the answer points into it */
        serve_state_free(kept);
        serve_state_free(st);
        return false;
    }
    if (!tab_states_put(self->states, tab_str_of(key), kept, serve_state_bytes(kept), &loan)) {
        serve_state_free(kept);
        return false;
    }
    if (loan_until_packed(self, call, loan))
        return true;
    tab_states_give(self->states, loan);
    return false;
}

void serve_keep_grown(inference *self)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    size_t n = 0;
    const char **key = a == NULL || self->store == NULL ? NULL : tab_states_keys(self->states, a, &n);
    for (size_t i = 0; key != NULL && i < n && !atomic_load(&self->ends); i++) {
        tab_error err = { 0 };
        tab_loan *loan = tab_states_borrow(self->states, tab_str_of(key[i]));
        serve_state *st = loan == NULL ? NULL : tab_loan_state(loan);
        if (st != NULL && atomic_exchange(&st->grown, false)) {
            pthread_mutex_lock(&st->lock);
            tab_status s = state_store_keep(self->store, key[i], st, &err);
            pthread_mutex_unlock(&st->lock);
            if (s != TAB_OK)
                tab_log_fields(TAB_WARN, "a state is not kept", "state", key[i], "why", err.message, NULL);
        }
        tab_states_give(self->states, loan);
    }
}
