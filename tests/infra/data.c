/* The data-connector, called over a real NATS with a real Postgres behind it and another as source.
 * usage: data STEP ... (tests/suite/data starts the servers and changes the source between the
 * steps) */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/rpc/rpc.h"
#include "proto/data.pb-c.h"
#include "tests/infra/check.h"

int passed, failed;

static tab_rpc *rpc;
static tab_arena *arena;
static tab_error err;
static tab_answer answer;

static tab_status call(const char *org, const char *method, const ProtobufCMessage *in,
                       const ProtobufCMessageDescriptor *reply, const tab_table *const *tables, size_t n)
{
    tab_ask ask = { .service = "data-connector",
                    .method = method,
                    .org = org,
                    .request_id = "req_test",
                    .actor = "key_a",
                    .deadline = tab_in_ms(60000),
                    .in = in,
                    .reply = reply,
                    .arena = arena,
                    .tables = tables,
                    .n_tables = n };
    err = (tab_error){ 0 };
    answer = (tab_answer){ 0 };
    return tab_rpc_call(rpc, &ask, &answer, &err);
}

static char *text(const char *s)
{
    return (char *)tab_arena_copy(arena, tab_str_of(s)).p;
}

/* Numbers with nulls, texts of some levels, booleans. */
static const tab_table *made(const char *id, size_t rows, size_t cols)
{
    tab_column *col = tab_arena_new_of(arena, tab_column, cols);
    for (size_t c = 0; c < cols; c++) {
        tab_builder *b = tab_builder_new(arena, tab_str_of(tab_arena_printf(arena, "c%zu", c)));
        for (size_t r = 0; r < rows; r++) {
            unsigned x = (unsigned)((r * 2654435761u + c * 97u) >> 8);
            char word[16];
            if (x % 17 == 0)
                tab_builder_null(b);
            else if (c % 3 == 1)
                tab_builder_text(b, (tab_str){ word, (size_t)snprintf(word, sizeof word, "w%u", x % 3000) });
            else if (c % 3 == 2)
                tab_builder_bool(b, x % 2 == 0);
            else
                tab_builder_number(b, x % 100000 / 4.0);
        }
        CHECK(tab_builder_finish(b, &col[c]));
    }
    tab_table *t = tab_arena_new_of(arena, tab_table, 1);
    *t = (tab_table){ .id = tab_str_of(id), .rows = rows, .cols = cols, .col = col };
    return t;
}

static const Tabella__DataObject *ingest(const char *org, const tab_table *t, const char *ingest_id,
                                         const char *owner)
{
    Tabella__IngestRequest q = TABELLA__INGEST_REQUEST__INIT;
    q.name = text("my.table");
    q.ingest_id = text(ingest_id);
    q.temporary = owner[0] != 0;
    q.owner = text(owner);
    if (call(org, "Ingest", &q.base, &tabella__ingest_reply__descriptor, &t, 1) != TAB_OK)
        return NULL;
    return ((const Tabella__IngestReply *)answer.msg)->dataset;
}

static const tab_table *read_back(const char *org, const char *snapshot, uint64_t first, uint64_t rows,
                                  uint32_t *cols, size_t n)
{
    Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
    q.snapshot = text(snapshot);
    q.first_row = first;
    q.rows = rows;
    q.columns = cols;
    q.n_columns = n;
    q.table_id = text("t");
    if (call(org, "Read", &q.base, &tabella__read_reply__descriptor, NULL, 0) != TAB_OK ||
        answer.n_tables != 1)
        return NULL;
    return answer.tables[0];
}

static const Tabella__DataObject *with_id(const char *org, const char *method, const char *id)
{
    Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
    q.id = text(id);
    q.actor = text("key_a");
    return call(org, method, &q.base, &tabella__data_object__descriptor, NULL, 0) == TAB_OK ? answer.msg
                                                                                            : NULL;
}

static tab_status delete (const char *org, const char *id)
{
    Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
    q.id = text(id);
    return call(org, "Delete", &q.base, &tabella__delete_data_reply__descriptor, NULL, 0);
}

static tab_status acquire(const char *org, const char *endpoint, const char *snapshot)
{
    Tabella__AcquireRequest q = TABELLA__ACQUIRE_REQUEST__INIT;
    char *one[] = { text(snapshot) };
    q.endpoint_id = tab_arena_printf(arena, "id-of-%s", endpoint);
    q.endpoint = text(endpoint);
    q.snapshots = one;
    q.n_snapshots = snapshot[0] != 0;
    return call(org, "Acquire", &q.base, &tabella__acquire_reply__descriptor, NULL, 0);
}

