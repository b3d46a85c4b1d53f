/* The keys daemon, called over a real NATS with a real Postgres and Redis behind it. usage: keys
 * STEP ... (tests/suite/keys starts the servers and does between the steps what a test cannot do
 * from here). */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <time.h>

#include "common/redis/redis.h"
#include "common/rpc/rpc.h"
#include "common/security/identity.h"
#include "common/security/secret.h"
#include "proto/keys.pb-c.h"
#include "tests/infra/check.h"

int passed, failed;

static tab_rpc *rpc;
static tab_arena *arena;
static tab_error err;
static char actor[] = "key_actor";

static tab_status call(const char *org, const char *method, const ProtobufCMessage *in,
                       const ProtobufCMessageDescriptor *reply, const void **ret)
{
    tab_answer a = { 0 };
    tab_ask ask = { .service = "keys",
                    .method = method,
                    .org = org,
                    .request_id = "req_test",
                    .actor = "key_actor",
                    .deadline = tab_in_ms(5000),
                    .in = in,
                    .reply = reply,
                    .arena = arena };
    err = (tab_error){ 0 };
    tab_status s = tab_rpc_call(rpc, &ask, &a, &err);
    *ret = a.msg;
    return s;
}

static const Tabella__CreateOrgReply *create_org(const char *name, const char *plan)
{
    Tabella__CreateOrgRequest q = TABELLA__CREATE_ORG_REQUEST__INIT;
    const void *r;
    q.name = (char *)name;
    q.plan = (char *)plan;
    return call("", "CreateOrg", &q.base, &tabella__create_org_reply__descriptor, &r) == TAB_OK ? r : NULL;
}

static const Tabella__ApiKey *create_key(const char *org, const char *name, char **scopes, size_t n)
{
    Tabella__CreateKeyRequest q = TABELLA__CREATE_KEY_REQUEST__INIT;
    const void *r;
    q.name = (char *)name;
    q.scopes = scopes;
    q.n_scopes = n;
    q.actor = actor;
    return call(org, "CreateKey", &q.base, &tabella__api_key__descriptor, &r) == TAB_OK ? r : NULL;
}

/* 1 known, 0 unknown, -1 nobody knows */
static int known(const char *secret, const Tabella__Grant **ret)
{
    Tabella__AuthenticateRequest q = TABELLA__AUTHENTICATE_REQUEST__INIT;
    uint8_t hash[TAB_SECRET_HASH];
    const void *r;
    tab_secret_hash(tab_str_of(secret), hash);
    q.secret_sha256 = (ProtobufCBinaryData){ sizeof hash, hash };
    if (call("", "Authenticate", &q.base, &tabella__authenticate_reply__descriptor, &r) != TAB_OK)
        return -1;
    const Tabella__AuthenticateReply *y = r;
    if (ret != NULL)
        *ret = y->grant;
    return y->known;
}

static const Tabella__ListKeysReply *list(const char *org)
{
    Tabella__ListKeysRequest q = TABELLA__LIST_KEYS_REQUEST__INIT;
    const void *r;
    return call(org, "ListKeys", &q.base, &tabella__list_keys_reply__descriptor, &r) == TAB_OK ? r : NULL;
}

static tab_status rotate(const char *org, const char *id, const Tabella__ApiKey **ret)
{
    Tabella__RotateKeyRequest q = TABELLA__ROTATE_KEY_REQUEST__INIT;
    q.id = (char *)id;
    q.actor = actor;
    return call(org, "RotateKey", &q.base, &tabella__api_key__descriptor, (const void **)ret);
}

static tab_status delete (const char *org, const char *id)
{
    Tabella__DeleteKeyRequest q = TABELLA__DELETE_KEY_REQUEST__INIT;
    const void *r;
    q.id = (char *)id;
    q.actor = actor;
    return call(org, "DeleteKey", &q.base, &tabella__delete_key_reply__descriptor, &r);
}

static const Tabella__ListAuditReply *audit(const char *org)
{
    Tabella__ListAuditRequest q = TABELLA__LIST_AUDIT_REQUEST__INIT;
    const void *r;
    q.limit = 50;
    return call(org, "ListAudit", &q.base, &tabella__list_audit_reply__descriptor, &r) == TAB_OK ? r : NULL;
}

/* What the gateway's function says of a secret: its code. */
static long gate(tab_redis *redis, const char *secret, int scope)
{
    uint8_t hash[TAB_SECRET_HASH];
    char hex[65];
    redisReply *r = NULL;
    tab_secret_hash(tab_str_of(secret), hash);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    if (tab_redis_command(redis, 500, &r, &err, "FCALL tab_gate 1 tab:g:%s %d %s 1", hex, scope, "") !=
        TAB_OK)
        return -1;
    long code =
        r->type == REDIS_REPLY_ARRAY && r->elements == 1 ? (long)r->element[0]->element[0]->integer : -2;
    freeReplyObject(r);
    return code;
}

