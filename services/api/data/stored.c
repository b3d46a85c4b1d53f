/* GET /platform/v1/data/:id/stored: the rows of a snapshot as they are stored (common/files/stored.h), range
 * by range, so that what is held is a range, whatever the snapshot's length. An upload of it elsewhere has
 * the same cells (decision 0667). */
#include <stdio.h>
#include <string.h>

#include "common/files/stored.h"
#include "proto/data.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/http/stream.h"
#include "services/api/service_calls.h"

enum { RANGE_CELLS = 4 << 20, RANGE_MOST = 65536, RANGE_LEAST = 1024, STEP_MS = 30000 };

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

/* The ranges; the first one is at hand. */
static tab_status send_all(request *r, const Tabella__ReadReply *y, const tab_table *first, tab_error *err)
{
    uint64_t step = y->cols > 0 ? RANGE_CELLS / y->cols : RANGE_MOST;
    step = step > RANGE_MOST ? RANGE_MOST : step < RANGE_LEAST ? RANGE_LEAST : step;
    char head[TAB_STORED_HEAD], end[TAB_STORED_END];
    tab_stored_head(y->file, head);
    TAB_TRY(stream_send(r, (tab_str){ head, sizeof head }, err));
    for (uint64_t at = 0; at < y->rows || at == 0;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        const Tabella__ReadReply *next;
        const tab_table *t = first;
        tab_str bytes;
        if (a == NULL)
            return tab_no_memory(err);
        if (atomic_load(&r->gone))
            return tab_fail(err, TAB_CANCELLED, "", "the client no longer waits for the file");
        if (at > 0)
            TAB_TRY(read_range(r, a, y->snapshot, at, step, &next, &t, err));
        TAB_TRY(tab_stored_rows(a, t, &bytes, err));
        TAB_TRY(stream_send(r, bytes, err));
        at += t->rows;
        if (t->rows == 0)
            break; /* a table without rows */
    }
    tab_stored_end(y->rows, end);
    return stream_send(r, (tab_str){ end, sizeof end }, err);
}

tab_status get_data_stored(request *r, tab_error *err)
{
    const Tabella__ReadReply *y;
    const tab_table *first;
    tab_str snapshot;
    char name[160];
    TAB_TRY(query_param(r, "snapshot", &snapshot, err));
    if (snapshot.n > 128 || (snapshot.n > 0 && memchr(snapshot.p, 0, snapshot.n) != NULL))
        return tab_fail(err, TAB_VALIDATION, "snapshot", "`snapshot` must be the id of a snapshot");
    const char *id = tab_arena_copy(r->arena, r->param[0]).p;
    const char *of = snapshot.n > 0 ? tab_arena_copy(r->arena, snapshot).p : id;
    if (id == NULL || of == NULL)
        return tab_no_memory(err);
    TAB_TRY(read_range(r, r->arena, of, 0, RANGE_LEAST, &y, &first, err));
    if (strcmp(y->dataset, id) != 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such snapshot of this dataset.");
    snprintf(name, sizeof name, "%s.tabella", y->snapshot);
    r->media = "application/vnd.tabella.table";
    tab_status s = r->stream != NULL ? stream_begin(r->stream, name, err) : TAB_OK;
    if (s == TAB_OK)
        s = send_all(r, y, first, err);
    if (s == TAB_OK && r->stream != NULL)
        s = stream_finish(r->stream, err);
    if (s != TAB_OK)
        r->media = NULL;
    return s;
}
