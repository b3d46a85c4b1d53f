/* See later.h; fitted.c asks. */
#include "services/inference/engine/predict/ahead/later.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/ahead/ahead_parts.h"

/* RANGES: of distances, as wide as each other by order of size up to the farthest that is learned at, and
 * what
 * lies beyond. LEAST: judged rows of one. ROOM: closed forms
 * that are kept, of all series. By hand. */
enum { RANGES = 4, LEAST = 60, ROOM = 1 << 20 };

/* What holds at distances about `centre`, in logarithms of steps. */
typedef struct {
    double upto, centre, weight[TAB_AHEAD_MEMBERS], heat;
    tab_ahead_bands bands;
    tab_ahead_square judged, before; /* of errors at the cuts and of all the past */
} range;

struct tab_later {
    tab_ahead_task task; /* its classes; nothing of its rows */
    tab_ahead_work work; /* how values are learned, what is known ahead */
    tab_ahead_view view; /* what the members know */
    double last;         /* the last labelled time, in steps */
    bool turned;         /* steps are counted backwards: */
    int64_t mirror;      /* from here */
    tab_ahead_unjudged rare;
    double *stays; /* (stays_of) as tab_ahead_stays; NULL: none */
    size_t stays_of;
    tab_ahead_apart apart;
    tab_novelty novelty; /* of classes: how often a later one is new */
    range range[RANGES];
    size_t ranges;
};

/* ---- by distance ------------------------------------------------------------------------------ */

static double distance_of(const tab_moment *m)
{
    return m->pos - m->tau;
}

/* The answers at one cut to moments of a range of distances. False: memory. */
static bool pick(tab_arena *a, const tab_ahead_work *w, const tab_ahead_answers *of, double after,
                 double upto, tab_ahead_answers *ret)
{
    tab_moment *m = tab_arena_new_of(a, tab_moment, of->n + 1);
    uint32_t *at = tab_arena_new_of(a, uint32_t, of->n + 1);
    size_t n = 0;
    for (size_t i = 0; m != NULL && at != NULL && i < of->n; i++)
        if (distance_of(&of->moment[i]) > after && distance_of(&of->moment[i]) <= upto)
            m[n] = of->moment[i], at[n++] = (uint32_t)i;
    if (m == NULL || at == NULL || !tab_ahead_room(a, w->t, m, n, ret))
        return false;
    memcpy(ret->has, of->has, sizeof ret->has);
    ret->novel = of->novel == NULL ? NULL : tab_arena_new_of(a, bool, n + 1);
    if (of->novel != NULL && ret->novel == NULL)
        return false;
    for (size_t i = 0; ret->novel != NULL && i < n; i++)
        ret->novel[i] = of->novel[at[i]];
    for (size_t i = 0; i < n; i++) {
        ret->scale[i] = of->scale[at[i]], ret->distance[i] = of->distance[at[i]];
        for (size_t j = 0; j < of->members; j++)
            memcpy(ret->out + (j * n + i) * of->outputs, of->out + (j * of->n + at[i]) * of->outputs,
                   of->outputs * sizeof *ret->out);
    }
    return true;
}

/* What is answered anew goes together no more than that: each moment is an origin. Gives how many there are.
 * Moments of one cut are few. */
static size_t by_moments(tab_ahead_error *v, size_t n)
{
    enum { MOMENTS = 64 };
    struct {
        uint32_t cut;
        double tau;
    } seen[MOMENTS];
    size_t origins = 0;
    for (size_t i = 0; i < n; i++) {
        double tau = v[i].tau;
        size_t k = 0;
        while (k < origins && (seen[k].cut != v[i].origin || fabs(seen[k].tau - tau) > 1e-6))
            k++;
        if (k == MOMENTS)
            k = MOMENTS - 1;
        else if (k == origins)
            seen[origins].cut = v[i].origin, seen[origins++].tau = tau;
        v[i].origin = (uint32_t)k;
    }
    return origins;
}

