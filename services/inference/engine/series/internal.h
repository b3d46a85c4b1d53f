/* What the files of this folder share. A clue is one column read as a time or as a part of one; an axis is
 * a clue, or several together, taken as the table's time, with the series under which it stands and what
 * speaks for it. */
#ifndef TAB_SERIES_INTERNAL_H
#define TAB_SERIES_INTERNAL_H

#include "services/inference/engine/series/series.h"

typedef enum {
    TAB_AS_NOTHING,
    TAB_AS_DATE,   /* v is seconds since 1970 */
    TAB_AS_DAY8,   /* 20170415 */
    TAB_AS_MONTH6, /* 201704 */
    TAB_AS_WEEK6,  /* 201729 */
    TAB_AS_EPOCH,  /* seconds or milliseconds since 1970 */
    TAB_AS_YEAR,   /* 1963 */
    TAB_AS_DECIMAL_YEAR,
    TAB_AS_COUNT
} tab_time_reading;

enum {
    TAB_PART_YEAR = 1,
    TAB_PART_QUARTER = 2,
    TAB_PART_MONTH = 4,
    TAB_PART_WEEK = 8,
    TAB_PART_DAY = 16,
    TAB_PART_YEARDAY = 32,
    TAB_PART_HOUR = 64,
    TAB_PART_MINUTE = 128,
    TAB_PART_CLOCK = 256
};

typedef struct {
    size_t column;
    const double *v; /* (rows) NaN: not known */
    int text;        /* how its texts are read (clues.c); 0: as numbers, or as dates */
    bool seconds;    /* numbers as they stand, of which the profile makes seconds */
    tab_time_reading as;
    unsigned parts;   /* TAB_PART_* that it may be */
    bool birth;       /* its role says a date of birth */
    bool whole, days; /* whole numbers; of dates, whole days */
    double lo, hi;
    size_t present, distinct;
    size_t up, down; /* neighbouring rows that rise, that fall */
    double per_year; /* of decimal years: times a year */
    double unit;     /* whole values are lo + k * unit; 0: not known */
} tab_clue;

/* The rows in order of a time. Buffers are of the table's rows. */
typedef struct {
    double *when;
    uint32_t *rank;             /* dense rank of the time; TAB_NULL: not known */
    uint32_t *order;            /* (known) rows by time, then by number */
    size_t known, times, wrong; /* wrong: rows of a day that there is not, February 30 */
    double even;                /* neighbouring times that are as far apart as most are */
} tab_ranked;

typedef struct {
    const tab_clue *clue[TAB_TIME_COLUMNS];
    unsigned role[TAB_TIME_COLUMNS]; /* the part that each is; 0: a time by itself */
    size_t clues;
    bool calendar, yearless;
    tab_step_unit unit; /* MONTHS, YEARS: said by the reading; else SECONDS or NUMBER */
    tab_ranked at;
    size_t key[TAB_SERIES_KEYS], keys;
    double alone;       /* rows that are alone with their time in their series */
    double alone0;      /* without keys */
    double single;      /* rows that are alone with their time in their series, of all rows */
    double next;        /* neighbours of a series that are one time of the table apart */
    double cover;       /* times that a series has of those of the table between its first and its last */
    double ordered;     /* neighbouring rows of unlike times that rise (or fall), whichever is more */
    double along;       /* correlation of time and row number among labelled rows, without its sign */
    bool falls, blocks; /* rows come newest first; in order within series that stand together */
    double after;       /* asked rows that are later than all labelled ones; of their series */
    double after_own;
    double widely; /* series of which rows are asked, of all */
    double eta;    /* mean squared successive difference beside the variance; 1: no order */
    double z;      /* how far below 1, in standard errors */
    double change; /* the mean squared successive difference itself */
    double points;
} tab_axis;

typedef struct {
    tab_arena *scratch;
    const tab_profile *p;
    size_t target, rows, cols;
    const bool *asked;
    size_t n_asked;
    bool at_end;    /* the asked rows are the last of the table */
    tab_clue *clue; /* (clues) */
    size_t clues;
    uint32_t **level; /* (cols) dense levels of a column that may be a key, made when somebody asks */
    tab_ranked spare, work;
    const double *y;        /* the target's values, once somebody asked for them */
    double row_order;       /* what tab_series_row_order said; below 0: not asked yet */
    uint32_t *series, *seq; /* (rows) scratch */
} tab_search;

/* clues.c: every column that may be a time or a part of one; a text read as a clue's texts are. */
bool tab_series_clues(tab_search *s);
double tab_series_text(int how, tab_str text);

/* ranks.c */
bool tab_ranked_new(tab_arena *a, size_t rows, tab_ranked *ret);
/* All else from when; calendar: seconds, of which months may be the step. False: memory. */
bool tab_rank_times(size_t rows, bool calendar, tab_ranked *r);

/* keys.c: the smallest set of columns under which a time stands nearly once. */
bool tab_series_keys(tab_search *s, tab_axis *x);
/* Whether a column may name series of this axis: it repeats, and is no measure. */
bool tab_series_may_name(const tab_search *s, const tab_axis *x, size_t column);
/* series (rows) 0..n-1 in order of first appearance under these columns. */
bool tab_series_ids(tab_search *s, const size_t *key, size_t keys, uint32_t *series, size_t *ret_n);

/* evidence.c */
bool tab_series_weigh(tab_search *s, tab_axis *x);
/* Events whose times say nothing of their series: a column within which values follow one another is the
 * key. */
bool tab_series_value_key(tab_search *s, tab_axis *x);
/* s->row_order: how sure it is that the values bear out the order of the rows as they stand; 0: it is not. */
bool tab_series_row_order(tab_search *s);
/* *ret (rows): the target as a number, of categories their codes, NULL where there is none; *ret_class: only
 * equality counts. */
bool tab_series_values(tab_search *s, const double **ret, bool *ret_class);

/* s->seq: rows of known time and series by series (s->series, n of them), then by time. *ret_n of them. */
bool tab_series_sequence(tab_search *s, const tab_axis *x, size_t n, size_t *ret_n);

/* seasons.c: periods that the calendar suggests, of plain numbers the values. longest: steps of the table. */
bool tab_series_seasons(tab_search *s, const tab_axis *x, tab_series *t, double longest);

/* step.c: unit, step, regular, index, seasons. */
bool tab_series_step(tab_search *s, const tab_axis *x, tab_series *ret);

#endif
