/* See truncated.h.
 *
 * Two models of which rows lack their number are held against each other, both given the rows' locations m:
 *
 *   cut off     what is known ends at c, the farthest known number. m is then the mean of what lies below c,
 *               m = mu - s phi(a) / Phi(a) with a = (c - mu) / s (Tobin, Econometrica 1958), which gives mu;
 *               the number is missing with 1 - Phi(a). s: the errors where locations are farthest from c
 *   anything    a logistic function of m, the best that there is
 *
 * The first has nothing to choose. Where numbers are missing for another reason that goes along with m it
 * calls rows impossible that are there, and is far worse than the second; at a bound that the number has by
 * nature (a share, a mark) as well. On 25 tables, 11 of them public, cells were taken away in eight ways:
 * LEAST parts the ways that cut off from all others (decision 0710).
 *
 * The missing numbers are then those of a normal tail beyond c that holds the missing share and goes on as
 * the known numbers next to it do. Within it rows stand in the order of their locations as far as the last
 * known rows do, as many as are missing (a Gaussian copula). */
#include "services/inference/engine/predict/asked/truncated.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/normal.h"

/* LEAST_KNOWN, LEAST_ASKED: fewer tell nothing. MOST: rows that the models are held against each other on.
 * SURE: standard errors by which missing rows' locations lie to one side. LEAST: see above; SHORT: known rows
 * whose errors would carry them beyond the end. With a twentieth and without SHORT one group that is noisier
 * and larger than others was taken for cut off. NEXT: the share of the known numbers that the tail goes on
 * from; 0.15 and 0.5 cover as much. STEPS: points of a distribution. By hand where nothing is said. */
enum { LEAST_KNOWN = 50, LEAST_ASKED = 10, MOST = 20000, STEPS = 40, HALVINGS = 50, ROUNDS = 30 };
static const double SURE = 4, LEAST = 0.2, SHORT = 3, NEXT = 0.2, IMPOSSIBLE = 1e-6, FARTHEST = 6;

typedef struct {
    double x;
    size_t at;
} ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    if (p->x < q->x || p->x > q->x)
        return p->x < q->x ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

/* rank (n): from 1 on, those that are equal alike. room (n). */
static void rank_all(const double *x, size_t n, ranked *room, double *rank)
{
    for (size_t i = 0; i < n; i++)
        room[i] = (ranked){ x[i], i };
    qsort(room, n, sizeof *room, by_value);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && !(room[i].x < room[j].x); j++)
            ;
        for (size_t r = i; r < j; r++)
            rank[room[r].at] = (double)(i + j + 1) / 2;
    }
}

/* By how many standard errors the asked locations lie above the known ones (Mann & Whitney 1947). */
static double side(const double *m, size_t n, size_t k, ranked *room, double *rank)
{
    double sum = 0, of = (double)n * (double)k;
    rank_all(m, n + k, room, rank);
    for (size_t i = n; i < n + k; i++)
        sum += rank[i];
    double share = (sum - (double)k * (double)(k + 1) / 2) / of;
    return (share - 0.5) / sqrt((double)(n + k + 1) / (12 * of));
}

/* The mean of a normal number whose mean below c is m. */
static double untruncated(double m, double c, double s)
{
    double low = fmin(m, c), high = c + FARTHEST * s;
    for (int i = 0; i < HALVINGS; i++) {
        double mu = (low + high) / 2, a = (c - mu) / s;
        if (mu - s * tab_normal_density(a) / tab_normal_below(a) > m)
            high = mu;
        else
            low = mu;
    }
    return (low + high) / 2;
}

/* The log-likelihood of which of n + k rows, whose locations are m, are missing (the last k): as those beyond
 * c are. */
static double cut_off(const double *m, size_t n, size_t k, double c, double s)
{
    double sum = 0;
    for (size_t i = 0; i < n + k; i++) {
        double a = (c - untruncated(m[i], c, s)) / s;
        sum += log(fmax(tab_normal_below(i < n ? a : -a), IMPOSSIBLE));
    }
    return sum;
}

