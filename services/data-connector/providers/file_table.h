/* A file's bytes as the one table of a connection, whatever store they came from: the formats of
 * common/files, and SQLite. */
#ifndef DATA_FILE_TABLE_H
#define DATA_FILE_TABLE_H

#include "common/files/files.h"
#include "services/data-connector/source/source.h"

/* options.sheet chooses among several tables: by the sheet's name, or the table's. Notes go to s->notes.
 * bytes.p[bytes.n] is readable and 0. VALIDATION on `source` or `options.sheet`. */
tab_status file_table(const source *s, tab_arena *a, tab_str name, tab_str bytes, const tab_table **ret,
                      tab_error *err) TAB_CHECKED;

/* Files of a folder as one table: their rows one behind the other, columns by name in order of first sight;
 * a column that a file lacks, or that comes twice in one, is null there or joined by its place. */
tab_status tables_union(tab_arena *a, const tab_table *const *t, size_t n, tab_str id, const tab_table **ret,
                        tab_error *err) TAB_CHECKED;

/* A SQLite database from memory: the table of that name, or the only one. No file is touched. */
tab_status sqlite_table(const source *s, tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret,
                        tab_error *err) TAB_CHECKED;

/* All tables of the database, with their names as sheets; at most `most`. */
tab_status sqlite_tables(const source *s, tab_arena *a, tab_str bytes, size_t most, tab_file *ret,
                         tab_error *err) TAB_CHECKED;
bool sqlite_is(tab_str bytes); /* by its first bytes */

/* Whether a name matches a pattern in which * stands for any text. */
bool name_matches(const char *pattern, const char *name);
/* Whether a key is the folder and, behind it, a name that matches. key NULL: no. */
bool key_matches(const char *folder, const char *pattern, const char *key);

#endif
