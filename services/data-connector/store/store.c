/* See store.h. Snapshots: a dataset's rows as they were, immutable, each block of them stored once.
 *
 *   dataset ──> snapshot, snapshot, snapshot      the newest is the current one
 *                  │
 *                  └──> piece (first row, first column) ──> block (hash): bytes
 *                                                             ^
 *   another snapshot ──> piece ──────────────────────────────-┘    equal rows, one block
 *   pin (endpoint) ──> snapshot                                    what is pinned is not deleted
 *
 * A table is cut at places that depend on the table alone (blocks.h), each piece is compressed, and its block
 * is addressed by a keyed hash of the bytes before compression. The next day's snapshot of a table to which
 * rows were appended shares all full blocks with the one before; a sync without changes stores nothing. The
 * hash's key is the organization's own: two tenants with the same file share nothing, and neither can learn
 * by its hash whether the other has it. Temporary datasets (files sent with a run) are sealed besides,
 * and all others where the operator wants it (org_keys.h).
 *
 * A snapshot is written piece by piece while the table is read, in one transaction: memory holds a few
 * pieces, never the table, and nobody sees a snapshot of which a piece is missing. An upload whose client
 * leaves leaves nothing behind.
 *
 * What holds:
 *
 *   - A snapshot never changes: there is no statement that updates its pieces. What an endpoint pins is
 *     therefore what it was fitted on, for as long as it is pinned.
 *   - A block is deleted only when no piece names it. Writers hold the lock `blocks of ORG` shared, who
 *     deletes holds it alone (store_hold_blocks), so no block vanishes between the look for it and the commit
 *     of the snapshot that uses it.
 *   - A piece that is read must have the size that its row says, decompress to the length that its block
 *     says, and parse as a table of these rows and columns; else the read fails and names the block as
 *     damaged. It never yields other rows.
 *   - Deleting a dataset deletes its pieces and the blocks that nothing else holds, in the same transaction;
 *     id, size and time of a snapshot are kept, so that a report can name what it was made of.
 *
 * Below, one function a statement, or a few that belong together; data.c, connect.c and the sweeper call
 * them. */
#include "services/data-connector/store/store.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/proto.h"
#include "common/rpc/outbox.h"
#include "proto/events.pb-c.h"
#include "services/data-connector/store/blocks.h"

enum { READ_SCRATCH = 1 << 30 };

static tab_status no_such(tab_error *err)
{
    return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such dataset or connection.");
}

tab_status store_hold_blocks(tab_tx *tx, const char *org, bool alone, tab_error *err)
{
    const char *sql = alone ? "SELECT pg_advisory_xact_lock(hashtextextended('blocks of ' || $1, 0))"
                            : "SELECT pg_advisory_xact_lock_shared(hashtextextended('blocks of ' || $1, 0))";
    return tab_tx_query(tx, NULL, err, sql, TAB_P(tab_p_text(org)));
}

/* ---- datasets -------------------------------------------------------------------------------- */

enum { DATASETS_MOST = 10000 }; /* of an organization, temporary ones apart (decision 0157) */

tab_status store_dataset_add(tab_tx *tx, const char *org, const store_dataset *d, tab_error *err)
{
    if (!d->temporary)
        TAB_TRY(tab_tx_room(tx, org,
                            "SELECT count(*) FROM data_connector.dataset WHERE org = $1 AND NOT temporary",
                            DATASETS_MOST, "datasets", err));
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO data_connector.dataset (org, id, name, source, connection, ingest_id, "
                        "temporary, owner, file, expires) "
                        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $11, CASE WHEN $7 THEN "
                        "coalesce($9, now() + $10::int * interval '1 hour') END)",
                        TAB_P(tab_p_text(org), tab_p_text(d->id), tab_p_text(d->name), tab_p_text(d->source),
                              tab_p_text(d->connection), tab_p_text(d->ingest_id), tab_p_bool(d->temporary),
                              tab_p_text(d->owner), d->expires == 0 ? tab_p_null() : tab_p_time(d->expires),
                              tab_p_int(DATA_TEMPORARY_HOURS), tab_p_bool(d->file)));
}

