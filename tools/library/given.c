/* See library.h: what a caller says of columns and cells, in the API's own JSON. */
#include "common/json/json_told.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "tools/library/library.h"

enum { DEPTH = 4 };

static const char *const roles[] = {
#define TAB_X(e, name, family, type, pii, ident) name,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
        NULL
};

int library_columns(tabella *t, tab_str json)
{
    const tab_json *list;
    const tab_told_column *told;
    tab_error err = { 0 };
    size_t n;
    if (tab_json_read(t->arena, json, DEPTH, &list, &err) != TAB_OK)
        return library_failed(t, "columns", "a JSON array of objects");
    if (tab_told_columns(t->arena, list, roles, &told, &n, &err) != TAB_OK)
        return library_failed(t, "columns", err.message);
    tab_column_option *c = tab_arena_new_of(t->arena, tab_column_option, n + 1);
    if (c == NULL)
        return library_no_memory(t);
    for (size_t i = 0; i < n; i++)
        c[i] = (tab_column_option){ told[i].table, told[i].column, told[i].role, told[i].type, told[i].use };
    t->o.given.column = c;
    t->o.given.columns = n;
    return 0;
}

int library_marks(tabella *t, tab_str said)
{
    static const tab_json automatic = { .kind = TAB_JSON_STRING, .text = { "auto", 4 } };
    const tab_json *list = &automatic;
    tab_told_marks told;
    tab_error err = { 0 };
    if (!tab_str_eq(said, automatic.text) && tab_json_read(t->arena, said, DEPTH, &list, &err) != TAB_OK)
        return library_failed(t, "na", "auto, or a JSON array of texts and numbers");
    if (tab_told_marks_read(t->arena, list, &told, &err) != TAB_OK)
        return library_failed(t, "na", err.message);
    t->o.given.missing_told = true;
    t->o.given.missing_auto = told.automatic;
    t->o.given.missing_text = told.text;
    t->o.given.missing_texts = told.texts;
    t->o.given.missing_number = told.number;
    t->o.given.missing_numbers = told.numbers;
    return 0;
}
