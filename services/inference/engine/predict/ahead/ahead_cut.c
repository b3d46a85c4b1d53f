/* See ahead.h: the members at one cut.
 *
 *   learn    ahead_past.c   examples ─> simple forecasts ─> the best of them, and each series' scale
 *     ─> read        own columns, what the past says, the calendar, as numbers
 *     ─> fit_member  stacks on changes against the best simple forecast, and on values
 *   answer   answer_member, and closed: forecast/ on each series' own grid
 *
 * later.c keeps what was learned, to answer rows that nobody has sent yet. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/ahead/ahead_parts.h"

/* LARGE: examples above which boosted trees and lines are enough, at a fifth of the time; an endpoint is
 * fitted
 * once and asked often. LONGEST: steps of a series that closed forms read. By hand. */
enum { LONGEST = 6000, LARGE = 6000 };

/* Learners of unlike kinds: the past is too short to tell which is best by much (decision 0390). */
static const tab_recipe MIXED = { .learner = { &tab_learn_boost_fast, &tab_learn_linear,
                                               &tab_learn_kernel_small, &tab_learn_forest },
                                  .n = 4,
                                  .folds = 5,
                                  .work = 1e12 };
static const tab_recipe FAST = {
    .learner = { &tab_learn_boost_fast, &tab_learn_linear }, .n = 2, .folds = 3, .work = 1e12
};
static const tab_recipe LINEAR = { .learner = { &tab_learn_linear }, .n = 1, .folds = 5, .work = 1e12 };

/* ---- columns --------------------------------------------------------------------------------- */

size_t tab_ahead_made(const tab_ahead_view *c)
{
    size_t seasons = c->h[0]->seasons, past = c->w->t->classification ? 4 * c->histories : c->kinds;
    return 3 + 2 * seasons + past + c->w->covariates;
}

static size_t made_time(const tab_ahead_view *c)
{
    return 1 + 2 * c->h[0]->seasons; /* the first of them, which need no past */
}

