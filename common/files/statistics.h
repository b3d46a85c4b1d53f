/* Files of statistics programs as tables: SAS (.sas7bdat, .xpt), SPSS (.sav, .zsav, .por) and Stata (.dta),
 * read by the library readstat (decision 0366).
 *
 * A column whose present values all have labels holds the labels. Where most have none (a scale of which only
 * "98 or older" is named) it keeps its numbers; between the two, labels stand for those values that have
 * them. System-missing, tagged and user-defined missing values, and empty texts, are null. Numbers that a
 * date format shows as dates are ISO 8601 texts, and so are times and those of both; a period (%tm) is its
 * first day. Texts are decoded as the file says, else as UTF-8 or Windows-1252.
 *
 * The library is not ours and reads hostile bytes: callers run it in a process of its own (tab_file_limits).
 * */
#ifndef TAB_FILES_STATISTICS_H
#define TAB_FILES_STATISTICS_H

#include "common/table/table.h"

typedef struct {
    size_t labelled;  /* columns whose values are labels */
    size_t partly;    /* columns with labels that kept their numbers */
    uint64_t missing; /* values that were there and say that there is none */
} tab_statistics_notes;

/* By its first bytes. */
bool tab_statistics_is(tab_str bytes);

/* Errors: VALIDATION (damaged, cut off, a version or an encoding that is not read, more than `cols` columns
 * or `cells` cells), INTERNAL (memory). err is needed. */
tab_status tab_statistics_read(tab_arena *a, tab_str bytes, tab_str id, size_t cols, uint64_t cells,
                               const tab_table **ret, tab_statistics_notes *notes,
                               tab_error *err) TAB_CHECKED;

#endif
