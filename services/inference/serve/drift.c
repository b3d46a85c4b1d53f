/* See drift.h. Bins are made of the pinned rows: tenths of a column's numbers and times, its commonest
 * values, or, where cells identify or are free text, whether there is one. They live with the state; the
 * counts wait in a list until they are sent, also when the state has gone. */
#include "services/inference/serve/drift.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/order.h"
#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/features/column.h"

/* MOST_COLUMNS: that are looked at. TENTHS: bins of numbers; VALUES: of values. SAMPLE: pinned rows that
 * tenths are made of. */
enum { MOST_COLUMNS = 200, TENTHS = 10, VALUES = 15, BINS = VALUES + 2, SAMPLE = 20000, SEND_MS = 5000 };

typedef enum { PRESENCE, NUMBERS, LEVELS } bin_kind;

typedef struct {
    bin_kind kind;
    size_t table, column, n; /* bins; the last is of missing cells */
    tab_str address;
    double edge[TENTHS];
    size_t edges;
    tab_str value[VALUES];
    uint64_t pinned[BINS], served[BINS];
    double pinned_sum, served_sum;
} counted;

struct drift {
    drift *next; /* self->drifts */
    tab_arena *arena;
    const char *org, *endpoint_id;
    uint64_t config_revision, data_revision;
    int64_t since_us;
    pthread_mutex_t lock; /* of served, served_sum, rows */
    uint64_t rows;
    size_t n, sure; /* columns; which of them is how sure the model is, or n */
    counted *col;
    atomic_bool orphan; /* the state has gone */
};

static size_t bin_of_number(const counted *c, double v)
{
    size_t b = 0;
    if (isnan(v))
        return c->n - 1;
    while (b < c->edges && v >= c->edge[b])
        b++;
    return b;
}

static size_t bin_of_text(const counted *c, tab_str v)
{
    size_t b = 0;
    while (b + 2 < c->n && !tab_str_eq(c->value[b], v))
        b++;
    return b; /* the last but one: none of them */
}

/* Tenths of n values, which are put in order; equal ones share a bin. */
static void make_tenths(counted *c, double *v, size_t n)
{
    qsort(v, n, sizeof *v, tab_ascending_double);
    for (size_t k = 1; k < TENTHS && n > 0; k++) {
        double edge = v[k * n / TENTHS];
        if (edge > (c->edges > 0 ? c->edge[c->edges - 1] : v[0]))
            c->edge[c->edges++] = edge;
    }
    c->kind = NUMBERS;
    c->n = c->edges + 2;
}

static bool pin_numbers(tab_arena *scratch, counted *c, const double *v, size_t rows)
{
    size_t step = rows > SAMPLE ? rows / SAMPLE : 1, n = 0;
    double *own = tab_arena_new_of(scratch, double, rows / step + 2);
    if (own == NULL)
        return false;
    for (size_t i = 0; i < rows; i += step)
        if (!isnan(v[i]))
            own[n++] = v[i];
    make_tenths(c, own, n);
    for (size_t i = 0; i < rows; i++)
        c->pinned[bin_of_number(c, v[i])]++;
    return true;
}

/* The commonest values have bins; of equally common ones the first. */
static bool pin_levels(tab_arena *a, tab_arena *scratch, counted *c, const tab_column_profile *p, size_t rows)
{
    uint64_t *count = tab_arena_new_of(scratch, uint64_t, p->levels + 1);
    size_t bins = p->levels < VALUES ? p->levels : VALUES;
    if (count == NULL)
        return false;
    c->kind = LEVELS;
    c->n = bins + 2;
    for (size_t i = 0; i < rows; i++) {
        if (p->code[i] == TAB_NULL)
            c->pinned[c->n - 1]++;
        else
            count[p->code[i]]++;
    }
    for (size_t b = 0; b < bins; b++) {
        size_t best = 0;
        for (size_t l = 1; l < p->levels; l++)
            best = count[l] > count[best] ? l : best;
        c->value[b] = tab_arena_copy(a, p->level[best]);
        c->pinned[b] = count[best];
        count[best] = 0;
    }
    for (size_t l = 0; l < p->levels; l++)
        c->pinned[c->n - 2] += count[l];
    return true;
}