/* The past errors of a range of distances. False: memory. */
static bool pick_past(tab_arena *a, const tab_ahead_answers *of, double after, double upto,
                      tab_ahead_answers *ret)
{
    *ret = (tab_ahead_answers){ .spans = of->spans,
                                .past = tab_arena_new_of(a, tab_ahead_error, of->pasts + 1) };
    for (size_t i = 0; ret->past != NULL && i < of->pasts; i++)
        if (of->past[i].pos - of->past[i].tau > after && of->past[i].pos - of->past[i].tau <= upto)
            ret->past[ret->pasts++] = of->past[i];
    ret->past_rows = ret->pasts < of->past_rows ? ret->pasts : of->past_rows;
    return ret->past != NULL;
}

static tab_ahead_square square_of(const tab_ahead_error *v, size_t n, double own)
{
    tab_ahead_square q = { .own = own };
    for (size_t i = 0; i < n; i++) {
        q.distance += v[i].distance / (double)n;
        q.square += v[i].error * v[i].error / (double)n;
    }
    return q;
}

/* Weights and bands of one range from the answers at the cuts, and from what the past says. g: how errors
 * grow, where that is known. False: memory. */
static bool fit_range(tab_arena *a, const tab_ahead_work *w, const tab_ahead_answers *past,
                      const tab_ahead_answers *all, size_t cuts, double after, const tab_ahead_growth *g,
                      range *r)
{
    tab_ahead_answers at[TAB_AHEAD_ORIGINS], before;
    double own[TAB_AHEAD_ORIGINS][TAB_AHEAD_MEMBERS] = { 0 }, heat, sum = 0;
    size_t n = 0;
    for (size_t k = 0; k < cuts; k++) {
        if (!pick(a, w, &all[k], after, r->upto, &at[k]))
            return false;
        for (size_t i = 0; i < at[k].n; i++)
            sum += log(fmax(distance_of(&at[k].moment[i]), 0.5));
        n += at[k].n;
    }
    r->centre = n > 0 ? sum / (double)n : 0;
    tab_ahead_error *v = tab_arena_new_of(a, tab_ahead_error, n + 1);
    double *base = tab_arena_new_of(a, double, n + 1);
    bool ok = v != NULL && base != NULL && tab_ahead_weigh(w, at, cuts, SIZE_MAX, r->weight, &r->heat);
    for (size_t k = 0; ok && k < cuts; k++)
        ok = tab_ahead_weigh(w, at, cuts, cuts > 1 ? k : SIZE_MAX, own[k], &heat);
    if (!ok || w->t->classification)
        return ok;
    n = tab_ahead_errors(w, at, cuts, SIZE_MAX, own[0], v, base);
    if (!pick_past(a, past, after, r->upto, &before) ||
        !tab_ahead_bands_of(v, base, n, by_moments(v, n), g, &before, &r->bands))
        return false;
    r->judged = square_of(v, n, r->bands.cuts.own);
    r->before = square_of(before.past, before.pasts, r->bands.past.own);
    return true;
}

/* What lies farther than is learned at is judged from hardly more than one moment, which tells no quantiles:
 * its band is that of the range before, which grows on. */
static void go_on(const range *before, double most, range *far)
{
    far->bands = before->bands;
    far->centre = log(fmax(most, 1)); /* its weights hold from there on */
}

/* How errors grow, told from the ranges together: within one there are too few to tell. */
static tab_ahead_growth growth_of(const tab_later *l, const tab_ahead_work *w)
{
    double first = l->last;
    for (size_t r = 0; r < w->rows; r++)
        if (!isnan(w->y[r]) && w->pos[r] < first)
            first = w->pos[r];
    tab_ahead_square v[2 * RANGES];
    for (size_t k = 0; k < l->ranges; k++)
        v[k] = l->range[k].judged, v[l->ranges + k] = l->range[k].before;
    return tab_ahead_grows(v, 2, l->ranges, w->most, l->last - first + 1);
}

