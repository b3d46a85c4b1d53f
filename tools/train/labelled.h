/* Labelled tables from a folder: NAME.csv files, labels.csv (table,column,type,role,pii), sectors.csv
 * (table,sector), sources.csv (table,repository,...). What training and the benchmark read. */
#ifndef TAB_LABELLED_H
#define TAB_LABELLED_H

#include "common/table/table.h"

typedef struct {
    char name[96];
    char source[96]; /* the repository it came from; "" when not told */
    const tab_table *table;
    int *role;  /* (cols) tab_role, -1 where there is no label */
    int *type;  /* (cols) tab_type, -1 */
    int sector; /* index into tab_sectors, -1 */
} tab_labelled;

/* Reads all tables of the folder that sectors.csv or labels.csv name. False (and a line on stderr) when the
 * folder cannot be read. */
bool tab_labelled_read(tab_arena *a, const char *folder, tab_labelled **ret, size_t *n);

#endif
