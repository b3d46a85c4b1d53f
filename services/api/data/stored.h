/* A snapshot's rows as they are stored, for an answer of any length. */
#ifndef TAB_API_STORED_H
#define TAB_API_STORED_H

#include "proto/data.pb-c.h"
#include "services/api/api.h"

typedef tab_status stored_sink(void *arg, tab_str bytes, tab_error *err);

/* What a snapshot is, in the request's arena. NOT_FOUND: there is none. */
tab_status stored_look(request *r, const char *snapshot, const Tabella__ReadReply **ret,
                       tab_error *err) TAB_CHECKED;
/* All its bytes, a range at a time. CANCELLED: the client left. */
tab_status stored_rows(request *r, const char *snapshot, stored_sink *sink, void *arg,
                       tab_error *err) TAB_CHECKED;

#endif
