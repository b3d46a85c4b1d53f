/* See stages.h. What is fed to the models, and what is put right after them. profile.c calls the functions in
 * this order, and tools/train builds its training rows with the same ones:
 *
 *   tab_stage1_inputs ─> stage 1 ─> tab_restrict_roles
 *   tab_relate ─> tab_sector_inputs ─> sector
 *   tab_stage2_inputs ─> stage 2 ─> tab_restrict_roles ─> tab_deny_keys
 *     ─> tab_weigh_numbers ─> tab_hear_days ─> tab_hear_lists ─> tab_hear_identity ─> tab_doubt_forms
 *     ─> tab_agree_items ─> tab_deny_factors ─> tab_hear_births ─> tab_pick_role */
#include "services/inference/engine/profile/roles/stages.h"

#include <assert.h>
#include <math.h>

/* What the readings allow, and the plainest hints: sixteen flags, the last one always 1. */
static float *put_flags(const tab_staged *c, float *x)
{
    const tab_reading *r = c->reading;
    const float flags[16] = { r->can_number,
                              r->can_date,
                              r->can_clock,
                              r->can_duration,
                              r->can_bool,
                              r->order_known,
                              r->units == 1,
                              r->units > 1,
                              c->features.distinct <= 2,
                              c->features.present == 0,
                              r->can_number && r->decimals == 0,
                              r->can_number && r->decimals == 2,
                              r->can_number && r->decimals >= 4,
                              isnan(r->sentinel) ? 0 : 1,
                              r->can_number && r->decimals == 0 &&
                                  c->features.distinct == c->features.present && c->features.present > 2,
                              1 };
    memcpy(x, flags, sizeof flags);
    return x + 16;
}

/* Dense features, their squares, flags, n-grams. The n-grams are doubled, so that the penalty weighs on them
 * less: as they are, 0.005 fewer roles are right, four times as large 0.004 more, with worse calibration
 * (decision 0307). */
void tab_stage1_inputs(const tab_staged *c, float *x)
{
    const float *end = x + TAB_STAGE1_INPUTS;
    memcpy(x, c->features.dense, sizeof c->features.dense);
    x += TAB_DENSE;
    /* Squares bend what is linear: a share near a half differs from both ends. */
    for (int i = 0; i < TAB_DENSE; i++)
        *x++ = fmaxf(-4, fminf(4, c->features.dense[i] * c->features.dense[i]));
    x = put_flags(c, x);
    for (int i = 0; i < TAB_GRAMS; i++)
        *x++ = 2 * c->features.gram[i];
    assert(x == end); /* as many as the model was trained on */
}

/* The table as one vector: x (TAB_SECTOR_INPUTS) of sums over its columns, z (TAB_SECTORS,
 * TAB_SECTOR_TIED) of the evidence for each sector: how much, its share of all, its lead where it leads, and
 * by the nearness of words. Decision 0140 says why roots and why 0.3. */