static const Tabella__ListDataReply *list(const char *org, uint32_t limit, const char *after)
{
    Tabella__ListDataRequest q = TABELLA__LIST_DATA_REQUEST__INIT;
    q.limit = limit;
    q.after = text(after);
    return call(org, "List", &q.base, &tabella__list_data_reply__descriptor, NULL, 0) == TAB_OK ? answer.msg
                                                                                                : NULL;
}

static const Tabella__ResolveReply *resolve(const char *org, const char *one, const char *two,
                                            const char *owner)
{
    Tabella__ResolveRequest q = TABELLA__RESOLVE_REQUEST__INIT;
    char *refs[] = { text(one), text(two) };
    q.refs = refs;
    q.n_refs = two[0] != 0 ? 2 : 1;
    q.owner = text(owner);
    return call(org, "Resolve", &q.base, &tabella__resolve_reply__descriptor, NULL, 0) == TAB_OK ? answer.msg
                                                                                                 : NULL;
}

static void pinned(const Tabella__DataObject *d)
{
    const Tabella__DataObject *o;
    CHECK((o = with_id("org_a", "Pin", d->id)) != NULL && o->pinned && o->n_pinned_by == 0);
    CHECK((o = with_id("org_a", "Unpin", d->id)) != NULL && !o->pinned);
    CHECK(acquire("org_a", "churn", d->snapshot) == TAB_OK);
    o = with_id("org_a", "Get", d->id);
    CHECK(o != NULL && o->pinned && o->n_pinned_by == 1 && !strcmp(o->pinned_by[0], "id-of-churn"));
    CHECK(with_id("org_a", "Unpin", d->id) == NULL && err.status == TAB_CONFLICT &&
          strstr(err.message, "churn"));
    CHECK(delete ("org_a", d->id) == TAB_CONFLICT && strstr(err.message, "churn"));
    CHECK(acquire("org_a", "churn", "dsv_gone") == TAB_CONFLICT);
    CHECK(with_id("org_a", "Get", d->id)->pinned); /* all or nothing */
    Tabella__ReleaseRequest q = TABELLA__RELEASE_REQUEST__INIT;
    q.endpoint_id = text("id-of-churn");
    CHECK(call("org_a", "Release", &q.base, &tabella__empty__descriptor, NULL, 0) == TAB_OK);
    CHECK(!with_id("org_a", "Get", d->id)->pinned);
}

static void resolved(const Tabella__DataObject *d, const Tabella__DataObject *again)
{
    const Tabella__ResolveReply *r = resolve("org_a", d->id, again->id, "");
    CHECK(r != NULL && r->n_tables == 2 && !strcmp(r->tables[0]->name, d->id) &&
          !strcmp(r->tables[1]->name, again->id));
    CHECK((r = resolve("org_a", d->id, "", "")) != NULL && !strcmp(r->tables[0]->name, "my_table") &&
          r->tables[0]->last_used > 0 && r->tables[0]->rows == 70000);
    CHECK(resolve("org_a", d->id, "conn_none", "") == NULL && err.status == TAB_NOT_FOUND &&
          !strcmp(err.param, "data[1]"));
    CHECK(resolve("org_b", d->id, "", "") == NULL && err.status == TAB_NOT_FOUND);
}

/* Datasets of a job; their blocks are shared with those of d. */
static void temporary(const tab_table *t, const Tabella__DataObject *d)
{
    const Tabella__DataObject *spool = ingest("org_a", t, "job_2:0", "job_2");
    CHECK(spool != NULL && with_id("org_a", "Get", spool->id) == NULL && list("org_a", 10, "")->total == 2);
    CHECK(read_back("org_a", spool->snapshot, 0, 1, NULL, 0) != NULL);
    Tabella__DropRequest drop = TABELLA__DROP_REQUEST__INIT;
    drop.owner = text("job_2");
    CHECK(call("org_a", "Drop", &drop.base, &tabella__empty__descriptor, NULL, 0) == TAB_OK);
    CHECK(read_back("org_a", spool->snapshot, 0, 1, NULL, 0) == NULL && err.status == TAB_NOT_FOUND);
    const tab_table *back = read_back("org_a", d->snapshot, 0, 0, NULL, 0);
    CHECK(back != NULL && tab_table_equal(t, back)); /* its blocks were shared and are still there */
}

