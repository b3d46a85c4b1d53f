/* What a run leaves in a folder: the tables with predictions and filled cells as CSV, and a page. */
#ifndef TABELLA_OUT_H
#define TABELLA_OUT_H

#include "tools/tabella/tabella.h"

/* Makes the folder where it is not there and writes, over what has these names:
 *
 *   predictions.csv   the predicted table, with what was predicted beside
 *   forecast.csv      steps ahead of every series, where they were asked
 *   filled-TABLE.csv  every table with cells that were filled in
 *   joined.csv        one row an entity, of two tables and more
 *   report.html       findings and pictures in one file that needs nothing else
 *
 * False: said on stderr. */
bool write_out(const tab_engine *e, const char *folder, const tab_table *const *tables,
               const Tabella__Bundle *b, const findings *f);

/* The page (tools/tabella/page.c). False: out of memory. */
bool write_page(tab_out *o, const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                const findings *f);

#endif
