/* See screen.h. levels.c calls it, once a fold. */
#include "services/inference/engine/learn/screen.h"

#include <math.h>
#include <stdlib.h>

/* GROUPS: of a feature's values, the last for missing cells. MOST_CLASSES: with more, the commonest count and
 * the rest are one. By hand. */
enum { GROUPS = 9, MOST_CLASSES = 20 };
/* SIDE: features of one pass over the rows, whose additions do not wait for each other. */
enum { SIDE = 4 };

typedef struct {
    double says;
    uint32_t feature;
} said;

/* For qsort: what says most first; alike, the order of the features. */
static int by_says(const void *a, const void *b)
{
    const said *x = a, *y = b;
    if (x->says != y->says)
        return x->says > y->says ? -1 : 1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

static int by_feature(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The target of the context's rows: numbers, as which two classes are read too, or classes. */
typedef struct {
    const uint32_t *context;
    size_t n, classes; /* classes 0: numbers */
    uint8_t *class_of; /* (n) */
    int64_t *y;        /* (n) less its mean, in units of which all are 2^30; a row in the lower half */
    double unit;
    double total;       /* variation: sum of squares, or n less the sum of squared counts over n */
    uint8_t (*of)[256]; /* (257) for a number of so many bins: the group of a bin */
    bool made[257];     /* of which that is known */
} target;

/* Runs of bins, as many bins in each, for a number; a category's commonest levels and the rest. */
static const uint8_t *groups_of(target *t, const tab_feature *f)
{
    size_t bins = f->kind == TAB_FEATURE_CODE || f->bins > 255 ? 256 : f->bins;
    uint8_t *of = t->of[bins];
    for (size_t b = 0; !t->made[bins] && b < 256; b++)
        if (bins == 256)
            of[b] = (uint8_t)(b < GROUPS - 2 ? b : GROUPS - 2);
        else
            of[b] = (uint8_t)(b >= bins ? GROUPS - 2 : b * (GROUPS - 1) / bins);
    of[TAB_BIN_MISSING] = GROUPS - 1;
    t->made[bins] = true;
    return of;
}

/* between (SIDE), groups (SIDE): of SIDE features, their bins and the bins' groups. Sums are whole numbers,
 * of y and of rows in one (boost_grow.h). */
static void say_number(const target *t, const uint8_t *const *bin, const uint8_t *const *of, double *between,
                       size_t *groups)
{
    int64_t sum[SIDE][GROUPS] = { 0 };
    for (size_t i = 0; i < t->n; i++) {
        uint32_t row = t->context[i];
        for (size_t f = 0; f < SIDE; f++)
            sum[f][of[f][bin[f][row]]] += t->y[i];
    }
    for (size_t f = 0; f < SIDE; f++)
        for (size_t g = 0; g < GROUPS; g++) {
            double y = (double)(int32_t)(sum[f][g] >> 32) * t->unit, count = (double)(uint32_t)sum[f][g];
            if (count > 0)
                between[f] += y * y / count, ++groups[f];
        }
}

static void say_class(const target *t, const uint8_t *const *bin, const uint8_t *const *of, double *between,
                      size_t *groups)
{
    uint32_t table[SIDE][GROUPS][MOST_CLASSES] = { 0 };
    for (size_t i = 0; i < t->n; i++) {
        uint32_t row = t->context[i];
        for (size_t f = 0; f < SIDE; f++)
            table[f][of[f][bin[f][row]]][t->class_of[i]]++;
    }
    for (size_t f = 0; f < SIDE; f++) {
        double overall[MOST_CLASSES] = { 0 };
        for (size_t g = 0; g < GROUPS; g++) {
            double count = 0, square = 0;
            for (size_t k = 0; k < t->classes; k++) {
                double c = table[f][g][k];
                count += c, square += c * c, overall[k] += c;
            }
            if (count > 0)
                between[f] += square / count, ++groups[f];
        }
        for (size_t k = 0; k < t->classes; k++)
            between[f] -= overall[k] * overall[k] / (double)t->n;
    }
}

/* Less what chance takes: 1 - (within / (n - groups)) / (total / (n - 1)). */
static double adjusted(const target *t, double between, size_t groups)
{
    if (!(t->total > 0) || t->n <= groups)
        return 0;
    return 1 - (t->total - between) / (double)(t->n - groups) / (t->total / (double)(t->n - 1));
}

/* The commonest classes by number, the rest as the last. False: memory. */
static bool read_classes(const tab_problem *p, target *t)
{
    said *common = calloc(p->outputs + 1, sizeof *common);
    uint8_t *of = malloc(p->outputs + 1);
    bool ok = common != NULL && of != NULL;
    double square = 0, count[MOST_CLASSES] = { 0 };
    for (size_t k = 0; ok && k < p->outputs; k++)
        common[k].feature = (uint32_t)k;
    for (size_t i = 0; ok && i < t->n; i++)
        common[p->label[t->context[i]]].says++;
    if (ok)
        qsort(common, p->outputs, sizeof *common, by_says);
    t->classes = p->outputs < MOST_CLASSES ? p->outputs : MOST_CLASSES;
    for (size_t k = 0; ok && k < p->outputs; k++)
        of[common[k].feature] = (uint8_t)(k < t->classes ? k : t->classes - 1);
    for (size_t i = 0; ok && i < t->n; i++)
        count[t->class_of[i] = of[p->label[t->context[i]]]]++;
    for (size_t k = 0; k < t->classes; k++)
        square += count[k] * count[k];
    t->total = (double)t->n - square / (double)t->n;
    free(common);
    free(of);
    return ok;
}

static double read_target(const tab_problem *p, uint32_t row)
{
    return p->classification ? p->label[row] == 1 : (double)p->y[row];
}

static void read_numbers(const tab_problem *p, target *t)
{
    double mean = 0, all = 0;
    for (size_t i = 0; i < t->n; i++)
        mean += read_target(p, t->context[i]) / (double)t->n;
    for (size_t i = 0; i < t->n; i++) {
        double y = read_target(p, t->context[i]) - mean;
        t->total += y * y;
        all += fabs(y);
    }
    t->unit = all > 0 ? all / 0x1p30 : 1;
    for (size_t i = 0; i < t->n; i++)
        t->y[i] = (int64_t)round((read_target(p, t->context[i]) - mean) / t->unit) * ((int64_t)1 << 32) + 1;
}

bool tab_screen(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n, uint32_t **ret,
                size_t *ret_n)
{
    size_t all = p->enc->n;
    *ret = NULL;
    *ret_n = all;
    if (all <= TAB_SCREEN_KEPT || n == 0)
        return true;
    target t = { .context = context, .n = n };
    said *s = malloc(all * sizeof *s);
    t.y = malloc(n * sizeof *t.y);
    t.class_of = malloc(n);
    t.of = malloc(257 * sizeof *t.of);
    uint32_t *kept = tab_arena_new_of(a, uint32_t, TAB_SCREEN_KEPT);
    bool ok = s != NULL && t.y != NULL && t.class_of != NULL && t.of != NULL && kept != NULL;
    bool classes = p->classification && p->outputs > 2;
    if (ok && classes)
        ok = read_classes(p, &t);
    else if (ok)
        read_numbers(p, &t);
    for (size_t at = 0; ok && at < all; at += SIDE) {
        const uint8_t *bin[SIDE], *of[SIDE];
        size_t groups[SIDE] = { 0 };
        double between[SIDE] = { 0 };
        for (size_t k = 0; k < SIDE; k++) { /* the last one again, where there are no more */
            size_t f = at + k < all ? at + k : all - 1;
            bin[k] = p->data->bin[f], of[k] = groups_of(&t, &p->enc->f[f]);
        }
        (classes ? say_class : say_number)(&t, bin, of, between, groups);
        for (size_t k = 0; k < SIDE && at + k < all; k++) {
            const tab_feature *g = &p->enc->f[at + k];
            bool many = g->kind == TAB_FEATURE_CODE && g->levels >= TAB_BINS;
            s[at + k] = (said){ many ? 2 : adjusted(&t, between[k], groups[k]), (uint32_t)(at + k) };
        }
    }
    if (ok) {
        qsort(s, all, sizeof *s, by_says);
        for (size_t k = 0; k < TAB_SCREEN_KEPT; k++)
            kept[k] = s[k].feature;
        qsort(kept, TAB_SCREEN_KEPT, sizeof *kept, by_feature);
        *ret = kept;
        *ret_n = TAB_SCREEN_KEPT;
    }
    free(s), free(t.y), free(t.class_of), free(t.of);
    return ok;
}
