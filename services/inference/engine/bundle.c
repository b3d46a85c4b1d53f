/* See engine.h and bundle.h: the whole pass, in order. The daemon's quick runs and the command line call
 * tab_engine_run; endpoints call tab_engine_pass, which keeps profiles, selection and the fitted model for
 * serving.
 *
 *   tables ─> profile ─> sector
 *                ├────> duplicates; cross-table map and unified rows  (two or more tables)
 *                ├────> target and task ─> steps ahead ─> what linked tables say ─> fit ─> results
 *                ├────> imputation (the target's missing cells take the prediction)
 *                └────> suspects */
#include "services/inference/engine/bundle.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/spread.h"
#include "services/inference/engine/evaluate/answer_quality.h"
#include "services/inference/engine/horizon/horizon.h"
#include "services/inference/engine/impute/impute.h"
#include "services/inference/engine/keys/grain.h"
#include "services/inference/engine/link/cross_tables.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/pool.h"
#include "services/inference/engine/predict/anomaly/anomaly_overview.h"
#include "services/inference/engine/predict/choose/select.h"
#include "services/inference/engine/predict/explain/leaks.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/profile/given.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/sector/sectors.h"
#include "services/inference/engine/suspects/suspects.h"

static const size_t WIDE_LIMIT = (size_t)16 << 30; /* a bound against runaway fits */

/* What a column's texts hold of persons. */
static bool pii_kinds(tab_arena *a, const tab_column_profile *c, Tabella__ColumnProfile *m)
{
    if (c->held_kinds == 0)
        return true;
    m->pii_kinds = tab_arena_new_of(a, Tabella__PersonalKind *, c->held_kinds);
    for (size_t k = 0; m->pii_kinds != NULL && k < c->held_kinds; k++) {
        Tabella__PersonalKind *q = tab_message(a, Tabella__PersonalKind, TABELLA__PERSONAL_KIND__INIT);
        if (q == NULL)
            return false;
        q->kind = tab_text(tab_role_names[c->held[k].role]);
        q->share = c->held[k].share;
        q->confidence = c->held[k].confidence;
        m->pii_kinds[m->n_pii_kinds++] = q;
    }
    return m->pii_kinds != NULL;
}

/* One column as the bundle's `tables[].column_profile[]` shows it. */
static Tabella__ColumnProfile *column_profile(tab_arena *a, const tab_column_profile *c)
{
    Tabella__ColumnProfile *m = tab_message(a, Tabella__ColumnProfile, TABELLA__COLUMN_PROFILE__INIT);
    if (m == NULL)
        return NULL;
    tab_str name = tab_arena_copy(a, c->column->name);
    m->name = (ProtobufCBinaryData){ .len = name.n, .data = (uint8_t *)tab_text(name.p) };
    m->index = (uint32_t)c->index;
    m->role = tab_text(tab_role_names[c->role]);
    m->role_confidence = tab_told_role(c->role, c->role_confidence);
    m->type = tab_text(tab_type_name(c->type));
    m->type_confidence = c->type_confidence;
    m->missing_pct = c->missing;
    m->n_missing_marks = c->marks;
    m->missing_marks = tab_arena_new_of(a, ProtobufCBinaryData, c->marks + 1);
    for (size_t i = 0; m->missing_marks != NULL && i < c->marks; i++) {
        tab_str mark = tab_arena_copy(a, c->mark[i]);
        m->missing_marks[i] = (ProtobufCBinaryData){ .len = mark.n, .data = (uint8_t *)tab_text(mark.p) };
    }
    m->pii = c->pii;
    m->pii_confidence = c->pii_confidence;
    return pii_kinds(a, c, m) ? m : NULL;
}

/* Sectors of a table that the bundle names; the specification asks for five. */
enum { TOP_SECTORS = 5 };

/* The five likeliest sectors, likeliest first; equal ones in the order of the list. A table without cells
 * has none. */
