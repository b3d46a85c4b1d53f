/* What files of several formats share on their way to cells: dates as ISO 8601 texts, floats as the numbers
 * that people wrote. */
#ifndef TAB_FILES_ISO_H
#define TAB_FILES_ISO_H

#include <stdbool.h>
#include <stdint.h>

/* Days since 1970-01-01 within the years 1 to 9999, as ISO 8601 without an agreement has them. */
bool tab_iso_in_calendar(int64_t days);
/* Writes YYYY-MM-DD, without a terminator; returns its end. The proleptic Gregorian calendar by its cycles of
 * 400 years (Hinnant, "chrono-compatible low-level date algorithms"). */
char *tab_iso_date(char *p, int64_t days);
/* Days since 1970-01-01 of a date (the same paper). */
int64_t tab_iso_days(int64_t year, int month, int day);
/* So many digits of x, which is not negative; returns their end. */
char *tab_iso_digits(char *p, int64_t x, int digits);

/* 0.1 and not 0.10000000149: the shortest digits that are this float again. */
double tab_shortest_single(float x);

#endif
