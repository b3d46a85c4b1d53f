/* The time structure of a table, found without being told: what says when a row was, which columns name a
 * series, how far apart its rows are, and with which periods they repeat.
 *
 * A time is seen in a column of dates, in decimal years, years and other counts since a start, in parts that
 * stand in several columns (year, month, day; 201729), and, where nothing else tells, in the order of rows.
 * A series is told apart by the smallest set of columns with which a time stands (nearly) once. */
#ifndef TAB_SERIES_H
#define TAB_SERIES_H

#include "services/inference/engine/profile/profile.h"

typedef enum {
    TAB_TIME_NONE,
    TAB_TIME_COLUMN, /* one column: a date, a year, a count */
    TAB_TIME_PARTS,  /* several columns, the coarsest first */
    TAB_TIME_ORDER   /* the order of the rows */
} tab_time_kind;

/* What one step is. A month or a year has no length in seconds; its steps are counted by the calendar. */
typedef enum {
    TAB_STEP_SECONDS,
    TAB_STEP_MONTHS,
    TAB_STEP_YEARS, /* of a calendar; and of years as numbers, where a step may be a fraction (1/12) */
    TAB_STEP_NUMBER,
    TAB_STEP_WORKDAYS /* Monday to Friday; step is 1 */
} tab_step_unit;

enum { TAB_TIME_COLUMNS = 6, TAB_SERIES_KEYS = 4, TAB_SEASONS = 3 };

/* How the cells of a time column are read, so that new rows are read as these were. */
typedef struct {
    int text;      /* how its texts are read; 0: as the numbers or dates that the profile made of them */
    int as;        /* what such a number is: a year, a day as 20170415, a count ... */
    bool seconds;  /* the profile makes seconds of them, whatever such a number is */
    unsigned part; /* of times in several columns, which part it is; 0: a time by itself */
    double hi;     /* the greatest */
} tab_time_reader;

typedef struct {
    tab_time_kind kind;
    size_t time[TAB_TIME_COLUMNS];            /* columns that say when, the coarsest first */
    tab_time_reader reader[TAB_TIME_COLUMNS]; /* of them */
    size_t times;                             /* how many; 0: NONE or ORDER */
    bool calendar;                            /* `when` is in seconds since 1970 (UTC); else a plain number */
    double *when;                             /* (rows) NaN: not known */
    size_t key[TAB_SERIES_KEYS];              /* columns that name the series */
    size_t keys;                              /* 0: the table is one series */
    uint32_t *series; /* (rows) 0..n-1 in order of first appearance; TAB_NULL: no key */
    size_t n;         /* series */
    tab_step_unit unit;
    double step;    /* of the unit: 0.25 for quarters of a year as a number, 900 for quarters of an hour */
    bool regular;   /* nine in ten neighbours of a series are one step apart, or whole steps */
    double start;   /* steps from 0 to the earliest time of the table */
    int64_t *index; /* (rows) steps since that time; INT64_MIN: not known */
    double season[TAB_SEASONS]; /* periods in steps that the calendar suggests and the values bear out */
    size_t seasons;
    bool yearless;       /* the parts name no year: years are counted from 2000 on */
    bool falls;          /* rows come newest first */
    double confidence;   /* 0..1 that this is when the rows came; 0 where kind is NONE */
    const char *note[4]; /* what was met and how it was read: gaps, duplicate times, an order turned over */
    size_t notes;
} tab_series;

/* target: what is to be answered, which orders nothing; the width of the table: none. asked (rows): rows to
 * be answered; NULL: none. All lives in a. Errors: INTERNAL (memory). */
tab_status tab_series_find(tab_arena *a, const tab_profile *p, size_t target, const bool *asked,
                           tab_series *ret, tab_error *err) TAB_CHECKED;

/* The cell of time column k of a new row as it is read: `number` as the profile reads it, or NaN; `text` as
 * it stands, or empty. NaN: not known. */
double tab_series_cell(const tab_series *s, size_t k, double number, tab_str text);
/* When a row is whose time columns have the cells v (times), as s->when; NaN: not known. */
double tab_series_when(const tab_series *s, const double *v);
/* A time in steps, as s->index; INT64_MIN: not known. */
int64_t tab_series_index(const tab_series *s, double when);

/* The repeating column that names groups of which the asked rows' are new where a random choice of rows
 * would have left known ones: *ret_column, the width of the table where there is none. new_rows (rows):
 * asked rows whose value no labelled row has. s: its time columns name no groups; may be NULL. False:
 * memory. */
bool tab_asked_groups(tab_arena *a, const tab_profile *p, const tab_series *s, size_t target,
                      const bool *asked, size_t *ret_column, bool **ret_new_rows) TAB_CHECKED;

/* Two columns whose levels are known, of which the asked rows hold pairs that no labelled row has: a known
 * product in a known shop that never sold it (decision 0780). */
typedef struct {
    size_t column[2]; /* the table's width where there are none */
    uint32_t *member; /* (rows) which pair a row has; TAB_NULL where one is missing */
    bool *fresh;      /* (rows) asked rows whose pair no labelled row has */
} tab_asked_pair;

/* Of the columns of words and keys, where a random choice of rows would have left known pairs. All lives in
 * a. False: memory. */
bool tab_asked_pairs(tab_arena *a, const tab_profile *p, const tab_series *s, size_t target,
                     const bool *asked, tab_asked_pair *ret) TAB_CHECKED;
#endif
