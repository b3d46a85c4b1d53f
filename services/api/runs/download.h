/* A part of a result as a file, sent as it is made. */
#ifndef TAB_API_DOWNLOAD_H
#define TAB_API_DOWNLOAD_H

#include "common/files/written/table_file.h"
#include "proto/bundle.pb-c.h"
#include "services/api/api.h"

/* The format that `?format=`, else `Accept`, asks for; CSV where neither says. VALIDATION on `format`. */
tab_status download_format(tab_str format, tab_str accept, tab_file_format *ret, tab_error *err) TAB_CHECKED;

/* Whether Accept names one of the formats, above JSON where it names both: an answer that is JSON elsewhere
 * is asked for as a table. */
bool download_named(tab_str accept, tab_file_format *ret);
/* The answers of a bundle that is here whole (its forecast, where it has one) as the request's answer.
 * NOT_FOUND: it has none. */
tab_status download_answers(request *r, const Tabella__Bundle *b, tab_file_format format,
                            tab_error *err) TAB_CHECKED;

#endif
