/* See proto.h: protobuf-c allocates from an arena, so that a message ends with its request. */
#include "common/base/proto.h"

#include <assert.h>

static void *take(void *arena, size_t n)
{
    return tab_arena_alloc(arena, n == 0 ? 1 : n, 1);
}

static void keep(void *arena, void *p)
{
    (void)arena; /* the arena frees all at once */
    (void)p;
}

/* An allocator over the arena (its free does nothing), to hand to __unpack. */
static ProtobufCAllocator allocator_of(tab_arena *a)
{
    return (ProtobufCAllocator){ take, keep, a };
}

void *tab_proto_read(tab_arena *a, const ProtobufCMessageDescriptor *d, tab_str bytes)
{
    ProtobufCAllocator from = allocator_of(a);
    return protobuf_c_message_unpack(d, &from, bytes.n, (const uint8_t *)bytes.p);
}

tab_str tab_proto_write(tab_arena *a, const ProtobufCMessage *m)
{
    assert(m->descriptor != NULL && m->descriptor->magic == PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC);
    size_t n = protobuf_c_message_get_packed_size(m);
    char *p = tab_arena_alloc(a, n + 1, 1);
    if (p != NULL)
        protobuf_c_message_pack(m, (uint8_t *)p);
    return (tab_str){ p, p == NULL ? 0 : n };
}

char *tab_proto_text(tab_arena *a, const char *s)
{
    if (s == NULL || *s == 0)
        return (char *)protobuf_c_empty_string;
    tab_str t = tab_arena_copy(a, tab_str_of(s));
    return t.p == NULL ? (char *)protobuf_c_empty_string : (char *)t.p;
}

ProtobufCBinaryData tab_proto_bytes(tab_arena *a, tab_str s)
{
    tab_str t = s.n == 0 ? (tab_str){ NULL, 0 } : tab_arena_copy(a, s);
    return (ProtobufCBinaryData){ t.n, (uint8_t *)t.p };
}
