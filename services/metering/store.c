/* See store.h. The ledger: what was used, line by line, and the sums by which it is shown and limited.
 *
 *   metering.event   one row an event of work, its id unique for ever: what counts once
 *   metering.line    what the event bills: operation, cells, milli
 *   metering.total   sums of the lines by day, operation, surface, key, endpoint and model
 *   metering.alert   thresholds that were reached, each once a window
 *
 * Cells are billed in thousandths of a fresh cell (milli): a cached cell is 50 of them, a batch one 500. So
 * all sums are whole numbers, exact in any order; rounding happens once, where a figure is shown
 * (whole_cells.h), in such a way that what is shown adds up to the total that is shown.
 *
 * Counting (metering_count) is one statement for a group of events, one function in the database
 * (metering.count_work): event ids that are new go in, their lines go in, the sums grow by them, and the
 * cells that had been reserved for them (reserve.c) cease to be reserved. All of it or nothing: a reader of
 * the sums sees a call as reserved or as used, never as both and never as neither.
 *
 * What holds:
 *
 *   - An event counts once. Ids come from the work itself and not from its delivery, so a repeated delivery,
 *     a second settlement of a bill, or a retry within its time is the same id (common/rpc/outbox.c,
 *     services/api/serve/bills_settle.c).
 *   - total = sum of line and of what was cut, always, since one transaction writes both; verify.c recomputes
 *     it nightly and says where it does not hold.
 *   - Lines are never changed and never deleted by hand; old months are cut with a signed checkpoint of their
 *     sums (checkpoints.c, decision 0352).
 *   - used + reserved <= limit after each reservation (reserve.c), so work in progress cannot pass a cap.
 *   - Windows are decided by the database's clock alone. A producer's clock that runs fast moves no usage
 *     into a window that has not begun: an event is dated at its arrival at the latest.
 *
 * Every table is bound to its organization by row-level security and by the first column of its key. Reads
 * cost by the rows of a window: sums, not lines, are read to show usage and to refuse a call. */
#include "services/metering/store.h"
#include "services/metering/whole_cells.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/rpc/outbox.h"

const char *const metering_op_names[METERING_OP_COUNT] = {
#define X(e, name, ratio) name,
    METERING_OPS(X)
#undef X
};

bool metering_op_of(const char *name, metering_op *ret)
{
    for (int i = 0; i < METERING_OP_COUNT; i++)
        if (strcmp(metering_op_names[i], name) == 0) {
            *ret = (metering_op)i;
            return true;
        }
    return false;
}

int64_t metering_milli(const metering_rates *r, metering_op op, uint64_t cells)
{
    int64_t c = cells > INT64_MAX ? INT64_MAX : (int64_t)cells, m;
    return __builtin_mul_overflow(c, r->milli[op], &m) ? INT64_MAX : m;
}

/* ---- counting -------------------------------------------------------------------------------- */

tab_status metering_countable(const Tabella__WorkDone *e, tab_error *err)
{
    metering_op op;
    if (e->event_id[0] == 0)
        return tab_fail(err, TAB_VALIDATION, "event_id", "an event without an id");
    if (e->n_usage > METERING_OP_COUNT)
        return tab_fail(err, TAB_VALIDATION, "usage", "more lines than there are operations");
    for (size_t i = 0; i < e->n_usage; i++)
        if (!metering_op_of(e->usage[i]->op, &op) || e->usage[i]->cells > INT64_MAX / 1000)
            return tab_fail(err, TAB_VALIDATION, "usage",
                            "there is no such operation, or its cells are too many");
    return TAB_OK;
}

/* Arrays travel as texts of PostgreSQL, so their numbers do too. */
static char *number(tab_arena *a, int64_t x)
{
    return tab_arena_printf(a, "%" PRId64, x);
}

