/* Candidates into suspects (suspects.h): the weights are those of weights.h. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/suspects/parts.h"

static const char *const NAMES[TAB_SUSPECT_KINDS] = {
    "format",    "typo",     "rule",       "outlier", "range", "swapped", "identity",  "variant",   "order",
    "reference", "calendar", "inequality", "still",   "unit",  "code",    "misplaced", "impossible"
};

const char *tab_suspect_name(tab_suspect_kind k)
{
    return NAMES[k];
}

tab_suspect_kind tab_suspect_told(const tab_suspect *s)
{
    switch (s->kind) {
    case TAB_SUSPECT_IDENTITY:
    case TAB_SUSPECT_ORDER:
    case TAB_SUSPECT_INEQUALITY:
    case TAB_SUSPECT_REFERENCE:
        return TAB_SUSPECT_RULE;
    case TAB_SUSPECT_STILL:
    case TAB_SUSPECT_UNIT:
        return TAB_SUSPECT_OUTLIER;
    case TAB_SUSPECT_IMPOSSIBLE:
        return TAB_SUSPECT_RANGE;
    case TAB_SUSPECT_VARIANT:
        return s->f[TAB_VARIANT_BY_ACCENT] > 0 ? TAB_SUSPECT_TYPO : TAB_SUSPECT_FORMAT;
    case TAB_SUSPECT_MISPLACED:
        return TAB_SUSPECT_SWAPPED;
    case TAB_SUSPECT_CALENDAR:
    case TAB_SUSPECT_CODE:
        return TAB_SUSPECT_FORMAT;
    default:
        return (tab_suspect_kind)s->kind;
    }
}

/* Every candidate of the table into s->found, none of a short one; what is seen and found lives in a. Each
 * finder has memory of its own, given back before the next. */
static tab_status search(const tab_engine *e, tab_profile *const *p, size_t n, size_t which, tab_arena *a,
                         tab_search *s, tab_error *err)
{
    *s = (tab_search){
        .e = e, .arena = a, .p = p[which], .all = p, .tables = n, .rows = p[which]->table->rows
    };
    if (a == NULL)
        return tab_no_memory(err);
    if (s->rows < TAB_SUSPECT_ROWS)
        return TAB_OK;
    void (*const find[])(tab_search *) = {
        tab_suspects_spelling, tab_suspects_variants,   tab_suspects_rules,    tab_suspects_numbers,
        tab_suspects_swapped,  tab_suspects_references, tab_suspects_calendar, tab_suspects_still,
        tab_suspects_codes,    tab_suspects_misplaced,  tab_suspects_proven,   tab_suspects_cut,
        tab_suspects_bounds
    };
    s->failed = !tab_suspects_view(s);
    for (size_t i = 0; i < sizeof find / sizeof *find && !s->failed && !tab_engine_cancelled(s->e); i++) {
        TAB_AUTO(tab_arena) *own = tab_arena_new(TAB_SUSPECT_BYTES);
        s->scratch = own;
        s->failed = own == NULL;
        if (own != NULL)
            find[i](s);
        s->scratch = NULL;
    }
    if (tab_engine_cancelled(s->e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    return s->failed || tab_arena_full(s->arena) ? tab_no_memory(err) : TAB_OK;
}

/* The first n into the engine's arena, with their texts and what each likely was. */
static tab_status keep(tab_search *s, size_t n, tab_suspect **ret, size_t *ret_n, tab_error *err)
{
    tab_arena *a = s->e->arena;
    tab_suspect *own = tab_arena_new_of(a, tab_suspect, n + 1);
    if (own == NULL || !tab_suspects_repair(s, s->found, n))
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        own[i] = s->found[i];
        own[i].suggestion = own[i].suggestion.n > 0 ? tab_arena_copy(a, own[i].suggestion) : TAB_S("");
    }
    *ret = own;
    *ret_n = n;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status tab_suspects_candidates(const tab_engine *e, const tab_profile *p, tab_suspect **ret,
                                   size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    tab_profile *const one = (tab_profile *)(uintptr_t)p;
    tab_search s;
    TAB_TRY(search(e, &one, 1, 0, a, &s, err));
    return keep(&s, s.n, ret, ret_n, err);
}

/* The cells of one row, n of them. */
static void weigh_alternatives(tab_suspect *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s[i].instead = 0;
        for (size_t k = 0; s[i].alternatives > 0 && k < n; k++)
            if (k != i && s[k].alternatives == s[i].alternatives)
                s[i].instead += s[k].confidence / fmax(1 - s[k].confidence, 1e-9);
    }
}

/* What each of the surest candidates would be mended to; the others have no cell that is said. */
static bool mend(tab_search *s)
{
    enum { MENDED = 4 * TAB_MOST_SUSPECTS };
    size_t n = s->n < MENDED ? s->n : MENDED;
    tab_suspect *own = tab_arena_new_of(s->arena, tab_suspect, n + 1);
    if (own == NULL)
        return false;
    if (n > 0)
        memcpy(own, s->found, n * sizeof *own);
    if (!tab_suspects_repair(s, own, n))
        return false;
    for (size_t i = 0; i < n; i++)
        s->found[i].mended = own[i].suggestion;
    return true;
}

/* Takes what another candidate of its cell says into the surest one. */
static void hear(tab_suspect *best, const tab_suspect *other)
{
    if (other->kind != best->kind && best->second == 0) {
        best->second = other->confidence;
        best->same = best->mended.n > 0 && tab_str_eq(best->mended, other->mended);
    }
    if (best->suggestion.n == 0)
        best->suggestion = other->suggestion;
    if (best->mended.n == 0)
        best->mended = other->mended;
}

/* The surest candidate of each cell of at least `least`, first and surest first; how many they are. A
 * suggestion that it lacks comes from the next. *ret_ok false: memory ran out. */
static size_t best_of_cells(tab_search *search, double least, bool *ret_ok)
{
    tab_suspect *s = search->found;
    size_t cells = 0, n = tab_suspects_surest(s, search->n, search->n);
    *ret_ok = mend(search);
    if (n > 0)
        qsort(s, n, sizeof *s, tab_suspect_by_cell);
    for (size_t i = 0; i < n; i++) {
        bool same = cells > 0 && s[cells - 1].row == s[i].row && s[cells - 1].column == s[i].column;
        if (same)
            hear(&s[cells - 1], &s[i]);
        else
            s[cells++] = s[i];
    }
    for (size_t i = 0, end = 0; i < cells; i = end) {
        while (end < cells && s[end].row == s[i].row)
            end++;
        weigh_alternatives(s + i, end - i);
    }
    n = tab_suspects_surest(s, cells, cells);
    tab_suspects_settle(s, n);
    while (n > 0 && !(s[n - 1].confidence >= least))
        n--;
    return n < TAB_MOST_SUSPECTS ? n : TAB_MOST_SUSPECTS;
}

tab_status tab_suspects_find_beside(const tab_engine *e, tab_profile *const *p, size_t n, size_t i,
                                    double least, tab_suspect **ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    tab_search s;
    TAB_TRY(search(e, p, n, i, a, &s, err));
    bool ok;
    size_t best = best_of_cells(&s, least, &ok);
    return ok ? keep(&s, best, ret, ret_n, err) : tab_no_memory(err);
}

tab_status tab_suspects_find(const tab_engine *e, const tab_profile *p, double least, tab_suspect **ret,
                             size_t *ret_n, tab_error *err)
{
    tab_profile *const one = (tab_profile *)(uintptr_t)p;
    return tab_suspects_find_beside(e, &one, 1, 0, least, ret, ret_n, err);
}
