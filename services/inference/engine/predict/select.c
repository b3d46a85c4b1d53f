/* See select.h. A column is eligible when it is worth predicting and no single other column gives it away:
 *
 *   profile  not identifying, no free text, no point in time, more than one value, few enough classes,
 *            mostly present
 *   twins    no single column fixes it. Group the rows by a feature's bins: the share of the target's
 *            variation between groups, adjusted for their number, stays below TWIN. So a redundant column
 *            cannot win merely because its twin predicts it
 *
 * Each eligible column is then predicted from all others by a small cross-fitted model on at most SCAN rows.
 * Its skill is the share of the loss that the model takes off the base rate's.
 *
 * An outcome follows from many columns together; a measure that others derive from follows from one. So
 * the part of the skill that the closest column has alone counts little, and the rest counts little where
 * no other column has a part of it. The score is weighed by how like an outcome the column is: few classes
 * before a number, a number before many classes, and what a row is (who, where, when) last. Decision 0179. */
#include "services/inference/engine/predict/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/learn/stack.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/roles.h"

/* SCAN: rows that skill is measured on. LEAST_ROWS: with a value. MOST_CLASSES: of a target that was not
 * asked for. MOST_SCANNED: eligible columns of one table that are tried. Chosen by hand, not measured. */
enum { SCAN = 1200, LEAST_ROWS = 5, MOST_CLASSES = 50, MOST_SCANNED = 200 };
/* TWIN: what one column may explain before the candidate is nearly a copy of it. MOST_MISSING: share of
 * missing cells. Chosen by hand, not measured. */
static const double TWIN = 0.985, MOST_MISSING = 0.5;
enum { CLOSEST = 3 };                /* single columns that are remembered: decision 0179 */
static const double ALONE = 0.1;     /* what the closest column tells alone counts this much */
static const double COMPUTED = 0.97; /* more skill: as good as computed from the others */
static const double NARROW = 0.3;    /* and the rest this much where no other column tells anything */

static const tab_recipe QUICK = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 2, .work = 1e12 };

/* A column as a target: what speaks against it, or how well others explain it. */
typedef struct {
    size_t table, column;
    bool eligible, numeric;
    char reason[200];
    double skill, score;
    double alone[CLOSEST]; /* what the columns that tell most tell alone, falling */
    size_t closest[CLOSEST];
} candidate;

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
    if (c->identifying)
        snprintf(why, n, "its values identify single rows (%s)", tab_role_names[c->role]);
    else if (c->type == TAB_TEXT)
        snprintf(why, n, "free text");
    else if (c->type == TAB_DATETIME)
        snprintf(why, n, "a point in time");
    else if (c->present == 0)
        snprintf(why, n, "all its cells are missing");
    else if (c->distinct < 2)
        snprintf(why, n, "it has one value only");
    else if (c->present < LEAST_ROWS)
        snprintf(why, n, "too few rows have a value (%zu)", c->present);
    else if (c->missing > MOST_MISSING)
        snprintf(why, n, "%.0f %% of its cells are missing", 100 * c->missing);
    else if (task == TAB_TASK_REGRESSION && c->type != TAB_NUMERIC)
        snprintf(why, n, "not numeric, and regression was asked for");
    else if (!as_number(c, task) && c->distinct > (most < 2 ? 2 : most))
        snprintf(why, n, "too many distinct values to be classes (%zu)", c->distinct);
    else
        return true;
    return false;
}

/* The start of a column's name; its number where it has none. */
static void name_of(const tab_profile *p, size_t column, char *who, size_t n)
{
    tab_str name = p->col[column].column->name;
    size_t cut = name.n < 80 ? name.n : 80;
    while (cut < name.n && cut > 0 && ((unsigned char)name.p[cut] & 0xc0) == 0x80)
        cut--; /* within a letter */
    if (cut > 0)
        snprintf(who, n, "%.*s", (int)cut, name.p);
    else
        snprintf(who, n, "column %zu", column);
}

/* How like an outcome a column is, by its role and its values. The weights are decision 0179's; for a
 * number, values from 0.5 to 0.85 move the mean reciprocal rank by 0.05. */
