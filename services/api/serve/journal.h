/* What serve calls owe while PostgreSQL does not take their bills: a file of this process in a folder that
 * outlives it (decision 0404).
 *
 *   journal_put --> the record is on the disk, with all that came at the same moment (one fdatasync)
 *   settled in PostgreSQL --> journal_settled; a file all of whose records are settled is deleted
 *
 * A process that dies leaves its file, which is no longer locked: whoever looks next, this process's
 * successor as a rule, takes it over. */
#ifndef TAB_API_JOURNAL_H
#define TAB_API_JOURNAL_H

#include "common/base/base.h"

typedef struct journal_file journal_file;

/* NULL or "": none is kept, and journal_put fails. False: the folder cannot be used. */
bool journal_open(const char *dir) TAB_CHECKED;
void journal_close(void); /* what is not settled stays for the next process */
bool journal_kept(void);

/* *ret_file is what journal_settled takes. UNAVAILABLE: it is not on the disk. */
tab_status journal_put(const char *id, tab_str bytes, journal_file **ret_file, tab_error *err) TAB_CHECKED;
void journal_settled(journal_file *f); /* once for each record */

/* Calls `found` for each record of files that processes left which are no more. */
typedef void journal_found(void *arg, const char *id, tab_str bytes, journal_file *f);
void journal_adopt(journal_found *found, void *arg);

/* The records of a file's bytes that are whole; one that is damaged is passed by its length. *ret_whole: the
 * bytes that they take, with the file's first line. A file that has others, an end that was not written whole
 * or a damaged record, is kept as NAME.unreadable when what could be read is settled. */
typedef void journal_record(void *arg, const char *id, tab_str bytes);
void journal_read(tab_str file, journal_record *record, void *arg, size_t *ret_whole);

#endif
