/* How many bytes of bodies and answers are under way, by organization and in all, in a table of fixed
 * size: of the api in its memory, of the gateway in memory that all its processes share
 * (decision 0234).
 *
 *   hold (one a body)   tag      64-bit keyed hash of the organization
 *                       bytes    what it may hold
 *                       process  who has it; 0 = free. A process that dies cannot give back: whoever takes
 *                                its number next does (tab_bodies_forget)
 *   org (open hashing)  tag, sum of its holds, how many
 *
 * Each call takes a few steps, however many bodies there are. The caller holds a lock. No allocation, no
 * clock. */
#ifndef TAB_BODIES_H
#define TAB_BODIES_H

#include "common/base/base.h"

typedef struct {
    uint64_t tag, bytes;
    uint32_t process; /* 0 = free */
    uint32_t next;    /* free ones, 1 based; 0 = the last */
} tab_body_hold;

typedef struct {
    uint64_t tag, bytes;
    uint32_t holds; /* 0 = free */
} tab_body_org;

typedef struct {
    size_t holds; /* a power of two; there are twice as many orgs */
    uint64_t all; /* bytes */
    uint32_t free;
    unsigned char seed[16];
    tab_body_hold *hold;
    tab_body_org *org;
} tab_bodies;

typedef enum { TAB_BODIES_GOOD, TAB_BODIES_ORG, TAB_BODIES_ALL } tab_bodies_verdict;

/* Bytes of an organization and of all that may be under way; 0: any number. */
typedef struct {
    uint64_t org, all;
} tab_bodies_limits;

size_t tab_bodies_size(size_t holds);
tab_bodies *tab_bodies_init(void *memory, size_t holds, const unsigned char seed[16]);

/* A new hold, whose number (from 1 on) goes to *ret; process is not 0. ORG, ALL: whose limit is reached; a
 * table that is full counts as ALL. */
tab_bodies_verdict tab_bodies_take(tab_bodies *t, tab_str org, uint32_t process, uint64_t bytes,
                                   tab_bodies_limits most, uint32_t *ret) TAB_CHECKED;
/* The hold has so many bytes from now on; refused only where they are more than before. */
tab_bodies_verdict tab_bodies_resize(tab_bodies *t, uint32_t hold, uint64_t bytes,
                                     tab_bodies_limits most) TAB_CHECKED;
void tab_bodies_give(tab_bodies *t, uint32_t hold);
void tab_bodies_forget(tab_bodies *t, uint32_t process);

#endif
