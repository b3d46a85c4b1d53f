/* Values as people write them, read without regular expressions: each reader walks its cell once, from
 * left to right, in time linear in the bytes, whatever they are. All take trimmed text. */
#ifndef TAB_PARSE_H
#define TAB_PARSE_H

#include "common/base/base.h"

typedef enum {
    TAB_AFFIX_NONE,
    TAB_AFFIX_CURRENCY, /* $1,200.50   1 200 EUR */
    TAB_AFFIX_PERCENT,  /* 45 % */
    TAB_AFFIX_SCALE,    /* 18.3k   2.5 million */
    TAB_AFFIX_UNIT,     /* 1598 CC   12.5kg */
    TAB_AFFIX_ORDINAL,  /* 3rd */
    TAB_AFFIXES
} tab_affix;

typedef struct {
    double value; /* as written: 45 for "45 %", 18300 for "18.3k", -5 for "(5)" */
    int decimals; /* digits behind the decimal mark */
    int digits;   /* significant and leading digits before it */
    tab_affix affix;
    bool grouped;      /* 1,200 */
    bool leading_zero; /* 007: more than one digit and the first is 0 */
    bool exponent;
    bool bound;      /* <5, >10, ~3 */
    bool only_point; /* cannot be read with a decimal comma, and the reverse */
    bool only_comma;
    tab_str unit; /* of TAB_AFFIX_UNIT: a view into s */
} tab_number;

/* `decimal` is '.' or ',': one for a whole column. tab_read_column settles which. */
bool tab_parse_number(tab_str s, char decimal, tab_number *ret);

/* Elapsed time: 2:31:29, 1h 30m, PT1H30M, 3 days 04:05:06. Seconds. */
bool tab_parse_duration(tab_str s, double *seconds);

/* Clock time: 09:30, 9:30:05.250 PM, 21h30. Seconds since midnight, below 86400. */
bool tab_parse_clock(tab_str s, double *seconds);

typedef enum { TAB_FORM_DATE, TAB_FORM_DATETIME, TAB_FORM_PERIOD } tab_date_form;
typedef enum { TAB_ORDER_MDY, TAB_ORDER_DMY } tab_date_order;

typedef struct {
    double seconds; /* since 1970-01-01 UTC; a date's first instant; local time where no zone is given */
    int year;
    tab_date_form form;
    bool midnight;           /* TAB_FORM_DATETIME whose clock is 00:00:00 */
    bool numeric;            /* day and month are both numbers and their order is not shown by the layout */
    bool only_dmy, only_mdy; /* the other order is impossible */
    bool compact;            /* 20190531: digits only */
} tab_date;

enum { TAB_DATE_BYTES = 96 }; /* of the longest date, JavaScript's with the name of its zone */

/* Dates, timestamps, months, quarters, weeks and seasons in the layouts that people and programs write:
 * year first, day first or month first, with - / . or blanks, month names in 20 languages, two-digit years
 * (1970 to 2069), an optional weekday, clock, AM/PM, fraction and zone, Chinese and Japanese marks. A bare
 * year is no date. `order` decides where the layout does not. */
bool tab_parse_date(tab_str s, tab_date_order order, tab_date *ret);

/* Yes or no: the set of pairs ("yes/no", "si/no" ...) that s is of, one bit each, and *ret; 0: neither.
 * A column is boolean when its values have a pair in common. */
uint64_t tab_parse_bool(tab_str s, bool *ret);

int64_t tab_days_from_civil(int64_t y, int m, int d); /* days since 1970-01-01 */
void tab_civil_from_days(int64_t days, int *y, int *m, int *d);

int tab_month_name(tab_str word);   /* folded or not; 1 to 12, 0 when it is none */
int tab_weekday_name(tab_str word); /* 1 Monday to 7 Sunday, 0 when it is none */
#endif
