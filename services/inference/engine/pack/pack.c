/* See pack.h; each structure has its function beside it. */
#include "services/inference/engine/pack/pack.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/pack/words.h"

typedef enum { WRITES, CLEARS, READS } way;

/* An array that came: what later pointers to it are held against. Two kinds of one place are two arrays. */
typedef struct {
    void *at;
    size_t bytes;
    tab_pack_fn *fn; /* NULL: plain values */
} known;

struct tab_pack {
    way way;
    bool failed;    /* reading: the bytes make no sense; writing: memory is out */
    bool full;      /* reading: memory is out */
    bool forgotten; /* writing: a structure has a pointer that its function does not name */

    uint8_t *to; /* writing */
    size_t n, room;

    tab_arena *arena; /* reading */
    const uint8_t *from;
    size_t left;

    known *list; /* (lists) in the order in which they came */
    size_t lists, list_room;
    uint32_t *slot; /* (slots) writing: place in the list + 1 by hash, or 0 */
    size_t slots;
};

bool tab_pack_writes(const tab_pack *p)
{
    return p->way == WRITES;
}

bool tab_pack_clears(const tab_pack *p)
{
    return p->way == CLEARS;
}

bool tab_pack_reads(const tab_pack *p)
{
    return p->way == READS;
}

tab_arena *tab_pack_arena(tab_pack *p)
{
    return p->arena;
}

void tab_pack_refuse(tab_pack *p)
{
    p->failed = true;
}

void tab_pack_no_memory(tab_pack *p)
{
    p->failed = p->full = true;
}

/* Pointers of any type are read and set by their bytes. */
static void *pointer_at(const void *at)
{
    void *ret;
    memcpy(&ret, at, sizeof ret);
    return ret;
}

static void set_pointer(const void *at, void *to)
{
    memcpy((void *)(uintptr_t)at, &to, sizeof to);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool reserve(tab_pack *p, size_t n)
{
    if (p->failed)
        return false;
    if (p->room - p->n >= n)
        return true;
    size_t room = 2 * p->room + n + 4096;
    uint8_t *to = realloc(p->to, room);
    if (to == NULL) {
        tab_pack_no_memory(p);
        return false;
    }
    p->to = to;
    p->room = room;
    return true;
}

/* Seven bits a byte, the lowest first; the eighth says that more follow. */
static void write_number(tab_pack *p, uint64_t x)
{
    if (!reserve(p, 10))
        return;
    for (; x > 127; x >>= 7)
        p->to[p->n++] = (uint8_t)(x | 128);
    p->to[p->n++] = (uint8_t)x;
}

static uint64_t read_number(tab_pack *p)
{
    uint64_t x = 0;
    for (unsigned shift = 0; !p->failed && p->left > 0 && shift < 64; shift += 7) {
        uint8_t b = *p->from;
        p->from++, p->left--;
        x |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return x;
    }
    p->failed = true;
    return 0;
}

static void write_values(tab_pack *p, const void *from, size_t n, size_t size)
{
    if (n == 0 || !reserve(p, tab_words_room(n, size)))
        return;
    size_t took = tab_words_write(from, n, size, p->to + p->n);
    if (took == 0)
        tab_pack_no_memory(p);
    p->n += took;
}

/* NULL: refused, or the arena is full. Behind the values stand zeros, which vector loops may read. */
static void *read_values(tab_pack *p, size_t n, size_t size)
{
    enum { BEHIND = 64 };
    /* a word takes a byte at least (words.h), so that what is made of few bytes is little */
    if (p->failed || n > p->left / (size < 4 ? 1 : size / 4)) {
        p->failed = true;
        return NULL;
    }
    void *to = tab_arena_alloc(p->arena, n * size + (size < 4 || n < 16 ? 4 : BEHIND), 1);
    if (to == NULL) {
        tab_pack_no_memory(p);
        return NULL;
    }
    if (n == 0)
        return to;
    size_t took = tab_words_read(p->from, p->left, to, n, size);
    if (took == 0) {
        p->failed = true;
        return NULL;
    }
    p->from += took;
    p->left -= took;
    return to;
}

/* ---- arrays that came ------------------------------------------------------------------------ */

static bool room_for_one(tab_pack *p)
{
    if (p->lists < p->list_room)
        return true;
    size_t room = 2 * p->list_room + 256;
    known *list = realloc(p->list, room * sizeof *list);
    if (list != NULL) {
        p->list = list;
        p->list_room = room;
    } else {
        tab_pack_no_memory(p);
    }
    return list != NULL;
}

static size_t slot_of(const tab_pack *p, const known *k)
{
    uint64_t h = tab_fnv1a(TAB_FNV1A, &k->at, sizeof k->at);
    size_t s = tab_hash_slot(tab_fnv1a(h, &k->bytes, sizeof k->bytes), p->slots);
    while (p->slot[s] != 0) {
        const known *q = &p->list[p->slot[s] - 1];
        if (q->at == k->at && q->bytes == k->bytes && q->fn == k->fn)
            break;
        s = (s + 1) % p->slots;
    }
    return s;
}

/* Half of the slots stay free. */
static bool grow_slots(tab_pack *p)
{
    if (2 * (p->lists + 1) <= p->slots)
        return true;
    size_t slots = 2 * p->slots + 1024;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) {
        tab_pack_no_memory(p);
        return false;
    }
    free(p->slot);
    p->slot = slot;
    p->slots = slots;
    for (size_t i = 0; i < p->lists; i++)
        p->slot[slot_of(p, &p->list[i])] = (uint32_t)i + 1;
    return true;
}