/* Ranges of distances with enough judged rows each; the last has no end. */
static void part_ranges(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, tab_later *l)
{
    double after = 0;
    for (size_t k = 1; k <= RANGES; k++) {
        double upto = k == RANGES ? (double)INFINITY : pow(w->most, (double)k / (RANGES - 1));
        size_t n = 0, rest = 0;
        for (size_t j = 0; j < cuts; j++)
            for (size_t i = 0; i < at[j].n; i++) {
                double d = distance_of(&at[j].moment[i]);
                n += d > after && d <= upto;
                rest += d > upto;
            }
        if (k < RANGES && (n < LEAST || rest < LEAST))
            continue;
        l->range[l->ranges++].upto = after = upto;
    }
}

/* Weights and bands of all ranges: of each by itself, then by what all say of the growth. False: memory. */
static bool fit_ranges(tab_arena *a, const tab_ahead_work *w, const tab_ahead_answers *past,
                       const tab_ahead_answers *at, size_t cuts, tab_later *l)
{
    part_ranges(w, at, cuts, l);
    bool far = l->ranges > 1 && l->range[l->ranges - 2].upto >= w->most;
    for (int round = 0; round < (l->ranges > 1 && !w->t->classification ? 2 : 1); round++) {
        tab_ahead_growth g = round > 0 ? growth_of(l, w) : (tab_ahead_growth){ 0 };
        for (size_t k = 0; k < l->ranges; k++)
            if (!fit_range(a, w, past, at, cuts, k > 0 ? l->range[k - 1].upto : 0, round > 0 ? &g : NULL,
                           &l->range[k]))
                return false;
    }
    if (far && !w->t->classification)
        go_on(&l->range[l->ranges - 2], w->most, &l->range[l->ranges - 1]);
    return true;
}

/* ---- fitting ---------------------------------------------------------------------------------- */

/* The rows that histories speak of are the last of each series from here on, and these alone are kept. */
static bool keep_last_rows(tab_arena *a, const tab_ahead_task *t, tab_ahead_view *c, tab_ahead_work *w)
{
    size_t series = c->h[0]->series, cols = w->cols;
    double *pos = tab_arena_new_of(a, double, series + 1);
    const double **before = tab_arena_new_of(a, const double *, cols + 1);
    if (pos == NULL || before == NULL)
        return false;
    for (size_t s = 0; s < series; s++)
        pos[s] =
            c->h[0]->from[s + 1] > c->h[0]->from[s] ? c->h[0]->pos[c->h[0]->from[s + 1] - 1] : (double)NAN;
    for (size_t k = 0; k < cols; k++) {
        if (!w->lost[k] && !w->known[k])
            continue;
        double *x = tab_arena_new_of(a, double, series + 1);
        for (size_t s = 0; x != NULL && s < series; s++)
            if (c->h[0]->from[s + 1] > c->h[0]->from[s])
                x[s] = t->p->col[k].number[c->h[0]->row[c->h[0]->from[s + 1] - 1]];
        before[k] = x;
    }
    for (size_t i = 0; i < c->histories; i++)
        for (size_t s = 0; s < series; s++)
            for (size_t j = c->h[i]->from[s]; j < c->h[i]->from[s + 1]; j++)
                c->h[i]->row[j] = (uint32_t)s;
    c->pos = pos;
    c->before = before;
    return !tab_arena_full(a);
}

/* Nothing that the model keeps speaks of what lies elsewhere. */
static tab_later *keep(tab_arena *a, const tab_ahead_task *t, const tab_ahead_work *w, tab_later *l)
{
    bool *known = tab_arena_new_of(a, bool, w->cols + 1), *lost = tab_arena_new_of(a, bool, w->cols + 1);
    if (known == NULL || lost == NULL)
        return NULL;
    memcpy(known, w->known, w->cols * sizeof *known);
    memcpy(lost, w->lost, w->cols * sizeof *lost);
    l->task = (tab_ahead_task){ .classification = t->classification, .classes = t->classes, .seed = t->seed };
    l->work = (tab_ahead_work){ .logged = w->logged,
                                .least = w->least,
                                .cols = w->cols,
                                .most = w->most,
                                .known = known,
                                .lost = lost,
                                .covariates = w->covariates,
                                .first = w->first,
                                .year = w->year,
                                .reach = w->most };
    tab_ahead_view *c = &l->view;
    *c = (tab_ahead_view){ .histories = c->histories,
                           .kinds = c->kinds,
                           .scale = c->scale,
                           .mean = c->mean,
                           .moved = c->moved,
                           .place = c->place,
                           .base = c->base,
                           .cols = c->cols,
                           .before = c->before,
                           .pos = c->pos,
                           .share = { c->share[0], c->share[1] },
                           .regular = c->regular,
                           .closed = c->closed,
                           .horizon = c->horizon,
                           .plain_elsewhere = true };
    return l;
}

