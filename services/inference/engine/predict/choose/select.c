/* See select.h. Every eligible column of every table (predict/choose/contenders.h) gets a score
 * (predict/choose/rank.h), and the best one is the target where nobody named one. */
#include "services/inference/engine/predict/choose/select.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/choose/rank.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/series/series.h"

/* Why a step gave up. */
static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* How well others explain it, for people. What the best of many candidates shows by chance is no share. */
static const char *explained(tab_arena *a, const tab_profile *p, const tab_contender *c)
{
    char who[96];
    if (c->lucky)
        return tab_text("the other columns do not explain it better than chance");
    if (!(c->alone[0] >= 0.005))
        return tab_arena_printf(a, "the other columns explain %.0f%% of it", 100 * c->skill);
    tab_contender_name(p, c->closest[0], who, sizeof who);
    return tab_arena_printf(a, "the other columns explain %.0f%% of it, %s alone %.0f%%", 100 * c->skill, who,
                            100 * c->alone[0]);
}

/* One candidate with its reason, for people. */
static Tabella__Candidate *write_candidate(tab_arena *a, tab_profile *const *p, const tab_contender *c,
                                           bool selected)
{
    Tabella__Candidate *m = tab_message(a, Tabella__Candidate, TABELLA__CANDIDATE__INIT);
    if (m == NULL)
        return NULL;
    m->column = tab_column_ref(a, p[c->table]->table, (uint32_t)c->table, c->column);
    m->selected = selected;
    m->eligible = c->eligible;
    m->score = c->eligible ? c->score : 0;
    m->has_explained = c->eligible;
    m->explained = c->eligible && !c->lucky ? fmin(fmax(c->skill, 0), 1) : 0;
    if (!c->eligible)
        m->reason = tab_arena_printf(a, "not eligible: %s", c->reason);
    else
        m->reason =
            tab_arena_printf(a, "%s: %s", selected ? "chosen" : "eligible", explained(a, p[c->table], c));
    return m;
}

/* For qsort: eligible ones first, by falling score, then in the tables' order. Where there are several
 * tables, a column that its table tells something of goes before all that may be told by chance, and those of
 * tables too small to tell: the weights of predict/choose/rank.h were learned within tables, and the last
 * column of one that says nothing would win. */