static bool pin_presence(counted *c, const tab_column *col, size_t rows)
{
    c->kind = PRESENCE;
    c->n = 2;
    for (size_t i = 0; i < rows; i++)
        c->pinned[tab_cell_at(col, i).kind == TAB_CELL_NULL]++;
    return true;
}

/* Bins of all columns but the target, those of the target's table first. */
static bool pin_all(drift *d, tab_arena *scratch, const serve_state *st)
{
    bool ok = true;
    for (size_t k = 0; ok && k < st->n; k++) {
        size_t t = k == 0 ? st->sel.table : k <= st->sel.table ? k - 1 : k;
        const tab_profile *p = st->profile[t];
        for (size_t c = 0; ok && c < p->table->cols && d->n < MOST_COLUMNS; c++) {
            const tab_column_profile *of = &p->col[c];
            if (st->fitted != NULL && t == st->sel.table && c == st->sel.column)
                continue;
            counted *to = &d->col[d->n++];
            Tabella__ColumnRef *ref = tab_column_ref(d->arena, p->table, (uint32_t)t, c);
            *to = (counted){ .table = t, .column = c };
            if (ref == NULL)
                return false;
            to->address = (tab_str){ (const char *)ref->address.data, ref->address.len };
            bool number = of->type == TAB_NUMERIC || of->type == TAB_DATETIME || of->type == TAB_BOOLEAN;
            if (of->identifying || of->type == TAB_TEXT)
                ok = pin_presence(to, &p->table->col[c], p->table->rows);
            else if (number && of->number != NULL)
                ok = pin_numbers(scratch, to, of->number, p->table->rows);
            else if (!number && of->code != NULL)
                ok = pin_levels(d->arena, scratch, to, of, p->table->rows);
            else
                ok = pin_presence(to, &p->table->col[c], p->table->rows);
        }
    }
    d->sure = d->n;
    size_t n = 0;
    double *sure = st->fitted == NULL ? NULL : tab_fitted_sureness(scratch, st->fitted, &n);
    if (sure != NULL && n > 0) {
        counted *to = &d->col[d->n++];
        *to = (counted){ 0 };
        for (size_t i = 0; i < n; i++)
            to->pinned_sum += sure[i];
        ok = ok && pin_numbers(scratch, to, sure, n);
    } else {
        d->sure = MOST_COLUMNS + 1;
    }
    return ok && !tab_arena_full(d->arena) && !tab_arena_full(scratch);
}

drift *drift_of(inference *self, const char *org, const Tabella__ServeState *k, serve_state *st)
{
    pthread_mutex_lock(&st->lock);
    drift *d = st->drift;
    if (d != NULL || st->undrifted) {
        pthread_mutex_unlock(&st->lock);
        return d;
    }
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)1 << 30);
    tab_arena *a = tab_arena_new(64 << 20);
    d = a == NULL ? NULL : tab_arena_new_of(a, drift, 1);
    bool ok = d != NULL && scratch != NULL;
    if (ok) {
        *d = (drift){ .arena = a,
                      .org = tab_arena_copy(a, tab_str_of(org)).p,
                      .endpoint_id = tab_arena_copy(a, tab_str_of(k->endpoint_id)).p,
                      .config_revision = k->config_revision,
                      .data_revision = k->data_revision,
                      .since_us = tab_now_us(),
                      .col = tab_arena_new_of(a, counted, MOST_COLUMNS + 1) };
        ok = d->org != NULL && d->endpoint_id != NULL && d->col != NULL && pin_all(d, scratch, st);
    }
    st->undrifted = !ok;
    if (ok) {
        pthread_mutex_init(&d->lock, NULL);
        pthread_mutex_lock(&self->lock);
        d->next = self->drifts;
        self->drifts = d;
        pthread_mutex_unlock(&self->lock);
        st->drift = d;
    } else {
        tab_arena_free(a);
        d = NULL;
    }
    pthread_mutex_unlock(&st->lock);
    return d;
}