tab_status store_dataset_ingested(tab_tx *tx, tab_arena *a, const char *org, const char *ingest_id,
                                  const char **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id FROM data_connector.dataset WHERE org = $1 AND ingest_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(ingest_id))));
    if (tab_rows_count(r) == 0)
        return TAB_NOT_FOUND;
    *ret = tab_proto_text(a, tab_rows_text(r, 0, 0));
    return TAB_OK;
}

tab_status store_dataset_lock(tab_tx *tx, tab_arena *a, const char *org, const char *id, bool any,
                              const char **ret_snapshot, const char **ret_connection, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT snapshot, connection "
                         "FROM data_connector.dataset "
                         "WHERE org = $1 AND id = $2 AND (NOT temporary OR $3) "
                         "FOR UPDATE",
                         TAB_P(tab_p_text(org), tab_p_text(id), tab_p_bool(any))));
    if (tab_rows_count(r) == 0)
        return no_such(err);
    *ret_snapshot = tab_proto_text(a, tab_rows_text(r, 0, 0));
    *ret_connection = tab_proto_text(a, tab_rows_text(r, 0, 1));
    return TAB_OK;
}

tab_status store_dataset_pin(tab_tx *tx, const char *org, const char *id, bool pinned, tab_error *err)
{
    return tab_tx_query(tx, NULL, err,
                        "UPDATE data_connector.dataset SET pinned = $3 WHERE org = $1 AND id = $2",
                        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_bool(pinned)));
}

tab_status store_dataset_noted(tab_tx *tx, const char *org, const char *id, tab_str notes, tab_str reading,
                               tab_error *err)
{
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE data_connector.dataset SET notes = $3, reading = $4 WHERE org = $1 AND id = $2",
        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_str(notes), tab_p_str(reading)));
}

/* Removes the pieces of snapshots whose rows are dropped, and the blocks that no other snapshot holds; says
 * how many snapshots. */
#define DROP_PIECES                                                                                 \
    "gone AS (DELETE FROM data_connector.piece p USING unkept u WHERE p.org = $1 AND p.snapshot "   \
    "= u.id "                                                                                       \
    "RETURNING p.snapshot, p.hash), freed AS (DELETE FROM data_connector.block b WHERE b.org = $1 " \
    "AND b.hash IN "                                                                                \
    "(SELECT hash FROM gone) AND NOT EXISTS (SELECT 1 FROM data_connector.piece p WHERE p.org = "   \
    "$1 AND "                                                                                       \
    "p.hash = b.hash AND p.snapshot NOT IN (SELECT snapshot FROM gone))) "                          \
    "SELECT count(*) FROM unkept"

/* The datasets meant, each found by an index. */
#define DROPPED                                                                     \
    "dropped AS (SELECT id FROM data_connector.dataset WHERE org = $1 AND id = $2 " \
    "UNION SELECT id FROM data_connector.dataset WHERE org = $1 AND owner = $3 AND temporary)"

enum { DROPPED_AT_ONCE = 500 };

