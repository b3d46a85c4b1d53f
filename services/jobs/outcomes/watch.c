/* See watch.h. */
#include "services/jobs/outcomes/watch.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/proto.h"
#include "common/calibration/drift.h"
#include "common/rpc/outbox.h"
#include "services/jobs/drift.h"
#include "services/jobs/endpoint.h"

enum { COLUMNS_TOLD = 5 };
static const double INTERVAL = 0.8;
static const int64_t DAY_US = 86400000000;

bool watch_begin(tab_arena *a, Tabella__Watch *w, const Tabella__Endpoint *e, tab_receipt_task task)
{
    Tabella__WatchSide *side = tab_arena_new_of(a, Tabella__WatchSide, 2);
    tabella__watch__init(w);
    w->config_revision = e->config_revision;
    w->data_revision = e->data_revision;
    w->task = task;
    w->sides = tab_arena_new_of(a, Tabella__WatchSide *, 2);
    if (side == NULL || w->sides == NULL)
        return false;
    for (size_t i = 0; i < 2; i++) {
        tabella__watch_side__init(&side[i]);
        w->sides[w->n_sides++] = &side[i];
    }
    return true;
}

bool watch_sound(const Tabella__Watch *w)
{
    bool ok = w->n_sides == 2;
    for (size_t i = 0; ok && i < 2; i++)
        ok = w->sides[i]->evidence >= 0 && w->sides[i]->hits <= w->sides[i]->rows;
    return ok;
}

const Tabella__WatchSide *watch_tell(Tabella__Watch *w, double said, double high_said, bool right)
{
    static const double odds[2] = { 0.5, 2 };
    const Tabella__WatchSide *passed = NULL;
    for (size_t i = 0; i < 2; i++) {
        Tabella__WatchSide *s = w->sides[i];
        double p = fmin(fmax(i == 0 ? said : high_said, 0.01), 0.99);
        double other = odds[i] * p / (odds[i] * p + 1 - p);
        if (s->evidence <= 0 || s->evidence > log(WATCH_RARELY))
            tabella__watch_side__init(s);
        s->evidence = fmax(s->evidence + log(right ? other / p : (1 - other) / (1 - p)), 0);
        s->rows++;
        s->hits += right;
        s->said += p;
        if (s->evidence > log(WATCH_RARELY))
            passed = s;
    }
    return passed;
}

double watch_coverage_told(const Tabella__Endpoint *e)
{
    double most = INTERVAL;
    for (size_t i = 0; e->held_out != NULL && i < e->held_out->n_regimes; i++)
        if (e->held_out->regimes[i]->has_coverage)
            most = fmax(most, e->held_out->regimes[i]->coverage);
    return most;
}

const Tabella__WatchSide *watch_outcome(Tabella__Watch *w, const counted *c, double coverage)
{
    const tab_receipt *r = &c->receipt;
    double y = c->outcome.number;
    if (r->task == TAB_RECEIPT_NUMBER)
        return watch_tell(w, INTERVAL, coverage, y >= r->low && y <= r->high);
    return watch_tell(w, (double)r->of[0].share, (double)r->of[0].share, outcome_class(r, &c->outcome) == 0);
}

/* ---- the alert ------------------------------------------------------------------------------- */

typedef struct {
    double stability;
    ProtobufCBinaryData address;
} moved;

static int by_stability(const void *a, const void *b)
{
    const moved *x = a, *y = b;
    return x->stability > y->stability ? -1 : x->stability < y->stability;
}

bool watch_columns(tab_arena *a, const Tabella__Drift *d, Tabella__QualityAlert *q)
{
    size_t n = d == NULL ? 0 : d->n_columns, m = 0;
    moved *of = tab_arena_new_of(a, moved, n + 1);
    q->columns = tab_arena_new_of(a, ProtobufCBinaryData, COLUMNS_TOLD);
    if (of == NULL || q->columns == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const Tabella__DriftColumn *c = d->columns[i];
        tab_drift_test t = tab_drift_tested(c, n);
        if (c->address.len > 0 && t.drifted)
            of[m++] = (moved){ t.stability, c->address };
    }
    qsort(of, m, sizeof *of, by_stability);
    for (size_t i = 0; i < m && i < COLUMNS_TOLD; i++)
        q->columns[q->n_columns++] = of[i].address;
    return true;
}

