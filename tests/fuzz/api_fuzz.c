/* Whatever a client sends as query, media type and body: parameters, cursors, options, references and
 * texts of a request are read or refused with an error that names its field, and nobody makes up a cursor.
 * The first line is the query, the second the media type, the rest the body. */
#include <stdlib.h>

#include "services/api/api.h"
#include "services/api/http/params.h"
#include "services/api/runs/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* A refusal is a whole envelope: a type that the client may see, a message, texts that end. */
static bool taken(tab_status s, const tab_error *err)
{
    must(s == TAB_OK ||
         (s == err->status && err->message[0] != 0 && memchr(err->param, 0, sizeof err->param) != NULL &&
          memchr(err->message, 0, sizeof err->message) != NULL));
    must(s == TAB_OK || s == TAB_VALIDATION || s == TAB_INTERNAL); /* internal: out of memory */
    return s == TAB_OK;
}

static tab_str cut(tab_str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    tab_str line = { rest->p, end == NULL ? rest->n : (size_t)(end - rest->p) };
    size_t used = line.n + (end != NULL);
    *rest = (tab_str){ rest->p + used, rest->n - used };
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static api self; /* large */
    TAB_AUTO(tab_arena) *a = tab_arena_new(512 * size + (1 << 20));
    tab_str rest = { (const char *)data, size };
    tab_error err = { 0 };
    self.cfg.body_most = 1 << 20;
    self.cfg.run_cells = 100000;
    memset(self.secret[0].cursor_key, 7, sizeof self.secret[0].cursor_key);
    self.secrets = 1;
    tab_str query = tab_arena_copy(a, cut(&rest)), media = tab_arena_copy(a, cut(&rest)),
            body = tab_arena_copy(a, rest);
    if (query.p == NULL || media.p == NULL || body.p == NULL)
        return 0;
    request r = { .api = &self,
                  .arena = a,
                  .route = TAB_POST_RUN,
                  .query = query,
                  .content_type = media.p,
                  .body = (char *)(uintptr_t)body.p,
                  .body_n = body.n,
                  .who = { .org = "org_1", .key = "key_1" } };

    tab_str found, after;
    uint32_t limit = 0;
    (void)taken(query_param(&r, "status", &found, &err), &err);
    if (taken(query_page(&r, "jobs", 20, &limit, &after, &err), &err)) {
        must(limit >= 1 && limit <= 100);
        must(after.n == 0); /* a MAC of 16 bytes under a key that the fuzzer does not have */
    }
    tab_body b;
    if (!taken(body_read(&r, &b, &err), &err))
        return 0;
    Tabella__RunOptions *options = NULL;
    bool batch;
    tab_str out, name;
    size_t n;
    char **refs = NULL;
    if (taken(body_options(&r, &b, &options, &batch, &out, &err), &err))
        must(options->threshold >= 0 && options->threshold <= 1 && options->target_mode[0] != 0);
    if (taken(body_text(b.root, "name", true, 63, &name, &err), &err))
        must(name.n >= 1 && name.n <= 63);
    if (taken(body_refs(&r, &b, &n, &refs, &err), &err))
        for (size_t i = 0; i < n; i++)
            must(refs[i] != NULL && strlen(refs[i]) <= 2048);

    /* What we write ourselves comes back as it was, for this organization and this list alone. */
    tab_out o = { 0 };
    tab_str position = { (const char *)data, size < 200 ? size : 200 };
    cursor_write(&r, &o, "jobs", position);
    if (!o.failed && position.n > 0) {
        char *q = tab_arena_printf(a, "cursor=%.*s", (int)(o.n - 2), o.p + 1);
        if (q != NULL) {
            r.query = tab_str_of(q);
            must(query_page(&r, "jobs", 20, &limit, &after, NULL) == TAB_OK && tab_str_eq(after, position));
            must(query_page(&r, "reports", 20, &limit, &after, NULL) == TAB_VALIDATION);
            strcpy(r.who.org, "org_2");
            must(query_page(&r, "jobs", 20, &limit, &after, NULL) == TAB_VALIDATION);
        }
    }
    tab_out_free(&o);
    return 0;
}
