/* `tabella admin audit`: an organization's audit log as lines of JSON, and the proof that none of them was
 * changed or taken away (docs/decisions/0315). The check needs no server: it computes the chain again. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/time.h"
#include "proto/keys.pb-c.h"
#include "tools/tabella/admin.h"

enum { HASH = crypto_hash_sha256_BYTES, PAGE = 100, LINE_MOST = 1 << 20 };

/* ---- export ---------------------------------------------------------------------------------- */

static void text(tab_out *o, const char *key, const char *value)
{
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

static void print_entry(const Tabella__AuditEntry *e)
{
    char at[TAB_TIME_TEXT], hex[2 * HASH + 1] = "";
    tab_out o = { 0 };
    tab_time_text(e->at, at);
    if (e->hash.len == HASH)
        sodium_bin2hex(hex, sizeof hex, e->hash.data, HASH);
    tab_out_open(&o, '{');
    text(&o, "org", e->org);
    tab_out_key(&o, "seq");
    tab_out_uint(&o, e->seq);
    text(&o, "id", e->id);
    text(&o, "actor", e->actor);
    text(&o, "action", e->action);
    text(&o, "object", e->object);
    text(&o, "detail", e->detail);
    text(&o, "request_id", e->request_id);
    text(&o, "address", e->address);
    text(&o, "at", at);
    text(&o, "hash", hex);
    tab_out_close(&o, '}');
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
        for (size_t i = 0; i < y->n_entries; i++)
            print_entry(y->entries[i]);
        if (y->n_entries == 0)
            break;
        after = y->entries[y->n_entries - 1]->seq;
    }
    return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : 0;
}

/* ---- verify ---------------------------------------------------------------------------------- */

typedef struct {
    uint64_t seq;
    unsigned char hash[HASH];
    char org[64];
} chain;

static void netstring(crypto_hash_sha256_state *h, tab_str s)
{
    char length[24];
    int n = snprintf(length, sizeof length, "%zu:", s.n);
    crypto_hash_sha256_update(h, (const unsigned char *)length, (size_t)n);
    crypto_hash_sha256_update(h, (const unsigned char *)s.p, s.n);
    crypto_hash_sha256_update(h, (const unsigned char *)",", 1);
}

/* One line against the chain so far; the reason where it does not hold. */
static const char *link_line(chain *c, const tab_json *line)
{
    static const char *const fields[] = { "id",     "actor",      "action",  "object",
                                          "detail", "request_id", "address", "at" };
    const tab_json *org = tab_json_get(line, "org"), *seq = tab_json_get(line, "seq"),
                   *hash = tab_json_get(line, "hash");
    if (org == NULL || org->kind != TAB_JSON_STRING || seq == NULL || seq->kind != TAB_JSON_NUMBER ||
        hash == NULL || hash->kind != TAB_JSON_STRING || hash->text.n != 2 * HASH)
        return "it is no entry of an audit log";
    if (c->seq == 0)
        snprintf(c->org, sizeof c->org, "%.*s", (int)org->text.n, org->text.p);
    if (!tab_str_eq(org->text, tab_str_of(c->org)))
        return "it is of another organization";
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
            return "it is no entry of an audit log";
        netstring(&h, f->text);
    }
    crypto_hash_sha256_final(&h, want);
    if (sodium_hex2bin(said, HASH, hash->text.p, hash->text.n, NULL, &said_n, NULL) != 0 || said_n != HASH ||
        memcmp(said, want, HASH) != 0)
        return "it, or one before it, was changed";
    memcpy(c->hash, want, HASH);
    c->seq++;
    return NULL;
}

/* A head that was noted earlier, "SEQ:HASH", against the chain as it stands at that number. */
static const char *meet(const chain *c, const char *head)
{
    char *end;
    char hex[2 * HASH + 1];
    unsigned long long seq = strtoull(head, &end, 10);
    if (*end != ':' || seq != c->seq)
        return NULL;
    sodium_bin2hex(hex, sizeof hex, c->hash, HASH);
    return strcmp(end + 1, hex) == 0 ? NULL : "it is not the entry that the noted head names";
}

static int refuse(size_t line, const char *why)
{
    fprintf(stderr, "tabella admin: line %zu: %s\n", line, why);
    return EXIT_INPUT;
}

static int verify(const char *path, const char *head)
{
    chain c = { 0 };
    char *line = NULL, hex[2 * HASH + 1];
    size_t size = 0, at = 0;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (f == NULL) {
        fprintf(stderr, "tabella admin: %s: no such file\n", path);
        return EXIT_INPUT;
    }
    const char *why = NULL;
    for (ssize_t n; why == NULL && (n = getline(&line, &size, f)) > 0;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(4 * LINE_MOST);
        const tab_json *root = NULL;
        tab_error err;
        at++;
        if (a == NULL || n > LINE_MOST ||
            tab_json_read(a, (tab_str){ line, (size_t)n }, 2, &root, &err) != TAB_OK)
            why = "it is no JSON";
        else
            why = link_line(&c, root);
        if (why == NULL && head != NULL)
            why = meet(&c, head);
    }
    free(line);
    if (f != stdin)
        fclose(f);
    if (why != NULL)
        return refuse(at, why);
    if (head != NULL && strtoull(head, NULL, 10) > c.seq) {
        fprintf(stderr, "tabella admin: the log ends at %llu, before the noted head: entries are missing\n",
                (unsigned long long)c.seq);
        return EXIT_INPUT;
    }
    sodium_bin2hex(hex, sizeof hex, c.hash, HASH);
    printf("%llu entries of %s hold, head %llu:%s\n", (unsigned long long)c.seq, c.org,
           (unsigned long long)c.seq, hex);
    return 0;
}

int admin_audit(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "export") == 0)
        return export(argv[2]);
    if ((argc == 3 || argc == 5) && strcmp(argv[1], "verify") == 0 &&
        (argc == 3 || strcmp(argv[3], "--head") == 0))
        return verify(argv[2], argc == 5 ? argv[4] : NULL);
    return admin_usage("audit export ORG, or audit verify FILE [--head SEQ:HASH]");
}