tab_status metering_count(tab_tx *tx, tab_arena *a, const metering_rates *r,
                          const Tabella__WorkDone *const *e, size_t n, bool *ret, tab_error *err)
{
    enum { ORG, ID, AT, SURFACE, KEY, ENDPOINT_ID, ENDPOINT, MODEL, TABLES, CALLS, HOLD, OF_EVENT };

    enum { EVENT, OP, CELLS, MILLI, OF_LINE };
    /* One statement for all events: a column of texts for each field of the events, and of their lines, which
     * name their event by its number from 1. */
    char **of_event[OF_EVENT], **of_line[OF_LINE];
    size_t lines = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        lines += e[i]->n_usage;
    for (size_t k = 0; k < OF_EVENT; k++)
        of_event[k] = tab_arena_new_of(a, char *, n + 1);
    for (size_t k = 0; k < OF_LINE; k++)
        of_line[k] = tab_arena_new_of(a, char *, lines + 1);
    for (size_t i = 0; i < n && !tab_arena_full(a); i++) {
        of_event[ORG][i] = e[i]->org_id;
        of_event[ID][i] = e[i]->event_id;
        of_event[AT][i] = number(a, e[i]->at_us);
        of_event[SURFACE][i] = e[i]->surface[0] != 0 ? e[i]->surface : (char *)(uintptr_t) "api";
        of_event[KEY][i] = e[i]->key_id;
        of_event[ENDPOINT_ID][i] = e[i]->endpoint_id;
        of_event[ENDPOINT][i] = e[i]->endpoint;
        of_event[MODEL][i] = e[i]->base_model;
        of_event[HOLD][i] = e[i]->hold;
        of_event[TABLES][i] = number(a, e[i]->tables);
        of_event[CALLS][i] = number(a, e[i]->calls == 0 ? 1 : (int64_t)e[i]->calls);
        for (size_t k = 0; k < e[i]->n_usage; k++, at++) {
            metering_op op;
            if (!metering_op_of(e[i]->usage[k]->op, &op))
                return tab_fail(err, TAB_VALIDATION, "usage", "no such operation");
            of_line[EVENT][at] = number(a, (int64_t)i + 1);
            of_line[OP][at] = e[i]->usage[k]->op;
            of_line[CELLS][at] = number(a, (int64_t)e[i]->usage[k]->cells);
            of_line[MILLI][at] = number(a, metering_milli(r, op, e[i]->usage[k]->cells));
        }
    }
    tab_param p[OF_EVENT + OF_LINE];
    for (size_t k = 0; k < OF_EVENT + OF_LINE && !tab_arena_full(a); k++)
        p[k] = tab_p_text(k < OF_EVENT ? tab_pg_array(a, of_event[k], n)
                                       : tab_pg_array(a, of_line[k - OF_EVENT], lines));
    if (tab_arena_full(a))
        return tab_no_memory(err);
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(
        tx, &rows, err,
        "SELECT * "
        "FROM metering.count_work($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], "
        "$7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::text[], "
        "$14::bigint[], $15::bigint[])",
        p, sizeof p / sizeof *p);
    for (size_t i = 0; i < n; i++) /* the function gives the numbers of the events that were new */
        ret[i] = false;
    for (size_t k = 0; s == TAB_OK && k < tab_rows_count(rows); k++)
        ret[(size_t)tab_rows_int(rows, k, 0) - 1] = true;
    return s;
}

/* Whether event i says that it is the same work as one of those before it. */
static bool again(const Tabella__WorkDone *const *e, size_t i)
{
    for (size_t k = 0; k < e[i]->n_also; k++)
        for (size_t before = 0; before < i; before++)
            if (strcmp(e[i]->also[k], e[before]->event_id) == 0 &&
                strcmp(e[i]->org_id, e[before]->org_id) == 0)
                return true;
    return false;
}

