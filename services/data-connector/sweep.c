/* What data-connector drops by itself: temporary datasets whose time is over, rows of old snapshots that
 * nobody uses, uploads that nobody went on with. And what snapshots take of the disk, which is told.
 *
 * Datasets and snapshots go one at a time, the oldest first, from where the turn before stopped: one that is
 * being written to (its organization's blocks are held), or that cannot be dropped, keeps nobody waiting
 * and is looked at again when all others were. */
#include <stdio.h>

#include "common/base/metrics.h"
#include "common/pg/sweep.h"
#include "common/pg/tally.h"
#include "common/rpc/retention.h"
#include "services/data-connector/data.h"

enum { AT_ONCE = 4, LOOKED_AT = 200, DROP_MS = 60000, EVERY_MS = 30000 };

/* Where the last batch stopped. */
typedef struct {
    int64_t at;
    char id[TAB_ID];
} place;

/* The organization's blocks for this transaction, unless somebody has them. */
static tab_status try_blocks(tab_tx *tx, const char *org, bool *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT pg_try_advisory_xact_lock(hashtextextended('blocks of ' || $1, 0))",
                         TAB_P(tab_p_text(org))));
    *ret = tab_rows_bool(r, 0, 0);
    return TAB_OK;
}

/* Moves on before anything is done, so that what fails is passed over; behind the last one to the first. */
static void move_on(place *p, const tab_rows *r, int64_t most)
{
    size_t n = tab_rows_count(r);
    *p = (place){ 0 };
    if (n < (size_t)most)
        return;
    p->at = tab_rows_time(r, n - 1, 2);
    snprintf(p->id, sizeof p->id, "%s", tab_rows_text(r, n - 1, 1));
}

static tab_status drop_datasets(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    static place p;
    TAB_AUTO(tab_rows) *r = NULL;
    (void)arg;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT org, id, expires FROM data_connector.dataset WHERE temporary "
                         "AND expires < now() AND (expires, id) > ($1, $2) ORDER BY expires, id LIMIT $3",
                         TAB_P(tab_p_time(p.at), tab_p_text(p.id), tab_p_int(most))));
    move_on(&p, r, most);
    *ret_n = tab_rows_count(r);
    for (size_t i = 0; i < *ret_n; i++) {
        bool ours = false;
        TAB_TRY(try_blocks(tx, tab_rows_text(r, i, 0), &ours, err));
        if (ours)
            TAB_TRY(store_dataset_drop(tx, tab_rows_text(r, i, 0), tab_rows_text(r, i, 1), NULL, err));
    }
    return TAB_OK;
}

static tab_status drop_rows(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    static place p;
    TAB_AUTO(tab_rows) *r = NULL;
    const data_service *self = arg;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT s.org, s.id, s.created, NOT EXISTS (SELECT 1 FROM data_connector.dataset d "
        "WHERE d.org = s.org AND d.id = s.dataset AND d.snapshot = s.id) AND NOT EXISTS "
        "(SELECT 1 FROM data_connector.pin p WHERE p.org = s.org AND p.dataset = s.dataset AND p.snapshot = "
        "s.id) "
        "FROM data_connector.snapshot s WHERE s.kept AND s.created < now() - make_interval(days => $1::int) "
        "AND (s.created, s.id) > ($2, $3) ORDER BY s.created, s.id LIMIT $4",
        TAB_P(tab_p_int(self->keep_days), tab_p_time(p.at), tab_p_text(p.id), tab_p_int(most))));
    move_on(&p, r, most);
    *ret_n = tab_rows_count(r);
    for (size_t i = 0, dropped = 0; i < *ret_n && dropped < AT_ONCE; i++) {
        bool ours = tab_rows_bool(r, i, 3);
        if (ours)
            TAB_TRY(try_blocks(tx, tab_rows_text(r, i, 0), &ours, err));
        if (!ours)
            continue;
        TAB_TRY(store_snapshot_unkeep(tx, tab_rows_text(r, i, 0), tab_rows_text(r, i, 1), err));
        if (++dropped == AT_ONCE && i + 1 < *ret_n) { /* the others with the next batch */
            p.at = tab_rows_time(r, i, 2);
            snprintf(p.id, sizeof p.id, "%s", tab_rows_text(r, i, 1));
            *ret_n = (size_t)most;
        }
    }
    return TAB_OK;
}

