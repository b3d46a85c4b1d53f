/* The dense form of encoded rows (encode.h), for what computes with matrices: linear.c, kernel.c, mlp.c and
 * knn.c of learn/ (spline and metric), and anomaly.c of predict/ (far). One feature gives
 *
 *   spline   number  [ z, missing?, (z - q1)+, (z - q2)+, ... ]   z = (x - mean) / sd limited to +-4
 *            code    [ level 0, level 1, ..., other ]             1 where it is that level
 *   metric   number  [ z or normal score, missing? ]
 *            code    [ level 0, ..., other ] / sqrt(2)            so that two levels stand at distance 1
 *   far      number  [ z not limited, but 3 + 3 log(z / 3) beyond 3, missing? ]
 *            code    as metric, and sqrt(-2 log share) of the level
 *
 * A missing number reads as 0 (the mean) beside its flag. The normal score of x is the standard normal
 * quantile of its place among the knots, straight lines between (van der Waerden scores). */
#include <math.h>

#include "services/inference/engine/features/encode.h"

/* Most hinges of a number and most levels of a category that get a column each; tab_dense_new takes fewer
 * where the width is short. Half of both costs 0.004 of log-loss and, on a table of texts and places, 0.006
 * of RMSE; twice of both gains 0.002 and 0.002 for wider products (of tuned XGBoost's, decision 0307). */
enum { MAX_HINGES = 6, MAX_ONEHOT = 30 };

typedef float four __attribute__((vector_size(16))); /* two of them: a number's hinges */
typedef int32_t four_int __attribute__((vector_size(16)));

/* Columns that a feature takes. */
static size_t width_of(const tab_feature *f, tab_dense_kind kind, size_t hinges, size_t onehot)
{
    if (f->kind == TAB_FEATURE_CODE) {
        size_t n = f->levels < onehot ? f->levels : onehot;
        return n + (f->levels > onehot) + f->has_missing + (kind == TAB_DENSE_FAR);
    }
    size_t own = f->bins > 2 ? f->bins - 2 : 0;
    return 1 + f->has_missing + (kind == TAB_DENSE_SPLINE ? (own < hinges ? own : hinges) : 0);
}

/* The features that are not among the `most` most important ones; ties by their order. */
static bool *unimportant(tab_arena *a, const tab_encoder *enc, const float *importance, size_t most)
{
    bool *skip = tab_arena_new_of(a, bool, enc->n);
    for (size_t i = 0; skip != NULL && i < enc->n; i++) {
        /* its place among the others: how many are more important */
        size_t before = 0;
        for (size_t k = 0; k < enc->n; k++)
            before += importance[k] > importance[i] || (importance[k] == importance[i] && k < i);
        skip[i] = before >= most;
    }
    return skip;
}

/* Half of the width is left to the features that are read: each takes some two columns (a value and a
 * flag, or levels). */
tab_dense *tab_dense_new(tab_arena *a, const tab_encoder *enc, tab_dense_kind kind, size_t width_limit,
                         const float *importance)
{
    tab_dense *s = tab_arena_new_of(a, tab_dense, 1);
    if (s == NULL)
        return NULL;
    s->kind = kind;
    s->features = enc->n;
    s->hinges = MAX_HINGES;
    s->onehot = MAX_ONEHOT;
    tab_number_scores(s->score);
    /* too many features even at a column each: the least important are not read */
    if (enc->n > width_limit && importance != NULL) {
        s->skip = unimportant(a, enc, importance, width_limit / 2);
        if (s->skip == NULL)
            return NULL;
    }
    for (;;) { /* fewer hinges, then fewer levels, until the width fits or nothing is left to spare */
        s->width = 0;
        for (size_t i = 0; i < enc->n; i++)
            s->width += s->skip != NULL && s->skip[i] ? 0 : width_of(&enc->f[i], kind, s->hinges, s->onehot);
        if (s->width <= width_limit || (s->hinges == 0 && s->onehot <= 2))
            break;
        if (s->hinges > 0 && kind == TAB_DENSE_SPLINE)
            s->hinges--;
        else
            s->hinges = 0, s->onehot /= 2;
    }
    /* which feature each dense column reads: importance weighs the columns by it */
    s->feature = tab_arena_new_of(a, uint32_t, s->width + 1);
    if (s->feature == NULL)
        return NULL;
    for (size_t i = 0, k = 0; i < enc->n; i++) {
        if (s->skip != NULL && s->skip[i])
            continue;
        for (size_t w = width_of(&enc->f[i], kind, s->hinges, s->onehot); w > 0; w--)
            s->feature[k++] = (uint32_t)i;
    }
    return s;
}

void tab_pack_dense(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_dense *s = each;
    TAB_PACK(p, s->feature, s->width);
    TAB_PACK(p, s->skip, s->features);
}

/* How far a level is out, as a number would be: z of a standard normal whose density is that share of its
 * greatest, sqrt(-2 log share). A level that fitting has not seen is half as common as the rarest. */
static float rarity(const tab_feature *f, uint32_t code)
{
    if (f->levels == 0)
        return 0;
    double share = code < f->levels ? (double)f->share[code] : (double)f->share[f->levels - 1] / 2;
    return (float)sqrt(-2 * log(share));
}

