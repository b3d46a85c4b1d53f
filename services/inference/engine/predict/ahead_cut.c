/* See ahead.h: the members at one cut.
 *
 *   examples ─> history (simple forecasts) ─> the best of them, and each series' scale
 *     ─> read        own columns, what the past says, the calendar, as numbers
 *     ─> fit_member  stacks on changes against the best simple forecast, and on values
 *     ─> closed      forecast/ on each series' own grid */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/ahead_parts.h"

/* MOST: examples that a member learns from. FEW: rows below which each stands at several distances. */
enum { MOST = 20000, FEW = 1500, COPIES = 3, LEAST = 12, LONGEST = 6000, LONGEST_PERIOD = 96 };
static const double SHRINK = 3, CAP = 12, PLACE_ROWS = 10;

/* Learners of unlike kinds: the past is too short to tell which is best by much (decision 0390). */
static const tab_recipe MIXED = { .learner = { &tab_learn_boost_fast, &tab_learn_linear,
                                               &tab_learn_kernel_small, &tab_learn_forest },
                                  .n = 4,
                                  .folds = 5,
                                  .work = 1e12 };
static const tab_recipe LINEAR = { .learner = { &tab_learn_linear }, .n = 1, .folds = 5, .work = 1e12 };

typedef struct {
    tab_ahead_work *w;
    tab_arena *a; /* of this cut alone */
    tab_history *h[TAB_AHEAD_CLASSES];
    size_t histories;
    tab_moment *moment; /* (n + asked) examples, then the moments that are asked */
    size_t n, asked, kinds;
    double *simple; /* (n + asked, kinds) */
    double *scale;  /* (series + 1) */
    double *mean;   /* (series + 1) */
    double *place;  /* (LONGEST_PERIOD) by place in the period: errors there beside all */
    size_t base;
    tab_profile wide;  /* own columns of the examples, then the made ones */
    tab_values *value; /* (cols) of the asked */
    size_t cols;
} cut_work;

/* ---- examples -------------------------------------------------------------------------------- */

static bool labelled(const tab_ahead_task *t, size_t r)
{
    return t->classification ? t->label[r] != TAB_NULL : !isnan(t->y[r]);
}

/* Labelled rows up to the cut, each at a distance drawn from those that are asked. */
static bool examples(cut_work *c, double cut, const tab_moment *m, size_t n)
{
    tab_ahead_work *w = c->w;
    const tab_series *s = &w->t->asked->series;
    size_t present = 0;
    for (size_t r = 0; r < w->rows; r++)
        present += labelled(w->t, r) && w->pos[r] <= cut && s->series[r] != TAB_NULL;
    size_t copies = present < FEW && !w->t->classification ? COPIES : 1;
    double keep = present > MOST ? (double)MOST / (double)present : 1;
    c->moment = tab_arena_new_of(c->a, tab_moment, present * copies + n + 1);
    if (c->moment == NULL)
        return false;
    for (size_t r = 0; r < w->rows; r++) {
        bool in = labelled(w->t, r) && w->pos[r] <= cut && s->series[r] != TAB_NULL;
        for (size_t k = 0; in && k < copies; k++) {
            double u = tab_unit(tab_mix2(r * COPIES + k, w->t->seed ^ 0xa4ead));
            double d = w->distance[(size_t)(u * (double)w->distances)];
            if (tab_unit(tab_mix2(r, w->t->seed ^ 0x5a3)) < keep)
                c->moment[c->n++] = (tab_moment){ (uint32_t)r, s->series[r], w->pos[r], w->pos[r] - d };
        }
    }
    memcpy(c->moment + c->n, m, n * sizeof *m);
    c->asked = n;
    return true;
}

/* The past of each class's indicator, or of the values. */
static bool open_past(cut_work *c, double cut)
{
    tab_ahead_work *w = c->w;
    const tab_ahead_task *t = w->t;
    double *y = tab_arena_new_of(c->a, double, w->rows + 1);
    size_t k = t->classification ? t->classes : 1;
    k = t->classification && k == 2 ? 1 : k;
    c->histories = k < TAB_AHEAD_CLASSES ? k : TAB_AHEAD_CLASSES;
    for (size_t i = 0; y != NULL && i < c->histories; i++) {
        for (size_t r = 0; r < w->rows; r++) {
            bool in = labelled(t, r) && w->pos[r] <= cut;
            y[r] = !in ? (double)NAN : t->classification ? t->label[r] == i : w->y[r];
        }
        c->h[i] = tab_history_new(c->a, &t->asked->series, w->pos, y, w->rows);
        if (c->h[i] == NULL)
            return false;
    }
    return y != NULL;
}

