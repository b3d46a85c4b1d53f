/* Bodies of runs, endpoints and serve calls: shapes that several routes read, and warnings of what they do
 * not have. */
#ifndef TAB_API_BODY_H
#define TAB_API_BODY_H

#include "common/bundle/bundle_json.h"
#include "services/api/api.h"

/* body.c: shapes that several routes read. */
tab_status body_read(request *r, tab_body *ret,
                     tab_error *err) TAB_CHECKED; /* checks media type, syntax, sizes */
tab_status body_options(request *r, const tab_body *b, Tabella__RunOptions **ret, bool *ret_batch,
                        tab_str *ret_out, tab_error *err) TAB_CHECKED;
/* body_parts.c. The same of a multipart body; r->body_sha256 is that of its parts then. */
bool body_has_parts(const request *r);
tab_status body_parts_read(request *r, const tab_body_limits *limits, tab_body *ret,
                           tab_error *err) TAB_CHECKED;
/* body_parts.c. Whether the body is one file by its media type, where the route takes such; and that file as
 * a table, whose id says nothing. */
bool body_is_file(const request *r);
tab_status body_file_read(request *r, const tab_body_limits *limits, tab_body *ret,
                          tab_error *err) TAB_CHECKED;
/* body_columns.c: columns, missing_values, split, horizon and as_of of `options`, which may be NULL; and
 * the same as a member of an endpoint. */
tab_status body_columns(request *r, const tab_json *options, Tabella__RunOptions *o,
                        tab_error *err) TAB_CHECKED;
/* options.adapt: whether an endpoint's answers follow outcomes. *ret_said: it stands there. */
tab_status body_adapt(const tab_json *options, bool *ret_said, bool *ret, tab_error *err) TAB_CHECKED;
/* The same of a serve call, whose options hold a horizon (0: none) and whether receipts are wanted alone. */
tab_status body_serve(request *r, const tab_json *options, uint32_t *ret_horizon, bool *ret_receipts,
                      tab_error *err) TAB_CHECKED;
void given_options(tab_out *o, const Tabella__RunOptions *q, bool adapt);
/* The cells of the rows that options.horizon makes, beside `cells` of the tables; 0 without one. source:
 * of all tables, inline ones first. VALIDATION on options.horizon: no times, or more cells than a run may
 * have. */
tab_status horizon_cells(request *r, const tab_body *b, const Tabella__RunOptions *o,
                         Tabella__TableSource *const *source, size_t n, uint64_t cells, uint64_t *ret_made,
                         tab_error *err) TAB_CHECKED;
/* A target, a moment or a column of `options.columns` that neither an inline table nor one of the sources
 * with a snapshot holds: VALIDATION on `target.column`, `options.as_of`, `options.columns[i].column`. */
tab_status target_check(request *r, const tab_body *b, const Tabella__RunOptions *o,
                        Tabella__TableSource *const *source, size_t n, tab_error *err) TAB_CHECKED;
tab_status body_text(const tab_json *of, const char *key, bool required, size_t most, tab_str *ret,
                     tab_error *err) TAB_CHECKED;
/* platform/keys.c. An array of up to `most` texts of 1 to 128 bytes; m NULL: none. */
tab_status body_texts(request *r, const tab_json *m, const char *name, size_t most, char ***ret,
                      size_t *ret_n, tab_error *err) TAB_CHECKED;
/* The options of a serve call with `data`. out: as body_options. */
tab_status body_serve_data(request *r, const tab_json *options, tab_str *ret_out, tab_error *err) TAB_CHECKED;
tab_status body_out_mode(const tab_body *b, const char **ret, tab_error *err) TAB_CHECKED; /* "": not said */
tab_status body_refs(request *r, const tab_body *b, size_t *ret_n, char ***ret, tab_error *err) TAB_CHECKED;

/* warnings.c. Notes the fields of a body of run, create or serve that these do not have, texts of the arena;
 * VALIDATION for one of a change of settings. */
tab_status warnings_read(request *r, const tab_json *root, tab_error *err) TAB_CHECKED;
/* VALIDATION for a field (of the member `within`, or "") that is none of the n known ones; names the
 * nearest. */
tab_status unknown_field(tab_str field, const char *within, const tab_str *known, size_t n,
                         tab_error *err) TAB_CHECKED;

/* Writes them, and those of the bundle (or NULL), as the member warnings[]; empty where there are none. */
void warnings_member(request *r, const Tabella__Bundle *b);

#endif
