/* The events of serve calls, written in groups: while one transaction commits, what comes meanwhile waits and is written
 * by the next one, so that a busy api pays for one commit a group and a lone call for its own alone. Every call still
 * waits for the commit of its event before its first byte. */
#include <stdio.h>
#include <stdlib.h>

#include "services/api/api.h"

enum { GROUP = 256 };
enum {
    BILL_MS = 4000
}; /* two groups may wait for a frozen database, one after the other: within 10 s all know */

typedef struct bill {
    struct bill *next;
    const char *id, *org;
    tab_str event;
    bool done, lead;
    tab_status s;
    tab_error err;
    pthread_cond_t wake;
} bill;

static struct {
    pthread_mutex_t lock;
    bill *first, **last;
    bool busy;
} bills = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Three arrays in PostgreSQL's text form. Ids are letters, digits and '_', so that nothing needs quoting but bytea. */
static tab_status write_group(api *a, bill *const *b, size_t n, tab_deadline deadline,
                              tab_error *err)
{
    static const char hex[] = "0123456789abcdef";
    size_t ids = 8, orgs = 8, events = 8;
    for (size_t i = 0; i < n; i++) {
        ids += strlen(b[i]->id) + 1;
        orgs += strlen(b[i]->org) + 1;
        events += 2 * b[i]->event.n + 8;
    }
    char *text = malloc(ids + orgs + events);
    if (text == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    char *id = text, *org = text + ids, *event = org + orgs, *i_at = id, *o_at = org, *e_at = event;
    for (size_t i = 0; i < n; i++) {
        char before = i == 0 ? '{' : ',';
        i_at += sprintf(i_at, "%c%s", before, b[i]->id);
        o_at += sprintf(o_at, "%c%s", before, b[i]->org);
        e_at += sprintf(e_at, "%c\"\\\\x", before);
        for (size_t k = 0; k < b[i]->event.n; k++) {
            *e_at++ = hex[(uint8_t)b[i]->event.p[k] >> 4];
            *e_at++ = hex[(uint8_t)b[i]->event.p[k] & 15];
        }
        *e_at++ = '"';
    }
    strcpy(i_at, "}");
    strcpy(o_at, "}");
    *e_at++ = '}';
    *e_at = 0;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(a->pg, TAB_ORG_ALL, deadline, &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(
            tx, NULL, err,
            "INSERT INTO api.outbox (event_id, subject, org, payload) SELECT id, "
            "'tabella.event.work.done', "
            "org, event FROM unnest($1::text[], $2::text[], $3::bytea[]) AS x (id, org, event) "
            "ON CONFLICT (event_id) DO NOTHING",
            TAB_P(tab_p_text(id), tab_p_text(org), tab_p_text(event)));
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    free(text);
    return s;
}

/* Writes what waits, its own bill among it; then whoever came first meanwhile leads. */
static void lead(api *a, tab_deadline deadline)
{
    bill *group[GROUP];
    size_t n = 0;
    for (; bills.first != NULL && n < GROUP; bills.first = bills.first->next)
        group[n++] = bills.first;
    if (bills.first == NULL)
        bills.last = &bills.first;
    pthread_mutex_unlock(&bills.lock);
    tab_error err = { 0 };
    tab_status s = write_group(a, group, n, deadline, &err);
    if (s == TAB_OK)
        tab_relay_nudge(a->relay);
    pthread_mutex_lock(&bills.lock);
    for (size_t i = 0; i < n; i++) {
        group[i]->s = s;
        group[i]->err = err;
        group[i]->done = true;
        pthread_cond_signal(&group[i]->wake);
    }
    bills.busy = bills.first != NULL;
    if (bills.busy) {
        bills.first->lead = true;
        pthread_cond_signal(&bills.first->wake);
    }
}

tab_status bill_put(request *r, const char *id, const ProtobufCMessage *event, tab_error *err)
{
    bill b = { .id = id, .org = r->who.org, .event = tab_proto_write(r->arena, event) };
    if (b.event.p == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    pthread_cond_init(&b.wake, NULL);
    pthread_mutex_lock(&bills.lock);
    if (bills.first == NULL)
        bills.last = &bills.first;
    *bills.last = &b;
    bills.last = &b.next;
    b.lead = !bills.busy;
    bills.busy = true;
    while (!b.done) {
        if (b.lead)
            lead(r->api, tab_within_ms(r->deadline, BILL_MS));
        else
            pthread_cond_wait(&b.wake, &bills.lock);
    }
    pthread_mutex_unlock(&bills.lock);
    pthread_cond_destroy(&b.wake);
    if (b.s == TAB_CANCELLED)
        return tab_fail(err, TAB_UNAVAILABLE, "", "the database does not answer now");
    if (b.s != TAB_OK)
        return tab_fail(err, b.s, b.err.param, "%s", b.err.message);
    return TAB_OK;
}
