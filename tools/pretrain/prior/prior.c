/* From a family's numeric columns to a table: the target's form, warped and quantised columns, missing
 * cells, and the two promises of prior.h (every class in the context, no constant column there). */
#include "tools/pretrain/prior/internal.h"

#include <stdlib.h>
#include <string.h>

tab_prior *tab_prior_new(void)
{
    const size_t n = TAB_PRIOR_ROWS;
    tab_prior *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->pool = malloc((size_t)POOL * n * sizeof(float));
    p->work = malloc((size_t)(6 * NODE_WIDTH) * n * sizeof(float));
    p->table = malloc((size_t)TAB_PRIOR_COLS * n * sizeof(float));
    p->target = malloc(4 * n * sizeof(float));
    p->order = malloc(2 * n * sizeof(int));
    p->sorted = malloc(n * sizeof(float));
    p->label = malloc(n * sizeof(int));
    if (p->pool && p->work && p->table && p->target && p->order && p->sorted && p->label)
        return p;
    tab_prior_free(p);
    return NULL;
}

void tab_prior_free(tab_prior *p)
{
    if (p == NULL)
        return;
    free(p->pool);
    free(p->work);
    free(p->table);
    free(p->target);
    free(p->order);
    free(p->sorted);
    free(p->label);
    free(p);
}

void tab_prior_shape_of(uint64_t seed, uint64_t index, int low, int high, tab_prior_shape *ret)
{
    tab_rand r = tab_rand_keyed(seed ^ TAB_PRIOR_VERSION, index, UINT64_C(0x5348415045));
    int limit = high > 1024 ? 80000 : 40000;
    int rows = ((int)rnd_log(&r, (float)low, (float)high + 63.0f) / 64) * 64;
    rows = rows < low ? low : rows > high ? high : rows;
    int cols = rnd_chance(&r, 0.05f) ? 64 + rnd_int(&r, 37) : rnd_log_int(&r, 2, 64);
    if (rows * cols > limit)
        cols = limit / rows;
    float share = high > 1024 ? rnd_range(&r, 0.6f, 0.9f) : rnd_range(&r, 0.3f, 0.9f);
    int context = (int)(share * (float)rows / 16.0f) * 16;
    *ret = (tab_prior_shape){ .rows = rows, .context = context < 32 ? 32 : context, .cols = cols };
}

/* ---- the target ------------------------------------------------------------------------------ */
static void sort_copy(tab_prior *p, const float *v, int n)
{
    memcpy(p->sorted, v, (size_t)n * sizeof *v);
    tab_prior_sort(p->sorted, n);
}

/* w (classes): random shares that sum to 1 (Dirichlet's law, kept off 0). */
static void shares(tab_rand *r, float *w, int classes)
{
    float a = rnd_range(r, 0.5f, 5.0f), sum = 0.0f;
    for (int c = 0; c < classes; c++)
        sum += w[c] = rnd_gamma(r, a) + 0.02f;
    for (int c = 0; c < classes; c++)
        w[c] /= sum;
}

/* The upper ends of `pieces` intervals of v (n) that hold shares w of its values; the last is infinity. */
static void cuts_of(tab_prior *p, const float *v, int n, const float *w, int pieces, float *cut)
{
    sort_copy(p, v, n);
    float at = 0.0f;
    for (int k = 0; k < pieces; k++) {
        at += w[k];
        int i = (int)(at * (float)n);
        cut[k] = k == pieces - 1 || i >= n ? INFINITY : p->sorted[i];
    }
}

static int interval_of(float x, const float *cut, int pieces)
{
    int k = 0;
    while (k < pieces - 1 && x >= cut[k])
        k++;
    return k;
}

/* Classes by cuts of one coordinate; intervals may carry labels in any order, some twice. */
static void classes_by_cuts(tab_prior *p, tab_rand *r, int n, int classes)
{
    float w[TAB_PRIOR_CLASSES * 2], cut[TAB_PRIOR_CLASSES * 2];
    int pieces = classes, name[TAB_PRIOR_CLASSES * 2];
    if (rnd_chance(r, 0.25f))
        pieces += 1 + rnd_int(r, classes);
    shares(r, w, pieces);
    for (int k = 0; k < pieces; k++)
        name[k] = k < classes ? k : rnd_int(r, classes);
    rnd_shuffle(r, name, pieces);
    cuts_of(p, p->target, n, w, pieces, cut);
    for (int i = 0; i < n; i++)
        p->label[i] = name[interval_of(p->target[i], cut, pieces)];
}

