/* data-connector: its RPC methods (proto/data.proto) and its sweeps. */
#ifndef DATA_H
#define DATA_H

#include <stdatomic.h>

#include "common/pg/sweep.h"
#include "common/rpc/outbox.h"
#include "common/security/crypto.h"
#include "services/data-connector/reader/reads.h"
#include "services/data-connector/source/reference.h"
#include "services/data-connector/store/diff.h"
#include "services/data-connector/store/store.h"

typedef struct {
    tab_pg *pg;
    tab_relay *relay;
    tab_rpc *rpc;
    tab_keyring *kek;  /* encrypts credentials; NULL: none configured, and connections are refused */
    store_keys keys;   /* seal blocks */
    const char *allow; /* networks that connections may reach although they are not public */
    const char *odbc;  /* the odbc.ini whose entries they may name; "" */
    int64_t keep_days; /* rows of old, unpinned snapshots */
    int64_t connect_s, read_s, read_mib, memory_mib; /* limits of reaching a source */
    read_turns reads;                                /* and of how many at once */
    int64_t upload_org, upload_all, upload_idle_s;   /* bytes on their way; seconds without a piece */
    int64_t upload_resume_s;                         /* the same of one in parts */
    const char *upload_dir;                          /* of files while they are read */
    atomic_bool stop;
} data_service;

extern const tab_rpc_method data_methods[];

enum { DATA_MOST_CELLS = 50000000, DATA_MOST_COLS = 2000 };

/* Two states of a dataset, one after the other, and what became of the rows. */
typedef struct {
    const store_snapshot *known;
    const tab_table *before, *after;
    const row_diff *diff;
    const row_changes *rows;
} data_step;
/* expected.c: what the later one has beyond what chance explains, and who is told. */
tab_status data_expected(data_service *self, tab_tx *tx, tab_call *call, const data_step *s,
                         Tabella__Expectations **ret, tab_error *err) TAB_CHECKED;
tab_status data_expected_event(tab_tx *tx, tab_call *call, const char *dataset, const char *name,
                               const char *snapshot, const Tabella__Expectations *m,
                               tab_error *err) TAB_CHECKED;

/* Methods of connect.c */
tab_status data_connect(void *self, tab_call *call, tab_error *err);
tab_status data_sync(void *self, tab_call *call, tab_error *err);
tab_status data_reseal(void *self, tab_call *call, tab_error *err); /* reseal.c */
/* Methods of compare.c */
tab_status data_diff(void *self, tab_call *call, tab_error *err);
tab_status data_snapshots(void *self, tab_call *call, tab_error *err);
tab_status data_compare(void *self, tab_call *call, tab_error *err);
tab_status data_profile(void *self, tab_call *call, tab_error *err);
/* Methods of upload.c */
tab_status data_upload_part(void *self, tab_call *call, tab_error *err);
tab_status data_upload_drop(void *self, tab_call *call, tab_error *err);
/* And of upload_resumed.c */
tab_status data_upload_begin(void *self, tab_call *call, tab_error *err);
tab_status data_upload_state(void *self, tab_call *call, tab_error *err);
/* Adds the call's piece where the upload has as many bytes as it says; how many it has then. */
tab_status data_upload_append(data_service *self, tab_tx *tx, const tab_call *call, int64_t *ret_bytes,
                              tab_error *err) TAB_CHECKED;
tab_status data_load(void *self, tab_call *call, tab_error *err);
/* Drops a job's uploads. */
tab_status data_upload_owned(tab_tx *tx, const char *org, const char *owner, tab_error *err) TAB_CHECKED;
tab_status data_write(void *self, tab_call *call, tab_error *err); /* write.c */
tab_status data_write_rows(void *self, tab_call *call, tab_error *err);
tab_status data_label(void *self, tab_call *call, tab_error *err); /* label.c */

/* What a connection's credentials are sealed with: its place. */
char *data_seal_context(tab_arena *a, const char *org, const char *id);

/* One source's table as it is now, in the call's arena. `id` of a connection; NOT_FOUND. */
tab_status data_read_source(data_service *self, tab_call *call, const char *connection, const tab_table **ret,
                            tab_error *err) TAB_CHECKED;
/* Whether what a ref names is a file, whose cells know no null. */
bool data_of_file(const char *ref);
/* The same of a ref that nothing registered, without credentials; and the name that its table has. */
tab_status data_read_plain(data_service *self, tab_call *call, const source_ref *ref, const tab_table **ret,
                           const char **ret_name, tab_error *err) TAB_CHECKED;
/* Makes a new snapshot of the dataset that the connection feeds; ret may be NULL. */
tab_status data_sync_now(data_service *self, tab_call *call, const char *id, const char *sync_id,
                         const char *actor, Tabella__SyncReply *ret, tab_error *err) TAB_CHECKED;

/* compare.c: a difference as a message in the arena. */
tab_status data_diff_message(tab_arena *a, const row_diff *d, Tabella__RowDiff **ret,
                             tab_error *err) TAB_CHECKED;

/* sweep.c: the thread that drops what has expired. NULL: it does not start. */
tab_sweeper *data_sweeps(data_service *self);

#endif
