/* Whatever a caller sends as a receipt: it is read within its bytes, and what is taken is sound and signs to
 * a text that says the same. Signatures and seals are made here, so that what lies behind them is reached:
 * the input is a body, and what follows it stands where names of slices do. */
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
        memcmp(r.id, again.id, sizeof r.id) != 0 || r.classes != again.classes || r.slices != again.slices)
        abort();
    for (size_t i = 0; i < r.slices; i++)
        if (strcmp(r.slice[i], again.slice[i]) != 0)
            abort();
}

/* A body of `size` bytes at own, of which those from `sealed` on are names, signed, sealed and read. Room for
 * a signature behind it. */
static void signed_as(const uint8_t *key, uint8_t *own, size_t size, size_t sealed)
{
    static const uint8_t what[] = "receipt slices"; /* as receipt.c derives the seal's key */
    uint8_t of_seal[crypto_stream_xchacha20_KEYBYTES], nonce[crypto_stream_xchacha20_NONCEBYTES] = { 0 };
    char text[TAB_RECEIPT_TEXT];
    crypto_generichash_state s;
    if (4 + (size + 16) * 4 / 3 + 4 >= sizeof text)
        return;
    (void)crypto_generichash_init(&s, key, TAB_RECEIPT_KEY, 16);
    (void)crypto_generichash_update(&s, own, size);
    (void)crypto_generichash_update(&s, (const uint8_t *)"e", 1);
    (void)crypto_generichash_final(&s, own + size, 16);
    (void)crypto_generichash(of_seal, sizeof of_seal, what, sizeof what, key, TAB_RECEIPT_KEY);
    memcpy(nonce, own + size, 16);
    (void)crypto_stream_xchacha20_xor(own + sealed, own + sealed, size - sealed, nonce, of_seal);
    memcpy(text, "rct_", 4);
    (void)sodium_bin2base64(text + 4, sizeof text - 4, own, size + 16,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    held(key, (tab_str){ text, strlen(text) });
}

/* Where the names begin, by the body's own first bytes; size: it has none. */
static size_t names_begin(const uint8_t *own, size_t size)
{
    enum { HEAD = 35, NUMBER = 32, FLAG = 9, CLASSES = 13, CLASS = 12, FOLLOWED = 8, OWN = 24, EXPERT = 4 };
    if (size < HEAD + CLASSES || (own[0] & 4) == 0)
        return size;
    bool followed = (own[0] & 2) != 0;
    size_t k = own[HEAD], n = HEAD;
    if (own[1] == TAB_RECEIPT_NUMBER)
        n += NUMBER + (followed ? FOLLOWED + OWN + EXPERT * TAB_RECEIPT_EXPERTS : 0);
    else if (own[1] == TAB_RECEIPT_ANOMALY)
        n += FLAG + (followed ? FOLLOWED : 0);
    else
        n += CLASSES + k * CLASS + (followed ? FOLLOWED + 4 * k : 0);
    return n < size ? n : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[TAB_RECEIPT_KEY] = { 7 };
    uint8_t *own = malloc(size + 16);
    if (own == NULL || sodium_init() < 0)
        abort();
    if (size > 0)
        memcpy(own, data, size);
    held(key, (tab_str){ (const char *)own, size });
    signed_as(key, own, size, names_begin(own, size));
    free(own);
    return 0;
}