/* The greatest one of a logistic function of m, by Newton's method. */
static double logistic(const double *m, size_t n, size_t k)
{
    double mean = 0, square = 0, all = (double)(n + k), b = log((double)k / (double)n), w = 0,
           best = (double)-INFINITY;
    for (size_t i = 0; i < n + k; i++)
        mean += m[i] / all;
    for (size_t i = 0; i < n + k; i++)
        square += (m[i] - mean) * (m[i] - mean) / all;
    double sd = square > 0 ? sqrt(square) : 1;
    for (int round = 0; round < ROUNDS; round++) {
        double loss = 0, gb = 0, gw = 0, hbb = 1e-6, hbw = 0, hww = 1e-6;
        for (size_t i = 0; i < n + k; i++) {
            double x = (m[i] - mean) / sd, p = 1 / (1 + exp(-(b + w * x)));
            loss += log(fmax(i < n ? 1 - p : p, 1e-12));
            gb += (i >= n) - p, gw += ((i >= n) - p) * x;
            hbb += p * (1 - p), hbw += p * (1 - p) * x, hww += p * (1 - p) * x * x;
        }
        best = fmax(best, loss);
        double det = hbb * hww - hbw * hbw;
        if (!(det > 0))
            break;
        b += (hww * gb - hbw * gw) / det, w += (hbb * gw - hbw * gb) / det;
    }
    return best;
}

/* What is looked at: both turned so that the end is the greatest number. */
typedef struct {
    double *y, *m; /* (n), (n + k): the missing rows' locations behind the known ones' */
    size_t n, k;
    double *sorted; /* (n) of y */
    double *rank;   /* (n + k) room */
    ranked *room;   /* (n + k) */
} sample;

/* The root mean square of the errors of the half of the known rows that lies farthest from the end. */
static double error_far_off(const sample *s)
{
    double square = 0, count = 0;
    for (size_t i = 0; i < s->n; i++)
        s->sorted[i] = s->m[i];
    qsort(s->sorted, s->n, sizeof *s->sorted, tab_ascending_double);
    double middle = s->sorted[s->n / 2];
    for (size_t i = 0; i < s->n; i++)
        if (s->m[i] <= middle)
            square += (s->y[i] - s->m[i]) * (s->y[i] - s->m[i]), count++;
    return sqrt(square / count);
}

/* How much better than one share for all the first model tells which rows are missing, as a part of what the
 * second gains; *gain: the first one's a row. */
static double borne_out(const sample *s, double *gain)
{
    double error = error_far_off(s), end = -INFINITY, n = (double)s->n, k = (double)s->k, all = n + k;
    *gain = -INFINITY;
    for (size_t i = 0; i < s->n; i++)
        end = fmax(end, s->y[i]);
    if (!(error > 0) || !isfinite(error))
        return -INFINITY;
    double beyond = 0;
    for (size_t i = 0; i < s->n; i++)
        beyond += tab_normal_below((s->m[i] - end) / error);
    if (beyond < SHORT)
        return -INFINITY;
    double plain = n * log(n / all) + k * log(k / all), most = logistic(s->m, s->n, s->k) - plain,
           own = cut_off(s->m, s->n, s->k, end, error) - plain;
    *gain = own / all;
    return most > 0 ? own / most : (double)-INFINITY;
}

static double score_of(double rank, size_t n)
{
    assert(rank >= 1 && rank <= (double)n);
    return tab_normal_quantile((rank - 0.5) / (double)n);
}

/* The rank correlation of numbers and locations, by normal scores, among the last rows, as many as are
 * missing. NaN: memory. */
static double follows(const sample *s)
{
    size_t last = s->k < s->n / 2 ? s->k : s->n / 2;
    double from = s->sorted[s->n - last], ret = NAN, *of = calloc(4 * s->n + 1, sizeof *of);
    if (of != NULL) {
        double *y = of, *m = y + s->n, *ry = m + s->n, *rm = ry + s->n, yy = 0, mm = 0, ym = 0;
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++)
            if (s->y[i] >= from)
                y[n] = s->y[i], m[n++] = s->m[i];
        rank_all(y, n, s->room, ry);
        rank_all(m, n, s->room, rm);
        for (size_t i = 0; i < n; i++) {
            double u = score_of(ry[i], n), v = score_of(rm[i], n);
            yy += u * u, mm += v * v, ym += u * v;
        }
        ret = yy > 0 && mm > 0 ? fmax(0, ym / sqrt(yy * mm)) : 0;
    }
    free(of);
    return isnan(ret) ? ret : fmin(ret, 0.99);
}

