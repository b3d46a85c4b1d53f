/* Configuration is environment variables, read once into one struct from one table of options. The same
 * rows make --help. NAME of kind TEXT or SECRET may come from a file as well: the one that NAME_FILE gives,
 * or NAME in the folder TAB_SECRETS_FOLDER. The variable itself comes first.
 *
 *   typedef struct { TAB_COMMON_CONFIG; const char *kek; } keys_config;
 *   static const tab_option keys_options[] = {
 *       TAB_COMMON_OPTIONS(keys_config),
 *       TAB_OPTION(keys_config, kek, SECRET, "TAB_KEK", "", "keys that seal credentials"),
 *       TAB_OPTIONS_END };
 */
#ifndef TAB_CONFIG_H
#define TAB_CONFIG_H

#include "common/base/access.h"
#include "common/base/log.h"

typedef enum {
    TAB_OPTION_TEXT,   /* const char * */
    TAB_OPTION_SECRET, /* const char *, masked in --check and in the log */
    TAB_OPTION_INT,    /* int64_t, >= 0 */
    TAB_OPTION_REAL,   /* double, >= 0 */
    TAB_OPTION_BOOL,   /* bool: 0, 1, true, false, yes, no, on, off */
    TAB_OPTION_LEVEL   /* tab_log_level */
} tab_option_kind;

typedef struct {
    const char *name; /* the environment variable */
    tab_option_kind kind;
    size_t at; /* offsetof in the configuration struct */
    const char *otherwise;
    const char *help;
} tab_option;

#define TAB_OPTION(type, member, kind, name, otherwise, help)            \
    {                                                                    \
        name, TAB_OPTION_##kind, offsetof(type, member), otherwise, help \
    }
#define TAB_OPTIONS_END                      \
    {                                        \
        NULL, TAB_OPTION_TEXT, 0, NULL, NULL \
    }

/* What every daemon has. */
#define TAB_COMMON_CONFIG                                \
    const char *postgres, *org_key, *health_bind, *otlp; \
    tab_access nats;                                     \
    int64_t pg_pool, port, leave_s, drain_s, threads;    \
    tab_log_level log_level
#define TAB_COMMON_OPTIONS(type)                                                                          \
    TAB_OPTION(type, postgres, SECRET, "TAB_POSTGRES", "host=127.0.0.1 dbname=tabella user=tabella",      \
               "PostgreSQL, a libpq connection string; the service's own role"),                          \
        TAB_OPTION(type, org_key, SECRET, "TAB_ORG_KEY", "",                                              \
                   "keys that prove organizations to PostgreSQL, 64 hex digits each, the newest first"),  \
        TAB_OPTION(type, pg_pool, INT, "TAB_PG_POOL", "8",                                                \
                   "most connections to PostgreSQL, besides 8 for housekeeping"),                         \
        TAB_OPTION(type, nats.address, SECRET, "TAB_NATS", "nats://127.0.0.1:4222", "NATS server's URL"), \
        TAB_ACCESS_OPTIONS(type, nats, "TAB_NATS", "NATS"),                                               \
        TAB_OPTION(type, port, INT, "TAB_HEALTH_PORT", "0",                                               \
                   "port of /livez /readyz /metrics; 0: any free one, named in the log"),                 \
        TAB_OPTION(type, health_bind, TEXT, "TAB_HEALTH_BIND", "127.0.0.1",                               \
                   "address of the health port; 0.0.0.0 in a pod"),                                       \
        TAB_OPTION(type, threads, INT, "TAB_THREADS", "8",                                                \
                   "worker threads; one organization gets at most half of them"),                         \
        TAB_OPTION(type, leave_s, INT, "TAB_LEAVE_S", "0",                                                \
                   "seconds to go on as before on SIGTERM, but not ready, until nobody sends work"),      \
        TAB_OPTION(type, drain_s, INT, "TAB_DRAIN_S", "30", "seconds to finish work on SIGTERM"),         \
        TAB_OPTION(type, otlp, TEXT, "TAB_OTLP", "",                                                      \
                   "where spans are sent, OTLP as JSON: http://HOST:PORT/v1/traces; empty: nowhere"),     \
        TAB_OPTION(type, log_level, LEVEL, "TAB_LOG_LEVEL", "info", "debug, info, warn, error")

