/* jobs, metering, reports and inference over the RPC, against a running stack: TAB_POSTGRES and TAB_NATS
 * name its servers. Run by tests/suite/services. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/proto.h"
#include "common/rpc/outbox.h"
#include "common/security/ids.h"
#include "proto/events.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "proto/metering.pb-c.h"
#include "proto/reports.pb-c.h"
#include "tests/infra/check.h"
#include "tests/infra/client.h"

int passed, failed;

#define ASK(service, method, in, Reply, reply) \
    ((const Reply *)ask_once(org, service, method, &(in).base, &reply, NULL, 0, NULL))
#define ASK_ERR(service, method, in, reply, e) ask_once(org, service, method, &(in).base, &reply, NULL, 0, e)

static bool refused(const char *sql)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    return tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, NULL) == TAB_OK &&
           tab_tx_query(tx, NULL, NULL, sql, TAB_P_NONE) != TAB_OK;
}

/* Puts an event as the api would, in a transaction of its own outbox; jobs' relay publishes it. */
static void event_put(Tabella__WorkDone *e, int times)
{
    for (int i = 0; i < times; i++) {
        TAB_AUTO(tab_tx) *tx = NULL;
        char key[TAB_ID + 40];
        snprintf(key, sizeof key, "%s#%d", e->event_id, i); /* delivered again under another message */
        CHECK(tab_tx_begin(pg, e->org_id, tab_in_ms(5000), &tx, NULL) == TAB_OK &&
              tab_outbox_put(tx, "jobs", key, "tabella.event.work.done", e->org_id, &e->base, NULL) ==
                  TAB_OK &&
              tab_tx_commit(&tx, NULL) == TAB_OK);
    }
}

/* ---- reports --------------------------------------------------------------------------------- */

static void reports_are_immutable_and_ordered(void)
{
    char *first = NULL;
    for (int i = 0; i < 5; i++) {
        Tabella__MintRequest q = TABELLA__MINT_REQUEST__INIT;
        Tabella__Report r = TABELLA__REPORT__INIT;
        Tabella__HeldOut h = TABELLA__HELD_OUT__INIT;
        h.metric = (char *)"accuracy";
        h.score = 0.5 + i / 10.0;
        r.id = id("r_");
        r.endpoint = (char *)"churn";
        r.endpoint_id = (char *)"e1";
        r.kind = (char *)(i == 4 ? "refresh" : "create");
        r.base_model = (char *)"base-2";
        r.held_out = &h;
        q.report = &r;
        const Tabella__Report *y = ASK("reports", "Mint", q, Tabella__Report, tabella__report__descriptor);
        CHECK(y != NULL && y->content_hash.len == 32 && strncmp(y->name, "churn.b2.", 9) == 0);
        if (i == 0)
            first = r.id;
        h.score = 0.1; /* the same id again: what is stored stands */
        const Tabella__Report *again =
            ASK("reports", "Mint", q, Tabella__Report, tabella__report__descriptor);
        CHECK(again != NULL && y != NULL && again->held_out->score == 0.5 + i / 10.0 &&
              memcmp(again->content_hash.data, y->content_hash.data, 32) == 0);
    }
    Tabella__StarRequest star = TABELLA__STAR_REQUEST__INIT;
    star.id = first;
    star.starred = true;
    const Tabella__Report *starred =
        ASK("reports", "Star", star, Tabella__Report, tabella__report__descriptor);
    CHECK(starred != NULL && starred->pinned);

    Tabella__ListReportsRequest q = TABELLA__LIST_REPORTS_REQUEST__INIT;
    q.limit = 2;
    size_t seen = 0;
    char last[64] = "";
    for (int page = 0; page < 5; page++) {
        const Tabella__ListReportsReply *y =
            ASK("reports", "List", q, Tabella__ListReportsReply, tabella__list_reports_reply__descriptor);
        if (y == NULL)
            break;
        for (size_t i = 0; i < y->n_reports; i++, seen++) {
            if (seen == 0)
                CHECK(strcmp(y->reports[i]->id, first) == 0 && y->reports[i]->pinned);
            CHECK(strcmp(last, y->reports[i]->id) != 0);
            snprintf(last, sizeof last, "%s", y->reports[i]->id);
        }
        CHECK(y->total == 5);
        q.after = y->next;
        if (y->next.len == 0)
            break;
    }
    CHECK(seen == 5);
    CHECK(refused("UPDATE reports.report SET content = ''"));
    CHECK(refused("UPDATE reports.report SET created_at = now()"));
    CHECK(refused("DELETE FROM reports.report"));
    CHECK(refused("TRUNCATE reports.report"));

    Tabella__GetReportRequest g = TABELLA__GET_REPORT_REQUEST__INIT;
    g.id = first;
    tab_error e = { 0 };
    CHECK(ask_once("org_other", "reports", "Get", &g.base, &tabella__report__descriptor, NULL, 0, &e) ==
              NULL &&
          e.status == TAB_NOT_FOUND);
    q = (Tabella__ListReportsRequest)TABELLA__LIST_REPORTS_REQUEST__INIT;
    q.after = (ProtobufCBinaryData){ 3, (uint8_t *)"x;y" };
    CHECK(ASK_ERR("reports", "List", q, tabella__list_reports_reply__descriptor, &e) == NULL &&
          e.status == TAB_VALIDATION && strcmp(e.param, "cursor") == 0);
}

