/* MongoDB's wire protocol: OP_MSG over one connection, TLS or (in networks that the operator allows) none. */
#ifndef DATA_MONGO_WIRE_H
#define DATA_MONGO_WIRE_H

#include "services/data-connector/protocols/bson.h"
#include "services/data-connector/source/source.h"

typedef struct mongo_wire mongo_wire;

/* Connects and shakes hands. Errors: as source.h; the connection ends with the arena. */
tab_status mongo_connect(const source *s, tab_arena *a, mongo_wire **ret, tab_error *err) TAB_CHECKED;
/* One command, one answer: a document, a view that lives until the next call. Closes and frees the command.
 * Errors: UNAVAILABLE, VALIDATION on source (too large, not this protocol), CANCELLED. What the answer says
 * is the caller's. */
tab_status mongo_call(mongo_wire *w, bson_writer *command, tab_str *ret, tab_error *err) TAB_CHECKED;

#endif
