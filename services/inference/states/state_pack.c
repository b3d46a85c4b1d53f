/* See state_pack.h; state_store.c says where the bytes are. */
#include "services/inference/states/state_pack.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "services/inference/engine/learn/pfn/weights.h"
#include "services/inference/engine/profile/pack_tables.h"
#include "services/inference/engine_release.h"

/* LEVEL: of zstd; above, half a per cent for twice the time. */
enum { HEAD = 56, FORM = 1, LEVEL = 3, DIGEST_AT = 24, DIGEST = 32 };
static const size_t MOST = (size_t)4 << 30; /* of a body */
static const char magic[8] = "TABS\r\n\x1a\n";

/* ---- what is kept ---------------------------------------------------------------------------- */

/* A state without what is made anew: locks, counts, bins. */
typedef struct {
    size_t n;
    uint64_t cells;
    bool explain;
    double threshold;
    const char *base;
    const tab_table **table;
    tab_profile **profile;
    Tabella__TableUnderstanding **seen;
    tab_row_index **near;
    tab_selection sel;
    tab_linked linked;
    const char *const *const *key;
    tab_fitted *fitted;
    serve_imputer **imputer;
} kept;

static void pack_a_table(tab_pack *p, void *each, const void *context)
{
    (void)context;
    const tab_table **t = each;
    TAB_PACK_ONE(p, *t, tab_pack_table);
}

static void pack_a_profile(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_profile **q = each;
    TAB_PACK_ONE(p, *q, tab_pack_profile);
}

static void pack_a_text(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pack_text(p, each);
}

/* Table after table: the columns of each are as many as its own. */
typedef struct {
    const kept *k;
    size_t t;
} next_table;

static size_t next_cols(const tab_pack *p, const void *context)
{
    next_table *next = (next_table *)(uintptr_t)context;
    if (tab_pack_clears(p) || next->k->table == NULL)
        return 0;
    const tab_table *t = next->k->table[next->t++];
    return t == NULL ? 0 : t->cols;
}

static void pack_keys(tab_pack *p, void *each, const void *context)
{
    const char *const **key = each;
    TAB_PACK_EACH(p, *key, next_cols(p, context), pack_a_text, NULL);
}

static void pack_imputer(tab_pack *p, void *each, const void *context)
{
    (void)context;
    serve_imputer *m = each;
    tab_pack_text(p, &m->left);
    tab_pack_fitted(p, &m->fitted);
    tab_pack_text(p, &m->method);
    tab_pack_text(p, &m->metric);
}

static void pack_imputers(tab_pack *p, void *each, const void *context)
{
    serve_imputer **m = each;
    TAB_PACK_EACH(p, *m, next_cols(p, context), pack_imputer, NULL);
}

static void pack_linked(tab_pack *p, tab_linked *l)
{
    tab_pack_links(p, &l->links, &l->set);
    tab_pack_link_told(p, &l->told, NULL);
    size_t copies = tab_pack_count(p, l->copies.n, TAB_LINK_COPIES);
    for (size_t i = 0; i < copies; i++)
        tab_pack_str(p, &l->copies.name[i]);
}

static void pack_kept(tab_pack *p, void *each, const void *context)
{
    (void)context;
    kept *k = each;
    next_table keys = { k, 0 }, imputers = { k, 0 };
    unsigned char explain; /* as it was read: a bool holds 0 or 1 alone */
    memcpy(&explain, &k->explain, sizeof explain);
    if (tab_pack_reads(p) && (k->n > MAX_TABLES || explain > 1))
        tab_pack_refuse(p);
    tab_pack_text(p, &k->base);
    TAB_PACK_EACH(p, k->table, k->n, pack_a_table, NULL);
    TAB_PACK_EACH(p, k->profile, k->n, pack_a_profile, NULL);
    TAB_PACK_MESSAGES(p, k->seen, k->n, &tabella__table_understanding__descriptor);
    TAB_PACK_EACH(p, k->near, k->n, tab_pack_row_index, NULL);
    TAB_PACK_MESSAGE(p, k->sel.target, &tabella__target_selection__descriptor);
    TAB_PACK_MESSAGE(p, k->sel.how, &tabella__task_selection__descriptor);
    pack_linked(p, &k->linked);
    TAB_PACK_EACH(p, k->key, k->n, pack_keys, &keys);
    tab_pack_fitted(p, &k->fitted);
    TAB_PACK_EACH(p, k->imputer, k->n, pack_imputers, &imputers);
}