static bool top_sectors(tab_arena *a, const tab_profile *p, Tabella__TableUnderstanding *m)
{
    if (p->sector == NULL || p->table->rows == 0 || p->table->cols == 0)
        return true;
    m->sector_top5 = tab_arena_new_of(a, Tabella__NameConfidence *, TOP_SECTORS);
    bool taken[TAB_SECTORS] = { false };
    for (size_t k = 0; m->sector_top5 != NULL && k < TOP_SECTORS; k++) {
        /* the greatest that is not taken; there are 25 */
        size_t best = TAB_SECTORS;
        for (size_t s = 0; s < TAB_SECTORS; s++)
            if (!taken[s] && (best == TAB_SECTORS || p->sector[s] > p->sector[best]))
                best = s;
        taken[best] = true;
        Tabella__NameConfidence *c = tab_message(a, Tabella__NameConfidence, TABELLA__NAME_CONFIDENCE__INIT);
        if (c == NULL)
            return false;
        c->name = tab_text(tab_sectors[best].name);
        c->slug = tab_text(tab_sectors[best].slug);
        c->confidence = p->sector[best];
        m->sector_top5[m->n_sector_top5++] = c;
    }
    return m->sector_top5 != NULL;
}

/* The columns that spoke for the first sector. */
static bool sector_evidence(tab_arena *a, const tab_profile *p, Tabella__TableUnderstanding *m)
{
    m->sector_evidence = tab_arena_new_of(a, Tabella__SectorEvidence *, p->hints + 1);
    for (size_t k = 0; m->sector_evidence != NULL && k < p->hints && m->n_sector_top5 > 0; k++) {
        const tab_sector_hint *h = &p->hint[k];
        Tabella__SectorEvidence *v = tab_message(a, Tabella__SectorEvidence, TABELLA__SECTOR_EVIDENCE__INIT);
        if (v == NULL || (v->words = tab_arena_new_of(a, ProtobufCBinaryData, h->words + 1)) == NULL)
            return false;
        tab_str name = tab_arena_copy(a, h->col->column->name);
        v->column = (ProtobufCBinaryData){ .len = name.n, .data = (uint8_t *)tab_text(name.p) };
        v->index = (uint32_t)h->col->index;
        v->role = tab_text(tab_role_names[h->col->role]);
        v->weight = h->weight;
        for (; v->n_words < h->words; v->n_words++)
            v->words[v->n_words] =
                (ProtobufCBinaryData){ .len = h->word[v->n_words].n,
                                       .data = (uint8_t *)tab_text(h->word[v->n_words].p) };
        m->sector_evidence[m->n_sector_evidence++] = v;
    }
    return m->sector_evidence != NULL;
}

/* What the bundle says of one table: its size, its columns' profiles, its likeliest sectors. */
Tabella__TableUnderstanding *tab_understanding(tab_arena *a, const tab_profile *p)
{
    Tabella__TableUnderstanding *m =
        tab_message(a, Tabella__TableUnderstanding, TABELLA__TABLE_UNDERSTANDING__INIT);
    if (m == NULL)
        return NULL;
    tab_str id = tab_arena_copy(a, p->table->id);
    m->id = (ProtobufCBinaryData){ .len = id.n, .data = (uint8_t *)tab_text(id.p) };
    m->rows = p->table->rows;
    m->cols = (uint32_t)p->table->cols;
    m->n_column_profile = p->table->cols;
    m->column_profile = tab_arena_new_of(a, Tabella__ColumnProfile *, p->table->cols + 1);
    for (size_t c = 0; m->column_profile != NULL && c < p->table->cols; c++)
        m->column_profile[c] = column_profile(a, &p->col[c]);
    return top_sectors(a, p, m) && sector_evidence(a, p, m) ? m : NULL;
}

/* [table][column]: the columns that refer to rows of another table; NULL where none does. */
static tab_status reference_columns(const tab_engine *e, tab_profile *const *p, size_t n,
                                    const tab_references *refs, const bool *const **ret, tab_error *err)
{
    bool **of = refs->n == 0 ? NULL : tab_arena_new_of(e->arena, bool *, n + 1);
    for (size_t t = 0; of != NULL && t < n; t++)
        of[t] = tab_arena_new_of(e->arena, bool, p[t]->table->cols + 1);
    if (refs->n > 0 && tab_arena_full(e->arena))
        return tab_no_memory(err);
    for (size_t i = 0; i < refs->n; i++)
        of[refs->ref[i].child_table][refs->ref[i].child] = true;
    *ret = (const bool *const *)of;
    return TAB_OK;
}

