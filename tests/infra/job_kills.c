/* Jobs while the daemons that work on them are killed with kill -9: each ends done, once, and is billed once.
 * TAB_POSTGRES and TAB_NATS name the stack's servers, TAB_RUN its folder. Run by tests/suite/job-kills. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/proto.h"
#include "common/pg/pg.h"
#include "common/rpc/rpc.h"
#include "common/security/ids.h"
#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "tests/infra/check.h"
#include "tests/infra/client.h"

int passed, failed;

enum { JOBS = 6 };

/* A caller that retries, as the api's clients do: a daemon may just be starting. */
static const void *ask(const char *service, const char *method, const ProtobufCMessage *in,
                       const ProtobufCMessageDescriptor *reply, const tab_table *t)
{
    tab_error e = { 0 };
    for (int i = 0; i < 60; i++) {
        tab_ask q = { .service = service,
                      .method = method,
                      .org = org == NULL ? "" : org,
                      .request_id = "req_test",
                      .deadline = tab_in_ms(30000),
                      .in = in,
                      .reply = reply,
                      .arena = a,
                      .tables = t == NULL ? NULL : &t,
                      .n_tables = t == NULL ? 0 : 1 };
        tab_answer y = { 0 };
        tab_status s = tab_rpc_call(rpc, &q, &y, &e);
        if (s == TAB_OK)
            return y.msg;
        if (s != TAB_UNAVAILABLE && s != TAB_CANCELLED)
            break;
        usleep(300000);
    }
    printf("%s.%s: %s\n", service, method, e.message);
    return NULL;
}

static void send(const char *signal, const char *daemon)
{
    char line[300];
    snprintf(line, sizeof line, "kill -%s \"$(jq -r .children.%s.pid \"$TAB_RUN/state.json\")\"", signal,
             daemon);
    CHECK(system(line) == 0);
}

