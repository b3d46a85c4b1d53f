/* See made.h: tables with time. */
#include "services/inference/engine/series/tests/made_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/profile/cells/parse.h"

typedef struct {
    size_t series, step;
    double at, y;
    uint64_t tie;
    bool asked, lost;
} cell;

static int by_series(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    return x->series != y->series ? (x->series > y->series) - (x->series < y->series)
                                  : (x->at > y->at) - (x->at < y->at);
}
static int by_time(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) // NOLINT: the very time
                          : (x->series > y->series) - (x->series < y->series);
}
static int by_tie(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    return (x->tie > y->tie) - (x->tie < y->tie);
}

static double season_of(made_pace by)
{
    static const double of[] = { 7, 5, 52, 12, 4, 0, 24, 48, 12 };
    return of[by];
}

/* The values of a series: level, trend, season and noise that remembers. */
static void walk(cell *c, size_t n, size_t series, double season, double scale)
{
    double level = scale * (5 + 3 * made_unit()), slope = scale * made_normal() * 0.02, noise = 0,
           swing = scale * (1 + made_unit());
    double phase = 6.28 * made_unit();
    for (size_t i = 0; i < n; i++) {
        noise =
            (made_other ? 0.6 : 0.7) * noise +
            0.5 * scale *
                (made_other ? made_normal() + (made_unit() < 0.02 ? 3 * made_normal() : 0) : made_normal());
        double wave = season > 0 ? sin(6.283185307179586 * (double)c[i].step / season + phase) : 0;
        c[i].series = series;
        c[i].y = level + slope * (double)c[i].step + swing * (made_other ? wave + 0.5 * wave * wave : wave) +
                 noise;
        c[i].y = made_other && scale > 3 ? round(c[i].y) : c[i].y;
    }
}

typedef struct {
    int f;
    made_pace by;
    size_t size[MADE_KEYS], keys, series, steps;
    double start;
    bool irregular, gaps, doubles, missing, scaled;
    int rows; /* 0 by series, 1 by time, 2 shuffled, 3 newest first */
    int ask;  /* 0 nobody, 1 the last steps, 2 rows at random, 3 whole series */
} plan;

static void draw_plan(plan *p, size_t i)
{
    memset(p, 0, sizeof *p);
    p->f = (int)(i % FORMS);
    const made_form *f = &made_forms[p->f];
    p->by = f->by[made_below(f->paces)];
    p->keys = p->f == ROWS ? 0 : made_chance(0.35) ? 0 : made_chance(0.6) ? 1 : made_chance(0.7) ? 2 : 3;
    p->series = 1;
    for (size_t k = 0; k < p->keys; k++)
        p->series *= p->size[k] = p->keys == 1   ? 2 + made_below(40)
                                  : p->keys == 2 ? 2 + made_below(6)
                                                 : 2 + made_below(3);
    p->steps = p->series > 20 ? 20 + made_below(60) : 40 + made_below(160);
    if (p->by == MADE_YEAR)
        p->steps = p->series > 1 ? 8 + made_below(30) : 30 + made_below(60);
    if (p->f == MONTH_DAY)
        p->steps = 100 + made_below(200);
    if (p->f == YEAR_MONTH_DAY || p->f == YMD_HOUR || p->f == DATE_HOUR || p->f == YEAR_WEEK ||
        p->f == YEAR_DOY)
        p->steps = p->series > 8 ? 150 + made_below(50) : 400 + made_below(300);
    if (p->f == YEAR_DOY)
        p->steps = 400 + made_below(300);
    if (p->f == YMD_HOUR)
        p->steps = 1200 + made_below(200), p->keys = p->keys > 1 ? 1 : p->keys,
        p->series = p->keys > 0 ? p->size[0] = 2 : 1;
    if (p->f == YEAR2)
        p->steps = 10 + made_below(20);
    int year = p->f == YEAR2        ? 60 + (int)made_below(8) + 1900
               : p->by == MADE_YEAR ? 1900 + (int)made_below(90)
                                    : 1960 + (int)made_below(60);
    if (p->f == EPOCH || p->f == MILLI)
        year = 1995 + (int)made_below(25);
    if (p->f == MONTH_DAY)
        year = 2000;
    if (made_other && p->by != MADE_YEAR && p->f != MONTH_DAY)
        year = year < 1990 ? year + 25 : year - 13;
    p->start = 86400.0 * (double)tab_days_from_civil(
                             year, p->by <= MADE_WEEK || p->by >= MADE_HOUR ? 1 + (int)made_below(3) : 1, 1);
    p->gaps = made_chance(0.3);
    p->doubles = made_chance(0.12) && p->f != ROWS;
    p->missing = made_chance(0.12) && p->f != ROWS;
    p->irregular = (p->f == ISO || p->f == STAMP || p->f == DMY) && made_chance(0.25);
    p->scaled = made_chance(0.5);
    p->rows = p->f == ROWS ? 0 : made_chance(0.4) ? 0 : made_chance(0.4) ? 1 : made_chance(0.6) ? 2 : 3;
    p->ask = made_chance(0.5) ? 1 : made_chance(0.5) ? 2 : made_chance(0.4) && p->series > 5 ? 3 : 0;
}