/* The column of the target's table that holds each row's moment: "column" or "table.column". */
static tab_status moment_of(const tab_engine *e, const tab_profile *p, size_t target, tab_str as_of,
                            size_t *ret, tab_error *err)
{
    const tab_table *t = p->table;
    *ret = as_of.n == 0 ? TAB_AS_OF_EVIDENCE : TAB_AS_OF_NONE;
    if (as_of.n == 0 || tab_str_eq(as_of, TAB_S("none")))
        return TAB_OK;
    bool whole = as_of.n > t->id.n && memcmp(as_of.p, t->id.p, t->id.n) == 0 && as_of.p[t->id.n] == '.';
    tab_str rest = whole ? (tab_str){ as_of.p + t->id.n + 1, as_of.n - t->id.n - 1 } : as_of;
    for (size_t c = 0; c < t->cols; c++) {
        tab_str address = tab_column_address(e->arena, t, c);
        if (!tab_str_eq(address, as_of) && !tab_str_eq(address, rest))
            continue;
        *ret = c;
        if (c == target || p->col[c].type != TAB_DATETIME || p->col[c].number == NULL)
            return tab_fail(err, TAB_VALIDATION, "options.as_of",
                            "`%.*s` does not hold the time of its row%s", TAB_STR(as_of),
                            c == target ? ", it is the target" : "");
        return TAB_OK;
    }
    return tab_fail(err, TAB_VALIDATION, "options.as_of",
                    "`%.*s` is not a column of the target's table `%.*s`", TAB_STR(as_of), TAB_STR(t->id));
}

/* The ways from the target's table, and what they say that helps. */
static tab_status link_target(const tab_engine *e, tab_profile *const *p, size_t n,
                              const tab_references *refs, const tab_selection *s, tab_str as_of,
                              tab_linked *ret, tab_error *err)
{
    size_t moment = TAB_AS_OF_EVIDENCE;
    *ret = (tab_linked){ 0 };
    if (s->task == TAB_TASK_ANOMALY)
        return TAB_OK;
    TAB_TRY(moment_of(e, p[s->table], s->column, as_of, &moment, err));
    if (refs->n > 0)
        TAB_TRY(tab_links_new(e, p, n, refs, s->table, s->column, moment, &ret->links, err));
    if (ret->links == NULL)
        return moment == TAB_AS_OF_EVIDENCE || moment == TAB_AS_OF_NONE
                   ? TAB_OK
                   : tab_fail(err, TAB_VALIDATION, "options.as_of",
                              "no other table is linked to the target's table");
    TAB_TRY(
        tab_links_choose(e, ret->links, p[s->table], NULL, s->column, s->task, &ret->set, &ret->copies, err));
    return tab_links_tell(e, ret->links, ret->set, &ret->told, err);
}

tab_status tab_fit_linked(const tab_engine *e, tab_profile *const *p, size_t n, const tab_references *refs,
                          const tab_selection *s, const tab_run_options *o, bool served,
                          tab_linked *ret_linked, tab_fitted **ret, tab_error *err)
{
    tab_profile *of = p[s->table];
    tab_fit_options fit = { .base = o->base,
                            .task = s->task,
                            .target = s->column,
                            .labels = s->column < of->table->cols,
                            .table = (uint32_t)s->table,
                            .own = of->table->cols,
                            .split = o->split,
                            .cut = o->anomaly,
                            .served = served };
    TAB_AUTO(tab_arena) *wide = NULL; /* the made columns, which the model keeps in its own form */
    TAB_TRY(link_target(e, p, n, refs, s, o->as_of, ret_linked, err));
    if (ret_linked->set != NULL) {
        tab_engine own = *e;
        own.arena = wide = tab_arena_new(WIDE_LIMIT);
        if (wide == NULL)
            return tab_no_memory(err);
        TAB_TRY(tab_links_widen(&own, ret_linked->links, ret_linked->set, of, NULL, &of, err));
    }
    return tab_fit(e, of, &fit, ret, err);
}

/* What other tables are read for, and those of their columns that gave the target away. False: the arena is
 * full. */
