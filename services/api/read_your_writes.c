/* What an answer has named can be read by the next request, on any instance.
 *
 * A run's record and its row in jobs are made from the run's event (common/rpc/outbox.h), which is delivered
 * a moment after the answer. A reader who does not find what he asks for waits until the events that his
 * organization had under way when he asked have arrived, then asks once more (decision 0396). Only
 * those who find nothing pay for it. */
#include <poll.h>

#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/service_calls.h"

enum { PROMISED_MS = 5000, PAUSE_MS = 10, LONGEST_PAUSE_MS = 80 };

typedef struct {
    int64_t own, jobs; /* the newest event under way in each outbox; 0: none */
} under_way;

/* No event newer than those of `now`, of which 0 is any at first and none later. */
static tab_status look(request *r, const char *service, bool first, under_way *now, tab_error *err)
{
    if (first || now->own > 0)
        TAB_TRY(tab_outbox_waiting(r->api->pg, "api", r->who.org, service, now->own,
                                   tab_within_ms(r->deadline, TAB_SMALL_TX_MS), &now->own, err));
    if (!first && now->jobs == 0)
        return TAB_OK;
    Tabella__WaitingRequest q = TABELLA__WAITING_REQUEST__INIT;
    const Tabella__WaitingReply *y = NULL;
    q.service = STR(service);
    q.up_to = now->jobs;
    TAB_TRY(call(r, "jobs", "Waiting", &q.base, &tabella__waiting_reply__descriptor, &y, err));
    now->jobs = y->event;
    return TAB_OK;
}

tab_status call_promised(request *r, const char *service, const char *method, const void *in,
                         const ProtobufCMessageDescriptor *reply, void *ret, tab_error *err)
{
    tab_status s = call(r, service, method, in, reply, ret, err);
    if (s != TAB_NOT_FOUND)
        return s;
    under_way now = { 0, 0 };
    tab_deadline until = tab_within_ms(r->deadline, PROMISED_MS);
    tab_error lost;
    if ((s = look(r, service, true, &now, &lost)) != TAB_OK) {
        *err = lost;
        return s;
    }
    for (int pause = PAUSE_MS; now.own > 0 || now.jobs > 0;
         pause = pause < LONGEST_PAUSE_MS ? 2 * pause : pause) {
        if (tab_left_ms(until, 1) <= 0 || atomic_load(&r->gone))
            return tab_fail(err, TAB_UNAVAILABLE, "",
                            "this was created a moment ago and is not readable here yet; try again");
        poll(NULL, 0, pause);
        if ((s = look(r, service, false, &now, &lost)) != TAB_OK) {
            *err = lost;
            return s;
        }
    }
    return call(r, service, method, in, reply, ret, err);
}