tab_status metering_known(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *const *e, size_t n, bool *ret,
                          tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    size_t all = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        ret[i] = again(e, i);
        all += e[i]->n_also;
    }
    if (all == 0)
        return TAB_OK;
    char **org = tab_arena_new_of(a, char *, all), **id = tab_arena_new_of(a, char *, all);
    char **number_of = tab_arena_new_of(a, char *, all);
    if (org == NULL || id == NULL || number_of == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < e[i]->n_also; k++, at++) {
            org[at] = e[i]->org_id;
            id[at] = e[i]->also[k];
            number_of[at] = number(a, (int64_t)i);
        }
    const char *orgs = tab_pg_array(a, org, all), *ids = tab_pg_array(a, id, all);
    const char *numbers = tab_pg_array(a, number_of, all);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT a.n FROM unnest($1::text[], $2::text[], $3::bigint[]) a(org, id, n) "
                         "JOIN metering.event v ON v.org = a.org AND v.event_id = a.id",
                         TAB_P(tab_p_text(orgs), tab_p_text(ids), tab_p_text(numbers))));
    for (size_t k = 0; k < tab_rows_count(rows); k++)
        ret[(size_t)tab_rows_int(rows, k, 0)] = true;
    return TAB_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

#define WEEK "(date_trunc('week', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')" /* Monday 00:00 UTC */

static tab_status window_read(tab_tx *tx, const char *org, bool lifetime, metering_window *ret,
                              tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    static const char weekly[] =
        "SELECT now(), " WEEK ", " WEEK " + interval '7 days', coalesce(sum(milli), 0)::bigint "
        "FROM metering.total "
        "WHERE org = $1 AND day >= (" WEEK " AT TIME ZONE 'UTC')::date";
    static const char forever[] =
        "SELECT now(), coalesce(min(day)::timestamp, date_trunc('day', "
        "now() AT TIME ZONE 'UTC')) AT TIME ZONE 'UTC', NULL::timestamptz, coalesce(sum(milli), 0)::bigint "
        "FROM metering.total "
        "WHERE org = $1";
    tab_status s = tab_tx_query(tx, &rows, err, lifetime ? forever : weekly, TAB_P(tab_p_text(org)));
    if (s == TAB_OK)
        *ret = (metering_window){ tab_rows_time(rows, 0, 0), tab_rows_time(rows, 0, 1),
                                  tab_rows_time(rows, 0, 2), tab_rows_int(rows, 0, 3) };
    return s;
}

void metering_resets_in(int64_t left_us, char *buf, size_t size)
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
    int64_t left = left_us <= 0 ? 1 : (left_us + 999999) / 1000000; /* rounded up: never "0s" */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (left >= units[i].seconds) {
            snprintf(buf, size, "%" PRId64 "%c", (left + units[i].seconds - 1) / units[i].seconds,
                     units[i].unit);
            return;
        }
}

/* ---- the usage object ------------------------------------------------------------------------ */

/* Thousandths as fresh cells, which is what the usage object shows. */
static double equivalents(int64_t milli)
{
    return (double)milli / 1000.0;
}

/* A list of n messages of a type in the arena, each initialised; NULL when it is full. */
#define LIST(a, n, TYPE, init)                                                 \
    __extension__({                                                            \
        TYPE **list_ = tab_arena_new_of(a, TYPE *, (n) + 1);                   \
        TYPE *all_ = tab_arena_new_of(a, TYPE, (n) + 1);                       \
        for (size_t i_ = 0; list_ != NULL && all_ != NULL && i_ < (n); i_++) { \
            init(&all_[i_]);                                                   \
            list_[i_] = &all_[i_];                                             \
        }                                                                      \
        all_ == NULL ? NULL : list_;                                           \
    })