/* Classes by the nearest of some rows, in up to four coordinates. */
static void classes_by_centres(tab_prior *p, tab_rand *r, int n, int dims, int classes)
{
    const float *t = p->target;
    int centre[TAB_PRIOR_CLASSES];
    float pull[TAB_PRIOR_CLASSES];
    for (int c = 0; c < classes; c++) {
        centre[c] = rnd_int(r, n);
        pull[c] = rnd_log(r, 0.5f, 2.0f);
    }
    for (int i = 0; i < n; i++) {
        float best = INFINITY;
        for (int c = 0; c < classes; c++) {
            float d = 0.0f;
            for (int k = 0; k < dims; k++) {
                float e = t[(size_t)k * (size_t)n + (size_t)i] - t[(size_t)k * (size_t)n + (size_t)centre[c]];
                d += e * e;
            }
            if (d * pull[c] < best) {
                best = d * pull[c];
                p->label[i] = c;
            }
        }
    }
}

/* Classes as a sample of a softmax over random directions. */
static void classes_by_softmax(tab_prior *p, tab_rand *r, int n, int dims, int classes)
{
    const float *t = p->target;
    float temperature = rnd_log(r, 0.05f, 1.0f), w[TAB_PRIOR_CLASSES][4], b[TAB_PRIOR_CLASSES];
    for (int c = 0; c < classes; c++) {
        b[c] = 0.5f * rnd_normal(r);
        for (int d = 0; d < dims; d++)
            w[c][d] = rnd_normal(r);
    }
    for (int i = 0; i < n; i++) {
        float z[TAB_PRIOR_CLASSES], top = -INFINITY;
        for (int c = 0; c < classes; c++) {
            z[c] = b[c];
            for (int d = 0; d < dims; d++)
                z[c] += w[c][d] * t[(size_t)d * (size_t)n + (size_t)i];
            z[c] /= temperature;
            top = fmaxf(top, z[c]);
        }
        for (int c = 0; c < classes; c++)
            z[c] = expf(z[c] - top);
        p->label[i] = rnd_pick(r, z, classes);
    }
}

/* p->label from the numeric target (dims coordinates), after noise. */
static void classes_of(tab_prior *p, tab_rand *r, const tab_prior_shape *s, int dims, int classes)
{
    int n = s->rows;
    float noise = rnd_log(r, 0.01f, s->easy ? 0.1f : 1.5f), how = rnd_unit(r);
    for (int d = 0; d < dims; d++) {
        float *v = p->target + (size_t)d * (size_t)n;
        tab_prior_standardise(v, n);
        for (int i = 0; i < n; i++)
            v[i] += noise * rnd_normal(r);
    }
    if (how >= 0.6f && dims < 2)
        how = rnd_chance(r, 0.7f) ? 0.0f : 0.9f;
    if (how < 0.6f)
        classes_by_cuts(p, r, n, classes);
    else if (how < 0.85f)
        classes_by_centres(p, r, n, dims, classes);
    else
        classes_by_softmax(p, r, n, dims, classes);
}

/* 40 % of the class tasks: rows of one class are replaced until it is rare. Replacing copies a whole row of
 * another class with fresh noise on no cell: duplicates are part of real tables too, but few are made,
 * because the rows to replace are taken from what would be dropped. */
static void imbalance(tab_prior *p, tab_rand *r, const tab_prior_shape *s, int classes)
{
    int n = s->rows, count[TAB_PRIOR_CLASSES] = { 0 }, rare = rnd_int(r, classes);
    float want = rnd_log(r, 0.01f, 0.3f);
    for (int i = 0; i < n; i++)
        count[p->label[i]]++;
    int keep = (int)(want * (float)n) + 4, others = n - count[rare];
    if (others < 8 || count[rare] <= keep)
        return;
    for (int i = 0; i < n && count[rare] > keep; i++) {
        if (p->label[i] != rare || !rnd_chance(r, (float)(count[rare] - keep) / (float)(n - i)))
            continue;
        int from;
        do
            from = rnd_int(r, n);
        while (p->label[from] == rare);
        for (int c = 0; c < s->cols; c++) {
            float *v = p->table + (size_t)c * (size_t)n;
            v[i] = v[from];
        }
        p->label[i] = p->label[from];
        count[rare]--;
    }
}

