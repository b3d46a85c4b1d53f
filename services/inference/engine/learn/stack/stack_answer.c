/* See stack.h: what a fitted stack answers about rows outside its folds. Scoring (predict/fitted.c) comes by
 * tab_stack_predict, the stack's own fit by the parts of it.
 *
 *   fold models ─> mean of their log-probabilities ─> member's temperature ─> weighted sum ─> last
 * temperature */
#include "services/inference/engine/learn/stack/stack_answer.h"

#include <assert.h>
#include <stdlib.h>

#include "services/inference/engine/learn/stack/opinion_pool.h"

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
        if (s->member[l].weight < 1e-6) {
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
            if (m->weight < 1e-6 || m->model[s->folds] != NULL)
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