static int by_score(const void *a, const void *b)
{
    const tab_contender *x = a, *y = b;
    if (x->eligible != y->eligible)
        return x->eligible ? -1 : 1;
    if (x->eligible && x->several && x->told != y->told)
        return x->told ? -1 : 1;
    if (x->eligible && x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Where the next steps are asked: times [table][column], the columns that say when; NULL for a table that
 * has no steps. *ret stays NULL where none has, and where no steps are asked. */
static tab_status find_times(const tab_engine *e, tab_profile *const *p, size_t n, const tab_run_options *o,
                             bool ***ret, tab_error *err)
{
    bool **times = tab_arena_new_of(e->arena, bool *, n + 1), any = false;
    for (size_t t = 0; times != NULL && o->horizon > 0 && t < n; t++) {
        tab_series s;
        size_t cols = p[t]->table->cols, none = cols == 1 ? 0 : cols; /* a column is not its own time */
        TAB_TRY(tab_series_find(e->arena, p[t], none, NULL, &s, err));
        if (s.kind == TAB_TIME_NONE)
            continue;
        times[t] = tab_arena_new_of(e->arena, bool, cols + 1);
        for (size_t i = 0; times[t] != NULL && i < s.times; i++)
            times[t][s.time[i]] = true;
        any = true;
    }
    if (tab_arena_full(e->arena))
        return failed(e, err);
    *ret = any ? times : NULL;
    return TAB_OK;
}

/* Steps are asked and nothing is eligible: a single column of numbers that does not say when is what is
 * meant, whatever its values look like (a count that only grows, one that has stood still). */
static void take_only_numbers(tab_profile *const *p, bool **times, tab_contender *c, size_t count)
{
    tab_contender *only = NULL;
    for (size_t i = 0; i < count; i++) {
        const tab_column_profile *of = &p[c[i].table]->col[c[i].column];
        const bool *when = times == NULL ? NULL : times[c[i].table];
        if (c[i].eligible)
            return;
        if ((of->type != TAB_NUMERIC && of->column->layout != TAB_NUMBERS) || of->use == TAB_USE_KEY ||
            of->use == TAB_USE_IGNORE || of->present < 2 || (times != NULL && when == NULL) ||
            (when != NULL && when[c[i].column]))
            continue;
        if (only != NULL)
            return;
        only = &c[i];
    }
    if (only != NULL)
        only->eligible = only->chance = only->lucky = true;
}

/* Scans all columns of all tables and takes the best eligible one. */
static tab_status choose(const tab_engine *e, tab_profile *const *p, size_t n, const bool *const *refers,
                         const tab_run_options *o, tab_selection *s, tab_error *err)
{
    tab_arena *a = e->arena;
    size_t cols = 0, count = 0;
    bool **times = NULL;
    for (size_t t = 0; t < n; t++)
        cols += p[t]->table->cols;
    tab_contender *c = tab_arena_new_of(a, tab_contender, cols + 1);
    if (c == NULL)
        return failed(e, err);
    TAB_TRY(find_times(e, p, n, o, &times, err));
    for (size_t t = 0; t < n; t++) {
        size_t open = 0;
        TAB_TRY(tab_contenders(e, p[t], t, refers == NULL ? NULL : refers[t], times == NULL ? NULL : times[t],
                               o->task, c + count, &open, err));
        for (size_t k = count; k < count + open; k++) {
            c[k].score = tab_target_score(p[t], &c[k]), c[k].several = n > 1;
            if (times != NULL && times[t] == NULL) {
                c[k].eligible = false;
                snprintf(c[k].reason, sizeof c[k].reason, "no column of its table says when its rows were");
            }
        }
        count += p[t]->table->cols;
    }
    if (o->horizon > 0)
        take_only_numbers(p, times, c, count);
    /* all tables' columns compete */
    qsort(c, count, sizeof *c, by_score);
    /* what the others do not tell beyond chance may be forecast from its own past */
    bool open = count > 0 && c[0].eligible, chance = open && refers == NULL && o->horizon == 0;
    for (size_t i = 0; chance && i < count && c[i].eligible; i++)
        chance = c[i].chance;
    bool any = open && !chance;
    /* sorted: the first one, if it is eligible at all */
    s->none = !any;
    if (any) {
        assert(c[0].eligible && c[0].table < n && c[0].column < p[c[0].table]->table->cols);
        s->table = c[0].table;
        s->column = c[0].column;
    }
    s->target->n_candidates = count;
    s->target->candidates = tab_arena_new_of(a, Tabella__Candidate *, count + 1);
    for (size_t i = 0; s->target->candidates != NULL && i < count; i++)
        s->target->candidates[i] = write_candidate(a, p, &c[i], any && i == 0);
    if (!any) {
        s->target->mode = tab_text("none");
        s->target->reason = tab_text(
            !chance ? "no column is eligible as a target; name one in target.column"
            : cols < 2
                ? "nothing here is predictable because there is no other column; name a target in "
                  "target.column to predict one anyway"
                : "nothing here is predictable: no column is explained by the others better than chance; "
                  "name a target in target.column to predict one anyway");
    } else {
        s->target->mode = tab_text("auto");
        const char *how = explained(a, p[s->table], &c[0]);
        s->target->reason = tab_arena_printf(a, "the column an analyst would most likely predict: %s",
                                             how == NULL ? "" : how);
    }
    return tab_arena_full(a) ? failed(e, err) : TAB_OK;
}

/* Two passes: the first names the two values, the second makes the rarer one 1. */
bool tab_anomaly_labels(const tab_profile *p, size_t column, uint32_t *ret)
{
    const tab_column_profile *c = &p->col[column];
    double value[2] = { 0, 0 };
    size_t count[2] = { 0, 0 }, found = 0;
    for (size_t i = 0; i < p->table->rows; i++) {
        bool missing = c->code != NULL ? c->code[i] == TAB_NULL : c->number == NULL || isnan(c->number[i]);
        double v = missing ? 0 : c->code != NULL ? (double)c->code[i] : c->number[i];
        size_t k = 0;
        ret[i] = TAB_NULL;
        if (missing)
            continue;
        while (k < found && value[k] != v) // NOLINT: the very value
            k++;
        if (k == 2)
            return false;
        if (k == found)
            value[found++] = v;
        ret[i] = (uint32_t)k;
        count[k]++;
    }
    if (found < 2)
        return false;
    uint32_t rare = count[1] <= count[0];
    for (size_t i = 0; i < p->table->rows; i++)
        if (ret[i] != TAB_NULL)
            ret[i] = ret[i] == rare;
    return true;
}

/* The target that the caller named, or the column of an anomaly task's labels. */
static tab_status take_named(const tab_engine *e, tab_profile *const *p, size_t n, const tab_run_options *o,
                             tab_selection *s, tab_error *err)
{
    tab_arena *a = e->arena;
    /* by name among all tables */
    const tab_table **table = tab_arena_new_of(a, const tab_table *, n);
    for (size_t i = 0; table != NULL && i < n; i++)
        table[i] = p[i]->table;
    tab_status st = table == NULL
                        ? failed(e, err)
                        : tab_column_find(a, table, n, o->target_column, &s->table, &s->column, err);
    if (st != TAB_OK)
        return st;
    s->target->mode = tab_text("user");
    s->target->reason = tab_text("named in the request");
    if (o->task == TAB_TASK_ANOMALY) {
        uint32_t *label = tab_arena_new_of(a, uint32_t, p[s->table]->table->rows + 1);
        if (label == NULL)
            return failed(e, err);
        if (!tab_anomaly_labels(p[s->table], s->column, label))
            return tab_fail(
                err, TAB_VALIDATION, "target.column",
                "anomaly labels must be a column with two values; name one, or omit `target` to score "
                "without labels");
        s->target->reason = tab_text(
            "named in the request: its rarer value is taken as the anomaly label, which evaluates the "
            "scores but is not used to compute them");
    }
    s->target->candidates_null = true;
    return TAB_OK;
}

/* No target: none is asked for, or anomalies are scored in the largest table. */
static void take_none(tab_profile *const *p, size_t n, const tab_run_options *o, tab_selection *s)
{
    s->none = o->task != TAB_TASK_ANOMALY;
    s->target->mode = tab_text("none");
    s->target->reason = tab_text(s->none ? "asked for" : "anomaly scoring is unsupervised");
    s->target->candidates_null = true;
    /* anomalies: the table with most cells */
    for (size_t t = 1; t < n; t++)
        if (p[t]->table->rows * p[t]->table->cols > p[s->table]->table->rows * p[s->table]->table->cols)
            s->table = t;
    s->column = p[s->table]->table->cols;
}

/* The task: named, or by the target's type. */
static tab_status settle_task(tab_arena *a, tab_profile *const *p, tab_selection *s, tab_error *err)
{
    static const char *const names[] = { "", "classification", "regression", "anomaly" };
    if (s->none) {
        s->how->mode = tab_text("none");
        s->how->type = tab_text("none");
        s->how->reason = tab_text("there is no target");
        return TAB_OK;
    }
    s->how->reason = tab_text("named in the request");
    tab_column_profile *c = s->task == TAB_TASK_ANOMALY ? NULL : &p[s->table]->col[s->column];
    if (s->task == TAB_TASK_AUTO) {
        bool number = tab_numeric_target(c);
        s->task = number ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION;
        s->how->reason = tab_text(number                   ? "the target is numeric"
                                  : c->type == TAB_NUMERIC ? "the target is numeric with few whole values"
                                                           : "the target is categorical");
    }
    s->how->type = tab_text(names[s->task]);
    /* from here on the target is what it is predicted as */
    bool number = true;
    if (s->task == TAB_TASK_REGRESSION && c->type != TAB_DATETIME &&
        !tab_view_as_number(a, c, p[s->table]->table->rows, &number))
        return tab_no_memory(err);
    return number ? TAB_OK : tab_fail(err, TAB_VALIDATION, "task.type", "regression needs a numeric target");
}

/* What is asked for, or the best candidate; then the task, by the target's type where none is named. */
tab_status tab_select(const tab_engine *e, tab_profile *const *p, size_t n, const bool *const *refers,
                      const tab_run_options *o, tab_selection *ret, tab_error *err)
{
    tab_arena *a = e->arena;
    tab_selection s = { .task = o->task };
    s.target = tab_message(a, Tabella__TargetSelection, TABELLA__TARGET_SELECTION__INIT);
    s.how = tab_message(a, Tabella__TaskSelection, TABELLA__TASK_SELECTION__INIT);
    if (s.target == NULL || s.how == NULL)
        return failed(e, err);
    s.how->mode = tab_text(o->task == TAB_TASK_AUTO ? "auto" : "user");
    if (o->target == TAB_TARGET_COLUMN)
        TAB_TRY(take_named(e, p, n, o, &s, err));
    else if (o->task == TAB_TASK_ANOMALY || o->target == TAB_TARGET_NONE)
        take_none(p, n, o, &s);
    else
        TAB_TRY(choose(e, p, n, refers, o, &s, err));
    TAB_TRY(settle_task(a, p, &s, err));
    if (!s.none && s.column < p[s.table]->table->cols) {
        s.target->column = tab_column_ref(a, p[s.table]->table, (uint32_t)s.table, s.column);
        if (s.target->column == NULL)
            return failed(e, err);
    }
    *ret = s;
    return TAB_OK;
}
