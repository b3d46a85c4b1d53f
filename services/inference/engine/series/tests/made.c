/* See made.h. */
#include "services/inference/engine/series/tests/made.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/profile/parse.h"

/* ---- chance --------------------------------------------------------------------------------------- */

static uint64_t state;
static bool other; /* the other values */

static uint64_t next(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}
static double unit(void)
{
    return (double)(next() >> 11) / 9007199254740992.0;
}
static size_t below(size_t n)
{
    return (size_t)(unit() * (double)n);
}
static double normal(void)
{
    return sqrt(-2 * log(unit() + 1e-300)) * cos(6.283185307179586 * unit());
}
static bool chance(double p)
{
    return unit() < p;
}

/* ---- text ----------------------------------------------------------------------------------------- */

typedef struct {
    char *p;
    size_t n, room;
} page;

__attribute__((format(printf, 2, 3))) static void put(page *o, const char *fmt, ...)
{
    va_list ap;
    char line[256];
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (o->n + (size_t)n + 1 > o->room)
        o->p = realloc(o->p, o->room = 2 * o->room + 512);
    memcpy(o->p + o->n, line, (size_t)n + 1);
    o->n += (size_t)n;
}

/* ---- the forms of a time ---------------------------------------------------------------------------- */

typedef enum { BY_DAY, BY_WORKDAY, BY_WEEK, BY_MONTH, BY_QUARTER, BY_YEAR, BY_HOUR, BY_HALF, BY_COUNT } pace;

typedef struct {
    const char *group;
    pace by[4];
    size_t paces;
    size_t columns;
    const char *name[4];
} form;

enum {
    ISO,
    DMY,
    MDY,
    LONG_DATE,
    STAMP,
    DAY8,
    MONTH6,
    WEEK6,
    MONTH_TEXT,
    QUARTER_TEXT,
    EPOCH,
    MILLI,
    DECIMAL,
    YEAR,
    YEAR2,
    COUNT,
    YEAR_MONTH,
    YEAR_NAME,
    YEAR_MONTH_DAY,
    YMD_HOUR,
    MONTH_DAY,
    YEAR_QUARTER,
    YEAR_WEEK,
    YEAR_DOY,
    DATE_HOUR,
    ROWS,
    FORMS
};

/* clang-format off */
static const form forms[FORMS] = {
    [ISO]            = { "date",            { BY_DAY, BY_WEEK, BY_MONTH, BY_WORKDAY }, 4, 1, { "date" } },
    [DMY]            = { "date, text",      { BY_DAY, BY_WEEK, BY_MONTH },             3, 1, { "when" } },
    [MDY]            = { "date, text",      { BY_DAY, BY_WEEK, BY_WORKDAY },           3, 1, { "Week" } },
    [LONG_DATE]      = { "date, text",      { BY_DAY, BY_MONTH },                      2, 1, { "on" } },
    [STAMP]          = { "timestamp",       { BY_HOUR, BY_HALF },                      2, 1, { "stamp" } },
    [DAY8]           = { "20170415",        { BY_DAY, BY_WORKDAY },                    2, 1, { "day" } },
    [MONTH6]         = { "201704",          { BY_MONTH },                              1, 1, { "period" } },
    [WEEK6]          = { "201729",          { BY_WEEK },                               1, 1, { "yw" } },
    [MONTH_TEXT]     = { "month, text",     { BY_MONTH },                              1, 1, { "month" } },
    [QUARTER_TEXT]   = { "quarter, text",   { BY_QUARTER },                            1, 1, { "quarter" } },
    [EPOCH]          = { "epoch",           { BY_HOUR, BY_DAY },                       2, 1, { "ts" } },
    [MILLI]          = { "epoch",           { BY_HOUR, BY_HALF },                      2, 1, { "ms" } },
    [DECIMAL]        = { "decimal year",    { BY_MONTH, BY_QUARTER },                  2, 1, { "time" } },
    [YEAR]           = { "year",            { BY_YEAR },                               1, 1, { "year" } },
    [YEAR2]          = { "year, 2 digits",  { BY_YEAR },                               1, 1, { "yr" } },
    [COUNT]          = { "count",           { BY_COUNT },                              1, 1, { "t" } },
    [YEAR_MONTH]     = { "parts",           { BY_MONTH },                              1, 2, { "year", "month" } },
    [YEAR_NAME]      = { "parts",           { BY_MONTH },                              1, 2, { "year", "mon" } },
    [YEAR_MONTH_DAY] = { "parts",           { BY_DAY, BY_WORKDAY },                    2, 3, { "y_", "m_", "d_" } },
    [YMD_HOUR]       = { "parts",           { BY_HOUR },                               1, 4, { "y_", "m_", "d_", "h_" } },
    [MONTH_DAY]      = { "parts, no year",  { BY_DAY },                                1, 2, { "Month", "Day" } },
    [YEAR_QUARTER]   = { "parts",           { BY_QUARTER },                            1, 2, { "year", "q" } },
    [YEAR_WEEK]      = { "parts",           { BY_WEEK },                               1, 2, { "year", "wk" } },
    [YEAR_DOY]       = { "parts",           { BY_DAY },                                1, 2, { "year", "doy" } },
    [DATE_HOUR]      = { "date and hour",   { BY_HOUR },                               1, 2, { "date", "hour" } },
    [ROWS]           = { "order of rows",   { BY_COUNT },                              1, 0, { NULL } },
};
/* clang-format on */

