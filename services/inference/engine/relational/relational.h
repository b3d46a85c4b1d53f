/* What linked tables say of the rows of one table (decision 0282): columns of the rows that it refers to,
 * sums, means and the like of the rows that refer to it or to those. Each is a column that is made, named as
 * people would ("orders.amount (sum)"), and fitted and served as one of the table's own.
 *
 *   references (keys/) ─> ways ─> candidates ─> chosen ─> columns beside the table's own
 *
 * Where a row has a moment that it is asked about, and what is linked with it a time, only what was before
 * counts; what rows that are asked about have nothing of is left out (decision 0393). The table itself is on
 * no way, so that no target leads back to a row. */
#ifndef TAB_RELATIONAL_H
#define TAB_RELATIONAL_H

#include "services/inference/engine/keys/keys.h"

/* When a row of the target's table is asked about: by evidence (decision 0393), never (all rows of the other
 * tables count), or, any other number, at the time of that column. */
#define TAB_AS_OF_EVIDENCE SIZE_MAX
#define TAB_AS_OF_NONE (SIZE_MAX - 1)

typedef struct tab_links tab_links;       /* the ways from one table and what they could say */
typedef struct tab_link_set tab_link_set; /* what was chosen of it */

/* The ways from `table` of the n profiled ones by references between them. *ret: NULL where there is none.
 * target: column that no way may start from; the table's width where there is none. as_of: as above. It
 * lives in e->arena and reads p and its tables as long as it is used. Errors: CANCELLED, INTERNAL (out of
 * memory). */
tab_status tab_links_new(const tab_engine *e, tab_profile *const *p, size_t n, const tab_references *refs,
                         size_t table, size_t target, size_t as_of, tab_links **ret,
                         tab_error *err) TAB_CHECKED;

/* Candidates that fix the target alone, one a column that they are made of: copies of it in another
 * table, or what is written down once it is known; and numbers that were computed from the targets of
 * several rows. They are never chosen. */
enum { TAB_LINK_COPIES = 4 };
typedef struct {
    size_t n;
    tab_str name[TAB_LINK_COPIES];
    bool computed[TAB_LINK_COPIES];
} tab_link_copies;

/* Chooses what tells of the target beyond chance and makes a small cross-fitted model of it better on p's
 * rows, which are rows row[] of the table (NULL: all of them, in order). *ret: NULL where nothing does. task:
 * CLASSIFICATION or REGRESSION; p's target column is viewed as the task needs it. It lives in e->arena.
 * ret_copies may be NULL. Errors as above. */
tab_status tab_links_choose(const tab_engine *e, const tab_links *l, const tab_profile *p,
                            const uint32_t *row, size_t target, tab_task task, tab_link_set **ret,
                            tab_link_copies *ret_copies, tab_error *err) TAB_CHECKED;

/* What is said of each table on a way from l's, with s (NULL: nothing) chosen. Warnings are sentences that
 * begin with a word to look for: left_out, later_rows. All live in e->arena. Errors as above. */
typedef struct {
    Tabella__LinkedTable **table;
    size_t tables;
    char **warning;
    size_t warnings;
} tab_link_told;
tab_status tab_links_tell(const tab_engine *e, const tab_links *l, const tab_link_set *s, tab_link_told *ret,
                          tab_error *err) TAB_CHECKED;

/* p with the chosen columns behind its own; rows as above. Lives in e->arena. Errors as above. */
tab_status tab_links_widen(const tab_engine *e, const tab_links *l, const tab_link_set *s,
                           const tab_profile *p, const uint32_t *row, tab_profile **ret,
                           tab_error *err) TAB_CHECKED;

/* New rows t of the table, columns in its order, with the chosen columns behind their own. A row whose key
 * is unknown has missing ones. Lives in e->arena; reads l's tables. Errors as above. */
tab_status tab_links_rows(const tab_engine *e, const tab_links *l, const tab_link_set *s, const tab_table *t,
                          tab_table **ret, tab_error *err) TAB_CHECKED;

/* Marks the results (one a row of wide, as tab_links_rows gave it) of rows of which no chosen column says
 * anything: the model was judged on rows that had them. False: the arena is full. */
bool tab_links_doubt(tab_arena *a, const tab_link_set *s, const tab_table *wide,
                     Tabella__Prediction *m) TAB_CHECKED;

/* Links, and what was chosen of them, in few bytes (pack/pack.h). */
void tab_pack_links(tab_pack *p, tab_links **l, tab_link_set **s);
tab_pack_fn tab_pack_link_told;

size_t tab_link_set_size(const tab_link_set *s);
/* The name of chosen column i. */
tab_str tab_link_set_name(const tab_link_set *s, size_t i);

#endif
