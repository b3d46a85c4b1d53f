/* See calibration.h: what outcomes make of the calibration, by which common/calibration/follow.c moves
 * answers. */
#include "services/jobs/outcomes/calibration.h"

#include "common/base/proto.h"
#include "common/calibration/live.h"
#include "common/rpc/outbox.h"

/* ---- what is stored -------------------------------------------------------------------------- */

static Tabella__LiveCalibration *fresh(tab_arena *a, const Tabella__Endpoint *e, uint64_t number)
{
    Tabella__LiveCalibration *c = tab_arena_new_of(a, Tabella__LiveCalibration, 1);
    if (c == NULL)
        return NULL;
    tabella__live_calibration__init(c);
    c->state = number;
    c->config_revision = e->config_revision;
    c->data_revision = e->data_revision;
    return c;
}

tab_status calibration_served(tab_arena *a, Tabella__Endpoint *e, tab_str served, tab_error *err)
{
    Tabella__LiveCalibration *c = tab_proto_read(a, &tabella__live_calibration__descriptor, served);
    if (c == NULL) { /* serve calls say so, until the next outcome begins anew */
        e->calibration = fresh(a, e, 0);
        if (e->calibration == NULL)
            return tab_no_memory(err);
        e->calibration->task = UINT32_MAX;
        return TAB_OK;
    }
    if (c->config_revision != e->config_revision || c->data_revision != e->data_revision)
        c = fresh(a, e, c->state + 1);
    e->calibration = c;
    return c == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- moving it ------------------------------------------------------------------------------- */

bool outcome_is_current(const Tabella__Endpoint *e, const tab_receipt *r)
{
    return r->task != TAB_RECEIPT_ANOMALY && r->config_revision == e->config_revision &&
           r->data_revision == e->data_revision;
}

void calibration_begin(live_calibration *l, tab_receipt_task task, uint64_t number)
{
    l->task = task;
    l->number = number;
    l->moved = 0;
    tab_bands_begin(&l->bands);
    tab_shares_begin(&l->shares);
}

/* The endpoint's state of that task; where there is none, as before any outcome. It is read under the
 * endpoint's lock: what came with the endpoint's row is of before the wait for it. */
static tab_status restore(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, tab_receipt_task task,
                          live_calibration *l, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT served, bands FROM jobs.calibration WHERE org = $1 AND endpoint_id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(e->id))));
    e->calibration = NULL;
    if (tab_rows_count(rows) > 0)
        TAB_TRY(calibration_served(call->arena, e, tab_rows_bytes(rows, 0, 0, call->arena), err));
    const Tabella__LiveCalibration *c = e->calibration;
    bool good = true;
    calibration_begin(l, task, c == NULL ? 0 : c->state);
    if (c == NULL || c->task != task)
        return TAB_OK;
    if (task == TAB_RECEIPT_CLASS) {
        good = tab_live_get_shares(c, &l->shares);
    } else {
        const Tabella__LiveBands *b = tab_proto_read(call->arena, &tabella__live_bands__descriptor,
                                                     tab_rows_bytes(rows, 0, 1, call->arena));
        good = b != NULL && tab_live_get_state(b, &l->bands);
    }
    return good ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "a stored calibration cannot be read");
}

static void tell_class(live_calibration *l, const tab_receipt *r, const outcome *o)
{
    uint64_t hash[TAB_RECEIPT_CLASSES];
    double share[TAB_RECEIPT_CLASSES], rest = 1;
    for (size_t k = 0; k < r->classes; k++) {
        hash[k] = r->of[k].hash;
        share[k] = (double)r->of[k].own;
        rest -= share[k];
    }
    tab_shares_row row = { r->classes, hash, share, r->others, rest < 0 ? 0 : rest };
    tab_shares_tell(&l->shares, &row, outcome_class(r, o));
    l->moved++;
}

