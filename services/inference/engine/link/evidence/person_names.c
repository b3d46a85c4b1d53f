/* See person_names.h. */
#include "services/inference/engine/link/evidence/person_names.h"

#include "services/inference/engine/link/pairs/compare.h"
#include "services/inference/engine/profile/roles/roles.h"

static const tab_view *only_column(const tab_table_view *t, tab_role role)
{
    const tab_view *ret = NULL;
    for (size_t c = 0; c < t->cols; c++) {
        if (t->col[c].profile->role != (int)role)
            continue;
        if (ret != NULL)
            return NULL; /* two people a row: which one it is of, nobody knows */
        ret = &t->col[c];
    }
    return ret;
}

bool tab_naming_find(const tab_views *v, size_t table, tab_naming *ret)
{
    const tab_table_view *t = &v->table[table];
    *ret = (tab_naming){ .t = t,
                         .given = only_column(t, TAB_ROLE_FIRST_NAME),
                         .family = only_column(t, TAB_ROLE_LAST_NAME) };
    if (ret->given != NULL && ret->family != NULL)
        return true;
    ret->given = ret->family = only_column(t, TAB_ROLE_NAME);
    return ret->given != NULL;
}

static tab_str first_word(tab_str s)
{
    const char *end = s.n == 0 ? NULL : memchr(s.p, ' ', s.n);
    return end == NULL ? s : (tab_str){ s.p, (size_t)(end - s.p) };
}

static tab_str last_word(tab_str s)
{
    size_t from = s.n;
    while (from > 0 && s.p[from - 1] != ' ')
        from--;
    return (tab_str){ s.p + from, s.n - from };
}

/* "Meza, Anna" in one column. */
static bool family_first(const tab_view *w, uint32_t row)
{
    tab_str s = tab_cell_at(w->profile->column, row).text;
    return s.n > 0 && memchr(s.p, ',', s.n) != NULL;
}

static tab_str text_of(const tab_views *v, const tab_view *w, uint32_t row)
{
    return w->code[row] == TAB_NULL ? (tab_str){ "", 0 } : tab_value_text(v, &w->value[w->code[row]]);
}

static tab_str name_of(const tab_views *v, const tab_naming *n, uint32_t row, bool family)
{
    tab_str s = text_of(v, family ? n->family : n->given, row);
    if (n->given != n->family)
        return family ? s : first_word(s);
    if (first_word(s).n == s.n)
        return (tab_str){ "", 0 };
    return family == family_first(n->given, row) ? first_word(s) : last_word(s);
}

tab_str tab_naming_given(const tab_views *v, const tab_naming *n, uint32_t row)
{
    return name_of(v, n, row, false);
}

tab_str tab_naming_family(const tab_views *v, const tab_naming *n, uint32_t row)
{
    return name_of(v, n, row, true);
}

static bool holds(tab_str s, tab_str part)
{
    return memmem(s.p, s.n, part.p, part.n) != NULL;
}

/* Whether two given names may be one: misspelt, an initial, the short form of the other. */
static bool may_be_one(const tab_nicknames *k, tab_str x, tab_str y)
{
    static const double LIKE = 0.65;
    tab_str less = x.n < y.n ? x : y, more = x.n < y.n ? y : x;
    return holds(more, less) || tab_edit_similarity(x, y) >= LIKE ||
           tab_nicknames_alike(tab_nicknames_find(k, x), tab_nicknames_find(k, y));
}

tab_kinship tab_kinship_of(const tab_views *v, const tab_nicknames *k, const tab_naming who[2], uint32_t a,
                           uint32_t b)
{
    static const double LIKE = 0.8;
    uint32_t row[2] = { a, b };
    tab_str given[2], family[2];
    for (int i = 0; i < 2; i++) {
        given[i] = name_of(v, &who[i], row[i], false);
        family[i] = name_of(v, &who[i], row[i], true);
        if (given[i].n == 0 || family[i].n == 0)
            return TAB_KIN_UNKNOWN;
    }
    bool alike = holds(family[0], family[1]) || holds(family[1], family[0]) ||
                 tab_edit_similarity(family[0], family[1]) >= LIKE;
    if (may_be_one(k, given[0], given[1]) || holds(text_of(v, who[1].given, b), given[0]) ||
        holds(text_of(v, who[0].given, a), given[1]))
        return alike ? TAB_KIN_PERSON : TAB_KIN_SAME;
    return alike ? TAB_KIN_RELATIVES : TAB_KIN_UNKNOWN;
}