static size_t draw_cells(const plan *p, cell *c)
{
    size_t n = 0;
    for (size_t s = 0; s < p->series; s++) {
        size_t from = n, late = p->series > 1 && made_chance(0.2) ? made_below(p->steps / 3) : 0;
        double at = p->start;
        for (size_t k = late; k < p->steps; k++) {
            if (p->gaps && p->f != ROWS && made_chance(0.06))
                continue;
            double step = p->f == STAMP ? 1800 : 86400;
            at = p->irregular ? at + step * floor(1 + 9 * made_unit() * made_unit())
                              : made_moment(p->by, p->start, k);
            c[n] = (cell){ .series = s, .step = k, .at = p->by == MADE_COUNT ? (double)k : at };
            c[n].asked = p->ask == 1   ? k + (p->steps / 7 + 1) >= p->steps
                         : p->ask == 2 ? made_chance(0.15)
                                       : p->ask == 3 && s % 5 == 2;
            c[n].lost = p->missing && made_chance(0.01);
            n++;
            if (p->doubles && made_chance(0.01))
                c[n] = c[n - 1], n++;
        }
        walk(c + from, n - from, s, season_of(p->by), p->scaled ? exp(1.5 * made_normal()) : 1);
    }
    for (size_t i = 0; i < n; i++)
        c[i].tie = made_next();
    if (p->f != ROWS)
        qsort(c, n, sizeof *c, p->rows == 0 ? by_series : p->rows == 2 ? by_tie : by_time);
    for (size_t i = 0; p->rows == 3 && i < n / 2; i++) {
        cell x = c[i];
        c[i] = c[n - 1 - i], c[n - 1 - i] = x;
    }
    return n;
}

/* What else stands in a table. */
typedef struct {
    bool measure, many, few, other_date, birth, same, holiday, counts;
} extras;

static void put_keys(made_page *o, const plan *p, size_t series, bool same, const int *style)
{
    size_t rest = series;
    for (size_t k = 0; k < p->keys; k++) {
        size_t v = rest % p->size[k];
        rest /= p->size[k];
        static const char *const city[] = { "Lyon", "Porto", "Graz", "Turku", "Bergen", "Gent", "Split" };
        if (made_other && style[k] == 0)
            made_put(o, "%s-%zu,", city[v % 7], v / 7);
        else if (made_other && style[k] == 2)
            made_put(o, "%zu,", 900001 + 7919 * v * v);
        else if (style[k] == 0)
            made_put(o, "S%02zu,", v);
        else if (style[k] == 1)
            made_put(o, "%zu,", v + 1);
        else if (style[k] == 2)
            made_put(o, "%zu,", 1000 + 37 * v);
        else
            made_put(o, "%s %c,", v % 2 ? "North" : "South", (int)('A' + v % 26));
        if (k == 0 && same)
            made_put(o, "%s %zu,Region %zu,", "Shop", v * 7 + 3, v % 3);
    }
}

static void put_extras(made_page *o, const extras *e, const cell *c, double start)
{
    int y, m, d;
    if (e->measure)
        made_put(o, "%.2f,%.3f,", 20 + 5 * made_normal(), c->y * 0.1 + made_normal());
    if (e->many)
        made_put(o, "%zu,", made_other ? (size_t)(90 * -log(made_unit() + 1e-9)) : made_below(400));
    if (e->few)
        made_put(o, "%s,%zu,", made_below(2) ? "red" : made_below(2) ? "blue" : "green", 1 + made_below(10));
    if (e->other_date) { /* some days after the moment */
        tab_civil_from_days(
            (int64_t)floor((c->at > 1e5 ? c->at : start) / 86400) + 1 + (int64_t)made_below(9), &y, &m, &d);
        made_put(o, "%04d-%02d-%02d,", y, m, d);
    }
    if (e->birth) {
        tab_civil_from_days(-9000 + (int64_t)made_below(20000), &y, &m, &d);
        made_put(o, "%04d-%02d-%02d,", y, m, d);
    }
    if (e->holiday)
        made_put(o, "%d,", (int)(c->step * 7919 % 11 == 0));
    if (e->counts)
        made_put(o, "%zu,", made_below(13));
}

