/* See parts.h: what each column of each table is. */
#include "common/parts/own.h"

static tab_str bytes_of(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

static tab_status profile_open(tab_part *p, tab_error *err)
{
    static const tab_file_column columns[] = {
        { TAB_S("table"), TAB_FILE_TEXT },          { TAB_S("name"), TAB_FILE_TEXT },
        { TAB_S("role"), TAB_FILE_TEXT },           { TAB_S("role_confidence"), TAB_FILE_REAL },
        { TAB_S("type"), TAB_FILE_TEXT },           { TAB_S("type_confidence"), TAB_FILE_REAL },
        { TAB_S("missing_pct"), TAB_FILE_REAL },    { TAB_S("pii"), TAB_FILE_BOOL },
        { TAB_S("pii_confidence"), TAB_FILE_REAL },
    };
    if (p->b->n_tables == 0)
        return part_absent(err, "profile");
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        (void)part_column(p, columns[k].name, columns[k].type);
    return tab_arena_full(p->arena) ? tab_no_memory(err) : TAB_OK;
}

static void profile_row(tab_builder *const *b, tab_str table, const Tabella__ColumnProfile *c)
{
    tab_builder_text(b[0], table);
    tab_builder_text(b[1], bytes_of(c->name));
    tab_builder_text(b[2], tab_str_of(c->role));
    tab_builder_number(b[3], c->role_confidence);
    tab_builder_text(b[4], tab_str_of(c->type));
    tab_builder_number(b[5], c->type_confidence);
    tab_builder_number(b[6], c->missing_pct);
    tab_builder_bool(b[7], c->pii);
    tab_builder_number(b[8], c->pii_confidence);
}

/* A table is a batch. */
static tab_status profile_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    tab_builder **b;
    *ret = NULL;
    if (p->at == p->b->n_tables)
        return TAB_OK;
    const Tabella__TableUnderstanding *t = p->b->tables[p->at++];
    TAB_TRY(part_builders(p, a, &b, err));
    for (size_t i = 0; i < t->n_column_profile; i++)
        profile_row(b, bytes_of(t->id), t->column_profile[i]);
    return part_finished(a, b, p->cols, t->n_column_profile, ret, err);
}

const tab_part_kind tab_part_profile = { "profile", profile_open, profile_next };
