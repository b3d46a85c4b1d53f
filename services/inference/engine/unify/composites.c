#include "services/inference/engine/unify/composites.h"

#include "services/inference/engine/profile/roles/roles.h"

/* What a role is a part of; alone: of nothing. */
typedef enum { ALONE, A_NAME, AN_ADDRESS, A_PLACE, A_PRICE } whole;

static whole whole_of(int role)
{
    switch ((tab_role)role) {
    case TAB_ROLE_FIRST_NAME:
    case TAB_ROLE_LAST_NAME:
        return A_NAME;
    case TAB_ROLE_ADDRESS:
    case TAB_ROLE_CITY:
    case TAB_ROLE_POSTAL_CODE:
    case TAB_ROLE_REGION:
    case TAB_ROLE_COUNTRY:
    case TAB_ROLE_COUNTRY_CODE:
        return AN_ADDRESS;
    case TAB_ROLE_LATITUDE:
    case TAB_ROLE_LONGITUDE:
        return A_PLACE;
    case TAB_ROLE_AMOUNT:
    case TAB_ROLE_CURRENCY_CODE:
        return A_PRICE;
    default:
        return ALONE;
    }
}

typedef struct {
    const tab_views *v;
    const tab_shared_attribute *attr;
    uint32_t *unit; /* (attrs) */
    size_t attrs;
} joining;

/* Whether a table already has a column of this role in the unit: a second city is of a second address. */
static bool has_role(const joining *j, uint32_t unit, size_t table, int role)
{
    for (size_t k = 0; k < j->attrs; k++) {
        uint32_t c = j->attr[k].col[table];
        if (j->unit[k] == unit && c != TAB_NULL && j->v->table[table].col[c].profile->role == role)
            return true;
    }
    return false;
}

/* Joins columns p and q of a table, of which q follows p among those of one whole: their attributes' units
 * become one, unless one table then had two columns of one role in it. */
static void join(joining *j, size_t table, uint32_t p, uint32_t q)
{
    size_t a = j->attrs, b = j->attrs;
    for (size_t k = 0; k < j->attrs; k++) {
        a = j->attr[k].col[table] == p ? k : a;
        b = j->attr[k].col[table] == q ? k : b;
    }
    if (a == j->attrs || b == j->attrs || j->unit[a] == j->unit[b])
        return;
    uint32_t from = j->unit[b], to = j->unit[a];
    for (size_t k = 0; k < j->attrs; k++)
        for (size_t t = 0; j->unit[k] == from && t < j->v->n; t++) {
            uint32_t c = j->attr[k].col[t];
            if (c != TAB_NULL && has_role(j, to, t, j->v->table[t].col[c].profile->role))
                return;
        }
    for (size_t k = 0; k < j->attrs; k++)
        if (j->unit[k] == from)
            j->unit[k] = to;
}

/* Columns of one whole in a table, each with the one before it. A price is an amount and the currency beside
 * it: other amounts are prices of their own. */
static void join_table(joining *j, size_t t)
{
    const tab_table_view *w = &j->v->table[t];
    for (uint32_t c = 1; c < w->cols; c++) {
        whole part = whole_of(w->col[c].profile->role);
        for (uint32_t b = c; part != ALONE && b-- > 0;) {
            if (whole_of(w->col[b].profile->role) != part)
                continue;
            if (part != A_PRICE || b + 1 == c)
                join(j, t, b, c);
            break;
        }
    }
}

bool tab_composites_of(const tab_views *v, const tab_shared_attribute *attr, size_t attrs, tab_arena *a,
                       tab_composites *ret)
{
    joining j = { v, attr, tab_arena_new_of(a, uint32_t, attrs), attrs };
    *ret = (tab_composites){ .at = tab_arena_new_of(a, size_t, attrs + 1),
                             .attr = tab_arena_new_of(a, uint32_t, attrs) };
    if (tab_arena_full(a))
        return false;
    for (uint32_t k = 0; k < attrs; k++)
        j.unit[k] = k;
    for (size_t t = 0; t < v->n; t++)
        join_table(&j, t);
    size_t n = 0;
    for (uint32_t u = 0; u < attrs; u++) {
        size_t from = n;
        for (uint32_t k = 0; k < attrs; k++)
            if (j.unit[k] == u)
                ret->attr[n++] = k;
        if (n > from)
            ret->at[++ret->n] = n;
    }
    return true;
}