/* How many steps of closed forms are kept of each series: as far as was judged and as there is room for. */
static size_t closed_steps(const tab_ahead_work *w, size_t series)
{
    double room = floor((double)ROOM / fmax(1, (double)series));
    return (size_t)fmax(1, fmin(w->most, room));
}

/* The members at the end of the labelled rows, and what they weigh. */
static bool fit_last(const tab_ahead_task *t, tab_ahead_work *w, tab_arena *a, tab_arena *own, double last,
                     const tab_ahead_answers *at, size_t cuts, tab_later **ret)
{
    tab_later *l = tab_arena_new_of(a, tab_later, 1);
    if (l == NULL)
        return false;
    l->turned = t->asked->turned;
    l->mirror = t->asked->mirror;
    tab_ahead_view *c = &l->view;
    *c = (tab_ahead_view){ .w = w, .a = own, .keep = a, .plain_elsewhere = true };
    tab_ahead_answers past = { 0 };
    l->last = last;
    if (t->classification) {
        double *first = tab_arena_new_of(own, double, t->classes + 1);
        if (first == NULL ||
            !tab_novelty_of(w->pos, t->label, w->rows, last, w->most, t->classes, first, &l->novelty))
            return false;
    }
    if (!tab_ahead_learn(c, last, NULL, 0) ||
        (!t->classification && c->regular && !tab_ahead_close(c, last, closed_steps(w, c->h[0]->series))) ||
        (!t->classification && !tab_ahead_past_errors(c, &past)) || !fit_ranges(own, w, &past, at, cuts, l) ||
        !keep_last_rows(a, t, c, w))
        return false;
    tab_history *h[TAB_AHEAD_CLASSES];
    tab_ahead_model model[TAB_AHEAD_MEMBERS];
    memcpy(h, c->h, sizeof h);
    memcpy(model, c->model, sizeof model);
    *ret = keep(a, t, w, l);
    memcpy(c->h, h, sizeof h);
    memcpy(c->model, model, sizeof model);
    return *ret != NULL;
}

/* The members' answers after each cut. False: memory or cancelled. */
static bool judge(tab_ahead_work *w, double last, tab_ahead_origin *o, size_t *origins, tab_ahead_answers *at,
                  size_t *cuts)
{
    size_t n = *origins = tab_ahead_origins(w, last, o);
    *cuts = 0;
    for (size_t c = 0; c < n; c++) {
        if (!tab_ahead_judged(w, &o[c]) || !tab_ahead_cut(w, o[c].cut, o[c].moment, o[c].n, &at[*cuts]))
            return false;
        *cuts += at[*cuts].n > 0 && at[*cuts].has[0];
    }
    return true;
}

/* What lies before all labelled rows, by what was judged after earlier cuts: what a series moves by at a
 * distance is the same either way. */
static bool fit_first(const tab_ahead_task *t, const tab_asked *turned, tab_ahead_work *w, tab_arena *a,
                      tab_arena *own, const tab_ahead_answers *at, size_t cuts, tab_later **ret)
{
    tab_ahead_task back = *t;
    double last;
    back.asked = turned;
    *w = (tab_ahead_work){ .e = w->e, .a = own, .t = &back, .plain = w->plain };
    return tab_ahead_open(w, &last) && fit_last(&back, w, a, own, last, at, cuts, ret);
}