static const char *const month_name[] = { "January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December" };

/* Seconds of step k of a pace from a start. */
static double moment(pace by, double start, size_t k)
{
    int y, m, d;
    int64_t day = (int64_t)floor(start / 86400), months;
    tab_civil_from_days(day, &y, &m, &d);
    switch (by) {
    case BY_DAY:
        return start + 86400.0 * (double)k;
    case BY_WORKDAY: { /* starts on a Monday */
        int64_t monday = day - ((day + 3) % 7 + 7) % 7;
        return 86400.0 * (double)(monday + (int64_t)(k / 5) * 7 + (int64_t)(k % 5));
    }
    case BY_WEEK:
        return start + 7 * 86400.0 * (double)k;
    case BY_HOUR:
        return start + 3600.0 * (double)k;
    case BY_HALF:
        return start + 1800.0 * (double)k;
    default:
        months = (int64_t)y * 12 + m - 1 + (int64_t)k * (by == BY_MONTH ? 1 : by == BY_QUARTER ? 3 : 12);
        return 86400.0 * (double)tab_days_from_civil(months / 12, (int)(months % 12) + 1, 1);
    }
}

static void iso_week(double seconds, int *year, int *week)
{
    int64_t day = (int64_t)floor(seconds / 86400), monday = day - ((day + 3) % 7 + 7) % 7;
    int m, d;
    tab_civil_from_days(monday + 3, year, &m, &d);
    *week = (int)((monday + 3 - tab_days_from_civil(*year, 1, 1)) / 7) + 1;
}

/* The same times as other people write them. False: as all do. */
static bool put_other_time(page *o, int f, double at, size_t k, int y, int m, int d, int hour, int minute)
{
    const char *name = month_name[m - 1];
    switch (f) {
    case ISO:
        put(o, "%04d/%02d/%02d,", y, m, d);
        return true;
    case DMY:
        put(o, "%02d-%02d-%04d,", d, m, y);
        return true;
    case MDY:
        put(o, "%02d/%02d/%04d,", m, d, y);
        return true;
    case LONG_DATE:
        put(o, "\"%s %d, %04d\",", name, d, y);
        return true;
    case STAMP:
        put(o, "%04d-%02d-%02dT%02d:%02d:00Z,", y, m, d, hour, minute);
        return true;
    case MONTH_TEXT:
        put(o, "%04d-%02d,", y, m);
        return true;
    case QUARTER_TEXT:
        put(o, "%04dQ%d,", y, (m - 1) / 3 + 1);
        return true;
    case EPOCH:
        put(o, "%.0f,", at + 17);
        return true;
    case COUNT:
        put(o, "%zu,", 10 * k);
        return true;
    case YEAR_NAME:
        put(o, "%d,%.3s,", y, name);
        return true;
    default:
        return false;
    }
}

