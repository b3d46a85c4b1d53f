/* See refit.h: one model of all rows, for learners that answer by such a one (decision 0161). stack.c calls
 * it when the folds have weighed the members; the folds' own models are then let go. */
#include "services/inference/engine/learn/stack/refit.h"

static const size_t MODEL_LIMIT = (size_t)8 << 30; /* a bound against runaway fits */

/* The gain of the columns as a fold of the trees saw it, for the features that the model of all rows has;
 * what that fold did not read (screen.h) gained nothing. NULL: nobody knows, or the arena is full. */
static const float *gain_of(tab_arena *a, const tab_stack *s, const tab_problem *p, const tab_encoder *enc)
{
    const tab_levels *first = s->levels[0], *own = s->levels[s->folds];
    const float *gain = NULL;
    for (size_t l = 0; l < s->members && gain == NULL; l++)
        if (s->member[l].learner->importance != NULL)
            gain = s->member[l].learner->importance(s->member[l].model[0]);
    if (gain == NULL || (first == NULL && own == NULL))
        return gain;
    size_t plain = own == NULL ? enc->n : own->plain, others = first == NULL ? p->enc->n : first->plain;
    size_t stats = own == NULL ? 0 : own->n;
    if ((first == NULL ? 0 : first->n) != stats)
        return NULL;
    float *ret = tab_arena_new_of(a, float, enc->n);
    for (size_t i = 0, k = 0; ret != NULL && i < plain; i++) {
        size_t at = own == NULL || own->kept == NULL ? i : own->kept[i];
        while (k < others && (first == NULL || first->kept == NULL ? k : first->kept[k]) < at)
            k++;
        if (k < others && (first == NULL || first->kept == NULL ? k : first->kept[k]) == at)
            ret[i] = gain[k];
    }
    for (size_t i = 0; ret != NULL && i < stats; i++)
        ret[plain + i] = gain[others + i];
    for (size_t i = plain + stats; ret != NULL && i < enc->n; i++)
        for (size_t k = 0; first != NULL && k < first->mades; k++)
            if (tab_made_alike(&own->made[i - plain - stats].recipe, &first->made[k].recipe))
                ret[i] = gain[others + stats + k];
    return ret;
}

bool tab_refit(const tab_engine *e, tab_arena *a, const tab_problem *p, tab_stack *s, const uint32_t *row,
               size_t n)
{
    /* the place behind the folds */
    size_t at = s->folds;
    for (size_t l = 0; l < s->members; l++) {
        tab_member *m = &s->member[l];
        if (!m->learner->whole || !(m->weight > 0))
            continue;
        if (s->levels[at] == NULL && !tab_levels_fit(a, p, row, n, &s->made, &s->levels[at]))
            return false;
        /* the model reads statistics of levels of all rows, as a fold's model reads those of its context */
        tab_problem view = *p;
        if (s->levels[at] != NULL) {
            view.enc = &s->levels[at]->enc;
            view.data = &s->levels[at]->data;
        }
        /* an arena a model, freed with the stack's */
        tab_arena *own = tab_arena_new(MODEL_LIMIT);
        if (own == NULL)
            return false;
        if (!tab_arena_defer(a, (void (*)(void *))tab_arena_free, own)) {
            tab_arena_free(own);
            return false;
        }
        tab_fit_task t = { .context = row,
                           .n = n,
                           .config = m->config,
                           .importance = gain_of(own, s, p, view.enc),
                           .cancel = e->cancel,
                           .e = e,
                           .arena = own };
        m->model[at] = m->learner->fit(&view, &t, NULL);
        s->bytes += tab_arena_used(own);
        if (m->model[at] == NULL)
            return false;
    }
    return true;
}
