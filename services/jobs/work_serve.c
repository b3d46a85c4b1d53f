/* A dataset scored by an endpoint (decision 0830).
 *
 *   read rows [scored, scored + ROWS) -> Serve -> one transaction: their results, scored moves on -> ...
 *   all are scored -> options.out is written -> one transaction: the job ends, the bill
 *
 * What is held is a piece, whatever the dataset's length. An attempt that dies leaves what it has scored to
 * the next one, which goes on behind it: a piece whose transaction is not committed is scored again, and
 * nothing is billed before the end. All rows are answered by the state that the endpoint had when it was
 * asked, whatever it becomes meanwhile; once it is deleted none is. */
#include <stdio.h>

#include "common/base/proto.h"
#include "common/bundle/bundle_pieces.h"
#include "common/calibration/follow.h"
#include "proto/inference.pb-c.h"
#include "services/jobs/work.h"

enum {
    ROWS = 10000,     /* of a piece: as many as a serve call may have */
    READ_MS = 120000, /* of its rows */
    SERVE_MS = 900000 /* of its answers, the fit of the endpoint's state among them */
};
static const size_t SCRATCH = (size_t)2 << 30; /* of a piece: its rows, its answers */

typedef struct {
    work *w;
    const Tabella__SubmitRequest *q;
    const Tabella__ServeJob *of;
    uint64_t scored;
    uint64_t rows; /* of this piece */
    bool lapsed;   /* another attempt has the job, or nobody */
} scoring;

static tab_status gone(const Tabella__ServeJob *of, tab_error *err)
{
    return tab_fail(err, TAB_NOT_FOUND, "id",
                    "the endpoint `%.63s` was deleted before all rows were scored; nothing is billed",
                    of->endpoint);
}

/* How far the attempts before came. NOT_FOUND: the endpoint is no more. */
static tab_status begin(scoring *x, tab_arena *a, tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    Tabella__Endpoint *e = NULL;
    TAB_TRY(work_begin(x->w, 10000, &tx, err));
    tab_status s = endpoint_get(tx, a, c->org, x->of->endpoint_id, false, &e, err);
    if (s != TAB_OK)
        return s == TAB_NOT_FOUND ? gone(x->of, err) : s;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT scored FROM jobs.job WHERE org = $1 AND job_id = $2 AND attempt = $3 "
                         "AND status = 'running'",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt))));
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone");
    x->scored = (uint64_t)tab_rows_int(rows, 0, 0);
    return tab_tx_commit(&tx, err);
}

/* ---- a piece: its rows and their answers ------------------------------------------------------ */

/* With the column that is predicted, empty, where the rows lack it. */
static const tab_table *with_target(tab_arena *a, const Tabella__ServeJob *of, const tab_table *t)
{
    tab_str target = { (const char *)of->target.data, of->target.len };
    for (size_t k = 0; k < t->cols; k++)
        if (tab_str_eq(t->col[k].name, target))
            return t;
    tab_table *own = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    tab_builder *b = tab_builder_new(a, target);
    if (target.n == 0)
        return t;
    if (own == NULL || col == NULL || b == NULL)
        return NULL;
    memcpy(col, t->col, t->cols * sizeof *col);
    for (size_t i = 0; i < t->rows; i++)
        tab_builder_null(b);
    if (!tab_builder_finish(b, &col[t->cols]))
        return NULL;
    *own = (tab_table){ .id = t->id, .rows = t->rows, .cols = t->cols + 1, .col = col };
    return own;
}