static bool tell_linked(const tab_engine *e, const tab_profile *p, size_t table, const tab_linked *linked,
                        Tabella__Prediction *m)
{
    const tab_link_copies *c = &linked->copies;
    Tabella__Leak **leak = tab_arena_new_of(e->arena, Tabella__Leak *, m->n_leaks + c->n + 1);
    m->linked = linked->told.table;
    m->n_linked = linked->told.tables;
    for (size_t i = 0; leak != NULL && i < m->n_leaks; i++)
        leak[i] = m->leaks[i];
    for (size_t i = 0; leak != NULL && i < c->n; i++) {
        Tabella__Leak *l = tab_message(e->arena, Tabella__Leak, TABELLA__LEAK__INIT);
        Tabella__ColumnRef *ref = tab_message(e->arena, Tabella__ColumnRef, TABELLA__COLUMN_REF__INIT);
        if (l == NULL || ref == NULL)
            return false;
        ref->table = (uint32_t)table;
        ref->column = (uint32_t)p->table->cols; /* behind the table's own: it goes by its name */
        ref->address = (ProtobufCBinaryData){ c->name[i].n, (uint8_t *)tab_text(c->name[i].p) };
        l->column = ref;
        l->kind = tab_text(c->computed[i] ? "computed" : "copy");
        l->reason = tab_text(tab_arena_printf(
            e->arena, "`%.*s` gives the target away: %s; it was left out", TAB_STR(c->name[i]),
            c->computed[i] ? "it follows the targets of the rows that refer to it more closely than chance "
                             "allows, as if it were computed from them"
                           : "by itself it determines nearly every row's target, like something recorded "
                             "after the outcome is known"));
        leak[m->n_leaks + i] = l;
    }
    if (c->n > 0) {
        m->leaks = leak;
        m->n_leaks += c->n;
    }
    return !tab_arena_full(e->arena);
}

/* *ret: what a fitted model's rows or its target give to doubt, as a warning; NULL: nothing. False: the arena
 * is full. */
static bool doubt(tab_arena *a, const tab_fitted *f, char **ret)
{
    const struct {
        const char *code, *text;
    } of[] = { { "one_value", tab_fitted_single(f) },
               { "cut_off", tab_fitted_cut_off(f) },
               { "missing_shift", tab_fitted_shift(f) } };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].text != NULL)
            return (*ret = tab_arena_printf(a, "%s: %s", of[i].code, of[i].text)) != NULL;
    return true;
}

/* Fits the chosen target and answers every row; steps, or NULL: those that are told apart. The fitted model
 * stays with the caller where parts are wanted. keep: the engine whose arena holds what is served with.
 * *ret_doubt: what its rows or its target give to doubt, as a warning; NULL: nothing. */
static tab_status predict(const tab_engine *e, const tab_engine *keep, tab_profile *const *p, size_t n,
                          const tab_references *refs, const tab_selection *s, const tab_run_options *o,
                          const tab_horizon *steps, tab_pass_parts *parts, tab_linked *ret_linked,
                          char **ret_doubt, Tabella__Prediction **ret, tab_error *err)
{
    /* freed at the end, unless the caller takes it */
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_linked linked = { 0 };
    *ret_doubt = NULL;
    tab_status st = tab_fit_linked(keep, p, n, refs, s, o, parts != NULL, &linked, &f, err);
    if (st == TAB_OK)
        st = tab_fitted_results(e, f, o->explain, ret, err);
    if (st == TAB_OK)
        st = tab_leaks(e, f, p[s->table], *ret, err);
    if (st == TAB_OK && s->task != TAB_TASK_ANOMALY &&
        !tab_answer_quality(e, p[s->table], (uint32_t)s->table, s->column, tab_fitted_judged(e->arena, f),
                            *ret))
        st = tab_no_memory(err);
    if (st == TAB_OK && !tell_linked(e, p[s->table], s->table, &linked, *ret))
        st = tab_no_memory(err);
    if (st == TAB_OK && steps != NULL &&
        !tab_horizon_tell(e->arena, steps, (uint32_t)s->table, tab_fitted_ahead(f), *ret))
        st = tab_no_memory(err);
    if (st == TAB_OK && f != NULL && !doubt(e->arena, f, ret_doubt))
        st = tab_no_memory(err);
    *ret_linked = linked;
    if (st == TAB_OK && parts != NULL) {
        parts->linked = linked;
        parts->fitted = tab_take(&f);
    }
    return st;
}