/* ---- metering -------------------------------------------------------------------------------- */

static const Tabella__UsageReply *usage_now(void)
{
    Tabella__UsageRequest q = TABELLA__USAGE_REQUEST__INIT;
    return ASK("metering", "Usage", q, Tabella__UsageReply, tabella__usage_reply__descriptor);
}

static const Tabella__OpCells *op_of(const Tabella__UsageReply *y, const char *op)
{
    for (size_t i = 0; y != NULL && i < y->n_by_op; i++)
        if (strcmp(y->by_op[i]->op, op) == 0)
            return y->by_op[i];
    return NULL;
}

static void events_count_once(void)
{
    const Tabella__UsageReply *before = usage_now();
    CHECK(before != NULL && before->n_by_op == 7 && strcmp(before->plan, "pro") == 0);
    Tabella__WorkDone e = TABELLA__WORK_DONE__INIT;
    Tabella__UsageLine serve = TABELLA__USAGE_LINE__INIT, cached = TABELLA__USAGE_LINE__INIT,
                       *lines[] = { &serve, &cached };
    serve.op = (char *)"serve";
    serve.cells = 20;
    cached.op = (char *)"cached";
    cached.cells = 200000;
    e.event_id = id("evt_");
    e.org_id = (char *)org;
    e.at_us = tab_now_us();
    e.kind = (char *)"serve";
    e.endpoint_id = (char *)"e1";
    e.endpoint = (char *)"churn";
    e.tables = 1;
    e.usage = lines;
    e.n_usage = 2;
    event_put(&e, 3);
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM metering.line WHERE event_id = '%s'", e.event_id);
    CHECK(until(sql, 2));
    Tabella__ChargeRequest c = TABELLA__CHARGE_REQUEST__INIT;
    c.event = &e;
    const Tabella__ChargeReply *charged =
        ASK("metering", "Charge", c, Tabella__ChargeReply, tabella__charge_reply__descriptor);
    CHECK(charged != NULL && !charged->counted);
    usleep(600000); /* the deliveries that were left */
    const Tabella__UsageReply *y = usage_now();
    CHECK(y != NULL && before != NULL && y->total_cells - before->total_cells == 20 + 200000 * 0.05);
    CHECK(op_of(y, "cached") != NULL && op_of(y, "cached")->raw == 200000 &&
          op_of(y, "cached")->multiplier == 0.05);
    CHECK(y != NULL && y->n_by_surface == 2 && y->by_surface[0]->cells == y->total_cells);
    CHECK(y != NULL && y->n_top_endpoints == 1 && strcmp(y->top_endpoints[0]->endpoint, "churn") == 0);
    CHECK(y != NULL && y->days == 7 && strstr(y->window, "Z -> ") != NULL &&
          strcspn(y->resets_in, "dhms") > 0);
}

