/* See reads.h: one list under one lock. It is as long as there are workers. */
#include "services/data-connector/reader/reads.h"

#include <stdio.h>

#include "common/base/hash.h"
#include "services/data-connector/source/source.h"

enum { LOOK_MS = 200 }; /* how often a waiting one looks whether it is still wanted */

void reads_init(read_turns *r, int64_t most_org, int64_t most_place)
{
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    r->first = NULL;
    r->last = &r->first;
    r->most_org = most_org < 1 ? 1 : most_org;
    r->most_place = most_place < 1 ? 1 : most_place;
}

/* "postgres://db.example.com:5432" of "postgres://db.example.com:5432/shop/public/orders" */
static uint64_t place_of(const char *ref)
{
    const char *at = strstr(ref, "://");
    size_t n = at == NULL ? strlen(ref) : (size_t)(at - ref) + 3;
    n += at == NULL ? 0 : strcspn(at + 3, "/");
    return tab_fnv1a(TAB_FNV1A, ref, n);
}

/* Under the lock: whether it may run beside those that do. Who came before to the same place goes before. */
static bool may_run(const read_turns *r, const read_turn *turn)
{
    int64_t of_org = 0, of_place = 0;
    for (const read_turn *t = r->first; t != NULL; t = t->next) {
        if (t == turn || strcmp(t->org, turn->org) != 0)
            continue;
        of_org += t->running;
        of_place += t->running && t->place == turn->place;
    }
    for (const read_turn *t = r->first; t != turn; t = t->next)
        if (!t->running && t->place == turn->place && strcmp(t->org, turn->org) == 0)
            return false;
    return of_org < r->most_org && of_place < r->most_place;
}

static void take_out(read_turns *r, read_turn *turn)
{
    read_turn **at = &r->first;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    if (r->last == &turn->next)
        r->last = at;
    pthread_cond_broadcast(&r->changed);
}

tab_status reads_enter(read_turns *r, read_turn *turn, const char *org, const char *ref,
                       tab_deadline deadline, const atomic_bool *cancel, tab_error *err)
{
    int64_t all = tab_left_ms(deadline, INT32_MAX), until = tab_mono_ms() + all / 2;
    *turn = (read_turn){ .place = place_of(ref) };
    snprintf(turn->org, sizeof turn->org, "%s", org);
    pthread_mutex_lock(&r->lock);
    *r->last = turn;
    r->last = &turn->next;
    tab_status s = TAB_OK;
    while (!may_run(r, turn) && s == TAB_OK) {
        (void)tab_cond_wait(&r->changed, &r->lock, tab_in_ms(LOOK_MS));
        if (*cancel)
            s = source_too_late(err);
        else if (tab_mono_ms() >= until && !may_run(r, turn))
            s = tab_fail(
                err, TAB_RATE_LIMIT, "",
                "The organization is already reading the most sources it may at once (%lld in all, %lld "
                "from one host).",
                (long long)r->most_org, (long long)r->most_place);
    }
    turn->running = s == TAB_OK;
    if (s != TAB_OK)
        take_out(r, turn);
    pthread_mutex_unlock(&r->lock);
    return s;
}

void reads_leave(read_turns *r, read_turn *turn)
{
    pthread_mutex_lock(&r->lock);
    take_out(r, turn);
    pthread_mutex_unlock(&r->lock);
}
