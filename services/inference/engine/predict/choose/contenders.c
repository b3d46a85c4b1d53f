/* See contenders.h. A column is eligible when it is worth predicting and no other column gives it away:
 *
 *   profile  not identifying, no free text, no point in time, more than one value, few enough classes,
 *            mostly present
 *   twins    no single column fixes it. Group the rows by a feature's bins: the share of the target's
 *            variation between groups, adjusted for their number, stays below TWIN. So a redundant column
 *            cannot win merely because its twin predicts it
 *   rules    it is no sum or product of others (identities.h), and no two columns fix its classes
 *            (determined.h): decision 0419
 *
 * Each eligible column is then predicted from all others by a small cross-fitted model on at most SCAN rows.
 * Its skill is the share of the loss that the model takes off the base rate's. Where chance alone explains
 * the skill of every column, the likeliest ones are looked at again, on more rows and by better learners,
 * before it is said that nothing is predictable (decision 0321). */
#include "services/inference/engine/predict/choose/contenders.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/fixed_by.h"
#include "services/inference/engine/features/units.h"
#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/predict/choose/beyond_chance.h"
#include "services/inference/engine/predict/choose/determined.h"
#include "services/inference/engine/predict/choose/foresight.h"
#include "services/inference/engine/predict/choose/identities.h"
#include "services/inference/engine/profile/roles/roles.h"

/* SCAN: rows that skill is measured on. LEAST_ROWS: with a value. MOST_CLASSES: of a target that was not
 * asked for. MOST_SCANNED: eligible columns of one table that are tried, of a table of up to WIDE columns;
 * LEAST_SCANNED: of any. By hand, the last two with decision 0386. */
enum { SCAN = 1200, LEAST_ROWS = 5, MOST_CLASSES = 50, MOST_SCANNED = 200, WIDE = 400, LEAST_SCANNED = 40 };
/* LEAST_TOLD: fewer rows do not show that a skill is chance. AGAIN and AGAIN_ROWS: columns and rows of the
 * second look. */
enum { LEAST_TOLD = 40, AGAIN = 5, AGAIN_ROWS = 20000 };
/* TWIN: what one column may explain before the candidate is nearly a copy of it. COMPUTED: skill from which
 * on two columns may fix it; FOLLOWS: decimals of its variance, of five, that a rule leaves. MOST_MISSING:
 * share of missing cells. PART_OF_DATE: confidence of a role that is a part of a date. By hand, not measured.
 * */
static const double TWIN = 0.985, COMPUTED = 0.97, FOLLOWS = 0.8, MOST_MISSING = 0.5, PART_OF_DATE = 0.5;
/* Of a table by chance alone, the share in which something is taken for predictable, at most. */
static const double ALPHA = 0.05;

static const tab_recipe QUICK = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 2, .work = 1e12 };
static const tab_recipe BETTER = {
    .learner = { &tab_learn_boost_fast, &tab_learn_linear }, .n = 2, .folds = 5, .work = 1e12
};

/* Whether the column would be predicted as a number. */
static bool as_number(const tab_column_profile *c, tab_task task)
{
    if (task == TAB_TASK_AUTO)
        return c->type == TAB_NUMERIC && tab_numeric_target(c);
    return c->type == TAB_NUMERIC && task != TAB_TASK_CLASSIFICATION;
}