static double outcome_like(const tab_column_profile *c, bool numeric, size_t classes)
{
    bool judged = c->role == TAB_ROLE_AMOUNT || c->role == TAB_ROLE_RATING; /* money, or a score */
    double like = numeric ? (judged ? 0.7 : 0.6) : classes <= 2 ? 1 : classes <= 10 ? 0.95 : 0.7;
    switch (c->role) {
    case TAB_ROLE_AGE:
    case TAB_ROLE_GENDER:
    case TAB_ROLE_MARITAL_STATUS:
    case TAB_ROLE_EDUCATION_LEVEL:
    case TAB_ROLE_ETHNICITY:
    case TAB_ROLE_RELIGION:
    case TAB_ROLE_JOB_TITLE:
        return 0.5 * like; /* who */
    default:
        break;
    }
    /* what a row is about is given, not an outcome */
    uint8_t family = tab_role_family[c->role];
    bool given = family == TAB_FAMILY_PLACE || family == TAB_FAMILY_GEO || family == TAB_FAMILY_TIMEPART ||
                 family == TAB_FAMILY_THING || family == TAB_FAMILY_IDENTIFIER ||
                 family == TAB_FAMILY_VOCABULARY;
    return given ? 0.5 * like : like;
}

/* ---- the scan of one table ------------------------------------------------------------------- */

typedef struct {
    const tab_engine *e;
    const tab_profile *p;
    const tab_encoder *enc;
    const tab_data *data;
    candidate *c; /* this table's eligible ones */
    tab_task task;
    atomic_bool failed;
} scan;

/* Share of a target's variation that lies between the bins of feature `f`, adjusted for the number of bins:
 * eta squared for numbers; for classes, how far the best guess a bin beats the best guess overall. */
static double fixed_by(const tab_data *d, size_t f, const float *y, const uint32_t *label, size_t classes)
{
    const uint8_t *bin = d->bin[f];
    size_t rows = d->rows, groups = 0, n = 0;
    double count[256] = { 0 };
    if (y != NULL) {
        /* between and within the bins, from sums; the within-part adjusted for the number of bins */
        double sum[256] = { 0 }, square = 0, all = 0, within = 0;
        for (size_t i = 0; i < rows; i++)
            if (!isnan(y[i])) {
                double v = (double)y[i];
                count[bin[i]]++, sum[bin[i]] += v, square += v * v, all += v, n++;
            }
        double total = square - all * all / (double)(n + 1), between = 0;
        for (size_t b = 0; b < 256; b++)
            if (count[b] > 0)
                groups++, between += sum[b] * sum[b] / count[b];
        within = square - between;
        if (n <= groups + 1 || !(total > 0))
            return 0;
        return 1 - within / (double)(n - groups) / (total / (double)(n - 1));
    }
    /* classes by bin: the best guess a bin, against the best guess overall */
    uint32_t *table = calloc(256 * classes, sizeof *table), *overall = calloc(classes, sizeof *overall);
    double right = 0;
    uint32_t best_class = 0;
    for (size_t i = 0; table != NULL && overall != NULL && i < rows; i++)
        if (label[i] != TAB_NULL) {
            table[bin[i] * classes + label[i]]++;
            count[bin[i]]++, n++;
            if (++overall[label[i]] > best_class)
                best_class = overall[label[i]];
        }
    for (size_t b = 0; table != NULL && b < 256; b++) {
        uint32_t best = 0;
        for (size_t k = 0; k < classes; k++)
            best = table[b * classes + k] > best ? table[b * classes + k] : best;
        right += best;
        groups += count[b] > 0;
    }
    free(table);
    free(overall);
    /* fewer than three rows a bin fit any target by chance */
    if (n <= 3 * groups || best_class == n)
        return 0;
    return (right - best_class) / ((double)n - best_class);
}

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
static void note_closest(candidate *c, size_t column, double alone)
{
    size_t at = 0;
    while (at < CLOSEST - 1 && !(c->alone[at] > 0 && c->closest[at] == column))
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

/* Reads the candidate's values. False: the arena is full. */
static bool read_target(tab_arena *a, bool numeric, trial_target *t)
{
    const tab_column_profile *p = t->p;
    size_t rows = t->data.rows;
    t->y = tab_arena_new_of(a, float, rows + 1);
    t->label = tab_arena_new_of(a, uint32_t, rows + 1);
    uint32_t *of = tab_arena_new_of(a, uint32_t, p->levels + 1); /* class of a level, counted from 1 */
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
        }
    }
    if (numeric)
        standardise(t, p->number, t->y);
    return true;
}