tab_status store_dataset_drop(tab_tx *tx, const char *org, const char *id, const char *owner, tab_error *err)
{
    /* A page of each dataset's at a time, in an order that only the index by datasets has: whoever drops a
     * few reads a few, however many the others have. */
    for (int64_t n = DROPPED_AT_ONCE; n >= DROPPED_AT_ONCE;) {
        TAB_AUTO(tab_rows) *r = NULL;
        TAB_TRY(tab_tx_query(
            tx, &r, err,
            "WITH " DROPPED ", unkept AS (UPDATE data_connector.snapshot s "
            "SET kept = false "
            "WHERE s.org = $1 AND s.id = ANY(ARRAY(SELECT k.id FROM dropped d CROSS JOIN "
            "LATERAL (SELECT o.id FROM data_connector.snapshot o "
            "WHERE o.org = $1 AND o.dataset = d.id AND o.kept "
            "ORDER BY o.sync_id LIMIT $4) k)) "
            "RETURNING s.id), " DROP_PIECES,
            TAB_P(tab_p_text(org), tab_p_text(id), tab_p_text(owner), tab_p_int(DROPPED_AT_ONCE))));
        n = tab_rows_int(r, 0, 0);
    }
    return tab_tx_query(tx, NULL, err,
                        "WITH " DROPPED ", gone AS (DELETE "
                        "FROM data_connector.dataset d "
                        "WHERE d.org = $1 AND d.id = ANY(ARRAY(SELECT id FROM dropped)) "
                        "RETURNING d.connection) DELETE "
                        "FROM data_connector.connection c USING gone "
                        "WHERE c.org = $1 AND c.id = gone.connection",
                        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_text(owner)));
}

tab_status store_snapshot_unkeep(tab_tx *tx, const char *org, const char *id, tab_error *err)
{
    return tab_tx_query(
        tx, NULL, err,
        "WITH unkept AS (UPDATE data_connector.snapshot s "
        "SET kept = false "
        "WHERE s.org = $1 AND s.id = $2 AND s.kept AND NOT EXISTS (SELECT 1 "
        "FROM data_connector.dataset d "
        "WHERE d.org = $1 AND d.id = s.dataset AND d.snapshot = s.id) AND NOT EXISTS (SELECT 1 "
        "FROM data_connector.pin p "
        "WHERE p.org = $1 AND p.dataset = s.dataset AND p.snapshot = s.id) "
        "RETURNING s.id), " DROP_PIECES,
        TAB_P(tab_p_text(org), tab_p_text(id)));
}

/* ---- snapshots ------------------------------------------------------------------------------- */

tab_status store_piece_add(tab_tx *tx, const char *org, const char *snapshot, block_range at, const block *b,
                           tab_error *err)
{
    tab_param hash = tab_p_bytes((tab_str){ (const char *)b->hash, BLOCK_HASH });
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "INSERT INTO data_connector.block (org, hash, raw, bytes, sealed) "
                         "VALUES ($1, $2, $3, $4, $5) "
                         "ON CONFLICT (org, hash) DO NOTHING",
                         TAB_P(tab_p_text(org), hash, tab_p_int((int64_t)b->raw), tab_p_bytes(b->bytes),
                               tab_p_bool(block_sealed(b->bytes)))));
    return tab_tx_query(
        tx, NULL, err,
        "INSERT INTO data_connector.piece (org, snapshot, first_row, first_col, rows, cols, hash) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7)",
        TAB_P(tab_p_text(org), tab_p_text(snapshot), tab_p_int((int64_t)at.first_row),
              tab_p_int((int64_t)at.first_col), tab_p_int((int64_t)at.rows), tab_p_int((int64_t)at.cols),
              hash));
}

static tab_status put_piece(tab_tx *tx, const char *org, const char *snapshot, const tab_table *t,
                            block_range at, const org_keys *own, const tab_run_keys *temporary, size_t *bytes,
                            tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(READ_SCRATCH);
    block b;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(block_write(a, t, at, own->address, &b, err));
    *bytes += b.bytes.n;
    if (temporary != NULL) {
        tab_str name = { (char *)b.hash, BLOCK_HASH };
        TAB_TRY(tab_run_seal(temporary, a, b.bytes, org_keys_context(a, org, name), &b.bytes, err));
    }
    TAB_TRY(org_keys_seal(own->data, a, org, &b, err));
    return store_piece_add(tx, org, snapshot, at, &b, err);
}

static tab_status put_snapshot(tab_tx *tx, const char *org, const char *dataset, const char *id,
                               const char *sync_id, const store_size *size, tab_error *err)
{
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO data_connector.snapshot (org, id, dataset, sync_id, rows, cols, bytes) "
                        "VALUES ($1, $2, $3, $4, $5, $6, $7)",
                        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_text(dataset), tab_p_text(sync_id),
                              tab_p_int((int64_t)size->rows), tab_p_int((int64_t)size->cols),
                              tab_p_int((int64_t)size->bytes)));
}

