/* See stack.h: what a fitted stack answers about rows outside its folds. Scoring (predict/fitted.c) comes by
 * tab_stack_predict, the stack's own fit by the parts of it.
 *
 *   fold models ─> mean of their log-probabilities ─> member's temperature ─> weighted sum ─> last
 * temperature */
#include "services/inference/engine/learn/stack/stack_answer.h"

#include <assert.h>
#include <stdlib.h>

#include "services/inference/engine/learn/stack/opinion_pool.h"

static const double IDLE = 1e-6; /* a member of less weight is not asked */

/* The problem's own rows have their statistics already; new rows get them here. */
bool tab_stack_view(const tab_stack *s, size_t fold, const tab_encoder *enc, const tab_data *q,
                    const uint32_t *row, size_t n, tab_fold_view *ret)
{
    const tab_levels *v = s->levels[fold];
    *ret = (tab_fold_view){ .enc = enc, .data = q };
    if (v == NULL)
        return true;
    ret->enc = &v->enc;
    ret->data = &v->data;
    if (q == s->data)
        return true;
    if (!tab_levels_read(v, q, row, n, &ret->own))
        return false;
    ret->levels = v;
    ret->data = &ret->own;
    return true;
}

void tab_stack_view_free(tab_fold_view *v)
{
    if (v->levels != NULL)
        tab_levels_free(v->levels, &v->own);
}

/* Log-probabilities are averaged over the folds' models, not probabilities: the same pool as between
 * learners. */
bool tab_member_average(const tab_stack *s, const tab_member *m, const tab_fold_view *view,
                        const uint32_t *row, size_t n, float *out)
{
    size_t k = s->outputs;
    /* a model of all rows, where the learner has one, answers alone */
    if (m->model[s->folds] != NULL) {
        const tab_fold_view *v = &view[s->folds];
        m->learner->predict(m->model[s->folds], v->enc, v->data, row, n, out);
        for (size_t i = 0; s->classification && i < n; i++)
            tab_log_softmax(out + i * k, k, 1);
        return true;
    }
    float *one = malloc((n * k + 1) * sizeof *one);
    if (one == NULL)
        return false;
    memset(out, 0, n * k * sizeof *out);
    for (size_t f = 0; f < s->folds; f++) {
        m->learner->predict(m->model[f], view[f].enc, view[f].data, row, n, one);
        for (size_t i = 0; i < n; i++) {
            if (s->classification)
                tab_log_softmax(one + i * k, k, 1);
            for (size_t j = 0; j < k; j++)
                out[i * k + j] += one[i * k + j];
        }
    }
    /* the mean over the folds: a constant a row does not matter, as the softmax takes it off */
    for (size_t i = 0; i < n * k; i++)
        out[i] /= (float)s->folds;
    free(one);
    return true;
}

/* The weighted sum, the prior among its terms. */
void tab_stack_combine(const tab_stack *s, const float *const *z, float *out)
{
    size_t k = s->outputs;
    if (!s->classification) {
        double v = s->prior_weight * (double)s->prior[0];
        for (size_t l = 0; l < s->members; l++)
            v += s->member[l].weight * (double)z[l][0];
        out[0] = (float)v;
        return;
    }
    for (size_t j = 0; j < k; j++) {
        double v = s->prior_weight * (double)s->prior[j];
        for (size_t l = 0; l < s->members; l++)
            v += s->member[l].weight * (double)z[l][j];
        out[j] = (float)v;
    }
}

/* Members of no weight are not asked. */
bool tab_stack_predict(const tab_stack *s, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                       size_t n, float *out)
{
    size_t k = s->outputs;
    /* z (members, n, outputs); one view of the rows a fold, shared by all members */
    float *z = malloc((s->members * n * k + 1) * sizeof *z);
    bool ok = z != NULL;
    tab_fold_view view[TAB_FOLDS + 1] = { 0 };
    for (size_t f = 0; ok && s->members > 0 && f <= s->folds; f++)
        ok = tab_stack_view(s, f, enc, q, row, n, &view[f]);
    for (size_t l = 0; ok && l < s->members; l++) {
        float *own = z + l * n * k;
        if (s->member[l].weight < IDLE) {
            memset(own, 0, n * k * sizeof *own);
            continue;
        }
        ok = tab_member_average(s, &s->member[l], view, row, n, own);
        for (size_t i = 0; ok && s->classification && i < n; i++)
            tab_log_softmax(own + i * k, k, s->member[l].temperature);
    }
    for (size_t i = 0; ok && i < n; i++) {
        /* row by row: the members' outputs to one answer */
        const float *at[TAB_LEARNERS];
        for (size_t l = 0; l < s->members; l++)
            at[l] = z + (l * n + i) * k;
        tab_stack_combine(s, at, out + i * k);
        if (s->classification)
            tab_log_softmax(out + i * k, k, s->temperature);
    }
    for (size_t f = 0; f <= s->folds; f++)
        tab_stack_view_free(&view[f]);
    free(z);
    return ok;
}

