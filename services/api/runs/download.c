/* GET /v2/jobs/:id/result/:part, and .../filled/:table (decision 0410).
 *
 *   part (download_parts.c) --batches of rows--> file (common/files/written) --bytes--> the connection
 *
 * Each on a connection and a thread of its own (stream.h), which waits where its reader is slow: what is held
 * is a batch, whatever the result's length. */
#include "services/api/runs/download.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/http/stream.h"
#include "services/api/runs/results.h"

enum { STEP_MS = 30000 };

/* ---- which format ---------------------------------------------------------------------------- */

static tab_str trimmed(tab_str s)
{
    while (s.n > 0 && (*s.p == ' ' || *s.p == '\t'))
        s = (tab_str){ s.p + 1, s.n - 1 };
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static tab_str until(tab_str *rest, char at)
{
    const char *end = memchr(rest->p, at, rest->n);
    tab_str one = { rest->p, end == NULL ? rest->n : (size_t)(end - rest->p) };
    size_t past = end == NULL ? one.n : one.n + 1;
    *rest = (tab_str){ rest->p + past, rest->n - past };
    return trimmed(one);
}

/* The weight of a media range, 1 without one. */
static double weight(tab_str parameters)
{
    while (parameters.n > 0) {
        tab_str p = until(&parameters, ';');
        char text[16];
        if (p.n < 3 || p.n >= sizeof text || (p.p[0] | 32) != 'q' || p.p[1] != '=')
            continue;
        memcpy(text, p.p, p.n);
        text[p.n] = 0;
        return strtod(text + 2, NULL);
    }
    return 1;
}

/* Whether a media range covers a format: "text/csv", "text/" followed by a star, or two stars. */
static bool covers(tab_str range, const char *media)
{
    if (tab_str_eq(range, TAB_S("*/*")))
        return true;
    if (range.n > 2 && range.p[range.n - 1] == '*')
        return strncasecmp(range.p, media, range.n - 1) == 0;
    return range.n == strlen(media) && strncasecmp(range.p, media, range.n) == 0;
}

bool download_named(tab_str accept, tab_file_format *ret)
{
    double best = 0, json = 0;
    while (accept.n > 0) {
        tab_str parameters = until(&accept, ','), range = until(&parameters, ';');
        double q = weight(parameters);
        bool named = memchr(range.p, '*', range.n) == NULL;
        if (named && covers(range, "application/json") && q > json)
            json = q;
        for (int i = 0; named && i < TAB_FILE_FORMATS; i++)
            if (covers(range, tab_file_kinds[i].media) && q > best) {
                *ret = (tab_file_format)i;
                best = q;
            }
    }
    return best > json;
}

tab_status download_format(tab_str format, tab_str accept, tab_file_format *ret, tab_error *err)
{
    double best = 0;
    *ret = TAB_FILE_CSV;
    for (int i = 0; format.p != NULL && i < TAB_FILE_FORMATS; i++)
        if (tab_str_eq(format, tab_str_of(tab_file_kinds[i].name))) {
            *ret = (tab_file_format)i;
            return TAB_OK;
        }
    if (format.p == NULL && trimmed(accept).n == 0)
        return TAB_OK;
    while (format.p == NULL && accept.n > 0) {
        tab_str parameters = until(&accept, ','), range = until(&parameters, ';');
        double q = weight(parameters);
        for (int i = 0; i < TAB_FILE_FORMATS && q > best; i++)
            if (covers(range, tab_file_kinds[i].media)) {
                *ret = (tab_file_format)i;
                best = q;
            }
    }
    return best > 0 ? TAB_OK
                    : tab_fail(err, TAB_VALIDATION, "format",
                               "`format` must be csv, arrow or parquet; or set Accept to text/csv, "
                               "application/vnd.apache.arrow.stream or application/vnd.apache.parquet");
}

/* ---- sending --------------------------------------------------------------------------------- */

typedef struct {
    part p;
    tab_file_format format;
    char name[160];
    bool begun;
} download;

static tab_status send_bytes(void *to, tab_str bytes, tab_error *err)
{
    download *d = to;
    request *r = d->p.r;
    if (r->stream != NULL) {
        if (!d->begun)
            TAB_TRY(stream_begin(r->stream, d->name, err));
        d->begun = true;
    }
    return stream_send(r, bytes, err);
}

/* Each batch of rows into `take`. */
static tab_status each_batch(download *d,
                             tab_status (*take)(download *d, void *to, const tab_table *t, tab_error *err),
                             void *to, tab_error *err)
{
    part *p = &d->p;
    for (;;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        const tab_table *t = NULL;
        if (a == NULL)
            return tab_no_memory(err);
        if (atomic_load(&p->r->gone))
            return tab_fail(err, TAB_CANCELLED, "", "the client no longer waits for the file");
        p->r->deadline = tab_in_ms(STEP_MS);
        TAB_TRY(p->kind->next(p, a, &t, err));
        if (t == NULL)
            return TAB_OK;
        TAB_TRY(take(d, to, t, err));
    }
}

static tab_status look_at(download *d, void *to, const tab_table *t, tab_error *err)
{
    tab_file_seen *seen = to;
    (void)err;
    for (size_t k = 0; k < d->p.cols; k++)
        if (d->p.open_type[k])
            seen[k] |= tab_file_look(&t->col[k], t->rows);
    return TAB_OK;
}

/* Columns of the caller's own are of the type that all their cells have: they are read once for that. */
static tab_status find_types(download *d, tab_error *err)
{
    part *p = &d->p;
    bool any = false;
    tab_file_seen *seen = tab_arena_new_of(p->r->arena, tab_file_seen, p->cols + 1);
    for (size_t k = 0; k < p->cols; k++)
        any = any || p->open_type[k];
    if (seen == NULL)
        return tab_no_memory(err);
    if (!any || d->format == TAB_FILE_CSV)
        return TAB_OK;
    TAB_TRY(each_batch(d, look_at, seen, err));
    part_rewind(p);
    for (size_t k = 0; k < p->cols; k++)
        if (p->open_type[k])
            p->column[k].type = tab_file_type_of(seen[k]);
    return TAB_OK;
}

static tab_status write_rows(download *d, void *to, const tab_table *t, tab_error *err)
{
    (void)d;
    return tab_file_rows(to, t, err);
}

static tab_status send_file(download *d, tab_error *err)
{
    part *p = &d->p;
    TAB_TRY(find_types(d, err));
    TAB_AUTO(tab_file) *f = tab_file_new(d->format, p->column, p->cols, send_bytes, d);
    if (f == NULL)
        return tab_no_memory(err);
    TAB_TRY(each_batch(d, write_rows, f, err));
    TAB_TRY(tab_file_end(f, err));
    return p->r->stream != NULL ? stream_finish(p->r->stream, err) : TAB_OK;
}

/* ---- the routes ------------------------------------------------------------------------------ */

static const part_kind *part_named(tab_str name)
{
    if (tab_str_eq(name, tab_str_of(part_filled_kind.name)))
        return &part_filled_kind;
    for (const part_kind *k = part_kinds; k->name != NULL; k++)
        if (tab_str_eq(name, tab_str_of(k->name)))
            return k;
    return NULL;
}

static tab_status find_part(request *r, const run_result *x, const part_kind *kind, tab_str table,
                            download *d, tab_error *err)
{
    tab_str format;
    TAB_TRY(query_param(r, "format", &format, err));
    TAB_TRY(download_format(format, r->accept == NULL ? TAB_S("") : tab_str_of(r->accept), &d->format, err));
    if (!x->run)
        return part_absent(err, "files because it is neither a run nor a scored dataset");
    if (strcmp(x->job->status, "done") != 0)
        return tab_fail(err, TAB_NOT_FOUND, "", "the job is %s; there is no result yet", x->job->status);
    if (x->kept.bundle == NULL)
        return tab_fail(err, TAB_NOT_FOUND, "", "results are kept for 24 hours, and this one has expired");
    d->p = (part){ .r = r, .x = x, .b = x->kept.bundle, .kind = kind, .table = table };
    TAB_TRY(kind->open(&d->p, err));
    snprintf(d->name, sizeof d->name, "%.60s-%s%s%.60s%s", x->id, kind->name, table.n > 0 ? "-" : "",
             table.n > 0 ? tab_arena_copy(r->arena, table).p : "", tab_file_kinds[d->format].ending);
    r->media = tab_file_kinds[d->format].media;
    return TAB_OK;
}

tab_status download_answers(request *r, const Tabella__Bundle *b, tab_file_format format, tab_error *err)
{
    bool ahead = b->prediction != NULL && b->prediction->forecast != NULL;
    download *d = tab_arena_new_of(r->arena, download, 1);
    if (d == NULL)
        return tab_no_memory(err);
    d->p = (part){
        .r = r, .b = b, .kind = part_named(ahead ? TAB_S("forecast") : TAB_S("results")), .shares = true
    };
    d->format = format;
    TAB_TRY(d->p.kind->open(&d->p, err));
    for (size_t k = 0; k < 2; k++) {
        part_cursor *c = &d->p.cursor[k];
        c->piece = b;
        c->held = c->total;
    }
    TAB_TRY(send_file(d, err));
    r->media = tab_file_kinds[format].media;
    return TAB_OK;
}

static tab_status get_part(request *r, tab_str name, tab_str table, tab_error *err)
{
    run_result x;
    download *d = tab_arena_new_of(r->arena, download, 1);
    const part_kind *kind = part_named(name);
    if (d == NULL)
        return tab_no_memory(err);
    TAB_TRY(result_job(r, STR(tab_arena_copy(r->arena, r->param[0]).p), &x, err));
    if (kind == NULL)
        return tab_fail(
            err, TAB_NOT_FOUND, "",
            "a result has no such part; its parts are results, filled, unified_rows, matches, duplicates, "
            "suspects and forecast");
    TAB_TRY(result_first(r, &x, err));
    tab_status s = find_part(r, &x, kind, table, d, err);
    if (s == TAB_OK)
        s = send_file(d, err);
    if (s != TAB_OK)
        r->media = NULL;
    part_close(&d->p);
    return s;
}

tab_status get_result_part(request *r, tab_error *err)
{
    return get_part(r, r->param[1], TAB_S(""), err);
}

tab_status get_result_filled(request *r, tab_error *err)
{
    return get_part(r, TAB_S("filled"), r->param[1], err);
}
