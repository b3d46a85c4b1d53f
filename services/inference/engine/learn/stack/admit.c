/* See admit.h: which learners the budget admits (decisions 0051, 0200). stack_members.c asks learner by
 * learner, in the recipe's order; each takes what the ones before have left. Nothing reads a clock, so the
 * answer does not depend on the machine's load. */
#include "services/inference/engine/learn/stack/admit.h"

#include <math.h>

/* Work grows with the number of classes, and cells do not: what a request may ask for is bounded by its
 * cells, too. Tables of up to a hundred classes cost 1e4 to 1e6 a cell and are far within (decision 0192). */
static const double FLOOR = 1e10, A_CELL = 2e6;

/* The most work of all fits together. */
static double limit(const tab_problem *p, size_t n, const tab_recipe *r)
{
    if (!p->classification || p->outputs <= TAB_MANY_CLASSES)
        return r->work;
    return fmin(r->work, FLOOR + A_CELL * (double)n * (double)p->enc->n);
}

/* All folds, the trials of configurations and a model of all rows count. */
int tab_admit(const tab_problem *p, size_t n, tab_stack *s, tab_arena *a, const tab_recipe *r,
              const tab_learner *g, double spent, double *work)
{
    double all = limit(p, n, r);
    n = g->cap > 0 && n > g->cap ? g->cap : n;
    double fits = (double)(s->folds + g->configs - 1 + g->whole), own = g->work(p, n),
           most = fmin(all - spent, g->share > 0 ? g->share * r->work : r->work);
    const char **said = &s->skipped[s->skips], *cut = "";
    /* a learner that says 0 cannot serve this problem at all */
    if (own <= 0) {
        *said = tab_arena_printf(a, "%s: not apt", g->name);
        s->skips++;
        return -1;
    }
    /* ever cheaper forms, until one fits or there are no more */
    int form = 0;
    while (own * fits > most && cut != NULL)
        cut = g->cheaper != NULL ? g->cheaper(p, n, (size_t)++form, a, &own) : NULL;
    *work = own * fits;
    if (form == 0 && cut != NULL)
        return 0;
    *said = cut != NULL ? tab_arena_printf(a, "%s: budget, %s", g->name, cut)
                        : tab_arena_printf(a, "%s: budget", g->name);
    s->skips++;
    return cut != NULL ? form : -1;
}
