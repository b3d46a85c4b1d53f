/* Dates in spreadsheets are numbers of days whose format says that they are dates (ECMA-376 part 1,
 * 18.8.30). */
#ifndef TAB_FILES_NUMBER_FORMAT_H
#define TAB_FILES_NUMBER_FORMAT_H

#include "common/base/base.h"

typedef enum { TAB_FORMAT_NUMBER, TAB_FORMAT_DATE, TAB_FORMAT_TIME, TAB_FORMAT_DATE_TIME } tab_number_format;

tab_number_format tab_number_format_builtin(unsigned id);
/* Of a code such as "dd/mm/yyyy hh:mm". Elapsed time, [h]:mm, is a number. */
tab_number_format tab_number_format_of(const char *code);
/* ISO 8601 text of so many days since the end of 1899 (or 1904): its length, or 0 where the number is none
 * (then it stays a number). */
size_t tab_number_format_text(tab_number_format f, double days, bool since1904, char buf[40]);

#endif
