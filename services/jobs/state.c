/* The state version of an endpoint, in Redis under its id and its name: tab:s:ORG:ID. The gateway reads it with the
 * key of each serve call, and the api keeps the endpoint's row only as long as the version is the one it knows.
 *
 *   change:  forget (delete) -> commit -> show (set)        no version: the api asks jobs, which shows it again
 *
 * An entry lives STATE_S seconds. So whatever is lost on the way (a daemon between commit and show, a Redis that comes
 * back with old data, an entry shown by a reader that raced with a change), nobody sees an old state longer than that;
 * and where a deletion cannot reach Redis it is not acknowledged before that time has passed. */
#include <stdio.h>
#include <time.h>

#include "services/jobs/work.h"

enum { STATE_S = 2, REDIS_MS = 100 };

static bool command(jobs *self, const char *fmt, const char *org, const char *id, const char *version)
{
    redisReply *reply = NULL;
    tab_status s = version == NULL ? tab_redis_command(self->redis, REDIS_MS, &reply, NULL, fmt, org, id)
                                   : tab_redis_command(self->redis, REDIS_MS, &reply, NULL, fmt, org, id, version, (int)STATE_S);
    if (s == TAB_OK)
        freeReplyObject(reply);
    return s == TAB_OK;
}

void state_forget(jobs *self, const char *org, const Tabella__Endpoint *e)
{
    (void)command(self, "DEL tab:s:%s:%s", org, e->id, NULL);
    (void)command(self, "DEL tab:s:%s:%s", org, e->name, NULL);
}

bool state_settled(jobs *self, const char *org, const Tabella__Endpoint *e)
{
    return command(self, "DEL tab:s:%s:%s", org, e->id, NULL) && command(self, "DEL tab:s:%s:%s", org, e->name, NULL);
}

void state_show(jobs *self, const char *org, const Tabella__Endpoint *e)
{
    char version[TAB_ID + 24];
    snprintf(version, sizeof version, "%s:%llu", e->id, (unsigned long long)e->state_version);
    (void)command(self, "SET tab:s:%s:%s %s EX %d", org, e->id, version);
    (void)command(self, "SET tab:s:%s:%s %s EX %d", org, e->name, version);
}
