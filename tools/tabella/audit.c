/* `tabella admin audit`: an organization's audit log as lines of JSON, and the proof that none of them was
 * changed or taken away (decision 0315). The check needs no server: it computes the chain again, from
 * the first entry or from the checkpoint up to which the log was cut (decision 0352). */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/time.h"
#include "tools/tabella/admin.h"
#include "tools/tabella/cut.h"

enum { HASH = crypto_hash_sha256_BYTES, PAGE = 100 };

/* ---- export ---------------------------------------------------------------------------------- */

static void text(tab_out *o, const char *key, const char *value)
{
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

void audit_line(tab_out *o, const Tabella__AuditEntry *e)
{
    char at[TAB_TIME_TEXT], hex[2 * HASH + 1] = "";
    tab_time_text(e->at, at);
    if (e->hash.len == HASH)
        sodium_bin2hex(hex, sizeof hex, e->hash.data, HASH);
    tab_out_open(o, '{');
    text(o, "org", e->org);
    tab_out_key(o, "seq");
    tab_out_uint(o, e->seq);
    text(o, "id", e->id);
    text(o, "actor", e->actor);
    text(o, "action", e->action);
    text(o, "object", e->object);
    text(o, "detail", e->detail);
    text(o, "request_id", e->request_id);
    text(o, "address", e->address);
    text(o, "at", at);
    text(o, "hash", hex);
    tab_out_close(o, '}');
}

static void print_entry(const Tabella__AuditEntry *e)
{
    tab_out o = { 0 };
    audit_line(&o, e);
    admin_print(&o);
}

/* What was cut, so that who verifies the rest knows where it begins. */
static void print_checkpoint(const Tabella__Checkpoint *c)
{
    tab_checkpoint own;
    tab_out o = { 0 };
    if (c == NULL || strlen(c->text) >= sizeof own.text || c->key.len != sizeof own.key ||
        c->signature.len != sizeof own.signature)
        return;
    snprintf(own.text, sizeof own.text, "%s", c->text);
    memcpy(own.key, c->key.data, sizeof own.key);
    memcpy(own.signature, c->signature.data, sizeof own.signature);
    cut_checkpoint_line(&o, &own);
    admin_print(&o);
}

static int export(char *org)
{
    uint64_t after = 0, head = 1;
    while (after < head) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        Tabella__ListAuditRequest q = TABELLA__LIST_AUDIT_REQUEST__INIT;
        const void *msg;
        q.org = org;
        q.ascending = true;
        q.after = (int64_t)after;
        q.limit = PAGE;
        int rc = admin_ask(a, "keys", "ListAudit", &q.base, &tabella__list_audit_reply__descriptor, &msg);
        if (rc != 0)
            return rc;
        const Tabella__ListAuditReply *y = msg;
        head = y->head_seq;
        if (after == 0)
            print_checkpoint(y->checkpoint);
        for (size_t i = 0; i < y->n_entries; i++)
            print_entry(y->entries[i]);
        if (y->n_entries == 0)
            break;
        after = y->entries[y->n_entries - 1]->seq;
    }
    return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : 0;
}

/* ---- verify ---------------------------------------------------------------------------------- */

static void netstring(crypto_hash_sha256_state *h, tab_str s)
{
    char length[24];
    int n = snprintf(length, sizeof length, "%zu:", s.n);
    crypto_hash_sha256_update(h, (const unsigned char *)length, (size_t)n);
    crypto_hash_sha256_update(h, (const unsigned char *)s.p, s.n);
    crypto_hash_sha256_update(h, (const unsigned char *)",", 1);
}

/* The chain begins behind a checkpoint, or meets it. */
static const char *link_checkpoint(audit_chain *c, const tab_checkpoint *p, const char *known)
{
    char seq[24], hash[2 * HASH + 1], org[sizeof c->org];
    if (!tab_checkpoint_holds(p, known) || !tab_checkpoint_says(p, "kind", "audit"))
        return "the checkpoint is not signed by a key that is known";
    if (!tab_checkpoint_get(p, "org", org, sizeof org) || !tab_checkpoint_get(p, "seq", seq, sizeof seq) ||
        !tab_checkpoint_get(p, "hash", hash, sizeof hash))
        return "it is not an audit log checkpoint";
    if (c->seq == 0) {
        size_t n = 0;
        snprintf(c->org, sizeof c->org, "%s", org);
        c->seq = strtoull(seq, NULL, 10);
        if (sodium_hex2bin(c->hash, HASH, hash, strlen(hash), NULL, &n, NULL) != 0 || n != HASH ||
            c->seq == 0)
            return "it is not an audit log checkpoint";
    }
    char here[2 * HASH + 1];
    tab_hex(c->hash, HASH, here);
    if (strcmp(org, c->org) != 0)
        return "it belongs to another organization";
    if (strtoull(seq, NULL, 10) != c->seq || strcmp(here, hash) != 0)
        return "it is not the entry that the checkpoint names";
    tab_hex(p->key, sizeof p->key, c->key);
    return NULL;
}

