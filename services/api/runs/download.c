/* GET /v2/jobs/:id/result/:part, and .../filled/:table (decision 0410).
 *
 *   part (common/parts) --batches of rows--> file (common/files/written) --bytes--> the connection
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
    request *r;
    const run_result *x;
    run_rows rows;
    tab_part p;
    tab_file_format format;
    char name[160];
    bool begun;
} download;

static tab_status send_bytes(void *to, tab_str bytes, tab_error *err)
{
    download *d = to;
    request *r = d->r;
    if (r->stream != NULL) {
        if (!d->begun)
            TAB_TRY(stream_begin(r->stream, d->name, err));
        d->begun = true;
    }
    return stream_send(r, bytes, err);
}

/* Before each batch. */
static tab_status step(void *of, tab_error *err)
{
    request *r = ((download *)of)->r;
    if (atomic_load(&r->gone))
        return tab_fail(err, TAB_CANCELLED, "", "the client no longer waits for the file");
    r->deadline = tab_in_ms(STEP_MS);
    return TAB_OK;
}

static tab_status piece_of(void *of, tab_arena *a, tab_paged array, size_t from, const Tabella__Bundle **ret,
                           tab_error *err)
{
    const download *d = of;
    return result_piece(d->r, d->x, a, array, from, ret, err);
}

static tab_status rows_of(void *of, tab_arena *a, size_t table, size_t from, size_t rows,
                          const tab_table **ret, tab_error *err)
{
    return run_rows_read(&((download *)of)->rows, a, table, from, rows, ret, err);
}

static tab_status send_rows(download *d, tab_file *f, tab_error *err)
{
    for (;;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        const tab_table *t = NULL;
        if (a == NULL)
            return tab_no_memory(err);
        TAB_TRY(step(d, err));
        TAB_TRY(tab_part_next(&d->p, a, &t, err));
        if (t == NULL)
            return tab_file_end(f, err);
        TAB_TRY(tab_file_rows(f, t, err));
    }
}

static tab_status send_file(download *d, tab_error *err)
{
    const tab_part *p = &d->p;
    if (d->format != TAB_FILE_CSV) /* there text is text */
        TAB_TRY(tab_part_types(&d->p, step, d, err));
    TAB_AUTO(tab_file) *f = tab_file_new(d->format, p->column, p->cols, send_bytes, d);
    if (f == NULL)
        return tab_no_memory(err);
    TAB_TRY(send_rows(d, f, err));
    return d->r->stream != NULL ? stream_finish(d->r->stream, err) : TAB_OK;
}

/* ---- the routes ------------------------------------------------------------------------------ */

static tab_status find_part(request *r, const run_result *x, const tab_part_kind *kind, tab_str table,
                            download *d, tab_error *err)
{
    tab_str format;
    TAB_TRY(query_param(r, "format", &format, err));
    TAB_TRY(download_format(format, r->accept == NULL ? TAB_S("") : tab_str_of(r->accept), &d->format, err));
    if (!x->run)
        return tab_fail(err, TAB_NOT_FOUND, "",
                        "this result has no files because it is neither a run nor a scored dataset");
    if (strcmp(x->job->status, "done") != 0)
        return tab_fail(err, TAB_NOT_FOUND, "", "the job is %s; there is no result yet", x->job->status);
    if (x->kept.bundle == NULL)
        return tab_fail(err, TAB_NOT_FOUND, "", "results are kept for 24 hours, and this one has expired");
    d->r = r;
    d->x = x;
    d->rows = (run_rows){ .r = r, .x = x };
    d->p = (tab_part){ .arena = r->arena,
                       .b = x->kept.bundle,
                       .kind = kind,
                       .source = { d, piece_of, rows_of },
                       .table = table };
    TAB_TRY(tab_part_open(&d->p, err));
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
    d->r = r;
    d->p = (tab_part){ .arena = r->arena,
                       .b = b,
                       .kind = tab_part_named(ahead ? TAB_S("forecast") : TAB_S("results")),
                       .shares = true };
    d->format = format;
    TAB_TRY(tab_part_open(&d->p, err));
    TAB_TRY(send_file(d, err));
    r->media = tab_file_kinds[format].media;
    return TAB_OK;
}

static tab_status get_part(request *r, tab_str name, tab_str table, tab_error *err)
{
    run_result x;
    download *d = tab_arena_new_of(r->arena, download, 1);
    const tab_part_kind *kind = tab_part_named(name);
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
    tab_part_close(&d->p);
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