/* Each series' scale, the mean absolute error of the simple forecast k, drawn to that of all in proportion to
 * how few rows it has. Gives the mean of squared errors in the series' own variation. */
static double scales(cut_work *c, size_t k, const double *unit, double *scale)
{
    size_t series = c->w->t->asked->series.n;
    double *n = calloc(series + 1, sizeof *n), all = 0, loss = 0, rows = 0;
    for (size_t s = 0; s <= series; s++)
        scale[s] = 0;
    for (size_t i = 0; n != NULL && i < c->n; i++) {
        const tab_moment *m = &c->moment[i];
        double off = fabs(c->w->y[m->row] - c->simple[i * c->kinds + k]);
        if (isnan(off))
            continue;
        scale[m->series] += off;
        n[m->series]++;
        off = fmin(off / unit[m->series], CAP);
        loss += off * off;
        rows++;
    }
    double weight = 0;
    for (size_t s = 0; n != NULL && s < series; s++)
        if (n[s] > 0 && scale[s] > 0) {
            all += n[s] * log(scale[s] / n[s] / unit[s]);
            weight += n[s];
        }
    all = weight > 0 ? all / weight : 0;
    for (size_t s = 0; n != NULL && s <= series; s++) {
        double own = n[s] > 0 && scale[s] > 0 ? log(scale[s] / n[s] / unit[s]) : all;
        scale[s] = unit[s] * exp((n[s] * own + SHRINK * all) / (n[s] + SHRINK));
    }
    free(n);
    return rows > 0 ? loss / rows : (double)INFINITY;
}

/* The variation of each series: the mean absolute change from row to row, or deviation from its mean. */
static void variations(cut_work *c, double *unit)
{
    const tab_history *h = c->h[0];
    double all = 0, n = 0;
    for (size_t s = 0; s < h->series; s++) {
        double sum = 0, off = 0;
        size_t from = h->from[s], to = h->from[s + 1];
        c->mean[s] = to > from ? h->sum[to] / (double)(to - from) : (double)NAN;
        for (size_t i = from; i < to; i++) {
            sum += i > from ? fabs(h->y[i] - h->y[i - 1]) : 0;
            off += fabs(h->y[i] - c->mean[s]);
        }
        unit[s] = to - from > 1 ? fmax(sum, off) / (double)(to - from) : 0;
        all += unit[s] > 0 ? log(unit[s]) : 0;
        n += unit[s] > 0;
    }
    double typical = n > 0 ? exp(all / n) : 1;
    for (size_t s = 0; s <= h->series; s++)
        unit[s] = s < h->series && unit[s] > 0 ? unit[s] : typical;
    c->mean[h->series] = h->rows > 0 ? 0 : (double)NAN;
    for (size_t i = 0; i < h->rows; i++)
        c->mean[h->series] += h->y[i] / (double)h->rows;
}

/* The place of a time in the first period; 0 where there is none. */
static size_t place_of(const tab_history *h, double pos)
{
    double length = h->seasons > 0 ? floor(h->season[0] + 0.5) : 1;
    if (!(length > 1) || length > LONGEST_PERIOD)
        return 0;
    double at = fmod(pos, length);
    return (size_t)(at < 0 ? at + length : at);
}

/* How errors of the best simple forecast at each place in the period lie beside those of all: a place that no
 * earlier cut judged may be worse to tell. Drawn to 1 in proportion to how few rows say so. */