static tab_status alert(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const Tabella__Watch *w,
                        const Tabella__WatchSide *s, tab_error *err)
{
    Tabella__QualityAlert q = TABELLA__QUALITY_ALERT__INIT;
    char id[TAB_ID];
    tab_id_new(id, "evt_");
    q.event_id = id;
    q.org_id = (char *)(uintptr_t)call->org;
    q.at_us = w->told_us;
    q.endpoint_id = e->id;
    q.endpoint = e->name;
    q.measure = (char *)(uintptr_t)(w->task == TAB_RECEIPT_NUMBER ? "coverage" : "accuracy");
    q.rows = s->rows;
    q.said = s->said / (double)s->rows;
    q.was = (double)s->hits / (double)s->rows;
    TAB_TRY(drift_read(tx, call->arena, call->org, e, err));
    if (!watch_columns(call->arena, e->drift, &q))
        return tab_no_memory(err);
    TAB_TRY(endpoint_log(tx, call->org, e->id, "quality.alert", "", "", err,
                         "%s was %.3f over %llu outcomes; %.3f was stated", q.measure, q.was,
                         (unsigned long long)q.rows, q.said));
    return tab_outbox_put(tx, "jobs", id, "tabella.event.quality.alert", call->org, &q.base, err);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static tab_status restore(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e, tab_receipt_task task,
                          Tabella__Watch **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    Tabella__Watch *w = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err, "SELECT content FROM jobs.watch WHERE org = $1 AND endpoint_id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(e->id))));
    if (tab_rows_count(rows) > 0) {
        w = tab_proto_read(call->arena, &tabella__watch__descriptor, tab_rows_bytes(rows, 0, 0, call->arena));
        if (w == NULL || !watch_sound(w))
            return tab_fail(err, TAB_INTERNAL, "", "stored evidence of outcomes cannot be read");
    }
    if (w == NULL || w->task != task || w->config_revision != e->config_revision ||
        w->data_revision != e->data_revision) {
        w = tab_arena_new_of(call->arena, Tabella__Watch, 1);
        if (w == NULL || !watch_begin(call->arena, w, e, task))
            return tab_no_memory(err);
    }
    *ret = w;
    return TAB_OK;
}

bool watch_tells(Tabella__Watch *w, const Tabella__WatchSide *passed, int64_t now)
{
    bool tells = passed != NULL && now - w->told_us >= DAY_US;
    w->told_us = tells ? now : w->told_us;
    return tells;
}

static tab_status tell(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, Tabella__Watch *w, const counted *c,
                       double most, tab_error *err)
{
    const Tabella__WatchSide *s = watch_outcome(w, c, most);
    return watch_tells(w, s, tab_now_us()) ? alert(tx, call, e, w, s, err) : TAB_OK;
}

tab_status watch_outcomes(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const counted *const *of,
                          size_t n, tab_error *err)
{
    Tabella__Watch *w = NULL;
    double most = watch_coverage_told(e);
    for (size_t i = 0; i < n; i++) {
        const tab_receipt *r = &of[i]->receipt;
        if (!outcome_is_current(e, r))
            continue;
        if (w == NULL)
            TAB_TRY(restore(tx, call, e, r->task, &w, err));
        if (r->task == (tab_receipt_task)w->task)
            TAB_TRY(tell(tx, call, e, w, of[i], most, err));
    }
    if (w == NULL)
        return TAB_OK;
    tab_str bytes = tab_proto_write(call->arena, &w->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO jobs.watch (org, endpoint_id, content) VALUES ($1, $2, $3) "
                        "ON CONFLICT (org, endpoint_id) DO UPDATE SET content = excluded.content",
                        TAB_P(tab_p_text(call->org), tab_p_text(e->id), tab_p_bytes(bytes)));
}
