/* A process a read: the same program, started anew with one argument and an empty environment, told on its
 * standard input what to read and answering on its standard output (proto/source.proto).
 *
 *   daemon                                     child
 *   spawn ------------------------------------> limits, no way to more rights, no dump of memory
 *   SourceTask ---------------------------->    resolve, connect, read (or write)
 *           <--------------- SourceAnswer + table, end
 *   kill, where the caller left or it is late
 *
 * So a fault, a leak or an endless loop in a library that reads hostile bytes ends there, and what it could
 * reach is one caller's credentials for one source (docs/decisions/0326). */
#ifndef DATA_CHILD_H
#define DATA_CHILD_H

#include "proto/source.pb-c.h"
#include "services/data-connector/source.h"

#define CHILD_ARGUMENT "--read-source"

/* What main() of such a process is. */
int child_main(void);

/* Runs the task in a process. *ret: its table, or NULL where it wrote; in the arena. notes: what the
 * reader noted, a line each. Errors: the source's (source.h); CANCELLED (the deadline, or `cancel`);
 * VALIDATION where the read outgrew its memory or time. */
tab_status child_run(tab_arena *a, const Tabella__SourceTask *task, tab_deadline deadline,
                     const atomic_bool *cancel, const tab_table **ret, tab_str *notes,
                     tab_error *err) TAB_CHECKED;

#endif
