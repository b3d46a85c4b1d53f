/* See held_out.h: how good the answers are for rows of tomorrow. held_out.c asks after it has graded; the
 * figures are regimes.c's. */
#include <math.h>

#include "services/inference/engine/evaluate/answer_quality.h"
#include "services/inference/engine/evaluate/baselines.h"
#include "services/inference/engine/evaluate/parts.h"
#include "services/inference/engine/evaluate/regimes.h"
#include "services/inference/engine/predict/ahead/ahead.h"
#include "services/inference/engine/series/series.h"

/* Fewer later rows are not answered anew; by hand. */
enum { SMALL_FUTURE = 20 };

static tab_status out_of(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* Where the rows of a part lie in time. */
typedef struct {
    const tab_series *times;
    int64_t last;     /* of the fitted rows */
    double *distance; /* (held) steps after it */
} later_part;

/* Rows of the last times that are as if they were incomplete (decision 0588) are no test of what comes: they
 * are told of in the note, and stand at no distance. False: memory. */
static bool leave_unfinished(tab_arena *a, const tab_held_part *s, size_t target, later_part *tail,
                             Tabella__HeldOut *h)
{
    size_t rows = s->p->table->rows;
    double *pos = tab_arena_new_of(a, double, rows + 1), *y = tab_arena_new_of(a, double, rows + 1);
    tab_ahead_apart apart;
    if (tab_arena_full(a))
        return false;
    for (size_t r = 0; r < rows; r++) {
        int64_t at = tail->times->index[r];
        pos[r] = at == INT64_MIN ? (double)NAN : (double)at;
        y[r] = s->p->col[target].number[r];
    }
    if (!tab_ahead_last_step(tail->times, pos, y, rows, &apart))
        return false;
    for (size_t r = 0, n = 0; r < rows; r++)
        if (s->part.test[r] && tail->distance[n++] > 0 && isnan(y[r]))
            tail->distance[n - 1] = 0;
    if (apart.rows + apart.stuck > 0)
        h->note =
            tab_arena_printf(a,
                             "%s %zu rows of the last known times are unlike all before, as if they were "
                             "incomplete or a meter stuck; they are not in the figures of later rows.",
                             h->note, apart.rows + apart.stuck);
    return h->note != NULL;
}

/* The class of each row of the table, as m has them. NULL: the arena is full. */
static const uint32_t *classes_of(tab_arena *a, const tab_held_part *s, size_t target,
                                  const Tabella__Prediction *m, size_t classes)
{
    return tab_truth_of(a, &s->p->table->col[target], s->p->table->rows, m->classes, classes);
}

/* Adds the figures of one part's held rows, answered by m, to h->regimes. later: NULL: among the others. */
static bool add_regime(const tab_engine *e, const tab_held_part *s, size_t target,
                       const Tabella__Prediction *m, const later_part *later, const char *regime,
                       Tabella__HeldOut *h)
{
    tab_arena *a = e->arena;
    size_t n = m->results->n_row, classes = n > 0 ? m->results->n_probabilities / n : 0;
    tab_regime_rows v = { .m = m,
                          .classes = classes,
                          .fitted = s->present,
                          .distance = later == NULL ? NULL : later->distance,
                          .guesses = later == NULL ? 0 : TAB_BASELINES,
                          .regime = regime };
    if (s->task == TAB_TASK_REGRESSION) {
        double *truth = tab_arena_new_of(a, double, n + 1),
               *seen = tab_arena_new_of(a, double, s->present + 1);
        if (tab_arena_full(a))
            return false;
        size_t fitted = tab_read_truth(s, target, truth, seen);
        for (size_t i = 0; i < fitted; i++)
            v.mean += (seen[i] - v.mean) / (double)(i + 1);
        v.truth = truth;
        if (later != NULL && (v.guess = tab_baselines(a, s, later->times, later->last,
                                                      s->p->col[target].number, NULL, NULL, 0)) == NULL)
            return false;
        return tab_regimes_add(a, &v, h);
    }
    const uint32_t *of = tab_truth_of(a, &s->train->col[target], s->train->rows, m->classes, classes);
    double *share = tab_arena_new_of(a, double, classes + 1), all = 0.5 * (double)classes;
    v.class = tab_truth_of(a, &s->held->col[target], n, m->classes, classes);
    if (of == NULL || v.class == NULL || share == NULL)
        return false;
    for (size_t i = 0; i < s->train->rows; i++)
        all += of[i] < classes, share[of[i]]++;
    for (size_t k = 0; k < classes; k++)
        share[k] = (share[k] + 0.5) / all;
    v.share = share;
    const uint32_t *class = later == NULL ? of : classes_of(a, s, target, m, classes);
    if (class == NULL || (later != NULL && (v.guess = tab_baselines(a, s, later->times, later->last, NULL,
                                                                    class, share, classes)) == NULL))
        return false;
    return tab_regimes_add(a, &v, h);
}

/* The last rows, answered by a model of the others as a serve call of tomorrow's rows would be. first: the
 * part that was graded, and m its answers; where that was by time already they are the same. */
tab_status tab_future(const tab_engine *e, const tab_evaluate_options *o, const tab_held_part *first,
                      const Tabella__Prediction *m, Tabella__HeldOut *h, tab_error *err)
{
    tab_arena *a = e->arena;
    size_t rows = first->p->table->rows;
    bool later = o->split == TAB_SPLIT_TIME;
    tab_held_part s = *first;
    tab_series times;
    tab_evaluate_options ahead = *o;
    ahead.split = TAB_SPLIT_TIME; /* as an endpoint that nobody told how to keep rows apart */
    if (s.task == TAB_TASK_ANOMALY)
        return TAB_OK;
    if (!later &&
        !add_regime(e, first, o->target, m, NULL, o->split == TAB_SPLIT_GROUP ? "new_group" : "alike", h))
        return out_of(e, err);
    TAB_TRY(tab_series_find(a, s.p, o->target, NULL, &times, err));
    if (times.kind != TAB_TIME_COLUMN && times.kind != TAB_TIME_PARTS)
        return TAB_OK;
    if (!later) {
        tab_partition_by by = { .class = s.class, .time = times.when, .rows = rows, .seed = e->seed };
        if (!tab_partition_rows(a, &by, &s.part))
            return out_of(e, err);
        if (s.part.held < SMALL_FUTURE || s.present < 2 * s.part.held)
            return TAB_OK;
        s.train = tab_partition_table(a, s.p->table, s.part.test, false);
        s.held = tab_partition_table(a, s.p->table, s.part.test, true);
        Tabella__Prediction *again = NULL;
        if (s.train == NULL || s.held == NULL)
            return out_of(e, err);
        TAB_TRY(tab_answer_held(e, &ahead, s.task, s.part.test, s.train, s.held, &again, err));
        m = again;
    }
    later_part tail = { &times, INT64_MIN, tab_arena_new_of(a, double, rows + 1) };
    if (tail.distance == NULL)
        return out_of(e, err);
    for (size_t r = 0; r < rows; r++)
        if (!s.part.test[r] && s.class[r] != TAB_NULL && times.index[r] > tail.last)
            tail.last = times.index[r];
    for (size_t r = 0, n = 0; r < rows; r++)
        if (s.part.test[r])
            tail.distance[n++] = times.index[r] == INT64_MIN ? 0 : (double)(times.index[r] - tail.last);
    if (s.task == TAB_TASK_REGRESSION && !leave_unfinished(a, &s, o->target, &tail, h))
        return out_of(e, err);
    return add_regime(e, &s, o->target, m, &tail, "later", h) ? TAB_OK : out_of(e, err);
}