/* A member that answers by one model of all rows differs from fold to fold by nothing. */
bool tab_stack_ambiguity(const tab_stack *s, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                         size_t n, float *out)
{
    assert(!s->classification);
    /* answer (folds, n): what the members' models of a fold say together */
    float *answer = calloc(s->folds * n + 1, sizeof *answer), *one = malloc((n + 1) * sizeof *one);
    bool ok = answer != NULL && one != NULL;
    for (size_t f = 0; ok && s->members > 0 && f < s->folds; f++) {
        tab_fold_view view = { 0 };
        ok = tab_stack_view(s, f, enc, q, row, n, &view);
        for (size_t l = 0; ok && l < s->members; l++) {
            const tab_member *m = &s->member[l];
            if (m->weight < IDLE || m->model[s->folds] != NULL)
                continue;
            m->learner->predict(m->model[f], view.enc, view.data, row, n, one);
            for (size_t i = 0; i < n; i++)
                answer[f * n + i] += (float)m->weight * one[i];
        }
        tab_stack_view_free(&view);
    }
    for (size_t i = 0; ok && i < n; i++) {
        double mean = 0, square = 0;
        for (size_t f = 0; f < s->folds; f++)
            mean += (double)answer[f * n + i] / (double)s->folds;
        for (size_t f = 0; f < s->folds; f++)
            square += ((double)answer[f * n + i] - mean) * ((double)answer[f * n + i] - mean);
        out[i] = (float)(square / (double)s->folds);
    }
    free(answer), free(one);
    return ok;
}

const tab_member *tab_stack_reasons(const tab_stack *s)
{
    const tab_member *best = NULL;
    for (size_t l = 0; l < s->members; l++)
        if (s->member[l].learner->importance != NULL && (best == NULL || s->member[l].weight > best->weight))
            best = &s->member[l];
    return best;
}

/* ---- in few bytes ---------------------------------------------------------------------------- */

/* The learner by its place among all, which stays as long as a build's bytes are read. */
static void pack_learner(tab_pack *p, const tab_learner **at)
{
    static const tab_learner *const all[] = {
        &tab_learn_boost,       &tab_learn_boost_shallow, &tab_learn_boost_brisk, &tab_learn_boost_fast,
        &tab_learn_boost_quick, &tab_learn_linear,        &tab_learn_kernel,      &tab_learn_kernel_small,
        &tab_learn_forest,      &tab_learn_forest_fine,   &tab_learn_knn,         &tab_learn_mlp,
        &tab_learn_pfn
    };
    enum { ALL = sizeof all / sizeof *all };
    size_t i = 0;
    while (tab_pack_writes(p) && all[i] != *at)
        i++;
    *at = tab_pack_clears(p) ? NULL : all[tab_pack_choice(p, i, ALL)];
}

static void pack_member(tab_pack *p, size_t folds, tab_member *m, bool asked)
{
    pack_learner(p, &m->learner);
    for (size_t f = 0; f < folds; f++) {
        void *none = NULL;
        if (tab_pack_clears(p))
            m->model[f] = NULL;
        else
            m->learner->pack(p, asked ? &m->model[f] : &none);
    }
}

void tab_pack_stack(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_stack *s = each;
    const tab_member *reasons = tab_pack_writes(p) ? tab_stack_reasons(s) : NULL;
    TAB_PACK_ONE(p, s->data, tab_pack_data);
    size_t rows = s->data == NULL ? 0 : s->data->rows;
    size_t members = tab_pack_count(p, s->members, TAB_LEARNERS);
    size_t folds = tab_pack_count(p, s->folds + 1, TAB_FOLDS + 1); /* and of all rows */
    size_t skips = tab_pack_count(p, s->skips, 2 * TAB_LEARNERS);
    for (size_t l = 0; l < members; l++) {
        tab_member *m = &s->member[l];
        pack_member(p, folds, m, tab_pack_reads(p) || !(m->weight < IDLE) || m == reasons);
    }
    for (size_t f = 0; f < folds; f++)
        TAB_PACK_ONE(p, s->levels[f], tab_pack_levels);
    TAB_PACK(p, s->prior, s->outputs);
    TAB_PACK(p, s->fold, rows);
    TAB_PACK(p, s->oof, rows * s->outputs);
    for (size_t i = 0; i < skips; i++)
        tab_pack_text(p, &s->skipped[i]);
    if (tab_pack_clears(p))
        s->bytes = 0; /* what is read lives in one arena, which counts */
}
