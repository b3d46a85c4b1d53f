/* What the operator's commands share (operator.c). */
#ifndef TABELLA_ADMIN_H
#define TABELLA_ADMIN_H

#include "common/json/json.h"
#include "common/pg/pg.h"
#include "common/rpc/rpc.h"
#include "tools/tabella/tabella.h"

/* One call over NATS; the answer lives in the arena. Else the exit status, with a line on stderr. */
int admin_ask(tab_arena *a, const char *service, const char *method, const ProtobufCMessage *in,
              const ProtobufCMessageDescriptor *reply, const void **ret);
/* The same with another deadline, and of an organization's own. */
int admin_ask_with(tab_arena *a, const char *org, const char *service, const char *method,
                   const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply, int64_t ms,
                   const void **ret);
void admin_print(tab_out *o); /* as a line on stdout; frees its text */
extern const char admin_help[];
int admin_usage(const char *why);

/* org.c: argv[0] is list, show, plan, limits, suspend, resume or delete */
int admin_org(tab_arena *a, int argc, char **argv);
/* org.c: argv[0] is jobs or holds */
int admin_under_way(tab_arena *a, int argc, char **argv);
int admin_audit(int argc, char **argv);         /* audit.c: argv[0] is "audit" */
int admin_meter(int argc, char **argv);         /* meter.c: argv[0] is "usage" */
int admin_service_level(int argc, char **argv); /* meter.c: argv[0] is "service-level" */
int admin_erase(int argc, char **argv);         /* data.c: argv[0] is "erase" */
int admin_retain(int argc, char **argv);        /* retain.c: argv[0] is "retain" */

tab_pg *admin_owner(void);                            /* the database at TAB_POSTGRES; NULL: said */
int admin_failed(tab_status s, const tab_error *err); /* says why; the exit status */

#endif