void tab_ahead_make(const tab_ahead_view *c, size_t i, double *out)
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
    out[n++] = before == TAB_NULL ? (double)NAN : m->pos - c->pos[before];
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
    for (size_t k = 0; k < w->cols; k++) {
        if (w->lost[k])
            out[n++] = before == TAB_NULL ? (double)NAN : c->before[k][before];
        else if (w->known[k])
            out[n++] = before == TAB_NULL ? (double)NAN : c->at[k][m->row] - c->before[k][before];
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
static bool read(tab_ahead_view *c)
{
    const tab_profile *p = c->w->t->p;
    size_t own = p->table->cols, made = tab_ahead_made(c);
    c->cols = own + made;
    c->pos = c->w->pos;
    c->at = c->before = tab_arena_new_of(c->a, const double *, own + 1);
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
        c->at[k] = p->col[k].number;
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
        tab_ahead_make(c, i, at);
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

/* Which columns a member reads: own ones; those that tell the time, too; and those that tell the past. */
typedef enum { OWN, TIME, PAST } reads;

/* Encoded rows of one choice of columns. */
typedef struct {
    tab_encoder *enc;
    tab_data *data;
    float *place;
} encoded;

static bool encode(tab_ahead_view *c, reads what, encoded *ret)
{
    size_t own = c->w->t->p->table->cols, until = own + (what == TIME ? made_time(c) : 0);
    bool *use = tab_arena_new_of(c->a, bool, c->cols + 1);
    if (use == NULL)
        return false;
    for (size_t k = 0; k < c->cols; k++)
        use[k] = k < own ? c->w->t->use[k] && !c->w->lost[k] : what == PAST || k < until;
    ret->enc = tab_encode_fit(c->w->e, c->keep, &c->wide, use, &ret->data);
    ret->place = tab_arena_new_of(c->a, float, c->n + 1);
    if (ret->enc == NULL || ret->place == NULL)
        return false;
    double lo = (double)INFINITY, hi = (double)-INFINITY;
    for (size_t i = 0; i < c->n; i++)
        lo = fmin(lo, c->moment[i].pos), hi = fmax(hi, c->moment[i].pos);
    for (size_t i = 0; i < c->n; i++)
        ret->place[i] = hi > lo ? (float)((c->moment[ret->data->row[i]].pos - lo) / (hi - lo)) : 0.5f;
    return true;
}

/* Fits on z (n; NaN: no example), or on the classes where it is NULL. */
static bool fit_member(tab_ahead_view *c, const encoded *v, const double *z, const tab_recipe *r,
                       tab_ahead_model *ret)
{
    const tab_ahead_task *t = c->w->t;
    float *y = tab_arena_new_of(c->keep, float, c->n + 1);
    uint32_t *label = tab_arena_new_of(c->keep, uint32_t, c->n + 1);
    double n = 0, mean = 0, square = 0;
    if (tab_arena_full(c->keep))
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
    *ret = (tab_ahead_model){ v->enc, tab_stack_fit(&own, c->keep, &q, r), mean, sd };
    return ret->stack != NULL;
}

/* Numbers: changes against the best simple forecast, and values. */
static bool fit_numbers(tab_ahead_view *c)
{
    const tab_recipe *mixed = c->n > LARGE && !c->w->t->served ? &FAST : &MIXED;
    const double *y = c->w->y;
    double *z = tab_arena_new_of(c->a, double, c->n + 1);
    encoded past, plain, own;
    if (z == NULL || !encode(c, PAST, &past) || !encode(c, TIME, &plain))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        const tab_moment *m = &c->moment[i];
        double off = (y[m->row] - c->simple[i * c->kinds + c->base]) / c->scale[m->series];
        z[i] = isnan(off) ? off : fmax(-TAB_AHEAD_FAR, fmin(TAB_AHEAD_FAR, off));
    }
    if (!fit_member(c, &past, z, mixed, &c->model[TAB_AHEAD_TREES]) ||
        !fit_member(c, &past, z, &LINEAR, &c->model[TAB_AHEAD_LINEAR]))
        return false;
    /* of a row that stands at several distances one example says what its own columns do */
    for (size_t i = 0; i < c->n; i++) {
        bool again = i > 0 && c->w->plain != NULL && c->moment[i].row == c->moment[i - 1].row;
        z[i] = again ? (double)NAN : y[c->moment[i].row];
        z[i] = c->w->plain != NULL && c->w->logged ? exp(z[i]) : z[i];
    }
    if (c->w->plain != NULL &&
        !(c->plain_elsewhere ||
          (encode(c, OWN, &own) && fit_member(c, &own, z, c->w->plain, &c->model[TAB_AHEAD_PLAIN]))))
        return false;
    if (c->w->plain == NULL && !fit_member(c, &plain, z, mixed, &c->model[TAB_AHEAD_PLAIN]))
        return false;
    for (size_t i = 0; i < c->n; i++)
        z[i] = (y[c->moment[i].row] - c->mean[c->moment[i].series]) / c->scale[c->moment[i].series];
    return c->h[0]->series <= 1 || fit_member(c, &plain, z, mixed, &c->model[TAB_AHEAD_LEVEL]);
}

/* The shares of the classes among rows of a run, half a row of each more. */
static void shares(const tab_ahead_view *c, bool recent, double cut, double *out)
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

/* Classes: shares of all rows and of the last ones, the row's own columns, and with the past of its
 * series. */
static bool fit_classes(tab_ahead_view *c, double cut)
{
    const tab_recipe *mixed = c->n > LARGE && !c->w->t->served ? &FAST : &MIXED;
    encoded past, plain;
    for (size_t k = 0; k < 2; k++)
        c->share[k] = tab_arena_new_of(c->keep, double, c->w->t->classes + 1);
    if (tab_arena_full(c->keep) || !encode(c, PAST, &past) || !encode(c, c->w->plain ? OWN : TIME, &plain))
        return false;
    shares(c, false, cut, c->share[0]);
    shares(c, true, cut, c->share[1]);
    const tab_recipe *r = c->w->plain != NULL ? c->w->plain : mixed;
    return (c->plain_elsewhere || fit_member(c, &plain, NULL, r, &c->model[TAB_AHEAD_OWN])) &&
           fit_member(c, &past, NULL, mixed, &c->model[TAB_AHEAD_PAST]);
}

static bool fit(tab_ahead_view *c, double cut)
{
    return read(c) && (c->w->t->classification ? fit_classes(c, cut) : fit_numbers(c));
}

/* ---- closed forms ---------------------------------------------------------------------------- */

bool tab_ahead_close(tab_ahead_view *c, double tau, size_t horizon)
{
    const tab_history *h = c->h[0];
    const tab_series *s = &c->w->t->asked->series;
    tab_track *track = tab_arena_new_of(c->a, tab_track, h->series + 1);
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
    }
    tab_forecast *f = NULL;
    tab_engine own = *c->w->e;
    own.progress = NULL;
    c->closed = tab_arena_new_of(c->keep, float, tracks *horizon + 1);
    c->horizon = horizon;
    if (tab_arena_full(c->a) || c->closed == NULL ||
        tab_forecast_make(&own, c->a, track, tracks, horizon, s->season, s->seasons, &f, NULL) != TAB_OK)
        return false;
    for (size_t i = 0; i < tracks * horizon; i++)
        c->closed[i] = (float)(!c->w->logged     ? f->value[i]
                               : f->value[i] > 0 ? log(f->value[i])
                                                 : (double)NAN);
    return true;
}