static void paged(void)
{
    for (int i = 0; i < 5; i++)
        CHECK(ingest("org_c", made("t", 3, 1), "", "") != NULL);
    const char *after = "";
    size_t seen = 0;
    char ids[8][48];
    do {
        const Tabella__ListDataReply *l = list("org_c", 2, after);
        CHECK(l != NULL && l->total >= 5);
        for (size_t i = 0; l != NULL && i < l->n_data && seen < 8; i++)
            snprintf(ids[seen++], sizeof ids[0], "%s", l->data[i]->id);
        after = l == NULL ? "" : l->next;
        CHECK(ingest("org_c", made("t", 3, 1), "", "") !=
              NULL); /* what comes meanwhile neither repeats nor hides */
    } while (after[0] != 0 && seen < 8);
    CHECK(seen == 5);
    for (size_t i = 0; i < seen; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(ids[i], ids[k]) != 0);
    CHECK(list("org_c", 2, "nonsense") == NULL && err.status == TAB_VALIDATION &&
          !strcmp(err.param, "cursor"));
}

/* No rows, and many columns. */
static void of_odd_sizes(void)
{
    const Tabella__DataObject *d;
    const tab_table *back, *t;
    CHECK((d = ingest("org_d", made("t", 0, 3), "", "")) != NULL &&
          (back = read_back("org_d", d->id, 0, 0, NULL, 0)) != NULL && back->rows == 0 && back->cols == 3);
    t = made("t", 10, 2000);
    CHECK((d = ingest("org_d", t, "", "")) != NULL &&
          (back = read_back("org_d", d->id, 0, 0, NULL, 0)) != NULL && tab_table_equal(t, back));
    CHECK(ingest("org_d", made("t", 1, 2001), "", "") == NULL && err.status == TAB_VALIDATION);
}

static void datasets(void)
{
    const tab_table *t = made("t", 70000, 4);
    const Tabella__DataObject *d = ingest("org_a", t, "", ""), *again, *o;
    CHECK(d != NULL && !strncmp(d->id, "ds_", 3) && !strncmp(d->snapshot, "dsv_", 4) && d->rows == 70000 &&
          d->cols == 4 && d->cells == 280000 && d->size_bytes > 0 && !d->pinned &&
          !strcmp(d->source, "upload") && d->snapshot_at > 0);
    if (d == NULL)
        return;
    const tab_table *back = read_back("org_a", d->snapshot, 0, 0, NULL, 0);
    CHECK(back != NULL && tab_table_equal(t, back));
    back = read_back("org_a", d->id, 65530, 10, (uint32_t[]){ 1 }, 1);
    CHECK(back != NULL && back->rows == 10 && back->cols == 1);
    for (size_t r = 0; back != NULL && r < 10; r++)
        CHECK(tab_str_eq(tab_cell_at(&back->col[0], r).text, tab_cell_at(&t->col[1], 65530 + r).text));
    CHECK(read_back("org_a", d->snapshot, 70001, 1, NULL, 0) == NULL && err.status == TAB_VALIDATION);

    /* another organization sees nothing */
    CHECK(read_back("org_b", d->snapshot, 0, 0, NULL, 0) == NULL && err.status == TAB_NOT_FOUND);
    CHECK(with_id("org_b", "Get", d->id) == NULL && err.status == TAB_NOT_FOUND);
    CHECK(delete ("org_b", d->id) == TAB_NOT_FOUND && list("org_b", 10, "")->total == 0);
    CHECK(with_id("org_a", "Get", "ds_unknown") == NULL && err.status == TAB_NOT_FOUND);

    /* once an ingest id */
    again = ingest("org_a", made("u", 5, 2), "job_1:0", "");
    o = ingest("org_a", made("u", 9, 2), "job_1:0", "");
    CHECK(again != NULL && o != NULL && !strcmp(again->id, o->id) && o->rows == 5);

    pinned(d);
    resolved(d, again);
    temporary(t, d);
    paged();

    /* deletion is immediate */
    CHECK(delete ("org_a", d->id) == TAB_OK && with_id("org_a", "Get", d->id) == NULL);
    CHECK(read_back("org_a", d->snapshot, 0, 1, NULL, 0) == NULL && err.status == TAB_NOT_FOUND);
    CHECK(delete ("org_a", d->id) == TAB_NOT_FOUND);
    of_odd_sizes();
}

