/* Tables of bodies as datasets. */
#ifndef TAB_API_DATASETS_H
#define TAB_API_DATASETS_H

#include "proto/data.pb-c.h"
#include "services/api/api.h"

/* Makes a table of the body a dataset, named by its id. The same job and the same i give the
 * same dataset. until_us: it is temporary, dropped by its job or then; 0: it stays. */
tab_status table_ingest(request *r, const char *job_id, size_t i, const tab_table *const *table,
                        int64_t until_us, const Tabella__DataObject **ret, tab_error *err) TAB_CHECKED;

/* An object `reading` of options in one form, however it was written: it counts under an Idempotency-Key. */
tab_status read_reading(request *r, const tab_json *o, char **ret, tab_error *err) TAB_CHECKED;

#endif
