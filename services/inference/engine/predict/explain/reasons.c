/* Which columns moved a prediction: Shapley values of the boosted trees (TreeSHAP with path-dependent
 * expectations: Lundberg, Erion & Lee, 2018, algorithm 2).
 *
 * A tree's expected output when only the features in S are known follows both children of a split on an
 * unknown feature, weighted by cover. The Shapley value of feature i averages what adding i changes over all
 * orders of the features. Algorithm 2 keeps, along a path, the weight of every size of S among the features
 * met so far: EXTEND adds a feature, UNWIND takes one out; a leaf then adds to each feature on its path.
 * The contributions of a row sum to its margin less the mean margin (a test holds this).
 *
 * Contributions are in the margin's units: log-odds of the reported label, or the target's units. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/boost/boost.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/explain/reasons.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* PATH: more features than a path of the deepest recipe (9) meets. TOP: reasons of a result. */
enum { PATH = 16, TOP = 5, MADE = TAB_MADE_MOST * TAB_FOLDS };

/* A feature met on the way from the root. */
typedef struct {
    int32_t feature;
    double zero, one, weight; /* share of paths that flow here without / with the feature */
} step;

/* Adds a feature to the path p, which has `depth` of them. */
static void extend(step *p, int depth, double zero, double one, int32_t feature)
{
    assert(depth >= 0 && depth < PATH); /* a tree is never deeper than its recipe */
    p[depth] = (step){ feature, zero, one, depth == 0 ? 1 : 0 };
    /* each set of the features so far goes on without the new one, and with it */
    for (int i = depth - 1; i >= 0; i--) {
        p[i + 1].weight += one * p[i].weight * (i + 1) / (depth + 1);
        p[i].weight = zero * p[i].weight * (depth - i) / (depth + 1);
    }
}

/* Takes the feature at place `at` out again. */
static void unwind(step *p, int depth, int at)
{
    assert(at > 0 && at <= depth); /* the root has no feature */
    double one = p[at].one, zero = p[at].zero, next = p[depth].weight;
    for (int i = depth - 1; i >= 0; i--) {
        if (one != 0) {
            double was = p[i].weight;
            p[i].weight = next * (depth + 1) / ((i + 1) * one);
            next = was - p[i].weight * zero * (depth - i) / (depth + 1);
        } else {
            p[i].weight = p[i].weight * (depth + 1) / (zero * (depth - i));
        }
    }
    /* the features behind it move up; the weights have been undone in place */
    for (int i = at; i < depth; i++) {
        p[i].feature = p[i + 1].feature;
        p[i].zero = p[i + 1].zero;
        p[i].one = p[i + 1].one;
    }
}

/* The sum of the weights that unwinding would leave. */
static double unwound_sum(const step *p, int depth, int at)
{
    double one = p[at].one, zero = p[at].zero, next = p[depth].weight, total = 0;
    for (int i = depth - 1; i >= 0; i--) {
        if (one != 0) {
            double w = next * (depth + 1) / ((i + 1) * one);
            total += w;
            next = p[i].weight - w * zero * (depth - i) / (depth + 1);
        } else if (zero != 0) {
            total += p[i].weight * (depth + 1) / (zero * (depth - i));
        }
    }
    return total;
}

/* One tree's walk for one row; phi (features) collects the contributions, times scale. */
typedef struct {
    const tab_boost *m;
    const tab_data *d;
    uint32_t row;
    double scale;
    double *phi;
} walk;

/* One node of the recursion; feature: the one that led here, with its shares. */
static void descend(const walk *w, uint32_t at, const step *from, int depth, double zero, double one,
                    int32_t feature)
{
    /* the path is copied: both children go on from it */
    step p[PATH];
    memcpy(p, from, (size_t)depth * sizeof *p);
    extend(p, depth, zero, one, feature);
    const tab_tree_node *n = &w->m->node[at];
    /* a leaf adds to each feature on its path what knowing it changes */
    if (n->feature < 0) {
        for (int i = 1; i <= depth; i++)
            w->phi[p[i].feature] +=
                w->scale * unwound_sum(p, depth, i) * (p[i].one - p[i].zero) * tab_leaf_mean(w->m, at);
        return;
    }
    /* hot: the child that the row goes to; cold: the other one */
    bool left = tab_goes_left(n, (const uint64_t(*)[4])w->m->set, w->d->bin[n->feature][w->row]);
    uint32_t hot = n->left + !left, cold = n->left + left;
    /* a feature that was met before is taken out, and its shares go on with it */
    double incoming_zero = 1, incoming_one = 1, cover = (double)w->m->cover[at];
    for (int i = 1; i <= depth; i++)
        if (p[i].feature == n->feature) {
            incoming_zero = p[i].zero;
            incoming_one = p[i].one;
            unwind(p, depth, i);
            depth--;
            break;
        }
    /* shares of the rows by cover; the cold child is reached only without the feature */
    double hot_share = cover > 0 ? (double)w->m->cover[hot] / cover : 0.5;
    descend(w, hot, p, depth + 1, incoming_zero * hot_share, incoming_one, n->feature);
    descend(w, cold, p, depth + 1, incoming_zero * (1 - hot_share), 0, n->feature);
}

