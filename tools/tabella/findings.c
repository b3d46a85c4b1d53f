#include "tools/tabella/findings.h"

#include <math.h>
#include <stdlib.h>

#include "common/bundle/bundle_json.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/profile/profile.h"
#include "services/inference/engine/series/series.h"

/* SCORED: rows whose answers are graded. RESAMPLES: of the bootstrap. ANOMALY_CELLS: of a table that is
 * searched for unusual rows. */
enum { SCORED = 20000, RESAMPLES = 200, ANOMALY_CELLS = 2000000, FEW_ROWS = 100 };
/* The share of rows without a target that is warned of. By hand. */
static const double MUCH_MISSING = 0.3;

/* Answers and truths. y: the truth's number or class; p: the predicted number, the second class's
 * probability, or the predicted class. Two classes stand in rising order of p. */
typedef struct {
    double y, p;
} answer;
typedef enum { AUC, ACCURACY, R2 } metric;

static int by_p(const void *a, const void *b)
{
    const answer *x = a, *y = b;
    return (x->p > y->p) - (x->p < y->p);
}

/* Area under the ROC curve where row i counts w[i] times: pairs in order, ties half. */
static double auc(const answer *a, const unsigned *w, size_t n)
{
    double positive = 0, negative = 0, pairs = 0;
    for (size_t i = 0, j; i < n; i = j) {
        double up = 0, down = 0;
        for (j = i; j < n && !(a[j].p > a[i].p); j++)
            *(a[j].y > 0 ? &up : &down) += w[j];
        pairs += up * (negative + down / 2);
        positive += up, negative += down;
    }
    return positive > 0 && negative > 0 ? pairs / positive / negative : (double)NAN;
}