static void regression_of(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows;
    float *t = p->target, noise = rnd_log(r, 0.01f, s->easy ? 0.1f : 1.0f), how = rnd_unit(r);
    tab_prior_standardise(t, n);
    const float *along = p->table + (size_t)rnd_int(r, s->cols) * (size_t)n;
    for (int i = 0; i < n; i++)
        t[i] += noise * rnd_normal(r) *
                (how > 0.8f && how < 0.9f ? expf(0.5f * fminf(fmaxf(along[i], -3.0f), 3.0f)) : 1.0f);
    tab_prior_standardise(t, n);
    float power = rnd_range(r, 1.5f, 3.0f), step = rnd_log(r, 0.05f, 0.5f), zero = rnd_range(r, -1.0f, 0.5f);
    bool rounded = rnd_chance(r, 0.5f);
    for (int i = 0; i < n; i++) {
        if (how < 0.2f)
            t[i] = expf(fminf(t[i], 5.0f));
        else if (how < 0.3f)
            t[i] = copysignf(powf(fabsf(t[i]), power), t[i]);
        else if (how > 0.9f)
            t[i] = rounded ? floorf(t[i] / step) : fmaxf(t[i], zero);
    }
    tab_prior_standardise(t, n);
}

/* ---- the columns ----------------------------------------------------------------------------- */
/* The column as two to nine levels of random shares; half of them are codes of a category. */
static void quantise(tab_prior *p, tab_rand *r, int c, int n)
{
    float *v = p->table + (size_t)c * (size_t)n, cut[9], w[9];
    int levels = 2 + rnd_int(r, 8);
    shares(r, w, levels);
    cuts_of(p, v, n, w, levels, cut);
    p->cat[c] = rnd_chance(r, 0.5f);
    for (int i = 0; i < n; i++)
        v[i] = (float)interval_of(v[i], cut, levels);
}

/* Codes of a category carry no order: relabel them at random, as inference does (levels are numbered by
 * frequency, the rest beyond 63 pooled, then shuffled). */
static void permute_codes(tab_rand *r, float *v, int n)
{
    int name[300], top = 0;
    for (int i = 0; i < n; i++)
        top = (int)v[i] > top ? (int)v[i] : top;
    top = top > 299 ? 299 : top;
    int levels = top > 62 ? 64 : top + 1;
    for (int k = 0; k < levels; k++)
        name[k] = k;
    rnd_shuffle(r, name, levels);
    for (int i = 0; i < n; i++) {
        int k = (int)v[i];
        v[i] = (float)name[k > 63 ? 63 : k < 0 ? 0 : k];
    }
}

/* Some columns become skewed, warped, rounded or an id. */
static void warp(tab_rand *r, float *v, int n)
{
    float u = rnd_unit(r);
    if (u < 0.07f) {
        float k = rnd_log(r, 0.3f, 2.0f);
        for (int i = 0; i < n; i++)
            v[i] = expf(fminf(k * v[i], 12.0f));
    } else if (u < 0.12f) { /* Kumaraswamy warp of the column's range */
        float a = rnd_log(r, 0.2f, 5.0f), b = rnd_log(r, 0.2f, 5.0f), lo = v[0], hi = v[0];
        for (int i = 0; i < n; i++) {
            lo = fminf(lo, v[i]);
            hi = fmaxf(hi, v[i]);
        }
        for (int i = 0; i < n; i++) {
            float x = (v[i] - lo) / (hi - lo + 1e-6f);
            v[i] = 1.0f - powf(1.0f - powf(fminf(x, 1.0f), a), b);
        }
    } else if (u < 0.20f) {
        float step = rnd_log(r, 0.02f, 0.5f);
        for (int i = 0; i < n; i++)
            v[i] = floorf(v[i] / step);
    } else if (u < 0.23f) { /* an integer id */
        for (int i = 0; i < n; i++)
            v[i] = (float)i;
        for (int i = n - 1; i > 0; i--) {
            int j = rnd_int(r, i + 1);
            float t = v[i];
            v[i] = v[j];
            v[j] = t;
        }
    }
}

