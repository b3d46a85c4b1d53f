/* Signals as a thing to wait for: held in every thread, taken by one. */
#ifndef TAB_SIGNALS_H
#define TAB_SIGNALS_H

#include <signal.h>

/* Blocks SIGTERM, SIGINT and SIGHUP in this thread and all it starts later, ignores SIGPIPE, forbids core
 * dumps (they would hold customers' cells) and raises the limit of open files. */
sigset_t tab_signals_hold(void);

/* Waits for one of them and gives it back. SIGHUP is for the caller to act on, or to wait again. After the
 * first SIGTERM or SIGINT the second one ends the process at once. */
int tab_signals_wait(const sigset_t *held);

/* Ends the process as a SIGTERM would, from any thread: for what only a new start can mend. Nothing where no
 * signal is held (tools), or where the process stops already. */
void tab_signals_stop(void);

#endif