/* The closed form of a moment; beyond the last one that of whole periods before, and what its line adds. */
static float closed_at(const tab_ahead_view *c, const tab_moment *m)
{
    const float *v = c->closed + m->series * c->horizon;
    double step = tab_ahead_steps(c, m), most = (double)c->horizon;
    if (step <= most)
        return v[step < 1 ? 0 : (size_t)step - 1];
    double length = c->h[0]->seasons > 0 ? c->h[0]->season[0] : 1;
    length = length >= 1 && length < most ? length : 1;
    double back = ceil((step - most) / length) * length;
    size_t at = (size_t)fmax(0, step - back - 1), span = (size_t)(floor((most - 1) / length) * length);
    double slope = span > 0 ? (double)(v[c->horizon - 1] - v[c->horizon - 1 - span]) / (double)span : 0;
    return (float)((double)v[at] + back * slope);
}

/* At each tau of the asked, or as they are kept. */
static bool closed(tab_ahead_view *c, float *out)
{
    size_t series = c->h[0]->series;
    double last = (double)-INFINITY;
    for (size_t i = 0; i < c->asked; i++) {
        const tab_moment *m = &c->moment[c->n + i];
        out[i] = c->closed != NULL && m->series < series ? closed_at(c, m) : NAN;
    }
    while (c->closed == NULL) { /* the taus in ascending order */
        double next = (double)INFINITY, most = 1;
        for (size_t i = 0; i < c->asked; i++)
            if (c->moment[c->n + i].tau > last)
                next = fmin(next, c->moment[c->n + i].tau);
        if (!(next < (double)INFINITY))
            return true;
        last = next;
        for (size_t i = 0; i < c->asked; i++) {
            const tab_moment *m = &c->moment[c->n + i];
            if (m->tau >= next && m->tau <= next && m->series < series)
                most = fmax(most, tab_ahead_steps(c, m));
        }
        bool ok = tab_ahead_close(c, next, (size_t)fmin(most, LONGEST));
        for (size_t i = 0; ok && i < c->asked; i++) {
            const tab_moment *m = &c->moment[c->n + i];
            if (m->tau >= next && m->tau <= next && m->series < series)
                out[i] = closed_at(c, m);
        }
        c->closed = NULL;
        if (!ok)
            return false;
    }
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The asked rows as one encoder reads them, the last of which is kept at hand. */
typedef struct {
    const tab_encoder *enc;
    tab_data *data;
} asked_rows;

/* What a member says of the asked: out (asked, outputs). */
static bool answer_member(const tab_ahead_view *c, const tab_ahead_model *m, asked_rows *d, float *out)
{
    const tab_ahead_task *t = c->w->t;
    uint32_t *row = tab_arena_new_of(c->a, uint32_t, c->asked + 1);
    if (d->enc != m->enc)
        d->data = tab_encode_rows(c->w->e, c->a, m->enc, c->value, c->asked), d->enc = m->enc;
    if (row == NULL || d->data == NULL)
        return false;
    for (size_t i = 0; i < c->asked; i++)
        row[i] = (uint32_t)i;
    if (!tab_stack_predict(m->stack, m->enc, d->data, row, c->asked, out))
        return false;
    for (size_t i = 0; !t->classification && i < c->asked; i++)
        out[i] = (float)(m->mean + m->sd * (double)out[i]);
    return true;
}

/* Keeps all members within `far` of the best simple forecast: a member that reads no scale of a series may be
 * millions off in a small one, and were it to weigh a millionth, so would be the mean. */
static void hold(tab_ahead_answers *r, size_t i, double far)
{
    double base = (double)r->out[TAB_AHEAD_BASE * r->n + i];
    for (size_t m = 0; m < r->members; m++) {
        float *out = &r->out[m * r->n + i];
        *out = r->has[m] ? (float)fmax(base - far, fmin(base + far, (double)*out)) : *out;
    }
}

/* A level that is the mean of n values is off by its own error, too: by 1 / n of their variance. The last
 * value alone is not such a mean. */
static double level_error(const tab_ahead_view *c, const tab_moment *m)
{
    size_t n = c->base == TAB_PAST_LAST ? 0 : tab_history_rows(c->h[0], m->series, m->tau);
    return n > 0 ? sqrt(1 + 1 / (double)n) : 1;
}

/* Numbers: changes against the best simple forecast, values, and simple forecasts. */
static bool answer_numbers(tab_ahead_view *c, tab_ahead_answers *r)
{
    size_t n = c->asked, series = c->h[0]->series;
    float *out[TAB_AHEAD_MEMBERS];
    asked_rows rows = { 0 };
    for (size_t m = 0; m < TAB_AHEAD_MEMBERS; m++) {
        out[m] = r->out + m * n;
        /* the last value and the mean hold at the places of a period that were judged, not at others */
        bool flat = m == TAB_AHEAD_LAST || m == TAB_AHEAD_MEAN;
        r->has[m] = m != TAB_AHEAD_CLOSED && m != TAB_AHEAD_LEVEL && !(flat && c->h[0]->seasons > 0);
        if (c->model[m].stack != NULL && !answer_member(c, &c->model[m], &rows, out[m]))
            return false;
    }
    if (c->plain != NULL)
        memcpy(out[TAB_AHEAD_PLAIN], c->plain, n * sizeof *c->plain);
    for (size_t i = 0; i < n && c->w->logged && (c->plain != NULL || c->w->plain != NULL); i++)
        out[TAB_AHEAD_PLAIN][i] = (float)log(fmax((double)out[TAB_AHEAD_PLAIN][i], exp(c->w->least - 1)));
    r->has[TAB_AHEAD_LEVEL] = series > 1;
    r->has[TAB_AHEAD_CLOSED] = c->regular;
    if (r->has[TAB_AHEAD_CLOSED] && !closed(c, out[TAB_AHEAD_CLOSED]))
        return false;
    for (size_t i = 0; i < n; i++) {
        const tab_moment *m = &c->moment[c->n + i];
        const double *simple = c->simple + (c->n + i) * c->kinds;
        size_t s = m->series < series ? m->series : series;
        bool none = s == series || isnan(simple[0]); /* no past of its own */
        double own = (double)out[TAB_AHEAD_PLAIN][i];
        r->scale[i] = c->scale[s] * c->place[tab_ahead_place(c->h[0]->season, c->h[0]->seasons, m->pos)] *
                      level_error(c, m);
        r->distance[i] = tab_ahead_steps(c, m);
        out[TAB_AHEAD_BASE][i] = (float)(none ? own : simple[c->base]);
        out[TAB_AHEAD_LAST][i] = (float)(none ? own : simple[TAB_PAST_LAST]);
        out[TAB_AHEAD_MEAN][i] = (float)(none ? own : simple[TAB_PAST_MEAN]);
        size_t line = c->h[0]->seasons > 0 ? TAB_PAST_PLAIN + TAB_PAST_SLOPED : TAB_PAST_LINE;
        out[TAB_AHEAD_LINE][i] = (float)(none ? own : simple[line]);
        for (size_t k = TAB_AHEAD_TREES; k <= TAB_AHEAD_LINEAR; k++)
            out[k][i] = (float)(none ? own : simple[c->base] + c->scale[s] * (double)out[k][i]);
        if (series > 1)
            out[TAB_AHEAD_LEVEL][i] =
                (float)(none ? own : c->mean[s] + c->scale[s] * (double)out[TAB_AHEAD_LEVEL][i]);
        /* the last values, or the last one and what the season adds to it */
        size_t stays = c->h[0]->seasons > 0 ? TAB_PAST_PLAIN + TAB_PAST_CHANGE : TAB_PAST_THREE;
        r->moved[i] = !none && c->moved != NULL && c->moved[s] ? simple[stays] : (double)NAN;
        if (r->has[TAB_AHEAD_CLOSED] && (none || isnan(out[TAB_AHEAD_CLOSED][i])))
            out[TAB_AHEAD_CLOSED][i] = out[TAB_AHEAD_BASE][i];
        hold(r, i, TAB_AHEAD_FAR * c->scale[s]);
    }
    tab_ahead_unlived(c, r);
    return true;
}

/* The class of the last row of a moment's series; TAB_NULL: it has none. */
static uint32_t class_before(const tab_ahead_view *c, const tab_moment *m)
{
    uint32_t row = tab_history_row(c->h[0], m->series, m->tau);
    return row == TAB_NULL ? TAB_NULL : c->w->t->label[row];
}

/* The part of the last class in the mixture with the shares that makes the examples likeliest, by expectation
 * and maximization; *ret. False: the arena is full. */
static bool persistence(tab_ahead_view *c, double *ret)
{
    enum { ROUNDS = 50 };
    double n = 0, *same = tab_arena_new_of(c->a, double, c->w->t->classes + 1);
    if (same == NULL)
        return false;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t last = class_before(c, &c->moment[i]), own = c->w->t->label[c->moment[i].row];
        n += last != TAB_NULL;
        same[own] += last == own;
    }
    *ret = 0.5;
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0;
        for (size_t k = 0; k < c->w->t->classes; k++)
            sum += same[k] * *ret / (*ret + (1 - *ret) * c->share[0][k]);
        *ret = n > 0 ? sum / n : 0;
    }
    return true;
}