static void allowance_is_kept(void)
{
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    q.op = (char *)"run";
    q.cells = 1000;
    const Tabella__ReserveReply *y =
        ASK("metering", "Reserve", q, Tabella__ReserveReply, tabella__reserve_reply__descriptor);
    CHECK(y != NULL && y->allowed && y->limit == 50000000);
    q.cells = 300000000; /* pro: 200 million a week */
    y = ASK("metering", "Reserve", q, Tabella__ReserveReply, tabella__reserve_reply__descriptor);
    CHECK(y != NULL && !y->allowed && y->retry_after_s >= 1 && strstr(y->message, "weekly") != NULL);
    /* 80 % is reported once, 100 % once */
    for (int i = 0; i < 3; i++) {
        Tabella__WorkDone e = TABELLA__WORK_DONE__INIT;
        Tabella__UsageLine l = TABELLA__USAGE_LINE__INIT, *lines[] = { &l };
        Tabella__ChargeRequest c = TABELLA__CHARGE_REQUEST__INIT;
        l.op = (char *)"run";
        l.cells = 85000000;
        e.event_id = id("evt_");
        e.org_id = (char *)org;
        e.at_us = tab_now_us() + 3600000000; /* a clock an hour ahead counts now */
        e.kind = (char *)"run";
        e.usage = lines;
        e.n_usage = 1;
        c.event = &e;
        const Tabella__ChargeReply *r =
            ASK("metering", "Charge", c, Tabella__ChargeReply, tabella__charge_reply__descriptor);
        CHECK(r != NULL && r->counted);
        CHECK(number("SELECT count(*) FROM metering.alert") == (i == 0 ? 0 : i == 1 ? 1 : 2));
    }
    CHECK(number("SELECT count(*) FROM metering.outbox WHERE subject = 'tabella.event.usage.alert'") == 2);
    CHECK(number("SELECT count(*) FROM metering.line WHERE at > now()") == 0);
    const Tabella__UsageReply *u = usage_now();
    CHECK(u != NULL && u->used_pct == 100);
    q.cells = 1;
    for (int64_t end = tab_in_ms(PATIENCE_MS); tab_mono_ms() < end; usleep(100000)) {
        y = ASK("metering", "Reserve", q, Tabella__ReserveReply, tabella__reserve_reply__descriptor);
        if (y == NULL || !y->allowed)
            break;
    }
    CHECK(y != NULL && !y->allowed);
}

/* ---- inference ------------------------------------------------------------------------------- */

static const tab_table *iris_like(size_t rows, const char *name)
{
    tab_column *col = tab_arena_new_of(a, tab_column, 3);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    static const char *const names[] = { "length", "width", "kind" };
    uint32_t seed = 12345;
    for (size_t c = 0; c < 3; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[c]));
        seed = 12345;
        for (size_t r = 0; r < rows; r++) {
            seed = seed * 1664525u + 1013904223u;
            double x = (double)(seed >> 8) / (1 << 24);
            size_t k = r % 3;
            if (c == 0)
                tab_builder_number(b, floor((2.0 * (double)k + x) * 100) / 100);
            else if (c == 1)
                tab_builder_number(b, floor((5.0 - (double)k + 2 * x) * 10) / 10);
            else
                tab_builder_text(b, tab_str_of(k == 0 ? "small" : k == 1 ? "middle" : "large"));
        }
        CHECK(tab_builder_finish(b, &col[c]));
    }
    *t = (tab_table){ .id = tab_str_of(name), .rows = rows, .cols = 3, .col = col };
    return t;
}

static const Tabella__RunReply *run_once(const char *base, const char *call_id, const tab_table *t,
                                         tab_error *err)
{
    Tabella__RunRequest q = TABELLA__RUN_REQUEST__INIT;
    Tabella__RunOptions o = TABELLA__RUN_OPTIONS__INIT;
    o.base_model = (char *)base;
    o.threshold = 0.5;
    o.target_mode = (char *)"column";
    o.target_column = (ProtobufCBinaryData){ 4, (uint8_t *)"kind" };
    q.options = &o;
    q.call_id = (char *)call_id;
    return ask_once(org, "inference", "Run", &q.base, &tabella__run_reply__descriptor, &t, 1, err);
}

