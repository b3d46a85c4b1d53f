/* keys: who may call what. Owns organizations, plans, API keys, notices and the audit log in the
 * Postgres schema `keys`, and writes the gateway's key cache in Redis after every change. Start:
 * configuration, log, servers, methods, ready. Stop, on SIGTERM: not ready, drain, free. */
#include <sodium.h>
#include <stdlib.h>

#include "common/base/config.h"
#include "common/pg/sweep.h"
#include "common/pg/tally.h"
#include "common/rpc/daemon.h"
#include "common/run/health.h"
#include "common/run/signals.h"
#include "common/run/trace.h"
#include "common/security/pkcs11.h"
#include "services/keys/keys.h"
#include "services/keys/mail.h"
#include "services/keys/people/people.h"
#include "services/keys/sender.h"

typedef struct {
    TAB_COMMON_CONFIG;
    TAB_REDIS_CONFIG;
    TAB_PKCS11_CONFIG;
    const char *grant_secret;
    mail_config mail;
    int64_t session_s, idle_s;
    const char *console;
    const char *kek, *allow;
} keys_config;

static const tab_option keys_options[] = {
    TAB_COMMON_OPTIONS(keys_config),
    TAB_REDIS_OPTIONS(keys_config),
    TAB_OPTION(
        keys_config, grant_secret, SECRET, "TAB_GRANT_SECRET", "",
        "signs what the gateway finds in Redis about a key; 32 characters or more, shared with the gateway"),
    TAB_OPTION(keys_config, session_s, INT, "TAB_SESSION_S", "43200",
               "seconds that a session of the console lasts"),
    TAB_OPTION(keys_config, idle_s, INT, "TAB_SESSION_IDLE_S", "3600",
               "seconds after which a person's session ends that is not used, give or take ten minutes"),
    TAB_OPTION(
        keys_config, console, TEXT, "TAB_CONSOLE_URL", "",
        "address of the console as browsers have it, https://HOST/console/; empty: no sign-in by identity "
        "providers"),
    TAB_OPTION(keys_config, mail.url, SECRET, "TAB_SMTP_URL", "",
               "mail server: smtp://HOST:587 or smtps://HOST; empty: notices are not mailed"),
    TAB_OPTION(keys_config, mail.from, TEXT, "TAB_SMTP_FROM", "", "whom mails come from: an address"),
    TAB_OPTION(keys_config, mail.user, TEXT, "TAB_SMTP_USER", "", "user at the mail server; empty: none"),
    TAB_OPTION(keys_config, mail.password, SECRET, "TAB_SMTP_PASSWORD", "", "and its password"),
    TAB_OPTION(keys_config, mail.ca, TEXT, "TAB_SMTP_CA", "",
               "PEM file of authorities for the mail server; empty: the system's"),
    TAB_OPTION(keys_config, mail.plain, BOOL, "TAB_SMTP_PLAIN", "0",
               "1: without TLS, on a trusted network alone"),
    TAB_OPTION(keys_config, mail.pause_s, INT, "TAB_SMTP_PAUSE_S", "60",
               "seconds between two mails to one address; what fires meanwhile goes into one"),
    TAB_OPTION(keys_config, kek, SECRET, "TAB_KEK", "",
               "keyring that seals secrets of webhooks, data-connector's; empty: webhooks cannot be made"),
    TAB_PKCS11_OPTIONS(keys_config),
    TAB_OPTION(keys_config, allow, TEXT, "TAB_ALLOW_NETWORKS", "",
               "networks beside public addresses that webhooks may reach, without TLS as well, e.g. "
               "10.0.0.0/8"),
    TAB_OPTIONS_END,
};

static tab_status fold(tab_tx *tx, void *arg, int64_t most, size_t *n, tab_error *err)
{
    (void)arg;
    return tab_tally_fold(tx, "keys", most, n, err);
}

/* Those whose time is over become tombstones, as if they had been revoked: the chores bring those to Redis.
 * */
#define OLD_SECRETS                                                                                      \
    "WITH gone AS (DELETE FROM keys.old_secret WHERE ctid = ANY(ARRAY(SELECT ctid FROM keys.old_secret " \
    "WHERE ends < now() ORDER BY ends LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING org, key_id, hash), "  \
    "buried AS (INSERT INTO keys.tombstone (org, key_id, hash, version) "                                \
    "SELECT org, key_id, hash, nextval('keys.version') FROM gone "                                       \
    "ON CONFLICT (org, hash) DO UPDATE SET version = excluded.version RETURNING org, version), "         \
    "raised AS (UPDATE keys.org o SET epoch = greatest(o.epoch, b.version) "                             \
    "FROM (SELECT org, max(version) AS version FROM buried GROUP BY org) b WHERE o.org = b.org) "        \
    "SELECT 1 FROM gone"

