/* Births of the persons that a table lists (see stages.h). A date of birth by itself is a date; that it is
 * one follows from what stands beside it: a row is a person, and the dates lie before all others of the row,
 * over decades, on any day of the week. Entries and payments keep to working days or to fewer years. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/profile/roles/stages.h"

/* Days below which nothing is said, and that are looked at; columns that are. */
enum { LEAST = 12, DAYS = 400, COLUMNS = 64 };

/* Whether the column names persons, most of them once: a row is one of them. */
static bool lists_persons(const tab_staged *c)
{
    static const uint8_t roles[] = { TAB_ROLE_NAME, TAB_ROLE_FIRST_NAME, TAB_ROLE_LAST_NAME, TAB_ROLE_EMAIL,
                                     TAB_ROLE_NATIONAL_ID };
    static const double ONCE = 0.6; /* given names repeat in long lists, and whole names do not */
    double sum = 0;
    for (size_t i = 0; i < sizeof roles; i++)
        sum += (double)c->p2[roles[i]];
    return sum > 0.5 && c->features.distinct >= ONCE * c->features.present;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The column's days (DAYS at most), sorted; how many. */
static size_t read_days(const tab_reading *r, double day[DAYS])
{
    size_t n = 0, step = r->levels / DAYS + 1;
    for (size_t k = 0; k < r->levels && n < (size_t)DAYS; k += step)
        if (!isnan(r->time[k]))
            day[n++] = floor(r->time[k] / 86400);
    qsort(day, n, sizeof *day, by_value);
    return n;
}

/* Whether its days lie as births do. SPAN: years between the twentieths of them; of the labelled columns of
 * births nine in ten have more, those of eight persons apart. Weekends: two days of seven, within three
 * standard deviations. */
static bool as_births(const tab_staged *c)
{
    static const double SPAN = 32, WEEKENDS = 2.0 / 7;
    double day[DAYS], weekends = 0;
    const tab_reading *r = c->reading;
    if (!r->can_date || r->time == NULL || c->features.distinct < 0.6 * c->features.present)
        return false;
    size_t n = read_days(r, day);
    if (n < (size_t)LEAST || day[n - 1 - n / 20] - day[n / 20] < SPAN * 365.25)
        return false;
    for (size_t i = 0; i < n; i++) /* 1970-01-01 was a Thursday */
        weekends += fmod(fmod(day[i] + 3, 7) + 7, 7) >= 5;
    return fabs(weekends / (double)n - WEEKENDS) <= 3 * sqrt(WEEKENDS * (1 - WEEKENDS) / (double)n);
}

/* The odds of a birth, so many times as large: of the labelled columns that pass all are births. */
static void raise_birth(float *p)
{
    static const double TIMES = 100, FLOOR = 0.02;
    double q = fmax(FLOOR, (double)p[TAB_ROLE_BIRTH_DATE]), now = TIMES * q / (1 - q + TIMES * q);
    float rest = (float)((1 - now) / fmax(1e-9, 1 - (double)p[TAB_ROLE_BIRTH_DATE]));
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] = r == TAB_ROLE_BIRTH_DATE ? (float)now : p[r] * rest;
}

/* Whether one of the other dates is mostly before it. */
static bool has_earlier(tab_staged *const *c, size_t n, size_t of)
{
    double day[DAYS], other[DAYS];
    size_t m = read_days(c[of]->reading, day);
    for (size_t k = 0; k < n; k++) {
        if (k == of || !c[k]->reading->can_date || c[k]->reading->time == NULL)
            continue;
        size_t o = read_days(c[k]->reading, other);
        if (o >= (size_t)LEAST && other[o / 2] < day[m / 2])
            return true;
    }
    return false;
}

/* A date that is never before another one of its row is no birth, whatever the decades. */
static void deny_later(tab_staged *c)
{
    static const float LEFT = 0.05f;
    float taken = c->relation[TAB_RELATION_ENDS] > 0 ? (1 - LEFT) * c->p2[TAB_ROLE_BIRTH_DATE] : 0;
    c->p2[TAB_ROLE_BIRTH_DATE] -= taken;
    c->p2[TAB_ROLE_DATE] += taken;
}

void tab_hear_births(tab_staged *const *c, size_t n)
{
    bool persons = false;
    n = n < (size_t)COLUMNS ? n : (size_t)COLUMNS;
    for (size_t k = 0; k < n; k++)
        deny_later(c[k]);
    for (size_t k = 0; k < n && !persons; k++)
        persons = lists_persons(c[k]);
    for (size_t k = 0; k < n && persons; k++)
        if (c[k]->p2[TAB_ROLE_DATE] + c[k]->p2[TAB_ROLE_BIRTH_DATE] + c[k]->p2[TAB_ROLE_DATETIME] > 0.5f &&
            as_births(c[k]) && !has_earlier(c, n, k))
            raise_birth(c[k]->p2);
}