/* out (n, width) from column `at` on: a category's w columns. A missing level has the last one, a rare or
 * unseen one that behind the named ones. */
static void read_code(const tab_dense *s, const tab_feature *f, const uint32_t *code, const uint32_t *row,
                      size_t n, size_t w, float *out)
{
    size_t named = f->levels < s->onehot ? f->levels : s->onehot;
    float one = s->kind == TAB_DENSE_SPLINE ? 1 : (float)M_SQRT1_2;
    size_t miss = w - 1 - (s->kind == TAB_DENSE_FAR);
    for (size_t r = 0; r < n; r++) {
        uint32_t c = code[row[r]];
        float *o = out + r * s->width;
        if (c == TAB_NULL) {
            if (f->has_missing)
                o[miss] = one;
        } else if (c < named) {
            o[c] = one;
        } else if (f->levels > s->onehot) {
            o[named] = one;
        }
        if (s->kind == TAB_DENSE_FAR && c != TAB_NULL)
            o[w - 1] = rarity(f, c);
    }
}

/* z, but beyond 3 by its logarithm, with the same slope where they meet: order and distance of outliers are
 * kept, and one cell does not outweigh all others. */
static float far(float z)
{
    const float bend = 3;
    float size = fabsf(z);
    return size <= bend ? z : copysignf(bend + bend * logf(size / bend), z);
}

/* The same for a number: its value, its flag and its hinges. */
static void read_number(const tab_dense *s, const tab_feature *f, const float *value, const uint32_t *row,
                        size_t n, size_t w, float *out)
{
    /* where the hinges bend, in units of z: between the few values, else at evenly spaced quantiles */
    size_t hinges = w - 1 - f->has_missing;
    float q[MAX_HINGES] = { 0 };
    for (size_t h = 0; h < hinges; h++) {
        float k = f->bins - 2 <= hinges
                      ? f->edge[h] /* few values: a hinge between each */
                      : f->knot[(size_t)((double)(h + 1) / (double)(hinges + 1) * (TAB_KNOTS - 1) + 0.5)];
        q[h] = (k - f->mean) / f->sd;
    }
    four bend[2] = { { 0 } };
    memcpy(bend, q, hinges * sizeof *q);
    for (size_t r = 0; r < n; r++) {
        float x = value[row[r]];
        float *o = out + r * s->width;
        if (isnan(x)) { /* as a row at the mean, and its flag says so */
            if (f->has_missing)
                o[1] = 1;
            for (size_t h = 0; h < hinges; h++)
                o[1 + f->has_missing + h] = q[h] < 0 ? -q[h] : 0;
            continue;
        }
        float z = (x - f->mean) / f->sd;
        if (s->kind == TAB_DENSE_FAR) {
            o[0] = far(z);
            continue;
        }
        z = z > 4 ? 4 : z < -4 ? -4 : z;
        if (s->kind == TAB_DENSE_METRIC) {
            o[0] = f->skewed ? tab_number_score(f, s->score, x) : z;
            continue;
        }
        o[0] = z;
        /* all bends at once: which side of each a cell lies on is not to be guessed */
        float over[2][4];
        for (size_t h = 0; h < 2; h++) {
            four d = z - bend[h];
            d = (four)((four_int)d & (d > 0));
            memcpy(over[h], &d, sizeof d);
        }
        float *to = o + 1 + f->has_missing;
        if (hinges == MAX_HINGES)
            memcpy(to, over, MAX_HINGES * sizeof *to);
        else
            memcpy(to, over, hinges * sizeof *to);
    }
}

void tab_dense_read(const tab_dense *s, const tab_encoder *enc, const tab_data *d, const uint32_t *row,
                    size_t n, float *out)
{
    memset(out, 0, n * s->width * sizeof *out);
    size_t at = 0;
    for (size_t i = 0; i < enc->n; i++) {
        const tab_feature *f = &enc->f[i];
        if (s->skip != NULL && s->skip[i])
            continue;
        size_t w = width_of(f, s->kind, s->hinges, s->onehot);
        if (f->kind == TAB_FEATURE_CODE)
            read_code(s, f, d->code[i], row, n, w, out + at);
        else
            read_number(s, f, d->x[i], row, n, w, out + at);
        at += w;
    }
}

/* Distances grow with the square of a scale, so the scale is the root of the share. */
void tab_dense_weigh(const tab_dense *s, size_t features, const float *importance, double strength,
                     float *scale)
{
    for (size_t j = 0; j < s->width; j++) {
        double share = importance != NULL ? (double)importance[s->feature[j]] * (double)features : 1;
        scale[j] = (float)sqrt(pow(0.02 + share, strength)); /* no feature is forgotten wholly */
    }
}

void tab_dense_read_scaled(const tab_dense *s, const tab_encoder *enc, const tab_data *d, const uint32_t *row,
                           size_t n, const float *scale, float *out)
{
    tab_dense_read(s, enc, d, row, n, out);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < s->width; j++)
            out[i * s->width + j] *= scale[j];
}
