/* What rows say of a person's name, and what two such names are to one another: relatives.c and movers.c
 * ask. */
#ifndef TAB_LINK_PERSON_NAMES_H
#define TAB_LINK_PERSON_NAMES_H

#include "services/inference/engine/align/view.h"

/* Where a table's rows say a person's name: in two columns, or in one. */
typedef struct {
    const tab_table_view *t;
    const tab_view *given, *family;
} tab_naming;

/* False: no column does, or two do, of which nobody knows whose a row is. */
bool tab_naming_find(const tab_views *v, size_t table, tab_naming *ret);

/* A row's given name (its first) or its family name, in normal form; empty: none. */
tab_str tab_naming_given(const tab_views *v, const tab_naming *n, uint32_t row);
tab_str tab_naming_family(const tab_views *v, const tab_naming *n, uint32_t row);

/* Given names may be one where one is misspelt, an initial or the short form of the other. */
typedef enum {
    TAB_KIN_UNKNOWN,
    TAB_KIN_SAME,     /* the given name may be one, whatever the family name */
    TAB_KIN_PERSON,   /* and the family name is alike */
    TAB_KIN_RELATIVES /* the family name is alike, the given name is another */
} tab_kinship;

/* Of row a of who[0]'s table and row b of who[1]'s. */
tab_kinship tab_kinship_of(const tab_views *v, const tab_nicknames *k, const tab_naming who[2], uint32_t a,
                           uint32_t b);
#endif
