/* Candidates into suspects (suspects.h): the weights are those of weights.h. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/suspects/parts.h"
#include "services/inference/engine/suspects/weights.h"

static const char *const NAMES[TAB_SUSPECT_KINDS] = {
    "format", "typo", "rule", "outlier", "range", "swapped"
};

const char *tab_suspect_name(tab_suspect_kind k)
{
    return NAMES[k];
}

/* Each finder with memory of its own, given back before the next. */
static bool with_scratch(tab_search *s, void (*find)(tab_search *s))
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    s->scratch = a;
    if (a != NULL)
        find(s);
    s->scratch = NULL;
    return a != NULL;
}

static void spelling(tab_search *s)
{
    for (size_t c = 0; c < s->p->table->cols && !s->full && !tab_engine_cancelled(s->e); c++)
        tab_suspects_spelling(s, c);
}

tab_status tab_suspects_candidates(const tab_engine *e, const tab_profile *p, tab_suspect **ret,
                                   size_t *ret_n, tab_error *err)
{
    tab_search s = { .e = e, .p = p, .rows = p->table->rows };
    void (*const find[])(tab_search *) = { spelling, tab_suspects_rules, tab_suspects_numbers,
                                           tab_suspects_swapped };
    *ret = NULL;
    *ret_n = 0;
    if (s.rows < TAB_SUSPECT_ROWS)
        return TAB_OK;
    if (!tab_suspects_view(&s))
        return tab_no_memory(err);
    for (size_t i = 0; i < sizeof find / sizeof *find; i++) {
        if (!with_scratch(&s, find[i]))
            return tab_no_memory(err);
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        s.full = false;
    }
    *ret = s.found;
    *ret_n = s.n;
    return TAB_OK;
}

static double confidence_of(const tab_suspect *c)
{
    double z = tab_suspect_weights[c->kind][TAB_SUSPECT_FEATURES];
    for (size_t i = 0; i < TAB_SUSPECT_FEATURES; i++)
        z += tab_suspect_weights[c->kind][i] * (double)c->f[i];
    return 1 / (1 + exp(-z));
}

static int by_cell(const void *a, const void *b)
{
    const tab_suspect *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->confidence != y->confidence)
        return x->confidence > y->confidence ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_confidence(const void *a, const void *b)
{
    const tab_suspect *x = a, *y = b;
    if (x->confidence != y->confidence)
        return x->confidence > y->confidence ? -1 : 1;
    return by_cell(a, b);
}

tab_status tab_suspects_find(const tab_engine *e, const tab_profile *p, double least, tab_suspect **ret,
                             size_t *ret_n, tab_error *err)
{
    size_t n = 0, cells = 0;
    TAB_TRY(tab_suspects_candidates(e, p, ret, &n, err));
    tab_suspect *s = *ret;
    for (size_t i = 0; i < n; i++)
        s[i].confidence = confidence_of(&s[i]);
    if (n > 0)
        qsort(s, n, sizeof *s, by_cell);
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && cells > 0 && s[cells - 1].row == s[i].row && s[cells - 1].column == s[i].column;
        if (same && s[cells - 1].suggestion.n == 0)
            s[cells - 1].suggestion = s[i].suggestion; /* of another finder */
        if (!same && s[i].confidence >= least)
            s[cells++] = s[i];
    }
    if (cells > 0)
        qsort(s, cells, sizeof *s, by_confidence);
    *ret_n = cells < TAB_MOST_SUSPECTS ? cells : TAB_MOST_SUSPECTS;
    return TAB_OK;
}
