/* What the files that make tables share. */
#ifndef TAB_SERIES_MADE_INTERNAL_H
#define TAB_SERIES_MADE_INTERNAL_H

#include "services/inference/engine/series/tests/made.h"

/* Chance: one state, set for each table. other: the values of seeds from MADE_OTHER on. */
extern bool made_other;
void made_start(uint64_t seed, size_t i);
uint64_t made_next(void);
double made_unit(void);
size_t made_below(size_t n);
double made_normal(void);
bool made_chance(double p);

/* Text that grows. */
typedef struct {
    char *p;
    size_t n, room;
} made_page;
void made_put(made_page *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

typedef enum {
    MADE_DAY,
    MADE_WORKDAY,
    MADE_WEEK,
    MADE_MONTH,
    MADE_QUARTER,
    MADE_YEAR,
    MADE_HOUR,
    MADE_HALF,
    MADE_COUNT
} made_pace;

/* How a time is written: in which steps it may go, and in which columns. */
typedef struct {
    const char *group;
    made_pace by[4];
    size_t paces, columns;
    const char *name[4];
} made_form;

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
extern const made_form made_forms[FORMS];

/* Seconds of step k from a start. */
double made_moment(made_pace by, double start, size_t k);
/* The cells of a time in a form, a comma behind each; decimals of decimal years. */
void made_put_time(made_page *o, int form, double at, size_t k, int decimals, bool missing);

void made_without_time(size_t i, made_table *ret);

#endif
