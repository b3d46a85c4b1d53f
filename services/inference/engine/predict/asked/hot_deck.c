/* See hot_deck.h. Fitted rows stand in the order of their hashes, so that the first ones are a fair sample:
 * those of them that are closest by what the row does have are its donors, and give all that it lacks
 * together. */
#include "services/inference/engine/predict/asked/hot_deck.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* SELDOM: of fewer fitted rows with a gap nothing is learned. DECK: rows that may be donors; DONORS: rows
 * that are. By hand. */
enum { SELDOM = 20, DECK = 256, DONORS = 16 };

typedef struct {
    double off;
    uint32_t row;
} donor;

static bool labelled(const tab_fitted *f, size_t i)
{
    return f->problem.classification ? f->problem.label[i] != TAB_NULL : !isnan(f->problem.y[i]);
}

bool tab_hot_deck_fit(tab_fitted *f)
{
    f->seldom = tab_arena_new_of(f->arena, bool, f->enc->n + 1);
    for (size_t j = 0; f->seldom != NULL && j < f->enc->n; j++) {
        size_t gaps = 0;
        for (size_t i = 0; i < f->data->rows && gaps < SELDOM; i++)
            gaps += labelled(f, i) && tab_data_lacks(f->data, j, i);
        f->seldom[j] = gaps < SELDOM;
    }
    return f->seldom != NULL;
}

static bool any_gap(const tab_fitted *f, const tab_data *d, size_t row)
{
    for (size_t j = 0; j < f->enc->n; j++)
        if (f->seldom[j] && tab_data_lacks(d, j, row))
            return true;
    return false;
}

/* How far fitted row i is from the row by what both have; infinite: it has a gap where the row has one. */
static double apart(const tab_fitted *f, const tab_data *d, size_t row, size_t i)
{
    double sum = 0;
    for (size_t j = 0; j < f->enc->n; j++) {
        bool lacks = tab_data_lacks(d, j, row), other = tab_data_lacks(f->data, j, i);
        if (lacks && f->seldom[j] && other)
            return INFINITY;
        if (lacks || other)
            sum += lacks == other || f->seldom[j] ? 0 : 1;
        else if (d->code[j] != NULL)
            sum += d->code[j][row] != f->data->code[j][i];
        else
            sum += fabs((double)d->bin[j][row] - (double)f->data->bin[j][i]) / (double)TAB_BINS;
    }
    return sum;
}

static int by_distance(const void *a, const void *b)
{
    const donor *x = a, *y = b;
    if (x->off < y->off || x->off > y->off)
        return x->off < y->off ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static size_t find_donors(const tab_fitted *f, const tab_data *d, size_t row, donor *ret)
{
    donor all[DECK];
    size_t n = 0;
    for (size_t i = 0; i < f->data->rows && n < DECK; i++) {
        if (!labelled(f, i))
            continue;
        all[n] = (donor){ apart(f, d, row, i), (uint32_t)i };
        n += isfinite(all[n].off);
    }
    qsort(all, n, sizeof *all, by_distance);
    n = n < DONORS ? n : DONORS;
    memcpy(ret, all, n * sizeof *ret);
    return n;
}

/* The row once for each donor, with what it lacks from there. NULL: memory. */
static tab_data *filled(tab_arena *a, const tab_fitted *f, const tab_data *d, size_t row, const donor *of,
                        size_t n)
{
    tab_data *q = tab_data_new(a, f->enc, n);
    for (size_t j = 0; q != NULL && j < f->enc->n; j++)
        for (size_t k = 0; k < n; k++) {
            bool lacks = f->seldom[j] && tab_data_lacks(d, j, row);
            const tab_data *from = lacks ? f->data : d;
            size_t at = lacks ? of[k].row : row;
            if (q->x[j] != NULL)
                q->x[j][k] = from->x[j][at];
            else
                q->code[j][k] = from->code[j][at];
            q->bin[j][k] = from->bin[j][at];
        }
    return q;
}

/* The mean of n answers: of probabilities, as their logarithms, or of numbers. */
static void mean_answer(const tab_fitted *f, const float *answer, size_t n, float *out, float *ret_more)
{
    size_t outputs = f->stack->outputs;
    assert(n > 0 && n <= DONORS);
    for (size_t o = 0; o < outputs; o++) {
        double sum = 0, square = 0;
        for (size_t k = 0; k < n; k++) {
            double v = (double)answer[k * outputs + o];
            sum += f->problem.classification ? exp(v) : v;
            square += v * v;
        }
        double mean = sum / (double)n;
        out[o] = (float)(f->problem.classification ? log(fmax(mean, 1e-12)) : mean);
        if (!f->problem.classification)
            *ret_more += (float)fmax(0, square / (double)n - mean * mean);
    }
}

bool tab_hot_deck_answer(const tab_fitted *f, const tab_data *d, size_t row, float *out, float *ret_more)
{
    donor of[DONORS];
    uint32_t which[DONORS];
    size_t n = any_gap(f, d, row) ? find_donors(f, d, row, of) : 0;
    if (n == 0)
        return true;
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    if (a == NULL)
        return false;
    tab_data *q = filled(a, f, d, row, of, n);
    float *answer = tab_arena_new_of(a, float, n * f->stack->outputs);
    for (size_t k = 0; k < n; k++)
        which[k] = (uint32_t)k;
    if (q == NULL || answer == NULL || !tab_stack_predict(f->stack, f->enc, q, which, n, answer))
        return false;
    mean_answer(f, answer, n, out, ret_more);
    return true;
}

bool tab_hot_deck_mark(tab_arena *a, const tab_fitted *f, tab_scoring *s, uint32_t *doubt)
{
    Tabella__Prediction *m = s->m;
    for (size_t j = 0; f->seldom != NULL && j < f->enc->n; j++) {
        bool any = false;
        for (size_t r = 0; f->seldom[j] && r < s->d->rows; r++)
            if (tab_data_lacks(s->d, j, r) && doubt[r] == 0)
                doubt[r] = (uint32_t)m->n_doubts + 1, any = true;
        tab_str column = f->column[f->enc->f[j].source].address;
        if (any &&
            (m->doubts[m->n_doubts++] = tab_arena_printf(
                 a,
                 "%.*s is empty, unlike in almost all rows seen in fitting; the prediction averages over the "
                 "values of similar rows",
                 TAB_STR(column))) == NULL)
            return false;
    }
    return true;
}
