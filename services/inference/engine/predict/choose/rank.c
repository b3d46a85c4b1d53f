#include "services/inference/engine/predict/choose/rank.h"

#include <assert.h>
#include <math.h>

#include "services/inference/engine/predict/choose/target_weights.h"
#include "services/inference/engine/profile/roles/roles.h"

static const double COMPUTED = 0.97; /* more skill: as good as computed from the others */
static const double CHANCE = 0.03;   /* less: next to nothing */
static const double LAST = 10;       /* taken off where there is no skill at all: behind all others */

const char *const tab_clue_name[TAB_CLUES] = {
#define TAB_X(e, name) name,
    TAB_CLUE_LIST(TAB_X)
#undef TAB_X
};

/* The group of a role, or -1. */
static int group_of(int role)
{
    switch (role) {
    case TAB_ROLE_AMOUNT:
        return TAB_CLUE_AMOUNT;
    case TAB_ROLE_RATING:
        return TAB_CLUE_RATING;
    case TAB_ROLE_COUNT:
        return TAB_CLUE_COUNT;
    case TAB_ROLE_PERCENTAGE:
        return TAB_CLUE_PERCENTAGE;
    case TAB_ROLE_STATUS:
        return TAB_CLUE_STATUS;
    case TAB_ROLE_AGE:
        return TAB_CLUE_AGE;
    case TAB_ROLE_GENDER:
    case TAB_ROLE_MARITAL_STATUS:
    case TAB_ROLE_EDUCATION_LEVEL:
    case TAB_ROLE_ETHNICITY:
    case TAB_ROLE_RELIGION:
    case TAB_ROLE_JOB_TITLE:
        return TAB_CLUE_PERSON;
    default:
        break;
    }
    switch (tab_role_family[role]) {
    case TAB_FAMILY_FLAG:
        return TAB_CLUE_FLAG;
    case TAB_FAMILY_PLACE:
    case TAB_FAMILY_GEO:
        return TAB_CLUE_WHERE;
    case TAB_FAMILY_TIMEPART:
        return TAB_CLUE_WHEN;
    case TAB_FAMILY_THING:
    case TAB_FAMILY_IDENTIFIER:
    case TAB_FAMILY_VOCABULARY:
        return TAB_CLUE_WHAT;
    default:
        return -1;
    }
}

void tab_target_evidence(const tab_profile *p, const tab_contender *c, double x[TAB_CLUES])
{
    const tab_column_profile *col = &p->col[c->column];
    size_t cols = p->table->cols;
    assert(c->column < cols);
    for (size_t i = 0; i < TAB_CLUES; i++)
        x[i] = 0;
    x[TAB_CLUE_SKILL] = c->skill;
    x[TAB_CLUE_BEYOND] = c->skill - c->alone[0];
    x[TAB_CLUE_COMPUTED] = c->skill > COMPUTED;
    x[TAB_CLUE_CHANCE] = c->skill < CHANCE;
    x[TAB_CLUE_LAST] = c->column + 1 == cols;
    x[TAB_CLUE_FIRST] = c->column == 0;
    x[TAB_CLUE_PLACE] = cols > 1 ? (double)c->column / (double)(cols - 1) : 0;
    if (c->numeric) {
        double rows = fmax(3, (double)col->present);
        x[TAB_CLUE_DETERMINED] = c->determined;
        x[TAB_CLUE_PART] = c->determined * (1 - c->positive);
        x[TAB_CLUE_DISTINCT] = log(fmax(1, (double)col->distinct)) / log(rows);
        x[TAB_CLUE_WHOLE] = c->whole;
        x[TAB_CLUE_TAIL] = 1 - 2 * c->above;
    } else {
        x[c->classes <= 2 ? TAB_CLUE_TWO : c->classes <= 10 ? TAB_CLUE_FEW : TAB_CLUE_MANY] = 1;
    }
    int group = group_of(col->role);
    if (group >= 0)
        x[group] = 1;
}

double tab_target_score(const tab_profile *p, const tab_contender *c)
{
    double x[TAB_CLUES], sum = c->skill > 0 ? 0 : -LAST;
    tab_target_evidence(p, c, x);
    for (size_t i = 0; i < TAB_CLUES; i++)
        sum += (double)tab_target_weight[i] * x[i];
    return sum;
}
