#include "services/inference/engine/link/pairs/compare.h"

#include <math.h>

/* Optimal string alignment distance, bit-parallel (Hyyro, "A bit-vector algorithm for computing
 * Levenshtein and Damerau edit distances", 2003): one machine word holds a column of the matrix. */
static size_t osa_distance(tab_str x, tab_str y)
{
    uint64_t peq[256];
    for (size_t i = 0; i < y.n; i++)
        peq[(unsigned char)y.p[i]] = 0;
    for (size_t i = 0; i < x.n; i++)
        peq[(unsigned char)x.p[i]] = 0;
    for (size_t i = 0; i < x.n; i++)
        peq[(unsigned char)x.p[i]] |= (uint64_t)1 << i;
    uint64_t vp = ~(uint64_t)0, vn = 0, d0 = 0, pm_old = 0, last = (uint64_t)1 << (x.n - 1);
    size_t d = x.n;
    for (size_t j = 0; j < y.n; j++) {
        uint64_t pm = peq[(unsigned char)y.p[j]];
        uint64_t tr = (((~d0) & pm) << 1) & pm_old;
        d0 = (((pm & vp) + vp) ^ vp) | pm | vn | tr;
        uint64_t hp = vn | ~(d0 | vp), hn = d0 & vp;
        d += (hp & last) != 0;
        d -= (hn & last) != 0;
        hp = (hp << 1) | 1;
        hn <<= 1;
        vp = hn | ~(d0 | hp);
        vn = hp & d0;
        pm_old = pm;
    }
    return d;
}

static uint64_t letters_of(tab_str x)
{
    uint64_t set = 0;
    for (size_t i = 0; i < x.n; i++)
        set |= (uint64_t)1 << ((unsigned char)x.p[i] & 63);
    return set;
}

/* A distance is no less than this, n >= m letters: as many are left out as one text is longer, and each
 * letter that the other text does not have is changed, left out or put in. */
static size_t least_distance(tab_str longer, tab_str shorter)
{
    uint64_t x = letters_of(longer), y = letters_of(shorter);
    size_t only_x = (size_t)__builtin_popcountll(x & ~y);
    size_t only_y = (size_t)__builtin_popcountll(y & ~x) + longer.n - shorter.n;
    return only_x > only_y ? only_x : only_y;
}

/* tab_edit_similarity where it is at least `least`, else that or 0: most pairs are told apart by the letters
 * that they hold, at a tenth of the cost. */
static double edit_similarity(tab_str x, tab_str y, double least)
{
    if (x.n == 0 || y.n == 0 || x.n > 64 || y.n > 64)
        return 0;
    tab_str longer = x.n > y.n ? x : y, shorter = x.n > y.n ? y : x;
    if (shorter.n * 3 < longer.n)
        return 0;
    if (least > 0 && 1 - (double)least_distance(longer, shorter) / (double)longer.n < least)
        return 0;
    return 1 - (double)osa_distance(x, y) / (double)longer.n;
}

double tab_edit_similarity(tab_str x, tab_str y)
{
    return edit_similarity(x, y, 0);
}

static double idf(const tab_views *v, uint32_t token)
{
    return (double)v->idf[token];
}

static tab_str term(const tab_views *v, uint32_t id)
{
    return (tab_str){ v->text + v->term_at[id], v->term_n[id] };
}

/* Agreement of two different tokens: a near spelling, an initial, an abbreviation. */
static double token_likeness(tab_str x, tab_str y)
{
    if (x.n > y.n) {
        tab_str t = x;
        x = y;
        y = t;
    }
    bool digits = x.p[0] <= '9' || y.p[0] <= '9';
    if (x.n == 1)
        return !digits && x.p[0] == y.p[0] ? 0.5 : 0;
    if (x.n >= 3 && x.n < y.n && !digits && memcmp(x.p, y.p, x.n) == 0)
        return 0.8;
    if (x.n < 4 || digits)
        return 0;
    double s = edit_similarity(x, y, 0.74);
    return s >= 0.74 ? s : 0;
}

static double share_log(const tab_views *v, uint32_t token)
{
    return (double)v->rarity[token];
}

static uint8_t byte(size_t n)
{
    return n > 255 ? 255 : (uint8_t)n;
}

