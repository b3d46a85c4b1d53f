/* Idempotency-Key, as docs/decisions/idempotency.md has it: per organization, method and path; bytes compared
 * by digest.
 *
 *   no row --claim--> open (owner, attempt; lease 5 s, renewed while its request is at work)
 *                       |
 *                       +--complete--> answered, kept 7 days
 *                       +--refused---> no row
 *                       +--lease past: claimed again, attempt + 1, same seed
 *                       +--failed, who knows how far: given up (owner ''), claimed again at once, same seed
 *
 * The seed outlives a failure: what an attempt has made before its answer was lost is found by the next,
 * which makes the same ids. Another body may take a key that was given up, with a seed of its own.
 *
 * Completing asks for owner and attempt: who was frozen past its lease finds nothing to complete,
 * and its transaction, with the billing event in it, rolls back. */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/point.h"
#include "services/api/api.h"
#include "services/api/idempotency.h"
#include "services/api/render/members.h"

tab_status idempotency_key_check(const request *r, tab_error *err)
{
    const char *k = r->idempotency_key;
    size_t n = strlen(k);
    if (r->idempotency_headers > 1)
        return tab_fail(err, TAB_VALIDATION, "Idempotency-Key", "the header was sent twice");
    for (size_t i = 0; i < n; i++)
        if (k[i] < 0x20 || k[i] > 0x7e)
            return tab_fail(err, TAB_VALIDATION, "Idempotency-Key", "the key must be printable ASCII");
    if (n < 1 || n > 255)
        return tab_fail(err, TAB_VALIDATION, "Idempotency-Key", "the key must have 1 to 255 characters");
    return TAB_OK;
}

#define KEY_PARAMS(r)                                                                          \
    tab_p_text((r)->who.org), tab_p_text(tab_routes[(r)->route].method), tab_p_str((r)->path), \
        tab_p_text((r)->idempotency_key)

static tab_str answer_context(request *r)
{
    const char *text = tab_arena_printf(r->arena, "api.idempotency/%s/%s/%.*s/%s", r->who.org,
                                        tab_routes[r->route].method, TAB_STR(r->path), r->idempotency_key);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

/* Claims the row for this request, with the seed of an earlier attempt; or leaves it to the request that
 * holds it. */
static tab_status take_row(request *r, tab_tx *tx, tab_str digest, bool *ret_claimed, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(
        tx, &rows, err,
        "INSERT INTO api.idempotency AS i (org, method, path, key, body_sha256, seed, owner, lease_until) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, now() + " IDEMPOTENCY_LEASE ") "
        "ON CONFLICT (org, method, path, key) "
        "DO UPDATE SET owner = excluded.owner, attempt = i.attempt + 1, lease_until = excluded.lease_until, "
        "seed = CASE WHEN i.expires_at < now() OR i.body_sha256 <> excluded.body_sha256 "
        "THEN excluded.seed ELSE i.seed END, "
        "body_sha256 = excluded.body_sha256, status = NULL, answer = NULL, "
        "expires_at = now() + interval '7 days' "
        "WHERE i.expires_at < now() OR (i.status IS NULL AND i.lease_until < now() "
        "AND (i.owner = '' OR i.body_sha256 = excluded.body_sha256)) "
        "RETURNING seed, attempt",
        TAB_P(KEY_PARAMS(r), tab_p_bytes(digest), tab_p_text(r->seed), tab_p_text(r->api->owner))));
    *ret_claimed = tab_rows_count(rows) == 1;
    if (*ret_claimed) {
        tab_str seed = tab_rows_str(rows, 0, 0);
        memcpy(r->seed, seed.p, seed.n < TAB_ID ? seed.n : TAB_ID - 1);
        r->seed[seed.n < TAB_ID ? seed.n : TAB_ID - 1] = 0;
        r->attempt = tab_rows_int(rows, 0, 1);
        if (r->attempt > 1)
            TAB_POINT("idempotency.again");
    }
    return TAB_OK;
}

/* The answer of the request that had the key first, into r->out; nothing while that one is at work. */
static tab_status replay(request *r, tab_tx *tx, tab_str digest, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT body_sha256 = $5, status, answer "
                                "FROM api.idempotency "
                                "WHERE org = $1 AND method = $2 AND path = $3 AND key = $4",
                                TAB_P(KEY_PARAMS(r), tab_p_bytes(digest)));
    if (s != TAB_OK || tab_rows_count(rows) == 0)
        return s;
    if (!tab_rows_bool(rows, 0, 0))
        return tab_fail(err, TAB_CONFLICT, "Idempotency-Key",
                        "this key was already used with a different body");
    if (tab_rows_null(rows, 0, 1))
        return TAB_OK;
    tab_str answer;
    s = tab_run_open(&r->api->run_keys, r->arena, tab_rows_bytes(rows, 0, 2, r->arena), answer_context(r),
                     &answer, err);
    if (s != TAB_OK)
        return s;
    TAB_POINT("idempotency.replay");
    r->status = (int)tab_rows_int(rows, 0, 1);
    tab_out_bytes(&r->out, answer.p, answer.n);
    r->replayed = true;
    return TAB_OK;
}

