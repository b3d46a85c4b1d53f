/* Reserve and settle (decision 0331). A cap that is checked when work ends is passed by whatever runs at the
 * same time, and one that is checked when it starts does not know what that will bill. So what work will bill
 * counts as used before it starts:
 *
 *   Reserve --> held (a row of metering.reservation: organization, id, milli, until)
 *                 |-- its event is counted: metering.count_work makes it used, in the same transaction
 *                 |-- Release, or a job that bills nothing: it is free again
 *                 `-- its lease ends: the work is lost, and holds nothing any more
 *
 * What holds:
 *
 *   - used + reserved <= limit after each Reserve. Reservations of an organization follow one another (an
 *     advisory lock of the database), and sums of both are read in one statement, so that what settles
 *     meanwhile is in exactly one of the two.
 *   - What is reserved is what is billed: the price is made here, by the same rates, and handed back with the
 *     answer. A call's lines sum to its cost in thousandths; whole cells are rounded once (whole_cells.h).
 *   - One id is one reservation. A repeated Reserve replaces its own (a retry costs nothing), `instead_of`
 *     moves what another id holds, and an id whose event is counted already holds nothing.
 *   - A reservation that stands is not refused at its renewal, even where a lower cap came meanwhile.
 *   - A lost worker cannot lock cells for ever: `until` is by the database's clock, at most a week ahead.
 *
 * Serve calls are too many for a transaction each. They draw on a hold: a reservation with `more_milli`
 * beyond its own cost, of which at most a sixteenth of what is left is granted, so that no process takes the
 * rest of a week for itself (services/api/serve/reservations.c). The bill names its hold, and count_work
 * takes from it what the bill used.
 *
 * A dry question writes nothing and takes no lock. An organization without a limit takes none either, unless
 * it replaces a reservation of the time when it had one. Where keys is away and never said its plan, work
 * goes on: the ledger is filled all the same, and a customer is not stopped by our own outage. */
#include <assert.h>
#include <stdio.h>

#include "common/base/point.h"
#include "common/base/proto.h"
#include "services/metering/metering.h"
#include "services/metering/whole_cells.h"

enum { LEASE_S = 300, LEASE_MOST_S = 7 * 86400, HOLDS = 100, HOLDS_MOST = 1000 };

/* The lines as the ledger would count them, and their sum. */
static tab_status price(const metering *m, tab_call *call, int64_t *ret_milli, tab_error *err)
{
    const Tabella__ReserveRequest *q = call->in;
    Tabella__ReserveReply *y = call->out;
    Tabella__UsageLine one = TABELLA__USAGE_LINE__INIT, *const only[] = { &one };
    one.op = q->op;
    one.cells = q->cells;
    size_t n = q->n_usage > 0 ? q->n_usage : 1;
    Tabella__UsageLine *const *line = q->n_usage > 0 ? q->usage : only;
    if (n > METERING_OP_COUNT)
        return tab_fail(err, TAB_VALIDATION, "usage", "more lines than there are operations");
    int64_t milli[METERING_OP_COUNT], sum = 0;
    uint64_t whole[METERING_OP_COUNT];
    Tabella__OpCells *all = tab_arena_new_of(call->arena, Tabella__OpCells, n);
    y->by_op = tab_arena_new_of(call->arena, Tabella__OpCells *, n);
    if (all == NULL || y->by_op == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        metering_op op;
        if (!metering_op_of(line[i]->op, &op))
            return tab_fail(err, TAB_VALIDATION, "op", "no such operation");
        milli[i] = metering_milli(&m->rates, op, line[i]->cells);
        if (milli[i] > INT64_MAX / 16 || __builtin_add_overflow(sum, milli[i], &sum))
            return tab_fail(err, TAB_VALIDATION, "cells", "too many cells");
        tabella__op_cells__init(&all[i]);
        all[i].op = (char *)(uintptr_t)metering_op_names[op];
        all[i].raw = line[i]->cells;
        all[i].multiplier = (double)m->rates.milli[op] / 1000.0;
        y->by_op[y->n_by_op++] = &all[i];
    }
    whole_cells(milli, n, whole);
    for (size_t i = 0; i < n; i++)
        all[i].cells = (double)whole[i];
    assert(sum >= 0 && y->n_by_op == n);
    y->cost_milli = (uint64_t)sum;
    *ret_milli = sum;
    return TAB_OK;
}