/* Writes the number of a pointer. True: it is new, and what it points to follows. */
static bool begin_writing(tab_pack *p, void *at, size_t bytes, tab_pack_fn *fn)
{
    known k = { at, bytes, fn };
    if (at == NULL || !room_for_one(p) || !grow_slots(p)) {
        write_number(p, 0);
        return false;
    }
    size_t s = slot_of(p, &k);
    if (p->slot[s] != 0) {
        write_number(p, p->slot[s] + 1); /* the place, counted from 0, and 2 */
        return false;
    }
    p->list[p->lists++] = k;
    p->slot[s] = (uint32_t)p->lists;
    write_number(p, 1);
    return true;
}

/* True: it is new. Else *ret is what it points to. */
static bool begin_reading(tab_pack *p, size_t bytes, tab_pack_fn *fn, void **ret)
{
    uint64_t k = read_number(p);
    *ret = NULL;
    if (p->failed || k == 0)
        return false;
    if (k == 1)
        return true;
    if (k - 2 >= p->lists || p->list[k - 2].bytes != bytes || p->list[k - 2].fn != fn)
        p->failed = true;
    else
        *ret = p->list[k - 2].at;
    return false;
}

static void came(tab_pack *p, void *at, size_t bytes, tab_pack_fn *fn)
{
    if (room_for_one(p))
        p->list[p->lists++] = (known){ at, bytes, fn };
}

/* ---- what the functions call ----------------------------------------------------------------- */

/* No array is so large: n * size is a number. */
static void bound(tab_pack *p, size_t n, size_t size)
{
    p->failed = p->failed || n > ((size_t)1 << 40) / size;
}

void tab_pack_array(tab_pack *p, const void *at, size_t n, size_t size)
{
    bound(p, n, size);
    void *to = p->way == WRITES ? pointer_at(at) : NULL;
    if (p->way == WRITES) {
        if (begin_writing(p, to, n * size, NULL))
            write_values(p, to, n, size);
        return;
    }
    if (p->way == READS && begin_reading(p, n * size, NULL, &to)) {
        to = read_values(p, n, size);
        came(p, to, n * size, NULL);
    }
    set_pointer(at, to);
}

