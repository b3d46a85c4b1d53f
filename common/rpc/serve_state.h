/* What a serve call names of an endpoint: whoever has fitted this answers. */
#ifndef TAB_RPC_SERVE_STATE_H
#define TAB_RPC_SERVE_STATE_H

#include "common/base/arena.h"
#include "proto/jobs.pb-c.h"

/* In the arena; what the endpoint's texts point to is borrowed. */
tab_status tab_serve_state_of(tab_arena *a, const Tabella__Endpoint *e, Tabella__ServeState *ret,
                              tab_error *err) TAB_CHECKED;

#endif
