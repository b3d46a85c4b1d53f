/* data-connector's SQL. Every function runs in the caller's transaction, which is bound to `org`.
 */
#ifndef DATA_STORE_H
#define DATA_STORE_H

#include "common/pg/pg.h"
#include "common/rpc/rpc.h"
#include "common/security/crypto.h"
#include "common/security/ids.h"
#include "common/table/table.h"
#include "proto/data.pb-c.h"
#include "services/data-connector/store/blocks.h"
#include "services/data-connector/store/org_keys.h"

/* A transaction that writes pieces holds the organization's blocks shared; one that deletes blocks holds
 * them alone. So no block is deleted while a snapshot that is not committed yet uses it. Ends with the
 * transaction. */
tab_status store_hold_blocks(tab_tx *tx, const char *org, bool alone, tab_error *err) TAB_CHECKED;

/* ---- datasets */
enum { DATA_TEMPORARY_HOURS = 26 }; /* a temporary one lives so long */
typedef struct {
    const char *id, *name, *source, *connection, *ingest_id,
        *owner; /* connection, ingest_id: NULL for none */
    bool temporary;
    bool file;       /* of a file, whose cells know no null */
    int64_t expires; /* of a temporary one; 0: in DATA_TEMPORARY_HOURS by the database's clock */
} store_dataset;
tab_status store_dataset_add(tab_tx *tx, const char *org, const store_dataset *d, tab_error *err) TAB_CHECKED;
/* The dataset of an ingest id; NOT_FOUND. */
tab_status store_dataset_ingested(tab_tx *tx, tab_arena *a, const char *org, const char *ingest_id,
                                  const char **ret, tab_error *err) TAB_CHECKED;
/* Locks the row; NOT_FOUND with param "id" for a temporary one too, unless `any`. */
tab_status store_dataset_lock(tab_tx *tx, tab_arena *a, const char *org, const char *id, bool any,
                              const char **ret_snapshot, const char **ret_connection,
                              tab_error *err) TAB_CHECKED;
tab_status store_dataset_pin(tab_tx *tx, const char *org, const char *id, bool pinned,
                             tab_error *err) TAB_CHECKED;
/* What was done to its rows on their way, a line each; how its file was read, JSON or "". */
tab_status store_dataset_noted(tab_tx *tx, const char *org, const char *id, tab_str notes, tab_str reading,
                               tab_error *err) TAB_CHECKED;
/* Drops datasets: by id, or by owner (temporary ones). With them go their
 * snapshots' rows, the blocks that nothing else holds, and the connection that feeds them. Needs
 * store_hold_blocks alone. */
tab_status store_dataset_drop(tab_tx *tx, const char *org, const char *id, const char *owner,
                              tab_error *err) TAB_CHECKED;
/* Deletes the rows of a snapshot, unless it is current or pinned. Needs store_hold_blocks alone. */
tab_status store_snapshot_unkeep(tab_tx *tx, const char *org, const char *id, tab_error *err) TAB_CHECKED;

/* ---- snapshots */
/* temporary: of a temporary dataset. */
tab_status store_snapshot_add(tab_tx *tx, const char *org, const char *dataset, const char *id,
                              const char *sync_id, const tab_table *t, const store_keys *keys, bool temporary,
                              tab_error *err) TAB_CHECKED; /* becomes the current one */
/* A snapshot beside the current one, which holds outcomes. answer: what is said when `once` is asked again.
 * */
tab_status store_snapshot_beside(tab_tx *tx, const char *org, const char *dataset, const char *id,
                                 const char *once, tab_str answer, const tab_table *t, const store_keys *keys,
                                 tab_error *err) TAB_CHECKED;
/* The same in steps, for a table of which only pieces are at hand: each of its pieces, packed and sealed by
 * org_keys.h, then the snapshot. bytes: of the packed pieces. */
typedef struct {
    size_t rows, cols, bytes;
} store_size;
tab_status store_piece_add(tab_tx *tx, const char *org, const char *snapshot, block_range at, const block *b,
                           tab_error *err) TAB_CHECKED;
