/* What options.horizon asks is billed as rows that were sent (decision 0394). How many they are
 * depends on the series that are in the tables, which inference tells before the request is let in:
 * limits, reservation, cells a minute and the bill are then those of any other cells. */
#include <stdio.h>

#include "proto/inference.pb-c.h"
#include "services/api/runs/allowance.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

tab_status horizon_cells(request *r, const tab_body *b, const Tabella__RunOptions *o,
                         Tabella__TableSource *const *source, size_t n, uint64_t cells, uint64_t *ret_made,
                         tab_error *err)
{
    Tabella__HorizonRequest q = TABELLA__HORIZON_REQUEST__INIT;
    Tabella__RunOptions options = *o;
    tab_answer answer;
    *ret_made = 0;
    if (o->horizon == 0)
        return TAB_OK;
    q.sources = (Tabella__TableSource **)source;
    q.n_sources = n;
    q.options = &options;
    tab_ask ask = { .service = "inference",
                    .method = "Horizon",
                    .in = &q.base,
                    .tables = b->tables,
                    .n_tables = b->n_tables,
                    .gone = &r->gone,
                    .reply = &tabella__horizon_reply__descriptor };
    TAB_TRY(call_with(r, &ask, &answer, err));
    const Tabella__HorizonReply *y = answer.msg;
    uint64_t most = (uint64_t)r->api->cfg.run_cells;
    if (y->cells > most || cells > most - y->cells)
        return tab_fail(
            err, TAB_VALIDATION, "options.horizon",
            "%u steps for every series make %llu rows and %llu cells; with the cells of the tables that "
            "exceeds the limit of %llu",
            o->horizon, (unsigned long long)y->rows, (unsigned long long)y->cells, (unsigned long long)most);
    *ret_made = y->cells;
    return TAB_OK;
}
