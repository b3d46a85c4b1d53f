/* Whatever a caller sends as a receipt: it is read within its bytes, and what is taken is sound and signs to
 * a text that says the same. Signatures are made here, so that what lies behind them is reached. */
#include <stdlib.h>

#include "common/security/receipt.h"

#include <sodium.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void held(const uint8_t *key, tab_str text)
{
    tab_receipt r, again;
    char written[TAB_RECEIPT_TEXT];
    if (!tab_receipt_read(key, TAB_S("e"), text, &r))
        return;
    size_t n = tab_receipt_sign(key, TAB_S("e"), &r, written);
    if (!tab_receipt_sound(&r) || !tab_receipt_read(key, TAB_S("e"), (tab_str){ written, n }, &again) ||
        memcmp(r.id, again.id, sizeof r.id) != 0 || r.classes != again.classes)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[TAB_RECEIPT_KEY] = { 7 };
    uint8_t *own = malloc(size + 16);
    char *text = malloc(2 * size + 64);
    if (own == NULL || text == NULL || sodium_init() < 0)
        abort();
    if (size > 0)
        memcpy(own, data, size);
    held(key, (tab_str){ (const char *)own, size });
    if (size < 1200) {
        crypto_generichash_state s;
        (void)crypto_generichash_init(&s, key, sizeof key, 16);
        (void)crypto_generichash_update(&s, own, size);
        (void)crypto_generichash_update(&s, (const uint8_t *)"e", 1);
        (void)crypto_generichash_final(&s, own + size, 16);
        memcpy(text, "rct_", 4);
        (void)sodium_bin2base64(text + 4, 2 * size + 60, own, size + 16,
                                sodium_base64_VARIANT_URLSAFE_NO_PADDING);
        held(key, (tab_str){ text, strlen(text) });
    }
    free(own);
    free(text);
    return 0;
}
