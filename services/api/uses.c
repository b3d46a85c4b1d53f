/* See uses.h. A table of fixed size by key; of more keys than it has places for, some are not told of. */
#include "services/api/uses.h"

#include <stdio.h>

#include "common/base/hash.h"
#include "proto/keys.pb-c.h"

enum { PLACES = 1024, WAYS = 4, AGENT = 200, ADDRESS = 46, ALIKE_MS = 10000, TELL_MS = 2000 };

typedef struct {
    char org[sizeof((tab_grant *)NULL)->org], key[sizeof((tab_grant *)NULL)->key];
    char address[ADDRESS], agent[AGENT];
    int64_t at_us, told_ms;
    bool fresh;
} place;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static place places[PLACES];

/* The key's own, or the one that was told longest ago; NULL: all wait to be told. */
static place *place_of(const tab_grant *who)
{
    size_t first = tab_place_text(tab_str_of(who->key)) % PLACES;
    place *best = NULL;
    for (size_t i = 0; i < WAYS; i++) {
        place *p = &places[(first + i) % PLACES];
        if (strcmp(p->key, who->key) == 0 && strcmp(p->org, who->org) == 0)
            return p;
        if (!p->fresh && (best == NULL || p->told_ms < best->told_ms))
            best = p;
    }
    if (best == NULL)
        return NULL;
    *best = (place){ .told_ms = 0 };
    snprintf(best->org, sizeof best->org, "%s", who->org);
    snprintf(best->key, sizeof best->key, "%s", who->key);
    return best;
}

static bool says(const char *kept, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 1);
    return strlen(kept) == n && memcmp(kept, text, n) == 0;
}

void uses_note(const request *r)
{
    const char *address = r->address != NULL ? r->address : "", *agent = r->agent != NULL ? r->agent : "";
    pthread_mutex_lock(&lock);
    place *p = place_of(&r->who);
    if (p != NULL) {
        bool alike = p->told_ms != 0 && says(p->address, ADDRESS, address) && says(p->agent, AGENT, agent);
        p->at_us = tab_now_us();
        p->fresh = p->fresh || !alike || tab_mono_ms() - p->told_ms > ALIKE_MS;
        if (!alike) {
            snprintf(p->address, ADDRESS, "%s", address);
            snprintf(p->agent, AGENT, "%s", agent);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* All that are fresh, into the message; they are so no longer. */
static bool take(tab_arena *a, Tabella__NoteUsesRequest *q)
{
    place *copy = tab_arena_new_of(a, place, PLACES);
    q->uses = tab_arena_new_of(a, Tabella__Use *, PLACES);
    Tabella__Use *use = tab_arena_new_of(a, Tabella__Use, PLACES);
    if (copy == NULL || q->uses == NULL || use == NULL)
        return false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < PLACES; i++)
        if (places[i].fresh) {
            places[i].fresh = false;
            places[i].told_ms = tab_mono_ms();
            copy[q->n_uses++] = places[i];
        }
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < q->n_uses; i++) {
        Tabella__Use *u = q->uses[i] = &use[i];
        tabella__use__init(u);
        u->org = copy[i].org;
        u->key_id = copy[i].key;
        u->address = copy[i].address;
        u->agent = copy[i].agent;
        u->at = copy[i].at_us;
    }
    return true;
}

/* They were not told: the next round has them again. */
static void put_back(const Tabella__NoteUsesRequest *q)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < q->n_uses; i++)
        for (size_t k = 0; k < PLACES; k++)
            if (strcmp(places[k].key, q->uses[i]->key_id) == 0)
                places[k].fresh = true;
    pthread_mutex_unlock(&lock);
}

void uses_tell(api *a)
{
    TAB_AUTO(tab_arena) *arena = tab_arena_new(4 << 20);
    Tabella__NoteUsesRequest q = TABELLA__NOTE_USES_REQUEST__INIT;
    tab_answer answer;
    tab_error err;
    if (arena == NULL || !take(arena, &q) || q.n_uses == 0)
        return;
    tab_ask ask = { .service = "keys",
                    .method = "NoteUses",
                    .org = "",
                    .request_id = "",
                    .actor = "",
                    .deadline = tab_in_ms(TELL_MS),
                    .in = &q.base,
                    .reply = &tabella__note_uses_reply__descriptor,
                    .arena = arena };
    if (tab_rpc_call(a->rpc, &ask, &answer, &err) != TAB_OK)
        put_back(&q);
}