static void runs_and_bases(void)
{
    const tab_table *t = iris_like(150, "flowers");
    const Tabella__RunReply *y = run_once("", "", t, NULL);
    CHECK(y != NULL && y->cells == 450 && y->bundle != NULL && y->bundle->n_tables == 1);
    CHECK(y != NULL && y->bundle->prediction != NULL && y->bundle->prediction->results->n_row == 150);
    const Tabella__RunReply *again = run_once("", "", t, NULL);
    if (y != NULL && again != NULL) {
        tab_str b1 = tab_proto_write(a, &y->bundle->base), b2 = tab_proto_write(a, &again->bundle->base);
        CHECK(tab_str_eq(b1, b2)); /* one input, one bundle */
    }
    Tabella__SetBaseRequest set = TABELLA__SET_BASE_REQUEST__INIT;
    set.base_model = (char *)"base-1";
    set.retired = true;
    CHECK(ASK("inference", "SetBase", set, Tabella__ModelsReply, tabella__models_reply__descriptor) != NULL);
    tab_error e = { 0 };
    CHECK(run_once("base-1", "", t, &e) == NULL && e.status == TAB_CAPABILITY &&
          strcmp(e.param, "base") == 0);
    CHECK(run_once("base-99", "", t, &e) == NULL && e.status == TAB_VALIDATION &&
          strcmp(e.param, "base") == 0);
    Tabella__ModelsRequest q = TABELLA__MODELS_REQUEST__INIT;
    const Tabella__ModelsReply *m =
        ASK("inference", "Models", q, Tabella__ModelsReply, tabella__models_reply__descriptor);
    size_t defaults = 0;
    for (size_t i = 0; m != NULL && i < m->n_models; i++) {
        CHECK(strcmp(m->models[i]->id, "base-1") != 0);
        defaults += m->models[i]->default_base;
    }
    CHECK(defaults == 1);
    set.retired = false;
    CHECK(ASK("inference", "SetBase", set, Tabella__ModelsReply, tabella__models_reply__descriptor) != NULL);
    CHECK(run_once("base-1", "", t, NULL) != NULL);
    CHECK(number("SELECT count(*) FROM inference.retired_base") == 0);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static const Tabella__Job *job_submit(const char *kind, const char *job, const char *snapshot)
{
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    Tabella__TableSource src = TABELLA__TABLE_SOURCE__INIT, *list[] = { &src };
    Tabella__RunOptions o = TABELLA__RUN_OPTIONS__INIT;
    o.threshold = 0.5;
    src.id = (ProtobufCBinaryData){ 1, (uint8_t *)"t" };
    src.snapshot = (char *)snapshot;
    q.job_id = (char *)job;
    q.kind = (char *)kind;
    q.run_id = id("run_");
    q.report_id = id("r_");
    q.sources = list;
    q.n_sources = 1;
    q.options = &o;
    q.batch_concurrency = 1;
    return ASK("jobs", "Submit", q, Tabella__Job, tabella__job__descriptor);
}

static void inline_runs_are_recorded(void)
{
    Tabella__WorkDone e = TABELLA__WORK_DONE__INIT;
    Tabella__InlineRun r = TABELLA__INLINE_RUN__INIT;
    Tabella__UsageLine l = TABELLA__USAGE_LINE__INIT, *lines[] = { &l };
    l.op = (char *)"run";
    l.cells = 450;
    r.run_id = id("run_");
    r.job_id = id("job_");
    r.report_id = id("r_");
    r.feed = (char *)"single_table";
    e.event_id = tab_arena_printf(a, "run/%s", r.run_id);
    e.org_id = (char *)org;
    e.at_us = tab_now_us();
    e.kind = (char *)"run";
    e.base_model = (char *)"base-2";
    e.usage = lines;
    e.n_usage = 1;
    e.run = &r;
    event_put(&e, 2);
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM jobs.job WHERE job_id = '%s' AND status = 'done'",
             r.job_id);
    CHECK(until(sql, 1));
    const Tabella__Job *j = job_get(r.job_id, NULL);
    CHECK(j != NULL && strcmp(j->kind, "run") == 0 && j->progress == 100 &&
          strcmp(j->report_id, r.report_id) == 0 && j->output_at_api && j->result != NULL &&
          strcmp(j->result->run_id, r.run_id) == 0);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM reports.report WHERE report_id = '%s' AND kind = 'run'",
             r.report_id);
    CHECK(until(sql, 1));
    Tabella__CancelJobRequest c = TABELLA__CANCEL_JOB_REQUEST__INIT;
    c.job_id = r.job_id;
    tab_error err = { 0 };
    CHECK(ASK_ERR("jobs", "Cancel", c, tabella__job__descriptor, &err) == NULL && err.status == TAB_CONFLICT);
}