static bool answer_classes(tab_ahead_view *c, tab_ahead_answers *r)
{
    size_t n = c->asked, k = c->w->t->classes;
    asked_rows rows = { 0 };
    if (c->w->t->label != NULL) { /* served rows are judged by nobody */
        if (!persistence(c, &r->stays))
            return false;
        for (size_t i = 0; i < n; i++)
            r->last[i] = class_before(c, &c->moment[c->n + i]);
    }
    for (size_t i = 0; i < n; i++) {
        r->scale[i] = 1;
        for (size_t j = 0; j < k; j++) {
            r->out[(TAB_AHEAD_SHARES * n + i) * k + j] = (float)log(c->share[0][j]);
            r->out[(TAB_AHEAD_RECENT * n + i) * k + j] = (float)log(c->share[1][j]);
        }
    }
    for (size_t m = 0; m < TAB_AHEAD_CLASS_MEMBERS; m++) {
        r->has[m] = true;
        if (c->model[m].stack != NULL && !answer_member(c, &c->model[m], &rows, r->out + m * n * k))
            return false;
    }
    if (c->plain != NULL)
        memcpy(r->out + TAB_AHEAD_OWN * n * k, c->plain, n * k * sizeof *c->plain);
    return true;
}

bool tab_ahead_members(tab_ahead_view *c, tab_ahead_answers *r)
{
    return c->w->t->classification ? answer_classes(c, r) : answer_numbers(c, r);
}

