/* See ahead.h: the members at one cut.
 *
 *   ahead_past.c   examples ─> simple forecasts ─> the best of them, and each series' scale
 *     ─> read        own columns, what the past says, the calendar, as numbers
 *     ─> fit_member  stacks on changes against the best simple forecast, and on values
 *     ─> closed      forecast/ on each series' own grid */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/ahead_parts.h"

/* LEAST: examples that a member learns from. LARGE: above so many boosted trees and lines
 * are enough, at a fifth of the time. LONGEST: steps of a series that closed forms read. By hand. */
enum { LEAST = 12, LONGEST = 6000, LARGE = 6000 };

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

/* Made columns of one moment: out (made). */
static size_t made_width(const tab_ahead_view *c)
{
    size_t seasons = c->h[0]->seasons, past = c->w->t->classification ? 4 * c->histories : c->kinds;
    return 3 + 2 * seasons + past + c->w->covariates;
}

static size_t made_time(const tab_ahead_view *c)
{
    return 1 + 2 * c->h[0]->seasons; /* the first of them, which need no past */
}

static void make(const tab_ahead_view *c, size_t i, double *out)
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
static bool read(tab_ahead_view *c)
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
static void choose(const tab_ahead_view *c, bool past, bool *use)
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

static bool encode(tab_ahead_view *c, bool past, encoded *ret)
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
static bool fit_member(tab_ahead_view *c, const encoded *v, const double *z, const tab_recipe *r, float *out)
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
static bool closed_at(tab_ahead_view *c, double tau, float *out)
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
static bool closed(tab_ahead_view *c, float *out)
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

/* Numbers: changes against the best simple forecast, values, and simple forecasts. */
static bool answer_numbers(tab_ahead_view *c, tab_ahead_answers *r)
{
    size_t n = c->asked, series = c->h[0]->series;
    double *z = tab_arena_new_of(c->a, double, c->n + 1);
    encoded past, plain;
    const tab_recipe *mixed = c->n > LARGE ? &FAST : &MIXED;
    float *out[TAB_AHEAD_MEMBERS];
    for (size_t m = 0; m < TAB_AHEAD_MEMBERS; m++) {
        out[m] = r->out + m * n;
        /* the last value and the mean hold at the places of a period that were judged, not at others */
        bool flat = m == TAB_AHEAD_LAST || m == TAB_AHEAD_MEAN;
        r->has[m] = m != TAB_AHEAD_CLOSED && m != TAB_AHEAD_LEVEL && !(flat && c->h[0]->seasons > 0);
    }
    if (z == NULL || !tab_ahead_past_errors(c, r) || !encode(c, true, &past) || !encode(c, false, &plain))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        double off =
            (c->w->y[c->moment[i].row] - c->simple[i * c->kinds + c->base]) / c->scale[c->moment[i].series];
        z[i] = isnan(off) ? off : fmax(-TAB_AHEAD_FAR, fmin(TAB_AHEAD_FAR, off));
    }
    if (!fit_member(c, &past, z, mixed, out[TAB_AHEAD_TREES]) ||
        !fit_member(c, &past, z, &LINEAR, out[TAB_AHEAD_LINEAR]))
        return false;
    for (size_t i = 0; i < c->n; i++)
        z[i] = c->w->y[c->moment[i].row];
    if (!fit_member(c, &plain, z, mixed, out[TAB_AHEAD_PLAIN]))
        return false;
    r->has[TAB_AHEAD_LEVEL] = series > 1;
    for (size_t i = 0; i < c->n; i++)
        z[i] = (z[i] - c->mean[c->moment[i].series]) / c->scale[c->moment[i].series];
    if (series > 1 && !fit_member(c, &plain, z, mixed, out[TAB_AHEAD_LEVEL]))
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
        r->scale[i] = c->scale[s] * c->place[tab_ahead_place(c->h[0], m->pos)];
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
        hold(r, i, TAB_AHEAD_FAR * c->scale[s]);
    }
    return true;
}

/* Log of the shares of the classes among rows of a run, half a row of each more. */
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
static bool answer_classes(tab_ahead_view *c, double cut, tab_ahead_answers *r)
{
    size_t n = c->asked, k = c->w->t->classes;
    encoded past, plain;
    const tab_recipe *mixed = c->n > LARGE ? &FAST : &MIXED;
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
    return fit_member(c, &plain, NULL, mixed, r->out + TAB_AHEAD_OWN * n * k) &&
           fit_member(c, &past, NULL, mixed, r->out + TAB_AHEAD_PAST * n * k);
}

bool tab_ahead_cut(tab_ahead_work *w, double cut, const tab_moment *m, size_t n, tab_ahead_answers *ret)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)8 << 30);
    tab_ahead_view c = { .w = w, .a = own };
    size_t members = w->t->classification ? TAB_AHEAD_CLASS_MEMBERS : TAB_AHEAD_MEMBERS;
    size_t outputs = w->t->classification ? w->t->classes : 1;
    *ret = (tab_ahead_answers){ .n = n, .outputs = outputs, .members = members, .moment = m };
    ret->out = tab_arena_new_of(w->a, float, members *n *outputs + 1);
    ret->scale = tab_arena_new_of(w->a, double, n + 1);
    if (own == NULL || tab_arena_full(w->a) || !tab_ahead_examples(&c, cut, m, n) || !tab_ahead_past(&c, cut))
        return false;
    if (c.n < LEAST)
        return true;
    c.kinds = c.h[0]->kinds;
    if (!w->t->classification && !tab_ahead_look_back(&c))
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
