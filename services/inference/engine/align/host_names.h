/* Columns of hosts (visitors' domains, web sites) beside names in another table: "hotelsmining.net" is
 * read as "hotels mining ab" where that is a name there, as "hotels mining" where one begins so
 * (decision 0786). */
#ifndef TAB_ALIGN_HOST_NAMES_H
#define TAB_ALIGN_HOST_NAMES_H

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/profile/profile.h"

typedef struct tab_host_names tab_host_names;

/* Finds the columns of hosts and how their names are divided into words; in the arena. False: out of
 * memory. */
bool tab_host_names_find(tab_profile *const *profiles, size_t n, tab_arena *a, tab_host_names **ret);

/* Whether a column's hosts are read as names. */
bool tab_host_names_has(const tab_host_names *h, size_t table, size_t column);

/* The name that a host stands for, in normal form: a name of another table, or its first words, else as it is
 * divided by hyphens.
 * Returns its length; 0: s is no host. */
size_t tab_host_name(const tab_host_names *h, tab_str s, char out[TAB_NORMAL_MAX]);
#endif
