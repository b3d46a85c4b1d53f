/* See state_store.h; serve_maker.c reads and writes states, deleted_endpoints.c drops them. */
#include "services/inference/states/state_store.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"

/* MOST_ROW: bytes of a state that PostgreSQL keeps; larger ones stay on the disks. KEPT: of one endpoint and
 * release, for a pass may fit the next while the last is served. */
enum { READ_MS = 2000, WRITE_MS = 5000, MOST_ROW = 64 << 20, KEPT = 2, NAME = 300 };

void state_store_key(const char *org_key, uint8_t ret[STATE_KEY])
{
    uint8_t first[TAB_ORG_KEYS][TAB_ORG_KEY] = { { 0 } };
    (void)tab_org_keys_read(org_key == NULL ? "" : org_key, first);
    crypto_generichash(ret, STATE_KEY, (const uint8_t *)"fitted states", 13, first[0], TAB_ORG_KEY);
    sodium_memzero(first, sizeof first);
}

tab_str state_owner_of(const char *key, tab_str *ret_org, tab_str *ret_endpoint)
{
    const char *first = strchr(key, '/'), *second = first == NULL ? NULL : strchr(first + 1, '/');
    if (second == NULL)
        return (tab_str){ key, 0 };
    *ret_org = (tab_str){ key, (size_t)(first - key) };
    *ret_endpoint = (tab_str){ first + 1, (size_t)(second - first) - 1 };
    return (tab_str){ key, (size_t)(second - key) + 1 };
}

/* A key's parts as texts. */
typedef struct {
    tab_str owner;
    char org[80], endpoint[80];
    const char *name;   /* what follows the owner */
    char on_disk[NAME]; /* with the release */
} parts;

