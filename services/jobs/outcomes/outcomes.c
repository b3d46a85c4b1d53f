/* See outcomes.h. A call is one transaction under the endpoint's row:
 *
 *   receipts read, rows refused -> ids inserted, those that are new come back -> their days' sums move,
 *   what is served follows (calibration.h), and whether it still holds (watch.h); cells that came with them
 *   are kept (rows.h)
 *
 * so what was counted is what is known as counted, whoever dies where, and a call that is sent again counts
 * nothing twice. Ids are forgotten when their receipts are no longer taken (store_sweep.c). */
#include "services/jobs/outcomes/outcomes.h"

#include <assert.h>

#include "common/base/point.h"
#include "common/base/proto.h"
#include "services/jobs/endpoint.h"
#include "services/jobs/outcomes/calibration.h"
#include "services/jobs/outcomes/given.h"
#include "services/jobs/outcomes/quality.h"
#include "services/jobs/outcomes/rows.h"
#include "services/jobs/outcomes/watch.h"
#include "services/jobs/work.h"

enum { DAYS_SHOWN = 400, TASKS = 3 };

typedef struct {
    tab_arena *a;
    Tabella__OutcomesReply *y;
    Tabella__Endpoint *e;
    given of;
    const counted **made; /* (n_made) of those, which count, as their rows were served */
    size_t n_made;
    Tabella__OutcomeDay **day; /* (days), each once */
    size_t days, room;
} put;

/* The day's sums, as they are kept; locked by the endpoint's row. */
static tab_status day_sums(put *p, tab_tx *tx, const char *org, const tab_receipt *r,
                           Tabella__OutcomeDay **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    int32_t day = outcome_day_of(r->at_us);
    Tabella__OutcomeDay *kept = NULL;
    for (size_t i = 0; i < p->days; i++)
        if (p->day[i]->day == day && p->day[i]->task == r->task) {
            *ret = p->day[i];
            return TAB_OK;
        }
    assert(p->days < p->room);
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT content FROM jobs.outcome_day "
                         "WHERE org = $1 AND endpoint_id = $2 AND day = $3 AND task = $4",
                         TAB_P(tab_p_text(org), tab_p_text(p->e->id), tab_p_int(day), tab_p_int(r->task))));
    if (tab_rows_count(rows) > 0)
        kept = tab_proto_read(p->a, &tabella__outcome_day__descriptor, tab_rows_bytes(rows, 0, 0, p->a));
    if (tab_rows_count(rows) > 0 && (kept == NULL || !quality_sound(kept)))
        return tab_fail(err, TAB_INTERNAL, "", "stored sums of outcomes cannot be read");
    *ret = p->day[p->days++] = quality_day(p->a, day, r->task, kept);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status store_days(const put *p, tab_tx *tx, const char *org, tab_error *err)
{
    for (size_t i = 0; i < p->days; i++) {
        const Tabella__OutcomeDay *d = p->day[i];
        tab_str bytes = tab_proto_write(p->a, &d->base);
        if (bytes.p == NULL)
            return tab_no_memory(err);
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "INSERT INTO jobs.outcome_day (org, endpoint_id, day, task, content) "
                             "VALUES ($1, $2, $3, $4, $5) "
                             "ON CONFLICT (org, endpoint_id, day, task) "
                             "DO UPDATE SET content = excluded.content",
                             TAB_P(tab_p_text(org), tab_p_text(p->e->id), tab_p_int(d->day),
                                   tab_p_int(d->task), tab_p_bytes(bytes))));
    }
    return TAB_OK;
}

/* Those of the rows whose receipts had no outcome before. */
static tab_status count_new(put *p, tab_tx *tx, const char *org, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    const char *ids, *ends;
    p->made = tab_arena_new_of(p->a, const counted *, p->of.n);
    if (p->made == NULL || !given_arrays(p->a, &p->of, &ids, &ends))
        return tab_no_memory(err);
    /* in the ids' order, which is of.of[]'s: ids are compared as bytes */
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "WITH made AS (INSERT INTO jobs.outcome (org, endpoint_id, id, expires_at) "
                         "SELECT $1, $2, id, to_timestamp(s) "
                         "FROM unnest($3::uuid[], $4::bigint[]) AS given(id, s) "
                         "ON CONFLICT DO NOTHING RETURNING id) SELECT id FROM made ORDER BY id",
                         TAB_P(tab_p_text(org), tab_p_text(p->e->id), tab_p_text(ids), tab_p_text(ends))));
    for (size_t k = 0, i = 0; k < tab_rows_count(rows); k++, i++) {
        if (!given_find(&p->of, tab_rows_text(rows, k, 0), &i))
            return tab_fail(err, TAB_INTERNAL, "", "ids of outcomes in another order than was asked");
        const counted *c = &p->of.of[i];
        Tabella__OutcomeDay *d = NULL;
        TAB_TRY(day_sums(p, tx, org, &c->receipt, &d, err));
        if (!quality_add(p->a, d, &c->receipt, &c->outcome, c->delay_us))
            return tab_no_memory(err);
        p->made[p->n_made++] = c;
    }
    given_as_served(p->made, p->n_made);
    p->y->accepted = p->n_made;
    p->y->ignored += p->of.n - p->n_made;
    return store_days(p, tx, org, err);
}

