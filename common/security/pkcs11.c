/* See pkcs11.h. One session, opened when it is needed. Whatever fails drops it, and the call is made once
 * more on a new one: sessions end when a token is restarted, pulled out, or reached over a network that was
 * away. */
#include "common/security/pkcs11.h"

#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/log.h"

enum { NONCE = 12, TAG = 16, WRAPPED = NONCE + TAB_WRAP_KEY + TAG, SLOTS_MOST = 256, KEEP_MS = 600000 };
static const char purpose[] =
    "tabella data key"; /* authenticated: the token's key may serve others as well */

typedef struct {
    const tab_pkcs11_config *set;
    CK_FUNCTION_LIST *f;
    CK_SESSION_HANDLE session;
    bool open;
    const char *refused; /* the PIN that the token did not take; it is not tried again, for tokens lock */
} token;

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
    CK_RV rv;
    const char *text;
} known[] = {
    { CKR_PIN_INCORRECT, "the PIN is wrong" },
    { CKR_PIN_LEN_RANGE, "the PIN is wrong" },
    { CKR_PIN_INVALID, "the PIN is wrong" },
    { CKR_PIN_LOCKED, "the PIN is locked; the token's security officer unlocks it" },
    { CKR_PIN_EXPIRED, "the PIN has expired; set a new one with the token's tools" },
    { CKR_USER_PIN_NOT_INITIALIZED, "the token has no user PIN; set one with the token's tools" },
    { CKR_TOKEN_NOT_PRESENT, "the token is not there" },
    { CKR_DEVICE_REMOVED, "the token was removed" },
    { CKR_DEVICE_ERROR, "the device has failed" },
    { CKR_DEVICE_MEMORY, "the device has no memory left" },
    { CKR_SESSION_COUNT, "the token has no session left; end others, or allow it more" },
    { CKR_MECHANISM_INVALID, "the token has no AES-GCM (CKM_AES_GCM)" },
    { CKR_KEY_FUNCTION_NOT_PERMITTED, "the key may not encrypt and decrypt; make one that may" },
    { CKR_USER_NOT_LOGGED_IN, "nobody is logged in" },
};

static tab_status fail(CK_RV rv, const char *call, tab_error *err)
{
    const char *text = "see the module's own log";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].rv == rv)
            text = known[i].text;
    return tab_fail(err, TAB_UNAVAILABLE, "", "%s gave 0x%lx: %s", call, (unsigned long)rv, text);
}

#define CALL(name, ...)                      \
    do {                                     \
        CK_RV rv_ = t->f->name(__VA_ARGS__); \
        if (rv_ != CKR_OK)                   \
            return fail(rv_, #name, err);    \
    } while (0)

/* ---- the session ----------------------------------------------------------------------------- */

/* Labels are padded with blanks to 32 bytes. */
static bool labelled(const CK_TOKEN_INFO *info, const char *label)
{
    size_t n = strlen(label);
    if (n > sizeof info->label || memcmp(info->label, label, n) != 0)
        return false;
    for (size_t i = n; i < sizeof info->label; i++)
        if (info->label[i] != ' ')
            return false;
    return true;
}

static tab_status find_slot(token *t, CK_SLOT_ID *ret, tab_error *err)
{
    CK_SLOT_ID slot[SLOTS_MOST];
    CK_ULONG n = SLOTS_MOST;
    CK_TOKEN_INFO info;
    size_t found = 0;
    CALL(C_GetSlotList, CK_TRUE, slot, &n);
    for (CK_ULONG i = 0; i < n; i++)
        if (t->f->C_GetTokenInfo(slot[i], &info) == CKR_OK && labelled(&info, t->set->token)) {
            *ret = slot[i];
            found++;
        }
    if (found == 1)
        return TAB_OK;
    return tab_fail(err, TAB_UNAVAILABLE, "",
                    "%s token is labelled '%s' (TAB_PKCS11_TOKEN), of %lu that %s has",
                    found == 0 ? "no" : "more than one", t->set->token, (unsigned long)n, t->set->module);
}

static tab_status login(token *t, tab_error *err)
{
    const char *pin = tab_config_now(t->set->pin);
    if (t->refused != NULL && strcmp(t->refused, pin) == 0)
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "the token has refused this PIN, which is not tried again, for tokens lock; put the "
                        "right one into TAB_PKCS11_PIN_FILE and send SIGHUP, or start again");
    CK_RV rv = t->f->C_Login(t->session, CKU_USER, (CK_UTF8CHAR *)(uintptr_t)pin, strlen(pin));
    if (rv == CKR_PIN_INCORRECT || rv == CKR_PIN_LEN_RANGE || rv == CKR_PIN_INVALID || rv == CKR_PIN_LOCKED)
        t->refused = pin;
    else
        t->refused = NULL;
    return rv == CKR_OK || rv == CKR_USER_ALREADY_LOGGED_IN ? TAB_OK : fail(rv, "C_Login", err);
}