void tab_sector_inputs(const tab_staged *const *c, size_t n, size_t rows, float *x, float *z)
{
    double e[TAB_SECTORS] = { 0 }, near[TAB_SECTORS] = { 0 }, sum = 0, best = 0, size = 0;
    memset(x, 0, TAB_SECTOR_INPUTS * sizeof *x);
    for (size_t k = 0; k < n; k++) {
        for (int s = 0; s < TAB_SECTORS; s++) {
            /* two columns that hint say more than one that shouts */
            e[s] += sqrt((double)c[k]->features.sector[s]);
            near[s] += (double)c[k]->features.affinity[s];
        }
        for (int i = 0; i < TAB_DENSE; i++)
            /* scaled down: how a generator draws its numbers is learned from these first */
            x[i] += 0.3f * c[k]->features.dense[i] / (float)n;
        for (int i = 0; i < TAB_ROLES; i++)
            x[TAB_DENSE + i] += c[k]->p1[i];
        for (int i = 0; i < TAB_RELATIONS; i++)
            x[TAB_DENSE + TAB_ROLES + i] += c[k]->relation[i];
    }
    for (int i = 0; i < TAB_ROLES + TAB_RELATIONS; i++)
        x[TAB_DENSE + i] = sqrtf(x[TAB_DENSE + i]);
    float *f = x + TAB_DENSE + TAB_ROLES + TAB_RELATIONS;
    /* sizes of the table; whether any word of any sector was seen, and how much evidence there is in all */
    f[0] = log1pf((float)n) / 3;
    f[1] = log1pf((float)rows) / 6;
    for (int s = 0; s < TAB_SECTORS; s++) {
        assert(e[s] >= 0);
        sum += e[s];
        best = fmax(best, e[s]);
        size += near[s] * near[s] / TAB_SECTORS;
    }
    f[2] = sum == 0;
    f[3] = (float)fmin(4, sqrt(sum));
    f[4] = (float)log1p(size) / 2;
    for (int s = 0; s < TAB_SECTORS; s++) {
        /* the tied inputs of a sector: its evidence, its share of all, its lead where it leads; how near the
         * words stand to it, by direction more than by size (decision 0605) */
        z[s * TAB_SECTOR_TIED] = (float)fmin(4, e[s]);
        z[s * TAB_SECTOR_TIED + 1] = (float)(e[s] / (sum + 0.5));
        z[s * TAB_SECTOR_TIED + 2] = best > 0 && e[s] == best ? (float)(best / (best + 0.5)) : 0;
        z[s * TAB_SECTOR_TIED + 3] = (float)(near[s] / sqrt(1 + size));
    }
}

/* What columns like this one are: their answers of stage 1, weighted by how alike the columns are in their
 * plain statistics. Four quarters, five assays, nine scores stand side by side and are one role. The width
 * 0.6 of the kernel and the 0.25 that stands for "no peer" are not sensitive: half and double of either move
 * the accuracy of roles by 0.002 at most (decision 0307). */
static void peers_of(const tab_staged *const *c, size_t n, size_t k, float *peer /* (TAB_ROLES) */)
{
    enum { REACH = 24 }; /* a very wide table is looked at around the column only; 12 and 48: 0.001 */
    size_t from = k > REACH ? k - REACH : 0, to = k + REACH + 1 < n ? k + REACH + 1 : n;
    const float *a = c[k]->features.dense;
    memset(peer, 0, TAB_ROLES * sizeof *peer);
    float total = 0.25f;
    for (size_t j = from; j < to; j++) {
        if (j == k)
            continue;
        const float *b = c[j]->features.dense;
        float far = 0;
        /* squared distance of the plain statistics */
        for (int i = 0; i < TAB_DENSE_PLAIN; i++)
            far += (a[i] - b[i]) * (a[i] - b[i]);
        float w = expf(-0.6f * far);
        total += w;
        for (int r = 0; r < TAB_ROLES; r++)
            peer[r] += w * c[j]->p1[r];
    }
    for (int r = 0; r < TAB_ROLES; r++)
        peer[r] /= total;
}

/* Stage 1's answers over all columns: which roles the table has. Once a table, since a sum a column would
 * grow with the square of their number. */
void tab_stage2_sum(const tab_staged *const *c, size_t n, double *all)
{
    for (int r = 0; r < TAB_ROLES; r++)
        all[r] = 0;
    for (size_t i = 0; i < n; i++)
        for (int r = 0; r < TAB_ROLES; r++)
            all[r] += (double)c[i]->p1[r];
}

/* What stage 2 sees of column k: itself, its relations, the roles of the other columns, its neighbours and
 * its peers, the sector. */
void tab_stage2_inputs(const tab_staged *const *c, size_t n, size_t k, const double *all, const float *sector,
                       float *x, float *z)
{
    const tab_staged *self = c[k];
    const float *end = x + TAB_STAGE2_INPUTS;
    assert(k < n);
    memcpy(x, self->features.dense, sizeof self->features.dense);
    x = put_flags(self, x + TAB_DENSE);
    for (int i = 0; i < TAB_RELATIONS; i++)
        *x++ = self->relation[i];
    float peer[TAB_ROLES];
    peers_of(c, n, k, peer);
    for (int r = 0; r < TAB_ROLES; r++) {
        /* five inputs a role: peers, own answer, other columns, the column before, the column behind */
        *x++ = peer[r];
        *x++ = self->p1[r];
        *x++ = log1pf((float)fmax(0, all[r] - (double)self->p1[r]));
        *x++ = k > 0 ? c[k - 1]->p1[r] : 0;
        *x++ = k + 1 < n ? c[k + 1]->p1[r] : 0;
        /* the tied input; 1e-4 keeps the logarithm finite */
        z[r] = logf(self->p1[r] + 1e-4f);
    }
    memcpy(x, sector, TAB_SECTORS * sizeof *sector);
    assert(x + TAB_SECTORS == end);
}