/* The tail beyond the end, and where the missing rows stand in it. False: memory. */
static bool go_on(const sample *s, tab_truncation *t, double *score)
{
    size_t next = (size_t)(NEXT * (double)s->n) > LEAST_ASKED ? (size_t)(NEXT * (double)s->n) : LEAST_ASKED;
    double all = (double)(s->n + s->k);
    for (size_t i = 0; i < s->n; i++)
        s->sorted[i] = s->y[i];
    qsort(s->sorted, s->n, sizeof *s->sorted, tab_ascending_double);
    t->known = (double)s->n / all;
    assert(next < s->n && t->known > 0 && t->known < 1);
    double span = s->sorted[s->n - 1] - s->sorted[s->n - 1 - next];
    t->deviation = span / (tab_normal_quantile(t->known) - tab_normal_quantile((double)(s->n - next) / all));
    t->follows = follows(s);
    rank_all(s->m + s->n, s->k, s->room, s->rank);
    for (size_t i = 0; i < s->k; i++)
        score[i] = score_of(s->rank[i], s->k);
    return !isnan(t->follows);
}

/* The numbers as they are looked at: turned, and as logarithms, of which a location that is no positive
 * number has that of half the least. */
static void look(const double *y, const double *m, size_t n, const double *asked, size_t k, bool above,
                 bool logs, double least, sample *s)
{
    double turn = above ? 1 : -1;
    for (size_t i = 0; i < n; i++)
        s->y[i] = turn * (logs ? log(y[i]) : y[i]);
    for (size_t i = 0; i < n + k; i++) {
        double v = i < n ? m[i] : asked[i - n];
        s->m[i] = turn * (logs ? log(fmax(v, least / 2)) : v);
    }
}

/* Whether the sample of every step-th row is cut off on the side, and of what its logarithms say more. */
static bool is_cut_off(const double *y, const double *m, size_t n, const double *asked, size_t k, sample *s,
                       tab_truncation *t)
{
    double least = INFINITY, gain[2] = { -INFINITY, -INFINITY }, part[2];
    for (size_t i = 0; i < n; i++)
        least = fmin(least, y[i]);
    for (int logs = 0; logs <= (least > 0 ? 1 : 0); logs++) {
        look(y, m, n, asked, k, t->above, logs > 0, least, s);
        part[logs] = borne_out(s, &gain[logs]);
    }
    t->logs = gain[1] > gain[0];
    look(y, m, n, asked, k, t->above, t->logs, least, s);
    t->gain = gain[t->logs];
    return isfinite(t->gain) && part[t->logs] > LEAST;
}

/* Room for n + k rows. False: memory; it is to be freed all the same. */
static bool make_room(size_t n, size_t k, sample *ret)
{
    *ret = (sample){ .y = malloc((n + 1) * sizeof *ret->y),
                     .m = malloc((n + k + 1) * sizeof *ret->m),
                     .sorted = malloc((n + 1) * sizeof *ret->sorted),
                     .rank = malloc((n + k + 1) * sizeof *ret->rank),
                     .room = malloc((n + k + 1) * sizeof *ret->room) };
    return ret->y != NULL && ret->m != NULL && ret->sorted != NULL && ret->rank != NULL && ret->room != NULL;
}

static void free_room(sample *s)
{
    free(s->y);
    free(s->m);
    free(s->sorted);
    free(s->rank);
    free(s->room);
}

/* Every step-th of x (n), which stand by hash: a fair sample. */
static size_t thin(const double *x, size_t n, size_t step, double *ret)
{
    size_t some = 0;
    for (size_t i = 0; i < n; i += step)
        ret[some++] = x[i];
    return some;
}