bool tab_ahead_learn(tab_ahead_view *c, double cut, const tab_moment *m, size_t n)
{
    const tab_ahead_work *w = c->w;
    if (!tab_ahead_examples(c, cut, m, n) || !tab_ahead_past(c, cut))
        return false;
    if (c->n < TAB_AHEAD_LEAST)
        return true;
    c->kinds = c->h[0]->kinds;
    c->regular = w->t->asked->series.regular;
    if (!w->t->classification && !tab_ahead_look_back(c))
        return false;
    if (w->t->classification && (c->scale = tab_arena_new_of(c->keep, double, c->h[0]->series + 1)) == NULL)
        return false;
    return fit(c, cut);
}

bool tab_ahead_room(tab_arena *a, const tab_ahead_task *t, const tab_moment *m, size_t n,
                    tab_ahead_answers *ret)
{
    size_t members = t->classification ? TAB_AHEAD_CLASS_MEMBERS : TAB_AHEAD_MEMBERS;
    size_t outputs = t->classification ? t->classes : 1;
    *ret = (tab_ahead_answers){ .n = n, .outputs = outputs, .members = members, .moment = m };
    ret->out = tab_arena_new_of(a, float, members *n *outputs + 1);
    ret->scale = tab_arena_new_of(a, double, n + 1);
    double **of[] = { &ret->moved, &ret->low, &ret->high, &ret->instead };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        *of[k] = tab_arena_new_of(a, double, n + 1);
        for (size_t i = 0; *of[k] != NULL && i < n; i++)
            (*of[k])[i] = (double)NAN;
    }
    ret->more = tab_arena_new_of(a, double, n + 1);
    ret->distance = tab_arena_new_of(a, double, n + 1);
    ret->last = tab_arena_new_of(a, uint32_t, n + 1);
    return !tab_arena_full(a);
}