tab_status tab_later_fit(const tab_engine *e, tab_arena *a, const tab_ahead_task *t, const tab_asked *turned,
                         const tab_recipe *plain, tab_later *ret[TAB_SIDES], tab_error *err)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)8 << 30);
    tab_ahead_task known = *t;
    tab_ahead_work w = { .e = e, .a = own, .t = &known, .plain = plain };
    tab_ahead_answers at[TAB_AHEAD_ORIGINS];
    tab_ahead_apart apart;
    size_t cuts = 0;
    double last;
    ret[TAB_LATER] = ret[TAB_EARLIER] = NULL;
    if (own == NULL || !tab_ahead_open_apart(&w, &known, &last, &apart))
        return tab_no_memory(err);
    tab_ahead_origin o[TAB_AHEAD_ORIGINS];
    size_t origins;
    tab_ahead_unjudged rare = { 0 };
    bool ok = judge(&w, last, o, &origins, at, &cuts);
    if (ok && cuts > 0 && !t->classification)
        ok = tab_ahead_unjudged_find(a, &w, o, origins, &rare);
    if (ok && cuts > 0)
        ok = fit_last(&known, &w, a, own, last, at, cuts, &ret[TAB_LATER]);
    if (ok && cuts > 0 && apart.rows + apart.stuck > 0) {
        ret[TAB_LATER]->apart = apart;
        ret[TAB_LATER]->stays_of = t->asked->series.n + 1;
        ok = (ret[TAB_LATER]->stays = tab_ahead_stays(a, &w, t->y)) != NULL;
    }
    if (ok && cuts > 0 && !t->classification)
        ok = fit_first(&known, turned, &w, a, own, at, cuts, &ret[TAB_EARLIER]);
    for (size_t k = 0; ok && k < TAB_SIDES; k++)
        if (ret[k] != NULL)
            ret[k]->rare = rare;
    if (ok && !tab_arena_full(own) && !tab_arena_full(a))
        return TAB_OK;
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* ---- in few bytes ---------------------------------------------------------------------------- */

static void pack_wave(tab_pack *p, tab_wave *w, size_t series)
{
    size_t places = tab_pack_count(p, w->places, TAB_PAST_PLACES), own = 0;
    if (__builtin_mul_overflow(w->known, 2 * places, &own))
        tab_pack_refuse(p);
    TAB_PACK(p, w->all, 2 * places);
    TAB_PACK(p, w->slot, series);
    TAB_PACK(p, w->own, own);
}

static void pack_history(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_history *h = each;
    TAB_PACK(p, h->from, h->series + 1);
    TAB_PACK(p, h->pos, h->rows);
    TAB_PACK(p, h->y, h->rows);
    TAB_PACK(p, h->row, h->rows);
    TAB_PACK(p, h->sum, h->rows + 1);
    TAB_PACK(p, h->last, h->rows);
    for (size_t k = 0; k < 3; k++)
        TAB_PACK(p, h->line[k], h->rows + 1);
    for (size_t k = 0; k < 2; k++)
        TAB_PACK(p, h->smooth[k], h->rows);
    for (size_t k = 0; k < TAB_SEASONS; k++)
        pack_wave(p, &h->wave[k], h->series);
}

/* context: how many series there are. */
static void pack_before(tab_pack *p, void *each, const void *context)
{
    const double **x = each;
    TAB_PACK(p, *x, *(const size_t *)context);
}

static void pack_view(tab_pack *p, tab_ahead_view *c, size_t cols, size_t classes)
{
    size_t histories = tab_pack_count(p, c->histories, TAB_AHEAD_CLASSES), closed = 0;
    for (size_t i = 0; i < histories; i++)
        TAB_PACK_ONE(p, c->h[i], pack_history);
    bool follows = histories > 0 && c->h[0] != NULL;
    size_t series = follows ? c->h[0]->series : 0;
    if (__builtin_mul_overflow(series, c->horizon, &closed))
        tab_pack_refuse(p);
    TAB_PACK(p, c->scale, series + 1);
    TAB_PACK(p, c->mean, series + 1);
    TAB_PACK(p, c->moved, series + 1);
    TAB_PACK(p, c->place, TAB_AHEAD_PERIOD);
    TAB_PACK_EACH(p, c->before, cols, pack_before, &series);
    TAB_PACK(p, c->pos, series);
    for (size_t k = 0; k < 2; k++)
        TAB_PACK(p, c->share[k], classes);
    TAB_PACK(p, c->closed, closed);
    for (size_t m = 0; m < TAB_AHEAD_MEMBERS; m++) {
        TAB_PACK_ONE(p, c->model[m].enc, tab_pack_encoder);
        TAB_PACK_ONE(p, c->model[m].stack, tab_pack_stack);
    }
}

