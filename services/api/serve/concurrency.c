/* See concurrency.h: the counts of this process under one lock, and the Redis function that hears of them. */
#include "services/api/serve/concurrency.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/redis/limits.h"

enum { BUCKETS = 1024, LEASE_MS = 5000 };

typedef struct org_calls {
    struct org_calls *next;
    char org[48];
    uint32_t n;
    concurrent *first;
} org_calls;

static struct {
    pthread_mutex_t lock;
    uint64_t word; /* numbers what is told, so that an older word never stands over a newer one */
    org_calls *of[BUCKETS];
} calls = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- in this process; the lock is held ------------------------------------------------------- */

static org_calls **find(const char *org)
{
    org_calls **at = &calls.of[tab_text_slot(org, BUCKETS)];
    while (*at != NULL && strcmp((*at)->org, org) != 0)
        at = &(*at)->next;
    return at;
}

static int64_t first_end(const org_calls *o)
{
    int64_t first = INT64_MAX;
    for (const concurrent *p = o->first; p != NULL; p = p->next)
        first = p->ends < first ? p->ends : first;
    return first;
}

static void release(concurrent *p, uint32_t n)
{
    org_calls *o = p->of;
    assert(o != NULL && n <= p->n && p->n <= o->n); /* an organization has as many as its calls have */
    p->n -= n;
    o->n -= n;
    if (p->n > 0)
        return;
    p->of = NULL;
    for (concurrent **at = &o->first; *at != NULL; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    if (o->first == NULL) {
        *find(o->org) = o->next;
        free(o);
    }
}

/* What Redis is to be told of an organization. */
typedef struct {
    char org[48];
    uint32_t n;
    uint64_t word;
    int64_t ends;
} told;

static told word_of(const org_calls *o, const char *org)
{
    told t = { .n = o == NULL ? 0 : o->n, .word = ++calls.word, .ends = o == NULL ? 0 : first_end(o) };
    assert(o == NULL || (o->n > 0) == (o->first != NULL));
    snprintf(t.org, sizeof t.org, "%s", org);
    return t;
}

/* ---- over all -------------------------------------------------------------------------------- */

/* Tells Redis how many calls are under way here; most 0: it only tells. *ret_retry: milliseconds until there
 * may be room; 0: there is, or (false) Redis does not answer. */
static bool tell(api *a, const told *t, uint32_t most, int64_t *ret_retry)
{
    char key[64], n[16], word[24], limit[16], lease[16], ends[24];
    int64_t left = t->ends - tab_mono_ms();
    redisReply *y = NULL;
    snprintf(key, sizeof key, "tab:o:%s", t->org);
    snprintf(n, sizeof n, "%u", t->n);
    snprintf(word, sizeof word, "%llu", (unsigned long long)t->word);
    snprintf(limit, sizeof limit, "%u", most);
    snprintf(lease, sizeof lease, "%d", LEASE_MS);
    snprintf(ends, sizeof ends, "%lld", (long long)(left > 0 ? left : 0));
    *ret_retry = 0;
    const char *argv[] = { "tab_calls", "1", key, a->owner, n, word, limit, lease, ends };
    if (tab_limits_call(a->redis, a->cfg.redis_ms, &y, NULL, 9, argv) != TAB_OK)
        return false;
    if (y->type == REDIS_REPLY_ARRAY && y->elements == 2 && y->element[0]->integer == 0)
        *ret_retry = y->element[1]->integer;
    freeReplyObject(y);
    return true;
}

bool concurrency_take(request *r, concurrent *p, uint32_t n, int64_t ends)
{
    const char *org = r->who.org;
    uint32_t most =
        r->who.endpoint_concurrency; /* of one endpoint, and of all calls: the plan's one number */
    int64_t retry = 0;
    *p = (concurrent){ .n = n, .ends = ends };
    pthread_mutex_lock(&calls.lock);
    org_calls **at = find(org), *o = *at;
    if (o == NULL && (o = calloc(1, sizeof *o)) != NULL) {
        snprintf(o->org, sizeof o->org, "%s", org);
        *at = o;
    }
    if (o != NULL && most > 0 && o->n + n > most)
        retry = o->n == 0 ? 1 : first_end(o) - tab_mono_ms();
    bool room = o != NULL && (most == 0 || o->n + n <= most);
    told t = { 0 };
    if (room) {
        p->of = o;
        p->next = o->first;
        o->first = p;
        o->n += n;
        t = word_of(o, org);
    } else if (o != NULL && o->first == NULL) {
        *at = o->next;
        free(o);
    }
    pthread_mutex_unlock(&calls.lock);
    if (room && most > 0 && tell(r->api, &t, most, &retry) && retry > 0) {
        room = false;
        pthread_mutex_lock(&calls.lock);
        release(p, n);
        pthread_mutex_unlock(&calls.lock);
    }
    r->retry_after = room ? 0 : retry > 1000 ? (unsigned)((retry + 999) / 1000) : 1;
    return room;
}

void concurrency_release(api *a, concurrent *p, uint32_t n)
{
    if (p->of == NULL || n == 0)
        return;
    pthread_mutex_lock(&calls.lock);
    char org[48];
    memcpy(org, p->of->org, sizeof org);
    release(p, n);
    told t = word_of(*find(org), org);
    pthread_mutex_unlock(&calls.lock);
    int64_t none;
    (void)tell(a, &t, 0, &none);
}

void concurrency_renew(api *a)
{
    for (size_t b = 0; b < BUCKETS; b++)
        for (size_t i = 0;; i++) { /* by position: what comes and goes meanwhile tells for itself */
            pthread_mutex_lock(&calls.lock);
            const org_calls *o = calls.of[b];
            for (size_t k = 0; k < i && o != NULL; k++)
                o = o->next;
            told t = o == NULL ? (told){ 0 } : word_of(o, o->org);
            pthread_mutex_unlock(&calls.lock);
            int64_t none;
            if (o == NULL)
                break;
            if (!tell(a, &t, 0, &none))
                return; /* Redis is away */
        }
}