static bool parts_of(const char *key, parts *p)
{
    tab_str org, endpoint;
    p->owner = state_owner_of(key, &org, &endpoint);
    if (p->owner.n == 0 || org.n >= sizeof p->org || endpoint.n >= sizeof p->endpoint)
        return false;
    snprintf(p->org, sizeof p->org, "%.*s", TAB_STR(org));
    snprintf(p->endpoint, sizeof p->endpoint, "%.*s", TAB_STR(endpoint));
    p->name = key + p->owner.n;
    snprintf(p->on_disk, sizeof p->on_disk, "%s %s", p->name, state_release());
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The row's bytes, malloc'd; p NULL: there is none. */
static tab_status read_row(state_store *s, const parts *p, tab_str *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    *ret = (tab_str){ NULL, 0 };
    TAB_TRY(tab_tx_begin(s->pg, p->org, tab_in_ms(READ_MS), &tx, err));
    TAB_TRY(tab_tx_query_bytes(tx, &rows, err,
                               "SELECT bytes FROM inference.state WHERE org = $1 AND endpoint_id = $2 AND "
                               "name = $3 AND release = $4",
                               TAB_P(tab_p_text(p->org), tab_p_text(p->endpoint), tab_p_text(p->name),
                                     tab_p_text(state_release()))));
    if (tab_rows_count(rows) == 0)
        return TAB_OK;
    tab_str row = tab_rows_bytes(rows, 0, 0, NULL);
    char *to = malloc(row.n + 1);
    if (to == NULL)
        return tab_no_memory(err);
    memcpy(to, row.p, row.n);
    *ret = (tab_str){ to, row.n };
    return TAB_OK;
}

/* A state's place as sealed bytes are bound to it: its key and release. */
static const char *place_of(const parts *p, char ret[2 * NAME])
{
    snprintf(ret, 2 * NAME, "%.*s%s", TAB_STR(p->owner), p->on_disk);
    return ret;
}

/* *ret: NULL where the bytes are no state that can be read. */
static tab_status open_bytes(state_store *s, const parts *p, const char *key, tab_str bytes,
                             serve_state **ret, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = state_seal_arena(bytes.n);
    char place[2 * NAME];
    tab_error why = { 0 };
    if (a == NULL)
        return tab_no_memory(err);
    tab_status st =
        state_unseal(s->pg, &s->own, a, p->org, tab_str_of(place_of(p, place)), bytes, &bytes, &why);
    if (st == TAB_OK)
        st = state_read(bytes, tab_str_of(key), s->key, ret, &why);
    if (st == TAB_OK)
        return TAB_OK;
    *ret = NULL;
    if (st != TAB_VALIDATION)
        return tab_fail(err, st, why.param, "%s", why.message);
    atomic_fetch_add(&s->broken, 1);
    tab_log_fields(TAB_WARN, "a kept state cannot be read, and is fitted again", "state", key, "why",
                   why.message, NULL);
    return TAB_OK;
}

/* A row that is not sealed yet stays off the disk. */
static void to_disk(state_store *s, const parts *p, tab_str bytes)
{
    if (s->own.master == NULL || tab_data_sealed(bytes))
        (void)state_disk_write(s->disk, p->owner, tab_str_of(p->on_disk), bytes);
}

tab_status state_store_read(state_store *s, const char *key, serve_state **ret, tab_error *err)
{
    parts p;
    *ret = NULL;
    if (!parts_of(key, &p))
        return TAB_OK;
    tab_str bytes = state_disk_read(s->disk, p.owner, tab_str_of(p.on_disk));
    if (bytes.p != NULL) {
        tab_status st = open_bytes(s, &p, key, bytes, ret, err);
        free((char *)(uintptr_t)bytes.p);
        atomic_fetch_add(&s->from_disk, *ret != NULL);
        if (st != TAB_OK || *ret != NULL)
            return st;
        state_disk_remove(s->disk, p.owner, tab_str_of(p.on_disk));
    }
    TAB_TRY(read_row(s, &p, &bytes, err));
    if (bytes.p == NULL)
        return TAB_OK;
    tab_status st = open_bytes(s, &p, key, bytes, ret, err);
    if (*ret != NULL) {
        atomic_fetch_add(&s->from_database, 1);
        to_disk(s, &p, bytes);
    }
    free((char *)(uintptr_t)bytes.p);
    return st;
}

bool state_store_has(state_store *s, const char *key, char ret_other[STATE_RELEASE])
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_error err = { 0 };
    parts p;
    ret_other[0] = 0;
    if (!parts_of(key, &p) || state_disk_has(s->disk, p.owner, tab_str_of(p.on_disk)) ||
        tab_tx_begin(s->pg, p.org, tab_in_ms(READ_MS), &tx, &err) != TAB_OK ||
        tab_tx_finish(&tx, &rows, &err,
                      "SELECT release, release = $4 FROM inference.state WHERE org = $1 AND endpoint_id = $2 "
                      "AND name = $3 ORDER BY release = $4 DESC, at DESC LIMIT 1",
                      TAB_P(tab_p_text(p.org), tab_p_text(p.endpoint), tab_p_text(p.name),
                            tab_p_text(state_release()))) != TAB_OK)
        return true;
    if (tab_rows_count(rows) > 0 && !tab_rows_bool(rows, 0, 1))
        snprintf(ret_other, STATE_RELEASE, "%s", tab_rows_text(rows, 0, 0));
    return tab_rows_count(rows) > 0 && ret_other[0] == 0;
}

void state_store_fetch(state_store *s, const char *key)
{
    parts p;
    tab_str bytes;
    tab_error err = { 0 };
    if (s->disk == NULL || !parts_of(key, &p) || state_disk_has(s->disk, p.owner, tab_str_of(p.on_disk)) ||
        read_row(s, &p, &bytes, &err) != TAB_OK || bytes.p == NULL)
        return;
    to_disk(s, &p, bytes);
    free((char *)(uintptr_t)bytes.p);
}

/* ---- writing --------------------------------------------------------------------------------- */

