/* Structures with pointers as bytes, and back: what a fitted model is kept as (decision 0407).
 *
 * A structure is described once, by a function that names its pointers; all else of it travels as it lies:
 *
 *   static void pack_tree(tab_pack *p, void *each, const void *context)
 *   {
 *       tree *t = each;
 *       TAB_PACK(p, t->node, t->nodes);                           // an array of plain values
 *       TAB_PACK_EACH(p, t->child, t->children, pack_tree, NULL); // of structures with pointers
 *   }
 *
 * The same function writes, reads, and clears the pointers of the copy that is written. Plain fields are
 * there before it is called; a pointer may be followed once it has been packed, where it is not NULL then. A
 * plain field that is added needs nothing, a pointer one line; where it is forgotten nothing is written. What
 * is placed by a secret of the process (common/base/hash.h) is placed anew by who reads it.
 *
 *   a structure   its bytes with cleared pointers, then what they point to, in the order of the function
 *   a pointer     0: NULL; 1: what follows; k + 2: the array that came as the k-th: arrays that are shared
 *                 stay so
 *   an array      its 32-bit words as columns, each in the form that takes least (words.h)
 *
 * Only the program that wrote them can read the bytes: they follow the layout of its structures. They are
 * checked as bytes from outside are: no count or place leads beyond them, whatever they hold; but what they
 * say is believed (a feature's number, a tree's child), so that who reads them first holds a digest against
 * them. */
#ifndef TAB_PACK_H
#define TAB_PACK_H

#include "common/base/arena.h"
#include "proto/bundle.pb-c.h"

typedef struct tab_pack tab_pack;
typedef void tab_pack_fn(tab_pack *p, void *each, const void *context);

/* The root, of `size` bytes, by its function. *ret: malloc'd. INTERNAL: out of memory. */
tab_status tab_pack_write(void *root, size_t size, tab_pack_fn *fn, uint8_t **ret, size_t *ret_n,
                          tab_error *err) TAB_CHECKED;
/* Back, in the arena. VALIDATION: no bytes that tab_pack_write gave; INTERNAL: the arena is full. */
tab_status tab_pack_read(tab_arena *a, tab_str bytes, size_t size, tab_pack_fn *fn, void **ret,
                         tab_error *err) TAB_CHECKED;

/* For the functions. What fails leaves pointers NULL, and all that comes after does nothing. */
#define TAB_PACK(p, pointer, n) tab_pack_array((p), &(pointer), (n), sizeof *(pointer))
#define TAB_PACK_EACH(p, pointer, n, fn, context) \
    tab_pack_each((p), &(pointer), (n), sizeof *(pointer), (fn), (context))
#define TAB_PACK_ONE(p, pointer, fn) TAB_PACK_EACH(p, pointer, 1, fn, NULL)
/* A pointer into another array, which is packed before it. */
#define TAB_PACK_INSIDE(p, pointer, array, n) \
    tab_pack_inside((p), &(pointer), (array), (n), sizeof *(pointer))
/* A message with its descriptor. */
#define TAB_PACK_MESSAGE(p, pointer, descriptor) tab_pack_message((p), &(pointer), (descriptor))
/* An array that no other pointer shares: one that was made for the bytes, say. */
#define TAB_PACK_OWN(p, pointer, n) tab_pack_own((p), &(pointer), (n), sizeof *(pointer))
/* n pointers to messages of one kind. */
#define TAB_PACK_MESSAGES(p, pointer, n, descriptor) \
    TAB_PACK_EACH(p, pointer, n, tab_pack_each_message, descriptor)

void tab_pack_array(tab_pack *p, const void *at, size_t n, size_t size);
void tab_pack_own(tab_pack *p, const void *at, size_t n, size_t size);
void tab_pack_each(tab_pack *p, const void *at, size_t n, size_t size, tab_pack_fn *fn, const void *context);
void tab_pack_inside(tab_pack *p, const void *at, const void *array, size_t n, size_t size);
void tab_pack_message(tab_pack *p, const void *at, const ProtobufCMessageDescriptor *d);
tab_pack_fn tab_pack_each_message;                      /* context: the descriptor */
void tab_pack_text(tab_pack *p, const char *const *at); /* up to its NUL */
void tab_pack_str(tab_pack *p, const tab_str *at);      /* read, a NUL stands behind it */
void tab_pack_strs(tab_pack *p, const tab_str *const *at, size_t n);

/* A number beside the structures: given when writing, else 0; read, it is below n. What stands for a pointer
 * to one of n things that every process has. */
size_t tab_pack_choice(tab_pack *p, size_t i, size_t n);
/* How many of a list within the structure itself are to be packed: n; all of them where they are cleared;
 * none, and the bytes are refused, where n is more than it holds. */
size_t tab_pack_count(tab_pack *p, size_t n, size_t most) TAB_CHECKED;

bool tab_pack_writes(const tab_pack *p);
bool tab_pack_clears(const tab_pack *p); /* the structure is the copy that is written: it may be changed */
bool tab_pack_reads(const tab_pack *p);
tab_arena *tab_pack_arena(tab_pack *p); /* reading: where all lives */
void tab_pack_refuse(tab_pack *p);      /* the bytes make no sense */
void tab_pack_no_memory(tab_pack *p);

#endif