/* The module anew as well: some find a token that was away only then. Nobody else in the process uses it. */
static void drop(token *t)
{
    if (t->open)
        (void)t->f->C_Finalize(NULL);
    t->open = false;
}

static tab_status open_session(token *t, tab_error *err)
{
    CK_C_INITIALIZE_ARGS threads = { .flags = CKF_OS_LOCKING_OK };
    CK_SLOT_ID slot = 0;
    if (t->open)
        return TAB_OK;
    CALL(C_Initialize, &threads);
    t->open = true;
    TAB_TRY(find_slot(t, &slot, err));
    CALL(C_OpenSession, slot, CKF_SERIAL_SESSION, NULL, NULL, &t->session);
    return login(t, err);
}

static tab_status find_key(token *t, const char *name, CK_OBJECT_HANDLE *ret, tab_error *err)
{
    CK_OBJECT_CLASS class = CKO_SECRET_KEY;
    CK_KEY_TYPE type = CKK_AES;
    CK_OBJECT_HANDLE found[2];
    CK_ULONG n = 0;
    CK_ATTRIBUTE of[] = { { CKA_CLASS, &class, sizeof class },
                          { CKA_KEY_TYPE, &type, sizeof type },
                          { CKA_LABEL, (char *)(uintptr_t)name, strlen(name) } };
    CALL(C_FindObjectsInit, t->session, of, sizeof of / sizeof *of);
    CK_RV rv = t->f->C_FindObjects(t->session, found, 2, &n);
    (void)t->f->C_FindObjectsFinal(t->session);
    if (rv != CKR_OK)
        return fail(rv, "C_FindObjects", err);
    *ret = found[0];
    if (n == 1)
        return TAB_OK;
    return tab_fail(err, TAB_UNAVAILABLE, "", "token '%s' has %s AES key labelled '%s'; %s", t->set->token,
                    n == 0 ? "no" : "more than one", name,
                    n == 0 ? "make it, not extractable (docs/encryption.md)"
                           : "give each a label of its own");
}

/* ---- wrapping -------------------------------------------------------------------------------- */

static CK_GCM_PARAMS gcm_of(uint8_t nonce[NONCE])
{
    return (CK_GCM_PARAMS){ .iv_ptr = nonce,
                            .iv_len = NONCE,
                            .iv_bits = 8 * NONCE,
                            .aad_ptr = (uint8_t *)(uintptr_t)purpose,
                            .aad_len = sizeof purpose - 1,
                            .tag_bits = 8 * TAG };
}

/* A token that draws the nonce itself writes it where ours was. */
static tab_status encrypt(token *t, const char *name, const uint8_t *in, uint8_t ret[WRAPPED], tab_error *err)
{
    CK_OBJECT_HANDLE key = 0;
    CK_ULONG n = WRAPPED - NONCE;
    CK_GCM_PARAMS gcm = gcm_of(ret);
    CK_MECHANISM how = { CKM_AES_GCM, &gcm, sizeof gcm };
    TAB_TRY(open_session(t, err));
    TAB_TRY(find_key(t, name, &key, err));
    randombytes_buf(ret, NONCE);
    CALL(C_EncryptInit, t->session, &how, key);
    CALL(C_Encrypt, t->session, (CK_BYTE *)(uintptr_t)in, TAB_WRAP_KEY, ret + NONCE, &n);
    return n == WRAPPED - NONCE
               ? TAB_OK
               : tab_fail(err, TAB_UNAVAILABLE, "", "AES-GCM of the token gave %lu bytes, not %d",
                          (unsigned long)n, WRAPPED - NONCE);
}

static tab_status decrypt(token *t, const char *name, const uint8_t *in, uint8_t ret[TAB_WRAP_KEY],
                          tab_error *err)
{
    uint8_t nonce[NONCE], out[WRAPPED]; /* some ask for room for the tag as well */
    CK_OBJECT_HANDLE key = 0;
    CK_ULONG n = sizeof out;
    CK_GCM_PARAMS gcm = gcm_of(nonce);
    CK_MECHANISM how = { CKM_AES_GCM, &gcm, sizeof gcm };
    memcpy(nonce, in, NONCE);
    TAB_TRY(open_session(t, err));
    TAB_TRY(find_key(t, name, &key, err));
    CALL(C_DecryptInit, t->session, &how, key);
    CK_RV rv = t->f->C_Decrypt(t->session, (CK_BYTE *)(uintptr_t)(in + NONCE), WRAPPED - NONCE, out, &n);
    if (rv == CKR_OK && n == TAB_WRAP_KEY)
        memcpy(ret, out, TAB_WRAP_KEY);
    sodium_memzero(out, sizeof out);
    if (rv == CKR_OK && n == TAB_WRAP_KEY)
        return TAB_OK;
    if (rv == CKR_OK || rv == CKR_ENCRYPTED_DATA_INVALID || rv == CKR_ENCRYPTED_DATA_LEN_RANGE)
        return tab_fail(err, TAB_INTERNAL, "", "the token's key '%s' did not wrap it, or it was damaged",
                        name);
    return fail(rv, "C_Decrypt", err);
}

