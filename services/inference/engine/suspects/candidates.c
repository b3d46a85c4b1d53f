/* Candidates into suspects (suspects.h): the weights are those of weights.h. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/suspects/parts.h"

static const char *const NAMES[TAB_SUSPECT_KINDS] = { "format", "typo",    "rule", "outlier",
                                                      "range",  "swapped", "rule" };

const char *tab_suspect_name(tab_suspect_kind k)
{
    return NAMES[k];
}

/* Every candidate of the table into s->found, none of a short one; what is seen and found lives in a. Each
 * finder has memory of its own, given back before the next. */
static tab_status search(const tab_engine *e, const tab_profile *p, tab_arena *a, tab_search *s,
                         tab_error *err)
{
    *s = (tab_search){ .e = e, .arena = a, .p = p, .rows = p->table->rows };
    if (a == NULL)
        return tab_no_memory(err);
    if (s->rows < TAB_SUSPECT_ROWS)
        return TAB_OK;
    void (*const find[])(tab_search *) = { tab_suspects_spelling, tab_suspects_rules, tab_suspects_numbers,
                                           tab_suspects_swapped };
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
    tab_search s;
    TAB_TRY(search(e, p, a, &s, err));
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

/* The surest candidate of each cell of at least `least`, in place, surest first; how many they are. A
 * suggestion that it lacks comes from the next. */
static size_t best_of_cells(tab_suspect *s, size_t n, double least)
{
    size_t cells = 0;
    n = tab_suspects_surest(s, n, n);
    if (n > 0)
        qsort(s, n, sizeof *s, tab_suspect_by_cell);
    for (size_t i = 0; i < n; i++) {
        bool same = cells > 0 && s[cells - 1].row == s[i].row && s[cells - 1].column == s[i].column;
        if (same && s[cells - 1].suggestion.n == 0)
            s[cells - 1].suggestion = s[i].suggestion;
        if (!same)
            s[cells++] = s[i];
    }
    for (size_t i = 0, end = 0; i < cells; i = end) {
        while (end < cells && s[end].row == s[i].row)
            end++;
        weigh_alternatives(s + i, end - i);
    }
    n = tab_suspects_surest(s, cells, cells);
    while (n > 0 && !(s[n - 1].confidence >= least))
        n--;
    return n < TAB_MOST_SUSPECTS ? n : TAB_MOST_SUSPECTS;
}

tab_status tab_suspects_find(const tab_engine *e, const tab_profile *p, double least, tab_suspect **ret,
                             size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    tab_search s;
    TAB_TRY(search(e, p, a, &s, err));
    return keep(&s, best_of_cells(s.found, s.n, least), ret, ret_n, err);
}