/* The cells of a time, a comma behind each. */
static void put_time(page *o, int f, pace by, double at, double start, size_t k, bool missing)
{
    int y, m, d, hour = (int)((at - 86400 * floor(at / 86400)) / 3600),
                 minute = (int)((at - 3600 * floor(at / 3600)) / 60), wy, w;
    int64_t day = (int64_t)floor(at / 86400);
    tab_civil_from_days(day, &y, &m, &d);
    iso_week(at, &wy, &w);
    if (missing) {
        for (size_t i = 0; i < forms[f].columns; i++)
            put(o, ",");
        return;
    }
    if (other && put_other_time(o, f, at, k, y, m, d, hour, minute))
        return;
    switch (f) {
    case ISO:
        put(o, "%04d-%02d-%02d,", y, m, d);
        break;
    case DMY:
        put(o, "%d.%d.%04d,", d, m, y);
        break;
    case MDY:
        put(o, "%d/%d/%04d,", m, d, y);
        break;
    case LONG_DATE:
        put(o, "%d %.3s %04d,", d, month_name[m - 1], y);
        break;
    case STAMP:
        put(o, "%04d-%02d-%02d %02d:%02d:00,", y, m, d, hour, minute);
        break;
    case DAY8:
        put(o, "%04d%02d%02d,", y, m, d);
        break;
    case MONTH6:
        put(o, "%04d%02d,", y, m);
        break;
    case WEEK6:
        put(o, "%04d%02d,", wy, w);
        break;
    case MONTH_TEXT:
        put(o, "%.3s %04d,", month_name[m - 1], y);
        break;
    case QUARTER_TEXT:
        put(o, "%04d-Q%d,", y, (m - 1) / 3 + 1);
        break;
    case EPOCH:
        put(o, "%.0f,", at);
        break;
    case MILLI:
        put(o, "%.0f,", at * 1000);
        break;
    case DECIMAL:
        put(o, "%.*f,", start > 0 ? 3 : 8, y + (m - 1) / 12.0);
        break;
    case YEAR:
        put(o, "%d,", y);
        break;
    case YEAR2:
        put(o, "%d,", y % 100);
        break;
    case COUNT:
        put(o, "%zu,", k);
        break;
    case YEAR_MONTH:
        put(o, "%d,%d,", y, m);
        break;
    case YEAR_NAME:
        put(o, "%d,%s,", y, month_name[m - 1]);
        break;
    case YEAR_MONTH_DAY:
        put(o, "%d,%d,%d,", y, m, d);
        break;
    case YMD_HOUR:
        put(o, "%d,%d,%d,%d,", y, m, d, hour);
        break;
    case MONTH_DAY:
        put(o, "%d,%d,", m, d);
        break;
    case YEAR_QUARTER:
        put(o, "%d,%d,", y, (m - 1) / 3 + 1);
        break;
    case YEAR_WEEK:
        put(o, "%d,%d,", wy, w);
        break;
    case YEAR_DOY:
        put(o, "%d,%d,", y, (int)(day - tab_days_from_civil(y, 1, 1)) + 1);
        break;
    case DATE_HOUR:
        put(o, "%04d-%02d-%02d,%d,", y, m, d, hour);
        break;
    default:
        break;
    }
    (void)by;
}

/* ---- a table with time ------------------------------------------------------------------------------ */

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

static double season_of(pace by)
{
    static const double of[] = { 7, 5, 52, 12, 4, 0, 24, 48, 12 };
    return of[by];
}

/* The values of a series: level, trend, season and noise that remembers. */
static void walk(cell *c, size_t n, size_t series, double season, double scale)
{
    double level = scale * (5 + 3 * unit()), slope = scale * normal() * 0.02, noise = 0,
           swing = scale * (1 + unit());
    double phase = 6.28 * unit();
    for (size_t i = 0; i < n; i++) {
        noise = (other ? 0.6 : 0.7) * noise +
                0.5 * scale * (other ? normal() + (unit() < 0.02 ? 3 * normal() : 0) : normal());
        double wave = season > 0 ? sin(6.283185307179586 * (double)c[i].step / season + phase) : 0;
        c[i].series = series;
        c[i].y =
            level + slope * (double)c[i].step + swing * (other ? wave + 0.5 * wave * wave : wave) + noise;
        c[i].y = other && scale > 3 ? round(c[i].y) : c[i].y;
    }
}