static tab_status read_rows(scoring *x, tab_arena *a, const tab_table **ret, tab_error *err)
{
    Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
    const ProtobufCBinaryData id = x->of->source->id;
    const tab_table *t = NULL;
    q.snapshot = x->of->source->snapshot;
    q.first_row = x->scored;
    q.rows = x->of->rows - x->scored < ROWS ? x->of->rows - x->scored : ROWS;
    q.table_id = (char *)tab_arena_copy(a, (tab_str){ (const char *)id.data, id.len }).p;
    if (q.table_id == NULL)
        return tab_no_memory(err);
    TAB_TRY(work_read(x->w, &q, READ_MS, a, NULL, &t, err));
    if (t->rows != q.rows)
        return tab_fail(err, TAB_INTERNAL, "", "the dataset has fewer rows than when it was asked for");
    x->rows = q.rows;
    *ret = with_target(a, x->of, t);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

/* A refusal names the row by its number in the dataset. */
static tab_status refused(const scoring *x, const Tabella__ServePart *part, tab_error *err)
{
    unsigned long long row;
    tab_status s =
        part->status > TAB_OK && part->status < TAB_STATUS_COUNT ? (tab_status)part->status : TAB_INTERNAL;
    return sscanf(part->param, "tables[0].rows[%llu]", &row) == 1
               ? tab_fail(err, s, "data[0]", "row %llu: %s", row + (unsigned long long)x->scored,
                          part->message)
               : tab_fail(err, s, "data[0]", "%s", part->message);
}

static size_t answered(const Tabella__Bundle *b)
{
    return b->prediction == NULL || b->prediction->results == NULL ? 0 : b->prediction->results->n_row;
}

/* Their answers, numbered as the dataset's rows are. */
static tab_status score(scoring *x, tab_arena *a, const tab_table *rows, Tabella__Bundle **ret,
                        tab_error *err)
{
    Tabella__ServeRequest q = TABELLA__SERVE_REQUEST__INIT;
    uint32_t one = 1;
    const void *msg = NULL;
    const tab_followed *followed;
    q.state = x->of->state;
    q.calls = &one;
    q.n_calls = 1;
    q.answers_only = true;
    TAB_TRY(work_call_with(x->w, "inference", "Serve", SERVE_MS, &q.base, &rows, 1,
                           &tabella__serve_reply__descriptor, a, &msg, err));
    const Tabella__ServeReply *y = msg;
    if (y->n_parts != 1)
        return tab_fail(err, TAB_INTERNAL, "", "an answer for another number of calls than were asked");
    if (y->parts[0]->status != TAB_OK)
        return refused(x, y->parts[0], err);
    Tabella__Bundle *b = y->parts[0]->bundle;
    if (b == NULL || !tab_bundle_sound(b) || answered(b) != x->rows)
        return tab_fail(err, TAB_INTERNAL, "", "an answer is damaged");
    for (size_t i = 0; i < x->rows; i++)
        b->prediction->results->row[i] += (uint32_t)x->scored;
    for (size_t t = 0; t < b->n_tables; t++) {
        b->tables[t]->rows = x->of->rows;
        b->tables[t]->n_column_profile = 0; /* it would be that of a piece */
    }
    b->records_total = x->of->rows;
    *ret = b;
    return x->of->calibration == NULL ? TAB_OK
                                      : tab_follow_outcomes(a, x->of->calibration, b, &followed, err);
}

/* ---- keeping it ------------------------------------------------------------------------------- */

static void place_parts(Tabella__Bundle *b, uint64_t before, uint64_t total)
{
    for (size_t i = 0; i < b->n_parts; i++) {
        b->parts[i]->first += before;
        b->parts[i]->total = total;
    }
}

/* The first piece brings the head. */
static tab_status put_head(const scoring *x, tab_tx *tx, tab_arena *a, const Tabella__Bundle *b,
                           tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    if (x->scored > 0)
        return TAB_OK;
    TAB_TRY(jobs_output_clear(tx, c->org, c->job_id, err));
    Tabella__Bundle *head = tab_bundle_head(a, b);
    if (head == NULL)
        return tab_no_memory(err);
    place_parts(head, 0, x->of->rows);
    return jobs_output_head(tx, c->org, c->job_id, head, &x->w->self->run_keys, err);
}

static tab_status put_slices(const scoring *x, tab_tx *tx, const Tabella__Bundle *b, tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    size_t step = tab_bundle_stride(b, TAB_PAGE_RESULTS, TAB_PIECE_BYTES);
    for (size_t from = 0, to; from < x->rows; from = to) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
        to = x->rows - from < step ? x->rows : from + step;
        Tabella__Bundle *slice = a == NULL ? NULL : tab_bundle_slice(a, b, TAB_PAGE_RESULTS, from, to);
        if (slice == NULL)
            return tab_no_memory(err);
        place_parts(slice, x->scored, x->of->rows);
        tab_str bytes = tab_proto_write(a, &slice->base);
        if (bytes.p == NULL)
            return tab_no_memory(err);
        TAB_TRY(jobs_output_piece(tx, c->org, c->job_id, TAB_PAGE_RESULTS, x->scored + from, bytes,
                                  &x->w->self->run_keys, JOBS_OUTPUT_HOURS, err));
    }
    return TAB_OK;
}