/* What the profile alone says against a column; true when nothing does. */
static bool eligible(const tab_column_profile *c, size_t rows, tab_task task, char *why, size_t n)
{
    size_t most = rows / 4 < MOST_CLASSES ? rows / 4 : MOST_CLASSES;
    if (c->use == TAB_USE_KEY || c->use == TAB_USE_IGNORE)
        snprintf(why, n, "given in the request (%s)", c->use == TAB_USE_KEY ? "key" : "ignore");
    else if (c->identifying)
        snprintf(why, n, "its values identify %s (%s)",
                 c->distinct * 2 > c->present ? "single rows" : "what rows belong to",
                 tab_role_names[c->role]);
    else if (c->type == TAB_TEXT)
        snprintf(why, n, "free text");
    else if (c->type == TAB_DATETIME)
        snprintf(why, n, "a point in time");
    else if (tab_role_family[c->role] == TAB_FAMILY_TIMEPART && c->role_confidence > PART_OF_DATE)
        snprintf(why, n, "a part of a date (%s)", tab_role_names[c->role]);
    else if (c->present == 0)
        snprintf(why, n, "all of its cells are missing");
    else if (c->distinct < 2)
        snprintf(why, n, "it has only one value");
    else if (c->present < LEAST_ROWS)
        snprintf(why, n, "too few rows have a value (%zu)", c->present);
    else if (c->missing > MOST_MISSING)
        snprintf(why, n, "%.0f%% of its cells are missing", 100 * c->missing);
    else if (task == TAB_TASK_REGRESSION && c->type != TAB_NUMERIC)
        snprintf(why, n, "not numeric, and regression was asked for");
    else if (!as_number(c, task) && c->distinct > (most < 2 ? 2 : most))
        snprintf(why, n, "too many distinct values to be classes (%zu)", c->distinct);
    else
        return true;
    return false;
}

void tab_contender_name(const tab_profile *p, size_t column, char *who, size_t n)
{
    tab_contender_name_of(p->col[column].column->name, column, who, n);
}

void tab_contender_name_of(tab_str name, size_t column, char *who, size_t n)
{
    size_t cut = name.n < 80 ? name.n : 80;
    while (cut < name.n && cut > 0 && ((unsigned char)name.p[cut] & 0xc0) == 0x80)
        cut--; /* within a letter */
    if (cut > 0)
        snprintf(who, n, "%.*s", (int)cut, name.p);
    else
        snprintf(who, n, "column %zu", column);
}

/* ---- the scan of one table ------------------------------------------------------------------- */

typedef struct {
    const tab_engine *e;
    const tab_profile *p;
    const tab_encoder *enc;
    const tab_data *data;
    tab_contender *c;  /* this table's eligible ones */
    size_t n;          /* of them */
    size_t *again;     /* which of them the second look is at; NULL: the first one, at all */
    double *z;         /* (n) skill by its standard error; NaN: not measured */
    uint32_t *unit;    /* (rows of data) copies share one; NULL: there are none */
    const bool *times; /* (columns) those that say when, which fix nothing; NULL: none */
    tab_task task;
    atomic_bool failed;
} scan;

/* Share of the classes' entropy that the bins of feature `f` take away, less what chance takes (Miller,
 * Note on the bias of information estimates, 1955): the measure of the skill, for one column alone. */
static double told_by(const tab_data *d, size_t f, const uint32_t *label, size_t classes)
{
    const uint8_t *bin = d->bin[f];
    uint32_t *table = calloc(257 * classes, sizeof *table); /* the last row: of all bins */
    double count[257] = { 0 }, own = 0, within = 0;
    size_t groups = 0;
    for (size_t i = 0; table != NULL && i < d->rows; i++)
        if (label[i] != TAB_NULL) {
            table[bin[i] * classes + label[i]]++, count[bin[i]]++;
            table[256 * classes + label[i]]++, count[256]++;
        }
    for (size_t b = 0; table != NULL && b <= 256; b++) {
        /* the bin's entropy times its rows; the last row is that of the whole column */
        double sum = 0;
        for (size_t k = 0; k < classes; k++) {
            double n = table[b * classes + k];
            sum += n > 0 ? n * log(count[b] / n) : 0;
        }
        *(b < 256 ? &within : &own) += sum;
        groups += b < 256 && count[b] > 0;
    }
    free(table);
    /* half a row a free cell of the table of bins and classes */
    double chance = 0.5 * (double)(groups > 0 ? groups - 1 : 0) * (double)(classes - 1);
    return own > 0 ? fmax(0, (own - within - chance) / own) : 0;
}

