/* What of a large text only all of it tells, looked for ahead of reading it in pieces: how many columns hold
 * something, and which of them hold a field that is no number. A text that is read whole learns the same on
 * the way (csv.h), so both ways give the same cells. */
#ifndef TAB_FILES_SURVEY_H
#define TAB_FILES_SURVEY_H

#include "common/files/csv/csv.h"

typedef struct {
    size_t cols; /* up to the last that is filled anywhere */
    bool *text;  /* (cols, at least) */
    size_t cap;
    uint64_t zeros; /* bytes */
    bool utf8;      /* valid in all pieces */
} tab_csv_survey;

/* A survey of nothing: columns are found as they are met. */
#define TAB_CSV_SURVEY \
    {                  \
        .utf8 = true   \
    }

void tab_csv_survey_free(tab_csv_survey *s);
/* A piece of whole records, in the encoding that the text turned out to have (NULL: one of bytes that are
 * signs of ASCII where they look so). Errors: VALIDATION (a record of too many fields), INTERNAL (memory). */
tab_status tab_csv_survey_add(tab_csv_survey *s, tab_str bytes, const tab_csv_dialect *d,
                              const char *encoding, tab_error *err) TAB_CHECKED;

#endif
