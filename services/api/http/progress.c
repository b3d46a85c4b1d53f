/* See progress.h. The list is the process's: NATS may still tell something while the server goes. */
#include "services/api/http/progress.h"

#include <nats/nats.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    progress *first;
} watched = { .lock = PTHREAD_MUTEX_INITIALIZER };

void progress_begin(request *r, const char *name)
{
    progress *p = r->progress;
    if (p == NULL || p->name[0] != 0 || strlen(name) >= sizeof p->name)
        return;
    p->told = -1;
    pthread_mutex_lock(&watched.lock);
    snprintf(p->name, sizeof p->name, "%s", name);
    p->next = watched.first;
    watched.first = p;
    pthread_mutex_unlock(&watched.lock);
    r->api->parked.tell(r);
}

bool progress_new(const request *r, int *ret_percent, char ret_phase[40])
{
    const progress *p = r->progress;
    pthread_mutex_lock(&watched.lock);
    *ret_percent = p->percent;
    memcpy(ret_phase, p->phase, sizeof p->phase);
    pthread_mutex_unlock(&watched.lock);
    return *ret_percent > p->told;
}

void progress_end(request *r)
{
    if (r->progress == NULL)
        return;
    pthread_mutex_lock(&watched.lock);
    for (progress **at = &watched.first; *at != NULL; at = &(*at)->next)
        if (*at == r->progress) {
            *at = r->progress->next;
            break;
        }
    pthread_mutex_unlock(&watched.lock);
}

void progress_heard(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    (void)arg;
    enum { MESSAGE_MOST = 4096 };
    int n = natsMsg_GetDataLength(m);
    pthread_mutex_lock(&watched.lock);
    bool any = watched.first != NULL; /* most of what is told is a job's */
    pthread_mutex_unlock(&watched.lock);
    Tabella__Progress *told =
        !any || n > MESSAGE_MOST
            ? NULL
            : tabella__progress__unpack(NULL, (size_t)n, (const uint8_t *)natsMsg_GetData(m));
    if (told != NULL) {
        double done = told->done > 0 ? told->done : 0; /* no number: 0 */
        int percent = done < 1 ? (int)(100 * done) : 100;
        pthread_mutex_lock(&watched.lock);
        for (progress *p = watched.first; p != NULL; p = p->next)
            if (strcmp(p->name, told->call_id) == 0 && percent >= p->percent) {
                p->percent = percent;
                snprintf(p->phase, sizeof p->phase, "%s", told->phase);
            }
        pthread_mutex_unlock(&watched.lock);
        tabella__progress__free_unpacked(told, NULL);
    }
    natsMsg_Destroy(m);
}
