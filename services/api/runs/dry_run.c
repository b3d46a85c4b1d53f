/* `dry_run: true` in run, create, serve, refresh and generate: what the call would be billed, by
 * operation, and what is left. Nothing is done, kept or billed, and an Idempotency-Key is not claimed,
 * so that the call itself may follow under it. */
#include "proto/data.pb-c.h"
#include "proto/metering.pb-c.h"
#include "services/api/render/members.h"
#include "services/api/runs/allowance.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

tab_status dry_run_read(request *r, const tab_json *root, tab_error *err)
{
    const tab_json *m = root == NULL ? NULL : tab_json_get(root, "dry_run");
    if (m == NULL)
        return TAB_OK;
    if (m->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "dry_run", "`dry_run` must be true or false");
    r->dry_run = m->yes;
    return TAB_OK;
}

static void cells_by_op(tab_out *o, const char *name, const Tabella__ReserveReply *y, bool raw)
{
    open_member(o, name, '{');
    for (size_t i = 0; i < y->n_by_op; i++) {
        tab_out_key_str(o, tab_str_of(y->by_op[i]->op));
        tab_out_uint(o, raw ? y->by_op[i]->raw : (uint64_t)y->by_op[i]->cells);
    }
    tab_out_close(o, '}');
}

tab_status dry_run_answer(request *r, cost *c, tab_error *err)
{
    TAB_TRY(dry_run_open(r, c, err));
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status dry_run_open(request *r, cost *c, tab_error *err)
{
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    const Tabella__ReserveReply *y;
    tab_out *o = &r->out;
    q.dry = true;
    TAB_TRY(allowance_ask(r, c, &q, 0, &y, err));
    if (y == NULL)
        return tab_fail(err, TAB_UNAVAILABLE, "", "the cost cannot be computed at the moment; try again");
    tab_out_open(o, '{');
    bool_member(o, "dry_run", true);
    uint_member(o, "total_cells", (y->cost_milli + 500) / 1000);
    cells_by_op(o, "by_op", y, false);
    cells_by_op(o, "by_op_raw", y, true);
    tab_out_key(o, "left_cells");
    if (y->limited)
        tab_out_uint(o, y->left_milli / 1000);
    else
        tab_out_null(o);
    tab_out_key(o, "amount_usd");
    if (y->usd_per_million > 0)
        tab_out_double(o, y->amount_usd);
    else
        tab_out_null(o);
    bool_member(o, "allowed", y->allowed);
    text_member(o, "reason", y->allowed ? NULL : y->message);
    warnings_member(r, NULL);
    return TAB_OK;
}

tab_status dry_run_drop(request *r, size_t refs, const char *owner, tab_status s)
{
    Tabella__DropRequest q = TABELLA__DROP_REQUEST__INIT;
    const Tabella__Empty *y;
    tab_error none; /* what is left falls away with its lease */
    q.owner = STR(owner);
    if (refs > 0)
        (void)!call(r, "data-connector", "Drop", &q.base, &tabella__empty__descriptor, &y, &none);
    return s;
}
