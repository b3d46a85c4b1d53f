/* See intervals.h. What is to be chosen follows from one length: the SPAN of rows within which coverage shall
 * hold. It is the ring's length, the horizon of DtACI's regret (its equation for eta, its share 1 / 2 SPAN),
 * and its steps are DtACI's: powers of two from 0.001 on.
 *
 * Why scores and not widths: a model that says how unsure it is of each row is worth keeping. Thresholds
 * scale each row's own quantiles, so a row that was said to be twice as unsure stays so. Why many experts: no
 * step is right for a world that stands still and for one that moves. Expert 0 never moves: where the model
 * was right all along, it wins, and what is served is what the model says.
 *
 * What holds after each outcome:
 *
 *   - `sorted` is `score`, ascending; both hold N finite scores, at most FARTHEST from 0.
 *   - A level is in [0, 1], the weights of a level sum to 1, and none is less than share / K: whichever
 *     expert becomes right is heard again within some hundred rows.
 *   - What is served is ascending, at[0] <= at[1] <= at[2].
 *   - The steps are bounded by 1 / e (delay + 1): late outcomes make intervals slow, never swinging.
 *
 * What is claimed: over any SPAN rows coverage is near its level, whatever the world does, on average over
 * rows; not for a given row, nor within groups of rows (services/inference/engine/predict/interval does what
 * can be done there). The offset is for what a mean of experts owes: each of them keeps its level in the long
 * run, their mean need not. Tests hold it against a twin written from the equations. */
#include "common/calibration/intervals.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"

enum { N = TAB_BANDS_SCORES, LEVELS = TAB_BANDS_LEVELS, K = TAB_BANDS_EXPERTS, SPAN = TAB_BANDS_SCORES };
static const double level_of[LEVELS] = { 0.1, 0.5, 0.9 }, STEP = 0.001, FARTHEST = 1e6, OFFSET_MOST = 0.5,
                    TENTH = 1.2815515655446004;

#define STATIC(x)              \
    {                          \
        x, x, x, x, x, x, x, x \
    }
const tab_bands tab_bands_static = { .expert = { STATIC(-1), STATIC(0), STATIC(1) }, .at = { -1, 0, 1 } };

/* ---- scores ---------------------------------------------------------------------------------- */

/* How many of the first n are below x. */
static size_t below(const float *sorted, size_t n, double x)
{
    size_t at = 0;
    while (n > 0) {
        size_t half = n / 2;
        bool right = (double)sorted[at + half] < x;
        at += right ? half + 1 : 0;
        n = right ? n - half - 1 : half;
    }
    return at;
}

static double rank_of(const tab_bands_state *s, double x)
{
    return ((double)below(s->sorted, N, x) + 0.5) / (N + 1);
}

/* Score at a level; of levels at the ends the outermost one. */
static double score_at(const tab_bands_state *s, double level)
{
    double x = fmin(fmax(level * (N + 1) - 1, 0), N - 1), i = fmin(floor(x), N - 2);
    size_t k = (size_t)i;
    return (double)s->sorted[k] + (x - i) * (double)(s->sorted[k + 1] - s->sorted[k]);
}