void drift_free(drift *d)
{
    if (d != NULL)
        atomic_store(&d->orphan, true); /* the next sending frees it */
}

/* Adds the cells of one request column to `to` (n bins). */
static bool count_column(const counted *c, tab_arena *a, const serve_state *st, const tab_table *t,
                         uint64_t *to)
{
    const tab_column_profile *p = &st->profile[c->table]->col[c->column];
    const tab_column *col = &t->col[c->column];
    if (c->kind == PRESENCE) {
        for (size_t i = 0; i < t->rows; i++)
            to[tab_cell_at(col, i).kind == TAB_CELL_NULL]++;
        return true;
    }
    tab_column_profile own = { .index = c->column, .column = col, .type = p->type, .role = p->role };
    tab_reading r;
    if (!tab_read_known(a, col, t->rows, &r, &own))
        return false;
    for (size_t i = 0; i < t->rows; i++) {
        if (c->kind == NUMBERS)
            to[own.number == NULL ? c->n - 1 : bin_of_number(c, own.number[i])]++;
        else if (own.code == NULL || own.code[i] == TAB_NULL)
            to[c->n - 1]++;
        else
            to[bin_of_text(c, own.level[own.code[i]])]++;
    }
    return true;
}

static void count_sureness(const counted *c, const Tabella__Prediction *p, uint64_t *to, double *sum)
{
    const Tabella__Results *r = p->results;
    size_t k = r->n_row > 0 ? r->n_probabilities / r->n_row : 0;
    for (size_t i = 0; i < r->n_row; i++) {
        double v = r->n_label > 0 ? r->probabilities[i * k + r->label[i]] : r->std[i];
        to[bin_of_number(c, v)]++;
        *sum += v;
    }
}

void drift_count(drift *d, tab_arena *a, const serve_state *st, const serve_request *r,
                 const Tabella__Prediction *p)
{
    uint64_t(*to)[BINS] = tab_arena_alloc(a, d->n + 1, sizeof *to), rows = 0;
    double sum = 0;
    if (to == NULL)
        return;
    for (size_t i = 0; i < r->n; i++) {
        rows += r->table[i]->rows;
        for (size_t c = 0; c < d->n; c++)
            if (c != d->sure && d->col[c].table == r->pinned[i] &&
                !count_column(&d->col[c], a, st, r->table[i], to[c]))
                return;
    }
    if (d->sure < d->n && p != NULL && p->results != NULL)
        count_sureness(&d->col[d->sure], p, to[d->sure], &sum);
    pthread_mutex_lock(&d->lock);
    d->rows += rows;
    for (size_t c = 0; c < d->n; c++)
        for (size_t b = 0; b < d->col[c].n; b++)
            d->col[c].served[b] += to[c][b];
    if (d->sure < d->n)
        d->col[d->sure].served_sum += sum;
    pthread_mutex_unlock(&d->lock);
}