/* ---- relations ------------------------------------------------------------------------------- */

/* What relation[] says of a column. The sector model and stage 2 are trained on this order. */
enum {
    STARTS,   /* a date never after another column's: start, order, birth */
    ENDS,     /* the other of the two: end, delivery, death */
    BELOW,    /* at most another number of the same size: a low, a net; a third for each such column */
    ABOVE,    /* at least another one: a high, a gross */
    PART,     /* at most a number of another size: clicks of impressions */
    WHOLE,    /* the other of the two */
    LATITUDE, /* fine decimals within 90, beside fine decimals within 180 */
    LONGITUDE,
    FACTOR,  /* price and quantity, */
    PRODUCT, /* and their total */
    ADDEND,  /* net and tax, */
    SUM,     /* and gross */
    SHARE,   /* one of several columns whose rows sum to 1 or to 100 */
    FIRST,   /* the table's first column */
    LAST,
    PLACE /* from 0 for the first to 1 for the last */
};
_Static_assert((int)ENDS == (int)TAB_RELATION_ENDS, "");

/* Columns of numbers and dates, over some of the rows. Rows and columns bound the time of wide and long
 * tables: pairs cost COLUMNS^2 x ROWS, triples SUMMED^3 x 8 for most. Not sensitive: with 100 and 400 rows
 * the accuracy of roles is 0.669 and 0.672 beside 0.670, with 20 columns or ENOUGH of 3 it does not move,
 * with ENOUGH of 10 it is 0.669 (decision 0307). */
enum {
    ROWS = 200,
    COLUMNS = 40, /* related in pairs: the first so many */
    SUMMED = 24,  /* related in threes */
    ENOUGH = 5    /* rows that hold all values of a relation: fewer prove nothing */
};

typedef struct {
    tab_staged *const *c;
    size_t of[COLUMNS], n; /* which columns */
    size_t rows;
    double v[COLUMNS][ROWS]; /* NaN where missing */
} numeric_columns;

/* A cell as a number: seconds for dates, NaN where there is none. */
static double at(const tab_reading *r, size_t row)
{
    if (r->column->layout == TAB_NUMBERS)
        return r->column->num[row];
    uint32_t k = r->code[row];
    if (k == TAB_NULL)
        return (double)NAN;
    if (r->can_date)
        return r->time[k];
    return r->can_number ? r->num[k] : (double)NAN;
}

/* Equal up to rounding: half a percent of a large number, one cent of a small one. */
static bool close_to(double a, double b)
{
    return fabs(a - b) <= 0.0051 * fmax(1, fabs(b)) || fabs(a - b) <= 0.011;
}

static bool is_date(const numeric_columns *t, size_t j)
{
    return t->c[t->of[j]]->reading->can_date;
}

static float *relation(const numeric_columns *t, size_t j)
{
    return t->c[t->of[j]]->relation;
}

/* Columns with more than three values, in every `step`-th row. */
static void read_columns(numeric_columns *t, tab_staged *const *c, size_t n, size_t rows)
{
    size_t step = rows / ROWS + 1;
    *t = (numeric_columns){ .c = c };
    for (size_t k = 0; k < n && t->n < COLUMNS; k++)
        if ((c[k]->reading->can_number || c[k]->reading->can_date) && c[k]->features.distinct > 3)
            t->of[t->n++] = k;
    for (size_t i = 0; i < rows && t->rows < ROWS; i += step, t->rows++)
        for (size_t j = 0; j < t->n; j++)
            t->v[j][t->rows] = at(c[t->of[j]]->reading, i);
}

