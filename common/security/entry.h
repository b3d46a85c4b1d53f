/* What the gateway finds in Redis about a key, signed by the keys service, so that whoever can write to Redis
 * can neither make a key nor revive one (decision 0247).
 *
 *   tab:g:<hash>   GRANT, or    GRANT epoch until mac     the key whose SHA-256 is <hash> has this grant
 *   tab:v:<org>                 epoch mac                 the organization's last revocation has this number
 *
 *   epoch   number of the organization's last revocation when the entry was written, 0: none
 *   until   seconds since 1970 after which it is asked about anew; where nobody can be asked it holds for
 *           TAB_PAST_S more (decision 0404)
 *   mac     keyed BLAKE2b (RFC 7693), 32 bytes in hex, over a word for its kind, the hash (or organization),
 *           and all before it; the key is BLAKE2b of the secret that keys and gateway share
 *
 * Used by keys, which writes, and by the gateway's module, which checks. */
#ifndef TAB_ENTRY_H
#define TAB_ENTRY_H

#include "common/security/identity.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TAB_ENTRY_TEXT = TAB_GRANT_TEXT + 2 * 21 + 66, TAB_EPOCH_TEXT = 21 + 66, TAB_PAST_S = 1200 };

typedef struct {
    tab_grant grant;
    uint64_t epoch;
    int64_t until_s;
    bool is_signed; /* else epoch and until_s are 0 */
} tab_entry;

/* k NULL: unsigned. Writes the text and a NUL; gives its length, 0 when it does not fit. */
size_t tab_entry_write(const tab_identity_key *k, tab_str hash, const tab_entry *e, char *buf, size_t size);

/* k NULL: accepts any entry of either form. Else accepts only one that is signed for this hash. The caller
 * compares epoch and time. */
bool tab_entry_read(const tab_identity_key *k, tab_str hash, tab_str text, tab_entry *ret) TAB_CHECKED;

size_t tab_epoch_write(const tab_identity_key *k, tab_str org, uint64_t epoch, char *buf, size_t size);
bool tab_epoch_read(const tab_identity_key *k, tab_str org, tab_str text, uint64_t *ret) TAB_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
