/* Which eligible column is the one to predict: a linear score of what is known of it, with weights that were
 * fitted to the choices of an analyst (decision 0298). No name is read. */
#ifndef TAB_RANK_H
#define TAB_RANK_H

#include "services/inference/engine/predict/choose/contenders.h"

#define TAB_CLUE_LIST(X)                                                                  \
    X(SKILL, "skill")           /* share of the loss that all other columns take off */   \
    X(BEYOND, "beyond")         /* skill beyond what the closest column tells alone */    \
    X(COMPUTED, "computed")     /* the skill is that of a formula */                      \
    X(CHANCE, "chance")         /* the skill is next to nothing */                        \
    X(DETERMINED, "determined") /* nearly a sum or product of other columns */            \
    X(PART, "part")             /* and a part in it, not the whole */                     \
    X(LAST, "last")             /* the table's last column */                             \
    X(FIRST, "first")           /* its first */                                           \
    X(PLACE, "place")           /* 0 for the first column, 1 for the last */              \
    X(TWO, "two")               /* two classes */                                         \
    X(FEW, "few")               /* three to ten */                                        \
    X(MANY, "many")             /* more */                                                \
    X(DISTINCT, "distinct")     /* numbers: log of distinct values over log of rows */    \
    X(WHOLE, "whole")           /* numbers: share of whole ones */                        \
    X(TAIL, "tail")             /* numbers: how far fewer than half are above the mean */ \
    X(AMOUNT, "amount")         /* roles: money, ... */                                   \
    X(RATING, "rating")                                                                   \
    X(COUNT, "count")                                                                     \
    X(PERCENTAGE, "percentage")                                                           \
    X(STATUS, "status")                                                                   \
    X(FLAG, "flag")                                                                       \
    X(AGE, "age")                                                                         \
    X(PERSON, "person") /* gender, marital status, education ... */                       \
    X(WHERE, "where")   /* places and positions */                                        \
    X(WHEN, "when")     /* parts of dates */                                              \
    X(WHAT, "what")     /* things, codes, vocabularies */

enum {
#define TAB_X(e, name) TAB_CLUE_##e,
    TAB_CLUE_LIST(TAB_X)
#undef TAB_X
        TAB_CLUES
};
extern const char *const tab_clue_name[TAB_CLUES];

/* x: what is known of the contender of table p. */
void tab_target_evidence(const tab_profile *p, const tab_contender *c, double x[TAB_CLUES]);

/* The score of an eligible contender; the higher, the likelier an analyst's choice. One that nothing predicts
 * stands behind all that something does. */
double tab_target_score(const tab_profile *p, const tab_contender *c);
#endif