tab_status idempotency_claim(request *r, tab_error *err)
{
    assert(!r->claimed && r->idempotency_key != NULL);
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_str digest = { (const char *)r->body_sha256, sizeof r->body_sha256 };
    bool claimed;
    TAB_TRY(tab_tx_begin(r->api->pg, r->who.org, tab_within_ms(r->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(take_row(r, tx, digest, &claimed, err));
    if (!claimed)
        return replay(r, tx, digest, err);
    TAB_TRY(tab_tx_commit(&tx, err));
    r->claimed = true;
    pthread_mutex_lock(&r->api->claims.lock);
    r->next_claim = r->api->claims.first;
    r->api->claims.first = r;
    pthread_mutex_unlock(&r->api->claims.lock);
    return TAB_OK;
}

tab_status idempotency_complete(request *r, tab_tx *tx, tab_error *err)
{
    if (!r->claimed)
        return TAB_OK;
    assert(!r->completed && r->attempt > 0);
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_str answer;
    tab_status s =
        tab_run_seal(&r->api->run_keys, r->arena, tab_out_text(&r->out), answer_context(r), &answer, err);
    if (s != TAB_OK)
        return s;
    s = tab_tx_query(tx, &rows, err,
                     "UPDATE api.idempotency "
                     "SET status = $5, answer = $6 "
                     "WHERE org = $1 AND method = $2 AND path = $3 AND key = $4 AND status IS NULL "
                     "AND owner = $7 AND attempt = $8",
                     TAB_P(KEY_PARAMS(r), tab_p_int(r->status), tab_p_bytes(answer),
                           tab_p_text(r->api->owner), tab_p_int(r->attempt)));
    if (s == TAB_OK && tab_rows_affected(rows) == 0) {
        TAB_POINT("idempotency.overtaken");
        s = tab_fail(err, TAB_UNAVAILABLE, "",
                     "another request with this key has taken over; try again with the same key");
    }
    r->completed = s == TAB_OK;
    return s;
}

/* The row is answered: the claim is no longer this request's to release. */
void idempotency_done(request *r)
{
    if (r->claimed) {
        r->claimed = false;
        pthread_mutex_lock(&r->api->claims.lock);
        for (request **at = &r->api->claims.first; *at != NULL; at = &(*at)->next_claim)
            if (*at == r) {
                *at = r->next_claim;
                break;
            }
        pthread_mutex_unlock(&r->api->claims.lock);
    }
}

tab_status idempotency_finish(request *r, tab_error *err)
{
    if (!r->claimed)
        return TAB_OK;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(r->api->pg, r->who.org, tab_in_ms(3000), &tx, err);
    if (s == TAB_OK)
        s = idempotency_complete(r, tx, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK)
        idempotency_done(r);
    return s;
}

#define OPEN                                                                         \
    " WHERE org = $1 AND method = $2 AND path = $3 AND key = $4 AND status IS NULL " \
    "AND owner = $5 AND attempt = $6"

void idempotency_release(request *r, tab_status why)
{
    if (!r->claimed)
        return;
    bool refused = why != TAB_INTERNAL && why != TAB_UNAVAILABLE && why != TAB_CANCELLED;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err;
    if (tab_tx_begin(r->api->pg, r->who.org, tab_in_ms(3000), &tx, &err) == TAB_OK &&
        tab_tx_query(tx, NULL, &err,
                     refused ? "DELETE FROM api.idempotency" OPEN
                             : "UPDATE api.idempotency "
                               "SET owner = '', lease_until = now() - interval '1 second'" OPEN,
                     TAB_P(KEY_PARAMS(r), tab_p_text(r->api->owner), tab_p_int(r->attempt))) == TAB_OK)
        (void)!tab_tx_commit(&tx, &err); /* or its lease ends by itself */
    idempotency_done(r);
}

/* Which rows the requests at work here hold: by name, since a row whose request has lost it (its release
 * found no database) has the same owner and must not live on other requests' account. */
bool idempotency_claims(api *a, tab_out *o)
{
    pthread_mutex_lock(&a->claims.lock);
    bool any = a->claims.first != NULL;
    tab_out_open(o, '[');
    for (const request *r = a->claims.first; r != NULL; r = r->next_claim) {
        tab_out_open(o, '{');
        text_member(o, "org", r->who.org);
        text_member(o, "method", tab_routes[r->route].method);
        str_member(o, "path", r->path);
        text_member(o, "key", r->idempotency_key);
        int_member(o, "attempt", r->attempt);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    pthread_mutex_unlock(&a->claims.lock);
    return any && !o->failed;
}
