/* The life of an endpoint over the RPC, against a running stack: create, serve, refresh, upgrade, edit,
 * delete. TAB_POSTGRES and TAB_NATS name the stack's servers. Run by tests/suite/endpoints. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/proto.h"
#include "common/rpc/outbox.h"
#include "common/security/ids.h"
#include "proto/data.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "proto/reports.pb-c.h"
#include "tests/infra/check.h"
#include "tests/infra/client.h"

int passed, failed;

static const void *ask_for(const char *whose, const char *service, const char *method,
                           const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                           const tab_table *t, tab_error *err)
{
    return ask_once(whose, service, method, in, reply, t == NULL ? NULL : &t, t != NULL, err);
}
#define ASK(service, method, in, Reply, reply, e) \
    ((const Reply *)ask_for(org, service, method, &(in).base, &reply, NULL, e))

/* length, width, kind: kind follows from the two others, but for some noise. seed moves the rows. */
static const tab_table *flowers(size_t rows, uint32_t seed, const char *const *names, bool gaps)
{
    tab_column *col = tab_arena_new_of(a, tab_column, 3);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t c = 0; c < 3; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[c]));
        uint32_t s = seed;
        for (size_t r = 0; r < rows; r++) {
            s = s * 1664525u + 1013904223u;
            double x = (double)(s >> 8) / (1 << 24);
            size_t k = (s >> 16) % 3;
            if (strcmp(names[c], "length") == 0)
                tab_builder_number(b, floor((2.0 * (double)k + x) * 100) / 100);
            else if (strcmp(names[c], "kind") != 0 && gaps && r % 2 == 1)
                tab_builder_null(b);
            else if (strcmp(names[c], "kind") != 0)
                tab_builder_number(b, floor((5.0 - (double)k + 2 * x) * 10) / 10);
            else if (gaps)
                tab_builder_null(b);
            else
                tab_builder_text(b, tab_str_of(k == 0 ? "small" : k == 1 ? "middle" : "large"));
        }
        CHECK(tab_builder_finish(b, &col[c]));
    }
    *t = (tab_table){ .id = TAB_S("flowers"), .rows = rows, .cols = 3, .col = col };
    return t;
}

static const char *const in_order[] = { "length", "width", "kind" };
static const char *const shuffled[] = { "kind", "width", "length" };
static const char *const other[] = { "length", "breadth", "kind" };

static const Tabella__DataObject *ingest(const tab_table *t)
{
    Tabella__IngestRequest q = TABELLA__INGEST_REQUEST__INIT;
    q.ingest_id = id("job_");
    q.name = (char *)"flowers";
    const Tabella__IngestReply *y =
        ask_for(org, "data-connector", "Ingest", &q.base, &tabella__ingest_reply__descriptor, t, NULL);
    return y == NULL ? NULL : y->dataset;
}

static const Tabella__EndpointJob *create(const char *name, const char *endpoint, const char *job,
                                          const Tabella__DataObject *d, const char *base, const char *target,
                                          tab_error *err)
{
    Tabella__CreateEndpointRequest q = TABELLA__CREATE_ENDPOINT_REQUEST__INIT;
    Tabella__TableSource src = TABELLA__TABLE_SOURCE__INIT, *list[] = { &src };
    Tabella__RunOptions o = TABELLA__RUN_OPTIONS__INIT;
    o.threshold = 0.5;
    o.base_model = (char *)base;
    o.target_mode = (char *)(target == NULL ? "auto" : "column");
    o.target_column =
        (ProtobufCBinaryData){ target == NULL ? 0 : strlen(target), (uint8_t *)(uintptr_t)target };
    src.id = (ProtobufCBinaryData){ 7, (uint8_t *)"flowers" };
    src.dataset = d->id;
    src.snapshot = d->snapshot;
    q.endpoint_id = (char *)endpoint;
    q.job_id = (char *)job;
    q.name = (char *)name;
    q.sources = list;
    q.n_sources = 1;
    q.options = &o;
    q.key_id = (char *)"key_test";
    return ASK("jobs", "CreateEndpoint", q, Tabella__EndpointJob, tabella__endpoint_job__descriptor, err);
}

static const Tabella__Endpoint *get(const char *endpoint, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    q.id_or_name = (char *)endpoint;
    return ASK("jobs", "GetEndpoint", q, Tabella__Endpoint, tabella__endpoint__descriptor, err);
}

/* n calls of a table each in one message, to the endpoint's state or, `beyond` it, to one that nobody has
 * yet. */
