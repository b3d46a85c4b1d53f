/* The stack: learners on common folds, each calibrated on its out-of-fold outputs, weighed together by a
 * convex combination, and calibrated once more. It is what a base is made of.
 *
 *   rows --folds--> fold models --> out-of-fold outputs --> temperature each --> weights --> temperature
 *                       |
 *                       +--> averaged for rows in no fold (or one model of all rows: learn/stack/whole.h)
 *
 * Folds are assigned by the hash of a row's content, so that duplicates share one, spread evenly over the
 * classes. Every context row's result comes from models that never saw its target. */
#ifndef TAB_STACK_H
#define TAB_STACK_H

#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/levels.h"

enum { TAB_LEARNERS = 12 };

typedef struct {
    const tab_learner *learner[TAB_LEARNERS];
    size_t n;
    size_t folds; /* 0: by the number of rows */
    double work;  /* most work of all fits together; learners that do not fit are cut down or skipped */
    bool makes;   /* columns are made where they are proven (prove.h) */
} tab_recipe;

typedef struct {
    const tab_learner *learner;
    size_t config;
    void *model[TAB_FOLDS + 1]; /* by fold; the last, at `folds`, of all rows (learner->whole) */
    size_t step;                /* where the learner has steps: of all folds together ... */
    size_t apart[TAB_FOLDS];    /* ... and that of the other folds, for the rows that a fold holds */
    double temperature;
    double weight;
    double loss; /* mean out-of-fold loss: log-loss, or squared error in standardised units */
} tab_member;

typedef struct {
    bool classification;
    size_t outputs, folds;
    tab_member member[TAB_LEARNERS];
    size_t members;
    const tab_data *data;              /* the problem's */
    tab_levels *levels[TAB_FOLDS + 1]; /* each fold's own, or NULL; at `folds`, of all rows */
    tab_made_list made;                /* the columns of the models of all rows */
    double temperature;
    float *prior;        /* (outputs) log shares of the classes, or the mean */
    double prior_weight; /* what the prior keeps in the convex combination */
    uint8_t *fold;       /* (rows) of the problem's data; 255: no target, in no fold */
    float *oof;          /* (rows, outputs) out of fold: log-probabilities, or location; averaged models where
                          * fold is 255 */
    double loss, prior_loss;
    const char
        *skipped[2 *
                 TAB_LEARNERS]; /* learner names left out or cut down, each with its reason after a colon */
    size_t skips;
    size_t bytes; /* of the models' own arenas */
} tab_stack;

/* Fits on every row of the problem with a target. Models and results live in `a`, and in arenas it frees.
 * NULL: the arena is full or the pass was cancelled. */
tab_stack *tab_stack_fit(const tab_engine *e, tab_arena *a, const tab_problem *p, const tab_recipe *r);

/* out (n, outputs): log-probabilities (they sum to one) or locations of rows row[0..n) of q. Thread-safe. */
bool tab_stack_predict(const tab_stack *s, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                       size_t n, float *out);

/* Numbers only. out (n): the variance among the folds' models' answers to each row around their mean, which
 * tab_stack_predict gives. An out-of-fold answer is one model's: its squared error is that of the mean plus
 * this, in the mean of the folds (Krogh & Vedelsby 1995). Thread-safe. */
bool tab_stack_ambiguity(const tab_stack *s, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                         size_t n, float *out);

/* The boosted member whose trees give reasons: that of most weight; NULL: there is none. */
const tab_member *tab_stack_reasons(const tab_stack *s);

/* Members that nothing asks, for they have no weight and give no reasons, stay away. */
tab_pack_fn tab_pack_stack;

/* Rows as the models of a fold (or, at `folds`, of all rows) read them: q itself, or with the fold's
 * statistics of levels. */
typedef struct {
    const tab_encoder *enc;
    const tab_data *data;
    const tab_levels *levels; /* not NULL: `own` is to be freed */
    tab_data own;
} tab_fold_view;

bool tab_stack_view(const tab_stack *s, size_t fold, const tab_encoder *enc, const tab_data *q,
                    const uint32_t *row, size_t n,
                    tab_fold_view *ret); /* false: memory; ret may be freed all the same */
void tab_stack_view_free(tab_fold_view *v);
#endif
