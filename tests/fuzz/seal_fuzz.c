/* Whatever stands in the database in the place of a sealed value: it is read within its bytes, and nothing opens
 * that was not sealed. What is sealed opens at its place, and not with a byte changed or the last one gone. */
#include <stdlib.h>
#include <string.h>

#include "common/security/crypto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
    return 0;
}
