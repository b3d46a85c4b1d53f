/* warnings[] of run, create and serve: fields of the body that the request does not have, and what the pass
 * doubts. Such fields are ignored, since a client may be newer than the server, and named, since one may be
 * mistyped. */
#include "common/nearest.h"
#include "services/api/api.h"

enum { MOST_WARNINGS = 16, SHOWN = 64 };

static const tab_str RUN[] = { TAB_S("tables"), TAB_S("data"),    TAB_S("base"),   TAB_S("target"),
                               TAB_S("task"),   TAB_S("options"), TAB_S("dry_run") };
static const tab_str CREATE[] = { TAB_S("name"),   TAB_S("tables"), TAB_S("data"),    TAB_S("base"),
                                  TAB_S("target"), TAB_S("task"),   TAB_S("options"), TAB_S("dry_run") };
static const tab_str SERVE[] = { TAB_S("tables"), TAB_S("options"), TAB_S("dry_run") };
static const tab_str REFRESH[] = { TAB_S("dry_run") };
#define N(a) (sizeof(a) / sizeof *(a))

static const tab_str *fields_of(tab_route_id route, size_t *n)
{
    switch (route) {
    case TAB_POST_RUN:
        *n = N(RUN);
        return RUN;
    case TAB_POST_ENDPOINTS:
        *n = N(CREATE);
        return CREATE;
    case TAB_POST_SERVE:
        *n = N(SERVE);
        return SERVE;
    case TAB_POST_ENDPOINT_REFRESH:
        *n = N(REFRESH);
        return REFRESH;
    default:
        *n = 0;
        return NULL;
    }
}

static const char *warning(request *r, tab_str field, const tab_str *known, size_t n)
{
    size_t shown = field.n < SHOWN ? field.n : SHOWN, near = tab_nearest(field, known, n);
    while (shown < field.n && shown > 0 && ((unsigned char)field.p[shown] & 0xc0) == 0x80)
        shown--; /* within a letter */
    if (near == n)
        return tab_arena_printf(r->arena, "`%.*s` is no field of this request and was ignored", (int)shown,
                                field.p);
    return tab_arena_printf(r->arena,
                            "`%.*s` is no field of this request and was ignored: did you mean `%.*s`?",
                            (int)shown, field.p, TAB_STR(known[near]));
}

tab_status warnings_read(request *r, const tab_json *root, tab_error *err)
{
    size_t n, found = 0;
    const tab_str *known = fields_of(r->route, &n);
    if (known == NULL || root == NULL || root->kind != TAB_JSON_OBJECT)
        return TAB_OK;
    for (const tab_json *m = root->first; m != NULL && found < MOST_WARNINGS; m = m->next) {
        size_t k = 0;
        while (k < n && !tab_str_eq(m->key, known[k]))
            k++;
        if (k < n)
            continue;
        if (r->warnings == NULL)
            r->warnings = tab_arena_new_of(r->arena, const char *, MOST_WARNINGS + 1);
        const char *text = r->warnings == NULL ? NULL : warning(r, m->key, known, n);
        if (text == NULL)
            return tab_no_memory(err);
        r->warnings[found++] = text;
    }
    return TAB_OK;
}

void warnings_member(request *r, const Tabella__Bundle *b)
{
    open_member(&r->out, "warnings", '[');
    for (size_t i = 0; r->warnings != NULL && r->warnings[i] != NULL; i++)
        tab_out_cstr(&r->out, r->warnings[i]);
    for (size_t i = 0; b != NULL && i < b->n_warnings; i++)
        tab_out_cstr(&r->out, b->warnings[i]);
    tab_out_close(&r->out, ']');
}