static tab_status wrap(void *self, const char *name, const uint8_t key[TAB_WRAP_KEY],
                       uint8_t ret[TAB_WRAPPED_MOST], size_t *ret_n, tab_error *err)
{
    token *t = self;
    tab_status s = encrypt(t, name, key, ret, err);
    if (s != TAB_OK && t->refused == NULL) {
        drop(t);
        s = encrypt(t, name, key, ret, err);
    }
    if (s != TAB_OK)
        drop(t);
    *ret_n = WRAPPED;
    return s;
}

static tab_status unwrap(void *self, const char *name, tab_str wrapped, uint8_t ret[TAB_WRAP_KEY],
                         tab_error *err)
{
    token *t = self;
    if (wrapped.n != WRAPPED)
        return tab_fail(err, TAB_INTERNAL, "", "a wrapped key of %zu bytes, not %d", wrapped.n, WRAPPED);
    tab_status s = decrypt(t, name, (const uint8_t *)wrapped.p, ret, err);
    if (s != TAB_OK && t->refused == NULL) {
        drop(t);
        s = decrypt(t, name, (const uint8_t *)wrapped.p, ret, err);
    }
    if (s != TAB_OK)
        drop(t);
    return s;
}

/* ---- a daemon's master keys ------------------------------------------------------------------ */

static token the_token;
static tab_pkcs11_config the_config;
static const tab_wrapper inner = { .scheme = "pkcs11", .self = &the_token, .wrap = wrap, .unwrap = unwrap };
static tab_bounded *bounded;

static bool load(const char *setting)
{
    void *library = dlopen(the_config.module, RTLD_NOW | RTLD_LOCAL);
    CK_C_GetFunctionList list = NULL;
    if (library == NULL) {
        tab_log(TAB_ERROR, "%s names a key in a token, and TAB_PKCS11_MODULE does not load: %s", setting,
                dlerror());
        return false;
    }
    *(void **)&list = dlsym(library, "C_GetFunctionList"); /* as POSIX has it */
    if (list == NULL || list(&the_token.f) != CKR_OK || the_token.f == NULL) {
        tab_log(TAB_ERROR, "TAB_PKCS11_MODULE %s is no PKCS#11 module", the_config.module);
        return false;
    }
    return true;
}

static bool open_token(const char *setting, const tab_pkcs11_config *set)
{
    the_config = *set;
    the_token.set = &the_config;
    if (set->module[0] == '\0' || set->token[0] == '\0' || set->pin[0] == '\0') {
        tab_log(TAB_ERROR,
                "%s names a key in a token; set TAB_PKCS11_MODULE, TAB_PKCS11_TOKEN and TAB_PKCS11_PIN_FILE",
                setting);
        return false;
    }
    if (!load(setting))
        return false;
    bounded = tab_bounded_open(&inner, set->wait_ms, KEEP_MS);
    return bounded != NULL;
}

/* Behind main, when no thread is left that seals. */
static void close_token(void)
{
    if (tab_bounded_close(bounded))
        drop(&the_token);
}

bool tab_master_keys_open(const char *text, const char *setting, const tab_pkcs11_config *set,
                          tab_keyring **ret)
{
    tab_error err = { 0 };
    *ret = NULL;
    if (text[0] == '\0')
        return true;
    bool in_token = strstr(text, ":pkcs11:") != NULL;
    if (in_token && !open_token(setting, set))
        return false;
    *ret = tab_keyring_with(text, in_token ? tab_bounded_wrapper(bounded) : NULL);
    if (*ret == NULL) {
        tab_log(TAB_ERROR, "%s is not a valid keyring", setting);
        return false;
    }
    if (tab_keyring_works(*ret, &err) != TAB_OK) { /* the line before says why */
        tab_log(TAB_ERROR, "a key of %s in the token cannot be used: %s", setting, err.message);
        return false;
    }
    return !in_token || atexit(close_token) == 0;
}
