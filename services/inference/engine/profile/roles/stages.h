/* From vectors to roles, in two stages (decision 0061). Training and serving build their inputs by the same
 * functions.
 *
 *   stage 1  one column alone: its features                            -> p1 (TAB_ROLES)
 *   sector   the table: words of sectors, roles, mean features         -> posterior (TAB_SECTORS)
 *   stage 2  the column in its table: p1, what the other columns are,
 *            its neighbours, relations between columns, the sector     -> p2 (TAB_ROLES) */
#ifndef TAB_STAGES_H
#define TAB_STAGES_H

#include "services/inference/engine/profile/features/features.h"
#include "services/inference/engine/profile/roles/logistic.h"
#include "services/inference/engine/profile/roles/roles.h"

enum {
    TAB_RELATIONS = 16,
    TAB_RELATION_ENDS = 1, /* of relation[]: a date never before another one of its row */
    TAB_STAGE1_INPUTS = 2 * TAB_DENSE + 16 + TAB_GRAMS,
    TAB_STAGE2_INPUTS = TAB_DENSE + 16 + TAB_RELATIONS + 5 * TAB_ROLES + TAB_SECTORS,
    TAB_STAGE2_TIED = 1,
    TAB_STAGE2_HIDDEN = 128,
    TAB_SECTOR_INPUTS = TAB_DENSE + TAB_ROLES + TAB_RELATIONS + 8,
    TAB_SECTOR_TIED = 4,
};

/* One column on its way. */
typedef struct {
    tab_reading *reading;
    tab_features features;
    float relation[TAB_RELATIONS]; /* filled by tab_relate */
    float p1[TAB_ROLES], p2[TAB_ROLES];
} tab_staged;

void tab_stage1_inputs(const tab_staged *c, float *x /* (TAB_STAGE1_INPUTS) */);
void tab_sector_inputs(const tab_staged *const *c, size_t n, size_t rows, float *x, float *z);
/* all (TAB_ROLES): tab_stage2_sum of the n columns. */
void tab_stage2_sum(const tab_staged *const *c, size_t n, double *all);
void tab_stage2_inputs(const tab_staged *const *c, size_t n, size_t k, const double *all, const float *sector,
                       float *x, float *z);

/* Fills relation[] of every column: relations between columns of numbers over at most 200 rows (price x
 * quantity = total, a + b = c, low <= high, start <= end, latitude beside longitude ...), and the column's
 * place. stages.c lists them. */
void tab_relate(tab_staged *const *c, size_t n, size_t rows);

/* Sets roles to zero that the readings rule out (a text is no amount), raises roles that a checksum
 * proves, and scales to a sum of 1. */
void tab_restrict_roles(const tab_staged *c, float *p);

/* Keys have no favourite digits and do not count rows: a correction of stage 2's answer (decisions 0165,
 * 0208). */
void tab_deny_keys(const tab_staged *c, float *p);

/* Bare digits are telephone numbers, cards or articles only where their prefixes, lengths and check digits
 * say so, and moments where all lie in 1990 to 2033 as milliseconds and less; clock readings that all lie
 * before six are elapsed times: a correction of stage 2's answer (decision 0262). */
void tab_weigh_numbers(const tab_staged *c, float *p);

/* Numbers that are days: as spreadsheets count them, where the name says so; 240305, where all are such
 * and the name or their span says so: a correction of stage 2's answer (decision 0811). */
bool tab_is_serial_day(const tab_staged *c);
bool tab_is_six_digit_day(const tab_staged *c);
void tab_hear_days(const tab_staged *c, float *p);

/* Texts of which each is several values with a sign between them are lists (decision 0702). */
void tab_hear_lists(const tab_staged *c, float *p);

/* Columns side by side that answer on one scale are items of one questionnaire, and are of one role: each
 * gets the mean of their answers (decision 0471). */
void tab_agree_items(tab_staged *const *c, size_t n);

/* A number that is multiplied with another to give a third, less a discount, is no key (decision 0600). */
void tab_deny_factors(tab_staged *const *c, size_t n, size_t rows);

/* Dates that lie as births do, in a table that lists persons, are births (decision 0771). */
void tab_hear_births(tab_staged *const *c, size_t n);

/* Numbers of persons and companies prove themselves by their check digits, and addresses by house numbers
 * behind names that differ, names by initials: a correction of stage 2's answer (decisions 0489, 0675). */
void tab_hear_identity(const tab_staged *c, float *p);

/* Forms of personal data that something else has: versions of four numbers, documents behind their year,
 * counters; and what no check digit proves is not called so beyond 0.85 (decision 0771). */
void tab_doubt_forms(const tab_staged *c, float *p);

/* What is told of the sector: beyond 0.8 half as sure (decision 0677), the others raised to a sum of 1. Stage
 * 2 reads the posterior as it is. */
void tab_tell_sector(float *p /* (TAB_SECTORS) */);

/* Whether some column surely is personal data by its role. */
bool tab_has_persons(tab_staged *const *c, size_t n);

/* The probability that the column is personal data: of its personal roles together, or that texts of it hold
 * addresses of mail or telephone numbers, or names where it stands in a table that has persons. */
double tab_personal(const tab_staged *c, const float *p, bool persons);

/* Of n cells a test passes k and more by accident with the tail of Poisson's law. What is left is the
 * probability that the cells do hold some. */
double tab_beyond_accidents(double k, double n, double chance);

/* Fills p->held, and raises p->pii_confidence to the surest of it, where the column is of texts; persons: as
 * above. False: the reading's arena is full. */
bool tab_hold_persons(const tab_reading *r, bool persons, tab_column_profile *p) TAB_CHECKED;

/* The reported role: the likeliest one of the likeliest type, so that role and type agree. */
int tab_pick_role(const tab_staged *c, const float *p);

/* Stage 2 has two models of one input: a linear one, and a perceptron of one hidden layer, stored as two
 * linear models. Their logits are pooled, the perceptron's with this share (decision 0163). */
static const float TAB_STAGE2_SHARE = 0.6f;

/* The linked models' answer to inputs of tab_stage2_inputs. p (TAB_ROLES). */
void tab_stage2_apply(const float *x, const float *z, float *p);

/* The linked models (models.c); opened once, read-only. */
const tab_linear *tab_model_stage1(void);
const tab_linear *tab_model_sector(void);
#endif
