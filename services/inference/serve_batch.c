/* Calls of one endpoint that come at once are scored together: the models read their trees, kernels and context once for
 * all of them, and a tile of their products has room for 48 rows. A lone call waits for nobody; what comes while a group
 * is scored is the next group, and begins beside it where there is a core and a crowd. */
#include "common/metrics.h"
#include "services/inference/request.h"

enum {
    ALONE_ROWS = 48,  /* a call of so many rows fills the models' tiles by itself */
    GROUP_CALLS = 64, /* calls of one group */
    CROWD_CALLS = 4   /* so many waiting calls are worth another core */
};

/* Each waits until it is done, or is told to lead. Where calls wait and nobody scores, one has been told. */
typedef struct serve_waiting {
    struct serve_waiting *next;
    tab_scoring part;
    bool done, ok, lead;
    pthread_cond_t wake;
} waiting;

/* Scores what waits, or as many as a group holds. The batch's lock is held before and after. */
static void lead(const tab_engine *e, serve_state *st)
{
    waiting *of[GROUP_CALLS];
    const tab_scoring *part[GROUP_CALLS];
    size_t n = 0;
    for (; st->batch.first != NULL && n < GROUP_CALLS; st->batch.first = st->batch.first->next) {
        of[n] = st->batch.first;
        part[n++] = &st->batch.first->part;
    }
    if (n == 0)
        return; /* another has taken them */
    st->batch.waiting -= n;
    st->batch.leaders++;
    pthread_mutex_unlock(&st->batch.lock);
    tab_engine own = *e; /* nobody's arena but ours while the others wait */
    TAB_AUTO(tab_arena) *scratch = n > 1 ? tab_arena_new((size_t)256 << 20) : NULL;
    own.arena = scratch;
    bool ok = (n == 1 || scratch != NULL) && tab_score_together(&own, st->fitted, part, n);
    if (n > 1)
        tab_metric_add(tab_counter("tabella_serve_together_total",
                                   "Serve calls scored in a group with others", NULL),
                       (double)n);
    pthread_mutex_lock(&st->batch.lock);
    st->batch.leaders--;
    for (size_t i = 0; i < n; i++) {
        of[i]->ok = ok;
        of[i]->done = true;
        pthread_cond_signal(&of[i]->wake);
    }
    if (st->batch.first != NULL) {
        st->batch.first->lead = true;
        pthread_cond_signal(&st->batch.first->wake);
    }
}

tab_status serve_score(inference *self, const tab_engine *e, serve_state *st, const tab_table *rows,
                       Tabella__Prediction **ret, tab_error *err)
{
    if (rows->rows >= ALONE_ROWS)
        return tab_score(e, st->fitted, rows, st->explain, ret, err);
    waiting w = { .wake = PTHREAD_COND_INITIALIZER };
    tab_status s = tab_score_read(e, st->fitted, rows, &w.part, err);
    if (s != TAB_OK)
        return s;
    pthread_mutex_lock(&st->batch.lock);
    waiting **last = &st->batch.first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = &w;
    st->batch.waiting++;
    w.lead = st->batch.leaders == 0 ||
             (st->batch.waiting >= CROWD_CALLS && st->batch.leaders < self->cores);
    while (!w.done)
        if (w.lead) {
            w.lead = false;
            lead(e, st);
        } else {
            pthread_cond_wait(&w.wake, &st->batch.lock);
        }
    pthread_mutex_unlock(&st->batch.lock);
    pthread_cond_destroy(&w.wake);
    if (!w.ok)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    return tab_score_end(e, st->fitted, &w.part, st->explain, ret, err);
}