/* What single columns tell of the candidate. False: one of them fixes it, and the reason says which. */
static bool find_closest(const scan *s, const trial_target *t, candidate *c)
{
    /* twin: the column of the feature that fixes most */
    size_t twin = SIZE_MAX;
    double most = 0;
    for (size_t f = 0; f < t->enc.n; f++) {
        /* every feature of every other column, on its own */
        double share = fixed_by(&t->data, f, c->numeric ? t->y : NULL, t->label, t->classes);
        double alone = c->numeric ? share : told_by(&t->data, f, t->label, t->classes);
        if (share > most)
            most = share, twin = t->enc.f[f].source;
        note_closest(c, t->enc.f[f].source, alone);
    }
    if (!(most > TWIN))
        return true;
    c->eligible = false;
    char who[96];
    name_of(s->p, twin, who, sizeof who);
    snprintf(c->reason, sizeof c->reason, "%s alone fixes it (%.1f %%): nearly a copy, or derived", who,
             100 * most);
    return false;
}

/* The score of the head of this file: decision 0179. */
static void set_score(candidate *c, const trial_target *t, double skill)
{
    c->skill = skill > 0 ? skill : 0;
    double like = outcome_like(t->p, c->numeric, t->classes);
    if (c->skill > COMPUTED)
        like *= 0.5;
    /* what the closest column tells alone, and how much the next two tell beside it */
    double first = fmin(c->alone[0], c->skill), others = (c->alone[1] + c->alone[2]) / 2;
    double broad = first > 0 ? fmin(1, others / first) : 0;
    c->alone[0] = first;
    c->score = (c->skill - (1 - ALONE) * first) * (NARROW + (1 - NARROW) * broad) * like;
}

/* Skill and score of candidate i. This runs beside its like: no loops and no progress of its own. */
static void scan_one(void *ctx, size_t i)
{
    scan *s = ctx;
    candidate *c = &s->c[i];
    trial_target t = { .p = &s->p->col[c->column] };
    /* no loops within: candidates run side by side */
    tab_engine e = *s->e;
    e.parallel_for = NULL;
    e.progress = NULL;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    c->numeric = as_number(t.p, s->task);
    if (a == NULL || tab_engine_cancelled(s->e) ||
        !tab_encode_without(a, s->enc, s->data, c->column, SCAN, &t.enc, &t.data) ||
        !read_target(a, c->numeric, &t)) {
        atomic_store(&s->failed, true);
        return;
    }
    e.arena = a;
    if (!c->numeric && t.classes < 2) {
        c->eligible = t.p->code != NULL || t.p->number != NULL;
        return;
    }
    if (!find_closest(s, &t, c))
        return;
    if (t.n < 2 * LEAST_ROWS || t.enc.n == 0)
        return; /* too little to measure skill on; still eligible */
    /* all other columns together, by a small cross-fitted stack */
    tab_problem q = { .enc = &t.enc,
                      .data = &t.data,
                      .label = t.label,
                      .y = t.y,
                      .seed = s->e->seed,
                      .classification = !c->numeric,
                      .outputs = c->numeric ? 1 : t.classes };
    tab_stack *stack = tab_stack_fit(&e, a, &q, &QUICK);
    if (stack == NULL) {
        atomic_store(&s->failed, true);
        return;
    }
    set_score(c, &t, stack->prior_loss > 0 ? 1 - stack->loss / stack->prior_loss : 0);
}

