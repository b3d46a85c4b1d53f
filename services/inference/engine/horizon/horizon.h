/* The next steps of every series as rows of their table (`options.horizon`, decision 0394). They are made
 * before anything is fitted, and asked as rows are that were sent with a time, the columns that name a
 * series, and nothing else; a row of the caller's for one of these times stands in place of the made one.
 * Their answers then leave the results and become the bundle's forecast.
 *
 *   times.c     the time some steps after another, and how a column writes it
 *   horizon.c   which rows are made, the longer table, the forecast */
#ifndef TAB_HORIZON_H
#define TAB_HORIZON_H

#include "services/inference/engine/series/series.h"

enum { TAB_HORIZON_MOST = 10000 }; /* steps */

typedef struct tab_horizon {
    const tab_table *table; /* the caller's rows, then those that were made */
    size_t rows, made;      /* of both */
    size_t n;               /* steps of series that are asked, sent ones among them */
    uint32_t *row;          /* (n) of table, by series and then by step */
    double *when;           /* (n) as series.when; of the order of rows the place in its series */
    tab_series series;      /* of the caller's rows */
} tab_horizon;

/* horizon is 1 or more. All lives in a. Errors: VALIDATION ("options.horizon": no time, no series with a
 * known target, more rows than can be), INTERNAL. */
tab_status tab_horizon_make(tab_arena *a, const tab_profile *p, size_t target, size_t horizon,
                            tab_horizon *ret, tab_error *err) TAB_CHECKED;

/* How many steps these are, and how many rows would be made for them: no row is. Errors as above. */
tab_status tab_horizon_count(tab_arena *a, const tab_profile *p, size_t target, size_t horizon,
                             size_t *ret_steps, size_t *ret_made, tab_error *err) TAB_CHECKED;

/* Takes the answers of made rows out of m and tells all steps as its forecast. table: its number in the run.
 * method: how they were answered; NULL: as the other rows. False: memory. */
bool tab_horizon_tell(tab_arena *a, const tab_horizon *h, uint32_t table, const char *method,
                      Tabella__Prediction *m) TAB_CHECKED;

/* ---- times.c ------------------------------------------------------------------------------- */

/* The time k steps after `when`; ends: all known times are the ends of their months. */
double tab_step_after(const tab_series *s, double when, size_t k, bool ends);
/* Whether all known times of a calendar are the last days of their months. */
bool tab_month_ends(const tab_series *s, size_t rows);
/* A step as ISO 8601 has it, or as a number. In the arena. */
const char *tab_step_text(tab_arena *a, const tab_series *s, bool *ret_number);

/* How a column writes the times of its rows: found among the usual ways, so that a made cell reads like the
 * others. Where none fits, dates are written as ISO 8601 has them. */
typedef struct {
    const char *format; /* of text; NULL: a number */
    int number;         /* which of the numbers of a date; below 0: slope * when + start */
    double slope, start;
    int decimals;
    double offset;         /* of local times from UTC, in seconds */
    tab_str before, after; /* what stands around a number ("FY24"), or the zone behind a time; the column's */
    size_t digits;         /* of a number in a text, zeros in front counted */
    bool short_year;       /* of the year the last two digits are written */
} tab_time_writing;
tab_time_writing tab_time_writing_of(const tab_column_profile *c, const tab_series *s, size_t rows);
double tab_time_numbered(const tab_time_writing *w, double when);
tab_str tab_time_written(tab_arena *a, const tab_time_writing *w, const tab_series *s, double when);
#endif