/* Sums by operation since the first day of the window, and their total. */
static tab_status fill_ops(tab_tx *tx, tab_arena *a, const char *org, const char *since,
                           const metering_rates *r, Tabella__UsageReply *y, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT op, sum(milli)::bigint, sum(cells)::bigint "
                                "FROM metering.total "
                                "WHERE org = $1 AND day >= $2::date "
                                "GROUP BY op",
                                TAB_P(tab_p_text(org), tab_p_text(since)));
    if (s != TAB_OK)
        return s;
    int64_t milli[METERING_OP_COUNT] = { 0 };
    uint64_t whole[METERING_OP_COUNT];
    y->by_op = LIST(a, METERING_OP_COUNT, Tabella__OpCells, tabella__op_cells__init);
    if (y->by_op == NULL)
        return tab_no_memory(err);
    y->n_by_op = METERING_OP_COUNT;
    for (int i = 0; i < METERING_OP_COUNT; i++) { /* every operation, in this order, also those unused */
        Tabella__OpCells *o = y->by_op[i];
        o->op = (char *)metering_op_names[i];
        o->multiplier = equivalents(r->milli[i]);
        for (size_t k = 0; k < tab_rows_count(rows); k++)
            if (strcmp(tab_rows_text(rows, k, 0), metering_op_names[i]) == 0) {
                milli[i] = tab_rows_int(rows, k, 1);
                o->raw = (uint64_t)tab_rows_int(rows, k, 2);
            }
    }
    whole_cells(milli, METERING_OP_COUNT, whole);
    for (int i = 0; i < METERING_OP_COUNT; i++)
        y->by_op[i]->cells = (double)whole[i];
    y->total_cells = (double)whole_total(milli, METERING_OP_COUNT);
    return TAB_OK;
}

/* Sums of the API and of the user interface, each shown also where it is 0. */
static tab_status fill_surfaces(tab_tx *tx, tab_arena *a, const char *org, const char *since,
                                Tabella__UsageReply *y, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s =
        tab_tx_query(tx, &rows, err,
                     "SELECT s.name, coalesce(sum(t.milli), 0)::bigint "
                     "FROM (VALUES ('api'), ('ui')) s(name) "
                     "LEFT JOIN metering.total t ON t.org = $1 AND t.day >= $2::date AND t.surface = s.name "
                     "GROUP BY s.name "
                     "ORDER BY s.name",
                     TAB_P(tab_p_text(org), tab_p_text(since)));
    if (s != TAB_OK)
        return s;
    size_t n = tab_rows_count(rows);
    y->by_surface = LIST(a, n, Tabella__SurfaceCells, tabella__surface_cells__init);
    if (y->by_surface == NULL)
        return tab_no_memory(err);
    y->n_by_surface = n;
    int64_t *milli = tab_arena_new_of(a, int64_t, n + 1);
    uint64_t *whole = tab_arena_new_of(a, uint64_t, n + 1);
    if (milli == NULL || whole == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < n; k++)
        milli[k] = tab_rows_int(rows, k, 1);
    whole_cells(milli, n, whole);
    for (size_t k = 0; k < n; k++) {
        Tabella__SurfaceCells *c = y->by_surface[k];
        c->surface = tab_proto_text(a, tab_rows_text(rows, k, 0));
        c->cells = (double)whole[k];
    }
    return s;
}