/* Keeps the columns that tell most; several features may be of one column. */
static void note_closest(tab_contender *c, size_t column, double alone)
{
    size_t at = 0;
    while (at < TAB_CLOSEST - 1 && !(c->alone[at] > 0 && c->closest[at] == column))
        at++; /* its own place, or the last */
    if (!(alone > c->alone[at]))
        return;
    for (; at > 0 && alone > c->alone[at - 1]; at--)
        c->alone[at] = c->alone[at - 1], c->closest[at] = c->closest[at - 1];
    c->alone[at] = alone, c->closest[at] = column;
}

/* One candidate as a target, on the first rows of the table. */
typedef struct {
    const tab_column_profile *p;
    tab_encoder enc; /* without the candidate's own features */
    tab_data data;
    float *y;          /* (rows) numbers; NaN where missing */
    uint32_t *label;   /* (rows) classes; TAB_NULL where missing */
    size_t n, classes; /* rows with a value; classes, 0 for numbers */
} trial_target;

/* y (rows): v standardised and cut at 5 standard deviations, so that one far value does not decide what is
 * predictable. Values are divided by the largest first: their squares stay finite. */
static void standardise(const trial_target *t, const double *v, float *y)
{
    double most = 0, sum = 0, square = 0;
    for (size_t r = 0; r < t->data.rows; r++)
        if (!isnan(v[t->data.row[r]]))
            most = fmax(most, fabs(v[t->data.row[r]]));
    for (size_t r = 0; most > 0 && r < t->data.rows; r++)
        if (!isnan(v[t->data.row[r]])) {
            double x = v[t->data.row[r]] / most;
            sum += x, square += x * x;
        }
    double mean = t->n > 0 ? sum / (double)t->n : 0;
    double var = t->n > 0 ? square / (double)t->n - mean * mean : 0;
    double sd = var > 1e-24 ? sqrt(var) : 1;
    for (size_t r = 0; most > 0 && r < t->data.rows; r++)
        if (!isnan(v[t->data.row[r]])) {
            double z = (v[t->data.row[r]] / most - mean) / sd;
            y[r] = (float)(z > 5 ? 5 : z < -5 ? -5 : z);
        }
}

/* The class of a number, counted from 1; seen (MOST_CLASSES) holds those that came up. 0: it is missing, or
 * one too many. */
static uint32_t class_of_number(double v, double *seen, size_t *classes)
{
    size_t k = 0;
    while (k < *classes && seen[k] != v)
        k++;
    if (isnan(v) || k == MOST_CLASSES)
        return 0;
    seen[k] = v;
    *classes += k == *classes;
    return (uint32_t)k + 1;
}

/* Reads the candidate's values. False: the arena is full. */
static bool read_target(tab_arena *a, bool numeric, trial_target *t)
{
    const tab_column_profile *p = t->p;
    size_t rows = t->data.rows;
    t->y = tab_arena_new_of(a, float, rows + 1);
    t->label = tab_arena_new_of(a, uint32_t, rows + 1);
    uint32_t *of = tab_arena_new_of(a, uint32_t, p->levels + 1); /* class of a level, counted from 1 */
    double seen[MOST_CLASSES];
    if (tab_arena_full(a))
        return false;
    for (size_t r = 0; r < rows; r++) {
        uint32_t row = t->data.row[r];
        t->y[r] = NAN;
        t->label[r] = TAB_NULL;
        if (numeric && !isnan(p->number[row])) {
            t->n++;
        } else if (!numeric && p->code != NULL && p->code[row] != TAB_NULL) {
            uint32_t *k = &of[p->code[row]];
            if (*k == 0)
                *k = (uint32_t)++t->classes;
            t->label[r] = *k - 1;
            t->n++;
        } else if (!numeric && p->code == NULL && p->number != NULL) {
            uint32_t k = class_of_number(p->number[row], seen, &t->classes);
            t->label[r] = k > 0 ? k - 1 : TAB_NULL;
            t->n += k > 0;
        }
    }
    if (numeric)
        standardise(t, p->number, t->y);
    return true;
}