/* A change of the plan is in the keys' entries at once. */
static void replanned(tab_redis *redis, const Tabella__CreateOrgReply *a)
{
    char pro[] = "pro";
    Tabella__SetOrgRequest q = TABELLA__SET_ORG_REQUEST__INIT;
    const void *o;
    q.org = a->org;
    q.plan = pro;
    q.add_usage = TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    q.spend_cap = TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    q.spend_cap_usd = 12.5;
    CHECK(call("", "SetOrg", &q.base, &tabella__org__descriptor, &o) == TAB_OK);
    const Tabella__Org *org = o;
    CHECK(!strcmp(org->plan, "pro") && !strcmp(org->name, "Acme") && org->add_usage_enabled &&
          org->spend_cap_usd == 12.5 && org->allowance_cells == 200000000 && org->limits->key_rpm == 1200);
    redisReply *limit = NULL;
    uint8_t hash[TAB_SECRET_HASH];
    char hex[65];
    tab_secret_hash(tab_str_of(a->key), hash);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    CHECK(tab_redis_command(redis, 500, &limit, &err, "GET tab:g:%s", hex) == TAB_OK && limit->str != NULL &&
          strstr(limit->str, " pro 1200 ") != NULL);
    freeReplyObject(limit);
}

static void whole_life(tab_redis *redis)
{
    const Tabella__CreateOrgReply *a = create_org("Acme", "plus"), *b = create_org("Other", "free");
    const Tabella__Grant *g = NULL;
    char reads[] = "read", serve[] = "serve", admin[] = "admin";
    char *both[] = { reads, serve }, *twice[] = { reads, reads }, *odd[] = { admin };
    CHECK(a != NULL && b != NULL);
    if (a == NULL || b == NULL)
        return;
    CHECK(create_org("X", "gold") == NULL && strcmp(err.param, "plan") == 0);
    CHECK(known(a->key, &g) == 1 && g->scopes == 31 && g->key_rpm == 300 && g->org_rpm == 600);
    CHECK(g != NULL && g->cells_per_minute == 5000000 && g->endpoint_concurrency == 16 &&
          strcmp(g->plan, "plus") == 0);
    CHECK(gate(redis, a->key, 1) == 1);

    CHECK(create_key(a->org, "k", both, 0) == NULL && err.status == TAB_VALIDATION &&
          !strcmp(err.param, "scopes"));
    CHECK(create_key(a->org, "k", twice, 2) == NULL && !strcmp(err.param, "scopes"));
    CHECK(create_key(a->org, "k", odd, 1) == NULL && !strcmp(err.param, "scopes"));
    CHECK(create_key(a->org, "", both, 2) == NULL && !strcmp(err.param, "name"));
    const Tabella__ApiKey *k = create_key(a->org, "production", both, 2), *r = NULL;
    CHECK(k != NULL);
    if (k == NULL)
        return;
    CHECK(tab_secret_valid(tab_str_of(k->secret)) && k->rate_limit == 300 && k->n_scopes == 2);
    CHECK(!strcmp(k->scopes[0], "read") && !strcmp(k->scopes[1], "serve") && k->last_used == 0 &&
          k->requests == 0);
    CHECK(!strncmp(k->key_preview, "sk_live_\xe2\x80\xa6", 11) &&
          !strcmp(k->key_preview + 11, k->secret + TAB_SECRET_LENGTH - 4));
    CHECK(gate(redis, k->secret, 1) == 0); /* no entry yet */
    CHECK(known(k->secret, &g) == 1 && g->scopes == 5 && gate(redis, k->secret, 4) == 1 &&
          gate(redis, k->secret, 2) == 3);

    const Tabella__ListKeysReply *l = list(a->org);
    CHECK(l != NULL && l->n_keys == 2 && !strcmp(l->keys[0]->id, k->id) && l->keys[0]->secret[0] == 0);
    CHECK(list(b->org)->n_keys == 1);

    CHECK(rotate(b->org, k->id, &r) == TAB_NOT_FOUND); /* another organization's */
    CHECK(rotate(a->org, k->id, &r) == TAB_OK && !strcmp(r->id, k->id) && strcmp(r->secret, k->secret) != 0);
    CHECK(gate(redis, k->secret, 1) == 2 && known(k->secret, NULL) == 0);
    CHECK(known(r->secret, NULL) == 1 && gate(redis, r->secret, 1) == 1);

    CHECK(delete (b->org, k->id) == TAB_NOT_FOUND);
    CHECK(delete (a->org, k->id) == TAB_OK);
    CHECK(gate(redis, r->secret, 1) == 2 && known(r->secret, NULL) == 0 && gate(redis, r->secret, 1) == 2);
    CHECK(delete (a->org, k->id) == TAB_NOT_FOUND && list(a->org)->n_keys == 1);

    const Tabella__ListAuditReply *log = audit(a->org);
    CHECK(log != NULL && log->n_entries == 5 && log->total == 5);
    if (log != NULL && log->n_entries == 5) {
        CHECK(!strcmp(log->entries[0]->action, "key.delete") && !strcmp(log->entries[0]->actor, "key_actor"));
        CHECK(!strcmp(log->entries[1]->action, "key.rotate") &&
              !strcmp(log->entries[1]->request_id, "req_test"));
        CHECK(!strcmp(log->entries[2]->detail, "scopes read,serve"));
        CHECK(strstr(log->entries[4]->action, "org.create") != NULL);
    }
    CHECK(audit(b->org)->n_entries == 2);
    replanned(redis, a);
}