/* What real columns have beside their signal: codes, noise, near copies, levels, warps, outliers. */
static void finish_columns(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows;
    bool outliers = rnd_chance(r, 0.1f) && !s->easy, coarse = rnd_chance(r, 0.25f);
    float quantised = coarse ? rnd_range(r, 0.4f, 1.0f) : rnd_range(r, 0.0f, 0.3f);
    float fine =
        rnd_chance(r, 0.15f) && !s->easy ? rnd_range(r, 0.05f, 0.5f) : 0.0f; /* columns of many levels */
    for (int c = 0; c < s->cols; c++) {
        float *v = p->table + (size_t)c * (size_t)n;
        if (p->cat[c]) {
            permute_codes(r, v, n);
            continue;
        }
        if (rnd_chance(r, 0.05f))
            for (int i = 0; i < n; i++)
                v[i] = rnd_normal(r);
        if (c > 0 && rnd_chance(r, 0.05f)) { /* a near copy of an earlier column */
            int from = rnd_int(r, c);
            if (!p->cat[from])
                for (int i = 0; i < n; i++)
                    v[i] = p->table[(size_t)from * (size_t)n + (size_t)i] + 0.1f * rnd_normal(r);
        }
        tab_prior_standardise(v, n);
        if (rnd_chance(r, fine)) {
            tab_prior_fine_codes(r, v, n);
            p->cat[c] = 1;
            permute_codes(r, v, n);
            continue;
        }
        if (rnd_chance(r, quantised)) {
            quantise(p, r, c, n);
            if (p->cat[c])
                permute_codes(r, v, n);
            continue;
        }
        warp(r, v, n);
        if (outliers && rnd_chance(r, 0.5f)) {
            float rate = rnd_log(r, 0.001f, 0.02f);
            for (int i = 0; i < n; i++)
                if (rnd_chance(r, rate))
                    v[i] += (rnd_chance(r, 0.5f) ? 1.0f : -1.0f) * rnd_range(r, 5.0f, 50.0f);
        }
    }
}

/* MCAR: at random; MAR: where another column is high; MNAR: where the column itself is high. */
static void blank(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, why = rnd_int(r, 3);
    float share = rnd_range(r, 0.1f, 1.0f);
    for (int c = 0; c < s->cols; c++) {
        if (!rnd_chance(r, share))
            continue;
        float *v = p->table + (size_t)c * (size_t)n, rate = rnd_log(r, 0.01f, 0.5f);
        const float *by = why == 1 ? p->table + (size_t)rnd_int(r, s->cols) * (size_t)n : v;
        int have = 0;
        for (int i = 0; i < n; i++)
            if (by[i] == by[i])
                p->sorted[have++] = by[i];
        if (have < 8)
            continue;
        tab_prior_sort(p->sorted, have);
        bool low = rnd_chance(r, 0.5f);
        float cut = p->sorted[(int)((float)(have - 1) * (low ? rate : 1.0f - rate))];
        int left = 0;
        for (int i = 0; i < n; i++)
            left += v[i] == v[i];
        for (int i = 0; i < n && left > 8; i++) {
            float chance = rate;
            if (why > 0)
                chance = !(by[i] == by[i]) ? 0.5f : (low ? by[i] <= cut : by[i] >= cut) ? 0.9f : 0.02f;
            if (v[i] == v[i] && rnd_chance(r, chance)) {
                v[i] = NAN;
                left--;
            }
        }
    }
}

/* No column is constant among the observed cells of the context; one that is becomes noise. */
static void vary(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows;
    for (int c = 0; c < s->cols; c++) {
        float *v = p->table + (size_t)c * (size_t)n, first = NAN;
        bool varies = false;
        for (int i = 0; i < s->context && !varies; i++) {
            if (!(v[i] == v[i]))
                continue;
            if (!(first == first))
                first = v[i];
            varies = v[i] != first;
        }
        if (varies)
            continue;
        p->cat[c] = 0;
        for (int i = 0; i < n; i++)
            v[i] = rnd_normal(r);
    }
}

/* Every class in the context: swap a row from the queries in. Classes left in neither are renumbered away.
 * Labels are permuted. Returns the number of classes. */
static int settle_labels(tab_prior *p, tab_rand *r, const tab_prior_shape *s, int classes)
{
    int n = s->rows, in[TAB_PRIOR_CLASSES] = { 0 }, name[TAB_PRIOR_CLASSES], have = 0;
    for (int i = 0; i < s->context; i++)
        in[p->label[i]]++;
    for (int i = s->context; i < n; i++) {
        int k = p->label[i];
        if (in[k] > 0)
            continue;
        int j; /* a context row whose class has more than one there */
        do
            j = rnd_int(r, s->context);
        while (in[p->label[j]] < 2);
        for (int c = 0; c < s->cols; c++) {
            float *v = p->table + (size_t)c * (size_t)n, t = v[i];
            v[i] = v[j];
            v[j] = t;
        }
        in[p->label[j]]--;
        in[k]++;
        p->label[i] = p->label[j];
        p->label[j] = k;
    }
    int order[TAB_PRIOR_CLASSES];
    for (int k = 0; k < classes; k++)
        if (in[k] > 0)
            order[have++] = k;
    rnd_shuffle(r, order, have);
    for (int k = 0; k < have; k++)
        name[order[k]] = k;
    for (int i = 0; i < n; i++)
        p->label[i] = name[p->label[i]];
    return have;
}