void calibration_tell(live_calibration *l, const counted *c)
{
    const tab_receipt *r = &c->receipt;
    float expert[TAB_BANDS_LEVELS][TAB_BANDS_EXPERTS];
    double score;
    uint64_t now = l->number + l->moved;
    if (l->task == TAB_RECEIPT_CLASS) {
        tell_class(l, r, &c->outcome);
        return;
    }
    if (!tab_bands_score(r->own_low, r->own_median, r->own_high, c->outcome.number, &score))
        return;
    const double y = c->outcome.number;
    const bool below[TAB_BANDS_LEVELS] = { y <= r->low, y <= r->median, y <= r->high };
    memcpy(expert, r->expert, sizeof expert);
    tab_bands_tell(&l->bands, (const float(*)[TAB_BANDS_EXPERTS])expert, below, score,
                   now > r->state ? now - r->state : 0);
    l->moved++;
}

static tab_status store(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const live_calibration *l,
                        tab_error *err)
{
    tab_bands bands;
    tab_str state = { NULL, 0 };
    Tabella__LiveCalibration *c = fresh(call->arena, e, l->number + l->moved);
    if (c == NULL)
        return tab_no_memory(err);
    c->task = l->task;
    if (l->task == TAB_RECEIPT_CLASS) {
        if (!tab_live_put_shares(call->arena, &l->shares, c))
            return tab_no_memory(err);
    } else {
        const Tabella__LiveBands *b = tab_live_of_state(call->arena, &l->bands);
        tab_bands_of(&l->bands, &bands);
        if (b == NULL || !tab_live_put_bands(call->arena, &bands, c))
            return tab_no_memory(err);
        state = tab_proto_write(call->arena, &b->base);
    }
    tab_str served = tab_proto_write(call->arena, &c->base);
    if (served.p == NULL || (l->task == TAB_RECEIPT_NUMBER && state.p == NULL))
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "INSERT INTO jobs.calibration (org, endpoint_id, served, bands) "
                         "VALUES ($1, $2, $3, $4) ON CONFLICT (org, endpoint_id) "
                         "DO UPDATE SET served = excluded.served, bands = excluded.bands",
                         TAB_P(tab_p_text(call->org), tab_p_text(e->id), tab_p_bytes(served),
                               state.p == NULL ? tab_p_text(NULL) : tab_p_bytes(state))));
    e->calibration = c;
    return TAB_OK;
}

/* That another state is served from now on, and to whom it is owed. */
static tab_status announce(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const live_calibration *l,
                           tab_error *err)
{
    char id[TAB_ID];
    Tabella__AuditEvent a = TABELLA__AUDIT_EVENT__INIT;
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE jobs.endpoint SET state_version = state_version + 1 "
                         "WHERE org = $1 AND endpoint_id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(e->id))));
    e->state_version++;
    tab_id_new(id, "evt_");
    a.event_id = id;
    a.org_id = (char *)(uintptr_t)call->org;
    a.at_us = tab_now_us();
    a.actor = (char *)(uintptr_t)call->actor;
    a.action = (char *)(uintptr_t) "endpoint.calibration";
    a.subject = e->id;
    a.request_id = (char *)(uintptr_t)call->request_id;
    a.address = (char *)(uintptr_t)call->address;
    a.detail = tab_arena_printf(call->arena, "state %llu, by %llu outcomes",
                                (unsigned long long)(l->number + l->moved), (unsigned long long)l->moved);
    if (a.detail == NULL)
        return tab_no_memory(err);
    return tab_outbox_put(tx, "jobs", id, "tabella.event.audit", call->org, &a.base, err);
}

tab_status calibration_move(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const counted *const *of,
                            size_t n, uint64_t *ret, tab_error *err)
{
    live_calibration *l = NULL;
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        const tab_receipt *r = &of[i]->receipt;
        if (!r->followed || !outcome_is_current(e, r))
            continue;
        if (l == NULL) {
            l = tab_arena_new_of(call->arena, live_calibration, 1);
            if (l == NULL)
                return tab_no_memory(err);
            TAB_TRY(restore(tx, call, e, r->task, l, err));
        }
        if (r->task == l->task)
            calibration_tell(l, of[i]);
    }
    if (l == NULL || l->moved == 0)
        return TAB_OK;
    *ret = l->moved;
    TAB_TRY(store(tx, call, e, l, err));
    return announce(tx, call, e, l, err);
}