static double measure(metric m, const answer *a, const unsigned *w, size_t n)
{
    double all = 0, mean = 0, hit = 0, rest = 0, spread = 0;
    if (m == AUC)
        return auc(a, w, n);
    for (size_t i = 0; i < n; i++)
        all += w[i], mean += w[i] * a[i].y, hit += fabs(a[i].y - a[i].p) < 0.5 ? w[i] : 0;
    if (m == ACCURACY)
        return all > 0 ? hit / all : (double)NAN;
    mean /= all > 0 ? all : 1;
    for (size_t i = 0; i < n; i++) {
        rest += w[i] * (a[i].y - a[i].p) * (a[i].y - a[i].p);
        spread += w[i] * (a[i].y - mean) * (a[i].y - mean);
    }
    return spread > 0 ? 1 - rest / spread : (double)NAN;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Score and percentile interval (Efron 1979): rows are drawn again, as many as there are. */
static bool grade(tab_arena *arena, metric m, const answer *a, size_t n, findings *ret)
{
    double of[RESAMPLES];
    size_t got = 0;
    unsigned *w = tab_arena_new_of(arena, unsigned, n + 1);
    if (w == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        w[i] = 1;
    ret->score = measure(m, a, w, n);
    for (size_t k = 0; k < RESAMPLES; k++) {
        for (size_t i = 0; i < n; i++)
            w[i] = 0;
        for (size_t i = 0; i < n; i++)
            w[(size_t)(tab_unit(tab_mix2(k + 1, i)) * (double)n)]++;
        double x = measure(m, a, w, n);
        if (!isnan(x))
            of[got++] = x;
    }
    if (isnan(ret->score) || got < RESAMPLES / 2)
        return true;
    qsort(of, got, sizeof *of, by_value);
    static const char *const name[] = { "AUC", "accuracy", "R2" };
    static const char *const guess[] = { "chance", "the commonest class", "the mean" };
    ret->metric = name[m], ret->guess = guess[m], ret->rows = n;
    ret->low = of[got / 40], ret->high = of[got - 1 - got / 40];
    return true;
}

static bool same_cell(tab_cell a, tab_cell b)
{
    if (a.kind != b.kind)
        return false;
    return a.kind == TAB_CELL_NUMBER && a.text.n == 0 && b.text.n == 0 ? !(a.num < b.num || a.num > b.num)
                                                                       : tab_str_eq(a.text, b.text);
}

/* The answers of a classification: classes by number. False: out of memory. */
static bool read_classes(tab_arena *arena, const tab_column *c, const Tabella__Prediction *p, answer *a,
                         size_t *ret_n, size_t *ret_classes, double *ret_plain)
{
    const Tabella__Results *r = p->results;
    size_t k = r->n_row > 0 ? r->n_probabilities / r->n_row : 0, n = 0;
    tab_column classes;
    double *count = tab_arena_new_of(arena, double, k + 1);
    *ret_n = 0, *ret_classes = k, *ret_plain = 0;
    if (k < 2 || count == NULL || p->classes == NULL || !tab_column_view(p->classes, k, &classes))
        return count != NULL;
    for (size_t i = 0; i < r->n_row && i < SCORED; i++) {
        tab_cell cell = tab_cell_at(c, r->row[i]);
        size_t truth = 0;
        while (truth < k && !same_cell(cell, tab_cell_at(&classes, truth)))
            truth++;
        if (truth == k)
            continue;
        count[truth]++;
        a[n++] = (answer){ (double)truth, k == 2 ? r->probabilities[2 * i + 1] : (double)r->label[i] };
    }
    for (size_t i = 0; i < k; i++)
        *ret_plain = fmax(*ret_plain, n > 0 ? count[i] / (double)n : 0);
    if (k == 2)
        qsort(a, n, sizeof *a, by_p);
    *ret_n = n;
    return true;
}

static bool score(const tab_engine *e, const tab_table *t, size_t column, const Tabella__Prediction *p,
                  findings *ret)
{
    const Tabella__Results *r = p->results;
    size_t n = 0, classes = 0;
    answer *a = tab_arena_new_of(e->arena, answer, SCORED);
    if (a == NULL)
        return false;
    if (r->n_label > 0) {
        if (!read_classes(e->arena, &t->col[column], p, a, &n, &classes, &ret->plain))
            return false;
        if (classes == 2)
            ret->plain = 0.5;
        return n < 2 || grade(e->arena, classes == 2 ? AUC : ACCURACY, a, n, ret);
    }
    tab_profile *values = NULL;
    tab_error err;
    bool number = false;
    if (tab_profile_table(e, t, &values, &err) != TAB_OK ||
        !tab_view_as_number(e->arena, &values->col[column], t->rows, &number))
        return false;
    for (size_t i = 0; number && i < r->n_value && n < SCORED; i++)
        if (!isnan(values->col[column].number[r->row[i]]))
            a[n++] = (answer){ values->col[column].number[r->row[i]], r->value[i] };
    return n < 2 || grade(e->arena, R2, a, n, ret);
}

/* Mean absolute contribution of each column, as shares of all; the largest first. */
static bool sum_reasons(tab_arena *a, const tab_table *t, const Tabella__Results *r, findings *ret)
{
    double *of = tab_arena_new_of(a, double, t->cols + 1), all = 0;
    if (of == NULL)
        return false;
    for (size_t i = 0; i < r->n_reasons; i++)
        for (size_t k = 0; k < r->reasons[i]->n_reasons; k++) {
            const Tabella__Reason *x = r->reasons[i]->reasons[k];
            if (x->column->column < t->cols)
                of[x->column->column] += fabs(x->contribution), all += fabs(x->contribution);
        }
    while (all > 0 && ret->reasons < FINDINGS_SHOWN) {
        size_t best = 0;
        for (size_t c = 1; c < t->cols; c++)
            best = of[c] > of[best] ? c : best;
        if (!(of[best] > 0))
            break;
        ret->reason[ret->reasons].column = t->col[best].name;
        ret->reason[ret->reasons++].share = of[best] / all;
        of[best] = 0;
    }
    return true;
}

static void count_fills(const Tabella__Imputation *m, findings *ret)
{
    ret->filled = m->n_row;
    for (size_t i = 0; i < m->n_row; i++) {
        size_t k = 0;
        while (k < ret->fills && (ret->fill[k].table != m->table[i] || ret->fill[k].column != m->column[i]))
            k++;
        if (k == FINDINGS_FILLS)
            continue;
        if (k == ret->fills) {
            ret->fill[k].table = m->table[i], ret->fill[k].column = m->column[i], ret->fill[k].cells = 0;
            ret->fill[k].method = m->method[m->method_of[i]];
            ret->fills++;
        }
        ret->fill[k].cells++;
    }
}

static bool find_unusual(const tab_engine *e, const tab_table *t, findings *ret)
{
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_error err;
    tab_fit_options o = { .task = TAB_TASK_ANOMALY, .target = t->cols };
    if (t->rows < 20 || t->rows * t->cols > ANOMALY_CELLS)
        return true;
    if (tab_profile_table(e, t, &p, &err) != TAB_OK || tab_fit(e, p, &o, &f, &err) != TAB_OK ||
        tab_fitted_results(e, f, false, &m, &err) != TAB_OK)
        return err.status == TAB_VALIDATION;
    const Tabella__Results *r = m->results;
    for (size_t i = 0; i < r->n_anomaly_score; i++) {
        double s = r->anomaly_score[i];
        if (s < m->threshold)
            continue;
        ret->unusual++;
        size_t at = ret->anomalies < FINDINGS_SHOWN ? ret->anomalies++ : FINDINGS_SHOWN;
        for (; at > 0 && s > ret->anomaly[at - 1].score; at--)
            if (at < FINDINGS_SHOWN)
                ret->anomaly[at] = ret->anomaly[at - 1];
        if (at < FINDINGS_SHOWN)
            ret->anomaly[at].row = r->row[i], ret->anomaly[at].score = s;
    }
    return true;
}

static void warn(findings *f, const char *text)
{
    if (text != NULL && f->warnings < FINDINGS_WARNINGS)
        f->warning[f->warnings++] = text;
}

static void doubts(tab_arena *a, const Tabella__Bundle *b, findings *f)
{
    static const char leak[] = "likely_leak: "; /* told below, as the prediction has them */
    const Tabella__Prediction *p = b->prediction;
    if (f->metric != NULL && !(f->low > f->plain))
        warn(f, "not significantly better than the baseline: the interval includes it");
    for (size_t i = 0; i < p->n_leaks; i++)
        warn(f, tab_arena_printf(a, "a likely leak: %s", p->leaks[i]->reason));
    for (size_t i = 0; i < b->n_warnings; i++)
        if (strncmp(b->warnings[i], leak, sizeof leak - 1) != 0)
            warn(f, b->warnings[i]);
    if (f->metric != NULL && f->rows < FEW_ROWS)
        warn(f, tab_arena_printf(a, "only %zu rows: another sample may give a different result", f->rows));
    double all = (double)(p->missing_target + (p->results != NULL ? p->results->n_row : 0));
    if (all > 0 && (double)p->missing_target > MUCH_MISSING * all)
        warn(f,
             tab_arena_printf(a, "%.0f%% of the rows have no target", 100 * (double)p->missing_target / all));
}

/* ---- the past of what is forecast ------------------------------------------------------------- */

/* A chart has so many values for each step, so many in any case, and so many at most. */
enum { A_STEP = 4, LEAST = 24, MOST = 200 };

typedef struct {
    uint32_t series;
    int64_t index;
    double y;
} known;

static int by_time(const void *a, const void *b)
{
    const known *x = a, *y = b;
    return x->series != y->series ? (x->series > y->series) - (x->series < y->series)
                                  : (x->index > y->index) - (x->index < y->index);
}

/* Series with a known value stand in the forecast in their order, each with as many steps. */
static bool cut_past(tab_arena *a, const known *v, size_t n, size_t steps, findings *ret)
{
    size_t groups = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        groups += i == 0 || v[i].series != v[i - 1].series;
    if (groups == 0 || steps % groups != 0)
        return true;
    size_t most = A_STEP * (steps / groups);
    most = most < LEAST ? LEAST : most > MOST ? MOST : most;
    ret->past = tab_arena_new_of(a, findings_past, groups);
    for (size_t i = 0, end; ret->past != NULL && i < n; i = end) {
        for (end = i; end < n && v[end].series == v[i].series;)
            end++;
        size_t own = end - i < most ? end - i : most;
        double *y = tab_arena_new_of(a, double, own);
        for (size_t k = 0; y != NULL && k < own; k++)
            y[k] = v[end - own + k].y;
        ret->past[at++] = (findings_past){ own, y };
    }
    ret->pasts = groups;
    return !tab_arena_full(a);
}

static bool past_of(const tab_engine *e, const tab_table *t, const Tabella__Prediction *p, findings *ret)
{
    tab_arena *a = e->arena;
    tab_profile *profile = NULL;
    tab_series s;
    tab_error err;
    if (p->forecast == NULL || p->target == NULL || p->target->column >= t->cols)
        return true;
    if (tab_profile_table(e, t, &profile, &err) != TAB_OK)
        return false;
    tab_column_profile *c = &profile->col[p->target->column];
    bool number = true, *open = tab_arena_new_of(a, bool, t->rows + 1);
    known *v = tab_arena_new_of(a, known, t->rows + 1);
    if (open == NULL || v == NULL || !tab_view_as_number(a, c, t->rows, &number))
        return false;
    if (!number)
        return true;
    for (size_t r = 0; r < t->rows; r++)
        open[r] = isnan(c->number[r]);
    if (tab_series_find(a, profile, p->target->column, open, &s, &err) != TAB_OK)
        return false;
    size_t n = 0;
    for (size_t r = 0; s.kind != TAB_TIME_NONE && r < t->rows; r++)
        if (!open[r] && s.series[r] != TAB_NULL && s.index[r] != INT64_MIN)
            v[n++] = (known){ s.series[r], s.index[r], c->number[r] };
    qsort(v, n, sizeof *v, by_time);
    return cut_past(a, v, n, p->forecast->n_value, ret);
}

bool findings_of(const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b, findings *ret)
{
    *ret = (findings){ 0 };
    const Tabella__Prediction *p = b->prediction;
    uint32_t at = p != NULL ? p->table : 0;
    for (uint32_t t = 0; p == NULL && t < b->n_tables; t++)
        at = tables[t]->rows * tables[t]->cols > tables[at]->rows * tables[at]->cols ? t : at;
    const tab_table *t = tables[at];
    ret->anomaly_table = at;
    if (p != NULL && p->results != NULL && p->target != NULL && p->target->column < t->cols &&
        !(score(e, t, p->target->column, p, ret) && sum_reasons(e->arena, t, p->results, ret)))
        return false;
    if (b->imputation != NULL)
        count_fills(b->imputation, ret);
    if (!find_unusual(e, t, ret))
        return false;
    if (p != NULL && !past_of(e, t, p, ret))
        return false;
    if (p != NULL)
        doubts(e->arena, b, ret);
    return !tab_arena_full(e->arena);
}
