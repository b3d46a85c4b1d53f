/* The thread that does what is due once a second. */
#ifndef TAB_API_HOUSEKEEPING_H
#define TAB_API_HOUSEKEEPING_H

#include "services/api/api.h"

struct api_housekeeping *housekeeping_open(api *a);
void housekeeping_free(struct api_housekeeping *h);

#endif