/* The counts as a message; they begin anew. NULL: the arena is full, and they stay. */
static Tabella__Drift *take(drift *d, tab_arena *a)
{
    Tabella__Drift *m = tab_message(a, Tabella__Drift, TABELLA__DRIFT__INIT);
    Tabella__DriftColumn **list = tab_arena_new_of(a, Tabella__DriftColumn *, d->n + 1);
    Tabella__DriftColumn *each = tab_arena_new_of(a, Tabella__DriftColumn, d->n + 1);
    uint64_t(*served)[BINS] = tab_arena_alloc(a, d->n + 1, sizeof *served);
    if (m == NULL || list == NULL || each == NULL || served == NULL)
        return NULL;
    m->columns = list;
    m->config_revision = d->config_revision;
    m->data_revision = d->data_revision;
    m->since_us = d->since_us;
    pthread_mutex_lock(&d->lock);
    m->rows = d->rows;
    for (size_t c = 0; c < d->n; c++) {
        counted *of = &d->col[c];
        tabella__drift_column__init(&each[c]);
        each[c].address = (ProtobufCBinaryData){ of->address.n, (uint8_t *)(uintptr_t)of->address.p };
        each[c].n_pinned = each[c].n_served = of->n;
        each[c].pinned = of->pinned;
        each[c].served = served[c];
        each[c].pinned_sum = of->pinned_sum;
        each[c].served_sum = of->served_sum;
        memcpy(served[c], of->served, sizeof of->served);
        memset(of->served, 0, sizeof of->served);
        of->served_sum = 0;
        list[m->n_columns++] = &each[c];
    }
    d->rows = 0;
    pthread_mutex_unlock(&d->lock);
    return m;
}

/* What could not be sent waits for the next time. */
static void put_back(drift *d, const Tabella__Drift *m)
{
    pthread_mutex_lock(&d->lock);
    d->rows += m->rows;
    for (size_t c = 0; c < d->n; c++) {
        for (size_t b = 0; b < d->col[c].n; b++)
            d->col[c].served[b] += m->columns[c]->served[b];
        d->col[c].served_sum += m->columns[c]->served_sum;
    }
    pthread_mutex_unlock(&d->lock);
}

/* What became of one: sent, or kept for the next round. */
enum sent { SENT, KEPT, AWAY };

static enum sent send(inference *self, drift *d, tab_deadline end, const atomic_bool *gone)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    Tabella__DriftRequest q = TABELLA__DRIFT_REQUEST__INIT;
    tab_answer answer;
    tab_error err = { 0 };
    if (a == NULL || (q.drift = take(d, a)) == NULL)
        return KEPT;
    if (q.drift->rows == 0)
        return SENT;
    q.endpoint_id = (char *)(uintptr_t)d->endpoint_id;
    tab_ask ask = { .service = "jobs",
                    .method = "Drift",
                    .org = d->org,
                    .actor = "inference",
                    .deadline = end,
                    .in = &q.base,
                    .reply = &tabella__empty__descriptor,
                    .arena = a,
                    .gone = gone };
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, &err);
    if (s == TAB_OK || s == TAB_NOT_FOUND || s == TAB_VALIDATION)
        return SENT;
    put_back(d, q.drift);
    tab_log_fields(TAB_WARN, "counts of served rows are sent later", "endpoint", d->endpoint_id, "why",
                   err.message, NULL);
    return s == TAB_UNAVAILABLE || s == TAB_CANCELLED ? AWAY : KEPT;
}

/* One thread at a time sends; others only put in front of the list. While jobs is away it is asked once a
 * round, and a round ends in time: a stop waits for one. */
void drift_send(inference *self, const atomic_bool *gone)
{
    tab_deadline end = tab_in_ms(SEND_MS);
    pthread_mutex_lock(&self->lock);
    drift *first = self->drifts;
    pthread_mutex_unlock(&self->lock);
    for (drift *d = first, *next; d != NULL; d = next) {
        next = d->next;
        bool orphan = atomic_load(&d->orphan); /* before: nothing is counted afterwards */
        enum sent sent = send(self, d, end, gone);
        if (sent == AWAY)
            break;
        if (!orphan || sent != SENT)
            continue;
        pthread_mutex_lock(&self->lock);
        drift **at = &self->drifts;
        while (*at != d)
            at = &(*at)->next;
        *at = next;
        pthread_mutex_unlock(&self->lock);
        pthread_mutex_destroy(&d->lock);
        tab_arena_free(d->arena); /* d lies in it */
    }
}