tab_status store_snapshot_pieced(tab_tx *tx, const char *org, const char *dataset, const char *id,
                                 const char *sync_id, const store_size *size, tab_error *err)
{
    TAB_TRY(put_snapshot(tx, org, dataset, id, sync_id, size, err));
    return tab_tx_query(tx, NULL, err,
                        "UPDATE data_connector.dataset SET snapshot = $3 WHERE org = $1 AND id = $2",
                        TAB_P(tab_p_text(org), tab_p_text(dataset), tab_p_text(id)));
}

static tab_status put_pieces(tab_tx *tx, const char *org, const char *id, const tab_table *t,
                             const store_keys *keys, bool temporary, store_size *size, tab_error *err)
{
    TAB_AUTO(org_keys) own = { .data = NULL };
    block_range at = { 0 };
    *size = (store_size){ t->rows, t->cols, 0 };
    if (temporary)
        randombytes_buf(
            own.address,
            BLOCK_KEY); /* its blocks are shared with nothing, and tell nothing of what they hold */
    else
        TAB_TRY(org_keys_get(tx, org, keys, &own, err));
    while (block_next(t, &at))
        TAB_TRY(put_piece(tx, org, id, t, at, &own, temporary ? &keys->run : NULL, &size->bytes, err));
    return TAB_OK;
}

tab_status store_snapshot_add(tab_tx *tx, const char *org, const char *dataset, const char *id,
                              const char *sync_id, const tab_table *t, const store_keys *keys, bool temporary,
                              tab_error *err)
{
    store_size size;
    TAB_TRY(put_pieces(tx, org, id, t, keys, temporary, &size, err));
    return store_snapshot_pieced(tx, org, dataset, id, sync_id, &size, err);
}

tab_status store_snapshot_beside(tab_tx *tx, const char *org, const char *dataset, const char *id,
                                 const char *once, tab_str answer, const tab_table *t, const store_keys *keys,
                                 tab_error *err)
{
    store_size size;
    TAB_TRY(put_pieces(tx, org, id, t, keys, false, &size, err));
    TAB_TRY(put_snapshot(tx, org, dataset, id, once, &size, err));
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE data_connector.snapshot SET diff = $3, outcomes = true WHERE org = $1 AND id = $2",
        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_bytes(answer)));
}

/* The current snapshot of a dataset: a look-up of its own, so that each of the two has its key. */
static tab_status current_of(tab_tx *tx, tab_arena *a, const char *org, const char *dataset, const char **ret,
                             tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT snapshot FROM data_connector.dataset WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(dataset))));
    if (tab_rows_count(r) == 0 || tab_rows_null(r, 0, 0))
        return tab_fail(err, TAB_NOT_FOUND, "snapshot", "There is no such snapshot.");
    *ret = tab_proto_text(a, tab_rows_text(r, 0, 0));
    return TAB_OK;
}