/* Column a against column b: order, and latitude beside longitude. */
static void relate_pair(const numeric_columns *t, size_t a, size_t b)
{
    const tab_staged *ca = t->c[t->of[a]], *cb = t->c[t->of[b]];
    const tab_features *fa = &ca->features, *fb = &cb->features;
    bool dates = is_date(t, a);
    if (dates != is_date(t, b))
        return;
    /* in how many of the rows with both values a is at most b, and equal to b */
    size_t le = 0, eq = 0, seen = 0;
    for (size_t i = 0; i < t->rows; i++)
        if (!isnan(t->v[a][i]) && !isnan(t->v[b][i])) {
            seen++;
            le += t->v[a][i] <= t->v[b][i];
            eq += t->v[a][i] == t->v[b][i];
        }
    assert(eq <= le && le <= seen);
    if (seen < (size_t)ENOUGH || eq == seen)
        return;
    bool always = le == seen, mostly = le * 50 >= seen * 49;
    if (dates) {
        if (mostly) /* one date in fifty may be entered the wrong way round */
            relation(t, a)[STARTS] = relation(t, b)[ENDS] = 1;
        return;
    }
    /* of one size: medians within a factor of 3, neither trivially ordered by range */
    bool peers =
        fa->q50 > 0 && fb->q50 > 0 && fa->q50 < 3 * fb->q50 && fb->q50 < 3 * fa->q50 && fa->max > fb->min;
    if (always && peers) {
        relation(t, a)[BELOW] += 1.0f / 3;
        relation(t, b)[ABOVE] += 1.0f / 3;
    } else if (always && fb->min >= 0 && fa->min >= 0 && fa->max > fb->min) {
        relation(t, a)[PART] = relation(t, b)[WHOLE] = 1;
    }
    if (fa->min >= -90 && fa->max <= 90 && fb->min >= -180 && fb->max <= 180 && ca->reading->decimals >= 3 &&
        cb->reading->decimals >= 3 && (t->of[b] == t->of[a] + 1 || t->of[a] == t->of[b] + 1))
        relation(t, a)[LATITUDE] = relation(t, b)[LONGITUDE] = 1;
}

/* Whether a x b = total or a + b = total in nineteen rows of twenty. Zeros and equal values satisfy either
 * trivially: where they are more than half of the rows nothing is said. Most triples end after 8 rows. */
static void relate_three(const numeric_columns *t, size_t a, size_t b, size_t total)
{
    size_t seen = 0, product = 0, sum = 0, trivial = 0;
    for (size_t i = 0; i < t->rows && (i < 8 || product * 2 > seen || sum * 2 > seen); i++) {
        double x = t->v[a][i], y = t->v[b][i], z = t->v[total][i];
        if (isnan(x) || isnan(y) || isnan(z))
            continue;
        seen++;
        product += close_to(x * y, z);
        sum += close_to(x + y, z);
        trivial += z == 0 || x == z || y == z || x == 0 || y == 0;
    }
    if (seen < (size_t)ENOUGH || trivial * 2 > seen)
        return;
    /* nineteen rows in twenty: a total may be entered wrong, or hold a discount */
    if (product * 20 >= seen * 19)
        relation(t, a)[FACTOR] = relation(t, b)[FACTOR] = relation(t, total)[PRODUCT] = 1;
    if (sum * 20 >= seen * 19)
        relation(t, a)[ADDEND] = relation(t, b)[ADDEND] = relation(t, total)[SUM] = 1;
}

/* A column whose values may be parts of `total`. */
static bool part_of(const numeric_columns *t, size_t j, int total)
{
    const tab_features *f = &t->c[t->of[j]]->features;
    return !is_date(t, j) && f->min >= 0 && f->max <= total;
}

/* Columns of which nine rows in ten sum to 1 or to 100, within 2 %. */
static void relate_shares(const numeric_columns *t, int total)
{
    size_t good = 0, parts = 0;
    for (size_t i = 0; i < t->rows; i++) {
        double s = 0;
        for (size_t j = 0; j < t->n; j++)
            if (part_of(t, j, total))
                s += isnan(t->v[j][i]) ? 0 : t->v[j][i];
        good += fabs(s - total) < 0.02 * total;
    }
    for (size_t j = 0; j < t->n; j++)
        parts += part_of(t, j, total);
    if (parts >= 2 && good * 10 >= t->rows * 9)
        for (size_t j = 0; j < t->n; j++)
            if (part_of(t, j, total))
                relation(t, j)[SHARE] = 1;
}

