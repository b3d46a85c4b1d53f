/* What outgrows a message: its holder keeps it, its receiver pulls it.
 *
 *   receiver                              holder
 *   "0 8388608"   ------ inbox.h.ID ----->           credit: bytes 0 to 8 MiB, to my inbox.p.ID
 *                 <---- offset | 256 KiB -           32 chunks
 *   "8388608 12582912" when half has come            more credit, in halves of the window
 *   "BYTES BYTES" at the end                          all is here: an owned body is dropped
 *
 * So at most a window is on the way whatever the body's size, and a slow receiver is never flooded. Chunks
 * come in order on one connection; what was lost with a reconnect is asked for again after a silence. */
#include <stdio.h>
#include <stdlib.h>

#include "common/rpc/rpc_internal.h"

/* ---- bodies ---------------------------------------------------------------------------------- */

tab_status rpc_body_make(tab_arena *wire_arena, const ProtobufCMessage *m, const tab_table *const *tables,
                         size_t n, rpc_body *ret, tab_error *err)
{
    size_t packed = protobuf_c_message_get_packed_size(m), head_n = (packed + 7) / 8 * 8;
    tab_wire *w = NULL;
    if (n > 0) {
        tab_status s = tab_wire_new(wire_arena, tables, n, &w, err);
        if (s != TAB_OK)
            return s;
    }
    char *head = calloc(1, head_n + 1);
    if (head == NULL)
        return tab_no_memory(err);
    protobuf_c_message_pack(m, (uint8_t *)head);
    *ret = n > 0 ? (rpc_body){ head, head_n, head_n + tab_wire_bytes(w), (int64_t)packed, w }
                 : (rpc_body){ head, packed, packed, -1, NULL };
    return TAB_OK;
}

void rpc_body_copy(const rpc_body *b, size_t at, size_t n, char *ret)
{
    if (at < b->head_n) {
        size_t m = b->head_n - at < n ? b->head_n - at : n;
        memcpy(ret, b->head + at, m);
        ret += m;
        at += m;
        n -= m;
    }
    if (n > 0)
        tab_wire_copy(b->wire, at - b->head_n, n, ret);
}

static void *arena_alloc(void *a, size_t n)
{
    return tab_arena_alloc(a, n, 1);
}

static void arena_keep(void *a, void *p)
{
    (void)a;
    (void)p;
}

tab_status rpc_body_read(tab_arena *a, tab_str bytes, int64_t packed, const ProtobufCMessageDescriptor *type,
                         const void **ret_msg, const tab_table *const **ret_tables, size_t *ret_n,
                         tab_error *err)
{
    size_t n = packed < 0 ? bytes.n : (size_t)packed, at = packed < 0 ? bytes.n : (n + 7) / 8 * 8;
    if (n > bytes.n || at > bytes.n)
        return tab_fail(err, TAB_VALIDATION, NULL, "a message is damaged");
    ProtobufCAllocator in_arena = { arena_alloc, arena_keep, a };
    *ret_msg = protobuf_c_message_unpack(type, &in_arena, n, (const uint8_t *)bytes.p);
    if (*ret_msg == NULL)
        return tab_arena_full(a) ? tab_no_memory(err)
                                 : tab_fail(err, TAB_VALIDATION, NULL, "a message is damaged");
    *ret_tables = NULL;
    *ret_n = 0;
    return packed < 0 ? TAB_OK
                      : tab_wire_read(a, (tab_str){ bytes.p + at, bytes.n - at }, ret_tables, ret_n, err);
}

/* ---- holding --------------------------------------------------------------------------------- */

rpc_kept_body *rpc_kept_body_new(tab_rpc *rpc, const rpc_body *body, tab_arena *owned, tab_deadline deadline)
{
    rpc_kept_body *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->body = *body;
    h->owned = owned;
    h->deadline = deadline;
    pthread_mutex_lock(&rpc->lock);
    h->id = rpc_new_id(rpc);
    h->next = rpc->kept[h->id % BUCKETS];
    rpc->kept[h->id % BUCKETS] = h;
    rpc->n_holds++;
    pthread_cond_signal(&rpc->tick);
    pthread_mutex_unlock(&rpc->lock);
    return h;
}

