/* Calls to other daemons on behalf of a request. */
#include <stdio.h>

#include "common/security/crypto.h"
#include "services/api/api.h"
#include "services/api/service_calls.h"

char *request_surface(const request *r)
{
    return STR((r->who.scopes & TAB_GRANT_SESSION) != 0 ? "ui" : "api");
}

tab_status call_with(request *r, tab_ask *ask, tab_answer *ret, tab_error *err)
{
    ask->org = r->who.org;
    ask->request_id = r->request_id;
    ask->actor = r->who.key;
    ask->address = r->address;
    if (ask->arena == NULL)
        ask->arena = r->arena;
    if (ask->deadline == 0)
        ask->deadline = r->deadline;
    return tab_rpc_call(r->api->rpc, ask, ret, err);
}

tab_status call(request *r, const char *service, const char *method, const void *in,
                const ProtobufCMessageDescriptor *reply, void *ret, tab_error *err)
{
    tab_ask ask = { .service = service, .method = method, .in = in, .reply = reply };
    tab_answer answer;
    tab_status s = call_with(r, &ask, &answer, err);
    if (s == TAB_OK)
        *(const void **)ret = answer.msg;
    return s;
}

/* Only an operator changes the list of models, so one list serves all requests of two seconds, and longer
 * while inference does not answer (which refuses a retired base by itself). One request asks; those that
 * still have the old list do not wait for it. */
static pthread_cond_t models_came = PTHREAD_COND_INITIALIZER;

/* A newer list, if inference sends one. The lock is not held meanwhile. */
static void ask_models(request *r, int64_t ms)
{
    api *a = r->api;
    tab_arena *arena = tab_arena_new(1 << 20);
    Tabella__ModelsRequest q = TABELLA__MODELS_REQUEST__INIT;
    q.with_retired = 1;
    tab_ask ask = { .service = "inference",
                    .method = "Models",
                    .org = "",
                    .request_id = r->request_id,
                    .actor = "",
                    .deadline = tab_in_ms(ms),
                    .in = &q.base,
                    .reply = &tabella__models_reply__descriptor,
                    .arena = arena };
    tab_answer answer;
    tab_error err;
    a->models.asking = true;
    a->models.asked_ms = tab_mono_ms();
    pthread_mutex_unlock(&a->models.lock);
    bool ok = arena != NULL && tab_rpc_call(a->rpc, &ask, &answer, &err) == TAB_OK;
    pthread_mutex_lock(&a->models.lock);
    a->models.asking = false;
    pthread_cond_broadcast(&models_came);
    if (ok) {
        tab_arena *old = a->models.arena;
        a->models.arena = arena;
        a->models.reply = answer.msg;
        arena = old;
    }
    tab_arena_free(arena);
}

/* A base that belongs to another organization is none (decision 0333). */
static void drop_foreign(Tabella__ModelsReply *m, const char *org)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_models; i++)
        if (m->models[i]->org[0] == 0 || strcmp(m->models[i]->org, org) == 0)
            m->models[n++] = m->models[i];
    m->n_models = n;
}

tab_status models(request *r, const Tabella__ModelsReply **ret, tab_error *err)
{
    api *a = r->api;
    tab_status s = TAB_OK;
    pthread_mutex_lock(&a->models.lock);
    if (!a->models.asking && (a->models.asked_ms == 0 || tab_mono_ms() - a->models.asked_ms > 2000))
        ask_models(r, a->models.arena == NULL ? 3000 : 1000);
    while (a->models.arena == NULL && a->models.asking)
        pthread_cond_wait(&models_came, &a->models.lock);
    if (a->models.arena == NULL) {
        s = tab_fail(err, TAB_UNAVAILABLE, "", "a service is not responding; try again");
    } else { /* a copy: the next refresh frees what others still look at */
        tab_str bytes = tab_proto_write(r->arena, &a->models.reply->base);
        *ret = bytes.p == NULL ? NULL : tab_proto_read(r->arena, &tabella__models_reply__descriptor, bytes);
        if (*ret == NULL)
            s = tab_no_memory(err);
        else
            drop_foreign((Tabella__ModelsReply *)(uintptr_t)*ret, r->who.org);
    }
    pthread_mutex_unlock(&a->models.lock);
    return s;
}

tab_status base_check(request *r, char **base, tab_error *err)
{
    const Tabella__ModelsReply *m;
    tab_status s = models(r, &m, err);
    if (s != TAB_OK)
        return s;
    bool any = *base == NULL || **base == 0;
    char known[160] = "";
    for (size_t i = 0; i < m->n_models; i++) {
        size_t n = strlen(known);
        if (strcmp(m->models[i]->status, "available") == 0)
            snprintf(known + n, sizeof known - n, "%s%s", n > 0 ? ", " : "", m->models[i]->id);
        if (any ? !m->models[i]->default_base : strcmp(m->models[i]->id, *base) != 0)
            continue;
        if (strcmp(m->models[i]->status, "available") != 0)
            return tab_fail(err, TAB_CAPABILITY, "base", "base %s is retired; omit `base` for the latest",
                            *base);
        *base = tab_proto_text(r->arena, m->models[i]->id);
        return TAB_OK;
    }
    return any ? tab_fail(err, TAB_UNAVAILABLE, "", "no base is available at the moment; try again")
               : tab_fail(err, TAB_VALIDATION, "base", "no such base; the bases are %s", known);
}

tab_str request_id_hex(request *r, const char *prefix)
{
    char text[128];
    char digest[TAB_SHA256_HEX];
    snprintf(text, sizeof text, "%s %s", prefix, r->seed);
    tab_sha256_hex(tab_str_of(text), digest);
    return tab_str_of(tab_arena_printf(r->arena, "%s%.32s", prefix, digest));
}