typedef struct {
    int f;
    pace by;
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
    const form *f = &forms[p->f];
    p->by = f->by[below(f->paces)];
    p->keys = p->f == ROWS ? 0 : chance(0.35) ? 0 : chance(0.6) ? 1 : chance(0.7) ? 2 : 3;
    p->series = 1;
    for (size_t k = 0; k < p->keys; k++)
        p->series *= p->size[k] = p->keys == 1 ? 2 + below(40) : p->keys == 2 ? 2 + below(6) : 2 + below(3);
    p->steps = p->series > 20 ? 20 + below(60) : 40 + below(160);
    if (p->by == BY_YEAR)
        p->steps = p->series > 1 ? 8 + below(30) : 30 + below(60);
    if (p->f == MONTH_DAY)
        p->steps = 100 + below(200);
    if (p->f == YEAR_MONTH_DAY || p->f == YMD_HOUR || p->f == DATE_HOUR || p->f == YEAR_WEEK ||
        p->f == YEAR_DOY)
        p->steps = p->series > 8 ? 150 + below(50) : 400 + below(300);
    if (p->f == YEAR_DOY)
        p->steps = 400 + below(300);
    if (p->f == YMD_HOUR)
        p->steps = 1200 + below(200), p->keys = p->keys > 1 ? 1 : p->keys,
        p->series = p->keys > 0 ? p->size[0] = 2 : 1;
    if (p->f == YEAR2)
        p->steps = 10 + below(20);
    int year = p->f == YEAR2      ? 60 + (int)below(8) + 1900
               : p->by == BY_YEAR ? 1900 + (int)below(90)
                                  : 1960 + (int)below(60);
    if (p->f == EPOCH || p->f == MILLI)
        year = 1995 + (int)below(25);
    if (p->f == MONTH_DAY)
        year = 2000;
    if (other && p->by != BY_YEAR && p->f != MONTH_DAY)
        year = year < 1990 ? year + 25 : year - 13;
    p->start = 86400.0 * (double)tab_days_from_civil(
                             year, p->by <= BY_WEEK || p->by >= BY_HOUR ? 1 + (int)below(3) : 1, 1);
    p->gaps = chance(0.3);
    p->doubles = chance(0.12) && p->f != ROWS;
    p->missing = chance(0.12) && p->f != ROWS;
    p->irregular = (p->f == ISO || p->f == STAMP || p->f == DMY) && chance(0.25);
    p->scaled = chance(0.5);
    p->rows = p->f == ROWS ? 0 : chance(0.4) ? 0 : chance(0.4) ? 1 : chance(0.6) ? 2 : 3;
    p->ask = chance(0.5) ? 1 : chance(0.5) ? 2 : chance(0.4) && p->series > 5 ? 3 : 0;
}

