/* Whatever stands in a file or a table as a checkpoint: it is read within its bytes, what is found in it is
 * part of it, and nothing holds that was not signed. What is signed holds, and under that key alone. The same
 * of what stands there as a sealed value (common/security/crypto.h). */
#include <stdlib.h>
#include <string.h>

#include "common/security/checkpoint.h"
#include "common/security/crypto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* TEXT newline KEY newline SIGNATURE */
static bool split(const char *p, size_t n, tab_str part[3])
{
    for (int i = 0; i < 3; i++) {
        const char *end = i < 2 ? memchr(p, '\n', n) : p + n;
        if (end == NULL)
            return false;
        part[i] = (tab_str){ p, (size_t)(end - p) };
        n -= part[i].n + (i < 2);
        p = end + (i < 2);
    }
    return true;
}

/* Nothing opens that was not sealed; what is sealed does, but not with a bit changed or its end gone. */
static void sealed_value(const uint8_t *data, size_t size)
{
    static const uint8_t key[32] = "a data key of the fuzz target, .";
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 * size + 4096);
    TAB_AUTO(tab_keyring) *ring = tab_keyring_of(":org", key);
    char *own = malloc(size > 0 ? size : 1); /* of its size, so that a byte too far is found */
    tab_str sealed, got, given = { own, size };
    if (a == NULL || ring == NULL || own == NULL)
        abort();
    if (size > 0)
        memcpy(own, data, size);
    (void)tab_sealed_newest(ring, given);
    if (tab_unseal(ring, a, given, TAB_S("here"), &got, NULL) == TAB_OK)
        abort();
    if (tab_seal(ring, a, given, TAB_S("here"), &sealed, NULL) != TAB_OK ||
        tab_unseal(ring, a, sealed, TAB_S("here"), &got, NULL) != TAB_OK || !tab_str_eq(got, given))
        abort();
    if (tab_unseal(ring, a, (tab_str){ sealed.p, sealed.n - 1 }, TAB_S("here"), &got, NULL) == TAB_OK)
        abort();
    size_t at = (size > 0 ? data[0] * 257u + size : 0) % sealed.n;
    ((char *)(uintptr_t)sealed.p)[at] ^= 1;
    if (tab_unseal(ring, a, sealed, TAB_S("here"), &got, NULL) == TAB_OK)
        abort();
    free(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sealed_value(data, size);
    static const char secret[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const names[] = { "kind", "org", "seq", "hash", "", "=" };
    char *own = malloc(size > 0 ? size : 1), value[64], key[2 * TAB_CHECKPOINT_KEY + 1];
    tab_checkpoint c;
    tab_str part[3];
    if (own == NULL)
        return 0;
    if (size > 0)
        memcpy(own, data, size);
    if (split(own, size, part) && tab_checkpoint_read(part[0], part[1], part[2], &c)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (tab_checkpoint_get(&c, names[i], value, sizeof value) &&
                (strchr(value, ' ') != NULL || strstr(c.text, value) == NULL))
                abort();
        if (tab_checkpoint_holds(&c, "")) /* nobody here has its secret */
            tab_hex(c.key, sizeof c.key, key);
        if (!tab_checkpoint_sign(secret, &c))
            abort();
        tab_hex(c.key, sizeof c.key, key);
        bool ours = strncmp(c.text, "tabella-checkpoint ", 19) == 0;
        if (tab_checkpoint_holds(&c, key) != ours || tab_checkpoint_holds(&c, "00"))
            abort();
        c.signature[0] ^= 1;
        if (tab_checkpoint_holds(&c, key))
            abort();
    }
    free(own);
    return 0;
}
