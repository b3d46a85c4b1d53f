#include "services/inference/engine/evaluate/answer_quality.h"

#include <math.h>
#include <string.h>

#include "services/inference/engine/evaluate/slice.h"
#include "services/inference/engine/message.h"

/* LEAST: known rows from which on anything is said. BINS: of confidences; THIN: rows of a bin that says
 * something. MOST_CLASSES: of more, telling each row's costs more than it says. By hand. */
enum { LEAST = 20, BINS = 10, THIN = 3, MOST_CLASSES = 200 };

static Tabella__Calibration *point(tab_arena *a, double said, double was, size_t rows)
{
    Tabella__Calibration *c = tab_message(a, Tabella__Calibration, TABELLA__CALIBRATION__INIT);
    if (c != NULL) {
        c->said = said;
        c->was = was;
        c->rows = rows;
    }
    return c;
}

bool tab_calibration_classes(tab_arena *a, const double *confidence, const double *error, size_t n,
                             Tabella__Calibration ***ret, size_t *ret_n)
{
    struct {
        double said, right;
        size_t rows;
    } bin[BINS] = { 0 };
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)(confidence[i] * BINS);
        k = k < BINS ? k : BINS - 1;
        bin[k].said += confidence[i];
        bin[k].right += 1 - error[i];
        bin[k].rows++;
    }
    *ret = tab_arena_new_of(a, Tabella__Calibration *, BINS);
    *ret_n = 0;
    for (size_t k = 0; *ret != NULL && k < BINS; k++)
        if (bin[k].rows >= THIN) {
            double rows = (double)bin[k].rows;
            if (((*ret)[*ret_n] = point(a, bin[k].said / rows, bin[k].right / rows, bin[k].rows)) == NULL)
                return false;
            (*ret_n)++;
        }
    return *ret != NULL;
}

bool tab_calibration_quantiles(tab_arena *a, const double *truth, const Tabella__Prediction *m,
                               const Tabella__Results *r, size_t n, Tabella__Calibration ***ret,
                               size_t *ret_n)
{
    size_t levels = m->n_quantile_levels;
    *ret = tab_arena_new_of(a, Tabella__Calibration *, levels + 1);
    *ret_n = 0;
    for (size_t l = 0; *ret != NULL && n > 0 && l < levels; l++) {
        size_t below = 0;
        for (size_t i = 0; i < r->n_row; i++)
            below += truth[i] <= r->quantiles[i * levels + l];
        (*ret)[*ret_n] = point(a, m->quantile_levels[l], (double)below / (double)n, n);
        if ((*ret)[(*ret_n)++] == NULL)
            return false;
    }
    return *ret != NULL;
}

uint32_t *tab_truth_of(tab_arena *a, const tab_column *target, size_t rows, const Tabella__Column *classes,
                       size_t count)
{
    uint32_t *truth = tab_arena_new_of(a, uint32_t, rows + 1);
    for (size_t i = 0; truth != NULL && i < rows; i++) {
        tab_cell v = tab_cell_at(target, i);
        /* a cell of no class stays at `classes` */
        truth[i] = (uint32_t)count;
        for (size_t k = 0; k < count; k++) {
            /* classes travel as a column: numbers as doubles, texts by code, each the run of level_text that
             * ends at level_end[code] */
            if (!classes->coded) {
                double x;
                memcpy(&x, classes->numbers.data + 8 * k, 8);
                if (v.kind == TAB_CELL_NUMBER && v.num == x)
                    truth[i] = (uint32_t)k;
                continue;
            }
            uint32_t code, from = 0, to;
            memcpy(&code, classes->codes.data + 4 * k, 4);
            if (code > 0)
                memcpy(&from, classes->level_end.data + 4 * (code - 1), 4);
            memcpy(&to, classes->level_end.data + 4 * code, 4);
            tab_str text = { (const char *)classes->level_text.data + from, to - from };
            char buf[32];
            tab_str own = v.text;
            if (v.kind == TAB_CELL_NUMBER && own.n == 0)
                own = (tab_str){ buf, tab_number_text(v.num, buf) };
            if (classes->level_kind.data[code] == v.kind && tab_str_eq(own, text))
                truth[i] = (uint32_t)k;
        }
    }
    return truth;
}