tab_status store_snapshot_get(tab_tx *tx, tab_arena *a, const char *org, const char *id, store_snapshot *ret,
                              tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    if (strncmp(id, "ds_", 3) == 0)
        TAB_TRY(current_of(tx, a, org, id, &id, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT s.id, s.dataset, coalesce(d.name, ''), s.rows, s.cols, s.kept, s.created, "
                         "d.last_used, coalesce(d.temporary, false), coalesce(d.pinned, "
                         "false) OR EXISTS (SELECT 1 "
                         "FROM data_connector.pin p "
                         "WHERE p.org = $1 AND p.dataset = s.dataset), coalesce(d.file, false), "
                         "coalesce(d.reading, '') FROM data_connector.snapshot s "
                         "LEFT JOIN data_connector.dataset d ON d.org = s.org AND d.id = s.dataset "
                         "WHERE s.org = $1 AND s.id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "snapshot", "There is no such snapshot.");
    *ret = (store_snapshot){ tab_proto_text(a, tab_rows_text(r, 0, 0)),
                             tab_proto_text(a, tab_rows_text(r, 0, 1)),
                             tab_proto_text(a, tab_rows_text(r, 0, 2)),
                             (uint64_t)tab_rows_int(r, 0, 3),
                             (uint64_t)tab_rows_int(r, 0, 4),
                             tab_rows_bool(r, 0, 5),
                             tab_rows_bool(r, 0, 9),
                             tab_rows_bool(r, 0, 8),
                             tab_rows_bool(r, 0, 10),
                             tab_rows_time(r, 0, 6),
                             tab_rows_time(r, 0, 7),
                             tab_proto_text(a, tab_rows_text(r, 0, 11)) };
    return TAB_OK;
}

/* What opens blocks of one read: *own is unwrapped when the first block needs it. */
typedef struct {
    const store_keys *keys;
    tab_keyring *own;
} openers;

static void openers_freep(openers *o)
{
    tab_keyring_free(o->own);
}

static tab_status open_block(tab_tx *tx, tab_arena *a, const char *org, openers *o, tab_str hash,
                             tab_str stored, tab_str *ret, tab_error *err)
{
    tab_str context = org_keys_context(a, org, hash);
    if (!tab_data_sealed(stored))
        return tab_run_open(&o->keys->run, a, stored, context, ret, err);
    if (o->own == NULL)
        TAB_TRY(tab_data_key_read(tx, &o->keys->own, org, &o->own, err));
    return tab_unseal(o->own, a, stored, context, ret, err);
}

static tab_status join_piece(tab_tx *tx, const char *org, block_joiner *j, block_range at, tab_str hash,
                             openers *o, tab_error *err)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(READ_SCRATCH);
    TAB_AUTO(tab_rows) *r = NULL;
    const tab_table *piece;
    if (scratch == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query_bytes(
        tx, &r, err, "SELECT raw::text, bytes FROM data_connector.block WHERE org = $1 AND hash = $2",
        TAB_P(tab_p_text(org), tab_p_bytes(hash))));
    if (tab_rows_count(r) != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a snapshot's block is missing");
    tab_str bytes;
    TAB_TRY(open_block(tx, scratch, org, o, hash, tab_rows_bytes(r, 0, 1, scratch), &bytes, err));
    TAB_TRY(block_read(scratch, bytes, (size_t)strtoull(tab_rows_text(r, 0, 0), NULL, 10), &piece, err));
    return block_join(j, at, piece, err);
}

tab_status store_snapshot_read(tab_tx *tx, tab_arena *a, const char *org, const store_snapshot *s,
                               uint64_t first, uint64_t rows, const uint32_t *columns, size_t n,
                               const char *table_id, const store_keys *keys, const tab_table **ret,
                               tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_AUTO(tab_arena) *list = tab_arena_new(64 << 20);
    if (list == NULL)
        return tab_no_memory(err);
    if (!s->kept)
        return tab_fail(err, TAB_NOT_FOUND, "snapshot", "The rows of this snapshot are no longer stored.");
    if (first > s->rows || rows > s->rows - first)
        return tab_fail(err, TAB_VALIDATION, "rows", "The snapshot has %" PRIu64 " rows.", s->rows);
    for (size_t i = 0; i < n; i++)
        if (columns[i] >= s->cols)
            return tab_fail(err, TAB_VALIDATION, "columns", "The snapshot has %" PRIu64 " columns.", s->cols);
    if (n == 0) {
        uint32_t *all = tab_arena_new_of(a, uint32_t, s->cols);
        if (all == NULL)
            return tab_no_memory(err);
        for (size_t i = 0; i < s->cols; i++)
            all[i] = (uint32_t)i;
        columns = all;
        n = s->cols;
    }
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT first_row, rows, first_col, cols, hash "
                         "FROM data_connector.piece "
                         "WHERE org = $1 AND snapshot = $2 AND ((first_row < $4 "
                         "AND first_row + rows > $3) OR ($3 >= $4 AND first_row = 0)) "
                         "ORDER BY first_row, first_col",
                         TAB_P(tab_p_text(org), tab_p_text(s->id), tab_p_int((int64_t)first),
                               tab_p_int((int64_t)(first + rows)))));
    block_joiner *j = block_joiner_new(a, first, rows, columns, n);
    if (j == NULL)
        return tab_no_memory(err);
    TAB_AUTO(openers) o = { .keys = keys };
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        block_range at = { (size_t)tab_rows_int(r, i, 0), (size_t)tab_rows_int(r, i, 1),
                           (size_t)tab_rows_int(r, i, 2), (size_t)tab_rows_int(r, i, 3) };
        bool wanted = false;
        for (size_t k = 0; k < n && !wanted; k++)
            wanted = columns[k] >= at.first_col && columns[k] < at.first_col + at.cols;
        if (wanted)
            TAB_TRY(join_piece(tx, org, j, at, tab_rows_bytes(r, i, 4, list), &o, err));
    }
    return block_joined(j, tab_str_of(table_id), ret, err);
}