/* Zeros between the fields as well: they are written. */
static void kept_of(const serve_state *st, kept *k)
{
    memset(k, 0, sizeof *k);
    k->n = st->n;
    k->cells = st->cells;
    k->explain = st->explain;
    k->threshold = st->threshold;
    k->base = st->base;
    k->table = st->table;
    k->profile = st->profile;
    k->seen = st->seen;
    k->near = st->near;
    k->sel = st->sel;
    k->linked = st->linked;
    k->key = st->key;
    k->fitted = st->fitted;
    k->imputer = st->imputer;
}

/* Whether all that a call follows is there. */
static bool whole(const kept *k)
{
    bool ok = k->n > 0 && k->base != NULL && k->table != NULL && k->profile != NULL && k->seen != NULL &&
              k->imputer != NULL && (k->n == 1 || k->near != NULL) &&
              (k->fitted == NULL || k->sel.table < k->n);
    for (size_t t = 0; ok && t < k->n; t++)
        ok = k->table[t] != NULL && k->profile[t] != NULL && k->seen[t] != NULL && k->imputer[t] != NULL &&
             (k->near == NULL || k->near[t] != NULL) && (k->key == NULL || k->key[t] != NULL);
    return ok;
}

static void set_kept(serve_state *st, const kept *k)
{
    st->cells = k->cells;
    st->explain = k->explain;
    st->threshold = k->threshold;
    st->base = k->base;
    st->n = k->n;
    st->table = k->table;
    st->profile = k->profile;
    st->seen = k->seen;
    st->near = k->near;
    st->sel = k->sel;
    st->linked = k->linked;
    st->key = k->key;
    st->fitted = k->fitted;
    st->imputer = k->imputer;
}

/* ---- the file -------------------------------------------------------------------------------- */

static char release[sizeof ENGINE_RELEASE + TAB_PFN_DIGEST];
static pthread_once_t release_once = PTHREAD_ONCE_INIT;

static void make_release(void)
{
    const tab_pfn *w = tab_pfn_default(NULL);
    snprintf(release, sizeof release, "%s-%s", ENGINE_RELEASE, w == NULL ? "none" : w->digest);
}

const char *state_release(void)
{
    pthread_once(&release_once, make_release);
    return release;
}

/* The digest of the whole, with zeros in its own place. */
static void digest(const uint8_t *bytes, size_t n, tab_str name, const uint8_t key[STATE_KEY],
                   uint8_t ret[DIGEST])
{
    static const uint8_t none[DIGEST];
    uint64_t length = name.n;
    crypto_generichash_state h;
    crypto_generichash_init(&h, key, STATE_KEY, DIGEST);
    crypto_generichash_update(&h, (const uint8_t *)&length, sizeof length);
    crypto_generichash_update(&h, (const uint8_t *)name.p, name.n);
    crypto_generichash_update(&h, bytes, DIGEST_AT);
    crypto_generichash_update(&h, none, DIGEST);
    crypto_generichash_update(&h, bytes + HEAD, n - HEAD);
    crypto_generichash_final(&h, ret, DIGEST);
}

