/* See outcomes.h. A call is one transaction under the endpoint's row:
 *
 *   receipts read, rows refused -> ids inserted, those that are new come back -> their days' sums move,
 *   what is served follows (calibration.h), and whether it still holds (watch.h)
 *
 * so what was counted is what is known as counted, whoever dies where, and a call that is sent again counts
 * nothing twice. Ids are forgotten when their receipts are no longer taken (store_sweep.c). */
#include "services/jobs/outcomes/outcomes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/proto.h"
#include "services/jobs/endpoint.h"
#include "services/jobs/outcomes/calibration.h"
#include "services/jobs/outcomes/quality.h"
#include "services/jobs/outcomes/watch.h"
#include "services/jobs/work.h"

enum { DAYS_SHOWN = 400, TASKS = 3, UUID = 36 };
static const int64_t DAY_US = 86400000000, AHEAD_US = 60000000; /* AHEAD_US: by which clocks may differ */

typedef struct {
    tab_arena *a;
    const Tabella__OutcomesRequest *q;
    Tabella__OutcomesReply *y;
    Tabella__Endpoint *e;
    counted *of; /* (n), by id; no id twice */
    size_t n;
    const counted **made; /* (n_made) of those, which count, as their rows were served */
    size_t n_made;
    Tabella__OutcomeDay **day; /* (days), each once */
    size_t days, room;
} put;

static bool refuse(put *p, uint32_t row, const char *reason)
{
    Tabella__OutcomeRefused *f = tab_arena_new_of(p->a, Tabella__OutcomeRefused, 1);
    if (f == NULL)
        return false;
    tabella__outcome_refused__init(f);
    f->row = row;
    f->reason = tab_proto_text(p->a, reason);
    p->y->refused[p->y->n_refused++] = f;
    return true;
}

/* NULL, or why the row is refused. */
static const char *read_row(const put *p, uint32_t i, int64_t now, int64_t oldest, counted *c)
{
    const Tabella__OutcomeRow *row = p->q->rows[i];
    c->row = i;
    if (row->receipt[0] == 0)
        return "the receipt is missing";
    if (!tab_receipt_read(p->e->receipt_key.data, tab_str_of(p->e->id), tab_str_of(row->receipt),
                          &c->receipt))
        return "this receipt was not issued by this endpoint, or it was altered";
    if (c->receipt.at_us < oldest)
        return "the receipt is too old; its outcome came too late to count";
    if (c->receipt.at_us > now + AHEAD_US)
        return "the receipt is dated in the future";
    c->delay_us = (row->at_us == 0 ? now : row->at_us) - c->receipt.at_us;
    if (c->delay_us < -AHEAD_US)
        return "the outcome is dated before its prediction was served";
    return outcome_read(&c->receipt, row, &c->outcome);
}

static int by_id(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    int c = memcmp(x->receipt.id, y->receipt.id, TAB_RECEIPT_ID);
    return c != 0 ? c : x->row < y->row ? -1 : x->row > y->row;
}

static tab_status read_rows(put *p, int64_t now, int64_t oldest, tab_error *err)
{
    p->of = tab_arena_new_of(p->a, counted, p->q->n_rows + 1);
    p->y->refused = tab_arena_new_of(p->a, Tabella__OutcomeRefused *, p->q->n_rows + 1);
    if (p->of == NULL || p->y->refused == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < p->q->n_rows; i++) {
        const char *reason = read_row(p, (uint32_t)i, now, oldest, &p->of[p->n]);
        if (reason == NULL)
            p->n++;
        else if (!refuse(p, (uint32_t)i, reason))
            return tab_no_memory(err);
    }
    qsort(p->of, p->n, sizeof *p->of, by_id);
    size_t m = 0;
    for (size_t i = 0; i < p->n; i++) /* of several rows of a receipt the first counts */
        if (m == 0 || memcmp(p->of[m - 1].receipt.id, p->of[i].receipt.id, TAB_RECEIPT_ID) != 0)
            p->of[m++] = p->of[i];
    p->y->ignored = p->n - m;
    p->n = m;
    return TAB_OK;
}

static int32_t day_of(int64_t us)
{
    return (int32_t)(us / DAY_US);
}