/* A slope's part is its number's: what it adds beyond the mean of the rows in the row's own leaf. */
static void add_slopes(const walk *w, uint32_t at)
{
    const tab_boost *m = w->m;
    while (m->node[at].feature >= 0)
        at = m->node[at].left + !tab_goes_left(&m->node[at], (const uint64_t(*)[4])m->set,
                                               w->d->bin[m->node[at].feature][w->row]);
    const tab_leaf_slopes *s = &m->slopes[at];
    for (size_t j = 0; j < TAB_SLOPES; j++) {
        const tab_slope_number *f = &m->number[s->number[j]];
        float z = tab_slope_within(s, j, tab_slope_reading(f, w->d->x[f->feature][w->row]));
        w->phi[f->feature] += w->scale * (double)(s->slope[j] * (z - s->mid[j]));
    }
}

void tab_boost_shap(const tab_boost *m, size_t margin, const tab_data *d, uint32_t row, double scale,
                    double *phi)
{
    walk w = { .m = m, .d = d, .row = row, .scale = scale, .phi = phi };
    step none[1] = { { -1, 1, 1, 1 } };
    for (size_t r = 0; r < m->rounds; r++) {
        descend(&w, m->root[r * m->margins + margin], none, 0, 1, 1, -1);
        if (m->slopes != NULL)
            add_slopes(&w, m->root[r * m->margins + margin]);
    }
}

/* ---- into messages --------------------------------------------------------------------------- */

typedef struct {
    const tab_engine *e;
    const tab_fitted *f;
    const tab_data *d;
    Tabella__Results *r;
    const uint32_t *place;      /* NULL: new rows, at their own number */
    tab_made_recipe made[MADE]; /* what the folds' models read of made columns, each once */
    size_t cols;                /* of the table, then the made ones */
    double *by_column;          /* (results, cols) */
    atomic_bool failed;
} job;

/* The column that feature c of fold k's models stands for; what is made comes behind the table's columns. */
static size_t column_of(const job *j, size_t k, const tab_encoder *enc, size_t c)
{
    const tab_levels *v = j->f->stack->levels[k];
    if (v == NULL || c < v->plain + v->n)
        return enc->f[c].source;
    size_t at = 0;
    while (!tab_made_alike(&j->made[at], &v->made[c - v->plain - v->n].recipe)) {
        at++;
        assert(at < j->cols - j->f->cols); /* list_made has listed it */
    }
    return j->f->cols + at;
}

/* The made columns of all folds. */
static void list_made(job *j)
{
    const tab_stack *s = j->f->stack;
    j->cols = j->f->cols;
    for (size_t k = 0; s != NULL && k < s->folds; k++)
        for (size_t i = 0; s->levels[k] != NULL && i < s->levels[k]->mades; i++) {
            const tab_made_recipe *r = &s->levels[k]->made[i].recipe;
            size_t at = 0, n = j->cols - j->f->cols;
            while (at < n && !tab_made_alike(&j->made[at], r))
                at++;
            assert(at < MADE);
            if (at == n)
                j->made[n] = *r, j->cols++;
        }
}

/* Contributions of one result, by column: of the fold's trees that did not see the row, or the mean over
 * all folds for new rows. */
static void explain_one(void *ctx, size_t i)
{
    job *j = ctx;
    const tab_fitted *f = j->f;
    const tab_member *m = f->stack == NULL ? NULL : tab_stack_reasons(f->stack);
    uint32_t at = j->place != NULL ? j->place[j->r->row[i]] : (uint32_t)i;
    /* the folds' models may read more features than the encoder has (learn/levels.h) */
    size_t most = f->enc->n;
    for (size_t k = 0; f->stack != NULL && k < f->stack->folds; k++)
        if (f->stack->levels[k] != NULL && f->stack->levels[k]->enc.n > most)
            most = f->stack->levels[k]->enc.n;
    double *phi = calloc(most + 1, sizeof *phi), *out = j->by_column + i * j->cols;
    if (phi == NULL || tab_engine_cancelled(j->e)) {
        atomic_store(&j->failed, true);
        free(phi);
        return;
    }
    /* of an anomaly's score the ellipse's parts, which add up; of a target the trees' */
    if (f->anomaly != NULL) {
        if (!tab_anomaly_parts_of(f->anomaly, f->enc, j->d, at, phi))
            atomic_store(&j->failed, true);
    } else if (m != NULL) {
        /* a fitted row asks the fold that did not see it; a new one all of them */
        uint8_t own = j->place != NULL ? f->stack->fold[at] : 255;
        size_t folds = own < f->stack->folds ? 1 : f->stack->folds;
        for (size_t k = 0; k < folds; k++) {
            const tab_boost *b = m->model[folds == 1 ? own : k];
            /* of the reported label; with one margin the first class is its negative */
            uint32_t label = f->task == TAB_TASK_CLASSIFICATION ? j->r->label[i] : 0;
            double sign = b->classification && b->margins == 1 && label == 0 ? -1 : 1;
            double unit = f->task == TAB_TASK_REGRESSION ? f->scale : 1;
            tab_fold_view view;
            if (!tab_stack_view(f->stack, folds == 1 ? own : k, f->enc, j->d, &at, 1, &view)) {
                atomic_store(&j->failed, true);
                continue;
            }
            memset(phi, 0, most * sizeof *phi);
            tab_boost_shap(b, b->margins > 1 ? label : 0, view.data, at, sign * unit / (double)folds, phi);
            for (size_t c = 0; c < view.enc->n; c++)
                out[column_of(j, folds == 1 ? own : k, view.enc, c)] += phi[c];
            tab_stack_view_free(&view);
        }
    }
    for (size_t k = 0; f->anomaly != NULL && k < f->enc->n; k++)
        out[f->enc->f[k].source] += phi[k];
    free(phi);
}