static const Tabella__ServeReply *serve_at(tab_arena *own, const Tabella__Endpoint *e, uint64_t beyond,
                                           const tab_table *const *t, size_t n, tab_error *err)
{
    Tabella__ServeRequest q = TABELLA__SERVE_REQUEST__INIT;
    Tabella__ServeState s = TABELLA__SERVE_STATE__INIT;
    Tabella__TableSource src = TABELLA__TABLE_SOURCE__INIT, *list[] = { &src };
    Tabella__RunOptions o = *e->options;
    uint32_t calls[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    o.base_model = e->base_model;
    src.id = e->datasets[0]->table_id;
    src.snapshot = e->datasets[0]->snapshot;
    s.endpoint_id = e->id;
    s.config_revision = e->config_revision + beyond;
    s.data_revision = e->data_revision;
    s.sources = list;
    s.n_sources = 1;
    s.options = &o;
    q.state = &s;
    q.calls = calls;
    q.n_calls = n;
    tab_ask ask = { .service = "inference",
                    .method = "Serve",
                    .org = org,
                    .deadline = tab_in_ms(60000),
                    .in = &q.base,
                    .reply = &tabella__serve_reply__descriptor,
                    .arena = own,
                    .tables = t,
                    .n_tables = n };
    tab_answer y = { 0 };
    return tab_rpc_call(rpc, &ask, &y, err) == TAB_OK ? y.msg : NULL;
}

/* One call; NULL: refused. */
static const Tabella__ServeReply *serve(const Tabella__Endpoint *e, const tab_table *t, tab_error *err)
{
    const Tabella__ServeReply *y = serve_at(a, e, 0, &t, 1, err);
    if (y == NULL || y->n_parts != 1 || y->parts[0]->status == TAB_OK)
        return y != NULL && y->n_parts == 1 ? y : NULL;
    tab_fail(err, (tab_status)y->parts[0]->status, y->parts[0]->param, "%s", y->parts[0]->message);
    return NULL;
}

static const Tabella__Bundle *bundle_of(const Tabella__ServeReply *y)
{
    return y->parts[0]->bundle;
}

static bool same_bundle(const Tabella__ServeReply *x, const Tabella__ServeReply *y)
{
    return x != NULL && y != NULL &&
           tab_str_eq(tab_proto_write(a, &bundle_of(x)->base), tab_proto_write(a, &bundle_of(y)->base));
}

typedef struct {
    const Tabella__Endpoint *e;
    const tab_table *t;
    tab_str got;
    bool ok;
} one_call;

/* A call on a thread of its own needs an arena of its own. */
static void *call_once(void *arg)
{
    one_call *c = arg;
    tab_arena *own = tab_arena_new(256u << 20);
    const Tabella__ServeReply *y = serve_at(own, c->e, 1000, &c->t, 1, NULL);
    if (y != NULL && y->n_parts == 1 && y->parts[0]->bundle != NULL) {
        tab_str b = tab_proto_write(own, &bundle_of(y)->base);
        c->got = (tab_str){ memcpy(malloc(b.n + 1), b.p, b.n), b.n };
        c->ok = true;
    }
    tab_arena_free(own);
    return NULL;
}

static void refusals(const Tabella__Endpoint *e, const tab_table *rows, const tab_table *stranger)
{
    tab_error err = { 0 };
    CHECK(serve(e, flowers(2, 1, other, false), &err) == NULL && err.status == TAB_VALIDATION &&
          strcmp(err.param, "tables[0].columns") == 0 && strstr(err.message, "missing \"width\"") != NULL &&
          strstr(err.message, "unexpected \"breadth\"") != NULL);
    CHECK(serve(e, stranger, &err) == NULL && err.status == TAB_VALIDATION &&
          strcmp(err.param, "tables[0].id") == 0);
    tab_builder *b = tab_builder_new(a, TAB_S("width"));
    tab_builder_number(b, 1);
    tab_builder_text(b, TAB_S("wide, I should say"));
    tab_builder_number(b, 2);
    tab_column odd;
    CHECK(tab_builder_finish(b, &odd));
    tab_column cols[] = { rows->col[0], odd, rows->col[2] };
    tab_table retyped = { .id = rows->id, .rows = 3, .cols = 3, .col = cols };
    CHECK(serve(e, &retyped, &err) == NULL && err.status == TAB_VALIDATION &&
          strcmp(err.param, "tables[0].rows[1][1]") == 0);
}

/* Several calls in one message: each is answered or refused as if it were alone, and what they share comes
 * once. */
static void together(const Tabella__Endpoint *e, const tab_table *const three[4],
                     const Tabella__ServeReply *warm)
{
    tab_error err = { 0 };
    const Tabella__ServeReply *many = serve_at(a, e, 0, three, 4, &err);
    CHECK(many != NULL && many->n_parts == 4 && many->parts[1]->status == TAB_VALIDATION &&
          many->parts[1]->bundle == NULL && strcmp(many->parts[1]->param, "tables[0].id") == 0);
    for (size_t i = 0; many != NULL && many->n_parts == 4 && warm != NULL && i < 4; i += 2) {
        Tabella__Bundle *part = many->parts[i]->bundle;
        CHECK(part != NULL && many->parts[i]->tables_of == 0 && part->n_tables == (i == 0) &&
              (part->target_selection == NULL) == (i > 0) && many->parts[i]->request_cells == 9);
        if (part != NULL && i > 0) {
            part->tables = bundle_of(many)->tables;
            part->n_tables = bundle_of(many)->n_tables;
            part->target_selection = bundle_of(many)->target_selection;
            part->task_selection = bundle_of(many)->task_selection;
        }
        CHECK(part != NULL &&
              tab_str_eq(tab_proto_write(a, &part->base), tab_proto_write(a, &bundle_of(warm)->base)));
    }
    CHECK(many != NULL && many->parts[3]->tables_of == 3 && /* other rows are merged in */
          many->parts[3]->bundle->n_tables == 1);
}

static void at_once(const Tabella__Endpoint *e, const tab_table *rows, const Tabella__ServeReply *warm)
{
    one_call calls[12];
    pthread_t threads[12];
    for (size_t i = 0; i < 12; i++) {
        calls[i] = (one_call){ .e = e, .t = rows };
        pthread_create(&threads[i], NULL, call_once, &calls[i]);
    }
    for (size_t i = 0; i < 12; i++) {
        pthread_join(threads[i], NULL);
        CHECK(calls[i].ok && tab_str_eq(calls[i].got, calls[0].got));
    }
    /* A state fitted from the snapshot answers as the one handed over does. */
    CHECK(warm != NULL && calls[0].ok &&
          tab_str_eq(calls[0].got, tab_proto_write(a, &bundle_of(warm)->base)));
    for (size_t i = 0; i < 12; i++)
        free((void *)(uintptr_t)calls[i].got.p);
}

static void serving(const Tabella__Endpoint *e)
{
    const tab_table *rows = flowers(3, 99, in_order, false), *turned = flowers(3, 99, shuffled, false);
    const tab_table *one = flowers(1, 99, in_order, false), *gaps = flowers(4, 7, in_order, true);
    const Tabella__ServeReply *cold = serve(e, rows, NULL), *warm = serve(e, rows, NULL);
    /* The first call is warm: the creation handed its fit over. */
    CHECK(cold != NULL && cold->warm && warm != NULL && warm->warm && warm->parts[0]->request_cells == 9 &&
          warm->pinned_cells == 900);
    CHECK(same_bundle(cold, warm));
    CHECK(warm != NULL && bundle_of(warm)->n_tables == 1 && bundle_of(warm)->tables[0]->rows == 3 &&
          bundle_of(warm)->prediction != NULL && bundle_of(warm)->prediction->results->n_row == 3);
    CHECK(same_bundle(warm, serve(e, turned, NULL))); /* names decide, not order */
    const Tabella__ServeReply *single = serve(e, one, NULL);
    if (single != NULL && warm != NULL) { /* a row's answer does not hang on the rows beside it */
        const Tabella__Results *x = bundle_of(single)->prediction->results,
                               *y = bundle_of(warm)->prediction->results;
        CHECK(x->label[0] == y->label[0] && x->probabilities[0] == y->probabilities[0]);
    }
    const Tabella__ServeReply *filled = serve(e, gaps, NULL);
    CHECK(filled != NULL && bundle_of(filled)->imputation->n_row == 6 &&
          bundle_of(filled)->imputation->n_row_confidence == 4);

    tab_table stranger = *rows;
    stranger.id = TAB_S("trees");
    refusals(e, rows, &stranger);
    together(e, (const tab_table *const[]){ rows, &stranger, turned, one }, warm);
    at_once(e, rows, warm);
}

static const Tabella__EndpointJob *mutate(const char *what, const char *endpoint, const char *job,
                                          const char *base, tab_error *err)
{
    if (base == NULL) {
        Tabella__RefreshRequest q = TABELLA__REFRESH_REQUEST__INIT;
        q.id_or_name = (char *)endpoint;
        q.job_id = (char *)job;
        return ASK("jobs", what, q, Tabella__EndpointJob, tabella__endpoint_job__descriptor, err);
    }
    Tabella__UpgradeRequest q = TABELLA__UPGRADE_REQUEST__INIT;
    q.id_or_name = (char *)endpoint;
    q.job_id = (char *)job;
    q.base_model = (char *)base;
    return ASK("jobs", what, q, Tabella__EndpointJob, tabella__endpoint_job__descriptor, err);
}

static const Tabella__Report *report(const char *report_id)
{
    Tabella__GetReportRequest q = TABELLA__GET_REPORT_REQUEST__INIT;
    q.id = (char *)report_id;
    return ASK("reports", "Get", q, Tabella__Report, tabella__report__descriptor, NULL);
}

/* The endpoint, once it is live; NULL: it did not come so far. */
static const Tabella__Endpoint *created(const Tabella__DataObject *d, char *ep)
{
    tab_error err = { 0 };
    char *job = id("job_");
    const Tabella__EndpointJob *y = create("flower-kind", ep, job, d, "base-1", "kind", NULL);
    CHECK(y != NULL && strcmp(y->endpoint->status, "creating") == 0 && strcmp(y->endpoint->id, ep) == 0);
    CHECK((y = create("flower-kind", ep, job, d, "base-1", "kind", NULL)) != NULL &&
          strcmp(y->job->job_id, job) == 0);
    CHECK(create("flower-kind", id(""), id("job_"), d, "base-1", "kind", &err) == NULL &&
          err.status == TAB_CONFLICT && strcmp(err.param, "name") == 0);
    CHECK(create("Bad_Name", id(""), id("job_"), d, "", "kind", &err) == NULL &&
          err.status == TAB_VALIDATION);
    CHECK(create("other", id(""), id("job_"), d, "base-99", "kind", &err) == NULL &&
          strcmp(err.param, "base") == 0);
    const Tabella__Job *j = job_end(job);
    CHECK(j != NULL && strcmp(j->status, "done") == 0 && j->progress == 100 && j->result != NULL &&
          j->result->held_out != NULL && strcmp(j->result->endpoint_id, ep) == 0);
    const Tabella__Endpoint *e = get("flower-kind", NULL);
    CHECK(e != NULL && strcmp(e->status, "live") == 0 && strcmp(e->base_model, "base-1") == 0 &&
          e->config_revision == 1 && e->data_revision == 1 && e->n_system_prompts == 1 &&
          e->held_out != NULL && e->held_out->score > 0.5 && e->pinned_cells == 900 &&
          strncmp(e->report, "flower-kind.b1.create.", 22) == 0);
    if (e == NULL || strcmp(e->status, "live") != 0)
        return NULL;
    return e;
}

static void reported(const Tabella__Endpoint *e, const Tabella__DataObject *d, char *ep)
{
    const Tabella__Report *r = report(e->report_id);
    CHECK(r != NULL && strcmp(r->kind, "create") == 0 && r->held_out->score == e->held_out->score &&
          strcmp(r->target, "flowers.kind") == 0 && r->data->rows == 300 &&
          strcmp(r->data->snapshot, d->snapshot) == 0);
    CHECK(number("SELECT count(*) FROM jobs.outbox WHERE event_id LIKE 'job/%'") == 1);
    Tabella__GetEndpointRequest ge = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    ge.id_or_name = ep;
    const Tabella__OutputReply *out =
        ASK("jobs", "EndpointBundle", ge, Tabella__OutputReply, tabella__output_reply__descriptor, NULL);
    CHECK(out != NULL && out->bundle != NULL && out->bundle->prediction != NULL &&
          out->bundle->prediction->results->n_row == 300);
}

/* The same data: new data would need a connection. */
static const Tabella__Endpoint *refreshed(const Tabella__Endpoint *e, char *ep)
{
    tab_error err = { 0 };
    const Tabella__EndpointJob *y;
    char *refresh = id("job_");
    CHECK((y = mutate("Refresh", ep, refresh, NULL, NULL)) != NULL && strcmp(y->job->kind, "refresh") == 0);
    if (mutate("Upgrade", ep, id("job_"), "base-2", &err) == NULL)
        CHECK(err.status == TAB_CONFLICT && strncmp(err.param, "running_job_id:job_", 19) == 0);
    const Tabella__Job *j = job_end(refresh);
    CHECK(j != NULL && strcmp(j->status, "done") == 0 && j->result->diff != NULL &&
          j->result->diff->rows_unchanged == 300 && j->result->diff->rows_added == 0);
    const Tabella__Endpoint *e2 = get(ep, NULL);
    CHECK(e2 != NULL && e2->data_revision == 2 && e2->config_revision == 1 &&
          strcmp(e2->report_id, e->report_id) != 0 && e2->held_out->seed == e->held_out->seed);
    return e2;
}

static void upgraded(const Tabella__Endpoint *e2, char *ep)
{
    tab_error err = { 0 };
    char *upgrade = id("job_");
    CHECK(mutate("Upgrade", ep, id("job_"), "base-1", &err) == NULL && err.status == TAB_CONFLICT);
    CHECK(mutate("Upgrade", ep, upgrade, "base-2", NULL) != NULL);
    const Tabella__ServeReply *meanwhile = serve(e2, flowers(2, 5, in_order, false), NULL);
    CHECK(meanwhile != NULL && strcmp(bundle_of(meanwhile)->base_model, "base-1") == 0);
    const Tabella__Job *j = job_end(upgrade);
    CHECK(j != NULL && strcmp(j->status, "done") == 0 && j->result->has_delta &&
          strcmp(j->result->previous_base, "base-1") == 0);
    const Tabella__Endpoint *e3 = get(ep, NULL);
    CHECK(e3 != NULL && strcmp(e3->base_model, "base-2") == 0 && e3->held_out->seed == e2->held_out->seed);
    const Tabella__ServeReply *after = e3 == NULL ? NULL : serve(e3, flowers(2, 5, in_order, false), NULL);
    CHECK(after != NULL && after->warm && strcmp(bundle_of(after)->base_model, "base-2") == 0);
    const Tabella__Report *r = e3 == NULL ? NULL : report(e3->report_id);
    CHECK(r != NULL && r->previous != NULL && strcmp(r->previous->report_id, e2->report_id) == 0 &&
          fabs(r->previous->delta - (e3->held_out->score - e2->held_out->score)) < 1e-12);
}

/* The endpoint's bytes without what calls count, which is noted when it comes. */
static tab_str state_of(const char *ep)
{
    Tabella__Endpoint e = *get(ep, NULL);
    e.calls = 0;
    e.drift = NULL;
    return tab_proto_write(a, &e.base);
}

/* Leaves the old state, byte for byte. */
static void cancelled(char *ep)
{
    tab_error err = { 0 };
    char *gone = id("job_");
    tab_str before = state_of(ep);
    CHECK(mutate("Refresh", ep, gone, NULL, NULL) != NULL);
    Tabella__CancelJobRequest cq = TABELLA__CANCEL_JOB_REQUEST__INIT;
    cq.job_id = gone;
    const Tabella__Job *ended = ASK("jobs", "Cancel", cq, Tabella__Job, tabella__job__descriptor, &err);
    if (ended != NULL) {
        CHECK(strcmp(ended->status, "cancelled") == 0);
        CHECK(tab_str_eq(before, state_of(ep)));
    }
}

static void reworded(const Tabella__Endpoint *e4, char *ep)
{
    Tabella__EditEndpointRequest words = TABELLA__EDIT_ENDPOINT_REQUEST__INIT;
    Tabella__SystemPrompt p0 = *e4->system_prompts[0], p1 = TABELLA__SYSTEM_PROMPT__INIT,
                          *list[] = { &p1, &p0 };
    p0.body = (char *)"Be brief.";
    p1.name = (char *)"tone";
    p1.body = (char *)"Be kind.";
    words.id_or_name = ep;
    words.set_prompts = true;
    words.prompts = list;
    words.n_prompts = 2;
    const Tabella__Endpoint *e5 =
        ASK("jobs", "EditEndpoint", words, Tabella__Endpoint, tabella__endpoint__descriptor, NULL);
    CHECK(e5 != NULL && e5->n_system_prompts == 2 && e5->config_revision == 3 &&
          e5->system_prompts[1]->version == 2 && e5->system_prompts[0]->version == 1 &&
          e5->system_prompts[1]->order == 1);
}

static void edited(char *ep)
{
    tab_error err = { 0 };
    Tabella__EditEndpointRequest edit = TABELLA__EDIT_ENDPOINT_REQUEST__INIT;
    Tabella__RunOptions o = TABELLA__RUN_OPTIONS__INIT;
    edit.id_or_name = ep;
    edit.actor = (char *)"key_test";
    edit.options = &o;
    edit.set_target = true;
    o.target_mode = (char *)"column";
    o.target_column = (ProtobufCBinaryData){ 5, (uint8_t *)"width" };
    edit.rename = (char *)"flower-width";
    const Tabella__Endpoint *e4 =
        ASK("jobs", "EditEndpoint", edit, Tabella__Endpoint, tabella__endpoint__descriptor, NULL);
    CHECK(e4 != NULL && e4->config_revision == 2 && strcmp(e4->held_out->task, "regression") == 0 &&
          strcmp(e4->id, ep) == 0);
    CHECK(get("flower-kind", &err) == NULL && err.status == TAB_NOT_FOUND &&
          get("flower-width", NULL) != NULL);
    const Tabella__ServeReply *wide = e4 == NULL ? NULL : serve(e4, flowers(2, 5, in_order, false), NULL);
    CHECK(wide != NULL && strcmp(bundle_of(wide)->prediction->task_type, "regression") == 0);
    if (e4 != NULL)
        reworded(e4, ep);
    CHECK(number("SELECT count(*) FROM jobs.outbox WHERE subject = 'tabella.event.audit'") == 2);
}

static void deleted(const Tabella__Endpoint *e, const Tabella__DataObject *d, char *ep)
{
    tab_error err = { 0 };
    Tabella__DeleteEndpointRequest del = TABELLA__DELETE_ENDPOINT_REQUEST__INIT;
    del.id_or_name = ep;
    CHECK(ASK("jobs", "DeleteEndpoint", del, Tabella__DeleteEndpointReply,
              tabella__delete_endpoint_reply__descriptor, NULL) != NULL);
    CHECK(get(ep, &err) == NULL && err.status == TAB_NOT_FOUND);
    CHECK(ASK("jobs", "DeleteEndpoint", del, Tabella__DeleteEndpointReply,
              tabella__delete_endpoint_reply__descriptor, &err) == NULL &&
          err.status == TAB_NOT_FOUND);
    CHECK(e != NULL && report(e->report_id) != NULL); /* reports stay */
    CHECK(until("SELECT count(*) FROM jobs.chore", 0));
    Tabella__DataRequest dq = TABELLA__DATA_REQUEST__INIT;
    dq.id = d->id;
    const Tabella__DataObject *free_again =
        ASK("data-connector", "Get", dq, Tabella__DataObject, tabella__data_object__descriptor, NULL);
    CHECK(free_again != NULL && free_again->n_pinned_by == 0 && !free_again->pinned);
}

/* A creation that is cancelled leaves the name to the next one. */
static void half_created(const Tabella__DataObject *d)
{
    tab_error err = { 0 };
    Tabella__CancelJobRequest cq = TABELLA__CANCEL_JOB_REQUEST__INIT;
    char *half = id("job_");
    CHECK(create("second", id(""), half, d, "", NULL, NULL) != NULL);
    cq.job_id = half;
    if (ASK("jobs", "Cancel", cq, Tabella__Job, tabella__job__descriptor, &err) != NULL) {
        const Tabella__Endpoint *left = get("second", NULL);
        CHECK(left != NULL && strcmp(left->status, "creating") == 0 &&
              strcmp(left->job_status, "cancelled") == 0);
        CHECK(create("second", id(""), id("job_"), d, "", NULL, NULL) != NULL);
    }
}

int main(void)
{
    CHECK(joined());
    const Tabella__DataObject *d = ingest(flowers(300, 1, in_order, false));
    CHECK(d != NULL && d->snapshot[0] != 0);
    if (d == NULL)
        return 1;
    char *ep = id("");
    const Tabella__Endpoint *e = created(d, ep);
    if (e == NULL)
        return 1;
    reported(e, d, ep);
    serving(e);
    const Tabella__Endpoint *e2 = refreshed(e, ep);
    upgraded(e2, ep);
    cancelled(ep);
    edited(ep);
    deleted(e, d, ep);
    half_created(d);
    /* Billed: once a job that was done, never else. */
    CHECK(until("SELECT count(*) FROM metering.event WHERE event_id LIKE 'job/%'",
                number("SELECT count(*) FROM jobs.job WHERE status = 'done' AND NOT output_at_api")));
    return left("endpoints");
}
