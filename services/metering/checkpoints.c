/* Up to where the ledger was cut (decision 0352): what its checkpoints say is held against their
 * signatures, against one another, and against the sums that are kept of what was cut. */
#include <stdio.h>

#include "common/security/crypto.h"
#include "services/metering/metering.h"

/* The n-th of them; NULL: it holds. */
static const char *holds(const tab_checkpoint *c, const char *org, const char *n, const char *previous,
                         const char *keys)
{
    if (!tab_checkpoint_holds(c, keys))
        return "a checkpoint is not what was signed, or not by a key that is known";
    if (!tab_checkpoint_says(c, "kind", "ledger") || !tab_checkpoint_says(c, "org", org))
        return "a checkpoint is of something else";
    if (!tab_checkpoint_says(c, "n", n) || !tab_checkpoint_says(c, "previous", previous))
        return "a checkpoint is missing";
    return NULL;
}

const char *metering_chain_next(metering_chain *c, tab_str text, tab_str key, tab_str signature)
{
    char previous[TAB_SHA256_HEX], n[24];
    if (c->n == 0) {
        memset(previous, '0', sizeof previous - 1);
        previous[sizeof previous - 1] = 0;
    } else {
        tab_sha256_hex(tab_str_of(c->now.text), previous);
    }
    snprintf(n, sizeof n, "%zu", ++c->n);
    if (!tab_checkpoint_read(text, key, signature, &c->now))
        return "a checkpoint cannot be read";
    return holds(&c->now, c->org, n, previous, c->keys);
}

const char *metering_chain_end(const metering_chain *c, bool kept, const char *digest)
{
    bool same = c->n == 0 ? !kept : tab_checkpoint_says(&c->now, "sums", digest);
    return same ? NULL : "the sums of what was cut are not those that were signed";
}

tab_status metering_checkpoints(tab_tx *tx, const char *org, const char *keys, const char **ret_why,
                                tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    metering_chain c = { .org = org, .keys = keys };
    *ret_why = NULL;
    /* one statement: a cut meanwhile is in both of its halves or in neither */
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT p.n, p.signed, encode(p.key, 'hex'), encode(p.signature, 'hex'), s.digest, s.there "
        "FROM (SELECT metering.cut_digest($1) AS digest, "
        "EXISTS (SELECT FROM metering.cut_sum WHERE org = $1) AS there) s "
        "LEFT JOIN metering.checkpoint p ON p.org = $1 ORDER BY p.n",
        TAB_P(tab_p_text(org))));
    size_t count = tab_rows_null(r, 0, 0) ? 0 : tab_rows_count(r);
    for (size_t i = 0; i < count && *ret_why == NULL; i++)
        *ret_why =
            metering_chain_next(&c, tab_rows_str(r, i, 1), tab_rows_str(r, i, 2), tab_rows_str(r, i, 3));
    if (*ret_why == NULL)
        *ret_why = metering_chain_end(&c, tab_rows_bool(r, 0, 5), tab_rows_text(r, 0, 4));
    return TAB_OK;
}