/* Whether rows are cut off, told by a sample of them. part (2 n + k): room. */
static bool told(const double *y, const double *m, size_t n, const double *asked, size_t k, double *part,
                 sample *s, tab_truncation *ret)
{
    size_t step = (n + k + MOST - 1) / MOST;
    double *of_y = part, *of_m = part + n, *of_asked = part + 2 * n;
    s->n = thin(y, n, step, of_y);
    s->k = thin(asked, k, step, of_asked);
    thin(m, n, step, of_m);
    look(of_y, of_m, s->n, of_asked, s->k, true, false, 0, s);
    double lie = side(s->m, s->n, s->k, s->room, s->rank);
    ret->above = lie > 0;
    return fabs(lie) > SURE && is_cut_off(of_y, of_m, s->n, of_asked, s->k, s, ret);
}

double tab_truncation_by_column(const tab_data *d, const bool *known, const bool *missing)
{
    double best = 0;
    for (size_t j = 0; j < d->n; j++) {
        double count[256][2] = { { 0 } }, all[2] = { 0 }, gain = 0, bins = 0;
        for (size_t i = 0; i < d->rows; i++)
            if (known[i] || missing[i])
                count[d->bin[j][i]][missing[i]]++, all[missing[i]]++;
        double n = all[0] + all[1];
        if (all[0] == 0 || all[1] == 0)
            return 0;
        for (size_t b = 0; b < 256; b++) {
            double of = count[b][0] + count[b][1];
            bins += of > 0;
            for (int c = 0; c < 2; c++)
                if (count[b][c] > 0)
                    gain += count[b][c] * log(count[b][c] / of * n / all[c]);
        }
        best = fmax(best, (gain - (bins - 1) * log(n) / 2) / n);
    }
    return best;
}

bool tab_truncation_find(const double *y, const double *m, size_t n, const double *asked, size_t k,
                         bool whole, double *score, tab_truncation *ret)
{
    *ret = (tab_truncation){ 0 };
    if (n < LEAST_KNOWN || k < LEAST_ASKED)
        return true;
    sample s;
    double *part = malloc((2 * n + k + 1) * sizeof *part), least = INFINITY, most = (double)-INFINITY;
    for (size_t i = 0; i < n; i++)
        least = fmin(least, y[i]), most = fmax(most, y[i]);
    bool ok = make_room(n, k, &s) && part != NULL;
    if (ok && least < most && told(y, m, n, asked, k, part, &s, ret)) {
        s.n = n, s.k = k;
        look(y, m, n, asked, k, ret->above, ret->logs, least, &s);
        ret->end = ret->above ? most : least;
        if (whole) /* of those at the end some may be missing */
            ret->end -= ret->above ? 0.5 : ret->logs && least <= 1 ? 0 : -0.5;
        ok = go_on(&s, ret, score);
    }
    free_room(&s);
    free(part);
    return ok;
}

double tab_truncation_quantile(const tab_truncation *t, double score, double tau)
{
    double turn = t->above ? 1 : -1, end = turn * (t->logs ? log(t->end) : t->end);
    /* within the tail, as far out as the row's score leaves open */
    double z = t->follows * score +
               sqrt(1 - t->follows * t->follows) * tab_normal_quantile(t->above ? tau : 1 - tau);
    double from = tab_normal_quantile(t->known), left = (1 - t->known) * tab_normal_below(-z);
    double v = turn * (end + t->deviation * (-tab_normal_quantile(fmax(left, 1e-12)) - from));
    return t->logs ? exp(fmin(v, 700)) : v;
}

void tab_truncation_moments(const tab_truncation *t, double score, double *mean, double *deviation)
{
    double sum = 0, square = 0;
    for (int i = 0; i < STEPS; i++) {
        double v = tab_truncation_quantile(t, score, (i + 0.5) / STEPS);
        sum += v / STEPS;
    }
    for (int i = 0; i < STEPS; i++) {
        double off = tab_truncation_quantile(t, score, (i + 0.5) / STEPS) - sum;
        square += off * off / STEPS;
    }
    *mean = sum, *deviation = sqrt(square);
}

double tab_truncation_within(const tab_truncation *t, double score, double v, double off)
{
    int in = 0;
    for (int i = 0; i < STEPS; i++)
        in += fabs(tab_truncation_quantile(t, score, (i + 0.5) / STEPS) - v) <= off;
    return (double)in / STEPS;
}
