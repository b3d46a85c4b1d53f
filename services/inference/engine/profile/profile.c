/* See profile.h: the whole profile of one table, the first step of every pass (bundle.c, evaluate/). Two
 * rounds over the columns with the table in between (decision 0061):
 *
 *   columns in parallel: read ─> summary ─> features ─> stage 1
 *   the table:           relations between columns ─> sector
 *   columns in parallel: stage 2 ─> role, type, personal data ─> typed view
 *   the table:           what spoke for its sector */
#include "services/inference/engine/profile/profile.h"

#include <assert.h>
#include <math.h>

#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/profile/roles/sector_hints.h"

/* The sum of the probabilities of the personal roles from which a column counts as personal data. Chosen
 * for a recall of at least 0.93, cross-validated over sources; tests/bench/columns prints the curve and
 * tests/suite/calibration reads this line. */
static const double PII_FROM = 0.28;

/* What the parallel calls share. Call i writes staged[i], col[i] and ok[i] and nothing else. */
typedef struct {
    const tab_table *table;
    tab_column_profile *col;
    tab_staged **staged;
    tab_arena **arena; /* one a column, so that columns are read side by side */
    float sector[TAB_SECTORS];
    double all[TAB_ROLES]; /* tab_stage2_sum */
    bool persons;          /* tab_has_persons */
    bool *ok;
} job;

/* Probabilities of the roles: whatever a step weighs up or down, they sum to one again. */
static void check_roles(const float *p)
{
    float sum = 0;
    for (int r = 0; r < TAB_ROLES; r++) {
        assert(p[r] >= 0);
        sum += p[r];
    }
    assert(fabsf(sum - 1) < 1e-3f);
}

/* Stage 1: the column alone. */
static void read_one(void *ctx, size_t i)
{
    job *j = ctx;
    tab_staged *c = tab_arena_new_of(j->arena[i], tab_staged, 1);
    tab_summary s;
    j->ok[i] = false;
    if (c == NULL || (c->reading = tab_arena_new_of(j->arena[i], tab_reading, 1)) == NULL ||
        !tab_read_column(j->arena[i], &j->table->col[i], j->table->rows, c->reading) ||
        !tab_summarize(c->reading, &s))
        return;
    tab_features_of(&s, &c->features);
    /* x is the vector of inputs; p1 the answer, put right by the readings */
    float x[TAB_STAGE1_INPUTS];
    tab_stage1_inputs(c, x);
    tab_linear_apply(tab_model_stage1(), x, NULL, c->p1);
    tab_restrict_roles(c, c->p1);
    check_roles(c->p1);
    j->staged[i] = c;
    j->ok[i] = true;
}

/* Whether a column of role `id` surely is one. Text is. Numbers are where every row has its own although as
 * many draws from their range would meet in COLLISIONS pairs: then something kept them apart. Numbers that
 * repeat, and numbers of a wide range, may as well be measures; so may what is an id by plurality only. */
static bool proven_key(const tab_staged *c, const tab_column_profile *p)
{
    static const double COLLISIONS = 5; /* by chance none: once in 148 columns (Poisson) */
    if (!c->reading->can_number)
        return true;
    double n = (double)p->present, span = c->features.max - c->features.min + 1;
    double met = c->reading->decimals > 0 ? 0 : n + span * expm1(-n / span);
    return p->role_confidence >= 0.5 && p->distinct == p->present && met >= COLLISIONS;
}

/* Stage 2: the column in its table. */
static void place_one(void *ctx, size_t i)
{
    job *j = ctx;
    tab_staged *c = j->staged[i];
    float x[TAB_STAGE2_INPUTS], z[TAB_ROLES];
    tab_stage2_inputs((const tab_staged *const *)j->staged, j->table->cols, i, j->all, j->sector, x, z);
    tab_stage2_apply(x, z, c->p2);
    tab_restrict_roles(c, c->p2);
    tab_deny_keys(c, c->p2);
    tab_weigh_numbers(c, c->p2);
    tab_hear_days(c, c->p2);
    tab_hear_lists(c, c->p2);
    tab_hear_identity(c, c->p2);
    tab_doubt_forms(c, c->p2);
    check_roles(c->p2);
}

