/* Pieces of files on their way, sealed where datasets are (decision 0765), each at its place in its file
 * alone. A column says whether one is sealed, not its bytes: a file may begin with anything. */
#include "services/data-connector/store/store.h"

enum { PIECE_ROOM = 16 << 20 }; /* the largest one twice, and what surrounds it */

static tab_str context(tab_arena *a, const char *org, const char *upload, int64_t number)
{
    const char *text =
        tab_arena_printf(a, "data_connector.upload_piece/%s/%s/%lld", org, upload, (long long)number);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

tab_status store_upload_piece_add(tab_tx *tx, const store_keys *keys, const char *org, const char *upload,
                                  int64_t number, tab_str bytes, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(PIECE_ROOM);
    TAB_AUTO(tab_keyring) *own = NULL;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(org_keys_data(tx, org, keys, &own, err));
    if (own != NULL)
        TAB_TRY(tab_seal(own, a, bytes, context(a, org, upload, number), &bytes, err));
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO data_connector.upload_piece (org, upload, number, bytes, sealed) "
                        "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (org, upload, number) DO NOTHING",
                        TAB_P(tab_p_text(org), tab_p_text(upload), tab_p_int(number), tab_p_bytes(bytes),
                              tab_p_bool(own != NULL)));
}

tab_status store_upload_piece_read(tab_tx *tx, tab_arena *a, const store_keys *keys, tab_keyring **own,
                                   const char *org, const char *upload, int64_t number, tab_str *ret,
                                   tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query_bytes(tx, &r, err,
                               "SELECT bytes, sealed::int::text FROM data_connector.upload_piece "
                               "WHERE org = $1 AND upload = $2 AND number = $3",
                               TAB_P(tab_p_text(org), tab_p_text(upload), tab_p_int(number))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_VALIDATION, "file", "the uploaded file is no longer stored; send it again");
    tab_str stored = tab_rows_bytes(r, 0, 0, a); /* the rows' own */
    if (*tab_rows_text(r, 0, 1) == '0') {
        *ret = tab_arena_copy(a, stored);
        return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
    }
    if (*own == NULL)
        TAB_TRY(tab_data_key_read(tx, &keys->own, org, own, err));
    return tab_unseal(*own, a, stored, context(a, org, upload, number), ret, err);
}
