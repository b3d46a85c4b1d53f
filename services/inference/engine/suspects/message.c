/* Suspects of several tables as the bundle has them, each with a sentence that says why. `tab_suspects`
 * starts all that suspects.h draws. */
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/suspects/suspects.h"

typedef struct {
    uint32_t table;
    const tab_suspect *s;
} entry;

static int by_confidence(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->s->confidence != y->s->confidence)
        return x->s->confidence > y->s->confidence ? -1 : 1;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    if (x->s->row != y->s->row)
        return x->s->row < y->s->row ? -1 : 1;
    return (x->s->column > y->s->column) - (x->s->column < y->s->column);
}

static const char *code_reason(tab_arena *a, const tab_suspect *s)
{
    if (s->f[TAB_CODE_LACKS_AT] > 0)
        return tab_arena_printf(a, "%u of %u cells in the column have an @; this one has none", s->agree,
                                s->of);
    if (s->f[TAB_CODE_FAILS_CHECK] > 0)
        return tab_arena_printf(a, "%u of %u cells in the column have a right check digit; this one has not",
                                s->agree, s->of);
    if (s->f[TAB_CODE_OTHER_SIGN] > 0)
        return tab_arena_printf(a, "%u of %u dates in the column have another sign between their numbers",
                                s->agree, s->of);
    if (s->f[TAB_CODE_MISREAD] > 0)
        return "its letters were read in another encoding than they were written in";
    if (s->f[TAB_CODE_CUT] > 0)
        return tab_arena_printf(
            a, "%u values are of exactly %u characters, none is longer, and many end within a word", s->agree,
            s->of);
    return tab_arena_printf(a, "%u of %u cells in the column are codes of one form; one slip explains this",
                            s->agree, s->of);
}

const char *tab_suspect_reason(tab_arena *a, const tab_profile *p, const tab_suspect *s)
{
    const tab_table *of = s->table == NULL ? p->table : s->table->table;
    tab_str other = s->other == UINT32_MAX ? TAB_S("") : tab_column_address(a, of, s->other);
    switch ((tab_suspect_kind)s->kind) {
    case TAB_SUSPECT_FORMAT:
        return tab_arena_printf(a, "%u of %u cells in the column have another format", s->agree, s->of);
    case TAB_SUSPECT_TYPO:
        return tab_arena_printf(a, "%s one edit away from one that occurs %u times",
                                s->f[TAB_TYPO_OF_WORDS] > 0 ? "one of its words is" : "the value is",
                                s->agree);
    case TAB_SUSPECT_RULE:
        return tab_arena_printf(a, "%u of %u rows with the same `%.*s` have another value here", s->agree,
                                s->of, TAB_STR(other));
    case TAB_SUSPECT_IDENTITY:
        return tab_arena_printf(a, "in %u of %u rows the same arithmetic relates this column and `%.*s`",
                                s->agree, s->of, TAB_STR(other));
    case TAB_SUSPECT_ORDER:
        return tab_arena_printf(a, "in %u of %u rows it and `%.*s` are in the other order", s->agree, s->of,
                                TAB_STR(other));
    case TAB_SUSPECT_INEQUALITY:
        return tab_arena_printf(a, "in %u of %u rows it is %s `%.*s`", s->agree, s->of,
                                s->f[TAB_INEQUALITY_ABOVE] > 0 ? "not below" : "not above", TAB_STR(other));
    case TAB_SUSPECT_STILL:
        return tab_arena_printf(a, "the same number in %u rows after each other, elsewhere in %u at most",
                                s->of, s->agree);
    case TAB_SUSPECT_CODE:
        return code_reason(a, s);
    case TAB_SUSPECT_UNIT:
        return tab_arena_printf(a, "%u of the column's %u numbers look as if in another unit than the rest",
                                s->agree, s->of);
    case TAB_SUSPECT_REFERENCE:
        return tab_arena_printf(a, "%u of %u cells are values of `%.*s` of the table `%.*s`; this is none",
                                s->agree, s->of, TAB_STR(other), TAB_STR(of->id));
    case TAB_SUSPECT_CALENDAR:
        return tab_arena_printf(a, "%u of %u cells in the column are dates; this is none of the calendar",
                                s->agree, s->of);
    case TAB_SUSPECT_VARIANT:
        return tab_arena_printf(
            a, "%u of %u cells with this value are written in another way; only %s differ", s->agree, s->of,
            s->f[TAB_VARIANT_BY_ACCENT] > 0 ? "accents"
            : s->f[TAB_VARIANT_BY_CASE] > 0 ? "upper and lower case"
                                            : "case, spaces or punctuation");
    case TAB_SUSPECT_MISPLACED:
        if (s->f[TAB_MISPLACED_SHIFTED] > 0)
            return tab_arena_printf(a, "cells of the row are shifted: this value belongs in `%.*s`",
                                    TAB_STR(other));
        return tab_arena_printf(a, "this value belongs in `%.*s`, and the value there belongs here",
                                TAB_STR(other));
    case TAB_SUSPECT_OUTLIER:
        return other.n > 0
                   ? tab_arena_printf(a, "far from the other rows with the same `%.*s`", TAB_STR(other))
                   : "far from what the other numbers in the row imply";
    case TAB_SUSPECT_IMPOSSIBLE:
        return tab_arena_printf(
            a, "%u of %u numbers in the column look like values of `%s`, which this cannot be", s->agree,
            s->of, tab_role_names[(int)s->f[TAB_IMPOSSIBLE_ROLE]]);
    case TAB_SUSPECT_RANGE:
        return tab_arena_printf(a, "far outside the range of the column's %u numbers", s->of);
    default:
        return tab_arena_printf(a, "this value belongs in `%.*s`, and the value there belongs here",
                                TAB_STR(other));
    }
}

