/* The state version of an endpoint, in Redis under its id and its name: tab:s:ORG:ID. The gateway reads it
 * with the key of each serve call, and the api keeps the endpoint's row only as long as the version is the
 * one it knows.
 *
 *   change:  forget (delete) -> commit -> show (set)        no version: the api asks jobs, which shows it
 *            again
 *
 * An entry lives STATE_S seconds. So whatever is lost on the way (a daemon between commit and show, a
 * Redis that comes back with old data), nobody sees an old state longer than that; and where a deletion
 * cannot reach Redis it is not acknowledged before that time has passed. A reader that raced with a change
 * shows what it has read too late: an older version never replaces a newer one, and a deletion leaves a
 * mark for as long as any call may take, over which nothing is shown (chaos F10 found the six calls that
 * were served after their endpoint's deletion). */
#include <stdio.h>
#include <time.h>

#include "services/jobs/work.h"

enum { STATE_S = 2, GONE_S = 90, REDIS_MS = 100 };
#define GONE "gone"

static bool forget(jobs *self, const char *org, const char *id)
{
    redisReply *reply = NULL;
    tab_status s = tab_redis_command(self->redis, REDIS_MS, &reply, NULL, "DEL tab:s:%s:%s", org, id);
    if (s == TAB_OK)
        freeReplyObject(reply);
    return s == TAB_OK;
}

void state_forget(jobs *self, const char *org, const Tabella__Endpoint *e)
{
    (void)forget(self, org, e->id);
    (void)forget(self, org, e->name);
}

bool state_gone(jobs *self, const char *org, const Tabella__Endpoint *e)
{
    redisReply *reply = NULL;
    tab_status s = tab_redis_command(self->redis, REDIS_MS, &reply, NULL, "SET tab:s:%s:%s " GONE " EX %d",
                                     org, e->id, (int)GONE_S);
    if (s == TAB_OK)
        freeReplyObject(reply);
    return s == TAB_OK && forget(self, org, e->name); /* the name may soon be another endpoint's */
}

void state_show(jobs *self, const char *org, const Tabella__Endpoint *e)
{
    static const char script[] =
        "redis.call('SET', KEYS[3], ARGV[4], 'NX') "
        "local now = redis.call('GET', KEYS[1]) or '' if now == '" GONE
        "' or tonumber(now:match(':(%d+)$') or 0) > tonumber(ARGV[2]) then return 0 end for i = 1, "
        "2 do redis.call('SET', KEYS[i], ARGV[1], 'EX', ARGV[3]) end return 1";
    char version[24], both[TAB_ID + 24], since[TAB_ID];
    redisReply *reply = NULL;
    tab_id_new(since, "");
    snprintf(version, sizeof version, "%llu", (unsigned long long)e->state_version);
    snprintf(both, sizeof both, "%s:%s", e->id, version);
    if (tab_redis_command(self->redis, REDIS_MS, &reply, NULL,
                          "EVAL %s 3 tab:s:%s:%s tab:s:%s:%s tab:s:since %s %s %d %s", script, org, e->id,
                          org, e->name, both, version, (int)STATE_S, since) == TAB_OK)
        freeReplyObject(reply);
}