void tab_pack_own(tab_pack *p, const void *at, size_t n, size_t size)
{
    void *to = p->way == WRITES ? pointer_at(at) : NULL;
    bound(p, n, size);
    if (p->way == WRITES) {
        write_number(p, to != NULL);
        if (to != NULL)
            write_values(p, to, n, size);
        return;
    }
    if (p->way == READS && read_number(p) != 0)
        to = read_values(p, n, size);
    set_pointer(at, to);
}

/* Whether a word of cleared structures looks like an address of this process: a pointer that their function
 * forgot would be followed by who reads it. */
static bool forgotten(const uint8_t *copy, size_t n)
{
    uint64_t word;
    for (size_t at = 0; at + sizeof word <= n; at += sizeof word) {
        memcpy(&word, copy + at, sizeof word);
        if (word >> 44 >= 5 && word >> 47 == 0 && word % 2 == 0)
            return true;
    }
    return false;
}

/* The structures with cleared pointers, then what they point to. */
static void write_each(tab_pack *p, void *from, size_t n, size_t size, tab_pack_fn *fn, const void *context)
{
    uint8_t *copy = malloc(n * size + 1);
    if (copy == NULL) {
        tab_pack_no_memory(p);
        return;
    }
    memcpy(copy, from, n * size);
    p->way = CLEARS;
    for (size_t i = 0; i < n; i++)
        fn(p, copy + i * size, context);
    p->way = WRITES;
    p->forgotten = p->forgotten || forgotten(copy, n * size);
    p->failed = p->failed || p->forgotten;
    write_values(p, copy, n, size);
    free(copy);
    for (size_t i = 0; i < n && !p->failed; i++)
        fn(p, (uint8_t *)from + i * size, context);
}

void tab_pack_each(tab_pack *p, const void *at, size_t n, size_t size, tab_pack_fn *fn, const void *context)
{
    bound(p, n, size);
    void *to = p->way == WRITES ? pointer_at(at) : NULL;
    if (p->way == WRITES) {
        if (begin_writing(p, to, n * size, fn))
            write_each(p, to, n, size, fn, context);
        return;
    }
    if (p->way == READS && begin_reading(p, n * size, fn, &to)) {
        to = read_values(p, n, size);
        came(p, to, n * size, fn);
        for (size_t i = 0; i < n && !p->failed; i++)
            fn(p, (uint8_t *)to + i * size, context);
        if (p->failed) /* what was not reached still holds the bytes that came where pointers belong */
            to = NULL;
    }
    set_pointer(at, to);
}

void tab_pack_inside(tab_pack *p, const void *at, const void *array, size_t n, size_t size)
{
    if (p->way == CLEARS) {
        set_pointer(at, NULL);
        return;
    }
    const uint8_t *base = array;
    if (p->way == WRITES) {
        const uint8_t *to = pointer_at(at);
        assert(to == NULL || (to >= base && to < base + n * size));
        write_number(p, to == NULL ? 0 : 1 + (uint64_t)(to - base) / size);
        return;
    }
    uint64_t k = read_number(p);
    p->failed = p->failed || k > n || (k > 0 && base == NULL);
    set_pointer(at, p->failed || k == 0 ? NULL : (void *)(uintptr_t)(base + (k - 1) * size));
}

/* Messages are read into the arena, whose parts are not freed one by one. */
static void *from_arena(void *arena, size_t n)
{
    return tab_arena_alloc(arena, n, 1);
}

