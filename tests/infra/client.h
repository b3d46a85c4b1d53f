/* What the programs that stand beside a running stack have in common: its RPC, its database, an
 * organization. Included once, by the program itself. */
#ifndef TAB_TEST_CLIENT_H
#define TAB_TEST_CLIENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/proto.h"
#include "common/pg/pg.h"
#include "common/rpc/rpc.h"
#include "common/security/ids.h"
#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "tests/infra/check.h"

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

/* Waits until the statement gives that number: long enough for any machine. */
MAYBE bool until(const char *sql, int64_t want)
{
    int64_t got = -1;
    for (int64_t end = tab_in_ms(PATIENCE_MS); (got = number(sql)) != want && tab_mono_ms() < end;)
        usleep(20000);
    if (got != want)
        printf("%s: %lld, want %lld\n", sql, (long long)got, (long long)want);
    return got == want;
}

MAYBE const Tabella__Job *job_get(const char *job, tab_error *err)
{
    Tabella__GetJobRequest q = TABELLA__GET_JOB_REQUEST__INIT;
    q.job_id = (char *)job;
    return ask_once(org, "jobs", "Get", &q.base, &tabella__job__descriptor, NULL, 0, err);
}

/* The job when it has ended; as it is when patience has. */
MAYBE const Tabella__Job *job_end(const char *job)
{
    const Tabella__Job *j = NULL;
    for (int64_t end = tab_in_ms(PATIENCE_MS); tab_mono_ms() < end; usleep(50000)) {
        j = job_get(job, NULL);
        if (j != NULL && strcmp(j->status, "queued") != 0 && strcmp(j->status, "running") != 0)
            break;
    }
    if (j != NULL && strcmp(j->status, "failed") == 0)
        printf("job failed: %s\n", j->error);
    return j;
}

/* Joins the stack that TAB_NATS and TAB_POSTGRES name, with an organization of the plan pro; false: there
 * is none. */
MAYBE bool joined(void)
{
    a = tab_arena_new((size_t)4 << 30);
    pg = tab_pg_open(getenv("TAB_POSTGRES"), NULL, 4);
    rpc = tab_rpc_open(TAB_AT(getenv("TAB_NATS")), "test");
    if (!rpc_ready(rpc))
        return false;
    Tabella__CreateOrgRequest q = TABELLA__CREATE_ORG_REQUEST__INIT;
    q.name = (char *)"Test";
    q.plan = (char *)"pro";
    const Tabella__CreateOrgReply *y =
        ask_once("", "keys", "CreateOrg", &q.base, &tabella__create_org_reply__descriptor, NULL, 0, NULL);
    org = y == NULL ? "org_none" : y->org;
    return y != NULL;
}

/* Leaves it; the program's exit code. */
MAYBE int left(const char *program)
{
    tab_rpc_free(rpc);
    tab_pg_free(pg);
    tab_arena_free(a);
    printf("%s: %d passed, %d failed\n", program, passed, failed);
    return failed != 0;
}

MAYBE char *id(const char *prefix)
{
    char buf[TAB_ID];
    strcmp(prefix, "r_") == 0 ? tab_id_hex(buf, prefix) : tab_id_new(buf, prefix);
    return tab_proto_text(a, buf);
}

#endif
