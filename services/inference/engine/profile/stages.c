#include "services/inference/engine/profile/stages.h"

#include <math.h>

/* What the readings allow, and the plainest hints, as inputs. */
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

void tab_stage1_inputs(const tab_staged *c, float *x)
{
    memcpy(x, c->features.dense, sizeof c->features.dense);
    x += TAB_DENSE;
    /* Squares bend what is linear: a share near a half differs from both ends. */
    for (int i = 0; i < TAB_DENSE; i++)
        *x++ = fmaxf(-4, fminf(4, c->features.dense[i] * c->features.dense[i]));
    x = put_flags(c, x);
    for (int i = 0; i < TAB_GRAMS; i++)
        *x++ = 2 * c->features.gram[i];
}

void tab_sector_inputs(const tab_staged *const *c, size_t n, size_t rows, float *x, float *z)
{
    double e[TAB_SECTORS] = { 0 }, sum = 0, best = 0;
    memset(x, 0, TAB_SECTOR_INPUTS * sizeof *x);
    for (size_t k = 0; k < n; k++) {
        for (int s = 0; s < TAB_SECTORS; s++)
            /* two columns that hint say more than one that shouts */
            e[s] += sqrt((double)c[k]->features.sector[s]);
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
    f[0] = log1pf((float)n) / 3;
    f[1] = log1pf((float)rows) / 6;
    for (int s = 0; s < TAB_SECTORS; s++) {
        sum += e[s];
        best = fmax(best, e[s]);
    }
    f[2] = sum == 0;
    f[3] = (float)fmin(4, sqrt(sum));
    for (int s = 0; s < TAB_SECTORS; s++) {
        z[s * TAB_SECTOR_TIED] = (float)fmin(4, e[s]);
        z[s * TAB_SECTOR_TIED + 1] = (float)(e[s] / (sum + 0.5));
        z[s * TAB_SECTOR_TIED + 2] = best > 0 && e[s] == best ? (float)(best / (best + 0.5)) : 0;
    }
}

/* What columns like this one are: their answers of stage 1, weighted by how alike the columns are in their
 * plain statistics. Four quarters, five assays, nine scores stand side by side and are one role. */
static void peers_of(const tab_staged *const *c, size_t n, size_t k, float *peer /* (TAB_ROLES) */)
{
    enum { REACH = 24 }; /* a very wide table is looked at around the column only */
    size_t from = k > REACH ? k - REACH : 0, to = k + REACH + 1 < n ? k + REACH + 1 : n;
    const float *a = c[k]->features.dense;
    memset(peer, 0, TAB_ROLES * sizeof *peer);
    float total = 0.25f;
    for (size_t j = from; j < to; j++) {
        if (j == k)
            continue;
        const float *b = c[j]->features.dense;
        float far = 0;
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

void tab_stage2_inputs(const tab_staged *const *c, size_t n, size_t k, const float *sector, float *x,
                       float *z)
{
    const tab_staged *self = c[k];
    memcpy(x, self->features.dense, sizeof self->features.dense);
    x = put_flags(self, x + TAB_DENSE);
    for (int i = 0; i < TAB_RELATIONS; i++)
        *x++ = self->relation[i];
    float others[TAB_ROLES] = { 0 };
    for (size_t i = 0; i < n; i++)
        for (int r = 0; i != k && r < TAB_ROLES; r++)
            others[r] += c[i]->p1[r];
    float peer[TAB_ROLES];
    peers_of(c, n, k, peer);
    for (int r = 0; r < TAB_ROLES; r++) {
        *x++ = peer[r];
        *x++ = self->p1[r];
        *x++ = log1pf(others[r]);
        *x++ = k > 0 ? c[k - 1]->p1[r] : 0;
        *x++ = k + 1 < n ? c[k + 1]->p1[r] : 0;
        z[r] = logf(self->p1[r] + 1e-4f);
    }
    memcpy(x, sector, TAB_SECTORS * sizeof *sector);
}

/* ---- relations ------------------------------------------------------------------------------- */

enum { ROWS = 200, MOST = 40 };

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

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 0.0051 * fmax(1, fabs(b)) || fabs(a - b) <= 0.011;
}

void tab_relate(tab_staged *const *c, size_t n, size_t rows)
{
    size_t of[MOST], m = 0, step = rows / ROWS + 1, used = 0;
    static const int enough = 5;
    for (size_t k = 0; k < n; k++)
        memset(c[k]->relation, 0, sizeof c[k]->relation);
    for (size_t k = 0; k < n && m < MOST; k++)
        if ((c[k]->reading->can_number || c[k]->reading->can_date) && c[k]->features.distinct > 3)
            of[m++] = k;
    double v[MOST][ROWS];
    for (size_t i = 0; i < rows && used < ROWS; i += step, used++)
        for (size_t j = 0; j < m; j++)
            v[j][used] = at(c[of[j]]->reading, i);
    if (used < (size_t)enough)
        return;
    for (size_t a = 0; a < m; a++) {
        const tab_features *fa = &c[of[a]]->features;
        for (size_t b = 0; b < m; b++) {
            if (a == b)
                continue;
            const tab_features *fb = &c[of[b]]->features;
            bool dates = c[of[a]]->reading->can_date, dates_b = c[of[b]]->reading->can_date;
            if (dates != dates_b)
                continue;
            size_t le = 0, eq = 0, seen = 0;
            for (size_t i = 0; i < used; i++)
                if (!isnan(v[a][i]) && !isnan(v[b][i])) {
                    seen++;
                    le += v[a][i] <= v[b][i];
                    eq += v[a][i] == v[b][i];
                }
            if (seen < (size_t)enough || eq == seen)
                continue;
            bool always = le == seen, mostly = le * 50 >= seen * 49;
            if (dates && mostly) {
                c[of[a]]->relation[0] = 1; /* starts */
                c[of[b]]->relation[1] = 1; /* ends */
            }
            if (dates)
                continue;
            /* of one size: medians within a factor of 3, neither trivially ordered by range */
            bool peers = fa->q50 > 0 && fb->q50 > 0 && fa->q50 < 3 * fb->q50 && fb->q50 < 3 * fa->q50 &&
                         fa->max > fb->min;
            if (always && peers) {
                c[of[a]]->relation[2] += 1.0f / 3; /* below its peers: a low, a net, a part */
                c[of[b]]->relation[3] += 1.0f / 3;
            } else if (always && fb->min >= 0 && fa->min >= 0 && fa->max > fb->min) {
                c[of[a]]->relation[4] = 1; /* a part: clicks of impressions */
                c[of[b]]->relation[5] = 1;
            }
            if (fa->min >= -90 && fa->max <= 90 && fb->min >= -180 && fb->max <= 180 &&
                c[of[a]]->reading->decimals >= 3 && c[of[b]]->reading->decimals >= 3 &&
                (of[b] == of[a] + 1 || of[a] == of[b] + 1)) {
                c[of[a]]->relation[6] = 1;
                c[of[b]]->relation[7] = 1;
            }
        }
    }
    /* a x b = c and a + b = c */
    size_t cap = m < 24 ? m : 24;
    for (size_t a = 0; a < cap; a++)
        for (size_t b = a + 1; b < cap; b++)
            for (size_t t = 0; t < cap; t++) {
                if (t == a || t == b || c[of[t]]->reading->can_date || c[of[a]]->reading->can_date ||
                    c[of[b]]->reading->can_date)
                    continue;
                size_t seen = 0, product = 0, sum = 0, trivial = 0;
                for (size_t i = 0; i < used && (i < 8 || product * 2 > seen || sum * 2 > seen); i++) {
                    double x = v[a][i], y = v[b][i], z = v[t][i];
                    if (isnan(x) || isnan(y) || isnan(z))
                        continue;
                    seen++;
                    product += close_to(x * y, z);
                    sum += close_to(x + y, z);
                    trivial += z == 0 || x == z || y == z || x == 0 || y == 0;
                }
                if (seen < (size_t)enough || trivial * 2 > seen)
                    continue;
                if (product * 20 >= seen * 19) {
                    c[of[a]]->relation[8] = c[of[b]]->relation[8] = 1;
                    c[of[t]]->relation[9] = 1;
                }
                if (sum * 20 >= seen * 19) {
                    c[of[a]]->relation[10] = c[of[b]]->relation[10] = 1;
                    c[of[t]]->relation[11] = 1;
                }
            }
    /* rows that sum to 1 or 100 over several columns of shares */
    for (int total = 1; total <= 100; total += 99) {
        size_t good = 0, parts = 0;
        for (size_t i = 0; i < used; i++) {
            double s = 0;
            for (size_t j = 0; j < m; j++)
                if (!c[of[j]]->reading->can_date && c[of[j]]->features.min >= 0 &&
                    c[of[j]]->features.max <= total)
                    s += isnan(v[j][i]) ? 0 : v[j][i];
            good += fabs(s - total) < 0.02 * total;
        }
        for (size_t j = 0; j < m; j++)
            parts += !c[of[j]]->reading->can_date && c[of[j]]->features.min >= 0 &&
                     c[of[j]]->features.max <= total;
        if (parts >= 2 && good * 10 >= used * 9)
            for (size_t j = 0; j < m; j++)
                if (!c[of[j]]->reading->can_date && c[of[j]]->features.min >= 0 &&
                    c[of[j]]->features.max <= total)
                    c[of[j]]->relation[12] = 1;
    }
    /* place among the columns of numbers, and in the table */
    for (size_t k = 0; k < n; k++) {
        c[k]->relation[13] = k == 0;
        c[k]->relation[14] = k + 1 == n;
        c[k]->relation[15] = n > 1 ? (float)k / (float)(n - 1) : 0;
        c[k]->relation[2] = fminf(2, c[k]->relation[2]);
        c[k]->relation[3] = fminf(2, c[k]->relation[3]);
    }
}

/* ---- what cannot be, and what must be -------------------------------------------------------- */

/* Numbers of 1990 to 2037 (what follows are telephone numbers) as seconds since 1970, `unit` of them a
 * second. */
static bool epoch(const tab_features *f, double unit)
{
    return f->min >= 631152000 * unit && f->max < 2145916800 * unit;
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

static bool possible(const tab_staged *c, int role)
{
    const tab_reading *r = c->reading;
    const tab_features *f = &c->features;
    bool number = r->can_number, whole = number && r->decimals == 0;
    if (f->present == 0 || role == TAB_ROLE_EMPTY)
        return (f->present == 0) == (role == TAB_ROLE_EMPTY);
    if (role == TAB_ROLE_PHONE && !as_phones(f) && !(number && f->max < 1e13))
        return false;
    switch ((tab_role_kind)tab_role_kinds[role]) {
    case TAB_KIND_NUM:
        if (role == TAB_ROLE_DURATION)
            return number || r->can_duration || r->can_clock;
        return number;
    case TAB_KIND_TIME:
        if (r->can_date)
            return role != TAB_ROLE_TIME || r->can_clock;
        if (role == TAB_ROLE_TIME)
            return r->can_clock || (whole && f->min >= 0 && f->max < 2400);
        if (role == TAB_ROLE_BIRTH_DATE)
            return false;
        return whole && r->leading_zero == 0 &&
               (epoch(f, 1) || epoch(f, 1000) || (f->min >= 18000101 && f->max <= 21001231) ||
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
    /* Yes and no in words are a flag, whatever the table; 0 and 1 may be more. */
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
        if (pass < 0.95 || n < 3 || sure[i].chance > 0.1f || !possible(c, sure[i].role))
            continue;
        if (sure[i].check == TAB_CHECK_DOMAIN && c->features.check[TAB_CHECK_URL] > 0.5)
            continue;
        if (sure[i].check == TAB_CHECK_GTIN && c->features.check[TAB_CHECK_ISBN] > 0.9)
            continue;
        if (sure[i].check == TAB_CHECK_IMEI && c->features.check[TAB_CHECK_CARD] > 0.9)
            continue;
        if (sure[i].check == TAB_CHECK_PATH &&
            (c->features.check[TAB_CHECK_URL] > 0.5 || c->features.check[TAB_CHECK_DOMAIN] > 0.5))
            continue;
        /* weak shapes (a phone, an ISBN of ten digits in a column of ids) need more values to speak */
        double log_odds =
            fmin(30, -log((double)sure[i].chance) * fmin(n, 20) * (sure[i].chance >= 0.1f ? 0.35 : 1));
        double q = fmax(1e-3, (double)p[sure[i].role]), odds = q / (1 - fmin(q, 0.999)) * exp(log_odds);
        double now = fmin(0.999, odds / (1 + odds)), rest = 1 - (double)p[sure[i].role];
        for (int r = 0; r < TAB_ROLES; r++)
            if (r != sure[i].role)
                p[r] = rest > 0 ? (float)((double)p[r] * (1 - now) / rest) : 0;
        p[sure[i].role] = (float)now;
    }
}

void tab_deny_keys(const tab_staged *c, float *p)
{
    if ((!c->features.heaped && !c->features.counted) || (double)c->reading->levels >= c->features.present)
        return;
    float lost = 0.9f * p[TAB_ROLE_ID];
    p[TAB_ROLE_ID] -= lost;
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] /= 1 - lost;
}

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