/* What single columns tell of the candidate. False: one of them fixes it, and the reason says which. */
static bool find_closest(const scan *s, const trial_target *t, tab_contender *c)
{
    /* twin: the column of the feature that fixes most */
    size_t twin = SIZE_MAX;
    double most = 0;
    for (size_t f = 0; f < t->enc.n; f++) {
        /* every feature of every other column, on its own */
        if (s->times != NULL && s->times[t->enc.f[f].source])
            continue;
        double share = tab_fixed_by(&t->data, f, c->numeric ? t->y : NULL, t->label, t->classes);
        double alone = c->numeric ? share : told_by(&t->data, f, t->label, t->classes);
        if (share > most)
            most = share, twin = t->enc.f[f].source;
        note_closest(c, t->enc.f[f].source, alone);
    }
    if (!(most > TWIN))
        return true;
    c->eligible = false;
    char who[96];
    tab_contender_name(s->p, twin, who, sizeof who);
    snprintf(c->reason, sizeof c->reason, "%s alone determines it (%.1f%%): nearly a copy, or derived", who,
             100 * most);
    return false;
}

/* Classes that two columns fix, of which one is among those that tell most: then the reason says which. */
static void find_pair(const scan *s, const trial_target *t, tab_contender *c)
{
    size_t first[TAB_CLOSEST], n = 0, pair[2];
    for (size_t i = 0; i < TAB_CLOSEST; i++)
        for (size_t f = t->enc.n; c->alone[i] > 0 && f-- > 0;)
            if (t->enc.f[f].source == c->closest[i]) {
                first[n++] = f;
                break;
            }
    if (!tab_fixed_by_two(&t->enc, &t->data, t->label, t->classes, first, n, pair))
        return;
    char one[84], other[84];
    tab_contender_name(s->p, pair[0], one, sizeof one);
    tab_contender_name(s->p, pair[1], other, sizeof other);
    c->eligible = false;
    snprintf(c->reason, sizeof c->reason, "it follows from %s and %s", one, other);
}

/* Numbers that are a sum or product of two to TAB_IDENTITY_PARTS others: then the reason says of which.
 * False: the arena is full. */
static bool find_rule(tab_arena *a, const tab_profile *p, tab_contender *c)
{
    size_t part[TAB_IDENTITY_PARTS], n = 0, size = sizeof c->reason;
    bool product = false;
    if (!tab_identity_of(a, p, c->column, part, &n, &product))
        return false;
    if (n < 2)
        return true;
    c->eligible = false;
    size_t at = (size_t)snprintf(c->reason, size, "it follows from ");
    for (size_t i = 0; i < n && at < size; i++) {
        char who[96];
        tab_contender_name(p, part[i], who, sizeof who);
        at += (size_t)snprintf(c->reason + at, size - at, "%s%s",
                               i == 0       ? ""
                               : i + 1 == n ? " and "
                                            : ", ",
                               who);
    }
    if (at < size)
        snprintf(c->reason + at, size - at, product ? ", by their product" : ", by their sum");
    return true;
}

/* What the values of the candidate look like. */
static void describe(const trial_target *t, tab_contender *c)
{
    size_t whole = 0, above = 0;
    c->classes = c->numeric ? 0 : t->classes;
    for (size_t r = 0; c->numeric && r < t->data.rows; r++) {
        double v = t->p->number[t->data.row[r]];
        if (!isnan(v))
            whole += fabs(v - floor(v))<1e-9, above += t->y[r]> 0;
    }
    c->whole = t->n > 0 ? (double)whole / (double)t->n : 0;
    c->above = t->n > 0 ? (double)above / (double)t->n : 0;
}

