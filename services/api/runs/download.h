/* A part of a result as a file, sent as it is made. */
#ifndef TAB_API_DOWNLOAD_H
#define TAB_API_DOWNLOAD_H

#include "services/api/runs/results.h"

/* The format that `?format=`, else `Accept`, asks for; CSV where neither says. VALIDATION on `format`. */
tab_status download_format(tab_str format, tab_str accept, tab_file_format *ret, tab_error *err) TAB_CHECKED;

#endif
