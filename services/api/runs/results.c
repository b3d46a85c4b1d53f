/* See results.h: where the result of a job lies, and GET /v2/jobs/:id. Results of inline runs are here
 * (outputs.c), the others in jobs, large ones in pieces (decision 0409). */
#include "services/api/runs/results.h"
#include "common/bundle/bundle_json.h"
#include "proto/jobs.pb-c.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/runs/outputs.h"
#include "services/api/service_calls.h"

#include <stdio.h>

/* An inline run's row in jobs follows with its event; its output is here at once. */
static tab_status made_here(request *r, run_result *x, tab_error *err)
{
    Tabella__Job *j = tab_arena_new_of(r->arena, Tabella__Job, 1);
    if (j == NULL)
        return tab_no_memory(err);
    tabella__job__init(j);
    j->job_id = STR(x->id);
    j->kind = STR("run");
    j->status = STR("done");
    j->progress = 100;
    j->label = j->report_id = STR(x->kept.report_id);
    j->processing = STR("realtime");
    j->created_us = j->updated_us = x->kept.created_us;
    j->output_at_api = true;
    x->job = j;
    return TAB_OK;
}

tab_status result_job(request *r, const char *id, run_result *ret, tab_error *err)
{
    Tabella__GetJobRequest q = TABELLA__GET_JOB_REQUEST__INIT;
    *ret = (run_result){ .id = id };
    q.job_id = STR(id);
    tab_status s = call(r, "jobs", "Get", &q.base, &tabella__job__descriptor, &ret->job, err);
    if (s != TAB_OK && s != TAB_NOT_FOUND)
        return s;
    if (s == TAB_NOT_FOUND || ret->job->output_at_api) {
        tab_error none;
        tab_status found = output_get(r, id, &ret->kept, &none);
        if (found != TAB_OK && found != TAB_NOT_FOUND) {
            *err = none;
            return found;
        }
        if (s != TAB_OK && found != TAB_OK)
            return s;
        if (s != TAB_OK)
            TAB_TRY(made_here(r, ret, err));
    }
    const Tabella__Job *j = ret->job;
    ret->run = strcmp(j->kind, "run") == 0 || strcmp(j->kind, "serve") == 0 ||
               (strcmp(j->kind, "batch") == 0 && (j->result == NULL || j->result->json.len == 0));
    return TAB_OK;
}

static tab_status ask(request *r, const char *id, tab_arena *a, const char *array, size_t from,
                      const Tabella__Bundle **ret, tab_error *err)
{
    Tabella__OutputRequest q = TABELLA__OUTPUT_REQUEST__INIT;
    tab_ask ask = { .service = "jobs",
                    .method = "Output",
                    .in = &q.base,
                    .arena = a,
                    .reply = &tabella__output_reply__descriptor };
    tab_answer answer;
    q.job_id = STR(id);
    q.pieces = true;
    q.array = STR(array);
    q.from = from;
    TAB_TRY(call_with(r, &ask, &answer, err));
    return bundle_of_reply(a, answer.msg, ret, err);
}

static bool done(const run_result *x)
{
    return x->run && strcmp(x->job->status, "done") == 0;
}

tab_status result_first(request *r, run_result *x, tab_error *err)
{
    if (!done(x) || x->kept.bundle != NULL || x->job->output_at_api)
        return TAB_OK;
    const Tabella__JobResult *of = x->job->result;
    const Tabella__Bundle *b = NULL;
    tab_status s = ask(r, x->id, r->arena, "", 0, &b, err);
    if (s == TAB_OK)
        x->kept = (output){ .bundle = b,
                            .run_id = of != NULL ? of->run_id : "",
                            .base = of != NULL ? of->base_model : b->base_model,
                            .feed = b->n_tables > 1 ? "multi_table" : "single_table" };
    return s == TAB_NOT_FOUND ? TAB_OK : s; /* 24 hours have passed */
}

tab_status result_piece(request *r, const run_result *x, tab_arena *a, tab_paged array, size_t from,
                        const Tabella__Bundle **ret, tab_error *err)
{
    *ret = x->kept.bundle;
    if (*ret != NULL && tab_bundle_held(*ret, array) == tab_bundle_total(*ret, array))
        return TAB_OK;
    if (!done(x) || x->job->output_at_api)
        return tab_fail(err, TAB_NOT_FOUND, "", "the outputs of this run are no longer stored");
    return ask(r, x->id, a, tab_paged_name(array), from, ret, err);
}

static tab_status page_piece(request *r, const void *x, tab_paged array, size_t from,
                             const Tabella__Bundle **ret, tab_error *err)
{
    return result_piece(r, x, r->arena, array, from, ret, err);
}

static void head_members(tab_out *o, const run_result *x)
{
    const Tabella__JobResult *of = x->job->result;
    bool serve = strcmp(x->job->kind, "serve") == 0 && of != NULL;
    text_member(o, "mode", serve ? "serve" : "run");
    if (serve) {
        text_member(o, "endpoint", of->endpoint);
        text_member(o, "id", of->endpoint_id);
    } else {
        text_member(o, "run_id", x->kept.run_id);
    }
    text_member(o, "job_id", x->id);
}

tab_status get_job(request *r, tab_error *err)
{
    run_result x;
    uint32_t limit;
    tab_str position;
    char list[160];
    char *id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    snprintf(list, sizeof list, "output:%s", id);
    TAB_TRY(query_page(r, list, 0, &limit, &position, err));
    TAB_TRY(result_job(r, id, &x, err));
    if (position.n > 0) {
        tab_status s = bundle_page(r, page_piece, &x, list, position, limit, err);
        return s == TAB_NOT_FOUND
                   ? tab_fail(err, TAB_VALIDATION, "cursor", "the outputs of this run are no longer stored")
                   : s;
    }
    TAB_TRY(result_first(r, &x, err));
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    job_members(r, x.job, true);
    if (done(&x) && x.kept.bundle == NULL) {
        text_member(o, "result", NULL);
    } else if (done(&x)) {
        open_member(o, "result", '{');
        head_members(o, &x);
        text_member(o, "base", x.kept.base);
        text_member(o, "feed", x.kept.feed);
        text_member(o, "status", "complete");
        if (x.job->result != NULL && x.job->result->out[0] != 0)
            text_member(o, "out", x.job->result->out);
        warnings_member(r, x.kept.bundle);
        TAB_TRY(bundle_members(r, x.kept.bundle, list, TAB_S(""), err));
        tab_out_close(o, '}');
    }
    tab_out_close(o, '}');
    return TAB_OK;
}
