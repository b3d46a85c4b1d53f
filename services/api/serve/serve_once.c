/* See serve_once.h. What Redis holds, as tab_once of common/redis/limits.lua writes it:
 *
 *   o UNTIL BEGAN TOKEN DIGEST    at work, by whom, until when
 *   d BEGAN DIGEST BYTES          the answer, sealed */
#include "services/api/serve/serve_once.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/redis/limits.h"
#include "services/api/idempotency.h"

/* LEASE_MS: longer than a serve call may take. KEPT_S: the answer. BILLED_S: so long the call is billed once,
 * as keys hold elsewhere. MOST: of one answer; a larger one is computed again. */
enum { LEASE_MS = 10000, KEPT_S = 600, BILLED_S = 7 * 86400 };
enum { PAUSE_MS = 40, LEFT_MS = 500, WAIT_MOST = 8, MOST = 1 << 20 };
enum { DIGEST = 2 * TAB_SHA256 };

static atomic_int waiting; /* threads that wait for a first call */

static void name(const request *r, serve_once *o)
{
    char hex[TAB_SHA256_HEX];
    tab_out all = { 0 };
    tab_out_bytes(&all, r->path.p, r->path.n);
    tab_out_bytes(&all, " ", 1);
    tab_out_bytes(&all, r->idempotency_key, strlen(r->idempotency_key));
    tab_sha256_hex(tab_out_text(&all), hex);
    snprintf(o->key, sizeof o->key, "tab:i:%.40s:%.32s", r->who.org, hex);
    tab_out_free(&all);
}

static void name_event(serve_once *o, const char *digest)
{
    static const int64_t week[SERVE_ONCE_IDS] = { 0, -1, 1 };
    char text[320], hex[TAB_SHA256_HEX];
    assert(o->key[0] != 0 && strlen(o->key) + DIGEST + 2 < sizeof text); /* else two calls have one name */
    snprintf(text, sizeof text, "%s %s", o->key, digest);
    tab_sha256_hex(tab_str_of(text), hex);
    for (size_t i = 0; i < SERVE_ONCE_IDS; i++)
        snprintf(o->event[i], sizeof o->event[i], SERVE_ONCE "%.32s_%" PRId64, hex,
                 o->began / BILLED_S + week[i]);
    for (size_t i = 1; i < SERVE_ONCE_IDS; i++)
        o->also[i - 1] = o->event[i];
}

static tab_str context(request *r, const serve_once *o)
{
    return tab_str_of(tab_arena_printf(r->arena, "api.serve_once/%s", o->key));
}

/* The answer that Redis holds, into r->out. */
static tab_status replay(request *r, const serve_once *o, tab_str held, const char *digest, tab_error *err)
{
    int head = 0;
    char has[DIGEST + 1];
    int64_t began;
    tab_str answer;
    char text[160];
    snprintf(text, sizeof text, "%.*s", (int)(held.n < sizeof text ? held.n : sizeof text - 1), held.p);
    if (sscanf(text, "d %" SCNd64 " %64s%n", &began, has, &head) != 2 || (size_t)head >= held.n)
        return tab_fail(err, TAB_INTERNAL, "", "a kept answer is damaged");
    if (strcmp(has, digest) != 0)
        return tab_fail(err, TAB_CONFLICT, "Idempotency-Key",
                        "this key was already used with a different body");
    tab_str sealed = { held.p + head + 1, held.n - (size_t)head - 1 };
    TAB_TRY(tab_run_open(&r->api->run_keys, r->arena, sealed, context(r, o), &answer, err));
    tab_out_free(&r->out);
    tab_out_bytes(&r->out, answer.p, answer.n);
    return TAB_OK;
}

typedef enum { MINE, BUSY, OTHER, ANSWERED, AWAY } said;

static said claim(request *r, serve_once *o, const char *digest, redisReply **ret)
{
    char lease[16], kept[16];
    snprintf(lease, sizeof lease, "%d", LEASE_MS);
    snprintf(kept, sizeof kept, "%d", KEPT_S);
    const char *argv[] = { "tab_once", "1", o->key, digest, o->token, lease, kept };
    if (tab_limits_call(r->api->redis, (int)r->api->cfg.redis_ms, ret, NULL, 7, argv) != TAB_OK)
        return AWAY;
    const redisReply *y = *ret;
    if (y->type != REDIS_REPLY_ARRAY || y->elements != 2 || y->element[1]->type != REDIS_REPLY_STRING)
        return AWAY;
    const char *text = y->element[1]->str;
    if (y->element[0]->integer == 1) {
        o->began = strtoll(text, NULL, 10);
        return MINE;
    }
    if (text[0] == 'd')
        return ANSWERED;
    const char *last = strrchr(text, ' ');
    return last != NULL && strcmp(last + 1, digest) == 0 ? BUSY : OTHER;
}

