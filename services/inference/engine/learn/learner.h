/* A learner: fitted on some rows of a table (the context), it answers for other rows (the queries).
 *
 * Outputs are `outputs` floats a row:
 *   classification   natural logarithms of class probabilities, up to a constant a row (outputs = classes)
 *   regression       the location, in the problem's standardised units (outputs = 1)
 *
 * The driver (learn/stack/stack.h) gives each learner the same folds, calibrates its out-of-fold outputs,
 * weighs the learners and averages the fold models for rows that no fold held. A learner is a constant table
 * of functions; it draws random numbers from tab_mix of row hashes and `seed` only, uses no thread of its own
 * and reads no clock. */
#ifndef TAB_LEARNER_H
#define TAB_LEARNER_H

#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/pack/pack.h"

enum { TAB_MANY_CLASSES = 100 }; /* above, work is bounded by cells, too: Decision 0192 */
enum { TAB_FOLDS = 10 };         /* at most */

typedef struct {
    const tab_encoder *enc;
    const tab_data *data; /* all rows known at fit time; context and held-out rows are positions in it */
    bool classification;
    size_t outputs;
    const uint32_t *label; /* (rows) classification: class index; TAB_NULL where the target is missing */
    const float *y;        /* (rows) regression: standardised target; NaN where missing */
    const float
        *of; /* (rows) where y is the square root of a scale: the target that it is the scale of; or NULL */
    /* (rows) 0 to 1: rows of one place share a fold, and neighbouring places stand in one where they can;
     * NULL: rows are spread over the folds by content */
    const float *place;
    /* (rows) rows of one unit share a fold: a position in data that stands for it (features/units.h). NULL:
     * rows of equal content do, or, where `repeats`, each row stands by itself */
    const uint32_t *unit;
    bool repeats;
    uint64_t seed;
} tab_problem;

/* What the driver lends to one fit. */
typedef struct {
    const uint32_t *context; /* (n) positions in problem->data, ascending */
    size_t n;
    const uint32_t *held; /* (held_n) rows that this fit must not read the targets of; their targets are in
                           * the problem, for early stopping by `loss` only */
    size_t held_n;
    size_t config;           /* which of the learner's alternatives, 0..configs-1 */
    const float *importance; /* (features) share of the boosted trees' gain within this context, or NULL */
    /* After how many steps the leading learner's held loss was least, in the mean of the folds: how much
     * there is to learn. Below 0 where nothing led. */
    double lead_steps;
    const atomic_bool *cancel;
    const tab_engine *e; /* for loops inside a large fit, or NULL */
    tab_arena *arena;    /* the model lives here; the fit's alone */
} tab_fit_task;

typedef struct tab_learner {
    const char *name;
    size_t configs; /* alternatives tried on one fold; the best is used on all */
    size_t cap;     /* most context rows it is given; more are sampled (0: no limit) */
    bool weighs;    /* takes column weights from the trees' importance */
    bool whole;     /* rows outside the folds are answered by one model of all rows; the folds' are let go */
    /* Work of one fit in multiply-adds or the like, to be held against the budget; 0: not apt here. */
    double (*work)(const tab_problem *p, size_t n);
    double share; /* most of the budget that it may take; 0: all of it */
    /* Where the budget is short: form 1, 2, ... of it, a fit's `config`, is cheaper than the one before.
     * Says in `a` what that form is and its work; NULL: there are no more. NULL function: it cannot be
     * cut. */
    const char *(*cheaper)(const tab_problem *p, size_t n, size_t form, tab_arena *a, double *work);
    /* NULL: the arena is full, or the context does not carry this learner. `curve`, for a learner that can
     * be stopped early, receives the held rows' summed loss after 0, 1, ... steps (the caller lends
     * `steps` + 1 values); otherwise NULL. */
    void *(*fit)(const tab_problem *p, const tab_fit_task *t, double *curve);
    size_t steps;                           /* most steps, for learners with a curve; else 0 */
    void (*stop)(void *model, size_t step); /* keep the first `step` steps */
    /* out (n, outputs) for rows row[0..n) of q, which may be the problem's data or another encoded table. */
    void (*predict)(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                    size_t n, float *out);
    /* share of gain a feature (features); NULL when the learner has none */
    const float *(*importance)(const void *model);
    /* Packs a pointer to a model, as it answers: what `stop` left out, and what only a fit reads, stays away;
     * a model that was read is not stopped again. */
    void (*pack)(tab_pack *p, void **model);
} tab_learner;

extern const tab_learner tab_learn_boost, tab_learn_boost_shallow, tab_learn_boost_brisk,
    tab_learn_boost_fast, tab_learn_boost_quick, tab_learn_linear, tab_learn_kernel, tab_learn_kernel_small,
    tab_learn_forest, tab_learn_forest_fine, tab_learn_knn, tab_learn_mlp, tab_learn_pfn;
#endif