/* The ten endpoints that used most, under their latest names. */
static tab_status fill_endpoints(tab_tx *tx, tab_arena *a, const char *org, const char *since,
                                 Tabella__UsageReply *y, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT (array_agg(endpoint "
                                "ORDER BY day DESC))[1], endpoint_id, sum(milli)::bigint "
                                "FROM metering.total "
                                "WHERE org = $1 AND day >= $2::date AND endpoint_id <> '' "
                                "GROUP BY endpoint_id "
                                "ORDER BY 3 DESC, 2 "
                                "LIMIT 10",
                                TAB_P(tab_p_text(org), tab_p_text(since)));
    if (s != TAB_OK)
        return s;
    size_t n = tab_rows_count(rows);
    y->top_endpoints = LIST(a, n, Tabella__EndpointCells, tabella__endpoint_cells__init);
    if (y->top_endpoints == NULL)
        return tab_no_memory(err);
    y->n_top_endpoints = n;
    for (size_t k = 0; k < n; k++) {
        Tabella__EndpointCells *c = y->top_endpoints[k];
        c->endpoint = tab_proto_text(a, tab_rows_text(rows, k, 0));
        c->id = tab_proto_text(a, tab_rows_text(rows, k, 1));
        int64_t milli = tab_rows_int(rows, k, 2);
        c->cells = (double)whole_total(&milli, 1);
    }
    return s;
}

enum { EVENTS_MOST = 1000 };

#define EVENTS(after)                                                                        \
    "SELECT t.day::text, op, milli, tables, model, key_id, endpoint_id, requests, surface, " \
    "json_build_array(t.day, op, model, key_id, endpoint_id, surface, endpoint)::text "      \
    "FROM metering.total t WHERE org = $1 AND t.day >= $2::date " after                      \
    "ORDER BY t.day DESC, op COLLATE \"C\", model COLLATE \"C\", key_id COLLATE \"C\", "     \
    "endpoint_id COLLATE \"C\", surface COLLATE \"C\", endpoint COLLATE \"C\" LIMIT $3"

/* The rows of the sums themselves, newest first, a page of them. A page begins behind the row that the one
 * before ended with, so that what is counted meanwhile moves none of them. */
static tab_status fill_events(tab_tx *tx, tab_arena *a, const char *org, const char *since,
                              const Tabella__UsageRequest *q, Tabella__UsageReply *y, tab_error *err)
{
    static const char first[] = EVENTS(""),
                      next[] =
                          EVENTS("AND (t.day < ($4::json->>0)::date OR (t.day = ($4::json->>0)::date AND "
                                 "(op COLLATE \"C\", model COLLATE \"C\", key_id COLLATE \"C\", "
                                 "endpoint_id COLLATE \"C\", surface COLLATE \"C\", endpoint COLLATE \"C\") "
                                 "> ($4::json->>1, $4::json->>2, $4::json->>3, $4::json->>4, "
                                 "$4::json->>5, $4::json->>6))) ");
    TAB_AUTO(tab_rows) *rows = NULL;
    size_t most = q->limit == 0 || q->limit > EVENTS_MOST ? EVENTS_MOST : q->limit;
    const tab_param p[] = { tab_p_text(org), tab_p_text(since), tab_p_int((int64_t)most + 1),
                            tab_p_text(q->after) };
    tab_status s = tab_tx_query(tx, &rows, err, q->after[0] == 0 ? first : next, p, q->after[0] == 0 ? 3 : 4);
    if (s != TAB_OK)
        return s;
    size_t n = tab_rows_count(rows);
    if (n > most) {
        n = most;
        y->next = tab_proto_text(a, tab_rows_text(rows, n - 1, 9));
    }
    y->events = LIST(a, n, Tabella__UsageEvent, tabella__usage_event__init);
    if (y->events == NULL)
        return tab_no_memory(err);
    y->n_events = n;
    for (size_t k = 0; k < n; k++) {
        Tabella__UsageEvent *e = y->events[k];
        e->day = tab_proto_text(a, tab_rows_text(rows, k, 0));
        e->op = tab_proto_text(a, tab_rows_text(rows, k, 1));
        e->cells = equivalents(tab_rows_int(rows, k, 2));
        e->tables = (uint64_t)tab_rows_int(rows, k, 3);
        e->model = tab_proto_text(a, tab_rows_text(rows, k, 4));
        e->key = tab_proto_text(a, tab_rows_text(rows, k, 5));
        e->endpoint_id = tab_proto_text(a, tab_rows_text(rows, k, 6));
        e->requests = (uint64_t)tab_rows_int(rows, k, 7);
        e->surface = tab_proto_text(a, tab_rows_text(rows, k, 8));
    }
    return s;
}

tab_status metering_usage(tab_tx *tx, tab_arena *a, const Tabella__Org *org, const metering_rates *r,
                          const Tabella__UsageRequest *q, Tabella__UsageReply *y, tab_error *err)
{
    metering_window w;
    /* A plan for any first day would read a third of all rows that there are. */
    tab_status s = tab_tx_query(
        tx, NULL, err, "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)", TAB_P_NONE);
    if (s == TAB_OK)
        s = window_read(tx, org->org, org->lifetime, &w, err);
    if (s != TAB_OK)
        return s;
    char start[TAB_TIME_TEXT], end[TAB_TIME_TEXT] = "lifetime", window[2 * TAB_TIME_TEXT + 8];
    char resets[32] = "never", since[11];
    tab_time_text_s(w.start_us, start);
    if (!org->lifetime) {
        tab_time_text_s(w.end_us, end);
        metering_resets_in(w.end_us - w.now_us, resets, sizeof resets);
    }
    snprintf(window, sizeof window, "%s -> %s", start, end);
    snprintf(since, sizeof since, "%.10s", start);

    y->org = tab_proto_text(a, org->name[0] != 0 ? org->name : org->org);
    y->plan = tab_proto_text(a, org->plan);
    y->window = tab_proto_text(a, window);
    y->resets_in = tab_proto_text(a, resets);
    y->days = org->lifetime ? (uint32_t)((w.now_us - w.start_us) / 86400000000 + 1) : 7;
    y->lifetime = org->lifetime;
    y->allowance = org->allowance_cells;
    y->add_usage_enabled = org->add_usage_enabled;
    y->spend_cap_set = org->spend_cap_set;
    y->spend_cap_usd = org->spend_cap_usd;
    if ((s = fill_ops(tx, a, org->org, since, r, y, err)) == TAB_OK &&
        (s = fill_surfaces(tx, a, org->org, since, y, err)) == TAB_OK &&
        (s = fill_endpoints(tx, a, org->org, since, y, err)) == TAB_OK)
        s = fill_events(tx, a, org->org, since, q, y, err);
    if (s != TAB_OK)
        return s;
    if (org->allowance_cells > 0) {
        double pct = 100.0 * y->total_cells / (double)org->allowance_cells;
        y->used_pct = pct > 100.0 ? 100.0 : pct;
    }
    return TAB_OK;
}

/* ---- accounts and alerts --------------------------------------------------------------------- */

enum { ALERT_FIRST = 80 }; /* percent of the allowance */

tab_status metering_account_put(tab_tx *tx, const Tabella__Org *org, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    tab_str settings = a == NULL ? (tab_str){ NULL, 0 } : tab_proto_write(a, &org->base);
    if (settings.p == NULL)
        return tab_no_memory(err);
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO metering.account (org, settings) "
                        "VALUES ($1, $2) "
                        "ON CONFLICT (org) "
                        "DO UPDATE "
                        "SET settings = excluded.settings, at = now() "
                        "WHERE account.settings <> excluded.settings",
                        TAB_P(tab_p_text(org->org), tab_p_bytes(settings)));
}

