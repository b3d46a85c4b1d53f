/* See leave.h; impute.c asks before it fills, serve_impute.c in the same way. */
#include "services/inference/engine/impute/leave.h"

#include <math.h>

#include "services/inference/engine/impute/fill.h"
#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/roles/roles.h"

/* A number that repeats and is an id by plurality only is more likely something else, a counter of months for
 * one, than an id (decision 0178). */
static bool doubtful(const tab_column_profile *c)
{
    return c->role == TAB_ROLE_ID && c->role_confidence < 0.5 && !c->pii &&
           c->column->layout == TAB_NUMBERS && c->distinct * 4 <= c->present;
}

const char *tab_leave_column(tab_arena *a, const tab_column_profile *c)
{
    if (c->use == TAB_USE_KEY || c->use == TAB_USE_IGNORE)
        return c->use == TAB_USE_KEY ? "given as a key in the request" : "given as ignored in the request";
    if (c->present == 0)
        return "no row has a value";
    if (c->identifying && !doubtful(c))
        return tab_arena_printf(a, "its values identify something (%s) and are never invented",
                                tab_role_names[c->role]);
    if (c->type == TAB_TEXT)
        return "free text";
    if (c->type == TAB_DATETIME)
        return "its values are points in time";
    /* "yes" or nothing; a constant that a few rows lack is filled */
    if (c->distinct == 1 && (c->type == TAB_BOOLEAN || c->missing > TAB_FILL_ABSENT))
        return "all known cells have the same value, so an empty one most likely means the opposite";
    return NULL;
}

/* ---- rows of totals -------------------------------------------------------------------------- */

/* Other rows with a value that a sum must be of; fewer equal it by chance. */
enum { LEAST_SUMMANDS = 4 };

/* The row that holds half of a column's sum: the only one that can be the sum of all others. Numbers of one
 * sign only, so that nothing cancels. TAB_NULL: there is none. *ret_asked: whether the column could tell. */
static uint32_t half_of_all(const tab_column_profile *c, size_t rows, bool *ret_asked)
{
    double sum = 0, most = 0, unit = 0;
    size_t nonzero = 0, minus = 0;
    uint32_t at = TAB_NULL;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(c->number[r]))
            unit = fmax(unit, fabs(c->number[r]));
    for (size_t r = 0; r < rows; r++) {
        double v = isnan(c->number[r]) || !(unit > 0) ? 0 : c->number[r] / unit;
        nonzero += fabs(v) > 0;
        minus += v < 0;
        sum += v;
        if (fabs(v) > most)
            most = fabs(v), at = (uint32_t)r;
    }
    *ret_asked = nonzero > LEAST_SUMMANDS && (minus == 0 || minus == nonzero);
    /* whole numbers add up; others are rounded, each by half a last digit at most */
    double slack = 1e-9 * most;
    if (c->decimals > 0 && unit > 0)
        slack += 0.5 * pow(10, -c->decimals) * sqrt((double)nonzero) / unit;
    return *ret_asked && fabs(fabs(sum) - 2 * most) <= slack ? at : TAB_NULL;
}

/* Averages and rates have no sums, so half of the columns that could tell must. */
uint32_t tab_row_of_totals(const tab_profile *p)
{
    size_t asked = 0, said = 0;
    uint32_t row = TAB_NULL;
    for (size_t c = 0; c < p->table->cols; c++) {
        bool could = false;
        if (p->col[c].type != TAB_NUMERIC || p->col[c].number == NULL || p->col[c].identifying)
            continue;
        uint32_t at = half_of_all(&p->col[c], p->table->rows, &could);
        asked += could;
        if (at == TAB_NULL || (row != TAB_NULL && at != row))
            continue;
        row = at;
        said++;
    }
    return said * 2 >= asked ? row : TAB_NULL;
}

/* ---- absence --------------------------------------------------------------------------------- */

/* The share of the uncertainty about presence that the others must take away, where the values say nothing
 * and where they do (decision 0745); present cells of a category of which it can be said that nothing tells
 * them. A first look that finds less than FIRST_LOOK has found nothing. Chosen by hand. */
static const double TOLD = 0.5, TOLD_ALONE = 0.66, FIRST_LOOK = 0.15;
enum { PRESENT_LEAST = 50 };
static const tab_recipe QUICK = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 2, .work = 2e11 };
static const tab_recipe CLOSER = {
    .learner = { &tab_learn_boost, &tab_learn_forest_fine }, .n = 2, .folds = 5, .work = 2e11
};

/* How far the other columns say which rows have a cell of `column`: the others are without one by their
 * nature. Scratch lives in a. False: memory or cancelled. */
static bool absence_told(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_encoder *enc,
                         const tab_data *d, size_t column, const tab_recipe *by, double *ret)
{
    tab_encoder view;
    tab_data rows;
    if (!tab_encode_without(a, enc, d, column, TAB_FILL_ROWS, &view, &rows))
        return false;
    uint32_t *there = tab_arena_new_of(a, uint32_t, rows.rows + 1);
    if (there == NULL)
        return false;
    for (size_t i = 0; i < rows.rows; i++)
        there[i] = !tab_fill_missing(p->col[column].column, rows.row[i]);
    tab_problem q = {
        .enc = &view, .data = &rows, .label = there, .seed = e->seed, .classification = true, .outputs = 2
    };
    tab_engine own = *e;
    own.progress = NULL;
    own.arena = a;
    tab_stack *s = tab_stack_fit(&own, a, &q, by);
    if (s == NULL)
        return false;
    *ret = s->prior_loss > 0 ? 1 - s->loss / s->prior_loss : 0;
    return true;
}

bool tab_absence_weigh(const tab_engine *e, const tab_profile *p, const tab_encoder *enc, const tab_data *d,
                       size_t column, double missing, bool known, char **ret)
{
    const tab_column_profile *c = &p->col[column];
    bool few = 1 - missing < TAB_FILL_PRESENT;
    bool most = missing > 0.5, untold = most && c->type == TAB_CATEGORICAL && c->present >= PRESENT_LEAST;
    double told = 0, percent = 100 * (1 - missing);
    *ret = NULL;
    if (!few && (missing < TAB_FILL_ABSENT || (known && !most)))
        return true;
    if (known || !few) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
        if (a == NULL || !absence_told(e, a, p, enc, d, column, &QUICK, &told) ||
            (known && !few && told > FIRST_LOOK && !absence_told(e, a, p, enc, d, column, &CLOSER, &told)))
            return false;
        if ((known || !untold) && told <= (known && !few ? TOLD_ALONE : TOLD))
            return true;
    }
    *ret =
        few ? tab_arena_printf(
                  e->arena,
                  "only %.1f%% of the rows have a value, and %s; an empty cell most likely has none", percent,
                  told > TOLD ? "other columns determine which rows" : "no other column predicts it")
        : known || told > TOLD
            ? tab_arena_printf(e->arena,
                               "other columns determine which %.1f%% of the rows have a value%s; an empty "
                               "cell is a value of its own",
                               percent, known ? "" : ", but not the value")
            : tab_arena_printf(e->arena,
                               "%.1f%% of the rows have a value, and no other column predicts it; an empty "
                               "cell most likely has none",
                               percent);
    return *ret != NULL;
}