/* n bytes of the body, compressed behind the header. NULL: out of memory. */
static uint8_t *enclose(const uint8_t *body, size_t n, size_t *ret_n)
{
    const char *by = state_release();
    uint32_t form = FORM, by_n = (uint32_t)strlen(by);
    uint64_t raw = n;
    size_t at = HEAD + by_n, room = at + ZSTD_compressBound(n);
    uint8_t *to = calloc(room, 1);
    if (to == NULL)
        return NULL;
    memcpy(to, magic, sizeof magic);
    memcpy(to + 8, &form, sizeof form);
    memcpy(to + 12, &by_n, sizeof by_n);
    memcpy(to + 16, &raw, sizeof raw);
    memcpy(to + HEAD, by, by_n);
    size_t took = ZSTD_compress(to + at, room - at, body, n, LEVEL);
    if (ZSTD_isError(took)) {
        free(to);
        return NULL;
    }
    *ret_n = at + took;
    return to;
}

tab_status state_body_write(serve_state *st, uint8_t **ret, size_t *ret_n, tab_error *err)
{
    kept k;
    kept_of(st, &k);
    return tab_pack_write(&k, sizeof k, pack_kept, ret, ret_n, err);
}

tab_status state_write(serve_state *st, tab_str name, const uint8_t key[STATE_KEY], uint8_t **ret,
                       size_t *ret_n, tab_error *err)
{
    uint8_t *body = NULL;
    size_t n = 0;
    TAB_TRY(state_body_write(st, &body, &n, err));
    *ret = enclose(body, n, ret_n);
    free(body);
    if (*ret == NULL)
        return tab_no_memory(err);
    digest(*ret, *ret_n, name, key, *ret + DIGEST_AT);
    return TAB_OK;
}

static tab_status no_state(tab_error *err, const char *why)
{
    return tab_fail(err, TAB_VALIDATION, "state", "%s", why);
}

/* The body of checked bytes, malloc'd. */
static tab_status disclose(tab_str bytes, tab_str name, const uint8_t key[STATE_KEY], tab_str *ret,
                           tab_error *err)
{
    const uint8_t *from = (const uint8_t *)bytes.p;
    const char *by = state_release();
    uint8_t own[DIGEST];
    uint32_t form, by_n;
    uint64_t raw;
    if (bytes.n < HEAD || memcmp(from, magic, sizeof magic) != 0)
        return no_state(err, "no state");
    memcpy(&form, from + 8, sizeof form);
    memcpy(&by_n, from + 12, sizeof by_n);
    memcpy(&raw, from + 16, sizeof raw);
    if (form != FORM || by_n != strlen(by) || bytes.n - HEAD < by_n || memcmp(from + HEAD, by, by_n) != 0)
        return no_state(err, "of another release");
    digest(from, bytes.n, name, key, own);
    if (sodium_memcmp(own, from + DIGEST_AT, DIGEST) != 0 || raw == 0 || raw > MOST)
        return no_state(err, "damaged, or not this one");
    char *to = malloc(raw);
    if (to == NULL)
        return tab_no_memory(err);
    *ret = (tab_str){ to, raw };
    if (ZSTD_decompress(to, raw, from + HEAD + by_n, bytes.n - HEAD - by_n) == raw)
        return TAB_OK;
    free(to);
    return no_state(err, "no body");
}

tab_status state_body_read(tab_str body, serve_state **ret, tab_error *err)
{
    serve_state *st = NULL;
    void *k = NULL;
    TAB_TRY(serve_state_empty(&st, err));
    tab_status s = tab_pack_read(st->arena, body, sizeof(kept), pack_kept, &k, err);
    if (s == TAB_OK && !whole(k))
        s = no_state(err, "something is missing");
    if (s == TAB_OK)
        set_kept(st, k);
    if (s == TAB_OK)
        *ret = st;
    else
        serve_state_free(st);
    return s;
}

tab_status state_read(tab_str bytes, tab_str name, const uint8_t key[STATE_KEY], serve_state **ret,
                      tab_error *err)
{
    tab_str body;
    TAB_TRY(disclose(bytes, name, key, &body, err));
    tab_status s = state_body_read(body, ret, err);
    free((char *)(uintptr_t)body.p);
    return s;
}
