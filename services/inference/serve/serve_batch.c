/* Calls of one endpoint that come at once are scored together: the models read their trees, kernels and
 * context once for all of them, and a tile of their products has room for 48 rows. A lone call waits for
 * nobody; what comes while a group is scored is the next group, and begins beside it where there is a core
 * and a crowd. */
#include "common/base/metrics.h"
#include "services/inference/serve/request.h"

enum {
    GROUP_CALLS = 64, /* calls of one group: no more are taken in once there are so many */
    CROWD = 4         /* so many waiting requests are worth another core */
};

/* A call waits until it is done, or until it is told to lead. Where calls wait and nobody scores, one of
 * them has been told. */
typedef struct serve_waiting {
    struct serve_waiting *next;
    tab_scoring *const *part; /* (n) calls */
    size_t n;
    bool done, ok, lead;
    pthread_cond_t wake;
} waiting;

/* Scores what waits, or as many as a group holds. The batch's lock is held before and after. */
static void lead(const tab_engine *e, serve_state *st)
{
    waiting *of[GROUP_CALLS];
    const tab_scoring *part[2 * GROUP_CALLS];
    size_t n = 0, parts = 0;
    for (; st->batch.first != NULL && parts < GROUP_CALLS; st->batch.first = of[n++]->next) {
        of[n] = st->batch.first;
        for (size_t i = 0; i < of[n]->n; i++)
            part[parts++] = of[n]->part[i];
    }
    if (n == 0)
        return; /* another has taken them */
    st->batch.waiting -= n;
    st->batch.leaders++;
    pthread_mutex_unlock(&st->batch.lock);
    tab_engine own = *e; /* the arena is this thread's while the others wait */
    TAB_AUTO(tab_arena) *scratch = parts > 1 ? tab_arena_new((size_t)256 << 20) : NULL;
    own.arena = scratch;
    bool ok = (parts == 1 || scratch != NULL) && tab_score_together(&own, st->fitted, part, parts);
    if (parts > 1)
        tab_metric_add(
            tab_counter("tabella_serve_together_total", "Serve calls scored in a group with others", NULL),
            (double)parts);
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

/* As many as a group holds. */
static bool score(inference *self, const tab_engine *e, serve_state *st, tab_scoring *const *part, size_t n)
{
    waiting w = { .part = part, .n = n, .wake = PTHREAD_COND_INITIALIZER };
    pthread_mutex_lock(&st->batch.lock);
    waiting **last = &st->batch.first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = &w;
    st->batch.waiting++;
    w.lead = st->batch.leaders == 0 || (st->batch.waiting >= CROWD && st->batch.leaders < self->cores);
    while (!w.done)
        if (w.lead) {
            w.lead = false;
            lead(e, st);
        } else {
            pthread_cond_wait(&w.wake, &st->batch.lock);
        }
    pthread_mutex_unlock(&st->batch.lock);
    pthread_cond_destroy(&w.wake);
    return w.ok;
}

bool serve_score(inference *self, const tab_engine *e, serve_state *st, tab_scoring *const *part, size_t n)
{
    bool ok = true;
    for (size_t at = 0; ok && at < n; at += GROUP_CALLS)
        ok = score(self, e, st, part + at, n - at < GROUP_CALLS ? n - at : GROUP_CALLS);
    return ok;
}
