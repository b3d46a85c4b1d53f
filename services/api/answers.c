/* Answers that a request waits for without a thread. One thread takes them off the RPC and puts each request
 * back into its lane, where a worker goes on with it. */
#include <poll.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "services/api/api.h"
#include "services/api/service_calls.h"

struct api_answers {
    api *a;
    pthread_t thread;
    atomic_bool stop;
};

static void *take(void *arg)
{
    struct api_answers *w = arg;
    struct pollfd fd = { .fd = tab_rpc_fd(w->a->rpc), .events = POLLIN };
    while (!atomic_load(&w->stop))
        if (poll(&fd, 1, 200) > 0)
            tab_rpc_dispatch(w->a->rpc);
    return NULL;
}

struct api_answers *answers_open(api *a)
{
    struct api_answers *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->a = a;
    if (pthread_create(&w->thread, NULL, take, w) != 0) {
        tab_log(TAB_ERROR, "no thread for answers");
        free(w);
        return NULL;
    }
    return w;
}

void answers_free(struct api_answers *w)
{
    if (w == NULL)
        return;
    atomic_store(&w->stop, true);
    pthread_join(w->thread, NULL);
    free(w);
}

bool call_start(request *r, tab_ask *ask, tab_rpc_done *done, void *arg, tab_error *err)
{
    ask->org = r->who.org;
    ask->request_id = r->request_id;
    ask->actor = r->who.key;
    ask->address = r->address;
    ask->arena = r->arena;
    return tab_rpc_start(r->api->rpc, ask, done, arg, err);
}
