/* See anomaly_cut.h. Without a word from the caller, the k highest rows are called anomalies where they are
 * more than the rows below them let expect. Heights of ordinary rows fall off exponentially, or a little
 * slower: how fast is read below the k, between the 3k-th and the 9k-th highest row, so that the anomalies
 * have no say in it, and is nowhere faster than in the middle of all rows. Of all k the one is taken at which
 * the rows above are the most more than PRICE times the ordinary ones expected there (an empirical null:
 * Efron, Journal of the American Statistical Association, 2004). Where the scores hold nothing more, no row
 * is an anomaly. Measured in decision 0418. */
#include "services/inference/engine/predict/anomaly/anomaly_cut.h"

#include <assert.h>
#include <math.h>

/* NEAR and FAR: the ranks between which the fall is read, in k; SHALLOW: FAR is at least such a rank. */
enum { NEAR = 3, FAR = 9, SHALLOW = 60 };
/* FROM and TO: the middle of the rows. TENTH: at most so many are anomalies, unasked. A row that would be
 * there anyway costs PRICE that would not. FLATTEST: the least standard deviations in which ordinary rows
 * fall to 1/e, for tables whose middle rows are alike. LEAST: more than half a row. */
static const double FROM = 0.5, TO = 0.8, TENTH = 0.1, PRICE = 2, FLATTEST = 0.25, LEAST = 0.5;

/* The score above which a share of the rows lies. Rows alike score alike: where the share would cut through
 * more of them than as many again, all of them are left out (decision 0180). */
static double at_share(double share, const float *score, size_t rows)
{
    assert(share >= 0 && share <= 1);
    size_t at = (size_t)((1 - share) * (double)rows), most = 2 * (rows - at);
    if (at >= rows) /* none */
        return fmin(1, (double)score[rows - 1] + 1e-6);
    size_t first = at;
    while (first > 0 && score[first - 1] >= score[at])
        first--;
    if (rows - first <= most && first > 0)
        return (double)score[at];
    for (first = at; first < rows && score[first] <= score[at];)
        first++;
    return first < rows ? (double)score[first] : fmin(1, (double)score[at] + 1e-6);
}

/* The mean of the detectors' readings that a score was made of (anomaly.c). */
static double height(double score)
{
    double q = fmin(2 * score - 1, 1 - 1e-9);
    return q / sqrt(1 - q * q);
}

/* The height of the row of that rank, 0 the highest. */
static double ranked(const float *score, size_t rows, size_t rank)
{
    return height((double)score[rows - 1 - rank]);
}

static double as_told(const float *score, size_t rows)
{
    double best = LEAST, ret = fmin(1, (double)score[rows - 1] + 1e-6);
    size_t most = (size_t)(TENTH * (double)rows);
    double middle = height((double)score[(size_t)(TO * (double)rows)]) -
                    height((double)score[(size_t)(FROM * (double)rows)]);
    double flattest = fmax(FLATTEST, middle / log((1 - FROM) / (1 - TO)));
    for (size_t k = 1; k <= most; k++) {
        size_t near = NEAR * k, far = FAR * k > SHALLOW ? FAR * k : SHALLOW;
        near = near < rows / 2 ? near : rows / 2;
        far = far < rows * 7 / 10 ? far : rows * 7 / 10;
        if (score[rows - k] <= score[rows - k - 1] || far <= near)
            continue; /* rows alike stand on one side */
        double from = ranked(score, rows, near), fall = (from - ranked(score, rows, far));
        double scale = fmax(flattest, fall / log((double)far / (double)near));
        double ordinary = (double)near * exp((from - ranked(score, rows, k - 1)) / scale);
        if ((double)k - PRICE * ordinary > best)
            best = (double)k - PRICE * ordinary, ret = (double)score[rows - k];
    }
    return ret;
}

void tab_anomaly_cut_find(tab_anomaly_cut cut, const float *score, size_t rows, double *ret_threshold,
                          double *ret_share)
{
    assert(rows > 0);
    for (size_t i = 1; i < rows; i++)
        assert(!(score[i - 1] > score[i])); /* ascending */
    *ret_threshold = cut.by == TAB_CUT_THRESHOLD ? cut.value
                     : cut.by == TAB_CUT_SHARE   ? at_share(cut.value, score, rows)
                                                 : as_told(score, rows);
    size_t first = rows;
    while (first > 0 && (double)score[first - 1] >= *ret_threshold)
        first--;
    *ret_share = (double)(rows - first) / (double)rows;
}