static void counts(tab_redis *redis)
{
    const Tabella__CreateOrgReply *a = create_org("Counted", "enterprise");
    CHECK(a != NULL && known(a->key, NULL) == 1); /* counted by keys itself: once */
    for (int i = 0; i < 20; i++)
        CHECK(gate(redis, a->key, 1) == 1);
    uint64_t requests = 0;
    for (int i = 0; i < PATIENCE_MS / 100 && requests < 21; i++) {
        struct timespec t = { .tv_nsec = 100000000 };
        nanosleep(&t, NULL);
        requests = list(a->org)->keys[0]->requests;
    }
    CHECK(requests == 21);
    CHECK(list(a->org)->keys[0]->last_used > 0);
}

/* A new organization whose notices go to these addresses; gives it by name on stdout. */
static void mailed(const char *email)
{
    Tabella__CreateOrgRequest q = TABELLA__CREATE_ORG_REQUEST__INIT;
    char name[] = "Tom & <b>Jerry</b>", plan[] = "pro";
    const void *r = NULL;
    q.name = name;
    q.plan = plan;
    q.email = (char *)email;
    CHECK(call("", "CreateOrg", &q.base, &tabella__create_org_reply__descriptor, &r) == TAB_OK);
    if (r != NULL)
        printf("%s\n", ((const Tabella__CreateOrgReply *)r)->org);
}

static void make_keys(const char *org, int n)
{
    char read[] = "read", *scopes[] = { read };
    for (int i = 0; i < n; i++)
        CHECK(create_key(org, "k", scopes, 1) != NULL);
}

/* While Redis is away a rotation changes nothing, and a revocation is not answered with success and holds as
 * soon as Redis is back. */
static void redis_away(const char *org, const char *id, const char *secret)
{
    const Tabella__ApiKey *r = NULL;
    CHECK(known(secret, NULL) == 1);
    CHECK(rotate(org, id, &r) == TAB_UNAVAILABLE);
    CHECK(known(secret, NULL) == 1); /* nothing was changed: no new secret was lost, no old one ended */
    CHECK(delete (org, id) == TAB_UNAVAILABLE);
    CHECK(known(secret, NULL) == 0);
}

static void redis_back(tab_redis *redis, const char *secret)
{
    long code = 0;
    for (int i = 0; i < PATIENCE_MS / 100 && code != 2; i++) {
        struct timespec t = { .tv_nsec = 100000000 };
        nanosleep(&t, NULL);
        code = gate(redis, secret, 1);
    }
    CHECK(code == 2);
}

int main(int argc, char **argv)
{
    const char *step = argc > 1 ? argv[1] : "";
    arena = tab_arena_new(64 << 20);
    rpc = tab_rpc_open(TAB_AT(getenv("TAB_NATS")), "test");
    tab_redis *redis = tab_redis_open(TAB_AT(getenv("TAB_REDIS")));
    if (sodium_init() < 0 || arena == NULL || rpc == NULL || redis == NULL || !rpc_ready(rpc))
        return 1;
    if (strcmp(step, "life") == 0)
        whole_life(redis);
    else if (strcmp(step, "counts") == 0)
        counts(redis);
    else if (strcmp(step, "make") == 0) {
        const Tabella__CreateOrgReply *a = create_org("Made", "pro");
        if (a == NULL)
            return 1;
        printf("%s %s %s\n", a->org, a->key_id, a->key);
    } else if (strcmp(step, "known") == 0 && argc > 2)
        printf("%d\n", known(argv[2], NULL));
    else if (strcmp(step, "mailed") == 0 && argc > 2)
        mailed(argv[2]);
    else if (strcmp(step, "keys") == 0 && argc > 3)
        make_keys(argv[2], atoi(argv[3]));
    else if (strcmp(step, "away") == 0 && argc > 4)
        redis_away(argv[2], argv[3], argv[4]);
    else if (strcmp(step, "back") == 0 && argc > 2)
        redis_back(redis, argv[2]);
    tab_redis_free(redis);
    tab_rpc_free(rpc);
    tab_arena_free(arena);
    if (passed + failed > 0)
        printf("%s: %d passed, %d failed\n", step, passed, failed);
    return failed > 0;
}
