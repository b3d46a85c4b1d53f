/* Parts of a plan's line, and who is meant by a name in it. */
#include "services/inference/engine/generate/plan.h"

#include <string.h>

tab_str plan_part(tab_str *rest, char by)
{
    const char *end = rest->n > 0 ? memchr(rest->p, by, rest->n) : NULL;
    tab_str s = { rest->p, end == NULL ? rest->n : (size_t)(end - rest->p) };
    size_t skip = end == NULL ? rest->n : s.n + 1;
    rest->p += skip;
    rest->n -= skip;
    while (s.n > 0 && *s.p == ' ')
        s.p++, s.n--;
    while (s.n > 0 && s.p[s.n - 1] == ' ')
        s.n--;
    while (by == ' ' && rest->n > 0 && *rest->p == ' ')
        rest->p++, rest->n--;
    return s;
}

int plan_column(const table *t, size_t cols, tab_str name)
{
    for (size_t i = 0; i < cols; i++)
        if (tab_str_eq(t->col[i].name, name))
            return (int)i;
    return -1;
}

int plan_parent(const tab_generator *g, size_t t, tab_str name)
{
    for (size_t i = 0; i < g->table[t].parents; i++) {
        const parent *p = &g->table[t].parent[i];
        if (p->way != PARENT_SELF && tab_str_eq(p->name, name))
            return (int)i;
    }
    return -1;
}