static void uuid_text(const uint8_t id[TAB_RECEIPT_ID], char ret[UUID + 1])
{
    char hex[2 * TAB_RECEIPT_ID + 1];
    tab_hex(id, TAB_RECEIPT_ID, hex);
    snprintf(ret, UUID + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* The arrays of ids, and of the seconds since 1970 at which they are forgotten, as PostgreSQL writes them: a
 * day after their receipts are no longer taken. False: out of memory. */
static bool arrays(put *p, int64_t kept_days, const char **ret_ids, const char **ret_ends)
{
    char *ids = tab_arena_alloc(p->a, p->n + 1, UUID + 1), *ends = tab_arena_alloc(p->a, p->n + 1, 24);
    if (ids == NULL || ends == NULL)
        return false;
    size_t i_n = 0, e_n = 0;
    for (size_t i = 0; i < p->n; i++) {
        ids[i_n++] = i == 0 ? '{' : ',';
        uuid_text(p->of[i].receipt.id, ids + i_n);
        i_n += UUID;
        e_n += (size_t)snprintf(ends + e_n, 24, "%c%lld", i == 0 ? '{' : ',',
                                (long long)((p->of[i].receipt.at_us + (kept_days + 1) * DAY_US) / 1000000));
    }
    ids[i_n] = '}';
    ends[e_n] = '}';
    *ret_ids = ids;
    *ret_ends = ends;
    return true;
}

/* The day's sums, as they are kept; locked by the endpoint's row. */
static tab_status day_sums(put *p, tab_tx *tx, const char *org, const tab_receipt *r,
                           Tabella__OutcomeDay **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    int32_t day = day_of(r->at_us);
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

static int as_served(const void *a, const void *b)
{
    const counted *x = *(const counted *const *)a, *y = *(const counted *const *)b;
    return x->receipt.at_us != y->receipt.at_us ? (x->receipt.at_us < y->receipt.at_us ? -1 : 1)
                                                : by_id(x, y);
}

/* Those of the rows whose receipts had no outcome before. */
static tab_status count_new(put *p, tab_tx *tx, const char *org, int64_t kept_days, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    const char *ids, *ends;
    p->made = tab_arena_new_of(p->a, const counted *, p->n);
    if (p->made == NULL || !arrays(p, kept_days, &ids, &ends))
        return tab_no_memory(err);
    /* in the ids' order, which is of.[]'s: ids are compared as bytes */
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "WITH made AS (INSERT INTO jobs.outcome (org, endpoint_id, id, expires_at) "
                         "SELECT $1, $2, id, to_timestamp(s) "
                         "FROM unnest($3::uuid[], $4::bigint[]) AS given(id, s) "
                         "ON CONFLICT DO NOTHING RETURNING id) SELECT id FROM made ORDER BY id",
                         TAB_P(tab_p_text(org), tab_p_text(p->e->id), tab_p_text(ids), tab_p_text(ends))));
    for (size_t k = 0, i = 0; k < tab_rows_count(rows); k++, i++) {
        char text[UUID + 1];
        while (uuid_text(p->of[i].receipt.id, text), strcmp(text, tab_rows_text(rows, k, 0)) != 0) {
            if (++i == p->n)
                return tab_fail(err, TAB_INTERNAL, "", "ids of outcomes in another order than was asked");
        }
        Tabella__OutcomeDay *d = NULL;
        TAB_TRY(day_sums(p, tx, org, &p->of[i].receipt, &d, err));
        if (!quality_add(p->a, d, &p->of[i].receipt, &p->of[i].outcome, p->of[i].delay_us))
            return tab_no_memory(err);
        p->made[p->n_made++] = &p->of[i];
    }
    qsort(p->made, p->n_made, sizeof(const counted *), as_served);
    p->y->accepted = tab_rows_count(rows);
    p->y->ignored += p->n - tab_rows_count(rows);
    return store_days(p, tx, org, err);
}

tab_status outcomes_put(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__OutcomesRequest *q = call->in;
    Tabella__Endpoint *e = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    int64_t now = tab_now_us(), kept_days = self->outcome_days;
    if (q->n_rows > OUTCOMES_MOST)
        return tab_fail(err, TAB_VALIDATION, "rows", "at most %d outcomes a call", OUTCOMES_MOST);
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(endpoint_get(tx, call->arena, call->org, q->id_or_name, true, &e, err));
    if (e->receipt_key.len != TAB_RECEIPT_KEY)
        return tab_fail(err, TAB_INTERNAL, "", "an endpoint without its key");
    put p = { .a = call->arena, .q = q, .y = call->out, .e = e };
    p.room = (size_t)(kept_days + 2) * TASKS;
    p.day = tab_arena_new_of(call->arena, Tabella__OutcomeDay *, p.room);
    if (p.day == NULL)
        return tab_no_memory(err);
    TAB_TRY(read_rows(&p, now, now - kept_days * DAY_US, err));
    if (p.n > 0)
        TAB_TRY(count_new(&p, tx, call->org, kept_days, err));
    uint64_t moved = 0;
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
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT content FROM jobs.outcome_day WHERE org = $1 AND endpoint_id = $2 "
                         "ORDER BY day DESC, task LIMIT $3",
                         TAB_P(tab_p_text(call->org), tab_p_text(y->endpoint->id), tab_p_int(DAYS_SHOWN))));
    size_t n = tab_rows_count(rows);
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