static tab_status write_row(state_store *s, const parts *p, tab_str bytes, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(s->pg, p->org, tab_in_ms(WRITE_MS), &tx, err));
    TAB_TRY(tab_tx_query_bytes(
        tx, NULL, err,
        "INSERT INTO inference.state (org, endpoint_id, name, release, bytes, sealed) "
        "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (org, endpoint_id, name, release) "
        "DO UPDATE SET bytes = excluded.bytes, sealed = excluded.sealed, at = now()",
        TAB_P(tab_p_text(p->org), tab_p_text(p->endpoint), tab_p_text(p->name), tab_p_text(state_release()),
              tab_p_bytes(bytes), tab_p_bool(tab_data_sealed(bytes)))));
    /* what is served no more; what a release before has left goes later (state_store_sweeps) */
    return tab_tx_finish(
        &tx, NULL, err,
        "DELETE FROM inference.state s WHERE org = $1 AND endpoint_id = $2 AND release = $3 AND "
        "name NOT IN (SELECT t.name FROM inference.state t WHERE t.org = $1 AND t.endpoint_id = $2 AND "
        "t.release = $3 ORDER BY t.at DESC LIMIT $4::int)",
        TAB_P(tab_p_text(p->org), tab_p_text(p->endpoint), tab_p_text(state_release()), tab_p_int(KEPT)));
}

static void keep(state_store *s, const char *key, tab_str bytes)
{
    atomic_fetch_add(&s->written, 1);
    parts p;
    tab_error err = { 0 };
    if (!parts_of(key, &p))
        return;
    TAB_AUTO(tab_arena) *a = state_seal_arena(bytes.n);
    char place[2 * NAME];
    if (a == NULL || state_seal(s->pg, &s->own, a, p.org, tab_str_of(place_of(&p, place)), bytes, &bytes,
                                &err) != TAB_OK) {
        tab_log_fields(TAB_WARN, "a state cannot be sealed, and is not kept", "state", key, "why",
                       err.message, NULL);
        return;
    }
    to_disk(s, &p, bytes);
    if (bytes.n <= MOST_ROW && s->pg != NULL && write_row(s, &p, bytes, &err) != TAB_OK)
        tab_log_fields(TAB_WARN, "a state is not in the database", "state", key, "why", err.message, NULL);
}

tab_status state_store_write(state_store *s, const char *key, serve_state *st, serve_state **ret,
                             tab_error *err)
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    TAB_TRY(state_write(st, tab_str_of(key), s->key, &bytes, &n, err));
    tab_str all = { (const char *)bytes, n };
    tab_status status = state_read(all, tab_str_of(key), s->key, ret, err);
    if (status == TAB_OK)
        keep(s, key, all);
    free(bytes);
    return status;
}

tab_status state_store_keep(state_store *s, const char *key, serve_state *st, tab_error *err)
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    TAB_TRY(state_write(st, tab_str_of(key), s->key, &bytes, &n, err));
    keep(s, key, (tab_str){ (const char *)bytes, n });
    free(bytes);
    return TAB_OK;
}

/* ---- dropping -------------------------------------------------------------------------------- */

bool state_store_drop(state_store *s, const char *org, const char *endpoint_id)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err = { 0 };
    char owner[200];
    snprintf(owner, sizeof owner, "%s/%s/", org, endpoint_id);
    state_disk_drop(s->disk, tab_str_of(owner));
    return tab_tx_begin(s->pg, org, tab_in_ms(WRITE_MS), &tx, &err) == TAB_OK &&
           tab_tx_finish(&tx, NULL, &err, "DELETE FROM inference.state WHERE org = $1 AND endpoint_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(endpoint_id))) == TAB_OK;
}