static const char *link_entry(audit_chain *c, const tab_json *line)
{
    static const char *const fields[] = { "id",     "actor",      "action",  "object",
                                          "detail", "request_id", "address", "at" };
    const tab_json *org = tab_json_get(line, "org"), *seq = tab_json_get(line, "seq"),
                   *hash = tab_json_get(line, "hash");
    if (org == NULL || org->kind != TAB_JSON_STRING || seq == NULL || seq->kind != TAB_JSON_NUMBER ||
        hash == NULL || hash->kind != TAB_JSON_STRING || hash->text.n != 2 * HASH)
        return "it is not an audit log entry";
    if (c->seq == 0)
        snprintf(c->org, sizeof c->org, "%.*s", (int)org->text.n, org->text.p);
    if (!tab_str_eq(org->text, tab_str_of(c->org)))
        return "it belongs to another organization";
    if (seq->num != (double)(c->seq + 1))
        return seq->num > (double)c->seq ? "entries before it are missing" : "its number was there before";
    crypto_hash_sha256_state h;
    unsigned char want[HASH], said[HASH];
    char number[24];
    size_t said_n;
    snprintf(number, sizeof number, "%llu", (unsigned long long)c->seq + 1);
    crypto_hash_sha256_init(&h);
    crypto_hash_sha256_update(&h, c->hash, HASH);
    netstring(&h, org->text);
    netstring(&h, tab_str_of(number));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const tab_json *f = tab_json_get(line, fields[i]);
        if (f == NULL || f->kind != TAB_JSON_STRING)
            return "it is not an audit log entry";
        netstring(&h, f->text);
    }
    crypto_hash_sha256_final(&h, want);
    if (sodium_hex2bin(said, HASH, hash->text.p, hash->text.n, NULL, &said_n, NULL) != 0 || said_n != HASH ||
        memcmp(said, want, HASH) != 0)
        return "it or an entry before it was changed";
    memcpy(c->hash, want, HASH);
    c->seq++;
    c->entries++;
    return NULL;
}

const char *audit_link(audit_chain *c, const tab_json *line, const char *known)
{
    tab_checkpoint p;
    return cut_checkpoint_read(line, &p) ? link_checkpoint(c, &p, known) : link_entry(c, line);
}

/* A head that was noted earlier, "SEQ:HASH", against the chain as it stands at that number. */
static const char *meet(const audit_chain *c, const char *head)
{
    char *end;
    char hex[2 * HASH + 1];
    unsigned long long seq = strtoull(head, &end, 10);
    if (*end != ':' || seq != c->seq)
        return NULL;
    tab_hex(c->hash, HASH, hex);
    return strcmp(end + 1, hex) == 0 ? NULL : "it is not the entry that the noted head names";
}

typedef struct {
    audit_chain chain;
    const char *head, *known;
} check;

static const char *verify_line(void *self, tab_str line, const tab_json *json)
{
    check *k = self;
    (void)line;
    const char *why = audit_link(&k->chain, json, k->known);
    return why == NULL && k->head != NULL ? meet(&k->chain, k->head) : why;
}

static int verify(const char *path, const char *head, const char *known)
{
    check k = { .head = head, .known = known };
    char hex[2 * HASH + 1];
    int rc = cut_each_line(path, verify_line, &k);
    if (rc != 0)
        return rc;
    const audit_chain *c = &k.chain;
    if (head != NULL && strtoull(head, NULL, 10) > c->seq) {
        fprintf(stderr, "tabella admin: the log ends at %llu, before the noted head: entries are missing\n",
                (unsigned long long)c->seq);
        return EXIT_INPUT;
    }
    tab_hex(c->hash, HASH, hex);
    printf("%zu entries of %s hold, head %llu:%s%s%s\n", c->entries, c->org, (unsigned long long)c->seq, hex,
           c->key[0] != '\0' ? ", checkpoint signed by " : "", c->key);
    return 0;
}

int admin_audit(int argc, char **argv)
{
    const char *head = NULL, *known = NULL;
    if (argc == 3 && strcmp(argv[1], "export") == 0)
        return export(argv[2]);
    bool good = argc >= 3 && strcmp(argv[1], "verify") == 0;
    for (int i = 3; good && i < argc; i += 2) {
        bool is_head = strcmp(argv[i], "--head") == 0;
        good = i + 1 < argc && (is_head || strcmp(argv[i], "--key") == 0);
        *(is_head ? &head : &known) = argv[i + 1];
    }
    return good ? verify(argv[2], head, known)
                : admin_usage("audit export ORG, or audit verify FILE [--head SEQ:HASH] [--key KEYS]");
}
