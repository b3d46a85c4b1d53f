/* See parts.h: a model of the rows that are not held out, and its answers for the held ones. held_out.c
 * asks for the graded part, future.c for the last rows. */
#include "services/inference/engine/evaluate/parts.h"
#include "services/inference/engine/profile/given.h"

/* Adds to the rows that are fitted on, and to the held ones, what linked tables say of them; it is chosen by
 * the first alone. row: which rows of the table they are. */
static tab_status link(const tab_engine *e, const tab_evaluate_options *o, tab_task task, const uint32_t *row,
                       tab_profile **p, const tab_table **held, tab_error *err)
{
    tab_link_set *set = NULL;
    tab_table *wide = NULL;
    bool number = true;
    if (task == TAB_TASK_REGRESSION && (*p)->col[o->target].type != TAB_DATETIME &&
        !tab_view_as_number(e->arena, &(*p)->col[o->target], (*p)->table->rows, &number))
        return tab_no_memory(err);
    if (number)
        TAB_TRY(tab_links_choose(e, o->links, *p, row, o->target, task, &set, NULL, err));
    if (set == NULL)
        return TAB_OK;
    TAB_TRY(tab_links_widen(e, o->links, set, *p, row, p, err));
    TAB_TRY(tab_links_rows(e, o->links, set, *held, &wide, err));
    *held = wide;
    return TAB_OK;
}

/* Fits on train, whose columns are profiled anew: nothing of the held-out rows is known to it. *ret: the
 * answers for the held-out rows. */
tab_status tab_answer_held(const tab_engine *e, const tab_evaluate_options *o, tab_task task,
                           const bool *test, const tab_table *train, const tab_table *held,
                           Tabella__Prediction **ret, tab_error *err)
{
    /* profiled anew: not even the roles know the held rows */
    tab_profile *q = NULL;
    tab_given columns = o->given == NULL ? (tab_given){ 0 } : *o->given;
    columns.missing_auto = false; /* void cells are null by now */
    columns.missing_texts = columns.missing_numbers = 0;
    TAB_TRY(tab_profile_given(e, train, &columns, &q, err));
    if (o->links != NULL && task != TAB_TASK_ANOMALY) {
        uint32_t *row = tab_arena_new_of(e->arena, uint32_t, train->rows + 1);
        for (uint32_t i = 0, n = 0; row != NULL && n < train->rows; i++)
            if (!test[i])
                row[n++] = i;
        if (row == NULL)
            return tab_no_memory(err);
        TAB_TRY(link(e, o, task, row, &q, &held, err));
    }
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_fit_options fit = { .base = o->base,
                            .task = task,
                            .target = o->target,
                            .labels = o->labels,
                            .table = o->table,
                            .own = train->cols,
                            .cut = o->cut,
                            .served = o->split == TAB_SPLIT_TIME,
                            .split = o->split == TAB_SPLIT_TIME || o->split == TAB_SPLIT_GROUP
                                         ? TAB_SPLIT_AUTO
                                         : TAB_SPLIT_RANDOM };
    TAB_TRY(tab_fit(e, q, &fit, &f, err));
    return tab_score_any(e, f, held, false, ret, err);
}

/* The target of the held rows, and of the others for the baseline; returns how many those are. */
size_t tab_read_truth(const tab_held_part *s, size_t target, double *truth, double *seen)
{
    const double *number = s->p->col[target].number;
    size_t n = 0, k = 0;
    for (size_t i = 0; i < s->p->table->rows; i++) {
        if (s->part.test[i])
            truth[n++] = number[i];
        else if (s->class[i] != TAB_NULL)
            seen[k++] = number[i];
    }
    return k;
}