/* Which of the judged rows are of a class that no row up to the cut is of, and how often rows before it were.
 * False: memory. */
static bool tell_novel(tab_ahead_work *w, double cut, tab_ahead_answers *r)
{
    const tab_ahead_task *t = w->t;
    double *first = malloc((t->classes + 1) * sizeof *first);
    r->novel = tab_arena_new_of(w->a, bool, r->n + 1);
    bool ok = first != NULL && r->novel != NULL &&
              tab_novelty_of(w->pos, t->label, w->rows, cut, w->most, t->classes, first, &r->novelty);
    for (size_t i = 0; ok && i < r->n; i++) {
        uint32_t class = t->label[r->moment[i].row];
        r->novel[i] = class != TAB_NULL && !isfinite(first[class]);
    }
    free(first);
    return ok;
}

bool tab_ahead_cut(tab_ahead_work *w, double cut, const tab_moment *m, size_t n, tab_ahead_answers *ret)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)8 << 30);
    tab_ahead_view c = { .w = w, .a = own, .keep = own };
    if (own == NULL || !tab_ahead_room(w->a, w->t, m, n, ret) || !tab_ahead_learn(&c, cut, m, n))
        return false;
    if (c.n < TAB_AHEAD_LEAST)
        return true;
    bool ok = w->t->classification ? tell_novel(w, cut, ret) : tab_ahead_past_errors(&c, ret);
    return ok && tab_ahead_members(&c, ret);
}
