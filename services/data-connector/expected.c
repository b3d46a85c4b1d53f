/* What a sync's rows have that the snapshots before them do not let expect: by which snapshots they are
 * judged, and what is told. */
#include "common/base/proto.h"
#include "proto/events.pb-c.h"
#include "services/data-connector/data.h"
#include "services/data-connector/expectations/expectations.h"

/* EARLIER_CELLS: of one earlier snapshot, which lies in memory as a whole. COLUMNS_TOLD: by an event. */
enum { EARLIER_CELLS = 5000000, COLUMNS_TOLD = 5 };

/* Snapshots of the dataset before this one: how many rows they had, and those whose rows are kept. */
static tab_status earlier(data_service *self, tab_tx *tx, tab_call *call, const store_snapshot *known,
                          expectations_case *c, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id, rows, kept AND rows * cols <= $4 "
                         "FROM data_connector.snapshot "
                         "WHERE org = $1 AND dataset = $2 AND NOT outcomes AND created < (SELECT created "
                         "FROM data_connector.snapshot WHERE org = $1 AND id = $3) "
                         "ORDER BY created DESC LIMIT 20",
                         TAB_P(tab_p_text(call->org), tab_p_text(known->dataset), tab_p_text(known->id),
                               tab_p_int(EARLIER_CELLS))));
    bool unbroken = true; /* a step leads from each snapshot to the next one */
    for (size_t i = 0; i < tab_rows_count(r) && i < EXPECT_COUNTS; i++) {
        store_snapshot s;
        c->counts[c->n_counts++] = (uint64_t)tab_rows_int(r, i, 1);
        unbroken = unbroken && tab_rows_bool(r, i, 2);
        if (!unbroken || c->n_earlier == EXPECT_EARLIER)
            continue;
        TAB_TRY(store_snapshot_get(tx, call->arena, call->org, tab_rows_text(r, i, 0), &s, err));
        TAB_TRY(store_snapshot_read(tx, call->arena, call->org, &s, 0, s.rows, NULL, 0, s.name, &self->keys,
                                    &c->earlier[c->n_earlier++], err));
    }
    return TAB_OK;
}

/* ---- the message ----------------------------------------------------------------------------- */

static ProtobufCBinaryData bytes(tab_arena *a, tab_str s)
{
    tab_str copy = tab_arena_copy(a, s);
    return (ProtobufCBinaryData){ .len = copy.p == NULL ? 0 : copy.n, .data = (uint8_t *)(uintptr_t)copy.p };
}

static tab_status tell(tab_arena *a, const expectations *found, Tabella__Expectations *m, tab_error *err)
{
    m->checks = found->checks;
    m->rows = found->rows;
    for (size_t i = 0; i < found->n_changed && m->n_changed < EXPECT_SAID; i++) {
        const expectation *e = &found->changed[i];
        Tabella__Expectation *x = tab_arena_new_of(a, Tabella__Expectation, 1);
        if (x == NULL)
            return tab_no_memory(err);
        tabella__expectation__init(x);
        x->kind = tab_proto_text(a, e->kind);
        x->column = bytes(a, e->column);
        x->with = bytes(a, e->with);
        x->value = bytes(a, e->value);
        x->reason = bytes(a, e->reason);
        x->before = e->before;
        x->after = e->after;
        x->p = e->p;
        m->changed[m->n_changed++] = x;
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status data_expected(data_service *self, tab_tx *tx, tab_call *call, const data_step *s,
                         Tabella__Expectations **ret, tab_error *err)
{
    tab_arena *a = call->arena;
    expectations found;
    expectations_case c = { .known = s->before, .judged = s->after };
    Tabella__Expectations *m = tab_arena_new_of(a, Tabella__Expectations, 1);
    if (m == NULL)
        return tab_no_memory(err);
    tabella__expectations__init(m);
    if ((m->changed = tab_arena_new_of(a, Tabella__Expectation *, EXPECT_SAID)) == NULL)
        return tab_no_memory(err);
    TAB_TRY(earlier(self, tx, call, s->known, &c, err));
    TAB_TRY(expectations_step(a, &c, s->diff, s->rows, &found, err));
    TAB_TRY(tell(a, &found, m, err));
    m->earlier = (uint32_t)c.n_earlier;
    *ret = m;
    return TAB_OK;
}

/* ---- the event ------------------------------------------------------------------------------- */

tab_status data_expected_event(tab_tx *tx, tab_call *call, const char *dataset, const char *name,
                               const char *snapshot, const Tabella__Expectations *m, tab_error *err)
{
    Tabella__DataChanged e = TABELLA__DATA_CHANGED__INIT;
    char id[TAB_ID];
    if (m->n_changed == 0)
        return TAB_OK;
    tab_id_new(id, "evt_");
    e.event_id = id;
    e.org_id = (char *)(uintptr_t)call->org;
    e.at_us = tab_now_us();
    e.dataset = (char *)(uintptr_t)dataset;
    e.name = (char *)(uintptr_t)name;
    e.snapshot = (char *)(uintptr_t)snapshot;
    e.changed = (uint32_t)m->n_changed;
    e.checks = m->checks;
    e.columns = tab_arena_new_of(call->arena, ProtobufCBinaryData, COLUMNS_TOLD);
    if (e.columns == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < m->n_changed && e.n_columns < COLUMNS_TOLD; i++) {
        ProtobufCBinaryData c = m->changed[i]->column;
        bool there = c.len == 0;
        for (size_t k = 0; k < e.n_columns && !there; k++)
            there = c.len == e.columns[k].len && memcmp(c.data, e.columns[k].data, c.len) == 0;
        if (!there)
            e.columns[e.n_columns++] = c;
    }
    return tab_outbox_put(tx, "data_connector", id, "tabella.event.data.changed", call->org, &e.base, err);
}