tab_status metering_account_get(tab_tx *tx, tab_arena *a, const char *org, Tabella__Org **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err, "SELECT settings FROM metering.account WHERE org = $1",
                                TAB_P(tab_p_text(org)));
    if (s != TAB_OK)
        return s;
    *ret = NULL;
    if (tab_rows_count(rows) == 1)
        *ret = tab_proto_read(a, &tabella__org__descriptor, tab_rows_bytes(rows, 0, 0, a));
    return TAB_OK;
}

/* The sums of their windows in thousandths, beside their numbers in org. */
static tab_status used_by(tab_tx *tx, tab_arena *a, char *const *org, size_t n, bool lifetime, tab_rows **ret,
                          tab_error *err)
{
    static const char weekly[] =
        "SELECT o.n, coalesce(sum(t.milli), 0)::bigint FROM unnest($1::text[]) WITH ORDINALITY o(org, n) "
        "JOIN metering.total t ON t.org = o.org AND "
        "t.day >= date_trunc('week', now() AT TIME ZONE 'UTC')::date GROUP BY o.n";
    static const char forever[] =
        "SELECT o.n, coalesce(sum(t.milli), 0)::bigint FROM unnest($1::text[]) WITH ORDINALITY o(org, n) "
        "JOIN metering.total t ON t.org = o.org GROUP BY o.n";
    const char *orgs = tab_pg_array(a, org, n);
    return orgs == NULL ? tab_no_memory(err)
                        : tab_tx_query(tx, ret, err, lifetime ? forever : weekly, TAB_P(tab_p_text(orgs)));
}