tab_status store_used(tab_tx *tx, const char *org, const char *dataset, tab_error *err)
{
    return tab_tx_query(tx, NULL, err,
                        "UPDATE data_connector.dataset "
                        "SET last_used = clock_timestamp() "
                        "WHERE org = $1 AND id = $2",
                        TAB_P(tab_p_text(org), tab_p_text(dataset)));
}

/* ---- pins ------------------------------------------------------------------------------------ */

tab_status store_pins_set(tab_tx *tx, const char *org, const char *endpoint_id, const char *endpoint,
                          const store_snapshot *s, size_t n, tab_error *err)
{
    /* an endpoint uses what it pins until it lets go of it */
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE data_connector.dataset "
                         "SET last_used = clock_timestamp() "
                         "WHERE org = $1 AND id IN (SELECT dataset "
                         "FROM data_connector.pin "
                         "WHERE org = $1 AND endpoint_id = $2)",
                         TAB_P(tab_p_text(org), tab_p_text(endpoint_id))));
    TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM data_connector.pin WHERE org = $1 AND endpoint_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(endpoint_id))));
    for (size_t i = 0; i < n; i++)
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "INSERT INTO data_connector.pin (org, endpoint_id, snapshot, dataset, endpoint) "
                             "VALUES ($1, $2, $3, $4, $5) "
                             "ON CONFLICT DO NOTHING",
                             TAB_P(tab_p_text(org), tab_p_text(endpoint_id), tab_p_text(s[i].id),
                                   tab_p_text(s[i].dataset), tab_p_text(endpoint))));
    return TAB_OK;
}

tab_status store_pins_names(tab_tx *tx, tab_arena *a, const char *org, const char *dataset, const char **ret,
                            tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT coalesce(string_agg(DISTINCT endpoint, ', '), '') "
                         "FROM data_connector.pin "
                         "WHERE org = $1 AND dataset = $2",
                         TAB_P(tab_p_text(org), tab_p_text(dataset))));
    *ret = tab_proto_text(a, tab_rows_text(r, 0, 0));
    return TAB_OK;
}

tab_status store_connection_pins(tab_tx *tx, tab_arena *a, const char *org, const char *connection,
                                 const char **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "SELECT 1 "
                         "FROM data_connector.dataset "
                         "WHERE org = $1 AND connection = $2 "
                         "FOR UPDATE",
                         TAB_P(tab_p_text(org), tab_p_text(connection))));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT coalesce(string_agg(DISTINCT p.endpoint, ', '), '') "
                         "FROM data_connector.pin p "
                         "JOIN data_connector.dataset d ON d.org = p.org AND d.id = p.dataset "
                         "WHERE d.org = $1 AND d.connection = $2",
                         TAB_P(tab_p_text(org), tab_p_text(connection))));
    *ret = tab_proto_text(a, tab_rows_text(r, 0, 0));
    return TAB_OK;
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void split(tab_arena *a, const char *text, char by, char ***ret, size_t *ret_n)
{
    size_t n = 0, most = 1;
    for (const char *p = text; *p != '\0'; p++)
        most += *p == by;
    char **out = tab_arena_new_of(a, char *, most);
    while (out != NULL && *text != '\0') {
        const char *end = strchrnul(text, by);
        out[n++] = (char *)tab_arena_copy(a, (tab_str){ text, (size_t)(end - text) }).p;
        text = end + (*end == by);
    }
    *ret = out;
    *ret_n = n;
}