void tab_relate(tab_staged *const *c, size_t n, size_t rows)
{
    for (size_t k = 0; k < n; k++)
        memset(c[k]->relation, 0, sizeof c[k]->relation);
    numeric_columns t;
    read_columns(&t, c, n, rows);
    if (t.rows < (size_t)ENOUGH)
        return;
    for (size_t a = 0; a < t.n; a++)
        for (size_t b = 0; b < t.n; b++)
            if (a != b)
                relate_pair(&t, a, b);
    /* Three nested loops over at most SUMMED columns; most triples end after 8 rows. */
    size_t summed = t.n < SUMMED ? t.n : SUMMED;
    for (size_t a = 0; a < summed; a++)
        for (size_t b = a + 1; b < summed; b++)
            for (size_t z = 0; z < summed; z++)
                if (z != a && z != b && !is_date(&t, a) && !is_date(&t, b) && !is_date(&t, z))
                    relate_three(&t, a, b, z);
    relate_shares(&t, 1);
    relate_shares(&t, 100);
    for (size_t k = 0; k < n; k++) {
        float *r = c[k]->relation;
        r[FIRST] = k == 0;
        r[LAST] = k + 1 == n;
        r[PLACE] = n > 1 ? (float)k / (float)(n - 1) : 0;
        r[BELOW] = fminf(2, r[BELOW]);
        r[ABOVE] = fminf(2, r[ABOVE]);
    }
}

/* ---- what cannot be, and what must be -------------------------------------------------------- */

/* Numbers of 1990 to May 2033 as counted since 1970: how many make a second, 1 to 1e9; 0: they are none.
 * What follows are telephone numbers and ids that begin with a year of this century. */
static double epoch_unit(const tab_staged *c)
{
    const tab_reading *r = c->reading;
    if (!r->can_number || r->leading_zero > 0 || r->grouped > 0 || r->affix[TAB_AFFIX_NONE] < r->numbers)
        return 0;
    for (double unit = 1; unit <= 1e9; unit *= 1000)
        if (c->features.min >= 631152000 * unit && c->features.max < 2e9 * unit)
            return unit;
    return 0;
}

/* A day's clock readings that all lie before six in the morning, with seconds, are elapsed times: of twenty
 * readings that happens once in 4^20. */
static bool elapsed(const tab_reading *r)
{
    enum { LEAST = 20, LATEST = 6 * 3600 };
    bool seconds = false;
    size_t n = 0;
    if (r->can_date || !r->can_clock || r->time == NULL)
        return false;
    for (size_t k = 0; k < r->levels; k++) {
        if (isnan(r->time[k]))
            continue;
        if (r->time[k] >= LATEST)
            return false;
        seconds |= fmod(r->time[k], 60) != 0;
        n++;
    }
    return seconds && n >= LEAST;
}

/* Five digits a value and some with a zero in front: postal codes of a country, of which one in a hundred at
 * most begins with two zeros as counters do, and whose last digits are neither odd (counties) nor zero
 * (classes) throughout. */
static bool as_postal_codes(const tab_reading *r)
{
    enum { LEAST = 8, DIGITS = 5 };
    size_t n = 0, zero = 0, zeros = 0, odd = 0, round = 0;
    if (!r->can_number || r->leading_zero == 0 || r->decimals > 0 || r->grouped > 0 || r->level == NULL)
        return false;
    for (size_t k = 0; k < r->levels; k++) {
        const char *t = r->level[k].p;
        if (r->foreign != NULL && r->foreign[k] == TAB_FOREIGN_STRICT)
            continue;
        if (r->level[k].n != DIGITS || isnan(r->num[k]))
            return false;
        n++;
        zero += t[0] == '0';
        zeros += t[0] == '0' && t[1] == '0';
        odd += (t[DIGITS - 1] - '0') % 2 != 0;
        round += t[DIGITS - 1] == '0';
    }
    return n >= LEAST && zero > 0 && zeros * 20 <= n && odd * 20 < 17 * n && round * 2 < n;
}

