/* data-connector: datasets, their immutable snapshots, connections and pins. Owns the Postgres
 * schema `data_connector`. Start: configuration, log, servers, relay, sweeper, methods, ready.
 * Stop, on SIGTERM: not ready, drain, free. */
#include <malloc.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/config.h"
#include "common/rpc/daemon.h"
#include "common/run/health.h"
#include "common/run/signals.h"
#include "common/run/trace.h"
#include "common/security/pkcs11.h"
#include "services/data-connector/data.h"
#include "services/data-connector/reader/child.h"

typedef struct {
    TAB_COMMON_CONFIG;
    TAB_PKCS11_CONFIG;
    TAB_RUN_KEY_CONFIG;
    const char *kek, *allow, *odbc;
    bool seals;
    int64_t keep_days, connect_s, read_s, read_mib, memory_mib, reads_org, reads_place, upload_org,
        upload_all, upload_idle_s, upload_resume_s;
    const char *upload_dir;
} config;

static const tab_option options[] = {
    TAB_COMMON_OPTIONS(config),
    TAB_RUN_KEY_OPTIONS(config),
    TAB_OPTION(
        config, kek, SECRET, "TAB_KEK", "",
        "keys that encrypt credentials, ID:64 hex digits or ID:pkcs11:LABEL, comma between, the newest "
        "first; empty: no connections"),
    TAB_PKCS11_OPTIONS(config),
    TAB_OPTION(config, seals, BOOL, "TAB_SNAPSHOT_SEAL", "0",
               "1: encrypt stored datasets and uploads, by a key of each organization that TAB_KEK wraps"),
    TAB_OPTION(config, allow, TEXT, "TAB_ALLOW_NETWORKS", "",
               "networks that connections may reach although they are not public, "
               "for example 10.0.0.0/8,fd00::/8"),
    TAB_OPTION(config, odbc, TEXT, "TAB_ODBC", "",
               "odbc.ini whose entries connections of every organization may name; empty: none"),
    TAB_OPTION(config, keep_days, INT, "TAB_SNAPSHOT_DAYS", "30",
               "days for which rows of old, unpinned snapshots are kept"),
    TAB_OPTION(config, connect_s, INT, "TAB_SOURCE_CONNECT_S", "10", "seconds to reach a source"),
    TAB_OPTION(config, read_s, INT, "TAB_SOURCE_READ_S", "3600", "seconds to read a source"),
    TAB_OPTION(config, read_mib, INT, "TAB_SOURCE_READ_MIB", "2048",
               "most MiB that one read of a source takes"),
    TAB_OPTION(config, memory_mib, INT, "TAB_SOURCE_MEMORY_MIB", "3072",
               "most MiB of memory of the process that reads a source"),
    TAB_OPTION(config, reads_org, INT, "TAB_SOURCE_READS_ORG", "4",
               "sources that an organization reads at once, in one process"),
    TAB_OPTION(config, reads_place, INT, "TAB_SOURCE_READS_PLACE", "2", "of these, of one scheme and host"),
    TAB_OPTION(config, upload_org, INT, "TAB_UPLOAD_ORG_BYTES", "4294967296",
               "most bytes of an organization's uploaded files that are not read yet"),
    TAB_OPTION(config, upload_all, INT, "TAB_UPLOAD_ALL_BYTES", "34359738368",
               "the same of all organizations"),
    TAB_OPTION(config, upload_idle_s, INT, "TAB_UPLOAD_IDLE_S", "180",
               "seconds without a byte after which an upload is dropped"),
    TAB_OPTION(config, upload_resume_s, INT, "TAB_UPLOAD_RESUME_S", "86400",
               "seconds without a byte after which an upload in parts is dropped"),
    TAB_OPTION(config, upload_dir, TEXT, "TAB_UPLOAD_DIR", "/var/tmp",
               "folder of uploaded files while they are read; they have no names in it"),
    TAB_OPTIONS_END,
};

static void configure(data_service *self, const config *cfg)
{
    self->allow = cfg->allow;
    self->odbc = cfg->odbc;
    self->keep_days = cfg->keep_days;
    self->connect_s = cfg->connect_s;
    self->read_s = cfg->read_s;
    self->read_mib = cfg->read_mib;
    self->memory_mib = cfg->memory_mib;
    self->upload_org = cfg->upload_org;
    self->upload_all = cfg->upload_all;
    self->upload_idle_s = cfg->upload_idle_s;
    self->upload_resume_s = cfg->upload_resume_s;
    self->upload_dir = cfg->upload_dir;
    reads_init(&self->reads, cfg->reads_org, cfg->reads_place);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], CHILD_ARGUMENT) == 0)
        return child_main();
    config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;
    /* Pieces of files and columns are large and short-lived (as in services/api/main.c). */
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
    mallopt(M_ARENA_MAX, 4);
    tab_log_open("data-connector", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    if (!tab_trace_open(cfg.otlp))
        return EXIT_FAILURE;
    if (sodium_init() < 0)
        return EXIT_FAILURE;

    static data_service self;
    configure(&self, &cfg);
    if (!tab_run_keys_read(cfg.run_key, cfg.run_seal, &self.keys.run))
        return EXIT_FAILURE;
    TAB_AUTO(tab_keyring) *kek = NULL;
    if (!tab_master_keys_open(cfg.kek, "TAB_KEK", TAB_PKCS11_OF(&cfg), &kek))
        return EXIT_FAILURE;
    self.kek = kek;
    if (cfg.seals && kek == NULL) {
        tab_log(TAB_ERROR, "TAB_SNAPSHOT_SEAL needs TAB_KEK, which wraps the organizations' keys");
        return EXIT_FAILURE;
    }
    self.keys.own = (tab_data_keys){ .schema = "data_connector", .setting = "TAB_KEK", .master = kek };
    self.keys.seals = cfg.seals;
    TAB_AUTO(tab_pg) *pg = self.pg = tab_pg_open(cfg.postgres, cfg.org_key, cfg.pg_pool);
    TAB_AUTO(tab_rpc) *rpc = self.rpc = tab_rpc_open(&cfg.nats, "data-connector");
    if (pg == NULL || rpc == NULL)
        return EXIT_FAILURE; /* each has logged its own reason */
    static const tab_event_route routes[] = { { "tabella.event.audit", "keys" },
                                              { "tabella.event.data.changed", "keys" },
                                              TAB_EVENT_ROUTES_END };
    TAB_AUTO(tab_relay) *relay = self.relay = tab_relay_open(pg, rpc, "data_connector", routes);
    TAB_AUTO(tab_health) *health = tab_health_open(cfg.port); /* last opened, first freed: it looks at all */
    if (relay == NULL || health == NULL)
        return EXIT_FAILURE;
    static tab_schema schema = { .schema = "data_connector", .least = 13 };
    tab_daemon_watch(health, rpc, pg, &schema);
    static const char *const slow[] = {
        "Ingest", "Load", "Connect", "Sync", "Write", "Label", NULL
    }; /* as the source, or the body, is */
    tab_rpc_heavy(rpc, cfg.threads, slow);
    tab_rpc_limits(rpc, cfg.threads, 0, (size_t)3 << 30);
    tab_sweeper *sweeper = data_sweeps(&self);
    if (sweeper == NULL)
        return EXIT_FAILURE;
    bool good = tab_rpc_serve(rpc, data_methods, &self);
    tab_daemon_until_stopped(health, good, &stop, cfg.leave_s);
    good = good && tab_rpc_drain(rpc, cfg.drain_s);
    atomic_store(&self.stop, true);
    tab_sweeper_close(sweeper);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
