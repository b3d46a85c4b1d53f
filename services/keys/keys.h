/* keys: its RPC methods (proto/keys.proto), what it does by itself, and its consumers of events. */
#ifndef KEYS_H
#define KEYS_H

#include <pthread.h>

#include "common/json/json.h"
#include "common/redis/redis.h"
#include "common/rpc/outbox.h"
#include "common/security/crypto.h"
#include "services/keys/cache.h"
#include "services/keys/store.h"

enum { KEYS_COUNTED = 1024, KEYS_CHORES_MS = 1000, KEYS_HEADS_MS = 4000 };

typedef struct {
    tab_pg *pg;
    keys_cache cache;
    /* Uses that the gateway did not count because its Redis was away; added to the others. */
    pthread_mutex_t lock;
    size_t counted;
    struct {
        char key_id[TAB_ID];
        int64_t n;
    } count[KEYS_COUNTED];
    /* The chores': up to which row the heads of audit logs were logged, and when they and tombstones that
     * another process left are looked for again. */
    bool heads_begun;
    int64_t heads, heads_due, left_due;
    atomic_bool unconfirmed; /* a tombstone of this process waits for Redis */
    atomic_bool stop;
    int64_t session_s;   /* how long a session of the console lasts */
    int64_t idle_s;      /* and one of a person that nobody uses */
    const char *console; /* its address, to which providers send people back; "": nobody signs in so */
    atomic_int fetching; /* calls of providers under way */
    tab_keyring *kek;    /* seals secrets of webhooks; NULL: there are none */
    const char *allow;   /* networks of receivers that are not public */
} keys;

extern const tab_rpc_method keys_methods[];

/* changes.c */
tab_status keys_name_good(const char *name, tab_error *err) TAB_CHECKED;
/* The key as it stands into the reply, with its secret where that is not NULL. */
tab_status keys_show(tab_tx *tx, tab_call *call, const char *id, const char *secret,
                     tab_error *err) TAB_CHECKED;
/* Writes the gateway's entries of the organization's keys anew, or of one, so that what was changed holds at
 * once. UNAVAILABLE: that is not confirmed, and they end within KEYS_CACHE_ENTRY_S. */
tab_status keys_refill(keys *self, tab_call *call, const char *org, const char *key,
                       tab_error *err) TAB_CHECKED;
tab_status keys_set_key(void *self, tab_call *call, tab_error *err);

/* uses.c. Where keys are used from; and keys whose end is near or has come, a batch of a sweep. */
tab_status keys_note_uses(void *self, tab_call *call, tab_error *err);
tab_status keys_ends(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err);

/* tabella.event.audit, .job.ended, .usage.alert, .quality.alert, .data.changed */
tab_status keys_on_event(void *self, tab_tx *tx, const tab_event *event, tab_error *err);

/* audit.c. One entry of this call, in its transaction; actor "": the call's own. */
tab_status keys_audit(tab_tx *tx, const tab_call *call, const char *org, const char *actor,
                      const char *action, const char *object, const char *detail, tab_error *err) TAB_CHECKED;
tab_status keys_on_audit(tab_tx *tx, const tab_event *event, tab_error *err) TAB_CHECKED;
tab_status keys_audit_entry(void *self, tab_call *call, tab_error *err);
tab_status keys_list_audit(void *self, tab_call *call, tab_error *err);
/* The newest number and hash of each organization whose audit log grew, as lines of the operator's log. */
void keys_log_heads(keys *self);

/* notices.c. What an organization may have mailed: bits of keys.org.alerts. */
enum {
    KEYS_ALERT_JOBS = 1,
    KEYS_ALERT_USAGE = 2,
    KEYS_ALERT_KEYS = 4,
    KEYS_ALERT_CONNECTIONS = 8,
    KEYS_ALERT_QUALITY = 16,
    KEYS_ALERT_ALL = 31
};
typedef struct {
    const char *event_id; /* the same one again is no second notice */
    const char *kind, *subject;
    const char *text; /* NULL: its allocation failed */
    tab_out data;     /* a JSON object; empty: {} */
    int64_t at;
    unsigned alert;
    const char *webhook; /* for this one alone; NULL: for all that want its kind */
} keys_notice;
/* In the transaction of its cause. */
tab_status keys_notify(tab_tx *tx, tab_arena *a, const char *org, const keys_notice *n,
                       tab_error *err) TAB_CHECKED;