/* Bare digits that are written as numbers: no sign, no group, no zero in front. */
static bool bare_digits(const tab_reading *r)
{
    return r->can_number && r->decimals == 0 && r->leading_zero == 0 && r->grouped == 0 &&
           r->affix[TAB_AFFIX_NONE] == r->numbers;
}

/* Digits as telephone numbers have them, in groups or by a plan; bare numbers below 13 digits may be some,
 * too. */
static bool as_phones(const tab_features *f)
{
    static const uint8_t by[] = { TAB_CHECK_PHONE, TAB_CHECK_PHONE_NANP, TAB_CHECK_PHONE_MOBILE,
                                  TAB_CHECK_PHONE_TRUNK, TAB_CHECK_PHONE_ABROAD };
    for (size_t i = 0; i < sizeof by; i++)
        if (f->check[by[i]] >= 0.3)
            return true;
    return false;
}

/* Whether the readings allow a role at all. Numbers stand for dates only as 20190531, 201905 or seconds
 * since 1970; many different decimals are no text. */
static bool possible(const tab_staged *c, int role)
{
    const tab_reading *r = c->reading;
    const tab_features *f = &c->features;
    bool number = r->can_number, whole = number && r->decimals == 0;
    /* an empty column has the role `empty` and no other */
    if (f->present == 0 || role == TAB_ROLE_EMPTY)
        return (f->present == 0) == (role == TAB_ROLE_EMPTY);
    if (role == TAB_ROLE_ID && f->fraction)
        return false;
    /* what is below or above something is an amount in words, and names nothing */
    if (f->compared > 0.5 && (role == TAB_ROLE_ID || role == TAB_ROLE_CODE || role == TAB_ROLE_HASH))
        return false;
    /* keys and codes are written in ASCII, whatever the country */
    if (f->beyond_ascii > 0.5 && (role == TAB_ROLE_ID || role == TAB_ROLE_CODE || role == TAB_ROLE_HASH))
        return false;
    if (role == TAB_ROLE_PHONE && !as_phones(f) && !(number && f->max < 1e13))
        return false;
    switch ((tab_role_kind)tab_role_kinds[role]) {
    case TAB_KIND_NUM:
        if (role == TAB_ROLE_DURATION)
            return number || r->can_duration || r->can_clock;
        return number;
    /* a date reads as one, or stands as a number whose size tells what it is */
    case TAB_KIND_TIME:
        if (r->can_date)
            return role != TAB_ROLE_TIME || r->can_clock;
        if (role == TAB_ROLE_TIME)
            return r->can_clock || (whole && f->min >= 0 && f->max < 2400);
        if (role == TAB_ROLE_BIRTH_DATE)
            return false;
        if (epoch_unit(c) > 0 || tab_is_serial_day(c) || tab_is_six_digit_day(c))
            return true;
        return whole && r->leading_zero == 0 &&
               ((f->min >= 18000101 && f->max <= 21001231) ||
                (role == TAB_ROLE_PERIOD && f->min >= 180001 && f->max <= 210012));
    case TAB_KIND_BOOL:
        return r->can_bool;
    case TAB_KIND_CAT:
    case TAB_KIND_TEXT:
    case TAB_KIND_RATIO:
        break;
    }
    return !(number && r->decimals > 0 && r->affix[TAB_AFFIX_NONE] > 0 && f->distinct > 20 &&
             role != TAB_ROLE_CODE && role != TAB_ROLE_MEDICAL_CODE && role != TAB_ROLE_INDUSTRY_CODE &&
             role != TAB_ROLE_VERSION && role != TAB_ROLE_ID);
}

/* What the other roles have together. Where that is next to nothing, one less the role's own is rounding. */
static double rest_of(const float *p, int role)
{
    double rest = 1 - (double)p[role], sum = 0;
    for (int r = 0; r < TAB_ROLES && rest < 1e-3; r++)
        sum += r == role ? 0 : (double)p[r];
    return rest < 1e-3 ? sum : rest;
}

