/* What the programs that stand beside a running stack have in common: its RPC, its database, an organization. Included
 * once, by the program itself. */
#ifndef TAB_TEST_CLIENT_H
#define TAB_TEST_CLIENT_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/pg.h"
#include "common/proto.h"
#include "common/rpc.h"

#define MAYBE __attribute__((unused)) static

MAYBE tab_rpc *rpc;
MAYBE tab_pg *pg;
MAYBE tab_arena *a;
MAYBE const char *org;

/* One call with these tables; the answer, or NULL with its error in *err, or printed where err is NULL. */
MAYBE const void *ask_once(const char *whose, const char *service, const char *method,
                           const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                           const tab_table *const *tables, size_t n, tab_error *err)
{
    tab_ask q = { .service = service,
                  .method = method,
                  .org = whose,
                  .request_id = "req_test",
                  .actor = "key_test",
                  .deadline = tab_in_ms(60000),
                  .in = in,
                  .reply = reply,
                  .arena = a,
                  .tables = tables,
                  .n_tables = n };
    tab_answer y = { 0 };
    tab_error e = { 0 };
    if (tab_rpc_call(rpc, &q, &y, &e) == TAB_OK)
        return y.msg;
    if (err != NULL)
        *err = e;
    else
        printf("%s.%s: %s (%s)\n", service, method, e.message, e.param);
    return NULL;
}

/* The one number that the statement gives, over all organizations; -1: none. */
MAYBE int64_t number(const char *sql)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    if (tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, NULL) != TAB_OK ||
        tab_tx_query(tx, &rows, NULL, sql, TAB_P_NONE) != TAB_OK || tab_rows_count(rows) != 1)
        return -1;
    return tab_rows_int(rows, 0, 0);
}

MAYBE bool until(const char *sql, int64_t want, int seconds)
{
    int64_t got = -1;
    for (int i = 0; i < 50 * seconds && (got = number(sql)) != want; i++)
        usleep(20000);
    if (got != want)
        printf("%s: %lld, want %lld\n", sql, (long long)got, (long long)want);
    return got == want;
}

MAYBE char *id(const char *prefix)
{
    char buf[TAB_ID];
    strcmp(prefix, "r_") == 0 ? tab_id_hex(buf, prefix) : tab_id_new(buf, prefix);
    return tab_proto_text(a, buf);
}

#endif