static tab_status connect_to(const char *org, const char *ref, const char *query, const char *tls,
                             const char *user)
{
    Tabella__ConnectRequest q = TABELLA__CONNECT_REQUEST__INIT;
    Tabella__Credential c[2] = { TABELLA__CREDENTIAL__INIT, TABELLA__CREDENTIAL__INIT };
    Tabella__Credential *both[] = { &c[0], &c[1] };
    c[0].name = text("user");
    c[0].value = text(user);
    c[1].name = text("tls");
    c[1].value = text(tls);
    q.source = text(ref);
    q.query = text(query);
    q.credentials = both;
    q.n_credentials = 2;
    q.actor = text("key_a");
    return call(org, "Connect", &q.base, &tabella__connect_reply__descriptor, NULL, 0);
}

/* What names no source, or one that may not be reached. */
static void refused_sources(void)
{
    static const struct {
        const char *ref, *param;
    } cases[] = {
        { "postgres://10.0.0.1/a/b/c", "source" },
        { "postgres://[::1]/a/b/c", "source" },
        { "postgres://169.254.169.254/a/b/c", "source" },
        { "postgres://[::ffff:10.0.0.1]/a/b/c", "source" },
        { "postgres://2130706433/a/b/c", "source" },
        { "postgres://127.1/a/b/c", "source" },
        { "postgres://0x7f.0.0.1/a/b/c", "source" },
        { "postgres://0177.1/a/b/c", "source" },
        { "postgres://u:p@example.com/a/b/c", "source" },
        { "postgres://example.com/a/b", "source" },
        { "postgres://example.com/a/b/c/d", "source" },
        { "postgres://example.com/a/b/c?x=1", "source" },
        { "postgres://example.com/a//c", "source" },
        { "postgres://example.com/a/b%2fb/c", "source" },
        { "postgres:///tmp/a/b", "source" },
        { "file:///etc/passwd", "source" },
        { "POSTGRES://example.com/a/b/c", "source" },
        { "gopher://example.com/a/b/c", "source" },
        { "postgres://127.0.0.1.:5432/a/b/c", "source" },
        { "postgres://127.0.0.1:6379/a/b/c", "source" },
        { "postgres://127.0.0.1:99999/a/b/c", "source" },
        { "postgres://[fd00::1]/a/b/c", "source" },
        { "no ref at all", "source" },
        { "", "source" },
        { "postgres://exa\nmple.com/a/b/c", "source" },
        { "postgres://host name/a/b/c", "source" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_status s = connect_to("org_s", cases[i].ref, "", "disable", "tab");
        CHECK(s == TAB_VALIDATION && strcmp(err.param, cases[i].param) == 0);
        if (s != TAB_VALIDATION)
            printf("  %s: %d %s\n", cases[i].ref, s, err.message);
    }
}

static void refused_queries(const char *ref)
{
    static const char *const queries[] = {
        "SELECT 1; SELECT 2",
        "DROP TABLE orders",
        "INSERT INTO orders VALUES (9)",
        "SELECT nothing FROM orders",
        "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x",
        "SELECT 1/0",
        "COPY orders TO PROGRAM 'id'",
        "SELECT nextval('counter')",
        "SELECT set_config('transaction_read_only', 'off', true), lo_create(4711)",
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        tab_status s = connect_to("org_s", ref, queries[i], "disable", "tab");
        CHECK(s == TAB_VALIDATION && !strcmp(err.param, "options.query"));
        if (s != TAB_VALIDATION)
            printf("  %s: %d %s\n", queries[i], s, err.message);
    }
    CHECK(list("org_s", 10, "")->total == 0);
}

static void refused(const char *port)
{
    refused_sources();
    const char *ref = tab_arena_printf(arena, "postgres://127.0.0.1:%s/src/public/orders", port);
    CHECK(connect_to("org_s", ref, "", "nonsense", "tab") == TAB_VALIDATION &&
          !strcmp(err.param, "credentials.tls"));
    CHECK(connect_to("org_s", ref, "", "verify-full", "tab") == TAB_VALIDATION && /* the source has no TLS */
          !strcmp(err.param, "source"));
    CHECK(connect_to("org_s", ref, "", "disable", "nobody_here") == TAB_VALIDATION &&
          !strcmp(err.param, "credentials"));
    CHECK(connect_to("org_s", tab_arena_printf(arena, "postgres://127.0.0.1:%s/src/public/nothing", port), "",
                     "disable", "tab") == TAB_VALIDATION &&
          !strcmp(err.param, "source"));
    CHECK(connect_to("org_s", tab_arena_printf(arena, "postgres://127.0.0.1:%s/nodb/public/orders", port), "",
                     "disable", "tab") == TAB_VALIDATION &&
          !strcmp(err.param, "source"));
    CHECK(connect_to("org_s", "postgres://127.0.0.1:1/src/public/orders", "", "disable", "tab") ==
              TAB_VALIDATION && /* refused */
          !strcmp(err.param, "source"));
    refused_queries(ref);
}

static void connects(const char *port)
{
    const char *ref = tab_arena_printf(arena, "postgres://127.0.0.1:%s/src/public/orders", port);
    CHECK(connect_to("org_p", ref, "", "disable", "tab") == TAB_OK);
    const Tabella__ConnectReply *r = answer.msg;
    if (r == NULL) {
        printf("  %s %s\n", err.param, err.message);
        return;
    }
    CHECK(!strncmp(r->connection->id, "conn_", 5) && !strcmp(r->connection->kind, "connection") &&
          !strcmp(r->connection->name, "orders") && !strcmp(r->connection->source, ref));
    CHECK(r->connection->n_credentials_set == 2 && !strcmp(r->connection->dataset, r->dataset->id));
    CHECK(!strcmp(r->dataset->source, ref) && r->dataset->rows == 4 && r->dataset->cols == 9);
    printf("ids %s %s %s\n", r->connection->id, r->dataset->id, r->dataset->snapshot);
    const tab_table *t = read_back("org_p", r->dataset->id, 0, 0, NULL, 0);
    CHECK(t != NULL && t->cols == 9 && t->rows == 4);
    if (t == NULL)
        return;
    static const char *const first[] = {
        "",           "Ada",      "9007199254740993", "true", "2026-01-31T12:30:00Z", "2026-01-31T12:30:00.5",
        "2026-01-31", "bytes(3)", "{\"a\": 1}"
    };
    CHECK(tab_cell_at(&t->col[0], 0).num == 1);
    for (size_t c = 1; c < 9; c++) {
        tab_cell cell = tab_cell_at(&t->col[c], 0);
        CHECK(tab_str_eq(cell.text, tab_str_of(first[c])));
        if (!tab_str_eq(cell.text, tab_str_of(first[c])))
            printf("  column %zu: %.*s\n", c, TAB_STR(cell.text));
    }
    for (size_t c = 1; c < 9; c++)
        CHECK(tab_cell_at(&t->col[c], 1).kind == TAB_CELL_NULL);
    CHECK(tab_cell_at(&t->col[4], 2).kind == TAB_CELL_NULL); /* infinity */
    CHECK(tab_cell_at(&t->col[1], 2).kind == TAB_CELL_TEXT &&
          tab_cell_at(&t->col[1], 2).text.n == 0); /* empty, not null */
    const Tabella__ResolveReply *y = resolve("org_p", r->connection->id, "", "run_1");
    CHECK(y != NULL && !strcmp(y->tables[0]->name, "orders") && y->tables[0]->rows == 4 &&
          y->tables[0]->dataset[0] == 0);
    CHECK((y = resolve("org_p", ref, "", "run_1")) != NULL && y->tables[0]->rows == 4);
    CHECK(list("org_p", 10, "")->total == 2); /* a run's read registers nothing */
}

/* sync ID ADDED CHANGED REMOVED UNCHANGED */
static void sync_expects(char **argv)
{
    Tabella__SyncRequest q = TABELLA__SYNC_REQUEST__INIT;
    q.id = argv[2];
    CHECK(call("org_p", "Sync", &q.base, &tabella__sync_reply__descriptor, NULL, 0) == TAB_OK);
    const Tabella__SyncReply *r = answer.msg;
    if (r == NULL) {
        printf("  %s %s\n", err.param, err.message);
        return;
    }
    uint64_t want[4];
    for (int i = 0; i < 4; i++)
        want[i] = strtoull(argv[3 + i], NULL, 10);
    const Tabella__RowDiff *d = r->diff;
    CHECK(d->rows_added == want[0] && d->rows_changed == want[1] && d->rows_removed == want[2] &&
          d->rows_unchanged == want[3]);
    CHECK(d->n_key == 1 && !strcmp(d->key[0], "id"));
    CHECK(strcmp(r->snapshot, r->previous_snapshot) != 0 && r->synced_at > 0 && !strncmp(r->id, "conn_", 5));
    char snapshot[48], previous[48], twice[] = "job_9:0";
    snprintf(snapshot, sizeof snapshot, "%s", r->snapshot);
    snprintf(previous, sizeof previous, "%s", r->previous_snapshot);
    CHECK(!strcmp(with_id("org_p", "Get", r->dataset)->snapshot, snapshot));
    CHECK(read_back("org_p", previous, 0, 0, NULL, 0) != NULL); /* an older snapshot is still there */
    Tabella__DiffRequest dq = TABELLA__DIFF_REQUEST__INIT;
    dq.from = snapshot; /* backwards: added and removed swap */
    dq.to = previous;
    CHECK(call("org_p", "Diff", &dq.base, &tabella__diff_reply__descriptor, NULL, 0) == TAB_OK);
    d = ((const Tabella__DiffReply *)answer.msg)->diff;
    CHECK(d->rows_added == want[2] && d->rows_removed == want[0] && d->rows_changed == want[1]);
    q.sync_id = twice;
    CHECK(call("org_p", "Sync", &q.base, &tabella__sync_reply__descriptor, NULL, 0) == TAB_OK);
    snprintf(snapshot, sizeof snapshot, "%s", ((const Tabella__SyncReply *)answer.msg)->snapshot);
    CHECK(call("org_p", "Sync", &q.base, &tabella__sync_reply__descriptor, NULL, 0) == TAB_OK);
    CHECK(!strcmp(snapshot, ((const Tabella__SyncReply *)answer.msg)->snapshot)); /* the same sync, once */
}

static void after_all(char **argv)
{
    Tabella__SyncRequest q = TABELLA__SYNC_REQUEST__INIT;
    const Tabella__DataObject *d = ingest("org_p", made("t", 2, 2), "", "");
    q.id = d->id;
    CHECK(call("org_p", "Sync", &q.base, &tabella__sync_reply__descriptor, NULL, 0) == TAB_VALIDATION &&
          !strcmp(err.param, "id"));
    CHECK(with_id("org_p", "Pin", argv[2]) == NULL && err.status == TAB_VALIDATION &&
          !strcmp(err.param, "id"));
    CHECK(with_id("org_b", "Get", argv[2]) == NULL && err.status == TAB_NOT_FOUND);
    CHECK(delete ("org_b", argv[2]) == TAB_NOT_FOUND);
    CHECK(delete ("org_p", argv[2]) == TAB_OK && with_id("org_p", "Get", argv[2]) == NULL);
    CHECK(with_id("org_p", "Get", argv[3]) != NULL); /* its dataset stays */
    q.id = argv[3];
    CHECK(call("org_p", "Sync", &q.base, &tabella__sync_reply__descriptor, NULL, 0) == TAB_VALIDATION);
}

/* The source is away: typed, and said when the connection is retrieved. */
static void source_away(char **argv)
{
    Tabella__SyncRequest q = TABELLA__SYNC_REQUEST__INIT;
    q.id = argv[2];
    tab_status s = call("org_p", "Sync", &q.base, &tabella__sync_reply__descriptor, NULL, 0);
    CHECK(s == TAB_VALIDATION && !strcmp(err.param, "source"));
    const Tabella__DataObject *o = with_id("org_p", "Get", argv[2]);
    CHECK(o != NULL && !strcmp(o->last_sync_outcome, "failed") &&
          strstr(o->last_sync_message, "no such table"));
}

int main(int argc, char **argv)
{
    const char *step = argc > 1 ? argv[1] : "";
    arena = tab_arena_new((size_t)2 << 30);
    rpc = tab_rpc_open(TAB_AT(getenv("TAB_NATS")), "test");
    if (arena == NULL || rpc == NULL)
        return 1;
    CHECK(rpc_ready(rpc));
    if (strcmp(step, "datasets") == 0)
        datasets();
    else if (strcmp(step, "refused") == 0 && argc > 2)
        refused(argv[2]);
    else if (strcmp(step, "connects") == 0 && argc > 2)
        connects(argv[2]);
    else if (strcmp(step, "sync") == 0 && argc > 6)
        sync_expects(argv);
    else if (strcmp(step, "away") == 0 && argc > 2)
        source_away(argv);
    else if (strcmp(step, "after") == 0 && argc > 3)
        after_all(argv);
    tab_rpc_free(rpc);
    tab_arena_free(arena);
    printf("%s: %d passed, %d failed\n", step, passed, failed);
    return failed > 0;
}
