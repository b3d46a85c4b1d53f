/* See series.h.
 *
 *   clues.c     columns read as times, or as parts of one
 *      └─> axes: each clue, and parts together  ─> ranks.c ─> keys.c ─> evidence.c: points
 *                                                     the axis with the most, or the order of rows, or none
 *                                                     └─> step.c: step, index, seasons */
#include "services/inference/engine/series/series.h"

#include <math.h>
#include <string.h>

#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/series/internal.h"

/* POINTS: an axis with fewer is none. PARTS: columns that are tried as one part. Chosen by hand on made
 * tables (tests/bench/series): decision 0389. FEWEST: rows that show a time; where the next steps are asked,
 * so that there is one, FEWEST_STEPS. */
static const double POINTS = 4.9;
enum { FEWEST = 6, FEWEST_STEPS = 3, PARTS = 4, CLOCK = TAB_PART_HOUR | TAB_PART_CLOCK };
static const double DAY = 86400;

static size_t fewest(const tab_profile *p)
{
    return p->steps ? FEWEST_STEPS : FEWEST;
}

/* ---- a time from its clues ------------------------------------------------------------------------ */

static double from_civil(double y, double m, double d)
{
    return (double)tab_days_from_civil((int64_t)y, (int)m, (int)d) * DAY;
}

/* The Monday of week w of a year (ISO 8601: the first week holds January 4). */
static double from_week(double y, double w)
{
    int64_t jan4 = tab_days_from_civil((int64_t)y, 1, 4) + 3, monday = jan4 - ((jan4 % 7) + 7) % 7 - 3;
    return ((double)monday + 7 * (w - 1)) * DAY;
}

static double full_year(double y, double hi)
{
    if (y >= 100 || hi >= 100)
        return y;
    return y < 70 && hi < 70 ? 2000 + y : 1900 + y;
}

static int month_days(int y, int m)
{
    int64_t next = m == 12 ? tab_days_from_civil(y + 1, 1, 1) : tab_days_from_civil(y, m + 1, 1);
    return (int)(next - tab_days_from_civil(y, m, 1));
}

/* A time from its parts. */
static double part_when(const tab_time_reader *of, size_t n, const double *cell, bool *ret_wrong)
{
    double y = 2000, m = 1, d = 1, seconds = 0, base = (double)NAN;
    bool week = false, yearday = false;
    for (size_t i = 0; i < n; i++) {
        double v = cell[i];
        if (isnan(v))
            return v;
        switch (of[i].part) {
        case TAB_PART_YEAR:
            y = full_year(v, of[i].hi);
            break;
        case TAB_PART_QUARTER:
            m = 3 * v - 2;
            break;
        case TAB_PART_MONTH:
            m = v;
            break;
        case TAB_PART_WEEK:
            week = true, d = v;
            break;
        case TAB_PART_YEARDAY:
            yearday = true, d = v;
            break;
        case TAB_PART_DAY:
            d = v;
            break;
        case TAB_PART_HOUR:
            seconds += 3600 * v;
            break;
        case TAB_PART_MINUTE:
            seconds += 60 * v;
            break;
        case TAB_PART_CLOCK:
            seconds += v;
            break;
        default: /* a date */
            base = of[i].as == TAB_AS_DAY8
                       ? from_civil(floor(v / 10000), fmod(floor(v / 100), 100), fmod(v, 100))
                       : v;
        }
    }
    if (isnan(base) && !week && !yearday &&
        (!(m >= 1 && m <= 12) || (d > 28 && d > month_days((int)y, (int)m))))
        return *ret_wrong = true, (double)NAN;
    if (isnan(base))
        base = week ? from_week(y, d) : yearday ? from_civil(y, 1, 1) + (d - 1) * DAY : from_civil(y, m, d);
    return base + seconds;
}

static double single_when(const tab_time_reader *c, double v)
{
    if (isnan(v))
        return v;
    switch (c->as) {
    case TAB_AS_DAY8:
        return from_civil(floor(v / 10000), fmod(floor(v / 100), 100), fmod(v, 100));
    case TAB_AS_MONTH6:
        return from_civil(floor(v / 100), fmod(v, 100), 1);
    case TAB_AS_WEEK6:
        return from_week(floor(v / 100), fmod(v, 100));
    case TAB_AS_EPOCH:
        return c->hi > 1e11 ? v / 1000 : v;
    default:
        return v;
    }
}

static double when_of(const tab_time_reader *of, size_t n, const double *cell, bool *ret_wrong)
{
    return n > 1 ? part_when(of, n, cell, ret_wrong) : single_when(of, cell[0]);
}