/* Skill of candidate i. This runs beside its like: no loops and no progress of its own. */
static void scan_one(void *ctx, size_t i)
{
    scan *s = ctx;
    i = s->again != NULL ? s->again[i] : i;
    tab_contender *c = &s->c[i];
    if (!c->eligible)
        return;
    trial_target t = { .p = &s->p->col[c->column] };
    /* no loops within: candidates run side by side */
    tab_engine e = *s->e;
    e.parallel_for = NULL;
    e.progress = NULL;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    c->numeric = as_number(t.p, s->task);
    if (a == NULL || tab_engine_cancelled(s->e) ||
        !tab_encode_without(a, s->enc, s->data, c->column, s->again != NULL ? AGAIN_ROWS : SCAN, &t.enc,
                            &t.data) ||
        !read_target(a, c->numeric, &t)) {
        atomic_store(&s->failed, true);
        return;
    }
    e.arena = a;
    if (!c->numeric && t.classes < 2) {
        c->eligible = t.p->code != NULL || t.p->number != NULL;
        return;
    }
    if (s->again == NULL) {
        describe(&t, c);
        if (!find_closest(s, &t, c))
            return;
    }
    c->chance = c->lucky = t.enc.n == 0;
    if (t.n < 2 * LEAST_ROWS || t.enc.n == 0)
        return; /* too little to measure skill on; still eligible */
    /* all other columns together, by a small cross-fitted stack */
    tab_problem q = { .enc = &t.enc,
                      .data = &t.data,
                      .label = t.label,
                      .y = t.y,
                      .unit = s->unit,
                      .seed = s->e->seed,
                      .classification = !c->numeric,
                      .outputs = c->numeric ? 1 : t.classes };
    tab_stack *stack = tab_stack_fit(&e, a, &q, s->again != NULL ? &BETTER : &QUICK);
    if (stack == NULL) {
        atomic_store(&s->failed, true);
        return;
    }
    double z = tab_agreement_z(&q, stack);
    c->lucky = !(z > tab_chance_z(s->n, ALPHA));
    c->told = !c->lucky && t.n >= LEAST_TOLD;
    if (t.n >= LEAST_TOLD) {
        s->z[i] = isnan(z) ? 0 : z;
        c->chance = c->lucky;
    }
    if (s->again != NULL)
        return;
    double skill = stack->prior_loss > 0 ? 1 - stack->loss / stack->prior_loss : 0;
    c->skill = skill > 0 ? skill : 0;
    c->alone[0] = fmin(c->alone[0], c->skill);
    if (!c->numeric && c->skill > COMPUTED)
        find_pair(s, &t, c);
}

/* Why a step gave up. */
static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* Where all that is eligible may be chance: the AGAIN candidates of the greatest z. Gives their number. */
static size_t likeliest(const scan *s, size_t again[AGAIN])
{
    size_t k = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->c[i].eligible && !s->c[i].chance)
            return 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = k;
        if (!s->c[i].eligible || isnan(s->z[i]))
            continue;
        while (at > 0 && s->z[i] > s->z[again[at - 1]])
            at--;
        if (at == AGAIN)
            continue;
        k += k < AGAIN;
        for (size_t j = k - 1; j > at; j--)
            again[j] = again[j - 1];
        again[at] = i;
    }
    return k;
}

