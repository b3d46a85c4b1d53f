/* The certificate of rows that are about to go: their number, the bytes of their blocks, and one SHA-256 over
 * the places and hashes of these blocks, snapshot by snapshot. A block is addressed by a keyed hash of its
 * bytes, so the digest stands for the cells without reading them, and an export shows the same one. */
#include "common/rpc/retention.h"
#include "services/data-connector/store/store.h"

#define DIGEST                                                                                           \
    "encode(sha256(coalesce(string_agg(convert_to(concat_ws(' ', p.snapshot, p.first_row, p.first_col, " \
    "p.rows, p.cols), 'UTF8') || p.hash, ''::bytea ORDER BY p.snapshot, p.first_row, p.first_col), "     \
    "''::bytea)), 'hex')"

tab_status store_certify(tab_tx *tx, const tab_call *call, const char *org, const char *actor, const char *of,
                         const char *id, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "WITH s AS (SELECT id, rows, bytes FROM data_connector.snapshot WHERE org = $1 AND kept "
        "AND (dataset = $2 OR id = $2)) SELECT (SELECT coalesce(sum(rows), 0) FROM s), "
        "(SELECT coalesce(sum(bytes), 0) FROM s), " DIGEST
        " FROM data_connector.piece p WHERE p.org = $1 AND p.snapshot = ANY(ARRAY(SELECT id FROM s))",
        TAB_P(tab_p_text(org), tab_p_text(id))));
    tab_certificate c = { .of = of,
                          .object = id,
                          .rows = tab_rows_int(r, 0, 0),
                          .bytes = tab_rows_int(r, 0, 1),
                          .sha256 = tab_rows_text(r, 0, 2) };
    return tab_certificate_put(tx, "data_connector", call, org, actor, &c, err);
}