tab_status store_snapshot_pieced(tab_tx *tx, const char *org, const char *dataset, const char *id,
                                 const char *sync_id, const store_size *size, tab_error *err) TAB_CHECKED;
typedef struct {
    const char *id, *dataset, *name;
    uint64_t rows, cols;
    bool kept, pinned, temporary, file;
    int64_t created, last_used;
    const char *reading; /* of its dataset */
} store_snapshot;
/* By snapshot id or dataset id (its current one). NOT_FOUND. */
tab_status store_snapshot_get(tab_tx *tx, tab_arena *a, const char *org, const char *id, store_snapshot *ret,
                              tab_error *err) TAB_CHECKED;
/* Rows [first, first + rows) of columns by index; n 0: all columns. NOT_FOUND when they are no
 * longer kept. */
tab_status store_snapshot_read(tab_tx *tx, tab_arena *a, const char *org, const store_snapshot *s,
                               uint64_t first, uint64_t rows, const uint32_t *columns, size_t n,
                               const char *table_id, const store_keys *keys, const tab_table **ret,
                               tab_error *err) TAB_CHECKED;
tab_status store_used(tab_tx *tx, const char *org, const char *dataset, tab_error *err) TAB_CHECKED;

/* ---- pins */
tab_status store_pins_set(tab_tx *tx, const char *org, const char *endpoint_id, const char *endpoint,
                          const store_snapshot *s, size_t n,
                          tab_error *err) TAB_CHECKED; /* n 0: none any more */
/* Names of the endpoints that pin the dataset, comma between; "" for none. */
tab_status store_pins_names(tab_tx *tx, tab_arena *a, const char *org, const char *dataset, const char **ret,
                            tab_error *err) TAB_CHECKED;
/* The endpoints that pin what a connection feeds, whose dataset is locked: "a, b", or "". */
tab_status store_connection_pins(tab_tx *tx, tab_arena *a, const char *org, const char *connection,
                                 const char **ret, tab_error *err) TAB_CHECKED;

/* ---- what is shown */
tab_status store_object(tab_tx *tx, tab_arena *a, const char *org, const char *id, Tabella__DataObject **ret,
                        tab_error *err) TAB_CHECKED; /* ds_... or conn_...; NOT_FOUND, param "id" */
tab_status store_objects(tab_tx *tx, tab_arena *a, const char *org, uint32_t limit, const char *after,
                         Tabella__ListDataReply *ret, tab_error *err) TAB_CHECKED;

/* seal_blocks.c. Seals up to `most` stored blocks behind *at that no key has sealed, and moves *at on, before
 * each. Nothing, unless datasets are sealed. */
typedef struct {
    char org[TAB_ID];
    uint8_t hash[BLOCK_HASH];
    size_t n; /* bytes of the hash; 0: before all */
} store_seal_place;
tab_status store_seal_blocks(tab_tx *tx, const store_keys *keys, store_seal_place *at, int64_t most,
                             size_t *ret_n, tab_error *err) TAB_CHECKED;

/* upload_pieces.c. A piece of a file on its way; one that is there stays. */
tab_status store_upload_piece_add(tab_tx *tx, const store_keys *keys, const char *org, const char *upload,
                                  int64_t number, tab_str bytes, tab_error *err) TAB_CHECKED;
/* As it came. VALIDATION: it is gone. *own: the data key, unwrapped for the first piece that needs it. */
tab_status store_upload_piece_read(tab_tx *tx, tab_arena *a, const store_keys *keys, tab_keyring **own,
                                   const char *org, const char *upload, int64_t number, tab_str *ret,
                                   tab_error *err) TAB_CHECKED;

/* An audit event of the call into the outbox. actor "": the call's own. */
tab_status store_audit(tab_tx *tx, const tab_call *call, const char *actor, const char *action,
                       const char *subject, const char *detail, tab_error *err) TAB_CHECKED;
/* certificate.c. Before it goes: what of a dataset or a snapshot (of: "snapshots") is stored, as an entry of
 * the audit log (decision 0666). call NULL: a sweep's. */
tab_status store_certify(tab_tx *tx, const tab_call *call, const char *org, const char *actor, const char *of,
                         const char *id, tab_error *err) TAB_CHECKED;

#endif
