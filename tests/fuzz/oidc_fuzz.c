/* What an identity provider sends: a description, an answer of its token endpoint, a token with a key set.
 * Whatever the bytes, reading ends without a crash, and a token that no key of the test signed is never
 * taken. The input is a letter for the kind, and for tokens the token, a newline and the key set. */
#include "services/keys/people/oidc.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const oidc_expected want = { "https://i", "c", "n", "groups", 1700000000, NULL };
    TAB_AUTO(tab_arena) *a = tab_arena_new(4 << 20);
    oidc_issuer issuer;
    oidc_person who;
    tab_str found;
    tab_error err;
    if (a == NULL || size == 0)
        return 0;
    tab_str text = tab_arena_copy(a, (tab_str){ (const char *)data + 1, size - 1 });
    if (text.p == NULL)
        return 0;
    if (data[0] == 'i') {
        if (oidc_read_issuer(a, text, "https://i", &issuer, &err) == TAB_OK &&
            (issuer.authorize.n == 0 || memcmp(issuer.authorize.p, "https://", 8) != 0))
            abort();
        return 0;
    }
    if (data[0] == 'a') {
        if (oidc_read_answer(a, text, &found, &err) == TAB_OK && (found.n == 0 || found.n > OIDC_TOKEN_MOST))
            abort();
        return 0;
    }
    oidc_logout l;
    const char *line = text.n == 0 ? NULL : memchr(text.p, '\n', text.n);
    size_t n = line == NULL ? text.n : (size_t)(line - text.p);
    tab_str jwks = line == NULL ? TAB_S("") : (tab_str){ line + 1, text.n - n - 1 };
    if (oidc_verify(a, (tab_str){ text.p, n }, jwks, &want, &who, &err) == TAB_OK &&
        (who.subject.n == 0 || who.n_groups > OIDC_GROUPS_MOST))
        abort();
    if (oidc_verify_logout(a, (tab_str){ text.p, n }, jwks, &want, &l, &err) == TAB_OK &&
        (l.jti.n == 0 || l.subject.n + l.sid.n == 0))
        abort();
    return 0;
}