/* Of the services that keep something of a stateless run for a while. */
#define TAB_RUN_KEY_CONFIG \
    const char *run_key;   \
    bool run_seal
#define TAB_RUN_KEY_OPTIONS(type)                                                                           \
    TAB_OPTION(type, run_key, SECRET, "TAB_RUN_KEY", "",                                                    \
               "keys that encrypt what runs keep in PostgreSQL for a while; form as TAB_KEK; empty: none"), \
        TAB_OPTION(type, run_seal, BOOL, "TAB_RUN_SEAL", "1",                                               \
                   "0: decrypt but do not encrypt, while daemons still run without TAB_RUN_KEY")

/* Beside them, for a daemon that uses Redis. */
#define TAB_REDIS_CONFIG tab_access redis
#define TAB_REDIS_OPTIONS(type)                                                                              \
    TAB_OPTION(type, redis.address, TEXT, "TAB_REDIS", "127.0.0.1:6379", "Redis: host:port, or unix:/path"), \
        TAB_ACCESS_OPTIONS(type, redis, "TAB_REDIS", "Redis")

/* Who we say we are to a server, and TLS (decision 0246). */
#define TAB_ACCESS_OPTIONS(type, member, name, what)                                                  \
    TAB_OPTION(type, member.user, TEXT, name "_USER", "", what "' user; used with a password"),       \
        TAB_OPTION(type, member.password, SECRET, name "_PASSWORD", "", what "' password"),           \
        TAB_OPTION(type, member.tls, BOOL, name "_TLS", "0",                                          \
                   "1: TLS to " what "; its certificate must carry its name"),                        \
        TAB_OPTION(type, member.ca, SECRET, name "_CA", "",                                           \
                   "authorities that " what "' certificate is checked against, PEM (" name            \
                   "_CA_FILE); empty: the system's"),                                                 \
        TAB_OPTION(type, member.cert, SECRET, name "_CERT", "", "own certificate for " what ", PEM"), \
        TAB_OPTION(type, member.key, SECRET, name "_KEY", "", "key of the own certificate, PEM")

#define TAB_VERSION "0.3.0"
extern const char tab_commit[]; /* that was built: 12 hex digits, or "unknown" */

/* Fills cfg. Gives -1 to go on, else the exit code: after --help, --version and --check (reads the
 * configuration, prints it with secrets masked) 0; after a bad value 78 with one line on stderr; after an
 * unknown argument 64. Texts live as long as the process. */
void tab_config_log(void); /* what was read, secrets masked, as one line of the log (tab_health_open does) */
int tab_config_read(const tab_option *options, void *cfg, int argc, char **argv) TAB_CHECKED;

/* What came from files can change while the process runs (decision 0481). Whoever connects with a text of
 * the configuration asks for its newest value; what was given before lives on.
 *
 *   tab_config_now(cfg.password)   its file's text, as read last; of any other text: itself
 *   tab_config_again()             reads the files again; a file that is empty or away changes nothing
 *   tab_config_told()              SIGHUP: reads again, then tells all listeners, in the caller's thread */
const char *tab_config_now(const char *text);
tab_access tab_access_now(const tab_access *a);
void tab_config_again(void);
void tab_config_told(void);

typedef struct tab_config_listener {
    void (*told)(void *arg);
    void *arg;
    struct tab_config_listener *next;
} tab_config_listener;
void tab_config_listen(tab_config_listener *l); /* is the caller's, until it is forgotten */
void tab_config_forget(const tab_config_listener *l);

#endif
