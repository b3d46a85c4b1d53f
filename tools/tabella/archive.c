/* Archives: their lines, and the proof of the ledger's, which needs no server. See cut.h. */
#include <sodium.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "tools/tabella/admin.h"
#include "tools/tabella/cut.h"

void cut_checkpoint_line(tab_out *o, const tab_checkpoint *c)
{
    char hex[2 * TAB_CHECKPOINT_SIGNATURE + 1];
    tab_out_open(o, '{');
    tab_out_key(o, "checkpoint");
    tab_out_cstr(o, c->text);
    tab_hex(c->key, sizeof c->key, hex);
    tab_out_key(o, "key");
    tab_out_cstr(o, hex);
    tab_hex(c->signature, sizeof c->signature, hex);
    tab_out_key(o, "signature");
    tab_out_cstr(o, hex);
    tab_out_close(o, '}');
}

static bool text_of(const tab_json *line, const char *name, tab_str *ret)
{
    const tab_json *v = tab_json_get(line, name);
    if (v == NULL || v->kind != TAB_JSON_STRING)
        return false;
    *ret = v->text;
    return true;
}

bool cut_checkpoint_read(const tab_json *line, tab_checkpoint *ret)
{
    tab_str text, key, signature;
    return text_of(line, "checkpoint", &text) && text_of(line, "key", &key) &&
           text_of(line, "signature", &signature) && tab_checkpoint_read(text, key, signature, ret);
}

static const char *each(FILE *f, size_t *at, const char *(*fn)(void *, tab_str, const tab_json *), void *self)
{
    char *line = NULL;
    const char *why = NULL;
    size_t size = 0;
    for (ssize_t n; why == NULL && (n = getline(&line, &size, f)) > 0;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(4 * CUT_LINE_MOST);
        const tab_json *root = NULL;
        tab_error err;
        ++*at;
        if (a == NULL || n > CUT_LINE_MOST ||
            tab_json_read(a, (tab_str){ line, (size_t)n }, 4, &root, &err) != TAB_OK)
            why = "it is not JSON";
        else
            why = fn(self, (tab_str){ line, (size_t)n }, root);
    }
    free(line);
    return why;
}

int cut_each_line(const char *path, const char *(*fn)(void *self, tab_str line, const tab_json *json),
                  void *self)
{
    size_t at = 0;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (f == NULL) {
        fprintf(stderr, "tabella admin: %s: no such file\n", path);
        return EXIT_INPUT;
    }
    const char *why = each(f, &at, fn, self);
    if (f != stdin)
        fclose(f);
    if (why == NULL)
        return 0;
    fprintf(stderr, "tabella admin: line %zu: %s\n", at, why);
    return EXIT_INPUT;
}

/* ---- the ledger's ---------------------------------------------------------------------------- */

typedef struct {
    const char *known;
    crypto_hash_sha256_state digest; /* of the lines since the last checkpoint */
    int64_t events, lines, cells, milli;
    size_t segments, all;
    tab_checkpoint last;
} ledger_file;

static void begin(ledger_file *f)
{
    crypto_hash_sha256_init(&f->digest);
    f->events = f->lines = f->cells = f->milli = 0;
}

static bool says_number(const tab_checkpoint *c, const char *name, int64_t want)
{
    char said[32];
    int64_t n;
    return tab_checkpoint_get(c, name, said, sizeof said) &&
           tab_integer_read(tab_str_of(said), 0, INT64_MAX, &n) && n == want;
}

static bool follows(const ledger_file *f, const tab_checkpoint *c)
{
    char previous[TAB_SHA256_HEX];
    if (f->last.text[0] == '\0')
        return true; /* what came before is in another file */
    tab_sha256_hex(tab_str_of(f->last.text), previous);
    return tab_checkpoint_says(c, "previous", previous);
}

static const char *checkpoint(ledger_file *f, const tab_checkpoint *c)
{
    uint8_t sum[TAB_SHA256];
    char hex[TAB_SHA256_HEX];
    if (!tab_checkpoint_holds(c, f->known) || !tab_checkpoint_says(c, "kind", "ledger"))
        return "the checkpoint is not signed by a key that is known";
    if (!follows(f, c))
        return "a checkpoint before it is missing";
    bool first = f->segments++ == 0 && f->events == 0; /* the one that the file begins behind */
    crypto_hash_sha256_final(&f->digest, sum);
    tab_hex(sum, sizeof sum, hex);
    if (!first && (!tab_checkpoint_says(c, "segment", hex) || !says_number(c, "events", f->events) ||
                   !says_number(c, "lines", f->lines) || !says_number(c, "cells", f->cells) ||
                   !says_number(c, "milli", f->milli)))
        return "the lines before it are not those that were signed";
    f->last = *c;
    begin(f);
    return NULL;
}

static bool add(const tab_json *line, const char *name, int64_t *sum)
{
    const tab_json *v = tab_json_get(line, name);
    int64_t n;
    return v != NULL && v->kind == TAB_JSON_NUMBER && tab_integer_read(v->text, 0, INT64_MAX, &n) &&
           !__builtin_add_overflow(*sum, n, sum);
}

static const char *ledger_line(void *self, tab_str line, const tab_json *json)
{
    ledger_file *f = self;
    tab_checkpoint c;
    if (cut_checkpoint_read(json, &c))
        return checkpoint(f, &c);
    const tab_json *lines = tab_json_get(json, "lines");
    if (lines == NULL || lines->kind != TAB_JSON_ARRAY)
        return "it is not a ledger event";
    for (const tab_json *l = lines->first; l != NULL; l = l->next)
        if (!add(l, "cells", &f->cells) || !add(l, "milli", &f->milli))
            return "it is not a ledger event";
    crypto_hash_sha256_update(&f->digest, (const uint8_t *)line.p, line.n);
    f->lines += (int64_t)lines->count;
    f->events++;
    f->all++;
    return NULL;
}

int ledger_file_verify(const char *path, const char *known)
{
    char hex[2 * TAB_CHECKPOINT_KEY + 1];
    ledger_file f = { .known = known };
    begin(&f);
    int rc = cut_each_line(path, ledger_line, &f);
    if (rc != 0)
        return rc;
    if (f.events > 0 || f.segments == 0) {
        fprintf(stderr, "tabella admin: the file does not end with a checkpoint: lines are missing\n");
        return EXIT_INPUT;
    }
    tab_hex(f.last.key, sizeof f.last.key, hex);
    printf("%zu events hold, signed by %s\n", f.all, hex);
    return 0;
}
