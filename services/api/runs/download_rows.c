/* See results.h: where the rows that a run read are. */
#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/runs/outputs.h"
#include "services/api/runs/results.h"
#include "services/api/service_calls.h"

static tab_str bytes_of(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

static tab_status find(run_rows *rows, tab_str id, tab_error *err)
{
    output kept = { 0 };
    if (rows->x->job->output_at_api)
        TAB_TRY(output_tables(rows->r, rows->x->id, &kept, err));
    const Tabella__JobResult *of = kept.sources != NULL ? kept.sources : rows->x->job->result;
    for (size_t i = 0; i < kept.n_tables; i++)
        if (tab_str_eq(kept.tables[i]->id, id))
            rows->kept = kept.tables[i];
    for (size_t i = 0; of != NULL && rows->kept == NULL && i < of->n_sources; i++)
        if (tab_str_eq(bytes_of(of->sources[i]->id), id) && of->sources[i]->snapshot[0] != 0)
            rows->snapshot = of->sources[i]->snapshot;
    return rows->kept != NULL || rows->snapshot != NULL
               ? TAB_OK
               : tab_fail(err, TAB_NOT_FOUND, "", "the rows this run read were not stored");
}

static tab_status of_snapshot(const run_rows *rows, tab_arena *a, size_t from, size_t n,
                              const tab_table **ret, tab_error *err)
{
    Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
    tab_ask ask = { .service = "data-connector",
                    .method = "Read",
                    .in = &q.base,
                    .arena = a,
                    .reply = &tabella__read_reply__descriptor };
    tab_answer answer;
    q.snapshot = STR(rows->snapshot);
    q.first_row = from;
    q.rows = n;
    tab_status s = call_with(rows->r, &ask, &answer, err);
    if (s == TAB_NOT_FOUND)
        return tab_fail(err, TAB_NOT_FOUND, "", "the rows this run read are no longer stored");
    TAB_TRY(s);
    if (answer.n_tables != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a snapshot of other rows");
    *ret = answer.tables[0];
    return TAB_OK;
}

tab_status run_rows_read(run_rows *rows, tab_arena *a, size_t table, size_t from, size_t n,
                         const tab_table **ret, tab_error *err)
{
    const Tabella__TableUnderstanding *t = rows->x->kept.bundle->tables[table];
    if (rows->kept == NULL && rows->snapshot == NULL)
        TAB_TRY(find(rows, bytes_of(t->id), err));
    if (rows->kept == NULL)
        return of_snapshot(rows, a, from, n, ret, err);
    if (rows->kept->rows != t->rows)
        return tab_fail(err, TAB_INTERNAL, "", "a kept table of other rows");
    *ret = tab_part_rows(a, rows->kept, from, n);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}
