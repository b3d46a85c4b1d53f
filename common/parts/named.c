/* See parts.h: a part by its name, and all of its rows. */
#include "common/parts/own.h"

const tab_part_kind *tab_part_named(tab_str name)
{
    if (tab_str_eq(name, tab_str_of(part_filled_kind.name)))
        return &part_filled_kind;
    for (const tab_part_kind *k = part_kinds; k->name != NULL; k++)
        if (tab_str_eq(name, tab_str_of(k->name)))
            return k;
    return NULL;
}

tab_status tab_part_open(tab_part *p, tab_error *err)
{
    return p->kind->open(p, err);
}

tab_status tab_part_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    return p->kind->next(p, a, ret, err);
}

/* Looks at all rows; `seen` by column. */
static tab_status look(tab_part *p, tab_file_seen *seen, tab_status (*step)(void *of, tab_error *err),
                       void *of, tab_error *err)
{
    for (;;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        const tab_table *t = NULL;
        if (a == NULL)
            return tab_no_memory(err);
        if (step != NULL)
            TAB_TRY(step(of, err));
        TAB_TRY(tab_part_next(p, a, &t, err));
        if (t == NULL)
            return TAB_OK;
        for (size_t k = 0; k < p->cols; k++)
            if (p->open_type[k])
                seen[k] |= tab_file_look(&t->col[k], t->rows);
    }
}

tab_status tab_part_types(tab_part *p, tab_status (*step)(void *of, tab_error *err), void *of, tab_error *err)
{
    bool any = false;
    tab_file_seen *seen = tab_arena_new_of(p->arena, tab_file_seen, p->cols + 1);
    for (size_t k = 0; k < p->cols; k++)
        any = any || p->open_type[k];
    if (seen == NULL)
        return tab_no_memory(err);
    if (!any)
        return TAB_OK;
    TAB_TRY(look(p, seen, step, of, err));
    p->at = p->cursor[0].at = p->cursor[1].at = 0;
    for (size_t k = 0; k < p->cols; k++)
        if (p->open_type[k])
            p->column[k].type = tab_file_type_of(seen[k]);
    return TAB_OK;
}

void tab_part_close(tab_part *p)
{
    for (size_t k = 0; k < 2; k++) {
        tab_arena_free(p->cursor[k].arena);
        p->cursor[k].arena = NULL;
    }
}
