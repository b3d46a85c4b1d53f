#include "common/bundle/generated_json.h"

static void members(tab_out *o, const Tabella__GenerateRequest *q, const Tabella__GeneratedTable *t)
{
    tab_out_key(o, "dataset");
    tab_out_cstr(o, t->dataset);
    tab_out_key(o, "name");
    tab_out_cstr(o, t->name);
    tab_out_key(o, "sector");
    tab_out_cstr(o, q->sector);
    tab_out_key(o, "rows");
    tab_out_uint(o, t->rows);
    tab_out_key(o, "columns");
    tab_out_open(o, '[');
    for (size_t i = 0; i < t->n_columns; i++)
        tab_out_cstr(o, t->columns[i]);
    tab_out_close(o, ']');
}

void tab_generated_members(tab_out *o, const Tabella__GenerateRequest *q, const Tabella__GenerateReply *y)
{
    members(o, q, y->tables[0]);
    if (q->linked) {
        tab_out_key(o, "datasets");
        tab_out_open(o, '[');
        for (size_t i = 0; i < y->n_tables; i++) {
            tab_out_open(o, '{');
            members(o, q, y->tables[i]);
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
    }
    tab_out_key(o, "processing");
    tab_out_open(o, '{');
    tab_out_key(o, "mode");
    tab_out_cstr(o, q->processing);
    tab_out_close(o, '}');
}
