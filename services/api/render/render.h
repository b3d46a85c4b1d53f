/* Answers as JSON. */
#ifndef TAB_API_RENDER_H
#define TAB_API_RENDER_H

#include "common/bundle/bundle_json.h"
#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/render/members.h"

void time_member(tab_out *o, const char *key, int64_t us); /* ISO 8601, null for 0 */
/* Where the result of a 202 will lie. */
void result_member(request *r, const char *job_id);
void deleted_json(tab_out *o, const char *id, int64_t at_us);
void job_members(request *r, const Tabella__Job *j, bool logs);
void held_out_json(tab_out *o, const Tabella__HeldOut *h, const char *snapshot, int64_t version_us,
                   const char *report_id,
                   bool tables); /* with its slices and other tables, or its figures alone */
void class_member(tab_out *o, const Tabella__HeldOut *h, size_t k); /* class k as a cell of its own type */
void metrics_json(tab_out *o, const Tabella__HeldOut *h);
void diff_json(tab_out *o, const Tabella__Diff *d);
/* The bundle's members into r->out, first pages, with cursors of `list`. held_out: JSON or empty.
 */
tab_status bundle_members(request *r, const Tabella__Bundle *b, const char *list, tab_str held_out,
                          tab_error *err) TAB_CHECKED;
/* The whole bundle, without cursors. memory, or NULL: what bundles of one answer share is written once. */
tab_status bundle_whole(request *r, const Tabella__Bundle *b, const tab_bundle_view *view,
                        tab_error *err) TAB_CHECKED;
/* A bundle that jobs sent, by a version that sends it packed or by one that does not: sound. */
tab_status bundle_of_reply(tab_arena *a, const Tabella__OutputReply *y, const Tabella__Bundle **ret,
                           tab_error *err) TAB_CHECKED;
/* What holds element `from` of a bundle's array: a piece of it, or all. */
typedef tab_status piece_of(request *r, const void *of, tab_paged array, size_t from,
                            const Tabella__Bundle **ret, tab_error *err);
/* One page of a bundle's array, by the position that its cursor held. */
tab_status bundle_page(request *r, piece_of *piece, const void *of, const char *list, tab_str position,
                       uint32_t limit, tab_error *err) TAB_CHECKED;

/* The answer of a route that lists: {NAME: [n entries], "next_cursor", "total"}. */
typedef struct {
    const char *list, *name; /* what its cursors are signed for; the array's member */
    const void *reply;       /* of the service */
    size_t n;
    void (*entry)(request *r, const void *reply, size_t i); /* writes one as a JSON object */
    tab_str next;                                           /* where the next page begins; empty: none */
    uint64_t total;
} list_page;
void list_answer(request *r, const list_page *p);
/* The same, and the members that `more` writes behind them. */
void list_answer_with(request *r, const list_page *p, void (*more)(request *r, const void *reply));

void row_diff_member(tab_out *o, const Tabella__RowDiff *d);          /* as the member diff */
void expectations_member(tab_out *o, const Tabella__Expectations *m); /* as the member expectations */
void sync_members(request *r, const Tabella__SyncReply *y);           /* as one object */

/* The answer of an uploaded file that was read, as one object. */
void upload_members(request *r, const Tabella__LoadReply *y);

void data_json(tab_out *o, const Tabella__DataObject *d); /* as one object */

#endif