static tab_status drop_uploads(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    const data_service *self = arg;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "DELETE FROM data_connector.upload WHERE ctid = ANY(ARRAY(SELECT ctid FROM data_connector.upload "
        "WHERE touched < now() - make_interval(secs => $1::int) AND (owner = '' OR touched < now() - "
        "make_interval(hours => $2::int)) AND (NOT resumes OR touched < now() - "
        "make_interval(secs => $4::int)) ORDER BY touched LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING 1",
        TAB_P(tab_p_int(self->upload_idle_s), tab_p_int(DATA_TEMPORARY_HOURS), tab_p_int(most),
              tab_p_int(self->upload_resume_s))));
    *ret_n = tab_rows_count(r);
    return TAB_OK;
}

/* Snapshots past their organization's retention (decision 0665), a few at once; what is current or pinned
 * stays, as above. */
static tab_status drop_retained(tab_tx *tx, void *arg, const char *orgs, const char *days, int64_t most,
                                size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    (void)arg;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT x.org, x.id FROM unnest($1::text[], $2::int[]) AS p(org, days) CROSS JOIN LATERAL "
        "(SELECT s.org, s.id FROM data_connector.snapshot s WHERE s.org = p.org AND s.kept "
        "AND s.created < now() - make_interval(days => p.days) "
        "AND NOT EXISTS (SELECT FROM data_connector.dataset d WHERE d.org = s.org AND d.id = s.dataset "
        "AND (d.snapshot = s.id OR d.temporary)) AND NOT EXISTS (SELECT FROM data_connector.pin i "
        "WHERE i.org = s.org AND i.dataset = s.dataset AND i.snapshot = s.id) "
        "ORDER BY s.created LIMIT $3) x LIMIT $3",
        TAB_P(tab_p_text(orgs), tab_p_text(days), tab_p_int(most))));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        const char *org = tab_rows_text(r, i, 0), *id = tab_rows_text(r, i, 1);
        bool ours = false;
        TAB_TRY(try_blocks(tx, org, &ours, err));
        if (!ours)
            continue; /* somebody writes: with a later turn */
        TAB_TRY(store_certify(tx, NULL, org, "", "snapshots", id, err));
        TAB_TRY(store_snapshot_unkeep(tx, org, id, err));
        ++*ret_n;
    }
    return TAB_OK;
}

static tab_status retained(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    static tab_retention r = { .what = "snapshots", .batch = drop_retained };
    const data_service *self = arg;
    return tab_retention_batch(&r, self->rpc, tx, "data_connector", NULL, most, ret_n, err);
}

/* What snapshots take of the disk, TOAST and indexes included: a look at files, however many rows. */
static tab_status tell_size(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    (void)arg;
    (void)most;
    *ret_n = 0;
    TAB_TRY(
        tab_tx_query(tx, &rows, err, "SELECT pg_total_relation_size('data_connector.block')", TAB_P_NONE));
    tab_metric_set(tab_gauge("tabella_snapshot_bytes", "Disk that snapshots take", NULL),
                   (double)tab_rows_int(rows, 0, 0));
    return TAB_OK;
}

static tab_status seal_blocks(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    static store_seal_place at;
    const data_service *self = arg;
    return store_seal_blocks(tx, &self->keys, &at, most, ret_n, err);
}

static tab_status fold(tab_tx *tx, void *arg, int64_t most, size_t *n, tab_error *err)
{
    (void)arg;
    return tab_tally_fold(tx, "data_connector", most, n, err);
}

static tab_sweep sweeps[] = {
    { .name = "uploads given up",
      .every_ms = EVERY_MS,
      .batch = drop_uploads,
      .most = AT_ONCE,
      .batch_ms = DROP_MS },
    { .name = "expired datasets",
      .every_ms = EVERY_MS,
      .batch = drop_datasets,
      .most = AT_ONCE,
      .batch_ms = DROP_MS },
    { .name = "old snapshots",
      .every_ms = EVERY_MS,
      .batch = drop_rows,
      .most = LOOKED_AT,
      .batch_ms = DROP_MS },
    { .name = "snapshots past their retention",
      .every_ms = TAB_RETENTION_MS,
      .batch = retained,
      .most = AT_ONCE,
      .batch_ms = DROP_MS },
    { .name = "blocks that are not sealed",
      .every_ms = EVERY_MS,
      .batch = seal_blocks,
      .most = AT_ONCE,
      .batch_ms = DROP_MS },
    { .name = "counts of snapshots", .batch = fold, .most = 1000, .idle_ms = 8000 },
    { .name = "size of snapshots", .every_ms = EVERY_MS, .batch = tell_size },
};

tab_sweeper *data_sweeps(data_service *self)
{
    return tab_sweeper_open(self->pg, sweeps, sizeof sweeps / sizeof *sweeps, self);
}