static double normal_at(double p)
{
    double low = -8, high = 8;
    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;
        if (0.5 * erfc(-mid / sqrt(2)) < p)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void sort(tab_bands_state *s)
{
    memcpy(s->sorted, s->score, sizeof s->sorted);
    qsort(s->sorted, N, sizeof *s->sorted, tab_ascending_float);
}

static void put_score(tab_bands_state *s, float score)
{
    size_t out = below(s->sorted, N, (double)s->score[s->next]);
    memmove(s->sorted + out, s->sorted + out + 1, (N - 1 - out) * sizeof *s->sorted);
    size_t in = below(s->sorted, N - 1, (double)score);
    memmove(s->sorted + in + 1, s->sorted + in, (N - 1 - in) * sizeof *s->sorted);
    s->sorted[in] = s->score[s->next] = score;
    s->next = (s->next + 1) % N;
}

/* ---- experts --------------------------------------------------------------------------------- */

void tab_bands_begin(tab_bands_state *s)
{
    *s = (tab_bands_state){ 0 };
    for (size_t i = 0; i < N; i++) { /* the golden section: whatever part is left is spread evenly */
        double p = fmod(((double)i + 0.5) * 0.6180339887498949, 1);
        s->score[i] = (float)(normal_at(fmin(fmax(p, 0.5 / N), 1 - 0.5 / N)) / TENTH);
    }
    sort(s);
    for (size_t t = 0; t < LEVELS; t++)
        for (size_t k = 0; k < K; k++) {
            s->level[t][k] = level_of[t];
            s->weight[t][k] = 1.0 / K;
        }
}

bool tab_bands_restore(tab_bands_state *s)
{
    bool ok = s->next < N;
    for (size_t i = 0; i < N; i++)
        ok = ok && fabs((double)s->score[i]) <= FARTHEST;
    for (size_t t = 0; t < LEVELS; t++) {
        double sum = 0;
        for (size_t k = 0; k < K; k++) {
            ok = ok && s->level[t][k] >= 0 && s->level[t][k] <= 1 && s->weight[t][k] >= 0;
            sum += s->weight[t][k];
        }
        ok = ok && fabs(sum - 1) < 1e-6 && fabs(s->offset[t]) <= OFFSET_MOST;
    }
    if (ok)
        sort(s);
    return ok;
}

void tab_bands_of(const tab_bands_state *s, tab_bands *ret)
{
    *ret = tab_bands_static;
    for (size_t t = 0; t < LEVELS; t++) {
        ret->at[t] = s->weight[t][0] * (double)ret->expert[t][0];
        for (size_t k = 1; k < K; k++) {
            ret->expert[t][k] = (float)score_at(s, s->level[t][k]);
            ret->at[t] += s->weight[t][k] * (double)ret->expert[t][k];
        }
    }
    for (size_t t = 0; t < LEVELS; t++) {
        double rank = rank_of(s, ret->at[t]);
        ret->at[t] += score_at(s, rank + s->offset[t]) - score_at(s, rank);
    }
    ret->at[0] = fmin(ret->at[0], ret->at[1]);
    ret->at[2] = fmax(ret->at[2], ret->at[1]);
}

/* DtACI's rate for a level whose losses have this second moment. */
static double rate(double level)
{
    double miss = 1 - level;
    double moment = miss * miss * level * level * level + level * level * miss * miss * miss;
    return sqrt(3.0 / SPAN) * sqrt((log(2.0 * K * SPAN) + 2) / moment);
}

static void judge(tab_bands_state *s, size_t t, const float served[K], double score)
{
    double sum = 0, rank = rank_of(s, score), eta = rate(level_of[t]), share = 0.5 / SPAN;
    for (size_t k = 0; k < K; k++) {
        double off = rank - rank_of(s, (double)served[k]);
        s->weight[t][k] *= exp(-eta * (off < 0 ? (level_of[t] - 1) * off : level_of[t] * off));
        sum += s->weight[t][k];
    }
    for (size_t k = 0; k < K; k++)
        s->weight[t][k] = (1 - share) * s->weight[t][k] / sum + share / K;
}

/* So small that over SPAN rows chance alone hardly moves it: by a third of the tails. */
static double offset_step(double delay)
{
    return level_of[0] / sqrt(SPAN) / (delay + 1);
}

void tab_bands_tell(tab_bands_state *s, const float served[LEVELS][K], const bool below_served[LEVELS],
                    double score, uint64_t delay)
{
    double most = 1 / (M_E * ((double)delay + 1));
    score = fmin(fmax(score, -FARTHEST), FARTHEST);
    for (size_t t = 0; t < LEVELS; t++) {
        judge(s, t, served[t], score);
        s->offset[t] += offset_step((double)delay) * (level_of[t] - below_served[t]);
        s->offset[t] = fmin(fmax(s->offset[t], -OFFSET_MOST), OFFSET_MOST);
        for (size_t k = 1; k < K; k++) {
            double step = fmin(ldexp(STEP, (int)k - 1), most);
            double miss = level_of[t] - (score <= (double)served[t][k]);
            s->level[t][k] = fmin(fmax(s->level[t][k] + step * miss, 0), 1);
        }
    }
    put_score(s, (float)score);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool has_width(double low, double median, double high)
{
    return isfinite(low) && isfinite(high) && low <= median && median <= high && low < high;
}

/* Score of what lies d >= 0 from the median on a side of that width. A side may have none, where the model
 * ends its quantiles at the largest value that it knows: beyond it the other side's width counts. */
static double score_of(double d, double width, double other)
{
    return width > 0 ? d / width : d > 0 ? 1 + d / other : 0;
}

static double distance_of(double score, double width, double other)
{
    return width > 0 ? score * width : fmax(score - 1, 0) * other;
}

static double place(double low, double median, double high, double x)
{
    double left = median - low, right = high - median;
    return x < median ? -score_of(median - x, left, right) : score_of(x - median, right, left);
}

bool tab_bands_score(double low, double median, double high, double value, double *ret)
{
    if (!has_width(low, median, high) || !isfinite(value))
        return false;
    *ret = fmin(fmax(place(low, median, high, value), -FARTHEST), FARTHEST);
    return true;
}

double tab_bands_move(const double at[LEVELS], double low, double median, double high, double x, int end)
{
    if (!has_width(low, median, high) || !isfinite(x) || (at[0] == -1 && at[1] == 0 && at[2] == 1))
        return x;
    double left = median - low, right = high - median, u = place(low, median, high, x);
    if (u == 0 && ((end < 0 && !(left > 0)) || (end > 0 && !(right > 0))))
        u = end;
    double v = at[1] + (u < 0 ? u * (at[1] - at[0]) : u * (at[2] - at[1]));
    return v < 0 ? median - distance_of(-v, left, right) : median + distance_of(v, right, left);
}