/* Its role, type and typed view. */
static void decide_one(void *ctx, size_t i)
{
    job *j = ctx;
    const tab_staged *c = j->staged[i];
    tab_reading *r = c->reading;
    tab_column_profile *p = &j->col[i];
    *p = (tab_column_profile){ .index = i, .column = &j->table->col[i] };
    assert(r->rows == j->table->rows && r->marks <= r->nulls && r->nulls <= r->rows);
    check_roles(c->p2);
    p->present = r->rows - r->nulls;
    p->distinct = r->levels;
    p->missing = r->rows == 0 ? 0 : (double)(r->nulls - r->marks) / (double)r->rows;
    p->role = tab_pick_role(c, c->p2);
    assert(p->role >= 0 && p->role < TAB_ROLES);
    p->role_confidence = (double)c->p2[p->role];
    p->type = tab_role_type(p->role, p->distinct, p->present);
    /* The probability of a type is the sum over its roles. */
    double type = 0;
    for (int q = 0; q < TAB_ROLES; q++)
        type += tab_role_type(q, p->distinct, p->present) == p->type ? (double)c->p2[q] : 0;
    p->type_confidence = fmin(1, type);
    p->pii_confidence = tab_personal(c, c->p2, j->persons);
    bool held = tab_hold_persons(r, j->persons, p);
    p->pii = p->pii_confidence >= PII_FROM;
    /* What may be a person is treated as a name would be: never imputed, never a target. */
    p->identifying =
        tab_role_identifying[p->role] != 0 || (p->pii && tab_role_kinds[p->role] != TAB_KIND_NUM);
    p->numbers = r->can_number && r->leading_zero == 0;
    p->proven_key = p->role == TAB_ROLE_ID && proven_key(c, p);
    j->ok[i] = held && tab_read_marks(r, &p->mark, &p->marks) && tab_view_column(r, p);
}

/* For tab_arena_defer. */
static void free_arena(void *arg)
{
    tab_arena_free(arg);
}

/* Whether no column ran out of memory. */
static bool all_ok(const job *j)
{
    for (size_t i = 0; i < j->table->cols; i++)
        if (!j->ok[i])
            return false;
    return true;
}

/* An arena's ceiling for a column: its readings, codes and views, which are a few machine words a cell.
 * Only a bound against runaway input: memory is taken as it is used. */
enum { COLUMN_BYTES = 1 << 20, COLUMN_BYTES_PER_CELL = 256 };

tab_status tab_profile_table(const tab_engine *e, const tab_table *t, tab_profile **ret, tab_error *err)
{
    tab_profile *p = tab_arena_new_of(e->arena, tab_profile, 1);
    double *sector = tab_arena_new_of(e->arena, double, TAB_SECTORS);
    job j = { .table = t,
              .col = tab_arena_new_of(e->arena, tab_column_profile, t->cols),
              .staged = tab_arena_new_of(e->arena, tab_staged *, t->cols),
              .arena = tab_arena_new_of(e->arena, tab_arena *, t->cols),
              .ok = tab_arena_new_of(e->arena, bool, t->cols) };
    if (p == NULL || sector == NULL || j.col == NULL || j.staged == NULL || j.arena == NULL || j.ok == NULL)
        return tab_no_memory(err);
    /* the engine's arena frees the columns' arenas when it is freed itself, since the profile points into
     * them */
    for (size_t i = 0; i < t->cols; i++) {
        j.arena[i] = tab_arena_new(COLUMN_BYTES + COLUMN_BYTES_PER_CELL * t->rows);
        if (j.arena[i] == NULL || !tab_arena_defer(e->arena, free_arena, j.arena[i])) {
            tab_arena_free(j.arena[i]);
            return tab_no_memory(err);
        }
    }
    tab_engine_for(e, t->cols, read_one, &j);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    if (!all_ok(&j))
        return tab_no_memory(err);

    /* the table as a whole is read by one thread: it is bounded (stages.c) */
    tab_relate(j.staged, t->cols, t->rows);
    float *x = tab_arena_new_of(e->arena, float, TAB_SECTOR_INPUTS), z[TAB_SECTORS * TAB_SECTOR_TIED];
    if (x == NULL)
        return tab_no_memory(err);
    tab_sector_inputs((const tab_staged *const *)j.staged, t->cols, t->rows, x, z);
    tab_linear_apply(tab_model_sector(), x, z, j.sector);

    tab_stage2_sum((const tab_staged *const *)j.staged, t->cols, j.all);
    tab_engine_for(e, t->cols, place_one, &j);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    tab_agree_items(j.staged, t->cols);
    tab_deny_factors(j.staged, t->cols, t->rows);
    tab_hear_births(j.staged, t->cols);
    j.persons = tab_has_persons(j.staged, t->cols);
    tab_engine_for(e, t->cols, decide_one, &j);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    if (!all_ok(&j))
        return tab_no_memory(err);
    for (int s = 0; s < TAB_SECTORS; s++)
        sector[s] = (double)j.sector[s];
    *p = (tab_profile){ .table = t, .col = j.col, .sector = sector };
    if (!tab_sector_hints(e->arena, (const tab_staged *const *)j.staged, p))
        return tab_no_memory(err);
    tab_tell_sector(j.sector);
    for (int s = 0; s < TAB_SECTORS; s++)
        sector[s] = (double)j.sector[s];
    *ret = p;
    return TAB_OK;
}