double tab_series_cell(const tab_series *s, size_t k, double number, tab_str text)
{
    int how = s->reader[k].text;
    return text.n > 0 && (how != 0 || isnan(number)) ? tab_series_text(how, text) : number;
}

double tab_series_when(const tab_series *s, const double *v)
{
    tab_time_reader of[TAB_TIME_COLUMNS];
    bool wrong = false;
    for (size_t k = 0; k < s->times; k++) {
        of[k] = s->reader[k];
        of[k].as = of[k].seconds ? TAB_AS_DATE : of[k].as;
        /* years, months and hours are small numbers */
        if (!(fabs(v[k]) < (s->times > 1 && of[k].part != 0 ? 1e6 : 1e13)))
            return (double)NAN;
    }
    return s->times > 0 ? when_of(of, s->times, v, &wrong) : (double)NAN;
}

static void readers_of(const tab_axis *x, tab_time_reader *ret)
{
    for (size_t i = 0; i < x->clues; i++)
        ret[i] = (tab_time_reader){ x->clue[i]->text, (int)x->clue[i]->as, x->clue[i]->seconds, x->role[i],
                                    x->clue[i]->hi };
}

static void fill_when(const tab_search *s, tab_axis *x)
{
    const tab_clue *c = x->clue[0];
    tab_time_reader of[TAB_TIME_COLUMNS];
    readers_of(x, of);
    x->at.wrong = 0;
    for (size_t r = 0; r < s->rows; r++) {
        double cell[TAB_TIME_COLUMNS];
        bool wrong = false;
        for (size_t i = 0; i < x->clues; i++)
            cell[i] = x->clue[i]->v[r];
        x->at.when[r] = when_of(of, x->clues, cell, &wrong);
        x->at.wrong += wrong;
    }
    x->calendar =
        x->clues > 1 || (c->as != TAB_AS_YEAR && c->as != TAB_AS_DECIMAL_YEAR && c->as != TAB_AS_COUNT);
    x->unit = x->calendar ? TAB_STEP_SECONDS : c->as != TAB_AS_COUNT ? TAB_STEP_YEARS : TAB_STEP_NUMBER;
}

/* ---- choosing ------------------------------------------------------------------------------------- */

/* Whether x is the better time: by points, then by the order of rows, and of two dates the earlier, as
 * nothing is known of a row before it came. */
static bool beats(const tab_axis *x, const tab_axis *best)
{
    if (best->clues == 0 || fabs(x->points - best->points) > 0.05)
        return x->points > best->points;
    if (fabs(x->ordered - best->ordered) > 0.03)
        return x->ordered > best->ordered;
    if (!x->calendar || !best->calendar || x->clues > 1 || best->clues > 1)
        return false;
    double early = 0;
    for (size_t i = 0; i < x->at.known; i++) {
        uint32_t r = x->at.order[i];
        early += isnan(best->at.when[r]) ? 0 : x->at.when[r] < best->at.when[r] ? 1 : -1;
    }
    return early > 0;
}

/* Judges x with the spare buffers; where it is better than best it takes its place. */
static bool try_axis(tab_search *s, tab_axis *x, tab_axis *best)
{
    x->at = s->spare;
    fill_when(s, x);
    if (!tab_rank_times(s->rows, x->calendar, &x->at))
        return false;
    s->spare = x->at;
    if (x->at.times < 3 || x->at.known < fewest(s->p) || 200 * x->at.wrong > x->at.known)
        return true;
    if (!tab_series_keys(s, x) || !tab_series_weigh(s, x))
        return false;
    if (beats(x, best)) {
        tab_ranked old = best->at;
        *best = *x;
        s->spare = old;
    }
    return true;
}

static bool with(const tab_axis *base, const tab_clue *c, unsigned role, tab_axis *ret)
{
    if (base->clues >= TAB_TIME_COLUMNS)
        return false;
    for (size_t i = 0; i < base->clues; i++)
        if (base->clue[i]->column == c->column)
            return false;
    *ret = (tab_axis){ .clues = base->clues, .yearless = base->yearless };
    memcpy(ret->clue, base->clue, sizeof ret->clue);
    memcpy(ret->role, base->role, sizeof ret->role);
    ret->clue[ret->clues] = c;
    ret->role[ret->clues++] = role;
    return true;
}

/* Whether months beside a year stand without days: all that there are, or every third; of one or two years
 * those of a season. */