static void to_arena(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

void tab_pack_message(tab_pack *p, const void *at, const ProtobufCMessageDescriptor *d)
{
    if (p->way == CLEARS) {
        set_pointer(at, NULL);
        return;
    }
    const ProtobufCMessage *m = p->way == WRITES ? pointer_at(at) : NULL;
    if (p->way == WRITES) {
        size_t n = m == NULL ? 0 : protobuf_c_message_get_packed_size(m);
        write_number(p, m == NULL ? 0 : n + 1);
        if (m != NULL && reserve(p, n))
            p->n += protobuf_c_message_pack(m, p->to + p->n);
        return;
    }
    uint64_t n = read_number(p);
    void *to = NULL;
    if (!p->failed && n > 0 && n - 1 <= p->left) {
        ProtobufCAllocator own = { from_arena, to_arena, p->arena };
        to = protobuf_c_message_unpack(d, &own, n - 1, p->from);
        p->from += n - 1;
        p->left -= n - 1;
        p->failed = to == NULL;
        p->full = p->full || tab_arena_full(p->arena);
    } else if (n > 0) {
        p->failed = true;
    }
    set_pointer(at, to);
}

void tab_pack_each_message(tab_pack *p, void *each, const void *context)
{
    tab_pack_message(p, each, context);
}

void tab_pack_str(tab_pack *p, const tab_str *at)
{
    tab_str s = *at;
    if (p->way == WRITES) {
        write_number(p, s.p == NULL ? 0 : s.n + 1);
        if (s.p != NULL && s.n > 0 && reserve(p, s.n)) {
            memcpy(p->to + p->n, s.p, s.n);
            p->n += s.n;
        }
        return;
    }
    s = (tab_str){ NULL, 0 };
    uint64_t n = p->way == READS ? read_number(p) : 0;
    if (!p->failed && n > 0 && n - 1 <= p->left) {
        s = tab_arena_copy(p->arena, (tab_str){ (const char *)p->from, n - 1 });
        p->from += n - 1;
        p->left -= n - 1;
        if (s.p == NULL)
            tab_pack_no_memory(p);
    } else if (n > 0) {
        p->failed = true;
    }
    memcpy((void *)(uintptr_t)at, &s, sizeof s);
}

void tab_pack_text(tab_pack *p, const char *const *at)
{
    tab_str s = { p->way == WRITES ? *at : NULL, 0 };
    s.n = s.p == NULL ? 0 : strlen(s.p);
    tab_pack_str(p, &s);
    if (p->way != WRITES)
        set_pointer(at, (void *)(uintptr_t)s.p);
}

static void pack_a_str(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pack_str(p, each);
}

void tab_pack_strs(tab_pack *p, const tab_str *const *at, size_t n)
{
    tab_pack_each(p, at, n, sizeof **at, pack_a_str, NULL);
}

size_t tab_pack_choice(tab_pack *p, size_t i, size_t n)
{
    if (p->way == CLEARS)
        return i;
    if (p->way == WRITES) {
        assert(i < n);
        write_number(p, i);
        return i;
    }
    uint64_t k = read_number(p);
    p->failed = p->failed || k >= n;
    return p->failed ? 0 : (size_t)k;
}

size_t tab_pack_count(tab_pack *p, size_t n, size_t most)
{
    assert(p->way == READS || n <= most);
    p->failed = p->failed || n > most;
    return p->failed ? 0 : p->way == CLEARS ? most : n;
}

/* ---- the root -------------------------------------------------------------------------------- */

tab_status tab_pack_write(void *root, size_t size, tab_pack_fn *fn, uint8_t **ret, size_t *ret_n,
                          tab_error *err)
{
    tab_pack p = { .way = WRITES };
    tab_pack_each(&p, &root, 1, size, fn, NULL);
    free(p.list), free(p.slot);
    if (p.failed) {
        free(p.to);
        return p.forgotten ? tab_fail(err, TAB_INTERNAL, "", "a pointer that is not packed")
                           : tab_no_memory(err);
    }
    *ret = p.to;
    *ret_n = p.n;
    return TAB_OK;
}

tab_status tab_pack_read(tab_arena *a, tab_str bytes, size_t size, tab_pack_fn *fn, void **ret,
                         tab_error *err)
{
    tab_pack p = { .way = READS, .arena = a, .from = (const uint8_t *)bytes.p, .left = bytes.n };
    tab_pack_each(&p, ret, 1, size, fn, NULL);
    free(p.list);
    if (p.full || tab_arena_full(a))
        return tab_no_memory(err);
    if (p.failed || *ret == NULL || p.left > 0)
        return tab_fail(err, TAB_VALIDATION, "state", "this is not a packed state");
    return TAB_OK;
}
