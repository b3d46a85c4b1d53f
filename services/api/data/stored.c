/* GET /platform/v1/data/:id/stored: the rows of a snapshot as they are stored (common/files/stored.h), range
 * by range, so that what is held is a range, whatever the snapshot's length. An upload of it elsewhere has
 * the same cells (decision 0667). */
#include "services/api/data/stored.h"

#include <stdio.h>
#include <string.h>

#include "common/files/stored.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/http/stream.h"
#include "services/api/service_calls.h"

enum { STEP_MS = 30000 }; /* of a range */

static tab_status read_range(request *r, tab_arena *a, const char *snapshot, uint64_t first, uint64_t rows,
                             const Tabella__ReadReply **ret, const tab_table **ret_table, tab_error *err)
{
    Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
    tab_ask ask = { .service = "data-connector",
                    .method = "Read",
                    .in = &q.base,
                    .arena = a,
                    .reply = &tabella__read_reply__descriptor };
    tab_answer answer;
    q.snapshot = (char *)(uintptr_t)snapshot;
    q.first_row = first;
    q.rows = rows;
    r->deadline = tab_in_ms(STEP_MS);
    TAB_TRY(call_with(r, &ask, &answer, err));
    if (answer.n_tables != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a snapshot of no rows");
    *ret = answer.msg;
    *ret_table = answer.tables[0];
    return TAB_OK;
}

tab_status stored_look(request *r, const char *snapshot, const Tabella__ReadReply **ret, tab_error *err)
{
    const tab_table *t;
    return read_range(r, r->arena, snapshot, 0, 1, ret, &t, err);
}

tab_status stored_rows(request *r, const char *snapshot, stored_sink *sink, void *arg, tab_error *err)
{
    char head[TAB_STORED_HEAD], end[TAB_STORED_END];
    uint64_t cols = 0, rows = 0, at = 0, n = 0;
    do {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        const Tabella__ReadReply *y;
        const tab_table *t;
        tab_str bytes;
        if (a == NULL)
            return tab_no_memory(err);
        if (atomic_load(&r->gone))
            return tab_fail(err, TAB_CANCELLED, "", "the client no longer waits for the file");
        TAB_TRY(read_range(r, a, snapshot, at, tab_stored_step(cols, at), &y, &t, err));
        if (at == 0) {
            tab_stored_head(y->file, head);
            TAB_TRY(sink(arg, (tab_str){ head, sizeof head }, err));
        }
        TAB_TRY(tab_stored_rows(a, t, &bytes, err));
        TAB_TRY(sink(arg, bytes, err));
        cols = y->cols;
        rows = y->rows;
        at += n = t->rows;
    } while (at < rows && n > 0); /* a table without rows has one range */
    tab_stored_end(rows, end);
    return sink(arg, (tab_str){ end, sizeof end }, err);
}

static tab_status send(void *arg, tab_str bytes, tab_error *err)
{
    return stream_send(arg, bytes, err);
}

tab_status get_data_stored(request *r, tab_error *err)
{
    const Tabella__ReadReply *y;
    tab_str snapshot;
    char name[160];
    TAB_TRY(query_param(r, "snapshot", &snapshot, err));
    if (snapshot.n > 128 || (snapshot.n > 0 && memchr(snapshot.p, 0, snapshot.n) != NULL))
        return tab_fail(err, TAB_VALIDATION, "snapshot", "`snapshot` must be the id of a snapshot");
    const char *id = tab_arena_copy(r->arena, r->param[0]).p;
    const char *of = snapshot.n > 0 ? tab_arena_copy(r->arena, snapshot).p : id;
    if (id == NULL || of == NULL)
        return tab_no_memory(err);
    TAB_TRY(stored_look(r, of, &y, err));
    if (strcmp(y->dataset, id) != 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such snapshot of this dataset.");
    snprintf(name, sizeof name, "%s.tabella", y->snapshot);
    r->media = "application/vnd.tabella.table";
    tab_status s = r->stream != NULL ? stream_begin(r->stream, name, err) : TAB_OK;
    if (s == TAB_OK)
        s = stored_rows(r, y->snapshot, send, r, err);
    if (s == TAB_OK && r->stream != NULL)
        s = stream_finish(r->stream, err);
    if (s != TAB_OK)
        r->media = NULL;
    return s;
}
