/* options.out: a run's bundle or its predictions, handed to data-connector before the job ends
 * (decision 0327). What cannot be written fails the run; an attempt that dies between writing and
 * the job's end is repeated, and writes the same again. Rows are what the job keeps already:
 * data-connector fetches them piece by piece (out_rows.c); the document of a .json alone is made whole. */
#include <strings.h>

#include "common/base/proto.h"
#include "common/bundle/bundle_json.h"
#include "proto/data.pb-c.h"
#include "services/jobs/work.h"

enum { WRITE_MS = 3600000 };

bool work_out_whole(const Tabella__SubmitRequest *q)
{
    size_t n = strlen(q->out);
    return n > 5 && strcasecmp(q->out + n - 5, ".json") == 0;
}

static void bundle_document(tab_out *o, const Tabella__SubmitRequest *q, const Tabella__RunReply *y)
{
    const char *const member[][2] = {
        { "mode", "run" }, { "run_id", q->run_id }, { "job_id", q->job_id }, { "base", y->base_model }
    };
    tab_out_open(o, '{');
    for (size_t i = 0; i < sizeof member / sizeof *member; i++) {
        tab_out_key(o, member[i][0]);
        tab_out_cstr(o, member[i][1]);
    }
    tab_bundle_json(o, y->bundle, NULL);
    tab_out_close(o, '}');
}

static tab_status write(work *w, tab_arena *a, const Tabella__SubmitRequest *q, const char *method,
                        Tabella__WriteRequest *ask, tab_error *err)
{
    const void *reply;
    ask->out = q->out;
    ask->once = q->job_id;
    ask->mode = q->out_mode;
    work_phase(w, "writing", 0.94, 0.96);
    return work_call(w, "data-connector", method, WRITE_MS, &ask->base, &tabella__write_reply__descriptor, a,
                     &reply, err);
}

tab_status work_out_document(work *w, tab_arena *a, const Tabella__SubmitRequest *q,
                             const Tabella__RunReply *y, tab_error *err)
{
    Tabella__WriteRequest ask = TABELLA__WRITE_REQUEST__INIT;
    tab_out text = { 0 };
    if (!tab_bundle_sound(y->bundle))
        return tab_fail(err, TAB_INTERNAL, "", "a pass whose bundle is damaged");
    bundle_document(&text, q, y);
    ask.file = (ProtobufCBinaryData){ text.n, (uint8_t *)text.p };
    tab_status s = text.failed ? tab_no_memory(err) : write(w, a, q, "Write", &ask, err);
    tab_out_free(&text);
    return s;
}

tab_status work_out_rows(work *w, tab_arena *a, const Tabella__SubmitRequest *q, tab_error *err)
{
    Tabella__WriteRequest ask = TABELLA__WRITE_REQUEST__INIT;
    ask.job_id = (char *)(uintptr_t)w->c->job_id;
    ask.attempt = w->c->attempt;
    return write(w, a, q, "WriteRows", &ask, err);
}