/* Why a step gave up. */
static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* Fills skill and score of the n candidates c of table p. */
static tab_status scan_table(const tab_engine *e, const tab_profile *p, tab_task task, candidate *c, size_t n,
                             tab_error *err)
{
    if (n == 0)
        return TAB_OK;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    tab_data *data = NULL;
    scan s = { .e = e, .p = p, .c = c, .task = task };
    s.enc = a == NULL ? NULL : tab_encode_fit(e, a, p, NULL, &data);
    if (s.enc == NULL)
        return failed(e, err);
    s.data = data;
    atomic_init(&s.failed, false);
    tab_engine_for(e, n, scan_one, &s);
    return atomic_load(&s.failed) || tab_engine_cancelled(e) ? failed(e, err) : TAB_OK;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* How well others explain it, for people. */
static const char *explained(tab_arena *a, const tab_profile *p, const candidate *c)
{
    char who[96];
    if (!(c->alone[0] >= 0.005))
        return tab_arena_printf(a, "the other columns explain %.0f %% of it", 100 * c->skill);
    name_of(p, c->closest[0], who, sizeof who);
    return tab_arena_printf(a, "the other columns explain %.0f %% of it, %s alone %.0f %%", 100 * c->skill,
                            who, 100 * c->alone[0]);
}

/* One candidate with its reason, for people. */
static Tabella__Candidate *write_candidate(tab_arena *a, tab_profile *const *p, const candidate *c,
                                           bool selected)
{
    Tabella__Candidate *m = tab_message(a, Tabella__Candidate, TABELLA__CANDIDATE__INIT);
    if (m == NULL)
        return NULL;
    m->column = tab_column_ref(a, p[c->table]->table, (uint32_t)c->table, c->column);
    m->selected = selected;
    m->eligible = c->eligible;
    m->score = c->eligible ? c->score : 0;
    if (!c->eligible)
        m->reason = tab_arena_printf(a, "not eligible: %s", c->reason);
    else
        m->reason =
            tab_arena_printf(a, "%s: %s", selected ? "chosen" : "eligible", explained(a, p[c->table], c));
    return m;
}

/* For qsort: eligible ones first, by falling score, then in the tables' order. */
static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->eligible != y->eligible)
        return x->eligible ? -1 : 1;
    if (x->eligible && x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Scans all columns of all tables and takes the best eligible one. */
static tab_status choose(const tab_engine *e, tab_profile *const *p, size_t n, tab_task task,
                         tab_selection *s, tab_error *err)
{
    tab_arena *a = e->arena;
    size_t cols = 0, count = 0;
    for (size_t t = 0; t < n; t++)
        cols += p[t]->table->cols;
    candidate *c = tab_arena_new_of(a, candidate, cols + 1);
    if (c == NULL)
        return failed(e, err);
    for (size_t t = 0; t < n; t++) {
        /* what the profile says of each column; the eligible ones are scanned */
        size_t first = count, open = 0;
        for (size_t k = 0; k < p[t]->table->cols; k++) {
            candidate *q = &c[count];
            *q = (candidate){ .table = t, .column = k };
            q->eligible = eligible(&p[t]->col[k], p[t]->table->rows, task, q->reason, sizeof q->reason);
            if (q->eligible && open == MOST_SCANNED) {
                q->eligible = false;
                snprintf(q->reason, sizeof q->reason, "beyond the first %d eligible columns", MOST_SCANNED);
            }
            open += q->eligible;
            count++;
        }
        qsort(c + first, count - first, sizeof *c, by_score); /* eligible ones first */
        TAB_TRY(scan_table(e, p[t], task, c + first, open, err));
    }
    /* all tables' columns compete */
    qsort(c, count, sizeof *c, by_score);
    bool any = count > 0 && c[0].eligible;
    /* sorted: the first one, if it is eligible at all */
    s->none = !any;
    if (any) {
        s->table = c[0].table;
        s->column = c[0].column;
    }
    s->target->n_candidates = count;
    s->target->candidates = tab_arena_new_of(a, Tabella__Candidate *, count + 1);
    for (size_t i = 0; s->target->candidates != NULL && i < count; i++)
        s->target->candidates[i] = write_candidate(a, p, &c[i], any && i == 0);
    if (!any) {
        s->target->mode = tab_text("none");
        s->target->reason = tab_text("no column is eligible as a target; name one as target.column");
    } else {
        s->target->mode = tab_text("auto");
        const char *how = explained(a, p[s->table], &c[0]);
        s->target->reason = tab_arena_printf(a, "the most predictable column that is like an outcome: %s",
                                             how == NULL ? "" : how);
    }
    return tab_arena_full(a) ? failed(e, err) : TAB_OK;
}

/* Two passes: the first names the two values, the second makes the rarer one 1. */
bool tab_anomaly_labels(const tab_profile *p, size_t column, uint32_t *ret)
{
    const tab_column_profile *c = &p->col[column];
    double value[2] = { 0, 0 };
    size_t count[2] = { 0, 0 }, found = 0;
    for (size_t i = 0; i < p->table->rows; i++) {
        bool missing = c->code != NULL ? c->code[i] == TAB_NULL : c->number == NULL || isnan(c->number[i]);
        double v = missing ? 0 : c->code != NULL ? (double)c->code[i] : c->number[i];
        size_t k = 0;
        ret[i] = TAB_NULL;
        if (missing)
            continue;
        while (k < found && value[k] != v) // NOLINT: the very value
            k++;
        if (k == 2)
            return false;
        if (k == found)
            value[found++] = v;
        ret[i] = (uint32_t)k;
        count[k]++;
    }
    if (found < 2)
        return false;
    uint32_t rare = count[1] <= count[0];
    for (size_t i = 0; i < p->table->rows; i++)
        if (ret[i] != TAB_NULL)
            ret[i] = ret[i] == rare;
    return true;
}

/* The target that the caller named, or the column of an anomaly task's labels. */
static tab_status take_named(const tab_engine *e, tab_profile *const *p, size_t n, const tab_run_options *o,
                             tab_selection *s, tab_error *err)
{
    tab_arena *a = e->arena;
    /* by name among all tables */
    const tab_table **table = tab_arena_new_of(a, const tab_table *, n);
    for (size_t i = 0; table != NULL && i < n; i++)
        table[i] = p[i]->table;
    tab_status st = table == NULL
                        ? failed(e, err)
                        : tab_column_find(a, table, n, o->target_column, &s->table, &s->column, err);
    if (st != TAB_OK)
        return st;
    s->target->mode = tab_text("user");
    s->target->reason = tab_text("named by the caller");
    if (o->task == TAB_TASK_ANOMALY) {
        uint32_t *label = tab_arena_new_of(a, uint32_t, p[s->table]->table->rows + 1);
        if (label == NULL)
            return failed(e, err);
        if (!tab_anomaly_labels(p[s->table], s->column, label))
            return tab_fail(err, TAB_VALIDATION, "target.column",
                            "the labels of anomalies are a column of two values; "
                            "name one, or leave `target` out to score without labels");
        s->target->reason = tab_text("named by the caller: its rarer value is the label of an anomaly, "
                                     "which grades the scores and is not read by them");
    }
    s->target->candidates_null = true;
    return TAB_OK;
}

/* No target: none is asked for, or anomalies are scored in the largest table. */
static void take_none(tab_profile *const *p, size_t n, const tab_run_options *o, tab_selection *s)
{
    s->none = o->task != TAB_TASK_ANOMALY;
    s->target->mode = tab_text("none");
    s->target->reason = tab_text(s->none ? "asked for" : "anomaly scoring is unsupervised");
    s->target->candidates_null = true;
    /* anomalies: the table with most cells */
    for (size_t t = 1; t < n; t++)
        if (p[t]->table->rows * p[t]->table->cols > p[s->table]->table->rows * p[s->table]->table->cols)
            s->table = t;
    s->column = p[s->table]->table->cols;
}

/* The task: named, or by the target's type. */
static tab_status settle_task(tab_arena *a, tab_profile *const *p, tab_selection *s, tab_error *err)
{
    static const char *const names[] = { "", "classification", "regression", "anomaly" };
    if (s->none) {
        s->how->mode = tab_text("none");
        s->how->type = tab_text("none");
        s->how->reason = tab_text("there is no target");
        return TAB_OK;
    }
    s->how->reason = tab_text("named by the caller");
    tab_column_profile *c = s->task == TAB_TASK_ANOMALY ? NULL : &p[s->table]->col[s->column];
    if (s->task == TAB_TASK_AUTO) {
        bool number = tab_numeric_target(c);
        s->task = number ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION;
        s->how->reason = tab_text(number                   ? "the target is numeric"
                                  : c->type == TAB_NUMERIC ? "the target is numeric, of few whole values"
                                                           : "the target is categorical");
    }
    s->how->type = tab_text(names[s->task]);
    /* from here on the target is what it is predicted as */
    bool number = true;
    if (s->task == TAB_TASK_REGRESSION && c->type != TAB_DATETIME &&
        !tab_view_as_number(a, c, p[s->table]->table->rows, &number))
        return tab_no_memory(err);
    return number ? TAB_OK : tab_fail(err, TAB_VALIDATION, "task.type", "regression needs a numeric target");
}

/* What is asked for, or the best candidate; then the task, by the target's type where none is named. */
tab_status tab_select(const tab_engine *e, tab_profile *const *p, size_t n, const tab_run_options *o,
                      tab_selection *ret, tab_error *err)
{
    tab_arena *a = e->arena;
    tab_selection s = { .task = o->task };
    s.target = tab_message(a, Tabella__TargetSelection, TABELLA__TARGET_SELECTION__INIT);
    s.how = tab_message(a, Tabella__TaskSelection, TABELLA__TASK_SELECTION__INIT);
    if (s.target == NULL || s.how == NULL)
        return failed(e, err);
    s.how->mode = tab_text(o->task == TAB_TASK_AUTO ? "auto" : "user");
    if (o->target == TAB_TARGET_COLUMN)
        TAB_TRY(take_named(e, p, n, o, &s, err));
    else if (o->task == TAB_TASK_ANOMALY || o->target == TAB_TARGET_NONE)
        take_none(p, n, o, &s);
    else
        TAB_TRY(choose(e, p, n, o->task, &s, err));
    TAB_TRY(settle_task(a, p, &s, err));
    if (!s.none && s.column < p[s.table]->table->cols) {
        s.target->column = tab_column_ref(a, p[s.table]->table, (uint32_t)s.table, s.column);
        if (s.target->column == NULL)
            return failed(e, err);
    }
    *ret = s;
    return TAB_OK;
}