/* tab_text_similarity where it is at least `least`; else anything below it. */
static double text_similarity(const tab_views *v, const tab_value *x, const tab_value *y, double least,
                              tab_token_match *ret)
{
    enum { SOFT = 24 };
    const uint32_t *a = v->tok + x->tok, *b = v->tok + y->tok;
    size_t n = x->tok_n, m = y->tok_n, i = 0, j = 0, common = 0;
    double shared = 0, left_a = 0, left_b = 0, gain = 0;
    uint32_t rest_a[SOFT], rest_b[SOFT];
    size_t na = 0, nb = 0;
    while (i < n || j < m) {
        if (i < n && j < m && a[i] == b[j]) {
            double w = idf(v, a[i]);
            shared += w * w;
            gain += share_log(v, a[i]);
            common++;
            i++;
            j++;
        } else if (j >= m || (i < n && a[i] < b[j])) {
            double w = idf(v, a[i]);
            left_a += w * w;
            if (na < SOFT)
                rest_a[na++] = a[i];
            i++;
        } else {
            double w = idf(v, b[j]);
            left_b += w * w;
            if (nb < SOFT)
                rest_b[nb++] = b[j];
            j++;
        }
    }
    double soft = 0, near = 0;
    size_t alike = 0;
    bool taken[SOFT] = { false };
    if (n - common <= SOFT && m - common <= SOFT)
        for (size_t k = 0; k < na; k++) {
            double best = 0;
            size_t with = 0;
            for (size_t l = 0; l < nb; l++) {
                double like = taken[l] ? 0 : token_likeness(term(v, rest_a[k]), term(v, rest_b[l]));
                if (!taken[l] && tab_nicknames_alike(v->nickname[rest_a[k]], v->nickname[rest_b[l]]))
                    like = fmax(like, 0.85);
                if (like > best) {
                    best = like;
                    with = l;
                }
            }
            if (best == 0)
                continue;
            taken[with] = true;
            double wa = idf(v, rest_a[k]), wb = idf(v, rest_b[with]);
            soft += best * wa * wb;
            double rare = fmin(share_log(v, rest_a[k]), share_log(v, rest_b[with]));
            near += best >= 0.74 ? 0.6 * best * rare : 0.25 * rare;
            alike++;
        }
    double whole = sqrt((shared + left_a) * (shared + left_b));
    double token = whole > 0 ? (shared + soft) / whole : 0;
    if (token > 1)
        token = 1;
    if (ret != NULL)
        *ret = (tab_token_match){ (float)(gain + near), (float)gain, byte(common + alike),
                                  byte(n - common - alike), byte(m - common - alike) };
    double edit = edit_similarity(tab_value_text(v, x), tab_value_text(v, y), fmax(token, least));
    return edit > token ? edit : token;
}

double tab_text_similarity(const tab_views *v, const tab_value *x, const tab_value *y, tab_token_match *ret)
{
    return text_similarity(v, x, y, 0, ret);
}

/* Share of the attribute's numbers within d of x: how easily chance comes that near. */
static double near_share(const tab_attribute *t, double x, double d)
{
    size_t lo = 0, hi = t->sorted_n, from, to;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t->sorted[mid] < x - d)
            lo = mid + 1;
        else
            hi = mid;
    }
    from = lo;
    hi = t->sorted_n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t->sorted[mid] <= x + d)
            lo = mid + 1;
        else
            hi = mid;
    }
    to = lo;
    return t->sorted_n == 0 ? 1 : (double)(to - from) / (double)t->sorted_n;
}

static uint8_t compare_numbers(const tab_views *v, const tab_attribute *t, const tab_value *x,
                               const tab_value *y)
{
    double b = y->number / t->scale, d = fabs(x->number - b);
    double size = fmax(fabs(x->number), fabs(b));
    if (d == 0)
        return TAB_EQUAL;
    double q = near_share(t, x->number, d);
    if (d <= 2e-3 * size && q <= 0.02)
        return 2;
    if (q <= 0.005)
        return 3;
    if (q <= 0.03)
        return 4;
    if (t->scale == 1 && edit_similarity(tab_value_text(v, x), tab_value_text(v, y), 0.7) >= 0.7)
        return 5;
    return q <= 0.1 ? 6 : q <= 0.3 ? 7 : q <= 0.6 ? 8 : 9;
}

uint8_t tab_compare(const tab_views *v, const tab_attribute *t, const tab_value *x, const tab_value *y,
                    tab_token_match *tokens)
{
    if (tokens != NULL)
        *tokens = (tab_token_match){ 0 };
    if (x->key == y->key) {
        for (uint32_t i = 0; tokens != NULL && i < x->tok_n; i++)
            tokens->gain += (float)share_log(v, v->tok[x->tok + i]);
        if (tokens != NULL) {
            tokens->exact = tokens->gain;
            tokens->shared = byte(x->tok_n);
        }
    }
    if (t->numeric && !isnan(x->number) && !isnan(y->number))
        return compare_numbers(v, t, x, y);
    if (x->key == y->key)
        return TAB_EQUAL;
    static const double cut[] = { 0.92, 0.85, 0.76, 0.66, 0.54, 0.4, 0.2 };
    double s = text_similarity(v, x, y, cut[6], tokens);
    uint8_t level = 2;
    while (level < 9 && s < cut[level - 2])
        level++;
    return level;
}

double tab_similarity(const tab_views *v, const tab_attribute *t, const tab_value *x, const tab_value *y)
{
    static const double ALMOST = 0.999; /* 1 is for what is equal */
    if (x->key == y->key)
        return 1;
    if (!t->numeric || isnan(x->number) || isnan(y->number))
        return fmin(tab_text_similarity(v, x, y, NULL), ALMOST);
    double d = fabs(x->number - y->number / t->scale), q = near_share(t, x->number, d);
    if (d == 0)
        return 1;
    double edit = t->scale == 1 ? tab_edit_similarity(tab_value_text(v, x), tab_value_text(v, y)) : 0;
    return fmin(fmax(1 - q, edit), ALMOST);
}
