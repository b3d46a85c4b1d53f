/* Signals as a thing to wait for: held in every thread, taken by one. */
#ifndef TAB_SIGNALS_H
#define TAB_SIGNALS_H

#include <signal.h>

/* Blocks SIGTERM, SIGINT and SIGHUP in this thread and all it starts later, ignores SIGPIPE, forbids core
 * dumps (they would hold customers' cells) and raises the limit of open files. */
sigset_t tab_signals_hold(void);

/* Waits for SIGTERM or SIGINT and gives it back. SIGHUP meanwhile has the files of the configuration read
 * again (tab_config_told). After the first of them the second one ends the process at once. */
int tab_signals_wait(const sigset_t *held);

/* Ends the process as a SIGTERM would, from any thread: for a fault that only a new start repairs. Does
 * nothing where no signal is held (tools), or where the process is stopping already. */
void tab_signals_stop(void);

#endif