/* what: "created", "rotated" or "deleted". */
tab_status keys_notify_key(tab_tx *tx, const tab_call *call, bool created, const char *key_id,
                           const char *what, tab_error *err) TAB_CHECKED;
tab_status keys_on_job(tab_tx *tx, const tab_event *event, tab_error *err) TAB_CHECKED;
tab_status keys_on_alert(tab_tx *tx, const tab_event *event, tab_error *err) TAB_CHECKED;
tab_status keys_on_quality(tab_tx *tx, const tab_event *event, tab_error *err) TAB_CHECKED;
tab_status keys_on_data(tab_tx *tx, const tab_event *event, tab_error *err) TAB_CHECKED;
/* usage.c */
tab_status keys_on_usage(tab_tx *tx, const tab_event *event, tab_error *err) TAB_CHECKED;
tab_status keys_list_notices(void *self, tab_call *call, tab_error *err);
tab_status keys_read_notice(void *self, tab_call *call, tab_error *err);

/* webhooks.c */
tab_status keys_list_webhooks(void *self, tab_call *call, tab_error *err);
tab_status keys_set_webhook(void *self, tab_call *call, tab_error *err);
tab_status keys_delete_webhook(void *self, tab_call *call, tab_error *err);
tab_status keys_list_deliveries(void *self, tab_call *call, tab_error *err);
tab_status keys_replay_delivery(void *self, tab_call *call, tab_error *err);
/* Secrets under an older key are sealed again, a batch of a sweep; arg: the keys. */
tab_status keys_reseal_webhooks(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err);

/* retention.c */
tab_status keys_list_keep(void *self, tab_call *call, tab_error *err);

/* ---- level.c --------------------------------------------------------------------------------- */

/* The service levels among what gateways counted, into their organizations' days. */
tab_status keys_levels_store(tab_tx *tx, const keys_uses *u, tab_error *err) TAB_CHECKED;
tab_status keys_service_level(void *self, tab_call *call, tab_error *err);
tab_status keys_list_service_levels(void *self, tab_call *call, tab_error *err);

/* sessions.c */
tab_status keys_start_session(void *self, tab_call *call, tab_error *err);
tab_status keys_get_session(void *self, tab_call *call, tab_error *err);
tab_status keys_end_session(void *self, tab_call *call, tab_error *err);
tab_status keys_list_sessions(void *self, tab_call *call, tab_error *err);
typedef struct {
    const char *org, *id, *key; /* a key's or a person's id */
    ProtobufCBinaryData token;  /* SHA-256 */
    tab_str sid;                /* of the provider's session; "": none */
} keys_session;
tab_status keys_session_insert(const keys *self, tab_tx *tx, const tab_call *call, const keys_session *s,
                               tab_error *err) TAB_CHECKED;
/* The session of this token into the reply; known stays false where there is none. */
tab_status keys_session_show(tab_tx *tx, tab_call *call, ProtobufCBinaryData token,
                             tab_error *err) TAB_CHECKED;
/* It is used now; once a minute, since the gateway asks again at most so often (KEYS_CACHE_ENTRY_S). */
tab_status keys_session_used(tab_tx *tx, ProtobufCBinaryData token, tab_error *err) TAB_CHECKED;
/* One tombstone of a row that was just deleted; hash: of its token. */
tab_status keys_session_bury(tab_tx *tx, const char *org, const char *key_id, tab_str hash, keys_tombstone *t,
                             tab_error *err) TAB_CHECKED;
/* Ends the sessions of a key whose secret stopped working, in the same transaction; gives the key's
 * tombstones that wait for Redis, its own among them. */
tab_status keys_session_end_all(tab_tx *tx, tab_arena *a, const keys_tombstone *key, keys_tombstone **ret,
                                size_t *ret_n, tab_error *err) TAB_CHECKED;
/* After the commit that wrote the tombstones' rows: Redis gets the tombstones, then the rows are deleted,
 * then the call is answered. What fails here is repeated by the chores, and by the caller. */
tab_status keys_revoke(keys *self, const keys_tombstone *t, size_t n, tab_deadline deadline,
                       tab_error *err) TAB_CHECKED;

/* The thread of chores: confirms tombstones, adds counted uses; once in KEYS_CHORES_MS until stop,
 * and once more then. Gives NULL. */
void *keys_chores(void *self);

#endif