tab_status tab_engine_run(const tab_engine *e, const tab_table *const *tables, size_t n,
                          const tab_run_options *o, Tabella__Bundle **ret, tab_error *err)
{
    return tab_engine_pass(e, tables, n, o, NULL, ret, err);
}

/* How the values of each column are spread, as they were read. Personal data stay out: a picture of them
 * would travel further than they may. False: the arena is full. */
static bool spread(tab_arena *a, const tab_profile *p, Tabella__TableUnderstanding *m)
{
    for (size_t c = 0; c < p->table->cols; c++) {
        const tab_column_profile *q = &p->col[c];
        if (q->pii)
            continue;
        Tabella__Spread *s = q->number != NULL && (q->type == TAB_NUMERIC || q->type == TAB_DATETIME)
                                 ? tab_spread_numbers(a, q->number, p->table->rows)
                             : q->code != NULL
                                 ? tab_spread_codes(a, q->code, p->table->rows, q->level, q->levels)
                                 : tab_spread_column(a, q->column, p->table->rows);
        if (s == NULL)
            return false;
        s->time = q->type == TAB_DATETIME && s->n_bins > 0;
        if (q->type == TAB_DATETIME && s->n_bins == 0)
            s->n_value = s->n_rows = 0; /* seconds tell nobody anything */
        m->column_profile[c]->spread = s;
    }
    return true;
}

/* Profiles every table: p (n). keep: the engine whose arena holds the profiles. */
static tab_status profile_all(const tab_engine *e, const tab_engine *keep, const tab_table *const *tables,
                              size_t n, const tab_given *given, tab_profile **p, Tabella__Bundle *b,
                              tab_error *err)
{
    size_t table, column;
    for (size_t i = 0; i < given->columns; i++) /* that each names a column of one of the tables */
        TAB_TRY(tab_column_given(e->arena, tables, n, given->column[i].table, given->column[i].column, i,
                                 &table, &column, err));
    for (size_t t = 0; t < n; t++) {
        tab_engine_progress(e, "profile", (double)t / (double)n);
        TAB_TRY(tab_profile_given(keep, tables[t], given, &p[t], err));
        b->records_total += tables[t]->rows;
    }
    return TAB_OK;
}

/* What one row of table t is. NULL: the arena is full. */
static Tabella__Grain *grain(tab_arena *a, const tab_profile *p, uint32_t t, const tab_grain *g)
{
    Tabella__Grain *m = tab_message(a, Tabella__Grain, TABELLA__GRAIN__INIT);
    if (m == NULL || (m->of = tab_arena_new_of(a, Tabella__ColumnRef *, g->n + 1)) == NULL)
        return NULL;
    m->kind = tab_text(tab_grain_names[g->kind]);
    m->confidence = g->confidence;
    m->reason = tab_text(g->reason);
    for (; m->n_of < g->n; m->n_of++)
        if ((m->of[m->n_of] = tab_column_ref(a, p->table, t, g->of[m->n_of])) == NULL)
            return NULL;
    return m;
}

/* What the bundle says of each table, now that it is known which ones belong together. */
static tab_status understand(const tab_engine *e, const tab_engine *keep, tab_profile *const *p, size_t n,
                             const tab_references *refs, Tabella__Bundle *b, tab_error *err)
{
    if (!tab_sectors_pool(keep->arena, p, n, refs))
        return tab_no_memory(err);
    for (size_t t = 0; t < n; t++) {
        b->tables[t] = tab_understanding(e->arena, p[t]);
        if (b->tables[t] == NULL || !spread(e->arena, p[t], b->tables[t]) || tab_arena_full(e->arena))
            return tab_no_memory(err);
        if (refs->grain != NULL &&
            (b->tables[t]->grain = grain(e->arena, p[t], (uint32_t)t, &refs->grain[t])) == NULL)
            return tab_no_memory(err);
    }
    return TAB_OK;
}