/* Records that 80 % or 100 % of the allowance was reached, each once a window, with the event for its
 * notification. Does nothing without an allowance. */
static tab_status note_alerts(tab_tx *tx, const Tabella__Org *org, tab_error *err)
{
    if (org->allowance_cells == 0)
        return TAB_OK;
    metering_window w;
    tab_status s = window_read(tx, org->org, org->lifetime, &w, err);
    static const uint32_t percents[] = { ALERT_FIRST, 100 };
    for (size_t i = 0; s == TAB_OK && i < 2; i++) {
        if ((double)w.used_milli / 10.0 < (double)percents[i] * (double)org->allowance_cells)
            break;
        TAB_AUTO(tab_rows) *rows = NULL;
        char start[TAB_TIME_TEXT] = "1970-01-01T00:00:00Z", id[160];
        if (!org->lifetime)
            tab_time_text_s(w.start_us, start);
        s = tab_tx_query(tx, &rows, err,
                         "INSERT INTO metering.alert (org, window_start, percent) "
                         "VALUES ($1, $2::timestamp::date, $3) "
                         "ON CONFLICT DO NOTHING "
                         "RETURNING 1",
                         TAB_P(tab_p_text(org->org), tab_p_text(start), tab_p_int(percents[i])));
        if (s != TAB_OK || tab_rows_count(rows) == 0)
            continue;
        Tabella__UsageAlert alert = TABELLA__USAGE_ALERT__INIT;
        snprintf(id, sizeof id, "alert/%s/%.10s/%u", org->org, start, percents[i]);
        alert.event_id = id;
        alert.org_id = org->org;
        alert.at_us = w.now_us;
        alert.percent = percents[i];
        alert.window = start;
        alert.used_cells = (uint64_t)(w.used_milli / 1000);
        alert.allowance = org->allowance_cells;
        s = tab_outbox_put(tx, "metering", id, "tabella.event.usage.alert", org->org, &alert.base, err);
    }
    return s;
}

tab_status metering_alerts_of(tab_tx *tx, tab_arena *a, char *const *org, size_t n, const char **ret_told,
                              size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    const char *orgs = tab_pg_array(a, org, n);
    const Tabella__Org **of[2] = { tab_arena_new_of(a, const Tabella__Org *, n + 1),
                                   tab_arena_new_of(a, const Tabella__Org *, n + 1) };
    char **name = tab_arena_new_of(a, char *, n + 1);
    size_t m[2] = { 0, 0 };
    *ret_n = 0;
    if (orgs == NULL || of[0] == NULL || of[1] == NULL || name == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, &rows, err, "SELECT settings FROM metering.account WHERE org = ANY($1::text[])",
                         TAB_P(tab_p_text(orgs))));
    for (size_t i = 0; i < tab_rows_count(rows); i++) {
        const Tabella__Org *o = tab_proto_read(a, &tabella__org__descriptor, tab_rows_bytes(rows, i, 0, a));
        if (o != NULL && o->usage_events && *ret_n < n)
            ret_told[(*ret_n)++] = o->org;
        if (o != NULL && o->allowance_cells > 0)
            of[o->lifetime][m[o->lifetime]++] = o;
    }
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < m[k]; i++)
            name[i] = of[k][i]->org;
        if (m[k] > 0)
            TAB_TRY(used_by(tx, a, name, m[k], k == 1, &rows, err));
        for (size_t i = 0; m[k] > 0 && i < tab_rows_count(rows); i++) {
            const Tabella__Org *o = of[k][(size_t)tab_rows_int(rows, i, 0) - 1];
            if ((double)tab_rows_int(rows, i, 1) / 10.0 >= (double)ALERT_FIRST * (double)o->allowance_cells)
                TAB_TRY(note_alerts(tx, o, err));
        }
    }
    return TAB_OK;
}
