/* Random ids: a prefix and 22 base62 characters (131 bits), no time order, so that the first 8 characters
 * tell two apart. Reports are "r_" and 32 hexadecimal digits; endpoint ids carry no prefix. */
#ifndef TAB_IDS_H
#define TAB_IDS_H

#include "common/base/base.h"

enum { TAB_ID = 40 }; /* room for any id with its NUL */

void tab_id_new(char ret[TAB_ID], const char *prefix); /* "req_", "run_", "job_", "ds_", "" ... */
void tab_id_hex(char ret[TAB_ID], const char *prefix); /* prefix and 32 hexadecimal digits */

/* Whether the text could be an id with that prefix (22 base62, or 32 hex where the prefix is "r_");
 * what is not need not be looked for. */
bool tab_id_valid(tab_str id, const char *prefix);

#endif