/* What the caller should doubt, as sentences that begin with a word to look for. False: the arena is full. */
static bool write_warnings(tab_arena *a, const tab_link_told *told, char *doubt, char *spelt,
                           Tabella__Bundle *b)
{
    size_t n = b->prediction == NULL ? 0 : b->prediction->n_leaks;
    b->warnings = tab_arena_new_of(a, char *, n + told->warnings + 3);
    if (b->warnings != NULL && doubt != NULL)
        b->warnings[b->n_warnings++] = doubt;
    if (b->warnings != NULL && spelt != NULL)
        b->warnings[b->n_warnings++] = spelt;
    for (size_t i = 0; b->warnings != NULL && i < n; i++)
        b->warnings[b->n_warnings++] =
            tab_text(tab_arena_printf(a, "likely_leak: %s", b->prediction->leaks[i]->reason));
    for (size_t i = 0; b->warnings != NULL && i < told->warnings; i++)
        b->warnings[b->n_warnings++] = told->warning[i];
    return !tab_arena_full(a);
}

/* ---- steps ahead ----------------------------------------------------------------------------------- */

tab_status tab_select_target(const tab_engine *e, tab_profile *const *p, size_t n, const tab_references *refs,
                             const tab_run_options *o, tab_selection *s, tab_error *err)
{
    const bool *const *refers = NULL;
    tab_run_options own = *o;
    tab_error why = { 0 };
    bool number = o->horizon > 0 && o->task == TAB_TASK_AUTO;
    if (number)
        own.task = TAB_TASK_REGRESSION;
    for (size_t t = 0; t < n; t++)
        p[t]->steps = o->horizon > 0;
    TAB_TRY(reference_columns(e, p, n, refs, &refers, err));
    tab_status st = tab_select(e, p, n, refers, &own, s, &why);
    if (st == TAB_VALIDATION && number && strcmp(why.param, "task.type") == 0)
        return tab_fail(err, st, "options.horizon",
                        "only numbers can be forecast, and the target is not a number");
    if (st != TAB_OK)
        return tab_fail(err, st, why.param, "%s", why.message);
    if (o->horizon > 0 && o->target == TAB_TARGET_NONE)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "a forecast needs a target, and the request asks for none");
    if (o->horizon > 0 && (s->none || s->task != TAB_TASK_REGRESSION))
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        s->none ? "no column of numbers to forecast was found; name one in target.column"
                                : "only numbers can be forecast, and the task is not regression");
    if (number) {
        s->how->mode = tab_text("auto");
        s->how->reason = tab_text("a forecast was requested");
    }
    return TAB_OK;
}

tab_status tab_look_ahead(const tab_engine *e, tab_profile *const *p, size_t n, const tab_selection *s,
                          const tab_run_options *o, tab_horizon *h, tab_profile *const **ret, tab_error *err)
{
    bool number;
    tab_profile **q = tab_arena_new_of(e->arena, tab_profile *, n + 1);
    if (q == NULL)
        return tab_no_memory(err);
    memcpy(q, p, n * sizeof *q);
    TAB_TRY(tab_horizon_make(e->arena, p[s->table], s->column, o->horizon, h, err));
    TAB_TRY(tab_profile_given(e, h->table, &o->given, &q[s->table], err));
    q[s->table]->steps = true;
    if (!tab_view_as_number(e->arena, &q[s->table]->col[s->column], h->table->rows, &number))
        return tab_no_memory(err);
    *ret = q;
    return TAB_OK;
}

tab_status tab_horizon_rows(const tab_engine *e, const tab_table *const *tables, size_t n,
                            const tab_run_options *o, size_t *ret_table, size_t *ret_rows, tab_error *err)
{
    tab_arena *a = e->arena;
    Tabella__Bundle *b = tab_message(a, Tabella__Bundle, TABELLA__BUNDLE__INIT);
    tab_profile **p = tab_arena_new_of(a, tab_profile *, n + 1);
    tab_references refs = { 0 };
    tab_selection s = { .none = true };
    size_t steps;
    if (b == NULL || p == NULL)
        return tab_no_memory(err);
    if (o->target == TAB_TARGET_COLUMN) {
        /* the target's table alone tells */
        size_t table, column;
        TAB_TRY(tab_column_find(a, tables, n, o->target_column, &table, &column, err));
        TAB_TRY(tab_profile_given(e, tables[table], &o->given, &p[0], err));
        tab_run_options own = *o;
        own.target_column = tab_column_address(a, tables[table], column);
        TAB_TRY(tab_select_target(e, p, 1, &refs, &own, &s, err));
        *ret_table = table;
    } else {
        TAB_TRY(profile_all(e, e, tables, n, &o->given, p, b, err));
        if (n > 1)
            TAB_TRY(tab_cross_tables(e, p, n, o->threshold, b, &refs, err));
        TAB_TRY(tab_select_target(e, p, n, &refs, o, &s, err));
        *ret_table = s.table;
    }
    return tab_horizon_count(a, p[s.table], s.column, o->horizon, &steps, ret_rows, err);
}