/* The 0.95 of a test's passes, its 20 values that count at most and the floor of 1e-3 are decision 0061's
 * rule. Floors of 1e-2 and 1e-4 name 0.672 and 0.671 of roles rightly beside 0.670 (decision 0307); the
 * other two were not tried. A test that excludes another (a URL holds a domain) gives way to it. */
void tab_restrict_roles(const tab_staged *c, float *p)
{
    static const struct {
        uint8_t check, role;
        float chance;
    } sure[] = {
#define TAB_X(e, role, chance) { TAB_CHECK_##e, TAB_ROLE_##role, (float)(chance) },
        TAB_CHECKS(TAB_X)
#undef TAB_X
    };
    float sum = 0;
    for (int r = 0; r < TAB_ROLES; r++) {
        if (!possible(c, r))
            p[r] = 0;
        sum += p[r];
    }
    if (!(sum > 0)) { /* nothing learned is possible: what is left, evenly */
        for (int r = 0; r < TAB_ROLES; r++)
            sum += p[r] = possible(c, r) ? 1 : 0;
    }
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] /= sum;
    /* Yes and no in words are a flag, whatever the table; 0 and 1 may be more. 0.95: 0.8 names the same
     * roles (decision 0307). */
    if (c->reading->can_bool && c->features.number_share == 0 && p[TAB_ROLE_FLAG] < 0.95f) {
        float rest = 1 - p[TAB_ROLE_FLAG];
        for (int r = 0; r < TAB_ROLES; r++)
            p[r] *= r == TAB_ROLE_FLAG || rest <= 0 ? 1 : 0.05f / rest;
        p[TAB_ROLE_FLAG] = 0.95f;
    }
    /* A test that nearly all values pass where chance lets few pass: n accidents at that chance. The odds
     * against them multiply the role's own probability, which is kept at 1e-3 at least. */
    for (size_t i = 0; i < sizeof sure / sizeof *sure; i++) {
        double pass = c->features.check[sure[i].check], n = (double)c->features.values;
        /* too few passes or values, or a test that chance passes too often, prove nothing */
        if (pass < 0.95 || n < 3 || sure[i].chance > 0.1f || !possible(c, sure[i].role))
            continue;
        if (sure[i].check == TAB_CHECK_DOMAIN && c->features.check[TAB_CHECK_URL] > 0.5)
            continue;
        if (sure[i].check == TAB_CHECK_GTIN && c->features.check[TAB_CHECK_ISBN] > 0.9)
            continue;
        if (sure[i].check == TAB_CHECK_IMEI && c->features.check[TAB_CHECK_CARD] > 0.9)
            continue;
        if (sure[i].check == TAB_CHECK_PATH &&
            (c->features.check[TAB_CHECK_URL] > 0.5 || c->features.check[TAB_CHECK_DOMAIN] > 0.5 ||
             c->reading->can_date)) /* /Date(0)/ */
            continue;
        /* weak shapes (a phone, an ISBN of ten digits in a column of ids) need more values to speak */
        double log_odds =
            fmin(30, -log((double)sure[i].chance) * fmin(n, 20) * (sure[i].chance >= 0.1f ? 0.35 : 1));
        double q = fmax(1e-3, (double)p[sure[i].role]), odds = q / (1 - fmin(q, 0.999)) * exp(log_odds);
        double now = fmin(0.999, odds / (1 + odds)), rest = rest_of(p, sure[i].role);
        for (int r = 0; r < TAB_ROLES; r++)
            if (r != sure[i].role)
                p[r] = rest > 0 ? (float)((double)p[r] * (1 - now) / rest) : 0;
        p[sure[i].role] = rest > 0 ? (float)now : 1;
    }
}

/* Decisions 0165 and 0208. Nothing is denied where every row has its own value. Numbers that repeat as draws
 * do may be references to keys, too: they are called so where the models are surer than two to one. */
void tab_deny_keys(const tab_staged *c, float *p)
{
    const tab_features *f = &c->features;
    bool sure = f->heaped || f->counted;
    if ((!sure && !f->drawn) || (double)c->reading->levels >= f->present)
        return;
    float lost = (sure ? 0.9f : 0.5f) * p[TAB_ROLE_ID];
    p[TAB_ROLE_ID] -= lost;
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] /= 1 - lost;
}