void rpc_kept_body_subject(const tab_rpc *rpc, const rpc_kept_body *h, char ret[128])
{
    snprintf(ret, 128, "%s.h.%llx", rpc->inbox, (unsigned long long)h->id);
}

static bool take_kept(tab_rpc *rpc, rpc_kept_body *h)
{
    for (rpc_kept_body **at = &rpc->kept[h->id % BUCKETS]; *at != NULL; at = &(*at)->next)
        if (*at == h) {
            *at = h->next;
            rpc->n_holds--;
            pthread_cond_broadcast(&rpc->changed);
            return true;
        }
    return false;
}

static void free_kept(rpc_kept_body *h)
{
    free(h->body.head);
    tab_arena_free(h->owned);
    free(h);
}

void rpc_kept_body_release(tab_rpc *rpc, rpc_kept_body *h)
{
    if (h == NULL)
        return;
    pthread_mutex_lock(&rpc->lock);
    take_kept(rpc, h);
    while (h->readers > 0)
        pthread_cond_wait(&rpc->changed, &rpc->lock);
    pthread_mutex_unlock(&rpc->lock);
    free_kept(h);
}

static void publish_chunk(tab_rpc *rpc, const char *to, uint64_t at, size_t n)
{
    memcpy(rpc->chunk, &at, sizeof at);
    natsConnection_Publish(rpc->nc, to, rpc->chunk, (int)(sizeof at + n));
}

void rpc_kept_body_asked(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    tab_rpc *rpc = arg;
    uint64_t id = rpc_id_of(natsMsg_GetSubject(m));
    char text[64] = "";
    unsigned long long from = 0, to = 0;
    int n = natsMsg_GetDataLength(m);
    if (n > 0 && n < (int)sizeof text)
        memcpy(text, natsMsg_GetData(m), (size_t)n);
    bool asked = sscanf(text, "%llu %llu", &from, &to) == 2;
    const char *reply = natsMsg_GetReply(m);

    pthread_mutex_lock(&rpc->lock);
    rpc_kept_body *h = rpc->kept[id % BUCKETS];
    while (h != NULL && h->id != id)
        h = h->next;
    bool done = h != NULL && asked && from == h->body.bytes && h->owned != NULL;
    if (done)
        take_kept(rpc, h); /* the last reader is this thread */
    else if (h != NULL)
        h->readers++;
    pthread_mutex_unlock(&rpc->lock);

    if (done) {
        free_kept(h);
    } else if (h == NULL) {
        pthread_mutex_lock(&rpc->chunk_lock);
        if (reply != NULL)
            publish_chunk(rpc, reply, UINT64_MAX, 0); /* it is gone: do not wait */
        pthread_mutex_unlock(&rpc->chunk_lock);
    } else {
        pthread_mutex_lock(&rpc->chunk_lock); /* while a connection replaces another, two threads come here */
        if (to > h->body.bytes)
            to = h->body.bytes;
        while (asked && reply != NULL && from < to) {
            size_t k = to - from < RPC_CHUNK ? to - from : RPC_CHUNK;
            rpc_body_copy(&h->body, from, k, rpc->chunk + 8);
            publish_chunk(rpc, reply, from, k);
            from += k;
        }
        pthread_mutex_unlock(&rpc->chunk_lock);
        pthread_mutex_lock(&rpc->lock);
        h->readers--;
        pthread_cond_broadcast(&rpc->changed);
        pthread_mutex_unlock(&rpc->lock);
    }
    natsMsg_Destroy(m);
}

/* ---- pulling --------------------------------------------------------------------------------- */

