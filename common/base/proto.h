/* Protobuf messages in arenas: read from bytes and written to bytes without a free of their own. */
#ifndef TAB_PROTO_H
#define TAB_PROTO_H

#include <protobuf-c/protobuf-c.h>

#include "common/base/arena.h"

/* NULL: not a legal message, or the arena is full (tab_arena_full tells). Lives in the arena. */
void *tab_proto_read(tab_arena *a, const ProtobufCMessageDescriptor *d, tab_str bytes) TAB_CHECKED;

/* p is NULL when the arena is full. */
tab_str tab_proto_write(tab_arena *a, const ProtobufCMessage *m);

/* A message's fields, filled from the arena. A full arena leaves them empty: ask tab_arena_full once. */
char *tab_proto_text(tab_arena *a, const char *s); /* never NULL: "" is protobuf-c's own empty string */
ProtobufCBinaryData tab_proto_bytes(tab_arena *a, tab_str s);

#endif