/* The suggestion in the form that the cell has: a number where the cell is one, or where its column holds
 * them. */
static void put_suggestion(tab_builder *b, const tab_column *c, const tab_suspect *s)
{
    double x;
    size_t n;
    bool number = c->layout == TAB_NUMBERS || tab_cell_at(c, s->row).kind == TAB_CELL_NUMBER;
    if (s->suggestion.n == 0)
        tab_builder_null(b);
    else if (number &&
             tab_number_read(s->suggestion.p, s->suggestion.p + s->suggestion.n, &n, &x) == TAB_NUMBER_EXACT)
        tab_builder_number(b, x);
    else
        tab_builder_text(b, s->suggestion);
}

static bool write_entries(tab_arena *a, tab_profile *const *p, const entry *x, size_t n, Tabella__Suspects *m)
{
    tab_builder *value = tab_builder_new(a, TAB_S("value"));
    tab_builder *suggestion = tab_builder_new(a, TAB_S("suggestion"));
    tab_column values, suggestions;
    if (value == NULL || suggestion == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const tab_profile *q = p[x[i].table];
        const tab_suspect *s = x[i].s;
        m->table[i] = x[i].table;
        m->row[i] = s->row;
        m->column[i] = s->column;
        m->kind[i] = tab_suspect_told(s);
        m->confidence[i] = s->confidence;
        m->reason[i] = tab_text(tab_suspect_reason(a, q, s));
        tab_builder_cell(value, tab_cell_at(&q->table->col[s->column], s->row));
        put_suggestion(suggestion, &q->table->col[s->column], s);
    }
    bool ok = tab_builder_finish(value, &values);
    if (!tab_builder_finish(suggestion, &suggestions) || !ok)
        return false;
    m->value = tab_cells_message(a, &values, n);
    m->suggestion = tab_cells_message(a, &suggestions, n);
    return m->value != NULL && m->suggestion != NULL && !tab_arena_full(a);
}

/* The spellings among n suspects of the column, three at most by name. */
static bool tell_spellings(tab_arena *a, const tab_profile *p, const tab_suspect *s, size_t n, tab_spelt *x)
{
    enum { NAMED = 3 };
    const tab_suspect *named[NAMED];
    size_t names = 0, more = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].kind != TAB_SUSPECT_VARIANT || s[i].column != x->column)
            continue;
        bool told = false;
        tab_str own = tab_cell_at(&p->table->col[x->column], s[i].row).text;
        for (size_t k = 0; k < names; k++)
            told |= tab_str_eq(tab_cell_at(&p->table->col[x->column], named[k]->row).text, own);
        if (!told && names < NAMED)
            named[names++] = &s[i];
        else
            more += !told;
    }
    x->told = NULL;
    for (size_t k = 0; k < names; k++) {
        tab_str own = tab_cell_at(&p->table->col[x->column], named[k]->row).text;
        const char *before = k == 0 ? "spellings: " : x->told, *sign = k == 0 ? "" : ", ";
        uint32_t rows = named[k]->of - named[k]->agree;
        x->told = tab_arena_printf(a, "%s%s\"%.*s\" (%u row%s) is likely \"%.*s\"", before, sign,
                                   TAB_STR(own), rows, rows == 1 ? "" : "s", TAB_STR(named[k]->suggestion));
        if (x->told == NULL)
            return false;
    }
    if (names > 0)
        x->told = tab_arena_printf(a, "%s%s; the target's classes were predicted as they are written",
                                   x->told, more > 0 ? " and others" : "");
    return names == 0 || x->told != NULL;
}

tab_status tab_suspects(const tab_engine *e, tab_profile *const *p, size_t n, double least, tab_spelt *spelt,
                        Tabella__Suspects **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    tab_suspect **s = tab_arena_new_of(a, tab_suspect *, n + 1);
    size_t *of = tab_arena_new_of(a, size_t, n + 1), total = 0;
    Tabella__Suspects *m = tab_message(a, Tabella__Suspects, TABELLA__SUSPECTS__INIT);
    if (s == NULL || of == NULL || m == NULL)
        return tab_no_memory(err);
    for (size_t t = 0; t < n; t++) {
        TAB_TRY(tab_suspects_find_beside(e, p, n, t, least, &s[t], &of[t], err));
        total += of[t];
    }
    if (spelt != NULL && !tell_spellings(a, p[spelt->table], s[spelt->table], of[spelt->table], spelt))
        return tab_no_memory(err);
    entry *x = tab_arena_new_of(a, entry, total + 1);
    if (x == NULL)
        return tab_no_memory(err);
    total = 0;
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < of[t]; i++)
            x[total++] = (entry){ (uint32_t)t, &s[t][i] };
    if (total > 0)
        qsort(x, total, sizeof *x, by_confidence);
    total = total < TAB_MOST_SUSPECTS ? total : TAB_MOST_SUSPECTS;
    m->n_table = m->n_row = m->n_column = m->n_kind = m->n_confidence = m->n_reason = total;
    m->table = tab_arena_new_of(a, uint32_t, total + 1);
    m->row = tab_arena_new_of(a, uint32_t, total + 1);
    m->column = tab_arena_new_of(a, uint32_t, total + 1);
    m->kind = tab_arena_new_of(a, uint32_t, total + 1);
    m->confidence = tab_arena_new_of(a, double, total + 1);
    m->reason = tab_arena_new_of(a, char *, total + 1);
    if (tab_arena_full(a) || !write_entries(a, p, x, total, m))
        return tab_no_memory(err);
    *ret = m;
    return TAB_OK;
}