#define RESETS                                                                                \
    "(extract(epoch FROM date_trunc('week', now() AT TIME ZONE 'UTC') + interval '7 days' - " \
    "(now() AT TIME ZONE 'UTC')) * 1000000)::bigint"

/* ---- what is asked for, and answered, without the database ----------------------------------- */

int64_t metering_lease_s(uint32_t asked)
{
    return asked == 0 ? LEASE_S : asked > LEASE_MOST_S ? LEASE_MOST_S : asked;
}

int64_t metering_bounded(uint64_t milli)
{
    return milli > INT64_MAX / 16 ? INT64_MAX / 16 : (int64_t)milli;
}

size_t metering_holds_listed(uint32_t asked)
{
    return asked == 0 ? HOLDS : asked > HOLDS_MOST ? HOLDS_MOST : asked;
}

int64_t metering_fits(int64_t cost, int64_t limit, int64_t used, int64_t held)
{
    assert(cost >= 0 && used >= 0 && held >= 0);
    return cost <= limit - used - held ? cost : -1;
}

void metering_answer(const metering_terms *t, double usd_per_million, int64_t cost, const metering_room *o,
                     Tabella__ReserveReply *y, char *why, size_t size)
{
    int64_t limit = metering_limit(t, usd_per_million), taken = o->used + o->held;
    int64_t left = limit - taken, of_plan = (int64_t)t->allowance * 1000 - taken;
    y->limited = limit != INT64_MAX;
    y->amount_usd = metering_usd(t, usd_per_million, taken, cost);
    y->left_milli = y->limited && left > 0 ? (uint64_t)left : 0;
    y->remaining = of_plan > 0 ? (uint64_t)of_plan / 1000 : 0;
    y->granted_milli = o->granted > 0 ? (uint64_t)o->granted : 0;
    y->allowed = o->granted >= 0;
    if (!y->allowed)
        metering_refusal(t, taken, cost, o->resets_us, why, size, &y->retry_after_s);
}

/* ---- questions to the database --------------------------------------------------------------- */

#define ASK(since)                                                                                   \
    "SELECT (SELECT coalesce(sum(milli), 0)::bigint FROM metering.total WHERE org = $1" since "), "  \
    "(SELECT coalesce(sum(milli), 0)::bigint FROM metering.reservation WHERE org = $1 AND until >= " \
    "clock_timestamp()), " RESETS

static tab_status ask_only(tab_tx **tx, const char *org, bool lifetime, int64_t cost, int64_t limit,
                           metering_room *ret, tab_error *err)
{
    static const char weekly[] = ASK(" AND day >= date_trunc('week', now() AT TIME ZONE 'UTC')::date"),
                      forever[] = ASK("");
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_finish(tx, &rows, err, lifetime ? forever : weekly, TAB_P(tab_p_text(org))));
    *ret = (metering_room){ 0, tab_rows_int(rows, 0, 0), tab_rows_int(rows, 0, 1), tab_rows_int(rows, 0, 2) };
    ret->granted = metering_fits(cost, limit, ret->used, ret->held);
    return TAB_OK;
}

/* Ends the transaction. */
static tab_status hold(tab_tx **tx, const char *org, bool lifetime, const Tabella__ReserveRequest *q,
                       int64_t cost, int64_t limit, metering_room *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_finish(
        tx, &rows, err,
        "SELECT granted, used, held, " RESETS " FROM metering.reserve($2, $3, $4, $5, $6, $7, $1, $8)",
        TAB_P(tab_p_bool(lifetime), tab_p_text(org), tab_p_text(q->id), tab_p_text(q->instead_of),
              tab_p_int(cost), tab_p_int(metering_bounded(q->more_milli)), tab_p_int(limit),
              tab_p_int(metering_lease_s(q->lease_s)))));
    *ret = (metering_room){ tab_rows_int(rows, 0, 0), tab_rows_int(rows, 0, 1), tab_rows_int(rows, 0, 2),
                            tab_rows_int(rows, 0, 3) };
    return TAB_OK;
}

