/* The meter's own check (decision 0332): every sum that the usage object shows is computed anew from
 * the ledger's events and lines, in one statement an organization, so that what is counted meanwhile is in
 * both or in neither. Once a day, whichever process comes first; and when an operator asks. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/proto.h"
#include "services/metering/metering.h"

enum { SHOWN = 100, PAGE = 500, ORG_MS = 600000, LOOK_MS = 20000, MONTHS_MS = 6 * 3600000 };

typedef struct {
    uint64_t organizations, lines, sums, different;
    uint64_t unchecked; /* organizations whose check failed, as by its time limit */
} found;

static tab_metric *different(void)
{
    return tab_gauge("tabella_usage_differences",
                     "Sums shown that are not what the ledger adds up to, at the last nightly check", NULL);
}

static tab_metric *unchecked(void)
{
    return tab_gauge("tabella_usage_unchecked_organizations",
                     "Organizations whose ledger the last nightly check could not add up", NULL);
}

static void verified(int64_t at_us)
{
    tab_metric_set(tab_gauge("tabella_usage_verified_timestamp_seconds",
                             "When the last nightly check of the ledger ended", NULL),
                   (double)at_us / 1e6);
}

static Tabella__Difference *difference_of(tab_arena *a, const tab_rows *r, size_t i, const char *org)
{
    Tabella__Difference *d = tab_arena_new_of(a, Tabella__Difference, 1);
    if (d == NULL)
        return NULL;
    tabella__difference__init(d);
    d->org = tab_proto_text(a, org);
    d->day = tab_proto_text(a, tab_rows_text(r, i, 0));
    d->op = tab_proto_text(a, tab_rows_text(r, i, 1));
    d->surface = tab_proto_text(a, tab_rows_text(r, i, 2));
    d->key = tab_proto_text(a, tab_rows_text(r, i, 3));
    d->endpoint_id = tab_proto_text(a, tab_rows_text(r, i, 4));
    d->model = tab_proto_text(a, tab_rows_text(r, i, 5));
    d->shown_cells = tab_rows_int(r, i, 6);
    d->ledger_cells = tab_rows_int(r, i, 7);
    d->shown_milli = tab_rows_int(r, i, 8);
    d->ledger_milli = tab_rows_int(r, i, 9);
    d->shown_requests = tab_rows_int(r, i, 10);
    d->ledger_requests = tab_rows_int(r, i, 11);
    return d;
}

/* A checkpoint that does not hold: what stands under it proves nothing. */
static tab_status checkpoint_differs(const char *org, const char *why, found *f, tab_arena *a,
                                     Tabella__VerifyReply *y, tab_error *err)
{
    f->different++;
    tab_log_fields(TAB_ERROR, "a checkpoint of the ledger does not hold", "org", org, "why", why, NULL);
    if (y == NULL || y->n_differences == SHOWN)
        return TAB_OK;
    Tabella__Difference *d = tab_arena_new_of(a, Tabella__Difference, 1);
    if (d == NULL)
        return tab_no_memory(err);
    tabella__difference__init(d);
    d->org = tab_proto_text(a, org);
    d->why = tab_proto_text(a, why);
    y->differences[y->n_differences++] = d;
    return TAB_OK;
}