/* Fills what the trials of the n candidates c of table p say. */
static tab_status scan_table(const tab_engine *e, const tab_profile *p, const bool *times, tab_task task,
                             tab_contender *c, size_t n, tab_error *err)
{
    if (n == 0)
        return TAB_OK;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    tab_data *data = NULL;
    scan s = { .e = e, .p = p, .c = c, .times = times, .task = task };
    s.enc = a == NULL ? NULL : tab_encode_fit(e, a, p, NULL, &data);
    tab_units units = { 0 };
    /* of a large table the rows that are looked at are hardly ever copies of each other */
    bool few = p->table->rows <= 50 * SCAN;
    if (s.enc != NULL && few &&
        (!tab_units_find(a, p, p->table->cols, false, &units) || !tab_units_of(a, &units, data, &s.unit)))
        return failed(e, err);
    tab_identity *of = s.enc == NULL ? NULL : tab_arena_new_of(a, tab_identity, p->table->cols + 1);
    if (of == NULL || !tab_identities(a, p, of))
        return failed(e, err);
    for (size_t i = 0; i < n; i++) {
        c[i].determined = of[c[i].column].share, c[i].positive = of[c[i].column].positive;
        if (c[i].determined >= FOLLOWS && !find_rule(a, p, &c[i]))
            return failed(e, err);
    }
    s.data = data;
    s.n = n;
    s.z = tab_arena_new_of(a, double, n + 1);
    if (s.z == NULL)
        return failed(e, err);
    for (size_t i = 0; i < n; i++)
        s.z[i] = (double)NAN;
    atomic_init(&s.failed, false);
    tab_engine_for(e, n, scan_one, &s);
    if (atomic_load(&s.failed) || tab_engine_cancelled(e))
        return failed(e, err);
    size_t again[AGAIN], k = likeliest(&s, again);
    if (k > 0) {
        s.again = again;
        tab_engine_for(e, k, scan_one, &s);
    }
    return atomic_load(&s.failed) || tab_engine_cancelled(e) ? failed(e, err) : TAB_OK;
}

/* For qsort: eligible ones first, in the table's order. */
static int by_eligibility(const void *a, const void *b)
{
    const tab_contender *x = a, *y = b;
    if (x->eligible != y->eligible)
        return x->eligible ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* For qsort: eligible ones first, by what is foreseen, then in the table's order. */
static int by_foresight(const void *a, const void *b)
{
    const tab_contender *x = a, *y = b;
    if (x->eligible == y->eligible && x->eligible && x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return by_eligibility(a, b);
}

/* Eligible columns of one table that are tried. Each is held against all columns: of a wide table fewer are
 * tried, so that the work grows with its width and not with the square of it (decision 0386). */
static size_t scanned_at_most(size_t cols)
{
    size_t most = cols > WIDE ? MOST_SCANNED * WIDE / cols : MOST_SCANNED;
    return most > LEAST_SCANNED ? most : LEAST_SCANNED;
}

tab_status tab_contenders(const tab_engine *e, const tab_profile *p, size_t table, const bool *refers,
                          const bool *times, tab_task task, tab_contender *c, size_t *ret_open,
                          tab_error *err)
{
    size_t open = 0;
    for (size_t k = 0; k < p->table->cols; k++) {
        size_t of = 0;
        c[k] = (tab_contender){ .table = table, .column = k };
        c[k].numeric = as_number(&p->col[k], task);
        c[k].eligible = eligible(&p->col[k], p->table->rows, task, c[k].reason, sizeof c[k].reason);
        if (c[k].eligible && refers != NULL && refers[k]) {
            c[k].eligible = false;
            snprintf(c[k].reason, sizeof c[k].reason, "it refers to the rows of another table");
        } else if (c[k].eligible && tab_part_of_date(p, k, &of)) {
            char who[96];
            c[k].eligible = false;
            tab_contender_name(p, of, who, sizeof who);
            snprintf(c[k].reason, sizeof c[k].reason, "a part of the date in %s", who);
        }
        open += c[k].eligible;
    }
    size_t most = scanned_at_most(p->table->cols);
    if (open > most) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        if (a == NULL || !tab_foresee(a, p, c))
            return failed(e, err);
        qsort(c, p->table->cols, sizeof *c, by_foresight);
        for (size_t k = most; k < open; k++) {
            c[k].eligible = false;
            snprintf(
                c[k].reason, sizeof c[k].reason,
                "%zu other columns are likelier targets, judging by their contents and what accompanies them",
                most);
        }
        open = most;
    }
    qsort(c, p->table->cols, sizeof *c, by_eligibility);
    TAB_TRY(scan_table(e, p, times, task, c, open, err));
    qsort(c, p->table->cols, sizeof *c, by_eligibility); /* the trials found twins */
    *ret_open = 0;
    while (*ret_open < p->table->cols && c[*ret_open].eligible)
        ++*ret_open;
    return TAB_OK;
}