tab_status state_store_owners(state_store *s, tab_arena *a, const char *after_org, const char *after_id,
                              size_t most, state_owner **ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    *ret_n = 0;
    TAB_TRY(tab_tx_begin(s->pg, TAB_ORG_ALL, tab_in_ms(READ_MS), &tx, err));
    TAB_TRY(tab_tx_finish(&tx, &rows, err,
                          "SELECT DISTINCT org, endpoint_id FROM inference.state WHERE (org, endpoint_id) > "
                          "($1, $2) ORDER BY org, endpoint_id LIMIT $3::int",
                          TAB_P(tab_p_text(after_org), tab_p_text(after_id), tab_p_int((int64_t)most))));
    size_t n = tab_rows_count(rows);
    *ret = tab_arena_new_of(a, state_owner, n + 1);
    for (size_t i = 0; *ret != NULL && i < n; i++)
        (*ret)[i] = (state_owner){ tab_arena_copy(a, tab_rows_str(rows, i, 0)).p,
                                   tab_arena_copy(a, tab_rows_str(rows, i, 1)).p };
    *ret_n = n;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status state_store_rows(state_store *s, tab_arena *a, const state_row *after, size_t most,
                            state_row **ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    *ret_n = 0;
    TAB_TRY(tab_tx_begin(s->pg, TAB_ORG_ALL, tab_in_ms(READ_MS), &tx, err));
    TAB_TRY(tab_tx_finish(
        &tx, &rows, err,
        "SELECT org, endpoint_id, name, release FROM inference.state WHERE (org, endpoint_id, name, release) "
        "> ($1, $2, $3, $4) ORDER BY org, endpoint_id, name, release LIMIT $5::int",
        TAB_P(tab_p_text(after->org), tab_p_text(after->endpoint_id), tab_p_text(after->name),
              tab_p_text(after->release), tab_p_int((int64_t)most))));
    size_t n = tab_rows_count(rows);
    *ret = tab_arena_new_of(a, state_row, n + 1);
    for (size_t i = 0; *ret != NULL && i < n; i++)
        (*ret)[i] = (state_row){ tab_arena_copy(a, tab_rows_str(rows, i, 0)).p,
                                 tab_arena_copy(a, tab_rows_str(rows, i, 1)).p,
                                 tab_arena_copy(a, tab_rows_str(rows, i, 2)).p,
                                 tab_arena_copy(a, tab_rows_str(rows, i, 3)).p };
    *ret_n = n;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* Of a release before, once ours has stood in its place for a day: until then processes of that release may
 * live, or come back. */
static tab_status drop_older(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    (void)arg;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(
        tx, &rows, err,
        "DELETE FROM inference.state WHERE ctid = ANY(ARRAY(SELECT s.ctid FROM inference.state s WHERE "
        "s.release <> $1 AND EXISTS (SELECT FROM inference.state t WHERE t.org = s.org AND t.endpoint_id = "
        "s.endpoint_id AND t.release = $1 AND t.at > s.at AND t.at < now() - interval '1 day') LIMIT $2 "
        "FOR UPDATE SKIP LOCKED)) RETURNING 1",
        TAB_P(tab_p_text(state_release()), tab_p_int(most))));
    *ret_n = tab_rows_count(rows);
    return TAB_OK;
}

static tab_status seal_older(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    const state_store *s = arg;
    (void)most; /* 1 */
    return state_seal_older(tx, &s->own, ret_n, err);
}

tab_sweeper *state_store_sweeps(state_store *s)
{
    static tab_sweep sweep[] = {
        { .name = "states of releases before", .every_ms = 3600000, .batch = drop_older },
        { .name = "states that are not sealed",
          .every_ms = 30000,
          .batch = seal_older,
          .most = 1,
          .batch_ms = 60000 },
    };
    return tab_sweeper_open(s->pg, sweep, sizeof sweep / sizeof *sweep, s);
}

void state_store_figures(state_store *s)
{
    state_disk_figures d = state_disk_look(s->disk);
    const struct {
        const char *name, *help;
        double value;
    } figure[] = {
        { "tabella_states_from_disk", "States read from the process's disk", (double)s->from_disk },
        { "tabella_states_from_database", "States read from PostgreSQL", (double)s->from_database },
        { "tabella_states_broken", "Kept states that could not be read", (double)s->broken },
        { "tabella_states_written", "States written", (double)s->written },
        { "tabella_states_lacking", "States of another release that are still to be fitted by this process",
          (double)s->lacking },
        { "tabella_states_fitted_ahead", "States of another release that were fitted before a call asked",
          (double)s->ahead },
        { "tabella_states_served_as_kept", "Serve calls that a process of another release answered meanwhile",
          (double)s->as_kept },
        { "tabella_states_disk_files", "States on the process's disk", (double)d.count },
        { "tabella_states_disk_bytes", "Bytes of states on the process's disk", (double)d.bytes },
        { "tabella_states_disk_evicted", "States that left the disk for others", (double)d.evicted },
    };
    for (size_t i = 0; i < sizeof figure / sizeof *figure; i++)
        tab_metric_set(tab_gauge(figure[i].name, figure[i].help, NULL), figure[i].value);
}