tab_status serve_once_begin(request *r, serve_once *o, tab_error *err)
{
    char digest[DIGEST + 1];
    if (r->idempotency_key == NULL)
        return TAB_OK;
    TAB_TRY(idempotency_key_check(r, err));
    tab_hex(r->body_sha256, sizeof r->body_sha256, digest);
    name(r, o);
    tab_id_new(o->token, "");
    o->began = tab_now_us() / 1000000;
    for (;;) {
        redisReply *y = NULL;
        said s = claim(r, o, digest, &y);
        tab_status replayed = TAB_OK;
        if (s == ANSWERED)
            replayed = replay(r, o, (tab_str){ y->element[1]->str, y->element[1]->len }, digest, err);
        if (y != NULL)
            freeReplyObject(y);
        if (s == MINE || s == AWAY) {
            o->claimed = s == MINE;
            name_event(o, digest);
            return TAB_OK;
        }
        r->replayed = s == ANSWERED && replayed == TAB_OK;
        if (s == ANSWERED)
            return replayed;
        if (s == OTHER)
            return tab_fail(err, TAB_CONFLICT, "Idempotency-Key",
                            "this key was already used with a different body");
        bool waits = atomic_fetch_add(&waiting, 1) < WAIT_MOST &&
                     tab_left_ms(r->deadline, LEFT_MS) >= LEFT_MS && !atomic_load(&r->gone);
        if (waits)
            poll(NULL, 0, PAUSE_MS);
        atomic_fetch_sub(&waiting, 1);
        if (!waits)
            return tab_fail(err, TAB_UNAVAILABLE, "",
                            "the first request with this key is still in progress; try again");
    }
}

void serve_once_done(request *r, serve_once *o)
{
    tab_str sealed;
    tab_error err = { 0 };
    char digest[DIGEST + 1];
    redisReply *y = NULL;
    if (!o->claimed)
        return;
    o->claimed = false;
    tab_str out = tab_out_text(&r->out);
    if (out.n > MOST ||
        tab_run_seal(&r->api->run_keys, r->arena, out, context(r, o), &sealed, &err) != TAB_OK)
        return;
    tab_hex(r->body_sha256, sizeof r->body_sha256, digest);
    const char *head = tab_arena_printf(r->arena, "d %" PRId64 " %s ", o->began, digest);
    char *value = head == NULL ? NULL : tab_arena_alloc(r->arena, strlen(head) + sealed.n, 1);
    if (value == NULL)
        return;
    memcpy(value, head, strlen(head));
    memcpy(value + strlen(head), sealed.p, sealed.n);
    char kept[16];
    snprintf(kept, sizeof kept, "%d", KEPT_S);
    const char *argv[] = { "FCALL", "tab_once_done", "1", o->key, value, kept };
    const size_t len[] = { 5, 13, 1, strlen(o->key), strlen(head) + sealed.n, strlen(kept) };
    if (tab_redis_argv(r->api->redis, (int)r->api->cfg.redis_ms, &y, NULL, 6, argv, len) != TAB_OK)
        return;
    /* Who stood still for longer than the lease answers as the one who went on in its place did. */
    if (y->type == REDIS_REPLY_STRING && y->len > 0 &&
        replay(r, o, (tab_str){ y->str, y->len }, digest, &err) != TAB_OK)
        tab_log_fields(TAB_WARN, "a kept answer cannot be given", "why", err.message, NULL);
    freeReplyObject(y);
}

void serve_once_failed(request *r, serve_once *o)
{
    redisReply *y = NULL;
    const char *argv[] = { "tab_once_failed", "1", o->key, o->token };
    if (!o->claimed)
        return;
    o->claimed = false;
    if (tab_limits_call(r->api->redis, (int)r->api->cfg.redis_ms, &y, NULL, 4, argv) == TAB_OK)
        freeReplyObject(y);
}
