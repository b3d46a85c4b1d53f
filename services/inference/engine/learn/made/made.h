/* Made columns: numbers that a row's cells hold together and no single one of them, which trees find late.
 *
 *   difference, sum, ratio, product   of two numbers
 *   group, beside                     the mean of a number over the rows of a level, and the distance to it
 *   cross                             what two categories together say of the target: ordered statistics
 *                                     (levels.h)
 *
 * Which of them a fold's models read is proposed by propose.h and proven by learn/stack/prove.h; levels.c
 * puts them behind the problem's features. What is fitted, means and statistics, is of the fold's context
 * alone. */
#ifndef TAB_MADE_H
#define TAB_MADE_H

#include "services/inference/engine/learn/learner.h"

enum { TAB_MADE_MOST = 12 }; /* made columns that a fold's models read */

typedef enum {
    TAB_MADE_DIFFERENCE,
    TAB_MADE_SUM,
    TAB_MADE_RATIO,
    TAB_MADE_PRODUCT,
    TAB_MADE_GROUP,
    TAB_MADE_BESIDE,
    TAB_MADE_CROSS
} tab_made_kind;

/* a, b: the problem's features. Of GROUP and BESIDE b tells the groups, of CROSS both. */
typedef struct {
    tab_made_kind kind;
    uint32_t a, b;
    uint32_t target; /* CROSS: the class whose share it is; of numbers and two classes 1 */
} tab_made_recipe;

typedef struct {
    tab_made_recipe recipe[TAB_MADE_MOST];
    size_t n;
} tab_made_list;

/* A recipe with what it has learned. */
typedef struct {
    tab_made_recipe recipe;
    float *mean;  /* (cells) GROUP, BESIDE: by group; CROSS: by pair of groups; else NULL */
    size_t cells; /* of mean */
} tab_made;

/* Whether two recipes say the same to a reader. */
static inline bool tab_made_alike(const tab_made_recipe *x, const tab_made_recipe *y)
{
    return x->kind == y->kind && x->a == y->a && x->b == y->b;
}

/* How many groups a feature tells, one of them for missing cells; and the group of a row. */
size_t tab_made_groups(const tab_feature *f);
size_t tab_made_group(const tab_feature *f, const tab_data *d, uint32_t feature, uint32_t row);

/* The number of a row, in the units of its column. NaN: missing. */
double tab_made_number(const tab_feature *f, const tab_data *d, uint32_t feature, uint32_t row);

/* What ret averages, of context rows, ascending. value (rows): CROSS, the values of these; else not written.
 * False: memory. */
bool tab_made_learn(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n,
                    const tab_made_recipe *recipe, tab_made *ret, double *value) TAB_CHECKED;

/* The same, and its value in every row of the problem: value (rows). A context row's own target has no part
 * in its value. False: memory. */
bool tab_made_fit(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n,
                  const tab_made_recipe *recipe, tab_made *ret, double *value) TAB_CHECKED;

/* The value of a row that is not of the context. f: the problem's features. NaN: missing. */
double tab_made_value(const tab_made *m, const tab_feature *f, const tab_data *d, uint32_t row);

tab_pack_fn tab_pack_made;

/* For people: "price relative to the mean of its town". Each name by its column. "": the arena is full. */
const char *tab_made_words(tab_arena *a, tab_made_kind kind, tab_str one, tab_str other);
#endif