static void ask_for(tab_rpc *rpc, const rpc_pull *p, size_t from, size_t to)
{
    char text[64], inbox[128];
    int n = snprintf(text, sizeof text, "%zu %zu", from, to);
    snprintf(inbox, sizeof inbox, "%s.p.%llx", rpc->inbox, (unsigned long long)p->id);
    natsConnection_PublishRequest(rpc->nc, p->holder, inbox, text, n);
}

static void ask_more(tab_rpc *rpc, rpc_pull *p)
{
    size_t window = (size_t)RPC_WINDOW * RPC_CHUNK, to = p->asked;
    while (to < p->bytes && to + window / 2 <= p->got + window)
        to += window / 2;
    if (to > p->bytes)
        to = p->bytes;
    if (to > p->asked)
        ask_for(rpc, p, p->asked, to);
    p->asked = to;
}

void rpc_pull_start(tab_rpc *rpc, rpc_pull *p)
{
    p->id = rpc_new_id(rpc);
    p->next = rpc->pulls[p->id % BUCKETS];
    rpc->pulls[p->id % BUCKETS] = p;
    rpc->n_pulls++;
    p->got = p->asked = 0;
    p->moved = tab_mono_ms();
    ask_more(rpc, p);
    pthread_cond_signal(&rpc->tick);
}

void rpc_pull_stop(tab_rpc *rpc, rpc_pull *p)
{
    for (rpc_pull **at = &rpc->pulls[p->id % BUCKETS]; *at != NULL; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            rpc->n_pulls--;
            return;
        }
}

static void end_pull(tab_rpc *rpc, rpc_pull *p, bool ok)
{
    rpc_pull_stop(rpc, p);
    if (ok)
        ask_for(rpc, p, p->bytes, p->bytes);
    p->ended(p->owner, ok);
}

void rpc_pull_chunk(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    tab_rpc *rpc = arg;
    uint64_t id = rpc_id_of(natsMsg_GetSubject(m)), at = UINT64_MAX;
    int len = natsMsg_GetDataLength(m);
    if (len >= (int)sizeof at)
        memcpy(&at, natsMsg_GetData(m), sizeof at);
    size_t n = len >= (int)sizeof at ? (size_t)len - sizeof at : 0;

    pthread_mutex_lock(&rpc->lock);
    rpc_pull *p = rpc->pulls[id % BUCKETS];
    while (p != NULL && p->id != id)
        p = p->next;
    if (p != NULL && at == UINT64_MAX) {
        end_pull(rpc, p, false); /* nobody there, or it is gone */
    } else if (p != NULL && at == p->got && n <= p->bytes - p->got) {
        memcpy(p->buf + at, natsMsg_GetData(m) + sizeof at, n);
        p->got += n;
        p->moved = tab_mono_ms();
        if (p->got == p->bytes)
            end_pull(rpc, p, true);
        else
            ask_more(rpc, p);
    }
    pthread_mutex_unlock(&rpc->lock);
    natsMsg_Destroy(m);
}

/* Asks again where nothing arrives; frees owned bodies that nobody pulls. */
void rpc_streams_tick(tab_rpc *rpc, int64_t now)
{
    if (rpc->n_pulls > 0 && rpc_connected(rpc))
        for (size_t b = 0; b < BUCKETS; b++)
            for (rpc_pull *p = rpc->pulls[b]; p != NULL; p = p->next)
                if (now - p->moved > RPC_STALL_MS) {
                    p->moved = now;
                    p->asked = p->got;
                    ask_more(rpc, p);
                }
    if (rpc->n_holds == 0)
        return;
    for (size_t b = 0; b < BUCKETS; b++)
        for (rpc_kept_body **at = &rpc->kept[b]; *at != NULL;) {
            rpc_kept_body *h = *at;
            if (h->owned != NULL && now > h->deadline && h->readers == 0) {
                *at = h->next;
                rpc->n_holds--;
                pthread_cond_broadcast(&rpc->changed);
                free_kept(h);
            } else {
                at = &h->next;
            }
        }
}
