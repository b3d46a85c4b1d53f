/* Keys and references between tables, from values alone: which columns of a table hold values that identify
 * the rows of another one (decision 0280).
 *
 *   columns ─> inclusions (every value of one is in a unique other) ─> score ─> one parent a column
 *           ─> sets of columns (sets.h), columns of one table (within.h) */
#ifndef TAB_KEYS_H
#define TAB_KEYS_H

#include "services/inference/engine/align/view.h"

enum { TAB_KEY_ALSO = 3 /* columns of a reference beside the first */ };

/* Column child of table child_table refers to column parent of table parent_table; by several columns,
 * each of child_also to the one of parent_also besides. A table may refer to itself. */
typedef struct {
    uint32_t child_table, child, parent_table, parent;
    uint32_t also, child_also[TAB_KEY_ALSO], parent_also[TAB_KEY_ALSO];
    uint32_t child_values, parent_values; /* distinct; of tuples, where there are several columns */
    uint32_t held;                        /* of the child's, by the parent */
    double p;
    bool one_to_one; /* each value stands once in the child, too */
    bool counted;    /* whole numbers that fill their range: others of that range are among them by chance */
    bool same;       /* both columns hold the same values, beyond chance (decision 0795) */
} tab_reference;

typedef struct {
    size_t n;
    tab_reference
        *ref; /* those of one column by child table, child; then those of several; those within a table */
    uint32_t **domain; /* [table][column] columns of one key have one number; TAB_NULL: of no key */
    bool **counted; /* [table][column] of a key of counted whole numbers, or a counter of its table's rows */
} tab_keys;

/* References of probability `least` and more; those of at least one half make the domains. Sets of
 * columns and references within a table: of at least one half. All lives in a.
 * Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_keys_find(const tab_engine *e, const tab_views *v, double least, tab_arena *a, tab_keys *ret,
                         tab_error *err) TAB_CHECKED;

/* References of probability one half and more between two tables. */
typedef struct {
    size_t n;
    tab_reference *ref;
    const struct tab_grain *grain; /* of each table, where it was asked (grain.h) */
} tab_references;

/* Those between n profiled tables; none of one table. They live in e->arena. Errors as above. */
tab_status tab_references_find(const tab_engine *e, tab_profile *const *p, size_t n, tab_references *ret,
                               tab_error *err) TAB_CHECKED;
/* Those among k's, which were found with `least` of at most one half. False: the arena is full. */
bool tab_references_of(const tab_keys *k, tab_arena *a, tab_references *ret) TAB_CHECKED;

/* One sentence: what speaks for a reference. Lives in a; NULL when it is full. */
char *tab_reference_words(tab_arena *a, const tab_views *v, const tab_reference *r);

/* Whether a reference is of one column, to another table. */
static inline bool tab_reference_plain(const tab_reference *r)
{
    return r->also == 0 && r->child_table != r->parent_table;
}

/* Whether a column of the child's table, or of the parent's, is one of the reference's. */
static inline bool tab_reference_child(const tab_reference *r, size_t column)
{
    bool is = column == r->child;
    for (uint32_t i = 0; i < r->also; i++)
        is = is || column == r->child_also[i];
    return is;
}
static inline bool tab_reference_parent(const tab_reference *r, size_t column)
{
    bool is = column == r->parent;
    for (uint32_t i = 0; i < r->also; i++)
        is = is || column == r->parent_also[i];
    return is;
}

/* The row of the parent that each row of the child refers to, or TAB_NULL: (child rows), malloc'd; NULL: out
 * of memory. Of several parent rows with one value the first. */
uint32_t *tab_reference_rows(const tab_views *v, const tab_reference *r);

/* Why columns of n tables identify rows of their own or of another one: *ret [table][column] is a phrase, or
 * NULL for the others. References of probability one half and more count. All lives in e->arena. Errors:
 * CANCELLED, INTERNAL (out of memory). */
tab_status tab_key_columns_named(const tab_engine *e, tab_profile *const *p, size_t n,
                                 const char *const *const **ret, tab_error *err) TAB_CHECKED;

#endif