static void with_time(size_t i, made_table *ret)
{
    plan p;
    draw_plan(&p, i);
    static const char *const names[] = { "shop", "item", "channel" };
    extras e = {
        made_chance(0.6), made_chance(0.3),
        made_chance(0.4), made_chance(0.25) && p.by != MADE_COUNT && p.by != MADE_YEAR && p.f != MONTH_DAY,
        made_chance(0.2), p.keys > 0 && made_chance(0.3),
        made_chance(0.2), made_chance(0.3)
    };
    int style[MADE_KEYS];
    for (size_t k = 0; k < MADE_KEYS; k++)
        style[k] = (int)made_below(4);
    if (style[0] == 3 && p.size[0] > 26)
        style[0] = 0;
    cell *c = malloc((p.series * p.steps * 2 + 8) * sizeof *c);
    size_t n = draw_cells(&p, c);
    made_page o = { 0 };
    bool front = made_chance(0.5);
    const made_form *f = &made_forms[p.f];
    for (size_t half = 0; half < 2; half++) {
        if (half == (front ? 0 : 1))
            for (size_t k = 0; k < f->columns; k++)
                made_put(&o, "%s,", f->name[k]);
        else
            for (size_t k = 0; k < p.keys; k++)
                made_put(&o, k == 0 && e.same ? "%s,shop_name,area," : "%s,", names[k]);
    }
    made_put(&o, "%s%s%s%s%s%s%sy\n", e.measure ? "temp,other," : "", e.many ? "many," : "",
             e.few ? "colour,score," : "", e.other_date ? "shipped," : "", e.birth ? "born," : "",
             e.holiday ? "holiday," : "", e.counts ? "n13," : "");
    double first = made_chance(0.5) ? 1 : 0;
    for (size_t r = 0; r < n; r++) {
        for (size_t half = 0; half < 2; half++)
            if (half == (front ? 0 : 1))
                made_put_time(&o, p.f, c[r].at, c[r].step + (size_t)first, first > 0 ? 3 : 8, c[r].lost);
            else
                put_keys(&o, &p, c[r].series, e.same, style);
        put_extras(&o, &e, &c[r], p.start);
        if (c[r].asked)
            made_put(&o, "\n");
        else
            made_put(&o, "%.4g\n", c[r].y);
    }
    *ret = (made_table){ .group = p.irregular ? "irregular" : f->group, .text = o.p, .n = o.n };
    ret->kind = p.f == ROWS ? TAB_TIME_ORDER : f->columns > 1 ? TAB_TIME_PARTS : TAB_TIME_COLUMN;
    ret->times = f->columns;
    for (size_t k = 0; k < f->columns; k++)
        ret->time[k] = f->name[k];
    ret->keys = p.keys;
    for (size_t k = 0; k < p.keys; k++)
        ret->key[k] = names[k], ret->or_key[k] = k == 0 && e.same ? "shop_name" : NULL;
    static const tab_step_unit units[] = { TAB_STEP_SECONDS, TAB_STEP_WORKDAYS, TAB_STEP_SECONDS,
                                           TAB_STEP_MONTHS,  TAB_STEP_MONTHS,   TAB_STEP_YEARS,
                                           TAB_STEP_SECONDS, TAB_STEP_SECONDS,  TAB_STEP_NUMBER };
    static const double steps[] = { 86400, 1, 604800, 1, 3, 1, 3600, 1800, 1 };
    ret->unit = p.f == DECIMAL ? TAB_STEP_YEARS : p.f == YEAR2 ? TAB_STEP_NUMBER : units[p.by];
    ret->step = p.irregular                  ? 0
                : p.f == COUNT && made_other ? 10
                : p.f == DECIMAL             ? (p.by == MADE_MONTH ? 1 / 12.0 : 0.25)
                                             : steps[p.by];
    bool seen = p.by != MADE_COUNT || p.steps >= 60;
    ret->season = p.irregular || !seen || (double)p.steps < 2.5 * season_of(p.by) ? 0 : season_of(p.by);
    ret->after = p.ask == 1, ret->fresh = p.ask == 3;
    free(c);
}

void made_series(uint64_t seed, size_t i, made_table *ret)
{
    made_start(seed, i);
    if (i < MADE_WITH_TIME)
        with_time(i, ret);
    else
        made_without_time(i - MADE_WITH_TIME, ret);
}