static void give(const tab_prior *p, const tab_prior_shape *s, bool regression, float *x, float *y,
                 uint8_t *cat)
{
    int n = s->rows, m = s->cols;
    for (int c = 0; c < m; c++) {
        const float *v = p->table + (size_t)c * (size_t)n;
        for (int i = 0; i < n; i++)
            x[(size_t)i * (size_t)m + (size_t)c] = v[i];
        cat[c] = p->cat[c];
    }
    for (int i = 0; i < n; i++)
        y[i] = regression ? p->target[i] : (float)p->label[i];
}

static int pick_family(tab_rand *r)
{
    static const float families[] = { 32, 9, 9, 7, 15, 28 };
    return rnd_pick(r, families, TAB_PRIOR_FAMILIES);
}

tab_prior_family tab_prior_family_of(uint64_t seed, uint64_t index)
{
    tab_rand pick = tab_rand_keyed(seed ^ TAB_PRIOR_VERSION, index, 0);
    return (tab_prior_family)pick_family(&pick);
}

void tab_prior_draw(tab_prior *p, uint64_t seed, uint64_t index, const tab_prior_shape *s, float *x, float *y,
                    uint8_t *cat, tab_prior_info *info)
{
    tab_rand pick = tab_rand_keyed(seed ^ TAB_PRIOR_VERSION, index, 0);
    int family = pick_family(&pick);
    int wanted = rnd_chance(&pick, 0.55f) ? 2 : 3 + (int)(8.0f * powf(rnd_unit(&pick), 2.0f));
    bool missing = rnd_chance(&pick, 0.3f) && !s->easy, keep = rnd_chance(&pick, 0.05f);
    bool ordered = rnd_chance(&pick, 0.15f) && !s->easy && family != TAB_PRIOR_RULES;
    if (s->easy && wanted > 3)
        wanted = 3;
    if (wanted > TAB_PRIOR_CLASSES)
        wanted = TAB_PRIOR_CLASSES;
    for (int attempt = 0;; attempt++) {
        tab_rand r = tab_rand_keyed(seed ^ TAB_PRIOR_VERSION, index, (uint64_t)attempt + 1);
        memset(p->cat, 0, sizeof p->cat);
        drawn d = family == TAB_PRIOR_ADDITIVE ? tab_prior_additive(p, &r, s)
                  : family == TAB_PRIOR_LEVELS ? tab_prior_levels(p, &r, s)
                                               : tab_prior_family_draw(p, &r, (tab_prior_family)family, s);
        int classes = 0;
        if (ordered)
            tab_prior_order(p, &r, s, d.dims);
        if (s->regression) {
            regression_of(p, &r, s);
        } else {
            classes = d.classes;
            if (classes == 0)
                classes_of(p, &r, s, d.dims, classes = wanted);
            if (rnd_chance(&r, 0.4f) && !s->easy && !ordered) /* copies of rows would tell the future */
                imbalance(p, &r, s, classes);
        }
        finish_columns(p, &r, s);
        if (missing)
            blank(p, &r, s);
        if (!s->regression)
            classes = settle_labels(p, &r, s, classes);
        vary(p, &r, s);
        give(p, s, s->regression, x, y, cat);
        bool last = attempt == 30; /* a shape that fits nothing learnable: take what there is */
        bool ok = (s->regression || classes >= 2) && tab_prior_learnable(p, &r, s, y, classes);
        if (ok || last || (keep && (s->regression || classes >= 2))) {
            if (info != NULL)
                *info = (tab_prior_info){ family, classes, attempt + 1, missing, !ok, ordered };
            return;
        }
    }
}

int tab_prior_batch(uint64_t seed, uint64_t first, int count, const tab_prior_shape *s, float *x, float *y,
                    uint8_t *cat, tab_prior_info *info)
{
    if (s->rows < 64 || s->rows > TAB_PRIOR_ROWS || s->context < 16 || s->context >= s->rows || s->cols < 1 ||
        s->cols > TAB_PRIOR_COLS)
        return -1;
    tab_prior *p = tab_prior_new();
    if (p == NULL)
        return -1;
    for (int k = 0; k < count; k++) {
        size_t n = (size_t)s->rows, m = (size_t)s->cols, t = (size_t)k;
        tab_prior_draw(p, seed, first + t, s, x + t * n * m, y + t * n, cat + t * m,
                       info == NULL ? NULL : info + t);
    }
    tab_prior_free(p);
    return 0;
}
