#include "services/inference/engine/predict/choose/identities.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"

enum { M = TAB_IDENTITY_COLUMNS, ROWS = 400 };
static const double RIDGE = 1e-7; /* keeps exact identities invertible: 1 - R2 of 1e-5 still shows */

/* Columns as standardised values. */
typedef struct {
    size_t m, rows;
    size_t of[M];   /* column of the table */
    double (*z)[M]; /* (rows) */
    double c[M][2 * M];
} normal_system;

/* How values enter: as they are, for sums; by their logarithms, for products; and for products with what a
 * share leaves over, those of shares (0 to 1, or percent with a 0 among them) by the logarithm of that. */
enum { PLAIN, LOGS, LOGS_LEFT, FORMS };

/* A value as the form has it: `whole` of a share is 1 or 100, 0 of a column that is none. NaN: missing. */
static double formed(double x, int form, double whole)
{
    return form == PLAIN || isnan(x) ? x : whole > 0 ? log1p(-x / whole) : log(x);
}

/* The column's numbers, those of one that was taken for codes included where they repeat: a quantity of 1 to
 * 9 may look like one. NULL: it has none. */
static const double *numbers_of(const tab_column_profile *c)
{
    if (c->type == TAB_NUMERIC && c->number != NULL)
        return c->number;
    bool repeat = c->distinct > 2 && 2 * c->distinct <= c->present;
    return c->column->layout == TAB_NUMBERS && repeat ? c->column->num : NULL;
}

/* Of which whole the column holds shares; 0: of none. */
static double whole_of(const double *v, size_t rows, size_t step)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < rows; i++)
        least = fmin(least, v[i * step]), most = fmax(most, v[i * step]);
    if (!(least >= 0))
        return 0;
    return most < 1 ? 1 : most < 100 && !(least > 0) ? 100 : 0;
}

/* Column k's values as column s->m of the system, in that form. False: they do not vary, or have no
 * logarithms. */
static bool add(normal_system *s, const tab_profile *p, size_t k, size_t step, int form)
{
    const double *v = numbers_of(&p->col[k]);
    double most = 0, sum = 0, square = 0, whole = form == LOGS_LEFT ? whole_of(v, s->rows, step) : 0;
    size_t n = 0;
    for (size_t i = 0; i < s->rows; i++) {
        double x = v[i * step];
        if (isnan(x))
            continue;
        if (form != PLAIN && whole <= 0 && !(x > 0))
            return false;
        most = fmax(most, fabs(formed(x, form, whole)));
    }
    for (size_t i = 0; most > 0 && i < s->rows; i++) {
        double x = formed(v[i * step], form, whole) / most;
        s->z[i][s->m] = x;
        if (!isnan(x))
            sum += x, square += x * x, n++;
    }
    double mean = n > 0 ? sum / (double)n : 0, var = n > 0 ? square / (double)n - mean * mean : 0;
    if (n < s->rows / 2 || !(var > 1e-12))
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        double x = s->z[i][s->m];
        s->z[i][s->m] = isnan(x) ? 0 : (x - mean) / sqrt(var);
    }
    s->of[s->m++] = k;
    return true;
}

/* s->c's right half becomes the inverse of the correlations: Gauss and Jordan; they are positive definite. */
static void invert(normal_system *s)
{
    size_t m = s->m;
    for (size_t a = 0; a < m; a++)
        for (size_t b = 0; b < m; b++) {
            double sum = 0;
            for (size_t i = 0; i < s->rows; i++)
                sum += s->z[i][a] * s->z[i][b];
            s->c[a][b] = sum / (double)s->rows + (a == b ? RIDGE : 0);
            s->c[a][m + b] = a == b;
        }
    for (size_t a = 0; a < m; a++) {
        double pivot = s->c[a][a] > 1e-12 ? s->c[a][a] : 1e-12;
        for (size_t b = 0; b < 2 * m; b++)
            s->c[a][b] /= pivot;
        for (size_t r = 0; r < m; r++) {
            double f = r == a ? 0 : s->c[r][a];
            for (size_t b = 0; f != 0 && b < 2 * m; b++)
                s->c[r][b] -= f * s->c[a][b];
        }
    }
}

/* What the inverse says of each column, where that is more than is known. */
static void read_rules(const normal_system *s, tab_identity *ret)
{
    size_t m = s->m;
    for (size_t a = 0; a < m; a++) {
        double left = 1 / fmax(s->c[a][m + a], 1), up = 0, all = 0;
        double share = fmin(1, fmax(0, -log10(left) / 5));
        for (size_t b = 0; b < m; b++)
            if (b != a) {
                double w = -s->c[a][m + b] / fmax(s->c[a][m + a], 1);
                up += fmax(w, 0), all += fabs(w);
            }
        if (share > ret[s->of[a]].share)
            ret[s->of[a]] = (tab_identity){ share, all > 0 ? up / all : 0 };
    }
}

bool tab_identities(tab_arena *a, const tab_profile *p, tab_identity *ret)
{
    size_t rows = p->table->rows, step = rows > ROWS ? rows / ROWS : 1;
    for (size_t k = 0; k < p->table->cols; k++)
        ret[k] = (tab_identity){ 0 };
    normal_system *s = tab_arena_new_of(a, normal_system, 1);
    if (s == NULL)
        return false;
    s->rows = rows < ROWS ? rows : ROWS;
    s->z = tab_arena_alloc(a, s->rows + 1, sizeof *s->z);
    if (s->z == NULL)
        return false;
    for (int form = PLAIN; form < FORMS; form++) {
        s->m = 0;
        for (size_t k = 0; k < p->table->cols && s->m < M; k++)
            if (numbers_of(&p->col[k]) != NULL && (p->col[k].type != TAB_NUMERIC || !p->col[k].identifying))
                add(s, p, k, step, form);
        /* three rows a column, or chance determines */
        if (s->m < 3 || s->rows < 3 * s->m)
            continue;
        invert(s);
        read_rules(s, ret);
    }
    return true;
}