static void pack_later(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_later *l = each;
    TAB_PACK(p, l->work.known, l->work.cols);
    TAB_PACK(p, l->work.lost, l->work.cols);
    TAB_PACK(p, l->stays, l->stays_of);
    TAB_PACK(p, l->rare.unit, l->rare.series);
    size_t events = tab_pack_count(p, l->rare.events, TAB_AHEAD_EVENTS);
    for (size_t k = 0; k < events; k++)
        TAB_PACK(p, l->rare.event[k].effect, l->rare.series);
    pack_view(p, &l->view, l->work.cols, l->task.classes);
}

void tab_pack_later(tab_pack *p, tab_later **at)
{
    TAB_PACK_ONE(p, *at, pack_later);
}

const tab_ahead_apart *tab_later_apart(const tab_later *l)
{
    return &l->apart;
}

size_t tab_later_bytes(const tab_later *l)
{
    size_t bytes = 0;
    for (size_t m = 0; l != NULL && m < TAB_AHEAD_MEMBERS; m++)
        bytes += l->view.model[m].stack != NULL ? l->view.model[m].stack->bytes : 0;
    return bytes;
}

/* ---- serving ---------------------------------------------------------------------------------- */

/* The cells of some rows of a column. */
static tab_values gather(tab_arena *a, const tab_values *v, const uint32_t *row, size_t n)
{
    double *x = v->number == NULL ? NULL : tab_arena_new_of(a, double, n + 1);
    uint32_t *code = v->code == NULL ? NULL : tab_arena_new_of(a, uint32_t, n + 1);
    for (size_t i = 0; x != NULL && i < n; i++)
        x[i] = v->number[row[i]];
    for (size_t i = 0; code != NULL && i < n; i++)
        code[i] = v->code[row[i]];
    return (tab_values){ v->type, x, code, v->level, v->levels };
}

/* The rows' moments, simple forecasts and columns. False: the arena is full. */
static bool look(const tab_later *l, const tab_clock *clock, const tab_later_rows *q, tab_ahead_view *c)
{
    tab_arena *a = c->a;
    size_t own = l->work.cols, made = tab_ahead_made(c);
    c->asked = q->n;
    c->moment = tab_arena_new_of(a, tab_moment, q->n + 1);
    c->simple = tab_arena_new_of(a, double, q->n * c->kinds + 1);
    c->value = tab_arena_new_of(a, tab_values, c->cols + 1);
    c->at = tab_arena_new_of(a, const double *, own + 1);
    double *at = tab_arena_new_of(a, double, made + 1), *none = tab_arena_new_of(a, double, q->n + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < q->n; i++) {
        int64_t pos = tab_series_index(clock->s, tab_clock_when(clock, q->values, q->row[i]));
        double when = pos == INT64_MIN ? l->last + 1 : (double)(l->turned ? l->mirror - pos : pos);
        c->moment[i] = (tab_moment){ (uint32_t)i, tab_clock_series(clock, q->values, q->row[i]), when,
                                     fmin(l->last, when - 0.5) };
        none[i] = (double)NAN;
    }
    for (size_t k = 0; k < own; k++) {
        c->value[k] = gather(a, &q->values[k], q->row, q->n);
        c->at[k] = c->value[k].number != NULL ? c->value[k].number : none;
    }
    for (size_t k = own; k < c->cols; k++)
        c->value[k] = (tab_values){ .type = TAB_NUMERIC, .number = tab_arena_new_of(a, double, q->n + 1) };
    if (tab_arena_full(a))
        return false;
    if (!l->task.classification)
        tab_ahead_simple(c, q->n);
    for (size_t i = 0; i < q->n; i++) {
        tab_ahead_make(c, i, at);
        for (size_t k = 0; k < made; k++)
            ((double *)c->value[own + k].number)[i] = at[k];
    }
    return true;
}

