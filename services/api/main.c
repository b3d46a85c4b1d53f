/* api: every /v2/ route. HTTP and JSON in front, protobuf calls behind; owns the idempotency
 * records, the outputs of inline runs and the outbox of their events in the Postgres schema `api`.
 * Start: configuration, log, servers, HTTP, ready. Stop, on SIGTERM: not ready, drain, free. */
#include <malloc.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/run/health.h"
#include "common/run/signals.h"
#include "common/run/trace.h"
#include "common/security/crypto.h"
#include "services/api/counts.h"
#include "services/api/handlers.h"
#include "services/api/housekeeping.h"
#include "services/api/http/body_quota.h"
#include "services/api/http/http.h"
#include "services/api/http/progress.h"
#include "services/api/idempotency.h"
#include "services/api/serve/bills.h"
#include "services/api/service_calls.h"

static const tab_option options[] = {
    TAB_COMMON_OPTIONS(api_config),
    TAB_RUN_KEY_OPTIONS(api_config),
    TAB_REDIS_OPTIONS(api_config),
    TAB_OPTION(api_config, http, TEXT, "TAB_API_HTTP", "127.0.0.1:8081",
               "address:port that the gateway calls"),
    TAB_OPTION(api_config, secret, SECRET, "TAB_GATEWAY_SECRET", "",
               "secret shared with the gateway, 32 characters or more; a second line: one that is taken too"),
    TAB_OPTION(api_config, base_url, TEXT, "TAB_BASE_URL", "http://127.0.0.1:8080",
               "what `url` fields start with"),
    TAB_OPTION(api_config, workers, INT, "TAB_API_WORKERS", "32",
               "requests worked on at once, besides reads; one organization gets at most half"),
    TAB_OPTION(api_config, queue, INT, "TAB_API_QUEUE", "4096", "requests that may wait; beyond it: 503"),
    TAB_OPTION(api_config, body_most, INT, "TAB_BODY_BYTES", "67108864", "most bytes of a request body"),
    TAB_OPTION(api_config, held_org, INT, "TAB_HELD_ORG_BYTES", "268435456",
               "most bytes of bodies and answers held for one organization; beyond it: 429; 0: no limit"),
    TAB_OPTION(api_config, held_all, INT, "TAB_HELD_BYTES", "1073741824",
               "most bytes of bodies and answers held for all; beyond it: 503; 0: no limit"),
    TAB_OPTION(api_config, upload_most, INT, "TAB_UPLOAD_BYTES", "1073741824",
               "most bytes of an uploaded file"),
    TAB_OPTION(api_config, upload_inline, INT, "TAB_UPLOAD_INLINE_BYTES", "67108864",
               "most bytes of an uploaded file that is read at once; a larger one becomes a job"),
    TAB_OPTION(api_config, uploads, INT, "TAB_UPLOADS", "32", "uploads taken at once; beyond it: 503"),
    TAB_OPTION(api_config, uploads_org, INT, "TAB_UPLOADS_ORG", "4", "of these, of one organization; 429"),
    TAB_OPTION(api_config, downloads, INT, "TAB_DOWNLOADS", "32", "files sent at once; beyond it: 503"),
    TAB_OPTION(api_config, downloads_org, INT, "TAB_DOWNLOADS_ORG", "4",
               "of these, of one organization; 429"),
    TAB_OPTION(api_config, run_cells, INT, "TAB_RUN_CELLS", "50000000", "most cells of one run"),
    TAB_OPTION(api_config, inline_cells, INT, "TAB_INLINE_CELLS", "250000",
               "most cells of a run that is answered inline; a larger one becomes a job"),
    TAB_OPTION(api_config, inline_s, INT, "TAB_INLINE_S", "30", "seconds until an inline run becomes a job"),
    TAB_OPTION(api_config, redis_ms, INT, "TAB_REDIS_MS", "100",
               "milliseconds to wait for Redis; without it each process counts cells per minute by itself"),
    TAB_OPTION(api_config, journal, TEXT, "TAB_API_JOURNAL", "",
               "folder that outlives this process, for bills of serve calls while PostgreSQL is away; empty: "
               "calls fail then"),
    TAB_OPTION(api_config, owed_s, INT, "TAB_OWED_S", "120", "seconds for which serve calls may be owed"),
    TAB_OPTION(api_config, owed_cells, INT, "TAB_OWED_CELLS", "20000000",
               "most cells that an organization may owe in this process"),
    TAB_OPTION(api_config, bill_pinned, BOOL, "TAB_BILL_PINNED", "1",
               "bill a serve call's pinned cells at the cached rate"),
    TAB_OPTIONS_END
};

static bool keys_set(api *a)
{
    tab_str secret[TAB_IDENTITY_SECRETS];
    a->secrets = tab_identity_secrets(tab_str_of(a->cfg.secret), secret);
    for (size_t i = 0; i < a->secrets; i++) {
        if (!tab_identity_key_set(&a->secret[i].identity, secret[i]))
            a->secrets = 0;
        tab_hmac_sha256(secret[i], TAB_S("tabella cursor v1"), a->secret[i].cursor_key);
    }
    if (a->secrets == 0)
        tab_log(TAB_ERROR, "TAB_GATEWAY_SECRET must be one line of 32 characters or more, or two such lines");
    return a->secrets > 0;
}