tab_status outcomes_put(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__OutcomesRequest *q = call->in;
    Tabella__Endpoint *e = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    if (q->n_rows > OUTCOMES_MOST)
        return tab_fail(err, TAB_VALIDATION, "rows", "at most %d outcomes a call", OUTCOMES_MOST);
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(endpoint_get(tx, call->arena, call->org, q->id_or_name, true, &e, err));
    if (e->receipt_key.len != TAB_RECEIPT_KEY)
        return tab_fail(err, TAB_INTERNAL, "", "an endpoint without its key");
    put p = { .a = call->arena, .y = call->out, .e = e };
    p.of.now = tab_now_us();
    p.of.kept_days = self->outcome_days;
    p.room = outcome_days_most(p.of.kept_days) * TASKS;
    p.day = tab_arena_new_of(call->arena, Tabella__OutcomeDay *, p.room);
    if (p.day == NULL)
        return tab_no_memory(err);
    TAB_TRY(given_read(p.a, e, q, &p.of, p.y, err));
    if (p.of.n > 0)
        TAB_TRY(count_new(&p, tx, call->org, err));
    uint64_t moved = 0;
    if (p.n_made > 0)
        TAB_TRY(outcome_rows_keep(tx, call, e, q, p.made, p.n_made, self->outcome_row_days, &p.y->kept, err));
    if (p.n_made > 0)
        TAB_TRY(watch_outcomes(tx, call, e, p.made, p.n_made, err));
    if (p.n_made > 0 && e->adapt)
        TAB_TRY(calibration_move(tx, call, e, p.made, p.n_made, &moved, err));
    if (moved > 0)
        state_forget(self, call->org, e);
    TAB_TRY(tab_tx_commit(&tx, err));
    if (moved > 0)
        state_show(self, call->org, e);
    tab_relay_nudge(self->relay);
    return TAB_OK;
}

tab_status outcomes_read(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__GetEndpointRequest *q = call->in;
    Tabella__OutcomeQuality *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(endpoint_get(tx, call->arena, call->org, q->id_or_name, false, &y->endpoint, err));
    y->endpoint->receipt_key = (ProtobufCBinaryData){ 0 };
    TAB_TRY(outcome_rows_count(tx, call->org, y->endpoint, &y->kept, err));
    TAB_POINT("outcomes.read");
    /* by one statement with the endpoint: if it was deleted since, its outcomes are gone with it, not none */
    TAB_TRY(tab_tx_query(
        tx, &rows, err,
        "SELECT d.content FROM jobs.endpoint e LEFT JOIN LATERAL (SELECT content, day, task "
        "FROM jobs.outcome_day WHERE org = e.org AND endpoint_id = e.endpoint_id "
        "ORDER BY day DESC, task LIMIT $3) d ON true "
        "WHERE e.org = $1 AND e.endpoint_id = $2 AND e.deleted_at IS NULL ORDER BY d.day DESC, d.task",
        TAB_P(tab_p_text(call->org), tab_p_text(y->endpoint->id), tab_p_int(DAYS_SHOWN))));
    size_t n = tab_rows_count(rows);
    if (n == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such endpoint");
    n = tab_rows_null(rows, 0, 0) ? 0 : n;
    y->days = tab_arena_new_of(call->arena, Tabella__OutcomeDay *, n + 1);
    y->total = tab_arena_new_of(call->arena, Tabella__OutcomeDay *, TASKS);
    if (y->days == NULL || y->total == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        Tabella__OutcomeDay *d = tab_proto_read(call->arena, &tabella__outcome_day__descriptor,
                                                tab_rows_bytes(rows, i, 0, call->arena));
        if (d == NULL || !quality_sound(d))
            return tab_fail(err, TAB_INTERNAL, "", "stored sums of outcomes cannot be read");
        size_t k = 0;
        while (k < y->n_total && y->total[k]->task != d->task)
            k++;
        if (k == y->n_total)
            y->total[y->n_total++] = quality_day(call->arena, 0, (tab_receipt_task)d->task, NULL);
        if (y->total[k] == NULL || !quality_merge(call->arena, y->total[k], d))
            return tab_no_memory(err);
        y->days[y->n_days++] = d;
    }
    return tab_tx_commit(&tx, err);
}