/* The judged rows: which they are, and in the order of the table the error of each. */
typedef struct {
    bool *known;   /* (rows) */
    double *error; /* (rows), by row; then (n) */
    double *truth; /* (results) numbers, or NaN */
    double *sure;  /* (n) confidences, as the results come */
    double *missed;
    size_t n;
} judged;

static bool judge_classes(tab_arena *a, const tab_profile *p, size_t target, const Tabella__Results *r,
                          Tabella__Prediction *m, judged *j)
{
    size_t k = r->n_probabilities / r->n_row, most = 0;
    if (k > MOST_CLASSES || m->classes == NULL)
        return true;
    const uint32_t *truth = tab_truth_of(a, &p->table->col[target], p->table->rows, m->classes, k);
    size_t *count = tab_arena_new_of(a, size_t, k + 1);
    if (truth == NULL || count == NULL)
        return false;
    for (size_t i = 0; i < r->n_row; i++) {
        uint32_t y = truth[r->row[i]];
        if (y == k || j->known[r->row[i]])
            continue; /* no target, or a mark that stands for none */
        j->known[r->row[i]] = true;
        j->sure[j->n] = r->probabilities[i * k + r->label[i]];
        j->error[r->row[i]] = j->missed[j->n] = r->label[i] != y;
        most = ++count[y] > most ? count[y] : most;
        j->n++;
    }
    m->baseline = j->n > 0 ? 1 - (double)most / (double)j->n : 0;
    return true;
}

static bool judge_numbers(tab_arena *a, const tab_profile *p, size_t target, const Tabella__Results *r,
                          Tabella__Prediction *m, judged *j)
{
    tab_column_profile c = p->col[target];
    bool number = false;
    double mean = 0, square = 0; /* Welford, Technometrics 1962: of the truths so far */
    if (!tab_view_as_number(a, &c, p->table->rows, &number))
        return false;
    for (size_t i = 0; i < r->n_row; i++) {
        double y = number ? c.number[r->row[i]] : (double)NAN;
        j->truth[i] = y;
        if (isnan(y) || j->known[r->row[i]])
            continue;
        j->known[r->row[i]] = true;
        j->error[r->row[i]] = (y - r->value[i]) * (y - r->value[i]);
        j->n++;
        double off = y - mean;
        mean += off / (double)j->n;
        square += off * (y - mean);
    }
    m->baseline = j->n > 0 ? sqrt(square / (double)j->n) : 0;
    if (!isfinite(m->baseline))
        m->baseline = 0;
    return true;
}

bool tab_answer_quality(const tab_engine *e, const tab_profile *p, uint32_t table, size_t target,
                        const Tabella__Results *r, Tabella__Prediction *m)
{
    tab_arena *a = e->arena;
    r = r != NULL ? r : m->results;
    size_t rows = p->table->rows, n = 0;
    if (r == NULL || target >= p->table->cols || (r->n_label == 0 && r->n_value == 0))
        return true;
    bool misses = r->n_label > 0;
    judged j = { .known = tab_arena_new_of(a, bool, rows + 1),
                 .error = tab_arena_new_of(a, double, rows + 1),
                 .truth = tab_arena_new_of(a, double, r->n_row + 1),
                 .sure = tab_arena_new_of(a, double, r->n_row + 1),
                 .missed = tab_arena_new_of(a, double, r->n_row + 1) };
    if (tab_arena_full(a))
        return false;
    if (!(misses ? judge_classes(a, p, target, r, m, &j) : judge_numbers(a, p, target, r, m, &j)))
        return false;
    if (j.n < LEAST)
        return true;
    double all = 0;
    for (size_t i = 0; i < rows; i++) /* the errors move up to those of the known rows, in their order */
        if (j.known[i])
            all += j.error[n++] = j.error[i];
    m->judged = n;
    m->error = misses ? all / (double)n : sqrt(all / (double)n);
    if (!isfinite(m->error))
        m->error = 0; /* squares beyond a double: nothing is told by slice either */
    else if (tab_slices(a, p, j.known, target, j.error, misses ? -1 : m->error, table, &m->slices,
                        &m->n_slices) == NULL)
        return false;
    return misses ? tab_calibration_classes(a, j.sure, j.missed, n, &m->calibration, &m->n_calibration)
                  : tab_calibration_quantiles(a, j.truth, m, r, n, &m->calibration, &m->n_calibration);
}