/* y, or NULL: where the first differences go. */
static tab_status verify_org(metering *m, const char *org, found *f, tab_arena *a, Tabella__VerifyReply *y,
                             tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    const char *why = NULL;
    TAB_TRY(tab_tx_begin(m->pg, org, tab_in_ms(ORG_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT * FROM metering.differences($1)", TAB_P(tab_p_text(org))));
    TAB_TRY(metering_checkpoints(tx, org, m->checkpoint_keys, &why, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    f->organizations++;
    if (why != NULL)
        TAB_TRY(checkpoint_differs(org, why, f, a, y, err));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        if (tab_rows_null(r, i, 0)) { /* the row of counts */
            f->lines += (uint64_t)tab_rows_int(r, i, 12);
            f->sums += (uint64_t)tab_rows_int(r, i, 13);
            continue;
        }
        f->different++;
        tab_log_fields(TAB_ERROR, "a sum of the usage object is not what its ledger adds up to", "org", org,
                       "day", tab_rows_text(r, i, 0), "op", tab_rows_text(r, i, 1), "shown_milli",
                       tab_rows_text(r, i, 8), "ledger_milli", tab_rows_text(r, i, 9), NULL);
        if (y == NULL || y->n_differences == SHOWN)
            continue;
        if ((y->differences[y->n_differences] = difference_of(a, r, i, org)) == NULL)
            return tab_no_memory(err);
        y->n_differences++;
    }
    return TAB_OK;
}

/* All organizations that the ledger knows, in pages, so that no transaction is long. stop: ends early, with
 * CANCELLED. */
static tab_status verify_all(metering *m, const atomic_bool *stop, found *f, tab_arena *a,
                             Tabella__VerifyReply *y, tab_error *err)
{
    char after[64] = "";
    for (size_t n = PAGE; n == PAGE;) {
        TAB_AUTO(tab_tx) *tx = NULL;
        TAB_AUTO(tab_rows) *r = NULL;
        TAB_TRY(tab_tx_begin(m->pg, TAB_ORG_ALL, tab_in_ms(ORG_MS), &tx, err));
        /* the next larger one each time: an index scan, however many rows an organization has */
        TAB_TRY(tab_tx_query(tx, &r, err,
                             "WITH RECURSIVE o AS ("
                             "(SELECT least((SELECT min(org) FROM metering.total WHERE org > $1), "
                             "(SELECT min(org) FROM metering.event WHERE org > $1)) AS org) "
                             "UNION ALL "
                             "SELECT least((SELECT min(t.org) FROM metering.total t WHERE t.org > o.org), "
                             "(SELECT min(e.org) FROM metering.event e WHERE e.org > o.org)) "
                             "FROM o "
                             "WHERE o.org IS NOT NULL) "
                             "SELECT org FROM o WHERE org IS NOT NULL LIMIT $2",
                             TAB_P(tab_p_text(after), tab_p_int(PAGE))));
        TAB_TRY(tab_tx_commit(&tx, err));
        n = tab_rows_count(r);
        for (size_t i = 0; i < n; i++) {
            if (stop != NULL && atomic_load(stop))
                return tab_fail(err, TAB_CANCELLED, "", "stopping");
            const char *org = tab_rows_text(r, i, 0);
            tab_error own = { 0 };
            tab_status s = verify_org(m, org, f, a, y, &own);
            if (s == TAB_OK)
                continue;
            /* one organization's trouble is not that of those behind it */
            f->unchecked++;
            tab_log_fields(TAB_ERROR, "an organization's ledger could not be checked", "org", org, "why",
                           own.message, NULL);
            if (!tab_pg_alive(m->pg))
                return tab_fail(err, s, own.param, "%s", own.message);
        }
        if (n > 0)
            snprintf(after, sizeof after, "%s", tab_rows_text(r, n - 1, 0));
    }
    return TAB_OK;
}

tab_status metering_verify(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    const Tabella__VerifyRequest *q = call->in;
    Tabella__VerifyReply *y = call->out;
    found f = { 0 };
    y->differences = tab_arena_new_of(call->arena, Tabella__Difference *, SHOWN);
    if (y->differences == NULL)
        return tab_no_memory(err);
    if (q->org[0] != 0)
        TAB_TRY(verify_org(m, q->org, &f, call->arena, y, err));
    else
        TAB_TRY(verify_all(m, NULL, &f, call->arena, y, err));
    if (q->org[0] == 0)
        tab_metric_set(different(), (double)f.different);
    y->organizations = f.organizations;
    y->lines = f.lines;
    y->sums = f.sums;
    y->different = f.different;
    y->unchecked = f.unchecked;
    return TAB_OK;
}

/* ---- every night ----------------------------------------------------------------------------- */

struct metering_nightly {
    metering *m;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool stop;
    int64_t told; /* when the check ended that the metrics speak of */
    int64_t months_due;
};

/* Takes the day's check, where it is due and nobody has; one that was begun an hour ago and did not end is
 * taken over. Tells how the last one ended, whoever did it. */
static tab_status take(metering *m, char day[16], int64_t *told, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *taken = NULL;
    TAB_AUTO(tab_rows) *last = NULL;
    day[0] = 0;
    TAB_TRY(tab_tx_begin(m->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err));
    TAB_TRY(tab_tx_query(tx, &taken, err,
                         "INSERT INTO metering.verification AS v (day) "
                         "SELECT (now() AT TIME ZONE 'UTC')::date "
                         "WHERE extract(hour FROM now() AT TIME ZONE 'UTC') >= $1 "
                         "ON CONFLICT (day) DO UPDATE SET at = now() "
                         "WHERE v.ended IS NULL AND v.at < now() - interval '1 hour' "
                         "RETURNING day::text",
                         TAB_P(tab_p_int(m->verify_hour))));
    TAB_TRY(tab_tx_query(tx, &last, err,
                         "SELECT ended, different FROM metering.verification WHERE ended IS NOT NULL "
                         "ORDER BY day DESC LIMIT 1",
                         TAB_P_NONE));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (tab_rows_count(taken) == 1)
        snprintf(day, 16, "%s", tab_rows_text(taken, 0, 0));
    else if (tab_rows_count(last) == 1 && tab_rows_time(last, 0, 0) != *told) {
        *told = tab_rows_time(last, 0, 0); /* once: an operator's check may say more since */
        verified(*told);
        tab_metric_set(different(), (double)tab_rows_int(last, 0, 1));
    }
    return TAB_OK;
}

static tab_status note(metering *m, const char *day, const found *f, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(m->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err));
    TAB_TRY(
        tab_tx_query(tx, NULL, err,
                     "UPDATE metering.verification SET ended = now(), lines = $2, different = $3 "
                     "WHERE day = $1::date",
                     TAB_P(tab_p_text(day), tab_p_int((int64_t)f->lines), tab_p_int((int64_t)f->different))));
    return tab_tx_commit(&tx, err);
}

/* The ledger's parts for the months to come, made two months ahead. */
static void make_months(struct metering_nightly *n)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err = { 0 };
    if (tab_mono_ms() < n->months_due)
        return;
    tab_status s = tab_tx_begin(n->m->pg, TAB_ORG_ALL, tab_in_ms(LOOK_MS), &tx, &err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, &err, "SELECT metering.line_months()", TAB_P_NONE);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, &err);
    if (s != TAB_OK)
        tab_log_fields(TAB_WARN, "the ledger's next month has no part yet", "why", err.message, NULL);
    n->months_due = tab_mono_ms() + (s == TAB_OK ? MONTHS_MS : LOOK_MS);
}

static void look(struct metering_nightly *n)
{
    char day[16];
    tab_error err = { 0 };
    found f = { 0 };
    make_months(n);
    if (take(n->m, day, &n->told, &err) != TAB_OK || day[0] == 0)
        return; /* the database is away, or nothing is due: looked again soon */
    tab_status s = verify_all(n->m, &n->stop, &f, NULL, NULL, &err);
    tab_metric_set(unchecked(), (double)f.unchecked);
    if (s == TAB_OK)
        s = note(n->m, day, &f, &err);
    if (s != TAB_OK) {
        tab_log_fields(TAB_WARN, "the check of the ledger did not end; it is begun again", "why", err.message,
                       NULL);
        return;
    }
    char lines[24], wrong[24];
    snprintf(lines, sizeof lines, "%llu", (unsigned long long)f.lines);
    snprintf(wrong, sizeof wrong, "%llu", (unsigned long long)f.different);
    verified(tab_now_us());
    tab_metric_set(different(), (double)f.different);
    tab_log_fields(f.different == 0 ? TAB_INFO : TAB_ERROR, "the ledger was checked", "day", day, "lines",
                   lines, "different", wrong, NULL);
}

static void *nights(void *arg)
{
    struct metering_nightly *n = arg;
    while (!atomic_load(&n->stop)) {
        look(n);
        pthread_mutex_lock(&n->lock);
        tab_deadline until = tab_in_ms(LOOK_MS);
        while (!atomic_load(&n->stop) && tab_cond_wait(&n->wake, &n->lock, until))
            continue;
        pthread_mutex_unlock(&n->lock);
    }
    return NULL;
}

struct metering_nightly *metering_nightly_start(metering *m)
{
    struct metering_nightly *n = calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    n->m = m;
    (void)different(), (void)unchecked(); /* told before the first night: what is absent alerts nobody */
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->wake, NULL);
    if (pthread_create(&n->thread, NULL, nights, n) != 0) {
        free(n);
        return NULL;
    }
    return n;
}

void metering_nightly_stop(struct metering_nightly *n)
{
    if (n == NULL)
        return;
    pthread_mutex_lock(&n->lock);
    atomic_store(&n->stop, true);
    pthread_cond_signal(&n->wake);
    pthread_mutex_unlock(&n->lock);
    pthread_join(n->thread, NULL);
    free(n);
}