/* Whom it calls: told on /readyz. */
static struct other {
    const char *name;
    tab_rpc *rpc;
} others[] = { { "data-connector", NULL }, { "inference", NULL }, { "jobs", NULL },
               { "keys", NULL },           { "metering", NULL },  { "reports", NULL } };

static bool lives(void *arg)
{
    const struct other *o = arg;
    return tab_rpc_lives(o->rpc, o->name);
}

static bool database_alive(void *arg)
{
    api *a = arg;
    bool alive = tab_pg_alive(a->pg);
    if (alive)
        atomic_store(&a->cut_since, 0);
    else if (atomic_load(&a->cut_since) == 0)
        atomic_store(&a->cut_since, tab_mono_ms());
    return alive;
}

/* Ready, until a signal says to stop: while PostgreSQL is away it serves what it knows, and says 503 to the
 * rest. */
static void serve_until_stopped(api *a, tab_health *health, http *h, sigset_t *stop)
{
    static tab_schema schema = { .schema = "api", .least = 4 };
    schema.pg = a->pg;
    tab_health_show(health, "postgres", true, database_alive, a);
    tab_health_show(health, "schema", true, tab_schema_fits, &schema);
    tab_health_watch(health, "nats", tab_rpc_alive, a->rpc);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        others[i].rpc = a->rpc;
        tab_health_show(health, others[i].name, false, lives, &others[i]);
    }
    tab_health_loop(health, "rpc", tab_rpc_turned(a->rpc));
    tab_health_loop(health, "http", http_turned(h));
    tab_health_ready(health, true);
    tab_log(TAB_INFO, "stopping on signal %d", tab_signals_wait(stop));
    http_leave(h);
    tab_health_leave(health, a->cfg.leave_s);
}

int main(int argc, char **argv)
{
    static api self; /* large enough to be no one's stack */
    int early = tab_config_read(options, &self.cfg, argc, argv);
    if (early >= 0)
        return early;

    /* Bodies and columns are large and short-lived. Each gets pages of its own, which go back to the system
     * at once; and there are few heaps, so that memory that one thread freed serves another. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
    mallopt(M_ARENA_MAX, 4);
    tab_log_open("api", self.cfg.log_level);
    sigset_t stop = tab_signals_hold();
    if (!tab_trace_open(self.cfg.otlp))
        return EXIT_FAILURE;
    tab_id_new(self.owner, "api_");
    pthread_mutex_init(&self.models.lock, NULL);
    pthread_mutex_init(&self.claims.lock, NULL);
    if (!keys_set(&self) || !tab_run_keys_read(self.cfg.run_key, self.cfg.run_seal, &self.run_keys) ||
        !body_quota_open())
        return EXIT_FAILURE;

    TAB_AUTO(tab_pg) *pg = tab_pg_open(self.cfg.postgres, self.cfg.org_key, self.cfg.pg_pool);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&self.cfg.nats, "api");
    TAB_AUTO(tab_redis) *redis = tab_redis_open(&self.cfg.redis);
    if (pg == NULL || rpc == NULL || redis == NULL)
        return EXIT_FAILURE;
    self.redis = redis; /* not watched: without it each process counts by itself */
    self.pg = pg;
    self.rpc = rpc;
    static const tab_event_route routes[] = { { "tabella.event.work.done", "metering" },
                                              { "tabella.event.work.done", "jobs" },
                                              { "tabella.event.work.done", "reports" },
                                              { "tabella.event.work.served", "metering" },
                                              { "tabella.event.work.served", "jobs" },
                                              { "tabella.event.audit", "keys" },
                                              TAB_EVENT_ROUTES_END };
    TAB_AUTO(tab_relay) *relay = tab_relay_open(pg, rpc, "api", routes);
    self.relay = relay;
    counts_start();
    self.handlers = api_handlers;
    self.at_once = api_at_once_handlers;
    self.housekeeping = housekeeping_open(&self);
    self.waiting = idempotency_wait_open(&self);
    struct api_answers *answers = answers_open(&self);
    bool billing = bills_open(&self);
    if (!tab_rpc_listen(rpc, "tabella.progress.*", progress_heard, NULL))
        return EXIT_FAILURE;
    TAB_AUTO(http) *h = http_open(&self);
    TAB_AUTO(tab_health) *health = tab_health_open(self.cfg.port); /* last opened, first freed */
    bool good = relay != NULL && self.housekeeping != NULL && self.waiting != NULL && answers != NULL &&
                billing && h != NULL && health != NULL;
    if (good) {
        serve_until_stopped(&self, health, h, &stop);
        good = http_drain(h, self.cfg.drain_s);
    }
    http_end(h); /* handlers use what follows, and no more run */
    idempotency_wait_free(self.waiting);
    answers_free(answers);
    housekeeping_free(self.housekeeping);
    if (billing)
        bills_close(&self);
    tab_arena_free(self.models.arena);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
