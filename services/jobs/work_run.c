/* A run as a job: the snapshots that its submitter named go through one pass, the bundle is kept for a
 * day. */
#include <stdio.h>

#include "common/base/proto.h"
#include "proto/inference.pb-c.h"
#include "services/jobs/work.h"

enum { STORE_MS = 300000 }; /* of a result of 10 million rows */

/* The run's record, made from what the pass found: as much as that of a run answered inline. It holds no
 * labels: they are cells, and the record is kept for good. */
static void describe(const Tabella__SubmitRequest *q, const Tabella__Bundle *b, Tabella__InlineRun *r,
                     tab_arena *a)
{
    r->run_id = q->run_id;
    r->job_id = q->job_id;
    r->report_id = q->report_id;
    r->feed = (char *)(q->n_sources > 1 ? "multi_table" : "single_table");
    for (size_t i = 0; i < b->n_tables; i++)
        r->rows += b->tables[i]->rows;
    const Tabella__Prediction *p = b->prediction;
    if (p == NULL)
        return;
    r->task = p->task_type;
    if (p->target != NULL) {
        tab_str t =
            tab_arena_copy(a, (tab_str){ (const char *)p->target->address.data, p->target->address.len });
        r->target = t.p == NULL ? r->target : (char *)t.p;
    }
}

/* The result, before its rows are written from there. An attempt that has lost the job keeps nothing. */
static tab_status keep(work *w, const Tabella__RunReply *y, tab_error *err)
{
    const jobs_claimed *c = w->c;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    if (!tab_bundle_sound(y->bundle))
        return tab_fail(err, TAB_INTERNAL, "", "a pass whose bundle is damaged");
    TAB_TRY(work_begin(w, STORE_MS, &tx, err));
    TAB_TRY(work_output(w, tx, y->bundle, y->in_pieces, &w->self->run_keys, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT 1 FROM jobs.job WHERE org = $1 AND job_id = $2 AND attempt = $3 "
                         "AND status = 'running' FOR SHARE",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt))));
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone");
    return tab_tx_commit(&tx, err);
}

tab_status work_run(work *w, tab_arena *a, tab_error *err)
{
    const jobs_claimed *c = w->c;
    const Tabella__SubmitRequest *q = tab_proto_read(a, &tabella__submit_request__descriptor, c->request);
    if (q == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    Tabella__RunRequest ask = TABELLA__RUN_REQUEST__INIT;
    ask.sources = q->sources;
    ask.n_sources = q->n_sources;
    ask.options = q->options;
    ask.call_id = w->call_id;
    ask.alone = c->suspect;
    Tabella__PieceOwner owner = TABELLA__PIECE_OWNER__INIT;
    bool document = q->out[0] != 0 && work_out_whole(q), rows = q->out[0] != 0 && !document;
    if (!document) { /* that is made of the whole */
        TAB_TRY(work_pieces(w, &owner, err));
        ask.pieces = &owner;
    }
    const void *msg = NULL;
    work_phase(w, "reading", 0.02, 0.95);
    tab_status s =
        work_call(w, "inference", "Run", strcmp(c->processing, "batch") == 0 ? 24 * 3600000 : 3600000,
                  &ask.base, &tabella__run_reply__descriptor, a, &msg, err);
    if (s != TAB_OK)
        return s;
    const Tabella__RunReply *y = msg;
    if (y->bundle == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a pass without a bundle");
    if (document)
        TAB_TRY(work_out_document(w, a, q, y, err));
    if (rows) {
        TAB_TRY(keep(w, y, err));
        TAB_TRY(work_out_rows(w, a, q, err));
    }
    work_phase(w, "storing", 0.96, 0.99);

    Tabella__UsageLine all = TABELLA__USAGE_LINE__INIT, *lines[] = { &all };
    all.op = (char *)(strcmp(c->kind, "batch") == 0 ? "batch" : "run");
    all.cells = y->cells;
    Tabella__InlineRun record = TABELLA__INLINE_RUN__INIT;
    describe(q, y->bundle, &record, a);
    Tabella__WorkDone done = TABELLA__WORK_DONE__INIT;
    done.base_model = y->base_model;
    done.tables = (uint32_t)y->bundle->n_tables;
    done.usage = q->n_usage > 0 ? q->usage : lines;
    done.n_usage = q->n_usage > 0 ? q->n_usage : 1;
    done.run = &record;
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    result.run_id = q->run_id;
    result.report_id = q->report_id;
    result.base_model = y->base_model;
    result.feed = record.feed;
    result.out = q->out;
    /* Filled tables are files that are made when they are asked for, of what the run read. */
    bool filled = y->bundle->imputation != NULL && y->bundle->imputation->n_row > 0;
    result.n_sources = filled ? q->n_sources : 0;
    result.sources = q->sources;

    TAB_AUTO(tab_tx) *tx = NULL;
    jobs_end end = { .status = "done", .result = &result, .keeps = filled };
    /* The output first: while it is written, the job's row is free to be cancelled. */
    if ((s = work_begin(w, STORE_MS, &tx, err)) == TAB_OK &&
        (s = rows ? jobs_output_kept(tx, c->org, c->job_id, err)
                  : work_output(w, tx, y->bundle, y->in_pieces, &w->self->run_keys, err)) == TAB_OK &&
        (s = jobs_finish(tx, c, &end, err)) == TAB_OK && (s = jobs_bill(tx, c, &done, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return work_ended(w, s);
}
