/* See sweep.h. */
#include "common/pg/sweep.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/metrics.h"

static tab_status one_batch(tab_pg *pg, const tab_sweep *s, void *arg, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    int64_t most = s->most > 0 ? s->most : TAB_SWEEP_BATCH;
    *ret_n = 0;
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(s->batch_ms > 0 ? s->batch_ms : TAB_SWEEP_BATCH_MS), &tx,
                         err));
    if (s->batch != NULL) {
        TAB_TRY(s->batch(tx, arg, most, ret_n, err));
    } else {
        TAB_TRY(tab_tx_query(tx, &rows, err, s->sql, TAB_P(tab_p_int(most))));
        *ret_n = tab_rows_count(rows);
    }
    return tab_tx_commit(&tx, err);
}

/* For what is no statement of one transaction: says how a turn went, and when the next is. */
static void told(tab_sweep *s, tab_status status, bool more, const tab_error *err)
{
    char labels[80];
    int64_t now = tab_mono_ms();
    bool behind = status != TAB_OK || more;
    if (status != TAB_OK && status != TAB_UNAVAILABLE)
        tab_log_fields(TAB_WARN, "a sweep did not end; tried again", "of", s->name, "why", err->message,
                       NULL);
    s->since = !behind ? 0 : s->since > 0 ? s->since : now;
    s->due = now + (behind ? TAB_SWEEP_SOON_MS : s->every_ms);
    snprintf(labels, sizeof labels, "sweep=\"%s\"", s->name);
    tab_metric_set(tab_gauge("tabella_sweep_behind_seconds",
                             "How long there has been more to sweep than one turn does", labels),
                   s->since > 0 ? (double)(now - s->since) / 1000 : 0);
}

/* Until a batch is not full, or its time is over. */
static void turn(tab_pg *pg, tab_sweep *s, void *arg, const atomic_bool *stop)
{
    size_t most = s->most > 0 ? (size_t)s->most : TAB_SWEEP_BATCH, n = most;
    size_t took = 0;
    tab_deadline end = tab_in_ms(TAB_SWEEP_TURN_MS);
    tab_error err = { 0 };
    tab_status status = TAB_OK;
    while (n == most && status == TAB_OK && tab_left_ms(end, 1) > 0 && (stop == NULL || !atomic_load(stop))) {
        status = one_batch(pg, s, arg, &n, &err);
        took += n;
    }
    told(s, status, n == most, &err);
    if (s->idle_ms == 0 || s->since > 0)
        return;
    s->wait = took > 0 || s->wait == 0 ? TAB_SWEEP_SOON_MS : 2 * s->wait;
    s->wait = s->wait < s->idle_ms ? s->wait : s->idle_ms;
    s->due = tab_mono_ms() + s->wait;
}

void tab_sweep_turns(tab_pg *pg, tab_sweep *sweep, size_t n, void *arg, const atomic_bool *stop)
{
    for (size_t i = 0; i < n && (stop == NULL || !atomic_load(stop)); i++) {
        tab_sweep *s = &sweep[i];
        if (s->rests && (s->since > 0 || s->due == 0))
            told(s, TAB_OK, false, NULL); /* no longer behind; or for the first time */
        else if (!s->rests && tab_mono_ms() >= s->due)
            turn(pg, s, arg, stop);
    }
}

/* ---- a thread -------------------------------------------------------------------------------- */

struct tab_sweeper {
    tab_pg *pg;
    tab_sweep *sweep;
    size_t n;
    void *arg;
    atomic_bool stop;
    pthread_t thread;
};

static void *run(void *arg)
{
    tab_sweeper *s = arg;
    while (!atomic_load(&s->stop)) {
        tab_sweep_turns(s->pg, s->sweep, s->n, s->arg, &s->stop);
        for (int ms = 0; ms < TAB_SWEEP_SOON_MS && !atomic_load(&s->stop); ms += 50)
            nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000000 }, NULL);
    }
    return NULL;
}

tab_sweeper *tab_sweeper_open(tab_pg *pg, tab_sweep *sweep, size_t n, void *arg)
{
    tab_sweeper *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (tab_sweeper){ .pg = pg, .sweep = sweep, .n = n, .arg = arg };
    if (pthread_create(&s->thread, NULL, run, s) == 0)
        return s;
    free(s);
    return NULL;
}

void tab_sweeper_close(tab_sweeper *s)
{
    if (s == NULL)
        return;
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    free(s);
}
