/* tabella, the command line: passes of the engine with no server, and the operator's commands. */
#ifndef TABELLA_H
#define TABELLA_H

#include "common/bundle/bundle_json.h"
#include "services/inference/engine/engine.h"
#include "tools/tabella/findings.h"

int cmd_run(int argc, char **argv);
int cmd_page(int argc, char **argv);
int cmd_generate(int argc, char **argv);
int cmd_admin(int argc, char **argv);

/* What a person wants to see of the bundle of these tables, on stdout. explain: the first rows' reasons
 * too. */
void print_summary(const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                   const findings *f, bool explain, double seconds);

enum { EXIT_USAGE = 64, EXIT_INPUT = 65 };

#endif