static const tab_table *rows_of(size_t rows)
{
    tab_column *col = tab_arena_new_of(a, tab_column, 8);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    uint32_t s = 7;
    for (size_t c = 0; c < 8; c++) {
        char name[8];
        snprintf(name, sizeof name, "c%zu", c);
        tab_builder *b = tab_builder_new(a, tab_arena_copy(a, tab_str_of(name)));
        for (size_t r = 0; r < rows; r++) {
            s = s * 1664525u + 1013904223u;
            if (c == 7)
                tab_builder_text(b, tab_str_of(r % 3 == 0 ? "a" : r % 5 == 0 ? "b" : "c"));
            else
                tab_builder_number(b, floor((double)(s >> 8) / 1000) / 10 + (double)(r % (c + 3)));
        }
        CHECK(tab_builder_finish(b, &col[c]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 8, .col = col };
    return t;
}

static void submit(const char *job, const char *snapshot)
{
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    Tabella__TableSource src = TABELLA__TABLE_SOURCE__INIT, *list[] = { &src };
    Tabella__RunOptions o = TABELLA__RUN_OPTIONS__INIT;
    o.threshold = 0.5;
    o.base_model = (char *)"base-1";
    o.target_mode = (char *)"column";
    o.target_column = (ProtobufCBinaryData){ 2, (uint8_t *)"c7" };
    src.id = (ProtobufCBinaryData){ 1, (uint8_t *)"t" };
    src.snapshot = (char *)snapshot;
    q.job_id = (char *)job;
    q.kind = (char *)"run";
    q.run_id = id("run_");
    q.report_id = id("r_");
    q.sources = list;
    q.n_sources = 1;
    q.options = &o;
    CHECK(ask("jobs", "Submit", &q.base, &tabella__job__descriptor, NULL) != NULL);
}

/* A piece of the job's result, as inference gives one. */
static tab_status put_piece(const char *job, int64_t attempt, const char *array)
{
    Tabella__PutPieceRequest q = TABELLA__PUT_PIECE_REQUEST__INIT;
    tab_error err = { 0 };
    q.job_id = (char *)job;
    q.attempt = attempt;
    q.array = (char *)array;
    q.bundle = (ProtobufCBinaryData){ 4, (uint8_t *)"data" };
    const void *y = ask_once(org, "jobs", "PutPiece", &q.base, &tabella__empty__descriptor, NULL, 0, &err);
    return y != NULL ? TAB_OK : err.status;
}

#define PIECES "SELECT count(*) FROM jobs.piece WHERE array_name = 'prediction.results'"
#define RUNS "SELECT count(*) FROM jobs.job WHERE kind = 'run' AND status = "

/* Cancelling stops the computation, and bills nothing. What is given of a result is taken of the attempt
 * alone that has the job. */
static void cancelled_job(const char *job, const char *snapshot, const char *ended)
{
    submit(job, snapshot);
    CHECK(until("SELECT (count(*) > 0)::int FROM jobs.job WHERE status = 'running' AND progress > 0", 1));
    CHECK(put_piece(job, 2, "prediction.results") == TAB_CANCELLED); /* not its attempt */
    CHECK(put_piece(job, 1, "no such array") == TAB_VALIDATION);
    CHECK(put_piece(ended, 1, "prediction.results") == TAB_CANCELLED); /* it has ended */
    CHECK(number(PIECES) == 0);
    CHECK(put_piece(job, 1, "prediction.results") == TAB_OK);
    CHECK(put_piece(job, 1, "prediction.results") == TAB_OK); /* once more: the same */
    CHECK(number(PIECES) == 1);
    Tabella__CancelJobRequest c = TABELLA__CANCEL_JOB_REQUEST__INIT;
    c.job_id = (char *)job;
    const Tabella__Job *y = ask("jobs", "Cancel", &c.base, &tabella__job__descriptor, NULL);
    CHECK(y != NULL && strcmp(y->status, "cancelled") == 0);
    CHECK(put_piece(job, 1, "prediction.results") == TAB_CANCELLED);
    int idle = -1;
    int64_t cancelled = tab_mono_ms();
    for (int64_t end = tab_in_ms(PATIENCE_MS); idle != 0 && tab_mono_ms() < end;) {
        usleep(100000);
        idle = system("curl -s http://127.0.0.1:$(jq -r '.[\"inference-health\"]' "
                      "$TAB_RUN/ports.json)/metrics | grep -q '^tabella_inference_running 0'");
    }
    CHECK(idle == 0);
    printf("# a cancelled pass of 200,000 rows left its worker after %lld ms; "
           "the figure is up to a second old\n",
           (long long)(tab_mono_ms() - cancelled));
    sleep(1);
    CHECK(number("SELECT count(*) FROM metering.event") == JOBS + 1);
}

int main(void)
{
    CHECK(joined());
    const tab_table *t = rows_of(4000), *large = rows_of(200000); /* large: not done before it is cancelled */
    char *job[JOBS + 2], *snapshot[JOBS + 2];
    for (size_t i = 0; i < JOBS + 2;
         i++) { /* each job has a spool of its own: it is dropped when the job ends */
        Tabella__IngestRequest q = TABELLA__INGEST_REQUEST__INIT;
        job[i] = id("job_");
        q.ingest_id = tab_arena_printf(a, "%s:0", job[i]);
        q.name = (char *)"t";
        q.temporary = true;
        q.owner = job[i];
        const Tabella__IngestReply *y = ask("data-connector", "Ingest", &q.base,
                                            &tabella__ingest_reply__descriptor, i == JOBS + 1 ? large : t);
        CHECK(y != NULL && y->dataset != NULL);
        snapshot[i] = y == NULL || y->dataset == NULL ? (char *)"" : y->dataset->snapshot;
    }
    for (size_t i = 0; i < JOBS; i++)
        submit(job[i], snapshot[i]);
    CHECK(until("SELECT (count(*) > 0)::int FROM jobs.job WHERE status = 'running'", 1));
    send("STOP", "inference"); /* frozen first: what runs now cannot end before the kill */
    usleep(500000);
    CHECK(number("SELECT count(*) FROM jobs.job WHERE status = 'running'") > 0);
    send("KILL", "inference");
    CHECK(until("SELECT (count(*) > 0)::int FROM jobs.job WHERE status = 'running' AND attempt > 1", 1));
    send("KILL", "jobs"); /* the leases run out, another takes them */
    usleep(500000);
    send("KILL", "metering");
    send("KILL", "reports");
    CHECK(until(RUNS "'done'", JOBS));
    CHECK(number("SELECT max(attempt) FROM jobs.job") > 1);
    CHECK(until("SELECT count(*) FROM metering.event", JOBS));
    CHECK(until("SELECT count(*) FROM reports.report WHERE kind = 'run'", JOBS));
    CHECK(number("SELECT sum(cells)::bigint FROM metering.line WHERE op = 'run'") ==
          (int64_t)JOBS * 4000 * 8);
    CHECK(until("SELECT count(*) FROM jobs.chore", 0)); /* the spools are dropped */

    /* A worker that is frozen past its lease changes nothing when it thaws. */
    submit(job[JOBS], snapshot[JOBS]);
    CHECK(until("SELECT (count(*) > 0)::int FROM jobs.job WHERE status = 'running'", 1));
    send("STOP", "inference");
    sleep(7);
    send("CONT", "inference");
    CHECK(until(RUNS "'done'", JOBS + 1));
    CHECK(until("SELECT count(*) FROM metering.event", JOBS + 1));

    cancelled_job(job[JOBS + 1], snapshot[JOBS + 1], job[JOBS]);
    return left("job-kills");
}