enum { MINUTE_MS = 60000 };
static tab_sweep sweeps[] = {
    { .name = "counts of notices", .batch = fold, .most = 1000, .idle_ms = 8000 },
    { .name = "keys that end", .batch = keys_ends, .every_ms = 4000 },
    { .name = "old secrets", .every_ms = 4000, .sql = OLD_SECRETS },
    { .name = "networks that a key left",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.key_network", "seen", "now() - interval '90 days'") },
    { .name = "secrets of webhooks under an older key",
      .batch = keys_reseal_webhooks,
      .every_ms = MINUTE_MS },
    { .name = "secrets of providers under an older key",
      .batch = keys_reseal_providers,
      .every_ms = MINUTE_MS },
    { .name = "old deliveries of webhooks",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.webhook_delivery", "created", "now() - interval '30 days'") },
    { .name = "expired sessions",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.session", "expires", "now()") },
    { .name = "sign-ins that nobody ended",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.signin", "expires", "now()") },
    { .name = "logouts of providers",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.logout", "expires", "now()") },
    { .name = "old deliveries",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.delivery", "created", "now() - interval '30 days'") },
    { .name = "old batches of usage",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.usage_batch", "created", "now() - interval '30 days'") },
    { .name = "service levels of long ago",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.service_level", "day", "(now() AT TIME ZONE 'UTC')::date - 750") },
    { .name = "service levels of endpoints of long ago",
      .every_ms = MINUTE_MS,
      .sql =
          TAB_SWEEP_DELETE("keys.service_level_endpoint", "day", "(now() AT TIME ZONE 'UTC')::date - 750") },
    { .name = "old counts of uses",
      .every_ms = MINUTE_MS,
      .sql = TAB_SWEEP_DELETE("keys.use_batch", "at", "now() - interval '7 days'") },
};

int main(int argc, char **argv)
{
    keys_config cfg;
    int early = tab_config_read(keys_options, &cfg, argc, argv);
    if (early >= 0)
        return early;
    tab_log_open("keys", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    if (!tab_trace_open(cfg.otlp))
        return EXIT_FAILURE;
    if (sodium_init() < 0)
        return EXIT_FAILURE;

    static tab_identity_key sign;
    tab_str secret[TAB_IDENTITY_SECRETS] = { TAB_S("") }; /* a gateway that has another looks keys up anew */
    if (cfg.grant_secret[0] != '\0' && (tab_identity_secrets(tab_str_of(cfg.grant_secret), secret) == 0 ||
                                        !tab_identity_key_set(&sign, secret[0]))) {
        tab_log(TAB_ERROR, "TAB_GRANT_SECRET must have 32 characters or more");
        return EXIT_FAILURE;
    }
    if (cfg.grant_secret[0] == '\0')
        tab_log(TAB_WARN, "grants in Redis are not signed (TAB_GRANT_SECRET)");
    TAB_AUTO(tab_keyring) *kek = NULL;
    if (!tab_master_keys_open(cfg.kek, "TAB_KEK", TAB_PKCS11_OF(&cfg), &kek))
        return EXIT_FAILURE;
    static keys self = { .lock = PTHREAD_MUTEX_INITIALIZER };
    TAB_AUTO(tab_pg) *pg = self.pg = tab_pg_open(cfg.postgres, cfg.org_key, cfg.pg_pool);
    TAB_AUTO(tab_redis) *redis = self.cache.redis = tab_redis_open(&cfg.redis);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&cfg.nats, "keys");
    TAB_AUTO(tab_health) *health = tab_health_open(cfg.port); /* last opened, first freed: it looks at all */
    if (pg == NULL || redis == NULL || rpc == NULL || health == NULL)
        return EXIT_FAILURE; /* each has logged its own reason */

    self.session_s = cfg.session_s;
    self.idle_s = cfg.idle_s;
    self.console = cfg.console;
    self.allow = cfg.allow;
    self.kek = kek;
    self.cache.sign = cfg.grant_secret[0] == '\0' ? NULL : &sign;
    pthread_t chores;
    static tab_schema schema = { .schema = "keys", .least = 25 };
    tab_daemon_watch(health, rpc, pg, &schema);
    tab_health_watch(health, "redis", tab_redis_alive, redis);
    tab_rpc_limits(rpc, cfg.threads, 0, 256u << 20);
    mail *post = mail_open(pg, &cfg.mail);
    bool works = post != NULL && pthread_create(&chores, NULL, keys_chores, &self) == 0;
    tab_sweeper *sweeper = tab_sweeper_open(pg, sweeps, sizeof sweeps / sizeof *sweeps, &self);
    sender *out = sender_open(&self);
    bool good = works && sweeper != NULL && out != NULL &&
                tab_events_take(pg, rpc, "keys", keys_on_event, NULL, &self) &&
                tab_rpc_serve(rpc, keys_methods, &self);
    tab_daemon_until_stopped(health, good, &stop, cfg.leave_s);
    good = good && tab_rpc_drain(rpc, cfg.drain_s);
    atomic_store(&self.stop, true);
    sender_close(out);
    tab_sweeper_close(sweeper);
    if (works)
        pthread_join(chores, NULL);
    mail_close(post);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
