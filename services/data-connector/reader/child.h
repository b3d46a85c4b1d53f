/* A process a read: the same program, started anew with one argument and an empty environment, told on its
 * standard input what to read and answering on its standard output (proto/source.proto).
 *
 *   daemon                                     child
 *   spawn ------------------------------------> limits, no way to more rights, no dump of memory
 *   SourceTask ---------------------------->    resolve, connect, read (or write what follows)
 *           <--------------- SourceAnswer + table, end
 *   kill, where the caller left or it is late
 *
 * So a fault, a leak or an endless loop in a library that reads hostile bytes ends there, and what it could
 * reach is one caller's credentials for one source (decision 0326). */
#ifndef DATA_CHILD_H
#define DATA_CHILD_H

#include "common/files/files.h"
#include "proto/source.pb-c.h"
#include "services/data-connector/source/source.h"

#define CHILD_ARGUMENT "--read-source"
enum { CHILD_FILE = 3 }; /* the descriptor of a file that it reads */

/* What main() of such a process is. */
int child_main(void);

/* Rows that are written, behind the task (its out_more): the next ones in their wire form, in this arena,
 * which ends before those after them are asked for. *ret n 0: there are no more. */
typedef struct {
    tab_status (*next)(void *arg, tab_arena *a, tab_str *ret, tab_error *err);
    void *arg;
} child_feed;

/* Runs the task in a process. feed: NULL where nothing follows it. *ret: its table, or NULL where it wrote;
 * in the arena. notes: what the reader noted, a line each; reading: how a file was read, a JSON object, or
 * "". Errors: the source's (source.h); CANCELLED (the deadline, or `cancel`); VALIDATION where the read
 * outgrew its memory or time. */
tab_status child_run(tab_arena *a, const Tabella__SourceTask *task, const child_feed *feed,
                     tab_deadline deadline, const atomic_bool *cancel, const tab_table **ret, tab_str *notes,
                     tab_str *reading, tab_error *err) TAB_CHECKED;

/* Before a piece of one of a file's tables, whose wire form (block_plain of blocks.h) follows; in the bytes
 * of this machine, where both sides run. bytes 0: there are no more. */
typedef struct {
    uint64_t table, first_row, rows, first_col, cols, bytes;
} child_piece;

/* Hears a file's tables: first what they are, then their pieces in order, one in memory at a time. */
typedef struct {
    tab_status (*tables)(void *arg, Tabella__FileTable *const *t, size_t n, tab_str notes, tab_error *err);
    tab_status (*piece)(void *arg, const child_piece *p, tab_str bytes, tab_error *err);
    void *arg;
} child_sink;

/* Reads the file of task->file_bytes at the descriptor `file`, from its beginning, in a process. Errors: as
 * of child_run, on the params "file", "name" and "options.sheet"; the sink's. */
tab_status child_load(tab_arena *a, const Tabella__SourceTask *task, int file, tab_deadline deadline,
                      const atomic_bool *cancel, const child_sink *sink, tab_error *err) TAB_CHECKED;

/* file_load.c, in such a process: the tables of that file. err is needed. */
tab_status child_file(tab_arena *a, const Tabella__SourceTask *task, tab_file *ret,
                      tab_error *err) TAB_CHECKED;

#endif
