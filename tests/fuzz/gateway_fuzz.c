/* Whatever a client sends as method, path and Authorization: a path that matches a route is plain
 * (no percent, no dot segment, no empty segment), its parameters lie inside it, and what is signed
 * for it verifies as exactly that; a secret that is accepted has the one form there is. */
#include "common/http/routes.h"
#include "common/security/entry.h"
#include "common/security/secret.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = { "GET", "HEAD", "POST", "DELETE", "PATCH", "PUT" };
    if (size == 0)
        return 0;
    tab_str text = { (const char *)data + 1, size - 1 }, secret;
    tab_str method = tab_str_of(methods[data[0] % 6]);
    tab_route_match m;
    if (tab_route_find(method, text, &m) == TAB_OK) {
        must(memchr(text.p, '%', text.n) == NULL && memchr(text.p, '.', text.n) == NULL);
        must(memmem(text.p, text.n, "//", 2) == NULL && text.p[text.n - 1] != '/');
        for (int i = 0; i < 2; i++)
            must(m.param[i].n == 0 ||
                 (m.param[i].p >= text.p && m.param[i].p + m.param[i].n <= text.p + text.n));
        tab_identity_key k;
        tab_identity got, id = { 1,    TAB_S("req_x"), tab_str_of(tab_routes[m.id].name),
                                 text, TAB_S("-"),     { .org = "o", .key = "k", .plan = "p" } };
        char h[TAB_IDENTITY_TEXT];
        must(tab_identity_key_set(&k, TAB_S("0123456789abcdef0123456789abcdef")));
        size_t n = tab_identity_sign(&k, &id, h, sizeof h);
        must(n > 0 && tab_identity_verify(&k, (tab_str){ h, n }, &got));
        must(tab_str_eq(got.path, text) && tab_str_eq(got.route, id.route));
    }
    if (tab_bearer(text, &secret) && tab_secret_valid(secret))
        must(secret.n == TAB_SECRET_LENGTH);

    tab_grant g, again;
    char out[TAB_GRANT_TEXT];
    if (tab_grant_read(text, &g)) {
        size_t n = tab_grant_write(&g, out, sizeof out);
        must(n > 0 && tab_grant_read((tab_str){ out, n }, &again));
        must(memcmp(&g.version, &again.version, sizeof g.version) == 0 && g.scopes == again.scopes);
    }
    tab_identity_key k;
    tab_identity id;
    tab_entry e;
    uint64_t epoch;
    must(tab_identity_key_set(&k, TAB_S("0123456789abcdef0123456789abcdef")));
    must(!tab_identity_verify(&k, text, &id)); /* nobody guesses a signature */
    must(!tab_entry_read(&k, TAB_S("hash"), text, &e) && !tab_epoch_read(&k, TAB_S("org"), text, &epoch));
    if (tab_entry_read(NULL, TAB_S(""), text, &e) && !e.is_signed)
        must(tab_entry_write(NULL, TAB_S(""), &e, out, sizeof out) > 0);
    return 0;
}
