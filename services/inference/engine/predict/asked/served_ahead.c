/* See fitted_parts.h: served rows that come after all fitted ones, or before them, which the past of their
 * series answers (ahead/later.h), or, where no fitted row is of their series, what was fitted without whole
 * series (unseen_series.c). fitted.c asks when the fitted model has answered. */
#include <math.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* Room for what is said of n rows. */
typedef struct {
    uint32_t *row;  /* (n) which rows of the request */
    float *plain;   /* (n, outputs) what the fitted model says */
    double *answer; /* (n, TAB_LEVELS + 2) value, spread, quantiles; or (n, classes) */
} room;

static bool open_room(tab_arena *a, size_t n, size_t outputs, room *ret)
{
    size_t each = outputs > TAB_LEVELS + 2 ? outputs : TAB_LEVELS + 2;
    *ret = (room){ .row = tab_arena_new_of(a, uint32_t, n + 1),
                   .plain = tab_arena_new_of(a, float, n *outputs + 1),
                   .answer = tab_arena_new_of(a, double, n *each + 1) };
    return !tab_arena_full(a);
}

/* Rows of series that no fitted row is of, in place of what is there. False: memory. */
static bool fresh(tab_arena *a, const tab_fitted *f, const tab_scoring *s, size_t n, size_t each, room *m)
{
    uint32_t *row = tab_arena_new_of(a, uint32_t, n + 1), *at = tab_arena_new_of(a, uint32_t, n + 1);
    double *answer = tab_arena_new_of(a, double, n *each + 1);
    size_t k = 0;
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < n; i++)
        if (tab_clock_series(&f->clock, s->values, m->row[i]) == TAB_NULL) {
            memcpy(answer + k * each, m->answer + i * each, each * sizeof *answer);
            row[k] = m->row[i], at[k++] = (uint32_t)i;
        }
    if (k > 0 && !tab_fresh_answer(f, s->d, row, k, answer))
        return false;
    for (size_t i = 0; i < k; i++)
        memcpy(m->answer + at[i] * each, answer + i * each, each * sizeof *answer);
    return true;
}

/* The rows of one side. False: memory. */
static bool write_side(const tab_engine *e, const tab_fitted *f, const tab_scoring *s, size_t side)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    Tabella__Results *r = s->m->results;
    bool classes = f->task == TAB_TASK_CLASSIFICATION;
    size_t n = s->later[side], k = classes ? f->classes : 1, at = 0;
    size_t each = classes ? k : TAB_LEVELS + 2;
    room m;
    if (a == NULL || !open_room(a, n, k, &m))
        return false;
    for (size_t i = 0; i < r->n_row; i++) {
        if (s->side[i] != side + 1)
            continue;
        for (size_t j = 0; j < k; j++)
            m.plain[at * k + j] =
                (float)(classes ? log(fmax(r->probabilities[i * k + j], 1e-12)) : r->value[i]);
        m.row[at++] = (uint32_t)i;
    }
    tab_later_rows q = { s->values, m.row, n, m.plain };
    if (!tab_later_answer(e, f->later[side], &f->clock, &q, m.answer) ||
        (f->fresh != NULL && !fresh(a, f, s, n, each, &m)))
        return false;
    for (size_t i = 0; i < n; i++) {
        const double *own = m.answer + i * each;
        if (classes)
            tab_write_classes(f, r, m.row[i], own);
        else
            tab_write_number(f, r, m.row[i], own[0], own[1], own + 2);
    }
    return true;
}

bool tab_later_write(const tab_engine *e, const tab_fitted *f, const tab_scoring *s)
{
    for (size_t side = 0; side < TAB_SIDES; side++)
        if (s->later[side] > 0 && !write_side(e, f, s, side))
            return false;
    return true;
}