static bool whole_months(const tab_axis *x)
{
    const tab_clue *c = x->clue[x->clues - 1];
    if (x->role[x->clues - 1] != TAB_PART_MONTH || x->role[0] != TAB_PART_YEAR)
        return true;
    bool dense = c->hi - c->lo + 1 <= (double)c->distinct;
    return c->distinct == 12 || (c->distinct == 4 && c->hi - c->lo == 9) || // NOLINT: whole
           (dense && c->distinct > 4 && x->clue[0]->distinct <= 2);
}

/* Days of more than two months reach the 30th; numbers that never do are something else. */
static bool days_of_months(const tab_axis *x)
{
    const tab_clue *day = x->clue[x->clues - 1], *month = x->clue[x->clues - 2];
    return day->hi >= 30 || month->distinct <= 2;
}

/* Tries the chain of finer parts below a base: of each part the clue that says most, of months each, as a day
 * may show which it is. role: parts of which one follows. */
static bool chain(tab_search *s, const tab_axis *base, const unsigned *role, size_t n, tab_axis *best)
{
    tab_axis top = { .points = -1 };
    size_t tried = 0;
    for (size_t i = 0; n > 0 && i < s->clues && tried < PARTS; i++) {
        tab_axis x;
        unsigned as = s->clue[i].parts & role[0];
        if (as == 0 || !with(base, &s->clue[i], as & TAB_PART_CLOCK ? TAB_PART_CLOCK : as, &x))
            continue;
        tried++;
        if (as == TAB_PART_DAY && !days_of_months(&x))
            continue;
        if (whole_months(&x) && !try_axis(s, &x, best))
            return false;
        if (as == TAB_PART_MONTH && !chain(s, &x, role + 1, n - 1, best))
            return false;
        if (as != TAB_PART_MONTH && (top.points < 0 || x.points > top.points))
            top = x;
    }
    bool minutes = top.points >= 0 && top.role[top.clues - 1] != TAB_PART_CLOCK;
    return !minutes || chain(s, &top, role + 1, n - 1, best);
}

static bool try_parts(tab_search *s, tab_axis *best)
{
    static const unsigned fine[] = { TAB_PART_MONTH, TAB_PART_DAY, CLOCK, TAB_PART_MINUTE },
                          quarter[] = { TAB_PART_QUARTER }, week[] = { TAB_PART_WEEK },
                          yearday[] = { TAB_PART_YEARDAY, CLOCK, TAB_PART_MINUTE };
    size_t years = 0;
    for (size_t i = 0; i < s->clues; i++) {
        const tab_clue *c = &s->clue[i];
        tab_axis base = { .clue = { c }, .role = { TAB_PART_YEAR }, .clues = 1 };
        if ((c->parts & TAB_PART_YEAR) && years++ < PARTS)
            if (!chain(s, &base, fine, 4, best) || !chain(s, &base, quarter, 1, best) ||
                !chain(s, &base, week, 1, best) || !chain(s, &base, yearday, 3, best))
                return false;
        base.role[0] = 0;
        if ((c->as == TAB_AS_DATE || c->as == TAB_AS_DAY8) && c->days && !c->birth)
            if (!chain(s, &base, fine + 2, 2, best))
                return false;
    }
    for (size_t i = 0; i < s->clues; i++) {
        tab_axis base = { .clue = { &s->clue[i] }, .role = { TAB_PART_MONTH }, .clues = 1, .yearless = true };
        if ((s->clue[i].parts & TAB_PART_MONTH) && !chain(s, &base, fine + 1, 3, best))
            return false;
    }
    return true;
}

/* ---- the answer ----------------------------------------------------------------------------------- */

static bool take_axis(tab_search *s, tab_axis *x, tab_series *ret)
{
    if (!tab_series_value_key(s, x))
        return false;
    ret->kind = x->clues > 1 ? TAB_TIME_PARTS : TAB_TIME_COLUMN;
    ret->times = x->clues;
    for (size_t i = 0; i < x->clues; i++)
        ret->time[i] = x->clue[i]->column;
    readers_of(x, ret->reader);
    ret->calendar = x->calendar;
    ret->yearless = x->yearless;
    ret->falls = x->falls;
    memcpy(ret->when, x->at.when, s->rows * sizeof *ret->when);
    memcpy(ret->key, x->key, sizeof ret->key);
    ret->keys = x->keys;
    ret->confidence = 1 - exp(-x->points / 4);
    return tab_series_ids(s, x->key, x->keys, ret->series, &ret->n) && tab_series_step(s, x, ret);
}

