/* libtabella: the engine in the caller's process, for C and for whatever calls C. Version 1 of the interface.
 *
 *   tabella *t = tabella_new();
 *   if (t != NULL && tabella_add_file(t, "orders.csv", bytes, n) == 0 && tabella_run(t) == 0)
 *       fwrite(tabella_result(t, &size), 1, size, stdout);
 *   else
 *       fputs(t != NULL ? tabella_error(t) : "out of memory", stderr);
 *   tabella_free(t);
 *
 * A tabella is one run: tables and options go in, tabella_run once, the bundle comes out. Nothing is shared
 * between two of them: each may be used in a thread or a forked process of its own, a single one by one
 * thread at a time (but tabella_cancel). Nothing is printed, no network and no file is touched (but by
 * tabella_main). Same input, options and version: the same bytes for any number of threads, and those of
 * `tabella run --json`.
 *
 * Functions that give an int give 0, or -1 and a message in tabella_error. */
#ifndef TABELLA_LIBRARY_H
#define TABELLA_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TABELLA_API __attribute__((visibility("default")))
#define TABELLA_INTERFACE 1 /* grows when a function changes; new functions leave it */

typedef struct tabella tabella;

/* What was linked: TABELLA_INTERFACE, and the engine's version such as "0.3.0" (static). */
TABELLA_API int tabella_interface(void);
TABELLA_API const char *tabella_version(void);

/* NULL: out of memory. tabella_free takes NULL, and no running one; streams of its parts outlive it. */
TABELLA_API tabella *tabella_new(void);
TABELLA_API void tabella_free(tabella *t);

/* The tables of a file, by its bytes (copied): CSV, JSON, xlsx, ods, Parquet, Arrow, SAS, SPSS, Stata, packed
 * or not. name: the file's, of which ids of tables are made. Notes of what was done to it that is not plain
 * are in tabella_notes. */
TABELLA_API int tabella_add_file(tabella *t, const char *name, const void *bytes, size_t n);

/* Tables in the API's own form (copied): {"tables": [{"id", "columns", "rows"}, ...]}, UTF-8. At most 64
 * tables are in one run, with ids that differ. */
TABELLA_API int tabella_add_json(tabella *t, const char *json, size_t n);

/* The Arrow C stream interface, under the guards that all headers with it have. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* A table of another library in this process, by the Arrow C stream interface: read where it lies, and
 * released. Cells are those of the same table in JSON. id: the table's. */
TABELLA_API int tabella_add_stream(tabella *t, const char *id, struct ArrowArrayStream *stream);

/* One option, as the command line has it, without its dashes: target, task, base, threshold, explain ("yes"
 * or "no"), horizon, as-of, anomaly-share, anomaly-threshold, threads (1, the default, to 256); split (auto,
 * random, time or group); na, which is "auto" (marks of missing values by evidence, which files have unasked)
 * or a JSON array of such marks; columns, a JSON array as of the API: what is known of columns, each an
 * object of table, column and role, type or use. The value is copied. */
TABELLA_API int tabella_option(tabella *t, const char *name, const char *value);

/* report(arg, phase, done) is called from the thread of tabella_run; done: 0 to 1. NULL: no reports. */
TABELLA_API void tabella_progress(tabella *t, void (*report)(void *arg, const char *phase, double done),
                                  void *arg);

/* Runs, once. Blocks; helper threads live only within the call. */
TABELLA_API int tabella_run(tabella *t);

/* In place of tabella_run: learns the target (option target, task) from the one table, and keeps the model
 * until tabella_free; there is no result. */
TABELLA_API int tabella_fit(tabella *t);

/* In place of tabella_run: answers the rows of t's one table, which has the columns of the fitted one, in any
 * order where their names differ (cells of the target are not read, and it may lack). A row's answer does not
 * depend on the rows beside it. The result is a bundle with its `prediction` alone. Of t's options explain
 * and threads are read. A fitted tabella may serve several threads at once. */
TABELLA_API int tabella_serve(tabella *t, const tabella *fitted);

/* From any thread: a run in progress, or the one to come, ends soon with -1. */
TABELLA_API void tabella_cancel(tabella *t);

/* The bundle as JSON, *n bytes and a 0 behind, until tabella_free; NULL before a run that succeeded. */
TABELLA_API const char *tabella_result(const tabella *t, size_t *n);

/* A part of the result as a table, by the Arrow C stream interface (tabella_add_stream's): "results" (what is
 * predicted, a row each), "filled" (a table whole, its gaps filled; `table` is its id where several were
 * filled, else NULL), "unified_rows", "matches", "duplicates", "suspects", "forecast", "profile" (what each
 * column is). Columns and their types are those of the files of GET /v2/jobs/{id}/result/{part}; numbers of
 * rows count from 0.
 *
 * On 0 *ret is the caller's, who releases it, once, before or after tabella_free. Batches own their memory
 * and may outlive the stream. On -1 nothing is to be released: not_found where the result has no such part.
 * Where the stream itself ends in an error, get_next gives an errno (ENOMEM, EIO), get_last_error says why.
 * It may be read in another thread, by one at a time; several streams of one result at once, too. They keep
 * the run's memory until the last is released. */
TABELLA_API int tabella_part(tabella *t, const char *part, const char *table, struct ArrowArrayStream *ret);

/* What went wrong last, and notes of files, a line each; "" where there is none. Until the next call. And its
 * type, as errors of the API have it (validation_error, internal ...), and what it is about: an option, or a
 * place as target.column or tables[0].rows[4][2]; "" where it is about nothing. */
TABELLA_API const char *tabella_error(const tabella *t);
TABELLA_API const char *tabella_error_type(const tabella *t);
TABELLA_API const char *tabella_error_param(const tabella *t);
TABELLA_API const char *tabella_notes(const tabella *t);

/* The program `tabella` with these arguments (argv[0] is its name): reads and writes files, prints, and gives
 * the exit code. For the main of a program, once a process: it sets signals and may end the process. */
TABELLA_API int tabella_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
