/* BSON (bsonspec.org, version 1.1): what MongoDB speaks. Documents are built to be sent; those that come are
 * looked into, and written as JSON, in which a table reads them.
 *
 *   document   int32 length, elements, 0       element   type, name, 0, value */
#ifndef DATA_BSON_H
#define DATA_BSON_H

#include "common/json/json.h"

enum { BSON_DEPTH = 30 };

typedef enum {
    BSON_DOUBLE = 0x01,
    BSON_TEXT = 0x02,
    BSON_DOCUMENT = 0x03,
    BSON_ARRAY = 0x04,
    BSON_BINARY = 0x05,
    BSON_ID = 0x07,
    BSON_BOOL = 0x08,
    BSON_DATE = 0x09,
    BSON_NULL = 0x0a,
    BSON_INT32 = 0x10,
    BSON_INT64 = 0x12
} bson_type;

/* ---- out: documents within documents; `out.failed` says that there was no memory */
typedef struct {
    tab_out out;
    size_t from[BSON_DEPTH + 2], depth; /* where each open document begins */
} bson_writer;
void bson_open(bson_writer *w, const char *key, bson_type type); /* key NULL: the document itself */
void bson_close(bson_writer *w);
void bson_text(bson_writer *w, const char *key, tab_str x);
void bson_int32(bson_writer *w, const char *key, int32_t x);
void bson_int64(bson_writer *w, const char *key, int64_t x);
void bson_bool(bson_writer *w, const char *key, bool x);
void bson_bytes(bson_writer *w, const char *key, tab_str x);
/* A value as JSON has it; {"$oid": ..}, {"$date": ..} and {"$numberLong": ..} are what they name (MongoDB's
 * Extended JSON). *ret_bad: what is not taken: such a value that is none, or an operator that runs code. */
bool bson_json(bson_writer *w, const char *key, const tab_json *x, const char **ret_bad);

/* ---- in: whatever bytes */
typedef struct {
    int type;
    tab_str name, value; /* views; the name has a zero behind */
} bson_element;

/* Whether the bytes begin a document of their own length; *ret: it. */
bool bson_document(tab_str bytes, tab_str *ret) TAB_CHECKED;
/* Steps through a document's elements, *at from 0; false at its end, and (*ret_bad) where it is none. */
bool bson_next(tab_str document, size_t *at, bson_element *ret, bool *ret_bad) TAB_CHECKED;
bool bson_find(tab_str document, const char *name,
               bson_element *ret) TAB_CHECKED; /* false: it is not there */
/* A number's value; false for what is none. */
bool bson_number(const bson_element *e, int64_t *ret) TAB_CHECKED;
tab_str bson_bytes_of(const bson_element *e); /* of a text, or of binary; n 0: none */

/* Writes a document as JSON: ids as hex, times in ISO 8601, binary as "bytes(12)", whole numbers and
 * decimals by their digits. false: it is none, or deeper than BSON_DEPTH. */
bool bson_to_json(tab_out *o, tab_str document) TAB_CHECKED;

#endif
