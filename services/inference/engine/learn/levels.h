/* What the models of one fold read: the problem's features, of a wide table those that say most of the target
 * (screen.h), ordered target statistics, and made columns (made/made.h).
 *
 * Ordered target statistics: what the levels of a category with many of them say of the target, as
 * numbers that every learner can read.
 *
 * A category of more levels than the trees have bins shares its last bin among the rest. It is read in
 * addition as the mean of the target over the rows of its level, drawn to the overall mean (for
 * classes beyond two: a mean each). A row's own target must not stand in its own feature, nor be
 * recoverable from those of its level; so a context row reads the rows before it only, in the order of
 * row hashes, which is random (ordered statistics: Prokhorenkova et al., CatBoost, NeurIPS 2018).
 * Other rows read all context rows. The early rows' statistics are noisy, which is their price: where
 * the trees can hold the levels themselves, they do better without (decision 0096). */
#ifndef TAB_LEVELS_H
#define TAB_LEVELS_H

#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/made/made.h"

typedef struct {
    tab_encoder enc; /* features of the problem, then n more numbers, then the made ones */
    tab_data data;   /* of the problem's rows */
    size_t n, plain; /* statistics; features of the problem that are read */
    uint32_t *kept;  /* (plain) their positions there, ascending; NULL: all */
    uint32_t *code;  /* (n) the category that each reads, among the problem's features */
    size_t *levels;  /* (n) of that category */
    float **mean;    /* (n)(levels + 2): a level the encoder does not know; a missing cell */
    tab_made *made;  /* (mades) */
    size_t mades;
} tab_levels;

/* Of the context rows of one fold, ascending. made: the columns to make, or NULL. *ret is NULL where all
 * features are read as they are: nothing is made, no category has many levels, or too many classes want a
 * number each. False: memory. */
bool tab_levels_fit(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n,
                    const tab_made_list *made, tab_levels **ret);

/* Other rows with the added features: *ret borrows q, and holds only rows row[0..n) of what is added.
 * False: memory; else tab_levels_free. */
bool tab_levels_read(const tab_levels *v, const tab_data *q, const uint32_t *row, size_t n, tab_data *ret);
tab_pack_fn tab_pack_levels;
void tab_levels_free(const tab_levels *v, tab_data *d);
#endif