static void read_dataset(tab_arena *a, const tab_rows *r, Tabella__DataObject *o)
{
    o->id = tab_proto_text(a, tab_rows_text(r, 0, 0));
    o->name = tab_proto_text(a, tab_rows_text(r, 0, 1));
    o->source = tab_proto_text(a, tab_rows_text(r, 0, 2));
    o->snapshot = tab_proto_text(a, tab_rows_text(r, 0, 3));
    o->snapshot_at = tab_rows_time(r, 0, 4);
    o->rows = (uint64_t)tab_rows_int(r, 0, 5);
    o->cols = (uint64_t)tab_rows_int(r, 0, 6);
    o->cells = o->rows * o->cols;
    o->size_bytes = (uint64_t)tab_rows_int(r, 0, 7);
    o->created_at = tab_rows_time(r, 0, 9);
    split(a, tab_rows_text(r, 0, 10), ',', &o->pinned_by, &o->n_pinned_by);
    o->pinned = tab_rows_bool(r, 0, 8) || o->n_pinned_by > 0;
    split(a, tab_rows_text(r, 0, 11), '\n', &o->notes, &o->n_notes);
    o->reading = tab_proto_text(a, tab_rows_text(r, 0, 12));
}

/* Over what its dataset says. */
static void read_connection(tab_arena *a, const tab_rows *c, Tabella__DataObject *o)
{
    o->dataset = tab_proto_text(a, tab_rows_text(c, 0, 3));
    o->id = tab_proto_text(a, tab_rows_text(c, 0, 0));
    o->name = tab_proto_text(a, tab_rows_text(c, 0, 1));
    o->source = tab_proto_text(a, tab_rows_text(c, 0, 2));
    split(a, tab_rows_text(c, 0, 4), ',', &o->credentials_set, &o->n_credentials_set);
    o->created_at = tab_rows_time(c, 0, 5);
    o->last_sync_at = tab_rows_time(c, 0, 6);
    if (o->last_sync_at != 0)
        o->last_sync_outcome = tab_proto_text(a, tab_rows_bool(c, 0, 7) ? "ok" : "failed");
    o->last_sync_message = tab_proto_text(a, tab_rows_text(c, 0, 8));
}

tab_status store_object(tab_tx *tx, tab_arena *a, const char *org, const char *id, Tabella__DataObject **ret,
                        tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_AUTO(tab_rows) *c = NULL;
    bool connection = strncmp(id, "conn_", 5) == 0;
    if (connection)
        TAB_TRY(
            tab_tx_query(tx, &c, err,
                         "SELECT id, name, source, dataset, members, created, sync_at, sync_good, sync_said "
                         "FROM data_connector.connection "
                         "WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    if (connection && tab_rows_count(c) == 0)
        return no_such(err);
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT d.id, d.name, d.source, d.snapshot, s.created, s.rows, s.cols, s.bytes, d.pinned, "
        "d.created, (SELECT coalesce(string_agg(DISTINCT p.endpoint_id, ','), '') "
        "FROM data_connector.pin p "
        "WHERE p.org = $1 AND p.dataset = d.id), d.notes, d.reading "
        "FROM data_connector.dataset d "
        "LEFT JOIN data_connector.snapshot s ON s.org = d.org AND s.id = d.snapshot "
        "WHERE d.org = $1 AND d.id = $2 AND NOT d.temporary",
        TAB_P(tab_p_text(org), tab_p_text(connection ? tab_rows_text(c, 0, 3) : id))));
    if (!connection && tab_rows_count(r) == 0)
        return no_such(err);
    Tabella__DataObject *o = tab_arena_new_of(a, Tabella__DataObject, 1);
    if (o == NULL)
        return tab_no_memory(err);
    tabella__data_object__init(o);
    if (tab_rows_count(r) == 1)
        read_dataset(a, r, o);
    if (connection)
        read_connection(a, c, o);
    o->kind = tab_proto_text(a, connection ? "connection" : "dataset");
    if (tab_arena_full(a))
        return tab_no_memory(err);
    *ret = o;
    return TAB_OK;
}