/* One part in 10,000 of the variance; a rule of ordinary rows leaves a fiftieth of their deviation; so many
 * rows of other values there are at least in a column that is mostly one. By hand. */
enum { FEW = 12 };
static const double LEFT = 1e-4, ORDINARY = 0.02;

static double median_of(double *v, size_t n)
{
    qsort(v, n, sizeof *v, tab_ascending_double);
    return n > 0 ? v[n / 2] : 0;
}

/* Whether the rule of the columns `in` leaves little of the ordinary row too: one far value that two columns
 * share decides the variance of both. */
static bool ordinary(const normal_system *s, size_t t, const bool *in, double (*inverse)[M])
{
    double *v = malloc((s->rows + 1) * sizeof *v), *r = malloc((s->rows + 1) * sizeof *r);
    bool ok = v != NULL && r != NULL;
    for (size_t i = 0; ok && i < s->rows; i++) {
        r[i] = v[i] = s->z[i][t];
        for (size_t b = 0; b < s->m; b++)
            if (in[b] && b != t)
                r[i] += inverse[t][b] / inverse[t][t] * s->z[i][b];
    }
    double middle = ok ? median_of(v, s->rows) : 0;
    size_t n = 0, beside = 0;
    for (size_t i = 0; ok && i < s->rows; i++)
        beside += s->z[i][t] != middle;
    bool mostly = 2 * beside < s->rows; /* one value, as no discount: then the other rows are asked */
    for (size_t i = 0; ok && i < s->rows; i++)
        if (!mostly || s->z[i][t] != middle) {
            v[n] = fabs(s->z[i][t] - middle);
            r[n++] = fabs(r[i]);
        }
    ok = ok && (!mostly || n >= FEW);
    ok = ok && median_of(r, n) < ORDINARY * median_of(v, n);
    free(v), free(r);
    return ok;
}

/* Leaves columns out, the least needed first, while LEFT holds. Of an inverse P of correlations, that without
 * column j is P - P[.][j] P[j][.] / P[j][j]. Gives the number of parts, 0 where there is no rule of few. */
static size_t fewest(const normal_system *s, size_t t, size_t *part)
{
    double(*inverse)[M] = calloc(M, sizeof *inverse);
    bool in[M];
    size_t left = s->m - 1, n = 0;
    if (inverse == NULL)
        return 0;
    for (size_t a = 0; a < s->m; a++) {
        in[a] = true;
        for (size_t b = 0; b < s->m; b++)
            inverse[a][b] = s->c[a][s->m + b];
    }
    while (left > 0 && 1 / inverse[t][t] <= LEFT) {
        size_t least = s->m;
        double best = 0;
        for (size_t j = 0; j < s->m; j++) {
            double without =
                in[j] && j != t ? inverse[t][t] - inverse[t][j] * inverse[j][t] / inverse[j][j] : 0;
            if (without > best)
                best = without, least = j;
        }
        if (least == s->m || 1 / best > LEFT)
            break;
        double pivot = inverse[least][least], row[M];
        for (size_t b = 0; b < s->m; b++)
            row[b] = inverse[least][b];
        for (size_t a = 0; a < s->m; a++)
            for (size_t b = 0; a != least && b < s->m; b++)
                inverse[a][b] -= row[a] * row[b] / pivot;
        in[least] = false;
        left--;
        for (size_t a = 0; a < s->m; a++)
            inverse[a][least] = inverse[least][a] = a == least;
    }
    if (1 / inverse[t][t] <= LEFT && left <= TAB_IDENTITY_PARTS && left > 0 && ordinary(s, t, in, inverse))
        for (size_t b = 0; b < s->m; b++)
            if (in[b] && b != t)
                part[n++] = s->of[b];
    free(inverse);
    return n;
}

bool tab_identity_of(tab_arena *a, const tab_profile *p, size_t target, size_t *part, size_t *ret_n,
                     bool *ret_product)
{
    size_t rows = p->table->rows, step = rows > ROWS ? rows / ROWS : 1;
    *ret_n = 0;
    normal_system *s = tab_arena_new_of(a, normal_system, 1);
    if (s == NULL)
        return false;
    s->rows = rows < ROWS ? rows : ROWS;
    s->z = tab_arena_alloc(a, s->rows + 1, sizeof *s->z);
    if (s->z == NULL)
        return false;
    for (int form = PLAIN; form < FORMS && *ret_n == 0; form++) {
        s->m = 0;
        if (numbers_of(&p->col[target]) == NULL || !add(s, p, target, step, form))
            continue;
        for (size_t k = 0; k < p->table->cols && s->m < M; k++)
            if (k != target && numbers_of(&p->col[k]) != NULL && p->col[k].use != TAB_USE_IGNORE)
                add(s, p, k, step, form);
        if (s->m < 2 || s->rows < 3 * s->m)
            continue;
        invert(s);
        *ret_n = fewest(s, 0, part);
        *ret_product = form != PLAIN;
    }
    return true;
}