/* An attempt that has lost the job keeps nothing. One that came on has not spent its tries. */
static tab_status move_on(scoring *x, tab_tx *tx, tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "UPDATE jobs.job SET scored = $4, tries = least(tries, 1) "
                         "WHERE org = $1 AND job_id = $2 AND attempt = $3 AND status = 'running' "
                         "AND scored = $5 RETURNING 1",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt),
                               tab_p_int((int64_t)(x->scored + x->rows)), tab_p_int((int64_t)x->scored))));
    x->lapsed = tab_rows_count(rows) == 0;
    return x->lapsed ? tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone") : TAB_OK;
}

static tab_status keep(scoring *x, tab_arena *a, const Tabella__Bundle *b, tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__Endpoint *e = NULL;
    TAB_TRY(work_begin(x->w, 60000, &tx, err));
    tab_status s = endpoint_get(tx, a, c->org, x->of->endpoint_id, false, &e, err);
    if (s != TAB_OK)
        return s == TAB_NOT_FOUND ? gone(x->of, err) : s;
    if (x->rows == x->of->rows) {
        TAB_TRY(jobs_output_put(tx, c->org, c->job_id, b, &x->w->self->run_keys, err));
    } else {
        TAB_TRY(put_head(x, tx, a, b, err));
        TAB_TRY(put_slices(x, tx, b, err));
    }
    TAB_TRY(move_on(x, tx, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    x->scored += x->rows;
    return TAB_OK;
}

static tab_status piece(scoring *x, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    const tab_table *rows = NULL;
    Tabella__Bundle *b = NULL;
    double all = (double)x->of->rows, next = (double)x->scored + ROWS;
    if (a == NULL)
        return tab_no_memory(err);
    work_phase(x->w, "scoring", 0.02 + 0.9 * (double)x->scored / all,
               0.021 + 0.9 * (next < all ? next : all) / all);
    TAB_TRY(read_rows(x, a, &rows, err));
    TAB_TRY(score(x, a, rows, &b, err));
    tab_status s = keep(x, a, b, err);
    return s == TAB_CANCELLED && !x->lapsed /* what is scored so far stays: another attempt goes on */
               ? tab_fail(err, TAB_UNAVAILABLE, "", "the database is not responding; try again")
               : s;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static tab_status finish(scoring *x, tab_error *err)
{
    Tabella__WorkDone done = TABELLA__WORK_DONE__INIT;
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    jobs_claimed own = *x->w->c; /* it is billed as the endpoint's, whose job it is not */
    jobs_end end = { .status = "done", .result = &result };
    TAB_AUTO(tab_tx) *tx = NULL;
    own.endpoint_id = x->of->endpoint_id;
    own.endpoint = x->of->endpoint;
    done.base_model = x->of->state->base_model;
    done.tables = 1;
    done.usage = x->q->usage;
    done.n_usage = x->q->n_usage;
    result.base_model = x->of->state->base_model;
    result.feed = (char *)(x->of->state->n_sources > 1 ? "multi_table" : "single_table");
    result.endpoint = x->of->endpoint;
    result.endpoint_id = x->of->endpoint_id;
    result.out = x->q->out;
    tab_status s = work_begin(x->w, 60000, &tx, err);
    if (s == TAB_OK)
        s = jobs_output_kept(tx, own.org, own.job_id, err);
    if (s == TAB_OK)
        s = jobs_finish(tx, &own, &end, err);
    if (s == TAB_OK)
        s = jobs_bill(tx, &own, &done, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return work_ended(x->w, s);
}

tab_status work_serve(work *w, tab_arena *a, tab_error *err)
{
    const Tabella__SubmitRequest *q = tab_proto_read(a, &tabella__submit_request__descriptor, w->c->request);
    if (q == NULL || q->serve == NULL || q->serve->state == NULL || q->serve->source == NULL ||
        q->serve->rows == 0 || q->serve->rows > UINT32_MAX)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    scoring x = { .w = w, .q = q, .of = q->serve };
    TAB_TRY(begin(&x, a, err));
    while (x.scored < x.of->rows)
        TAB_TRY(piece(&x, err));
    if (q->out[0] != 0)
        TAB_TRY(work_out_rows(w, a, q, err));
    work_phase(w, "storing", 0.96, 0.99);
    return finish(&x, err);
}