static size_t draw_cells(const plan *p, cell *c)
{
    size_t n = 0;
    for (size_t s = 0; s < p->series; s++) {
        size_t from = n, late = p->series > 1 && chance(0.2) ? below(p->steps / 3) : 0;
        double at = p->start;
        for (size_t k = late; k < p->steps; k++) {
            if (p->gaps && p->f != ROWS && chance(0.06))
                continue;
            double step = p->f == STAMP ? 1800 : 86400;
            at = p->irregular ? at + step * floor(1 + 9 * unit() * unit()) : moment(p->by, p->start, k);
            c[n] = (cell){ .series = s, .step = k, .at = p->by == BY_COUNT ? (double)k : at };
            c[n].asked = p->ask == 1   ? k + (p->steps / 7 + 1) >= p->steps
                         : p->ask == 2 ? chance(0.15)
                                       : p->ask == 3 && s % 5 == 2;
            c[n].lost = p->missing && chance(0.01);
            n++;
            if (p->doubles && chance(0.01))
                c[n] = c[n - 1], n++;
        }
        walk(c + from, n - from, s, season_of(p->by), p->scaled ? exp(1.5 * normal()) : 1);
    }
    for (size_t i = 0; i < n; i++)
        c[i].tie = next();
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

static void put_keys(page *o, const plan *p, size_t series, bool same, const int *style)
{
    size_t rest = series;
    for (size_t k = 0; k < p->keys; k++) {
        size_t v = rest % p->size[k];
        rest /= p->size[k];
        static const char *const city[] = { "Lyon", "Porto", "Graz", "Turku", "Bergen", "Gent", "Split" };
        if (other && style[k] == 0)
            put(o, "%s-%zu,", city[v % 7], v / 7);
        else if (other && style[k] == 2)
            put(o, "%zu,", 900001 + 7919 * v * v);
        else if (style[k] == 0)
            put(o, "S%02zu,", v);
        else if (style[k] == 1)
            put(o, "%zu,", v + 1);
        else if (style[k] == 2)
            put(o, "%zu,", 1000 + 37 * v);
        else
            put(o, "%s %c,", v % 2 ? "North" : "South", (int)('A' + v % 26));
        if (k == 0 && same)
            put(o, "%s %zu,Region %zu,", "Shop", v * 7 + 3, v % 3);
    }
}

static void put_extras(page *o, const extras *e, const cell *c, double start)
{
    int y, m, d;
    if (e->measure)
        put(o, "%.2f,%.3f,", 20 + 5 * normal(), c->y * 0.1 + normal());
    if (e->many)
        put(o, "%zu,", other ? (size_t)(90 * -log(unit() + 1e-9)) : below(400));
    if (e->few)
        put(o, "%s,%zu,", below(2) ? "red" : below(2) ? "blue" : "green", 1 + below(10));
    if (e->other_date) { /* some days after the moment */
        tab_civil_from_days((int64_t)floor((c->at > 1e5 ? c->at : start) / 86400) + 1 + (int64_t)below(9), &y,
                            &m, &d);
        put(o, "%04d-%02d-%02d,", y, m, d);
    }
    if (e->birth) {
        tab_civil_from_days(-9000 + (int64_t)below(20000), &y, &m, &d);
        put(o, "%04d-%02d-%02d,", y, m, d);
    }
    if (e->holiday)
        put(o, "%d,", (int)(c->step * 7919 % 11 == 0));
    if (e->counts)
        put(o, "%zu,", below(13));
}

static void with_time(size_t i, made_table *ret)
{
    plan p;
    draw_plan(&p, i);
    static const char *const names[] = { "shop", "item", "channel" };
    extras e = { chance(0.6), chance(0.3),
                 chance(0.4), chance(0.25) && p.by != BY_COUNT && p.by != BY_YEAR && p.f != MONTH_DAY,
                 chance(0.2), p.keys > 0 && chance(0.3),
                 chance(0.2), chance(0.3) };
    int style[MADE_KEYS];
    for (size_t k = 0; k < MADE_KEYS; k++)
        style[k] = (int)below(4);
    if (style[0] == 3 && p.size[0] > 26)
        style[0] = 0;
    cell *c = malloc((p.series * p.steps * 2 + 8) * sizeof *c);
    size_t n = draw_cells(&p, c);
    page o = { 0 };
    bool front = chance(0.5);
    const form *f = &forms[p.f];
    for (size_t half = 0; half < 2; half++) {
        if (half == (front ? 0 : 1))
            for (size_t k = 0; k < f->columns; k++)
                put(&o, "%s,", f->name[k]);
        else
            for (size_t k = 0; k < p.keys; k++)
                put(&o, k == 0 && e.same ? "%s,shop_name,area," : "%s,", names[k]);
    }
    put(&o, "%s%s%s%s%s%s%sy\n", e.measure ? "temp,other," : "", e.many ? "many," : "",
        e.few ? "colour,score," : "", e.other_date ? "shipped," : "", e.birth ? "born," : "",
        e.holiday ? "holiday," : "", e.counts ? "n13," : "");
    double first = chance(0.5) ? 1 : 0;
    for (size_t r = 0; r < n; r++) {
        for (size_t half = 0; half < 2; half++)
            if (half == (front ? 0 : 1))
                put_time(&o, p.f, p.by, c[r].at, first, c[r].step + (size_t)first, c[r].lost);
            else
                put_keys(&o, &p, c[r].series, e.same, style);
        put_extras(&o, &e, &c[r], p.start);
        if (c[r].asked)
            put(&o, "\n");
        else
            put(&o, "%.4g\n", c[r].y);
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
    ret->step = p.irregular             ? 0
                : p.f == COUNT && other ? 10
                : p.f == DECIMAL        ? (p.by == BY_MONTH ? 1 / 12.0 : 0.25)
                                        : steps[p.by];
    bool seen = p.by != BY_COUNT || p.steps >= 60;
    ret->season = p.irregular || !seen || (double)p.steps < 2.5 * season_of(p.by) ? 0 : season_of(p.by);
    ret->after = p.ask == 1, ret->fresh = p.ask == 3;
    free(c);
}

/* ---- tables without time ------------------------------------------------------------------------------ */

typedef struct {
    double x[3], y, key;
    size_t cat, born, at;
} thing;

static int by_key(const void *a, const void *b)
{
    const thing *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->at > y->at) - (x->at < y->at); // NOLINT
}

enum {
    BORN,
    SORTED,
    SORTED_TARGET,
    SORTED_GROUP,
    SURVEY,
    COUNTER,
    WALKING_ID,
    BUILT,
    COPIES,
    DESIGN,
    LINES,
    RATINGS,
    PLAIN,
    KINDS
};
static const char *const kinds[] = {
    "none: birth dates",    "none: sorted export", "none: sorted by target", "none: sorted by group",
    "none: survey by year", "none: counter",       "none: ids that grow",    "none: year built",
    "none: copies",         "none: design",        "none: lines of orders",  "none: ratings",
    "none: plain"
};

static void without_time(size_t i, made_table *ret)
{
    int kind = (int)(i % KINDS);
    size_t n = chance(0.2) ? 14 + below(60) : 120 + below(1500), groups = 5 + below(20);
    thing *t = calloc(n, sizeof *t);
    page o = { 0 };
    for (size_t r = 0; r < n; r++) {
        t[r].cat = below(groups);
        t[r].born = below(18000);
        for (size_t k = 0; k < 3; k++)
            t[r].x[k] = k == 1 ? floor(50 * unit()) : normal();
        if (other) {
            t[r].x[0] = exp(0.6 * t[r].x[0]);
            t[r].x[1] = floor(-12 * log(unit() + 1e-9));
        }
        t[r].y = t[r].x[0] * 2 + 0.05 * t[r].x[1] + 0.4 * (double)(t[r].cat % 3) + normal();
        t[r].at = r;
        t[r].key = kind == SORTED          ? (chance(0.5) ? t[r].x[0] : t[r].x[0])
                   : kind == SORTED_TARGET ? t[r].y
                   : kind == SORTED_GROUP  ? (double)t[r].cat
                   : kind == BUILT         ? (double)(t[r].born / 365)
                                           : (double)r;
        if (kind == BUILT)
            t[r].y += 0.05 * (double)(t[r].born / 365);
        if (kind == SORTED_GROUP)
            t[r].y += 2 * sin((double)t[r].cat * 5);
    }
    bool descending = chance(0.4);
    if (kind == BUILT ? chance(0.5) : true)
        qsort(t, n, sizeof *t, by_key);
    put(&o, "%s%s%sa,b,c,group,y\n",
        kind == BORN                            ? "birth,"
        : kind == COUNTER || kind == WALKING_ID ? "id,"
                                                : "",
        kind == SURVEY || kind == BUILT ? "year,"
        : kind == DESIGN                ? "person,dose,"
        : kind == LINES                 ? "order,line,"
                                        : "",
        kind == RATINGS ? "q1,q2,q3,q4,age," : "");
    size_t id = 1000 + below(5000), people = 10 + below(30), order = 1, line = 0, left = 1 + below(6);
    size_t last = chance(0.5) ? n - n / 7 : n + 1;
    for (size_t r = 0; r < n; r++) {
        const thing *x = &t[descending ? n - 1 - r : r];
        int y, m, d;
        if (kind == COPIES && r % 3 != 0)
            x = &t[descending ? n - 1 - (r - r % 3) : r - r % 3];
        tab_civil_from_days(-8000 + (int64_t)x->born, &y, &m, &d);
        if (kind == BORN)
            put(&o, "%04d-%02d-%02d,", y, m, d);
        if (kind == COUNTER)
            put(&o, "%zu,", r + 1);
        if (kind == WALKING_ID)
            put(&o, "%zu,", id += 1 + below(40));
        if (kind == SURVEY)
            put(&o, "%zu,", 1997 + below(8));
        if (kind == BUILT)
            put(&o, "%d,", y);
        if (kind == DESIGN)
            put(&o, "%zu,%zu,", r / people + 1, r % people + 1);
        if (kind == LINES) {
            if (line == left)
                order += 1 + below(3), line = 0, left = 1 + below(6);
            put(&o, "%zu,%zu,", order, ++line);
        }
        if (kind == RATINGS)
            put(&o, "%zu,%zu,%zu,%zu,%zu,", 1 + below(5), 1 + below(5), 1 + below(12), 1 + below(31),
                18 + below(60));
        put(&o, "%.3f,%.0f,%.2f,G%zu,", x->x[0], x->x[1], x->x[2], x->cat);
        bool asked = last <= n ? r >= last : chance(0.15);
        if (asked)
            put(&o, "\n");
        else
            put(&o, "%.4g\n", x->y);
    }
    *ret = (made_table){ .group = kinds[kind], .text = o.p, .n = o.n, .kind = TAB_TIME_NONE };
    free(t);
}

void made_series(uint64_t seed, size_t i, made_table *ret)
{
    other = seed >= MADE_OTHER;
    state = seed * 1000003 + i * 7919 + 17;
    for (size_t k = 0; k < 4; k++)
        next();
    if (i < MADE_WITH_TIME)
        with_time(i, ret);
    else
        without_time(i - MADE_WITH_TIME, ret);
}