/* Newest first. A page begins behind (time, id) of the last entry shown, so that datasets that are added
 * meanwhile neither repeat nor hide one. */
tab_status store_objects(tab_tx *tx, tab_arena *a, const char *org, uint32_t limit, const char *after,
                         Tabella__ListDataReply *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_AUTO(tab_rows) *total = NULL;
    char *id = NULL;
    int64_t at = strtoll(after, &id, 10);
    if (after[0] != '\0' && (id == NULL || *id != ':'))
        return tab_fail(err, TAB_VALIDATION, "cursor", "The cursor is invalid; start again without one.");
    TAB_TRY(tab_tx_query(tx, &total, err,
                         "SELECT (SELECT count(*) "
                         "FROM data_connector.dataset "
                         "WHERE org = $1 AND NOT temporary) + (SELECT count(*) "
                         "FROM data_connector.connection "
                         "WHERE org = $1)",
                         TAB_P(tab_p_text(org))));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id, (extract(epoch "
                         "FROM created) * 1000000)::bigint "
                         "FROM (SELECT id, created "
                         "FROM data_connector.dataset "
                         "WHERE org = $1 AND NOT temporary "
                         "UNION ALL "
                         "SELECT id, created "
                         "FROM data_connector.connection "
                         "WHERE org = $1) x "
                         "WHERE $2::timestamptz IS NULL OR (created, id) < ($2::timestamptz, $3::text) "
                         "ORDER BY created DESC, id DESC "
                         "LIMIT $4",
                         TAB_P(tab_p_text(org), after[0] == '\0' ? tab_p_null() : tab_p_time(at),
                               tab_p_text(after[0] == '\0' ? NULL : id + 1), tab_p_int((int64_t)limit + 1))));
    size_t n = tab_rows_count(r), shown = n > limit ? limit : n;
    ret->data = tab_arena_new_of(a, Tabella__DataObject *, shown);
    if (ret->data == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < shown; i++)
        TAB_TRY(store_object(tx, a, org, tab_rows_text(r, i, 0), &ret->data[ret->n_data++], err));
    ret->total = (uint64_t)tab_rows_int(total, 0, 0);
    if (n > shown && shown > 0) {
        char *next =
            tab_arena_printf(a, "%s:%s", tab_rows_text(r, shown - 1, 1), tab_rows_text(r, shown - 1, 0));
        if (next == NULL)
            return tab_no_memory(err);
        ret->next = next;
    }
    return TAB_OK;
}

tab_status store_audit(tab_tx *tx, const tab_call *call, const char *actor, const char *action,
                       const char *subject, const char *detail, tab_error *err)
{
    char id[TAB_ID];
    Tabella__AuditEvent e = TABELLA__AUDIT_EVENT__INIT;
    tab_id_new(id, "aud_");
    e.event_id = id;
    e.org_id = (char *)call->org;
    e.at_us = tab_now_us();
    e.actor = (char *)(actor[0] != '\0' ? actor : call->actor);
    e.action = (char *)action;
    e.subject = (char *)subject;
    e.request_id = (char *)call->request_id;
    e.detail = (char *)detail;
    e.address = (char *)call->address;
    return tab_outbox_put(tx, "data_connector", id, "tabella.event.audit", call->org, &e.base, err);
}