static void states_of_a_job(void)
{
    char *job = id("job_");
    tab_error err = { 0 };
    CHECK(job_get(id("job_"), &err) == NULL && err.status == TAB_NOT_FOUND);
    /* A snapshot that nobody has: the pass fails, is not billed, and ends as it must. */
    const Tabella__Job *j = job_submit("run", job, "dsv_0000000000000000000000");
    CHECK(j != NULL && strcmp(j->status, "queued") == 0 && j->eta != NULL &&
          strcmp(j->eta->basis, "queue") == 0);
    CHECK(j != NULL && strcmp(job_submit("run", job, "dsv_0000000000000000000000")->job_id, job) == 0);
    CHECK(until("SELECT count(*) FROM jobs.job WHERE work = 'run' AND NOT output_at_api", 1));
    Tabella__CancelJobRequest c = TABELLA__CANCEL_JOB_REQUEST__INIT;
    char *gone = id("job_");
    CHECK(job_submit("batch", gone, "dsv_0000000000000000000000") != NULL);
    c.job_id = gone;
    const Tabella__Job *cancelled = ASK_ERR("jobs", "Cancel", c, tabella__job__descriptor, &err);
    if (cancelled != NULL) { /* unless it failed first */
        CHECK(strcmp(cancelled->status, "cancelled") == 0);
        cancelled = ASK("jobs", "Cancel", c, Tabella__Job, tabella__job__descriptor);
        CHECK(cancelled != NULL && strcmp(cancelled->status, "cancelled") == 0);
    } else {
        CHECK(err.status == TAB_CONFLICT);
    }
    CHECK(refused("UPDATE jobs.job SET status = 'queued' WHERE status = 'done'"));
    CHECK(refused("UPDATE jobs.job "
                  "SET status = 'done' "
                  "WHERE status = 'cancelled' OR status = 'done' AND false OR job_id = (SELECT job_id "
                  "FROM jobs.job "
                  "WHERE status = 'cancelled' "
                  "LIMIT 1)") ||
          number("SELECT count(*) FROM jobs.job WHERE status = 'cancelled'") == 0);
    Tabella__ListJobsRequest q = TABELLA__LIST_JOBS_REQUEST__INIT;
    q.limit = 1;
    const Tabella__ListJobsReply *y =
        ASK("jobs", "List", q, Tabella__ListJobsReply, tabella__list_jobs_reply__descriptor);
    CHECK(y != NULL && y->n_jobs == 1 && y->total == 3 && y->next.len > 0 &&
          strcmp(y->jobs[0]->job_id, gone) == 0);
    const Tabella__Job *ended = job_end(job);
    CHECK(ended != NULL && ended->n_logs >= 2);
    CHECK(number("SELECT count(*) FROM jobs.outbox WHERE event_id LIKE 'job/%'") == 0);
}

int main(void)
{
    CHECK(joined());
    reports_are_immutable_and_ordered();
    runs_and_bases();
    inline_runs_are_recorded();
    states_of_a_job();
    events_count_once();
    allowance_is_kept();
    return left("services");
}
