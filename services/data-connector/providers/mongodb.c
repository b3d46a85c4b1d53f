/* Collections of MongoDB: mongodb://host[:27017]/database/collection, one server or member of a replica set.
 *
 * Documents are rows, in the order of their _id; what lies within a document becomes columns a.b, an array
 * is one text. options.query is a filter as find() takes it, in JSON (decision 0356: why the protocol is
 * spoken here and not by a library). In a replica set of version 5 or newer all batches are of one moment
 * (read concern snapshot). */
#include <sodium.h>
#include <stdio.h>

#include "common/files/json_rows.h"
#include "services/data-connector/data.h"
#include "services/data-connector/protocols/mongo_wire.h"
#include "services/data-connector/protocols/scram.h"

enum { BATCH = 1000, BATCHES = 1000000, FILTER_DEPTH = 16, NONCE = 18, VERSION_5 = 13, STEPS = 8 };

static const char *const members[] = { "user", "password", "auth_source", "tls", "ca", NULL },
                         *const options[] = { "query", NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    mongo_wire *wire;
    const char *database, *collection;
    bool snapshot;
    tab_out rows;
} session;

/* ---- what a server refuses ---------------------------------------------------------------------------- */

static tab_status refused(const session *c, tab_str answer, tab_error *err)
{
    bson_element e;
    int64_t ok = 0, code = 0;
    if (bson_find(answer, "ok", &e) && bson_number(&e, &ok) && ok == 1)
        return TAB_OK;
    if (!bson_find(answer, "code", &e) || !bson_number(&e, &code))
        code = 0;
    switch (code) {
    case 11:   /* no such user */
    case 13:   /* not authorized */
    case 18:   /* the login failed */
    case 8000: /* Atlas's own */
        return tab_fail(err, TAB_VALIDATION, "credentials",
                        "The source refuses these credentials (code %lld).", (long long)code);
    case 50:
        return source_too_late(err);
    case 59:
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The source is older than MongoDB 4.4, which is not supported.");
    case 73: /* no such name can be */
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The source rejects the name of this database or collection.");
    default:
        break;
    }
    if (c->s->query[0] != '\0' && (code == 2 || code == 9 || code == 14 || code == 51091 || code == 241))
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the filter (code %lld).",
                        (long long)code);
    return tab_fail(err, TAB_UNAVAILABLE, "", "The source failed (code %lld).", (long long)code);
}

static tab_status call(const session *c, bson_writer *w, const char *database, tab_str *ret, tab_error *err)
{
    bson_text(w, "$db", tab_str_of(database));
    TAB_TRY(mongo_call(c->wire, w, ret, err));
    return refused(c, *ret, err);
}

/* ---- login ------------------------------------------------------------------------------------------- */

static tab_status hello(session *c, tab_error *err)
{
    bson_writer w = { 0 };
    bson_element e;
    tab_str y;
    int64_t version = 0;
    bson_open(&w, NULL, BSON_DOCUMENT);
    bson_int32(&w, "hello", 1);
    TAB_TRY(call(c, &w, "admin", &y, err));
    if (!bson_find(y, "maxWireVersion", &e) || !bson_number(&e, &version))
        return tab_fail(err, TAB_VALIDATION, "source", "The source does not speak MongoDB's protocol.");
    c->snapshot = version >= VERSION_5 && bson_find(y, "setName", &e);
    return TAB_OK;
}

static tab_status step(const session *c, bson_writer *w, const char *database, int64_t *conversation,
                       bool *ret_done, tab_str *ret, tab_error *err)
{
    bson_element e;
    tab_str y;
    int64_t done;
    TAB_TRY(call(c, w, database, &y, err));
    if (!bson_find(y, "conversationId", &e) || !bson_number(&e, conversation) || !bson_find(y, "done", &e) ||
        !bson_number(&e, &done) || !bson_find(y, "payload", &e))
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The source does not offer SCRAM-SHA-256 authentication.");
    *ret_done = done != 0;
    *ret = tab_arena_copy(c->a, bson_bytes_of(&e));
    return ret->p == NULL ? tab_no_memory(err) : TAB_OK;
}

