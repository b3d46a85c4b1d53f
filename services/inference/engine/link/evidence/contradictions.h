/* What says that rows are two, however alike they are otherwise, and that they are one, however they
 * differ. */
#ifndef TAB_LINK_CONTRADICTIONS_H
#define TAB_LINK_CONTRADICTIONS_H

#include "services/inference/engine/link/evidence/twin_pairs.h"

/* relatives.c: pairs (n) of rows a of table ta and b of table tb with their p, which is lowered where the
 * family name is one and the given names are not, by how often that is so (decision 0705). kept: (n) the
 * pairs that count, or NULL: all. False: out of memory. */
bool tab_relatives_doubt(const tab_views *v, size_t ta, size_t tb, size_t n, const uint32_t *a,
                         const uint32_t *b, const bool *kept, float *p);

/* counted.c: pairs of two tables that agree in nothing but labels that count (A1 to A20) are as likely two as
 * one: p is 0.5 at the most (decision 0850). False: out of memory. */
bool tab_counted_doubt(const tab_views *v, tab_linkage *l);

/* variants.c: rows of one table that are equal but for what never agrees, though chance alone would make it
 * agree now and then, are variants of a thing, not the thing written twice: p is 0 (decision 0706). False:
 * out of memory. */
bool tab_variants_part(tab_twin_pairs *s);

/* movers.c: rows of one table whose person's name is one, that have a number in common which strangers
 * do not share, and differ in nothing but how the person is reached: p rises (decision 0746). Scratch
 * lives in a. False: out of memory. */
bool tab_movers_find(tab_twin_pairs *s, size_t table, tab_arena *a);
#endif