/* The order is fixed and no step looks ahead. Profiles and selection live in `keep`'s arena, since an
 * endpoint goes on serving with them; the bundle lives in e's. */
tab_status tab_engine_pass(const tab_engine *e, const tab_table *const *tables, size_t n,
                           const tab_run_options *o, tab_pass_parts *parts, Tabella__Bundle **ret,
                           tab_error *err)
{
    openblas_set_num_threads(
        1);               /* sums in one order, whatever the machine; more threads would wait spinning */
    tab_engine keep = *e; /* what is kept lives where the caller wants it */
    if (parts != NULL)
        keep.arena = parts->arena;
    tab_arena *a = e->arena;
    const tab_base *base = NULL;
    TAB_TRY(tab_base_find(o->base, &base, err));
    Tabella__Bundle *b = tab_message(a, Tabella__Bundle, TABELLA__BUNDLE__INIT);
    tab_profile **p = parts != NULL ? parts->profile : tab_arena_new_of(a, tab_profile *, n + 1);
    if (b == NULL || p == NULL)
        return tab_no_memory(err);
    b->base_model = tab_text(base->name);
    b->n_tables = n;
    b->tables = tab_arena_new_of(a, Tabella__TableUnderstanding *, n + 1);
    if (b->tables == NULL)
        return tab_no_memory(err);
    /* every table is profiled before anything is compared */
    TAB_TRY(profile_all(e, &keep, tables, n, &o->given, p, b, err));
    tab_references refs = { 0 };
    tab_engine_progress(e, "link", 0);
    TAB_TRY(tab_cross_tables(e, p, n, o->threshold, b, &refs, err));
    if (n > 1) /* one table has nothing to be linked with but itself */
        b->shared_attributes = (uint32_t)b->cross_table_map->n_shared;
    TAB_TRY(understand(e, &keep, p, n, &refs, b, err));

    /* the target is chosen, predicted, and its answers fill its missing cells */
    tab_selection s;
    tab_engine_progress(e, "select", 0);
    TAB_TRY(tab_select_target(&keep, p, n, &refs, o, &s, err));
    b->target_selection = s.target;
    b->task_selection = s.how;
    if (parts != NULL)
        parts->selection = s;
    tab_profile *const *asked = p;
    tab_horizon ahead;
    tab_linked linked = { 0 };
    char *doubt = NULL;
    if (o->horizon > 0)
        TAB_TRY(tab_look_ahead(&keep, p, n, &s, o, &ahead, &asked, err));
    if (!s.none)
        TAB_TRY(predict(e, &keep, asked, n, &refs, &s, o, o->horizon > 0 ? &ahead : NULL, parts, &linked,
                        &doubt, &b->prediction, err));
    if (!s.none && s.task == TAB_TASK_ANOMALY && !tab_anomaly_overview(a, b->prediction))
        return tab_no_memory(err);
    tab_impute_target target = { s.table, s.column,
                                 s.none || s.task == TAB_TASK_ANOMALY ? NULL : b->prediction };
    const char *const *const *key = NULL;
    tab_engine_progress(e, "impute", 0);
    if (n > 1)
        TAB_TRY(tab_key_columns_named(&keep, p, n, &key, err));
    if (parts != NULL)
        parts->key = key;
    TAB_TRY(tab_impute(e, p, n, key, &target, &b->imputation, err));
    bool classes = !s.none && s.task == TAB_TASK_CLASSIFICATION;
    tab_spelt spelt = { s.table, s.column, NULL };
    if (parts == NULL) /* of an endpoint nobody reads them */
        TAB_TRY(tab_suspects(e, p, n, o->threshold, classes ? &spelt : NULL, &b->suspects, err));
    if (!write_warnings(a, &linked.told, doubt, spelt.told, b))
        return tab_no_memory(err);
    tab_engine_progress(e, "done", 1);
    *ret = b;
    return TAB_OK;
}