/* A column of the fitted table, whose own table is gone, or a made one, in words. */
static Tabella__ColumnRef *column_ref(tab_arena *a, const job *j, size_t col)
{
    const tab_fitted *f = j->f;
    Tabella__ColumnRef *r = tab_message(a, Tabella__ColumnRef, TABELLA__COLUMN_REF__INIT);
    if (r == NULL)
        return NULL;
    tab_str text;
    if (col < f->cols) {
        text = tab_arena_copy(a, f->column[col].address);
    } else {
        const tab_made_recipe *m = &j->made[col - f->cols];
        size_t one = f->enc->f[m->a].source, other = f->enc->f[m->b].source;
        text = tab_str_of(tab_made_words(a, m->kind, f->column[one].address, f->column[other].name));
    }
    r->table = f->table;
    r->column = (uint32_t)col;
    r->address = (ProtobufCBinaryData){ .len = text.n, .data = (uint8_t *)tab_text(text.p) };
    return r;
}

/* The reasons of all results: the TOP columns by size of their contribution. False: out of memory or
 * cancelled. */
static bool explain(const tab_engine *e, const tab_fitted *f, const tab_data *d, const uint32_t *place,
                    Tabella__Results *r)
{
    tab_arena *a = e->arena;
    size_t n = r->n_row;
    job j = { .e = e, .f = f, .d = d, .r = r, .place = place };
    list_made(&j);
    size_t cols = j.cols;
    j.by_column = calloc(n * cols + 1, sizeof *j.by_column);
    r->n_reasons = n;
    r->reasons = tab_arena_new_of(a, Tabella__ResultReasons *, n + 1);
    if (j.by_column == NULL || r->reasons == NULL) {
        free(j.by_column);
        return false;
    }
    atomic_init(&j.failed, false);
    tab_engine_for(e, n, explain_one, &j);
    bool ok = !atomic_load(&j.failed);
    for (size_t i = 0; ok && i < n; i++) {
        Tabella__ResultReasons *m = tab_message(a, Tabella__ResultReasons, TABELLA__RESULT_REASONS__INIT);
        if (m == NULL)
            ok = false;
        r->reasons[i] = m;
        if (m == NULL)
            break;
        m->reasons = tab_arena_new_of(a, Tabella__Reason *, TOP);
        /* the greatest remaining contribution, TOP times */
        double *by = j.by_column + i * cols;
        for (size_t k = 0; m->reasons != NULL && k < TOP; k++) {
            size_t best = cols;
            for (size_t c = 0; c < cols; c++)
                if (isfinite(by[c]) && fabs(by[c]) > 0 && (best == cols || fabs(by[c]) > fabs(by[best])))
                    best = c;
            if (best == cols)
                break;
            Tabella__Reason *reason = tab_message(a, Tabella__Reason, TABELLA__REASON__INIT);
            if (reason == NULL)
                break;
            reason->column = column_ref(a, &j, best);
            reason->contribution = by[best];
            by[best] = 0;
            m->reasons[m->n_reasons++] = reason;
        }
        ok = ok && !tab_arena_full(a);
    }
    free(j.by_column);
    return ok;
}

/* Both lists of results, each row by the fold that did not see it. */
bool tab_reasons_fitted(const tab_engine *e, const tab_fitted *f, const uint32_t *place,
                        Tabella__Prediction *m)
{
    return explain(e, f, f->data, place, m->results) &&
           (m->missing_target_results == NULL || explain(e, f, f->data, place, m->missing_target_results));
}

/* New rows by the mean over the folds. */
bool tab_reasons_rows(const tab_engine *e, const tab_fitted *f, const tab_data *d, Tabella__Results *r)
{
    return explain(e, f, d, NULL, r);
}