static bson_writer go_on(int64_t conversation, tab_str payload)
{
    bson_writer w = { 0 };
    bson_open(&w, NULL, BSON_DOCUMENT);
    bson_int32(&w, "saslContinue", 1);
    bson_int32(&w, "conversationId", (int32_t)conversation);
    bson_bytes(&w, "payload", payload);
    return w;
}

static tab_status login(const session *c, tab_error *err)
{
    const char *user = credential(c->s, "user"), *password = credential(c->s, "password"),
               *database = credential(c->s, "auth_source");
    uint8_t random[NONCE];
    char nonce[sodium_base64_ENCODED_LEN(NONCE, sodium_base64_VARIANT_ORIGINAL)];
    scram s;
    tab_str said, heard;
    int64_t conversation = 0;
    bool done = false;
    if (user[0] == '\0' && password[0] == '\0')
        return TAB_OK;
    database = database[0] != '\0' ? database : "admin";
    randombytes_buf(random, sizeof random);
    sodium_bin2base64(nonce, sizeof nonce, random, sizeof random, sodium_base64_VARIANT_ORIGINAL);
    TAB_TRY(scram_first(&s, c->a, user, password, nonce, &said, err));
    bson_writer w = { 0 };
    bson_open(&w, NULL, BSON_DOCUMENT);
    bson_int32(&w, "saslStart", 1);
    bson_text(&w, "mechanism", TAB_S("SCRAM-SHA-256"));
    bson_bytes(&w, "payload", said);
    bson_open(&w, "options", BSON_DOCUMENT);
    bson_bool(&w, "skipEmptyExchange", true);
    bson_close(&w);
    TAB_TRY(step(c, &w, database, &conversation, &done, &heard, err));
    TAB_TRY(scram_last(&s, heard, &said, err));
    w = go_on(conversation, said);
    TAB_TRY(step(c, &w, database, &conversation, &done, &heard, err));
    if (!scram_proven(&s, heard))
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The source could not prove that it knows the password; it may be an impostor.");
    for (int i = 0; i < STEPS && !done; i++) {
        w = go_on(conversation, TAB_S(""));
        TAB_TRY(step(c, &w, database, &conversation, &done, &heard, err));
    }
    return done ? TAB_OK
                : tab_fail(err, TAB_VALIDATION, "source", "The login at the source does not finish.");
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static tab_status put_filter(const session *c, bson_writer *w, tab_error *err)
{
    const tab_json *f;
    tab_error why = { 0 };
    const char *bad = "";
    tab_str text = tab_arena_copy(c->a, tab_str_of(c->s->query));
    if (text.n == 0)
        return TAB_OK;
    if (text.p == NULL)
        return tab_no_memory(err);
    if (tab_json_read(c->a, text, FILTER_DEPTH, &f, &why) != TAB_OK || f->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options.query", "A filter must be a JSON object.");
    if (!bson_json(w, "filter", f, &bad))
        return tab_fail(err, TAB_VALIDATION, "options.query", "The filter contains what is not allowed: %s.",
                        bad);
    return TAB_OK;
}

/* A batch: its documents as JSON behind those before, and the cursor by which there are more (0: none). */
static tab_status take(session *c, tab_str y, const char *name, int64_t *ret_cursor, tab_error *err)
{
    bson_element cursor, id, batch, e;
    size_t at = 0;
    bool bad = false;
    if (!bson_find(y, "cursor", &cursor) || cursor.type != BSON_DOCUMENT ||
        !bson_find(cursor.value, "id", &id) || !bson_number(&id, ret_cursor) ||
        !bson_find(cursor.value, name, &batch) || batch.type != BSON_ARRAY)
        return tab_fail(err, TAB_VALIDATION, "source", "The source does not speak MongoDB's protocol.");
    while (bson_next(batch.value, &at, &e, &bad)) {
        c->rows.comma = false;
        tab_out_bytes(&c->rows, ",", c->rows.n > 1);
        if (e.type != BSON_DOCUMENT || !bson_to_json(&c->rows, e.value))
            return c->rows.failed ? source_too_large(err)
                                  : tab_fail(err, TAB_VALIDATION, "source",
                                             "A document is malformed or nested deeper than %d.", BSON_DEPTH);
    }
    if (bad)
        return tab_fail(err, TAB_VALIDATION, "source", "The source does not speak MongoDB's protocol.");
    return c->rows.failed ? source_too_large(err) : TAB_OK;
}

/* A secondary answers as well. */
static void put_preference(bson_writer *w)
{
    bson_open(w, "$readPreference", BSON_DOCUMENT);
    bson_text(w, "mode", TAB_S("primaryPreferred"));
    bson_close(w);
}

static tab_status find(session *c, int64_t *ret_cursor, tab_error *err)
{
    bson_writer w = { 0 };
    tab_str y;
    bson_open(&w, NULL, BSON_DOCUMENT);
    bson_text(&w, "find", tab_str_of(c->collection));
    tab_status st = put_filter(c, &w, err);
    if (st != TAB_OK) {
        tab_out_free(&w.out);
        return st;
    }
    bson_open(&w, "sort", BSON_DOCUMENT);
    bson_int32(&w, "_id", 1);
    bson_close(&w);
    bson_int32(&w, "batchSize", BATCH);
    bson_int64(&w, "maxTimeMS", source_left_ms(c->s, INT32_MAX));
    if (c->snapshot) {
        bson_open(&w, "readConcern", BSON_DOCUMENT);
        bson_text(&w, "level", TAB_S("snapshot"));
        bson_close(&w);
    }
    put_preference(&w);
    TAB_TRY(call(c, &w, c->database, &y, err));
    return take(c, y, "firstBatch", ret_cursor, err);
}

static tab_status more(session *c, int64_t *cursor, tab_error *err)
{
    bson_writer w = { 0 };
    tab_str y;
    int64_t was = *cursor;
    bson_open(&w, NULL, BSON_DOCUMENT);
    bson_int64(&w, "getMore", *cursor);
    bson_text(&w, "collection", tab_str_of(c->collection));
    bson_int32(&w, "batchSize", BATCH);
    put_preference(&w);
    TAB_TRY(call(c, &w, c->database, &y, err));
    TAB_TRY(take(c, y, "nextBatch", cursor, err));
    return *cursor != 0 && *cursor != was
               ? tab_fail(err, TAB_UNAVAILABLE, "", "The source continued with another cursor.")
               : TAB_OK;
}

static tab_status read_documents(session *c, const tab_table **ret, tab_error *err)
{
    int64_t cursor = 0;
    tab_out_bytes(&c->rows, "[", 1);
    TAB_TRY(find(c, &cursor, err));
    for (size_t batches = 0; cursor != 0; batches++) {
        if (batches == BATCHES)
            return source_too_large(err);
        TAB_TRY(more(c, &cursor, err));
    }
    tab_out_bytes(&c->rows, "]", 2); /* and the zero behind */
    if (c->rows.failed)
        return source_too_large(err);
    if (c->rows.n == 3)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such collection, or it is empty.");
    return tab_json_rows_read(c->a, (tab_str){ c->rows.p, c->rows.n - 1 }, tab_str_of(c->collection),
                              DATA_MOST_COLS, DATA_MOST_CELLS, ret, err);
}

static tab_status read_mongodb(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    session c = { .s = s, .a = a, .database = s->ref->segment[0], .collection = s->ref->segment[1] };
    TAB_TRY(mongo_connect(s, a, &c.wire, err));
    TAB_TRY(hello(&c, err));
    TAB_TRY(login(&c, err));
    tab_status st = read_documents(&c, ret, err);
    tab_out_free(&c.rows);
    if (st == TAB_VALIDATION && err != NULL && err->param[0] == '\0')
        snprintf(err->param, sizeof err->param, "source");
    return st;
}

const provider provider_mongodb = { .scheme = "mongodb",
                                    .port = 27017,
                                    .least = 2,
                                    .most = 2,
                                    .credentials = members,
                                    .options = options,
                                    .read = read_mongodb };