tab_status metering_reserve(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    const Tabella__ReserveRequest *q = call->in;
    Tabella__ReserveReply *y = call->out;
    Tabella__Org *org = NULL;
    int64_t cost = 0;
    TAB_TRY(price(m, call, &cost, err));
    if (call->org[0] == 0)
        return tab_fail(err, TAB_VALIDATION, "org", "no organization");
    TAB_TRY(metering_org(m, call, &org, err));
    y->allowed = true;
    if (org == NULL) { /* nobody knows its plan: the ledger fills all the same */
        TAB_POINT("reserve.unknown");
        return TAB_OK;
    }
    metering_terms t = metering_terms_of(org);
    int64_t limit = metering_limit(&t, m->usd_per_million);
    y->limit = t.cells_per_minute;
    y->limited = limit != INT64_MAX;
    y->usd_per_million = m->usd_per_million;
    if (!y->limited && q->instead_of[0] == 0 && !q->dry)
        return TAB_OK;
    TAB_AUTO(tab_tx) *tx = NULL;
    metering_room o;
    TAB_TRY(tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    if (q->dry || q->id[0] == 0)
        TAB_TRY(ask_only(&tx, call->org, t.lifetime, cost, limit, &o, err));
    else
        TAB_TRY(hold(&tx, call->org, t.lifetime, q, cost, y->limited ? limit : INT64_MAX / 2, &o, err));
    char why[200];
    metering_answer(&t, m->usd_per_million, cost, &o, y, why, sizeof why);
    if (y->allowed)
        return TAB_OK;
    y->message = tab_proto_text(call->arena, why);
    return TAB_OK;
}

tab_status metering_release(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    const Tabella__UnreserveRequest *q = call->in;
    Tabella__ReserveReply *y = call->out;
    int64_t milli = q->milli == 0 || q->milli > INT64_MAX ? INT64_MAX : (int64_t)q->milli;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    /* Most often all of it; else some waits for bills that are on their way. A row of none is left to its
     * lease. */
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_finish(&tx, &rows, err,
                          "WITH whole AS (DELETE FROM metering.reservation WHERE org = $1 AND id = $2 "
                          "AND milli <= $3 RETURNING 1), part AS ("
                          "UPDATE metering.reservation SET milli = greatest(milli - $3, 0) "
                          "WHERE org = $1 AND id = $2 AND NOT EXISTS (SELECT FROM whole) RETURNING 1) "
                          "SELECT 1 FROM whole UNION ALL SELECT 1 FROM part",
                          TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_int(milli))));
    if (q->must_exist && tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "nothing is held under this id");
    y->allowed = true;
    return TAB_OK;
}

tab_status metering_holds(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    const Tabella__ListHoldsRequest *q = call->in;
    Tabella__ListHoldsReply *y = call->out;
    size_t most = metering_holds_listed(q->limit);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_finish(&tx, &rows, err,
                          "SELECT id, milli, until, until < clock_timestamp() FROM metering.reservation "
                          "WHERE org = $1 AND id > $2 ORDER BY id LIMIT $3",
                          TAB_P(tab_p_text(call->org), tab_p_text(q->after), tab_p_int((int64_t)most + 1))));
    size_t n = tab_rows_count(rows) < most ? tab_rows_count(rows) : most;
    Tabella__Hold *all = tab_arena_new_of(call->arena, Tabella__Hold, n + 1);
    y->holds = tab_arena_new_of(call->arena, Tabella__Hold *, n + 1);
    if (all == NULL || y->holds == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        tabella__hold__init(&all[i]);
        all[i].id = tab_proto_text(call->arena, tab_rows_text(rows, i, 0));
        all[i].milli = (uint64_t)tab_rows_int(rows, i, 1);
        all[i].until_us = tab_rows_time(rows, i, 2);
        all[i].lapsed = tab_rows_bool(rows, i, 3);
        y->holds[y->n_holds++] = &all[i];
    }
    if (n < tab_rows_count(rows))
        y->next = all[n - 1].id;
    return tab_arena_full(call->arena) ? tab_no_memory(err) : TAB_OK;
}

tab_status metering_job_ended(tab_tx *tx, const Tabella__JobEnded *e, tab_error *err)
{
    char id[160];
    if (strcmp(e->status, "done") == 0) /* its bill may still be on its way */
        return TAB_OK;
    snprintf(id, sizeof id, "job/%s", e->job_id);
    return tab_tx_query(tx, NULL, err, "DELETE FROM metering.reservation WHERE org = $1 AND id = $2",
                        TAB_P(tab_p_text(e->org_id), tab_p_text(id)));
}