static bool take_order(tab_search *s, tab_axis *x, tab_series *ret)
{
    if (!tab_series_row_order(s))
        return false;
    if (!(s->row_order > 0))
        return true;
    x->at = s->spare;
    x->clues = 0, x->keys = 0, x->calendar = false, x->unit = TAB_STEP_NUMBER;
    memset(x->clue, 0, sizeof x->clue);
    for (size_t r = 0; r < s->rows; r++)
        ret->when[r] = x->at.when[r] = (double)r;
    ret->kind = TAB_TIME_ORDER;
    ret->confidence = s->row_order;
    return tab_rank_times(s->rows, x->calendar, &x->at) &&
           tab_series_ids(s, x->key, 0, ret->series, &ret->n) && tab_series_step(s, x, ret);
}

static void note(tab_series *s, const char *text)
{
    if (text != NULL && s->notes < sizeof s->note / sizeof *s->note)
        s->note[s->notes++] = text;
}

static void note_all(tab_arena *a, const tab_search *s, const tab_axis *x, tab_series *ret)
{
    size_t unknown = 0;
    for (size_t r = 0; r < s->rows; r++)
        unknown += isnan(ret->when[r]);
    if (unknown > 0)
        note(ret, tab_arena_printf(a, "the time of %zu rows is unknown", unknown));
    if (ret->kind == TAB_TIME_ORDER)
        note(ret, "no column says when a row was recorded; the values agree with the order of the rows");
    else if (x->single < 1)
        note(ret, tab_arena_printf(a, "%.3g%% of the rows share their time with another of their series",
                                   100 * (1 - x->single)));
    if (!ret->regular)
        note(ret, "the times are not evenly spaced");
    if (ret->falls)
        note(ret, "the newest rows come first");
    else if (ret->kind != TAB_TIME_ORDER && x->ordered < 0.9)
        note(ret, "the rows are not in time order");
    if (ret->yearless)
        note(ret, "no column holds the year");
}

tab_status tab_series_find(tab_arena *a, const tab_profile *p, size_t target, const bool *asked,
                           tab_series *ret, tab_error *err)
{
    size_t rows = p->table->rows, cols = p->table->cols;
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)16 << 30);
    *ret = (tab_series){ .kind = TAB_TIME_NONE, .step = 1, .unit = TAB_STEP_NUMBER, .n = rows > 0 };
    ret->when = tab_arena_new_of(a, double, rows + 1);
    ret->series = tab_arena_new_of(a, uint32_t, rows + 1);
    ret->index = tab_arena_new_of(a, int64_t, rows + 1);
    if (scratch == NULL || tab_arena_full(a))
        return tab_no_memory(err);
    tab_search s = {
        .scratch = scratch,
        .p = p,
        .target = target,
        .rows = rows,
        .cols = cols,
        .asked = asked,
        .row_order = -1,
    };
    s.level = tab_arena_new_of(scratch, uint32_t *, cols + 1);
    s.series = tab_arena_new_of(scratch, uint32_t, rows + 1);
    s.seq = tab_arena_new_of(scratch, uint32_t, rows + 1);
    for (size_t r = 0; asked != NULL && r < rows; r++)
        s.n_asked += asked[r];
    size_t last = 0;
    for (size_t r = rows - s.n_asked; r < rows; r++)
        last += asked != NULL && asked[r];
    s.at_end = s.n_asked > 0 && 10 * last >= 9 * s.n_asked;
    tab_axis best = { .points = POINTS };
    bool enough = rows >= fewest(p);
    bool ok = !tab_arena_full(scratch) && tab_ranked_new(scratch, rows, &s.spare) &&
              tab_ranked_new(scratch, rows, &best.at) && (!enough || tab_series_clues(&s));
    for (size_t i = 0; ok && enough && i < s.clues; i++) {
        tab_axis x = { .clue = { &s.clue[i] }, .clues = 1 };
        ok = s.clue[i].as == TAB_AS_NOTHING || try_axis(&s, &x, &best);
    }
    ok = ok && (!enough || try_parts(&s, &best));
    if (ok)
        ok = best.clues > 0 ? take_axis(&s, &best, ret) : !enough || take_order(&s, &best, ret);
    if (!ok)
        return tab_no_memory(err);
    if (ret->kind != TAB_TIME_NONE)
        note_all(a, &s, &best, ret);
    for (size_t r = 0; ret->kind == TAB_TIME_NONE && r < rows; r++)
        ret->when[r] = (double)NAN, ret->index[r] = INT64_MIN;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}