/* The two ranges between whose centres a distance lies, and the second one's share. */
static double between(const tab_later *l, double distance, const range **a, const range **b)
{
    double at = log(fmax(distance, 0.5));
    size_t k = 0;
    while (k + 1 < l->ranges && at > l->range[k + 1].centre)
        k++;
    *a = &l->range[k];
    *b = k + 1 < l->ranges ? *a + 1 : *a;
    double span = (*b)->centre - (*a)->centre;
    return span > 0 ? fmax(0, fmin(1, (at - (*a)->centre) / span)) : 0;
}

/* ret: value, spread, quantiles. */
static void write_number(const tab_later *l, const tab_ahead_answers *z, size_t i, double *ret)
{
    const range *r[2];
    double d = distance_of(&z->moment[i]), part = between(l, d, &r[0], &r[1]), share[2] = { 1 - part, part };
    double at = 0, sd = 0, off[TAB_LEVELS] = { 0 };
    for (size_t k = 0; k < 2; k++) {
        double out;
        tab_ahead_combine(z, i, r[k]->weight, 1, false, &out);
        at += share[k] * out;
        sd += share[k] * z->scale[i] * tab_ahead_deviation(&r[k]->bands, z->distance[i]);
        for (size_t q = 0; q < TAB_LEVELS; q++)
            off[q] += share[k] * z->scale[i] * tab_ahead_quantile(&r[k]->bands, z->distance[i], q);
    }
    double reach[TAB_LEVELS];
    tab_ahead_reach(z, i, at, off, reach);
    ret[0] = tab_ahead_back(&l->work, isnan(z->instead[i]) ? at : z->instead[i]);
    ret[1] = l->work.logged ? ret[0] * sd : sd;
    for (size_t q = 0; q < TAB_LEVELS; q++)
        ret[2 + q] = tab_ahead_back(&l->work, reach[q]);
}

static void write_classes(const tab_later *l, const tab_ahead_answers *z, size_t i, double *other, double *p)
{
    const range *r[2];
    double part = between(l, distance_of(&z->moment[i]), &r[0], &r[1]);
    double new = tab_novelty_at(&l->novelty, distance_of(&z->moment[i]));
    tab_ahead_combine(z, i, r[0]->weight, r[0]->heat, true, p);
    tab_ahead_combine(z, i, r[1]->weight, r[1]->heat, true, other);
    for (size_t k = 0; k < l->task.classes; k++)
        p[k] = (1 - new) * ((1 - part) * p[k] + part * other[k]);
}

bool tab_later_answer(const tab_engine *e, const tab_later *l, const tab_clock *clock,
                      const tab_later_rows *q, double *ret)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)4 << 30);
    tab_engine alone = *e;
    alone.arena = own;
    tab_ahead_work w = l->work;
    w.e = &alone, w.a = own, w.t = &l->task;
    tab_ahead_view c = l->view;
    c.w = &w, c.a = c.keep = own;
    size_t k = l->task.classes;
    double *other = own == NULL ? NULL : tab_arena_new_of(own, double, k + 1);
    tab_ahead_answers z;
    if (other == NULL || !look(l, clock, q, &c))
        return false;
    c.plain = q->plain;
    if (!tab_ahead_room(own, &l->task, c.moment, q->n, &z) || !tab_ahead_members(&c, &z))
        return false;
    if (l->stays != NULL)
        tab_ahead_reach_apart(l->stays, l->stays_of - 1, &z);
    double *when = tab_arena_new_of(own, double, q->n + 1);
    for (size_t i = 0; when != NULL && i < q->n; i++)
        when[i] = tab_clock_when(clock, q->values, q->row[i]);
    if (when == NULL)
        return false;
    if (!l->task.classification)
        tab_ahead_unjudged_apply(&l->rare, q->values, q->row, when, &z);
    for (size_t i = 0; i < q->n; i++) {
        if (l->task.classification)
            write_classes(l, &z, i, other, ret + i * k);
        else
            write_number(l, &z, i, ret + i * (TAB_LEVELS + 2));
    }
    return true;
}