/* Multiplies the probability of a role; the others share what it loses. */
static void scale_role(float *p, int role, float by)
{
    float sum = 0;
    p[role] *= by;
    for (int r = 0; r < TAB_ROLES; r++)
        sum += p[r];
    for (int r = 0; sum > 0 && r < TAB_ROLES; r++)
        p[r] /= sum;
}

/* Decision 0262. */
void tab_weigh_numbers(const tab_staged *c, float *p)
{
    /* DENIED: what is left of a role that its own test speaks against. SURE: odds for what values prove.
     * LIKELY: for a form that other codes may have, too. LEAST: values below which a share says nothing. */
    static const float DENIED = 0.01f, SURE = 1000, LIKELY = 20;
    enum { LEAST = 8 };
    const tab_features *f = &c->features;
    const double *check = f->check;
    if (elapsed(c->reading)) {
        p[TAB_ROLE_DURATION] = fmaxf(p[TAB_ROLE_DURATION], 1e-3f);
        scale_role(p, TAB_ROLE_DURATION, SURE);
    }
    if (f->values < LEAST)
        return;
    double unit = epoch_unit(c), span = f->max - f->min;
    /* Seconds are fewer digits than a proof takes, unless they have fractions and lie in 2000 to 2030. */
    if (unit == 1 && (!f->fraction || f->min < 946684800 || f->max >= 1.9e9))
        unit = 0;
    /* ids that were given one after the other lie closer (none has a fraction), and articles check
     * themselves */
    if (unit > 0 && (f->fraction || span >= 100 * f->present) && check[TAB_CHECK_CARD] < 0.5 &&
        check[TAB_CHECK_GTIN] < 0.5 && check[TAB_CHECK_IMEI] < 0.5) {
        p[TAB_ROLE_DATETIME] = fmaxf(p[TAB_ROLE_DATETIME], 1e-3f);
        scale_role(p, TAB_ROLE_DATETIME, SURE);
    }
    if (as_postal_codes(c->reading)) {
        p[TAB_ROLE_POSTAL_CODE] = fmaxf(p[TAB_ROLE_POSTAL_CODE], 1e-2f);
        scale_role(p, TAB_ROLE_POSTAL_CODE, f->distinct < f->present ? LIKELY : LIKELY / 5);
    }
    if (bare_digits(c->reading)) {
        static const struct {
            uint8_t role, check[4];
            float pass;
        } tests[] = {
            { TAB_ROLE_PHONE,
              { TAB_CHECK_PHONE_NANP, TAB_CHECK_PHONE_MOBILE, TAB_CHECK_PHONE_TRUNK, TAB_CHECK_PHONE_ABROAD },
              0.85f },
            { TAB_ROLE_CREDIT_CARD, { TAB_CHECK_CARD }, 0.5f },
            { TAB_ROLE_IMEI, { TAB_CHECK_IMEI }, 0.5f },
            { TAB_ROLE_ISBN, { TAB_CHECK_ISBN }, 0.5f },
            { TAB_ROLE_GTIN, { TAB_CHECK_GTIN }, 0.5f },
        };
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
            double best = 0;
            for (size_t k = 0; k < 4; k++)
                if (k == 0 || tests[i].check[k] != 0)
                    best = fmax(best, check[tests[i].check[k]]);
            if (best < (double)tests[i].pass)
                scale_role(p, tests[i].role, DENIED);
        }
    }
}

/* Types are compared first: amounts split over "amount", "measure" and "count" must not lose to one
 * category. */
int tab_pick_role(const tab_staged *c, const float *p)
{
    double of_type[TAB_BOOLEAN + 1] = { 0 };
    int type[TAB_ROLES], top = 0, best = -1;
    for (int r = 0; r < TAB_ROLES; r++) {
        type[r] = (int)tab_role_type(r, (size_t)c->features.distinct, (size_t)c->features.present);
        of_type[type[r]] += (double)p[r];
    }
    for (int t = 1; t <= TAB_BOOLEAN; t++)
        top = of_type[t] > of_type[top] ? t : top;
    for (int r = 0; r < TAB_ROLES; r++)
        if (type[r] == top && (best < 0 || p[r] > p[best]))
            best = r;
    return best;
}