static bool by_place(cut_work *c)
{
    double square[LONGEST_PERIOD] = { 0 }, n[LONGEST_PERIOD] = { 0 }, all = 0, rows = 0;
    const tab_history *h = c->h[0];
    double length = h->seasons > 0 ? h->season[0] : 0;
    c->place = tab_arena_new_of(c->a, double, LONGEST_PERIOD);
    for (size_t i = 0; c->place != NULL && i < c->n; i++) {
        const tab_moment *m = &c->moment[i];
        double off = (c->w->y[m->row] - c->simple[i * c->kinds + c->base]) / c->scale[m->series];
        if (isnan(off) || m->tau - h->pos[h->from[m->series]] < length)
            continue; /* no period lies before it */
        off = fmin(fabs(off), CAP);
        size_t k = place_of(c->h[0], m->pos);
        square[k] += off * off, n[k]++;
        all += off * off, rows++;
    }
    all = rows > 0 && all > 0 ? all / rows : 1;
    for (size_t k = 0; c->place != NULL && k < LONGEST_PERIOD; k++)
        c->place[k] = sqrt((square[k] + PLACE_ROWS * all) / ((n[k] + PLACE_ROWS) * all));
    return c->place != NULL;
}

/* Simple forecasts of all moments, the best of them, and the scales. */
static bool look_back(cut_work *c)
{
    size_t all = c->n + c->asked, series = c->w->t->asked->series.n;
    c->kinds = c->h[0]->kinds;
    c->simple = tab_arena_new_of(c->a, double, all * c->kinds + 1);
    c->scale = tab_arena_new_of(c->a, double, series + 1);
    c->mean = tab_arena_new_of(c->a, double, series + 1);
    double *unit = tab_arena_new_of(c->a, double, series + 1);
    double *own = tab_arena_new_of(c->a, double, series + 1), best = (double)INFINITY;
    if (tab_arena_full(c->a))
        return false;
    variations(c, unit);
    for (size_t i = 0; i < all; i++) {
        const tab_moment *m = &c->moment[i];
        if (tab_history_read(c->h[0], m->series, m->pos, m->tau, c->simple + i * c->kinds) == 0)
            for (size_t k = 0; k < c->kinds; k++)
                c->simple[i * c->kinds + k] = (double)NAN;
    }
    for (size_t k = 0; k < c->kinds; k++) {
        double loss = scales(c, k, unit, own);
        if (loss < best) {
            best = loss;
            c->base = k;
            memcpy(c->scale, own, (series + 1) * sizeof *own);
        }
    }
    if (!(best < (double)INFINITY))
        memcpy(c->scale, unit, (series + 1) * sizeof *unit);
    return by_place(c);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Made columns of one moment: out (made). */
static size_t made_width(const cut_work *c)
{
    size_t seasons = c->h[0]->seasons, past = c->w->t->classification ? 4 * c->histories : c->kinds;
    return 3 + 2 * seasons + past + c->w->covariates;
}

static size_t made_time(const cut_work *c)
{
    return 1 + 2 * c->h[0]->seasons; /* the first of them, which need no past */
}

static void make(const cut_work *c, size_t i, double *out)
{
    const tab_moment *m = &c->moment[i];
    const tab_history *h = c->h[0];
    const tab_ahead_work *w = c->w;
    double unit = c->scale[m->series < h->series ? m->series : h->series], past[TAB_PAST_MOST];
    size_t n = 0;
    out[n++] = m->pos;
    for (size_t s = 0; s < h->seasons; s++) {
        double turn = 2 * 3.14159265358979323846 * m->pos / h->season[s];
        out[n++] = sin(turn);
        out[n++] = cos(turn);
    }
    uint32_t before = tab_history_row(h, m->series, m->tau);
    out[n++] = before == TAB_NULL ? (double)NAN : m->pos - w->pos[before];
    out[n++] = (double)tab_history_read(h, m->series, m->pos, m->tau, past);
    if (!w->t->classification) {
        const double *own = c->simple + i * c->kinds;
        for (size_t k = 0; k < c->kinds; k++)
            out[n++] = k == c->base && before != TAB_NULL ? (own[k] - c->mean[m->series]) / unit
                                                          : (own[k] - own[c->base]) / unit;
    }
    for (size_t k = 0; w->t->classification && k < c->histories; k++) {
        bool any = tab_history_read(c->h[k], m->series, m->pos, m->tau, past) > 0;
        static const int kind[] = { TAB_PAST_LAST, TAB_PAST_SMOOTH, TAB_PAST_SLOW, TAB_PAST_MEAN };
        for (size_t j = 0; j < 4; j++)
            out[n++] = any ? past[kind[j]] : (double)NAN;
    }
    for (size_t k = 0; k < w->t->p->table->cols; k++) {
        const double *x = w->t->p->col[k].number;
        if (x == NULL)
            continue;
        if (w->lost[k])
            out[n++] = before == TAB_NULL ? (double)NAN : x[before];
        else if (w->known[k])
            out[n++] = before == TAB_NULL ? (double)NAN : x[m->row] - x[before];
    }
}

/* A column's cells at some rows. */
static bool gather(tab_arena *a, tab_column_profile *col, const tab_moment *m, size_t n)
{
    double *x = col->number == NULL ? NULL : tab_arena_new_of(a, double, n + 1);
    uint32_t *code = col->code == NULL ? NULL : tab_arena_new_of(a, uint32_t, n + 1);
    for (size_t i = 0; x != NULL && i < n; i++)
        x[i] = col->number[m[i].row];
    for (size_t i = 0; code != NULL && i < n; i++)
        code[i] = col->code[m[i].row];
    bool ok = (x != NULL || col->number == NULL) && (code != NULL || col->code == NULL);
    col->number = x, col->code = code;
    return ok;
}

/* Own and made columns of the examples as a profile, and of the asked as values. */
static bool read(cut_work *c)
{
    const tab_profile *p = c->w->t->p;
    size_t own = p->table->cols, made = made_width(c);
    c->cols = own + made;
    tab_table *t = tab_arena_new_of(c->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(c->a, tab_column, c->cols + 1);
    tab_column_profile *q = tab_arena_new_of(c->a, tab_column_profile, c->cols + 1);
    c->value = tab_arena_new_of(c->a, tab_values, c->cols + 1);
    double *at = malloc((made + 1) * sizeof *at);
    if (tab_arena_full(c->a) || at == NULL) {
        free(at);
        return false;
    }
    bool ok = true;
    for (size_t k = 0; ok && k < own; k++) {
        tab_column_profile other = q[k] = p->col[k];
        col[k] = *p->col[k].column;
        q[k].column = &col[k];
        ok = gather(c->a, &q[k], c->moment, c->n) && gather(c->a, &other, c->moment + c->n, c->asked);
        c->value[k] = tab_values_of(&other);
    }
    for (size_t k = own; ok && k < c->cols; k++) {
        double *x = tab_arena_new_of(c->a, double, c->n + 1),
               *z = tab_arena_new_of(c->a, double, c->asked + 1);
        col[k] = (tab_column){ .name = TAB_S(""), .layout = TAB_NUMBERS, .num = x };
        q[k] = (tab_column_profile){ .index = k,
                                     .column = &col[k],
                                     .type = TAB_NUMERIC,
                                     .role = p->col[0].role,
                                     .numbers = true,
                                     .present = c->n,
                                     .distinct = c->n,
                                     .number = x };
        c->value[k] = (tab_values){ .type = TAB_NUMERIC, .number = z };
        ok = x != NULL && z != NULL;
    }
    for (size_t i = 0; ok && i < c->n + c->asked; i++) {
        make(c, i, at);
        for (size_t k = 0; k < made; k++) {
            double *x = (double *)(i < c->n ? q[own + k].number : c->value[own + k].number);
            x[i < c->n ? i : i - c->n] = at[k];
        }
    }
    free(at);
    *t = (tab_table){ .id = p->table->id, .rows = c->n, .cols = c->cols, .col = col };
    c->wide = *p;
    c->wide.table = t;
    c->wide.col = q;
    return ok;
}

/* ---- members --------------------------------------------------------------------------------- */

/* Which columns a member reads: own ones, those that tell the time, those that tell the past. */
static void choose(const cut_work *c, bool past, bool *use)
{
    size_t own = c->w->t->p->table->cols;
    for (size_t k = 0; k < c->cols; k++)
        use[k] = k < own ? c->w->t->use[k] && !c->w->lost[k] : past || k < own + made_time(c);
}

/* Encoded rows of one choice of columns. */
typedef struct {
    tab_encoder *enc;
    tab_data *data, *asked;
    float *place;
} encoded;

static bool encode(cut_work *c, bool past, encoded *ret)
{
    bool *use = tab_arena_new_of(c->a, bool, c->cols + 1);
    if (use == NULL)
        return false;
    choose(c, past, use);
    ret->enc = tab_encode_fit(c->w->e, c->a, &c->wide, use, &ret->data);
    ret->place = tab_arena_new_of(c->a, float, c->n + 1);
    if (ret->enc == NULL || ret->place == NULL)
        return false;
    ret->asked = tab_encode_rows(c->w->e, c->a, ret->enc, c->value, c->asked);
    double lo = (double)INFINITY, hi = (double)-INFINITY;
    for (size_t i = 0; i < c->n; i++)
        lo = fmin(lo, c->moment[i].pos), hi = fmax(hi, c->moment[i].pos);
    for (size_t i = 0; i < c->n; i++)
        ret->place[i] = hi > lo ? (float)((c->moment[ret->data->row[i]].pos - lo) / (hi - lo)) : 0.5f;
    return ret->asked != NULL;
}

/* Fits on z (n; NaN: no example) and answers: out (asked, outputs). label: classification. */
static bool fit_member(cut_work *c, const encoded *v, const double *z, const tab_recipe *r, float *out)
{
    const tab_ahead_task *t = c->w->t;
    float *y = tab_arena_new_of(c->a, float, c->n + 1);
    uint32_t *label = tab_arena_new_of(c->a, uint32_t, c->n + 1);
    uint32_t *row = tab_arena_new_of(c->a, uint32_t, c->asked + 1);
    double n = 0, mean = 0, square = 0;
    if (tab_arena_full(c->a))
        return false;
    for (size_t i = 0; z != NULL && i < c->n; i++)
        if (!isnan(z[i])) {
            double d = z[i] - mean;
            mean += d / ++n;
            square += d * (z[i] - mean);
        }
    double sd = n > 1 && square > 0 ? sqrt(square / n) : 1;
    for (size_t i = 0; i < c->n; i++) {
        size_t at = v->data->row[i];
        y[i] = z != NULL ? (float)((z[at] - mean) / sd) : NAN;
        label[i] = t->classification ? t->label[c->moment[at].row] : TAB_NULL;
    }
    tab_problem q = { .enc = v->enc,
                      .data = v->data,
                      .label = label,
                      .y = y,
                      .place = v->place,
                      .seed = t->seed,
                      .classification = t->classification,
                      .outputs = t->classification ? t->classes : 1 };
    tab_engine own = *c->w->e;
    own.progress = NULL;
    own.arena = c->a;
    tab_stack *s = tab_stack_fit(&own, c->a, &q, r);
    for (size_t i = 0; i < c->asked; i++)
        row[i] = (uint32_t)i;
    if (s == NULL || !tab_stack_predict(s, v->enc, v->asked, row, c->asked, out))
        return false;
    for (size_t i = 0; !t->classification && i < c->asked; i++)
        out[i] = (float)(mean + sd * (double)out[i]);
    return true;
}

/* ---- closed forms ---------------------------------------------------------------------------- */

/* Forecasts of every series' grid from tau on, for the moments with that tau. */
static bool closed_at(cut_work *c, double tau, float *out)
{
    const tab_history *h = c->h[0];
    const tab_series *s = &c->w->t->asked->series;
    tab_track *track = tab_arena_new_of(c->a, tab_track, h->series + 1);
    double *start = tab_arena_new_of(c->a, double, h->series + 1), most = 0;
    size_t tracks = h->series;
    if (tab_arena_full(c->a))
        return false;
    for (size_t k = 0; k < tracks; k++) {
        size_t from = h->from[k], to = from;
        while (to < h->from[k + 1] && h->pos[to] <= tau)
            to++;
        while (from < to && h->pos[to - 1] - h->pos[from] >= LONGEST)
            from++;
        size_t n = to > from ? (size_t)(h->pos[to - 1] - h->pos[from]) + 1 : 0;
        double *y = tab_arena_new_of(c->a, double, n + 1);
        for (size_t i = 0; y != NULL && i < n; i++)
            y[i] = (double)NAN;
        for (size_t i = from; y != NULL && i < to; i++)
            y[(size_t)(h->pos[i] - h->pos[from])] = c->w->logged ? exp(h->last[i]) : h->last[i];
        track[k] = (tab_track){ y, n };
        start[k] = to > from ? h->pos[to - 1] : tau;
    }
    for (size_t i = 0; i < c->asked; i++) {
        const tab_moment *m = &c->moment[c->n + i];
        if (m->tau >= tau && m->tau <= tau && m->series < tracks)
            most = fmax(most, m->pos - start[m->series]);
    }
    size_t horizon = (size_t)fmin(fmax(most, 1), LONGEST);
    tab_forecast *f = NULL;
    tab_engine own = *c->w->e;
    own.progress = NULL;
    if (tab_arena_full(c->a) ||
        tab_forecast_make(&own, c->a, track, tracks, horizon, s->season, s->seasons, &f, NULL) != TAB_OK)
        return false;
    for (size_t i = 0; i < c->asked; i++) {
        const tab_moment *m = &c->moment[c->n + i];
        if (!(m->tau >= tau && m->tau <= tau) || m->series >= tracks)
            continue;
        double step = m->pos - start[m->series];
        size_t at = step < 1 ? 0 : step > (double)horizon ? horizon - 1 : (size_t)step - 1;
        double v = f->value[m->series * horizon + at];
        out[i] = (float)(!c->w->logged ? v : v > 0 ? log(v) : (double)NAN);
    }
    return true;
}

/* At each tau of the asked. */
static bool closed(cut_work *c, float *out)
{
    for (size_t i = 0; i < c->asked; i++)
        out[i] = NAN;
    double last = (double)-INFINITY;
    for (;;) { /* the taus in ascending order */
        double next = (double)INFINITY;
        for (size_t i = 0; i < c->asked; i++)
            if (c->moment[c->n + i].tau > last)
                next = fmin(next, c->moment[c->n + i].tau);
        if (!(next < (double)INFINITY))
            return true;
        if (!closed_at(c, next, out))
            return false;
        last = next;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Numbers: changes against the best simple forecast, values, and simple forecasts. */
static bool answer_numbers(cut_work *c, tab_ahead_answers *r)
{
    size_t n = c->asked, series = c->h[0]->series;
    double *z = tab_arena_new_of(c->a, double, c->n + 1);
    encoded past, plain;
    float *out[TAB_AHEAD_MEMBERS];
    for (size_t m = 0; m < TAB_AHEAD_MEMBERS; m++) {
        out[m] = r->out + m * n;
        /* the last value and the mean hold at the places of a period that were judged, not at others */
        bool flat = m == TAB_AHEAD_LAST || m == TAB_AHEAD_MEAN;
        r->has[m] = m != TAB_AHEAD_CLOSED && m != TAB_AHEAD_LEVEL && !(flat && c->h[0]->seasons > 0);
    }
    if (z == NULL || !encode(c, true, &past) || !encode(c, false, &plain))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        double off =
            (c->w->y[c->moment[i].row] - c->simple[i * c->kinds + c->base]) / c->scale[c->moment[i].series];
        z[i] = isnan(off) ? off : fmax(-CAP, fmin(CAP, off));
    }
    if (!fit_member(c, &past, z, &MIXED, out[TAB_AHEAD_TREES]) ||
        !fit_member(c, &past, z, &LINEAR, out[TAB_AHEAD_LINEAR]))
        return false;
    for (size_t i = 0; i < c->n; i++)
        z[i] = c->w->y[c->moment[i].row];
    if (!fit_member(c, &plain, z, &MIXED, out[TAB_AHEAD_PLAIN]))
        return false;
    r->has[TAB_AHEAD_LEVEL] = series > 1;
    for (size_t i = 0; i < c->n; i++)
        z[i] = (z[i] - c->mean[c->moment[i].series]) / c->scale[c->moment[i].series];
    if (series > 1 && !fit_member(c, &plain, z, &MIXED, out[TAB_AHEAD_LEVEL]))
        return false;
    r->has[TAB_AHEAD_CLOSED] = c->w->t->asked->series.regular;
    if (r->has[TAB_AHEAD_CLOSED] && !closed(c, out[TAB_AHEAD_CLOSED]))
        return false;
    for (size_t i = 0; i < n; i++) {
        const tab_moment *m = &c->moment[c->n + i];
        const double *simple = c->simple + (c->n + i) * c->kinds;
        size_t s = m->series < series ? m->series : series;
        bool none = s == series || isnan(simple[0]); /* no past of its own */
        double own = (double)out[TAB_AHEAD_PLAIN][i];
        r->scale[i] = c->scale[s] * c->place[place_of(c->h[0], m->pos)];
        out[TAB_AHEAD_BASE][i] = (float)(none ? own : simple[c->base]);
        out[TAB_AHEAD_LAST][i] = (float)(none ? own : simple[TAB_PAST_LAST]);
        out[TAB_AHEAD_MEAN][i] = (float)(none ? own : simple[TAB_PAST_MEAN]);
        for (size_t k = TAB_AHEAD_TREES; k <= TAB_AHEAD_LINEAR; k++)
            out[k][i] = (float)(none ? own : simple[c->base] + c->scale[s] * (double)out[k][i]);
        if (series > 1)
            out[TAB_AHEAD_LEVEL][i] =
                (float)(none ? own : c->mean[s] + c->scale[s] * (double)out[TAB_AHEAD_LEVEL][i]);
        if (r->has[TAB_AHEAD_CLOSED] && (none || isnan(out[TAB_AHEAD_CLOSED][i])))
            out[TAB_AHEAD_CLOSED][i] = out[TAB_AHEAD_BASE][i];
    }
    return true;
}

/* Log of the shares of the classes among rows of a run, half a row of each more. */
static void shares(const cut_work *c, bool recent, double cut, double *out)
{
    const tab_ahead_task *t = c->w->t;
    double n = 0;
    for (size_t k = 0; k < t->classes; k++)
        out[k] = 0.5, n += 0.5;
    for (size_t i = 0; i < c->n; i++) {
        const tab_moment *m = &c->moment[i];
        if (recent && m->pos <= cut - c->w->most)
            continue;
        out[t->label[m->row]]++, n++;
    }
    for (size_t k = 0; k < t->classes; k++)
        out[k] /= n;
}

/* Classes: shares of all rows and of the last ones, the row's own columns, and with the past of its series. */
static bool answer_classes(cut_work *c, double cut, tab_ahead_answers *r)
{
    size_t n = c->asked, k = c->w->t->classes;
    encoded past, plain;
    double *all = tab_arena_new_of(c->a, double, k + 1), *recent = tab_arena_new_of(c->a, double, k + 1);
    if (tab_arena_full(c->a) || !encode(c, true, &past) || !encode(c, false, &plain))
        return false;
    shares(c, false, cut, all);
    shares(c, true, cut, recent);
    for (size_t i = 0; i < n; i++) {
        const tab_moment *m = &c->moment[c->n + i];
        r->scale[i] = 1;
        for (size_t j = 0; j < k; j++) {
            r->out[(TAB_AHEAD_SHARES * n + i) * k + j] = (float)log(all[j]);
            r->out[(TAB_AHEAD_RECENT * n + i) * k + j] = (float)log(recent[j]);
        }
        (void)m;
    }
    for (size_t m = 0; m < TAB_AHEAD_CLASS_MEMBERS; m++)
        r->has[m] = true;
    return fit_member(c, &plain, NULL, &MIXED, r->out + TAB_AHEAD_OWN * n * k) &&
           fit_member(c, &past, NULL, &MIXED, r->out + TAB_AHEAD_PAST * n * k);
}

bool tab_ahead_cut(tab_ahead_work *w, double cut, const tab_moment *m, size_t n, tab_ahead_answers *ret)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)8 << 30);
    cut_work c = { .w = w, .a = own };
    size_t members = w->t->classification ? TAB_AHEAD_CLASS_MEMBERS : TAB_AHEAD_MEMBERS;
    size_t outputs = w->t->classification ? w->t->classes : 1;
    *ret = (tab_ahead_answers){ .n = n, .outputs = outputs, .members = members, .moment = m };
    ret->out = tab_arena_new_of(w->a, float, members *n *outputs + 1);
    ret->scale = tab_arena_new_of(w->a, double, n + 1);
    if (own == NULL || tab_arena_full(w->a) || !examples(&c, cut, m, n) || !open_past(&c, cut))
        return false;
    if (c.n < LEAST)
        return true;
    c.kinds = c.h[0]->kinds;
    if (!w->t->classification && !look_back(&c))
        return false;
    if (w->t->classification) {
        c.scale = tab_arena_new_of(own, double, w->t->asked->series.n + 1);
        if (c.scale == NULL)
            return false;
    }
    if (!read(&c))
        return false;
    return w->t->classification ? answer_classes(&c, cut, ret) : answer_numbers(&c, ret);
}
