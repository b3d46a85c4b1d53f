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

/* report.html alone, as above. */
bool write_out_page(const tab_engine *e, const char *folder, const tab_table *const *tables,
                    const Tabella__Bundle *b, const findings *f);

/* filled-ID.csv; what a file's name should not hold is _. */
void out_filled_name(tab_str id, char *ret, size_t n);

void out_header(tab_out *o, const tab_table *t); /* names of columns */
void out_cell(tab_out *o, tab_cell x);
/* Parts of predictions.csv: its first line; a row's number and cells; what was predicted (result i). */
void out_top(tab_out *o, const tab_table *t, const Tabella__Prediction *p);
void out_row(tab_out *o, const tab_table *t, size_t row, uint64_t number);
void out_answer(tab_out *o, const Tabella__Prediction *p, const Tabella__Results *r, size_t i,
                const tab_column *classes);

/* The page (tools/tabella/page.c). False: out of memory. */
bool write_page(tab_out *o, const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                const findings *f);

#endif
