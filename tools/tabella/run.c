/* `tabella run`: reads files, runs the engine in this process, and prints the bundle as a summary or as
 * JSON. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/files/files.h"
#include "common/files/union.h"
#include "common/run/machine.h"
#include "services/data-connector/providers/file_table.h"
#include "services/inference/pool.h"
#include "tools/tabella/large/large.h"
#include "tools/tabella/out.h"

static const char HELP[] =
    "usage: tabella run FILE [FILE ...] [options]\n\n"
    "Understands the tables in files: CSV (any delimiter, quotes, encoding), JSON, NDJSON, xlsx, ods,\n"
    "Parquet, Arrow, each also packed (.gz, .zip), SQLite (each of its tables, only read; also as\n"
    "sqlite://PATH); - is what comes in. Of a folder, files of the same columns are one table, with a\n"
    "column that says which. A table's id is its file's name\n"
    "without folder and ending, with the sheet's name where there are several. An empty field is null.\n\n"
    "  --target TABLE.COLUMN   predict this column (COLUMN alone where one table holds it); "
    "none: predict nothing\n"
    "                          (default: one that an analyst would ask for)\n"
    "  --task TASK             classification, regression or anomaly (default: as the target asks)\n"
    "  --base base-N           the engine's recipe (default: the latest)\n"
    "  --threshold X           least confidence of reported alignments and matches, 0 to 1 (0.5)\n"
    "  --na LIST               cells that are missing, parted by commas; none: empty fields alone;\n"
    "                          auto: marks as NA, ? or -999 where the other values say so (auto)\n"
    "  --explain               say which columns moved each prediction\n"
    "  --horizon N             the next N steps of every series as well (1 to 10000): of --target, or of\n"
    "                          the number that is meant\n"
    "  --split HOW             what is asked: random (rows like the known ones), time (later ones) or group\n"
    "                          (new groups); errors and intervals are of such rows (default: as the rows\n"
    "                          without a target tell)\n"
    "  --as-of COLUMN          the column that holds each row's moment, as of which other tables count;\n"
    "                          none: all their rows do (default: as the values tell)\n"
    "  --anomaly-share X       call so many rows anomalies, 0 to 0.5 of them (default: as the scores tell)\n"
    "  --anomaly-threshold X   call rows anomalies that score so much, 0 to 1\n"
    "  --delimiter C, --quote C, --encoding NAME, --header-rows N, --skip-lines N, --one-table\n"
    "                          how files are to be read, where what was found out is not right;\n"
    "                          tables[].reading of --json says what that was\n"
    "  --out FOLDER            write predictions, filled and joined tables as CSV, and a page to look at\n"
    "  --json                  the whole bundle as JSON on stdout, instead of a summary\n"
    "  --memory SIZE           memory that may be used, as 4G or 512M (half of the machine's); a CSV or\n"
    "                          Parquet file that needs more, or a folder of such files with the same\n"
    "                          columns, is read in passes: counts are exact, what is learned is of a\n"
    "                          sample, --out holds an answer for every row\n"
    "  --threads N             threads to use; the bundle does not depend on it (all processors)\n"
    "  --help\n";

enum { MARKS_MOST = 32, HORIZON_MOST = 10000 };
enum { MEMORY_LEAST = 64 << 20 };
enum { EXPLAINED = 20000 }; /* rows up to which predictions are explained unasked */

typedef struct {
    tab_run_options o;
    tab_str mark[MARKS_MOST];
    double number[MARKS_MOST];
    tab_reading_asked reading;
    bool json;
    const char *out; /* folder, or NULL */
    long threads;
    size_t memory;
    size_t n;
    char **file;
} arguments;

static bool parse_task(const char *s, tab_task *ret)
{
    static const char *const names[] = { "auto", "classification", "regression", "anomaly" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i]) == 0) {
            *ret = (tab_task)i;
            return true;
        }
    return false;
}

static bool parse_split(const char *s, tab_split *ret)
{
    static const char *const names[] = { "auto", "random", "time", "group" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i]) == 0) {
            *ret = (tab_split)i;
            return true;
        }
    return false;
}

/* A mark that is a number is one as text and as number. */
static bool parse_marks(const char *s, arguments *a)
{
    tab_given *g = &a->o.given;
    g->missing_auto = strcmp(s, "auto") == 0;
    g->missing_texts = g->missing_numbers = 0;
    g->missing_text = a->mark;
    g->missing_number = a->number;
    if (g->missing_auto || strcmp(s, "none") == 0)
        return true;
    while (g->missing_texts < MARKS_MOST) {
        size_t n = strcspn(s, ",");
        char *end;
        double v = strtod(s, &end);
        a->mark[g->missing_texts++] = (tab_str){ s, n };
        if (n > 0 && end == s + n && isfinite(v))
            a->number[g->missing_numbers++] = v;
        if (s[n] == 0)
            return true;
        s += n + 1;
    }
    return false;
}

static bool parse_horizon(const char *s, size_t *ret)
{
    char *end;
    long n = strtol(s, &end, 10);
    *ret = n > 0 ? (size_t)n : 0;
    return *s != 0 && *end == 0 && n >= 1 && n <= HORIZON_MOST;
}

/* "512M", "4G", "1.5g". */
static bool parse_memory(const char *s, size_t *ret)
{
    char *end;
    double v = strtod(s, &end), unit = *end == 'm' || *end == 'M'   ? 1 << 20
                                       : *end == 'g' || *end == 'G' ? 1 << 30
                                                                    : 0;
    if (*s == 0 || unit == 0 || end[1] != 0 || !(v * unit >= MEMORY_LEAST && v * unit <= 1e15))
        return false;
    *ret = (size_t)(v * unit);
    return true;
}

static bool parse_cut(const char *s, int by, double most, tab_anomaly_cut *ret)
{
    char *end;
    double v = strtod(s, &end);
    *ret = (tab_anomaly_cut){ by, v };
    return *s != 0 && *end == 0 && v >= 0 && v <= most;
}

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "tabella run: %s: %s\n", what, value);
    return EXIT_USAGE;
}

static const struct option options[] = {
    { "target", 1, NULL, 't' },
    { "task", 1, NULL, 'k' },
    { "base", 1, NULL, 'b' },
    { "threshold", 1, NULL, 'c' },
    { "explain", 0, NULL, 'e' },
    { "json", 0, NULL, 'j' },
    { "threads", 1, NULL, 'n' },
    { "help", 0, NULL, 'h' },
    { "out", 1, NULL, 'o' },
    { "na", 1, NULL, 'm' },
    { "horizon", 1, NULL, 'z' },
    { "memory", 1, NULL, 'y' },
    { "as-of", 1, NULL, 'f' },
    { "split", 1, NULL, 'p' },
    { "anomaly-share", 1, NULL, 's' },
    { "anomaly-threshold", 1, NULL, 'x' },
    READING_OPTIONS,
    { NULL, 0, NULL, 0 },
};

/* Which rows are called anomalies: -1 to go on, else the exit code. */
static int parse_anomalies(int c, arguments *a)
{
    if (c == 's' && !parse_cut(optarg, TAB_CUT_SHARE, 0.5, &a->o.anomaly))
        return wrong("--anomaly-share must be a number from 0 to 0.5, not", optarg);
    if (c == 'x' && !parse_cut(optarg, TAB_CUT_THRESHOLD, 1, &a->o.anomaly))
        return wrong("--anomaly-threshold must be a number from 0 to 1, not", optarg);
    return -1;
}

/* One option, with its argument in optarg: -1 to go on, else the exit code. */
static int parse_option(int c, arguments *a)
{
    char *end;
    int rc = reading_option(c, &a->reading);
    if (rc <= 0)
        return rc == 0 ? -1 : EXIT_USAGE;
    switch (c) {
    case 't':
        a->o.target = strcmp(optarg, "none") == 0   ? TAB_TARGET_NONE
                      : strcmp(optarg, "auto") == 0 ? TAB_TARGET_AUTO
                                                    : TAB_TARGET_COLUMN;
        a->o.target_column = a->o.target == TAB_TARGET_COLUMN ? tab_str_of(optarg) : TAB_S("");
        break;
    case 'k':
        if (!parse_task(optarg, &a->o.task))
            return wrong("--task must be classification, regression or anomaly, not", optarg);
        break;
    case 'b':
        a->o.base = optarg;
        break;
    case 'c':
        a->o.threshold = strtod(optarg, &end);
        if (*optarg == 0 || *end != 0 || !(a->o.threshold >= 0 && a->o.threshold <= 1))
            return wrong("--threshold must be a number from 0 to 1, not", optarg);
        break;
    case 'n':
        a->threads = strtol(optarg, &end, 10);
        if (*optarg == 0 || *end != 0 || a->threads < 1 || a->threads > 256)
            return wrong("--threads must be a number from 1 to 256, not", optarg);
        break;
    case 'z':
        if (!parse_horizon(optarg, &a->o.horizon))
            return wrong("--horizon must be a whole number from 1 to 10000, not", optarg);
        break;
    case 'y':
        if (!parse_memory(optarg, &a->memory))
            return wrong("--memory must be 64M or more, a number with M or G behind it, not", optarg);
        break;
    case 'f':
        a->o.as_of = tab_str_of(optarg);
        break;
    case 'p':
        if (!parse_split(optarg, &a->o.split))
            return wrong("--split must be auto, random, time or group, not", optarg);
        break;
    case 's':
    case 'x':
        return parse_anomalies(c, a);
    case 'm':
        if (!parse_marks(optarg, a))
            return wrong("--na must be auto, none or at most 32 values separated by commas, not", optarg);
        break;
    case 'e':
        a->o.explain = true;
        break;
    case 'o':
        a->out = optarg;
        break;
    case 'j':
        a->json = true;
        break;
    case 'h':
        fputs(HELP, stdout);
        return 0;
    default:
        fputs("see tabella run --help\n", stderr);
        return EXIT_USAGE;
    }
    return -1;
}

/* -1 to go on, else the exit code. */
static int parse(int argc, char **argv, arguments *a)
{
    *a = (arguments){ .o = TAB_RUN_DEFAULTS,
                      .reading = TAB_READING_FOUND,
                      .threads = tab_machine_look().cores,
                      .memory = tab_machine_look().memory / 2 };
    a->o.given.missing_auto = true;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        int end = parse_option(c, a);
        if (end >= 0)
            return end;
    }
    a->file = argv + optind;
    a->n = (size_t)(argc - optind);
    if (a->n == 0 || a->n > TABLES)
        return wrong("give 1 to 64 files", a->n == 0 ? "none given" : "too many given");
    return -1;
}

/* The whole file; *ret is malloc'ed. */
static bool slurp(const char *path, tab_str *ret)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    size_t n = 0,
           cap = f != NULL && fstat(fileno(f), &st) == 0 && st.st_size > 0 ? (size_t)st.st_size + 1 : 65536;
    char *p = f != NULL ? malloc(cap) : NULL;
    while (p != NULL) {
        n += fread(p + n, 1, cap - n, f);
        if (n < cap)
            break;
        char *q = realloc(p, cap * 2);
        if (q == NULL)
            free(p);
        p = q;
        cap *= 2;
    }
    bool ok = p != NULL && !ferror(f);
    if (!ok)
        fprintf(stderr, "tabella run: %s: %s\n", path, strerror(errno));
    if (f != NULL)
        fclose(f);
    if (!ok) {
        free(p);
        return false;
    }
    *ret = (tab_str){ p, n };
    return true;
}

int reading_option(int c, tab_reading_asked *r)
{
    static const char *const keys[] = { "delimiter", "quote", "encoding", "header_rows", "skip_lines" };
    tab_error err = { 0 };
    if (c < READING_OPTION || c > READING_ONE_TABLE)
        return 1;
    if (c == READING_ONE_TABLE) {
        r->one_table = true;
        return 0;
    }
    if (tab_reading_ask_text(r, keys[c - READING_OPTION], tab_str_of(optarg), &err) == TAB_OK)
        return 0;
    fprintf(stderr, "tabella: %s\n", err.message);
    return -1;
}

static bool asks(const tab_reading_asked *r)
{
    return r->delimiter != 0 || r->quote != 0 || r->encoding != NULL || r->header_rows >= 0 ||
           r->skip_lines >= 0 || r->one_table;
}

/* A database's tables are called as in it. */
static tab_status read_bytes(tab_arena *a, const char *path, tab_str bytes, const tab_reading_asked *asked,
                             tab_file *ret, tab_error *err)
{
    enum { DATABASE_MS = 600000 };
    static const atomic_bool never;
    const tab_file_limits most = { (uint64_t)1 << 40, (uint64_t)1 << 32, 1 << 17, TABLES, false, false };
    const source from = { .sheet = "", .deadline = tab_in_ms(DATABASE_MS), .cancel = &never };
    if (!sqlite_is(bytes))
        return tab_file_read_as(a, tab_str_of(path), bytes, &most, asked, ret, err);
    if (asks(asked))
        return tab_fail(err, TAB_VALIDATION, "options.reading", "%s: a database needs no reading options",
                        path);
    return sqlite_tables(&from, a, bytes, most.tables, ret, err);
}

static int take_table(input *to, const tab_table *t, tab_str reading, const char *path)
{
    for (size_t k = 0; k < to->n; k++)
        if (tab_str_eq(to->table[k]->id, t->id)) {
            fprintf(stderr,
                    "tabella run: two files are called %.*s, and the id of a table is the name of its file\n",
                    TAB_STR(t->id));
            return EXIT_USAGE;
        }
    if (to->n == TABLES)
        return wrong("at most 64 tables can be read at once; the first too many is in", path);
    to->reading[to->n] = reading;
    to->table[to->n++] = t;
    return 0;
}

static int read_one(tab_arena *a, const char *path, const tab_reading_asked *asked, input *to)
{
    static const char scheme[] = "sqlite://";
    bool database = strncmp(path, scheme, sizeof scheme - 1) == 0, stdin_is = strcmp(path, "-") == 0;
    tab_str bytes;
    tab_file file;
    tab_error err = { 0 };
    path += database ? sizeof scheme - 1 : 0;
    if (!slurp(stdin_is ? "/dev/stdin" : path, &bytes))
        return EXIT_INPUT;
    tab_status s = database && !sqlite_is(bytes)
                       ? tab_fail(&err, TAB_VALIDATION, "", "%s: not a SQLite database", path)
                       : read_bytes(a, stdin_is ? "stdin" : path, bytes, asked, &file, &err);
    free((void *)(uintptr_t)bytes.p);
    if (s != TAB_OK) {
        fprintf(stderr, "tabella run: %s\n", err.message);
        return EXIT_INPUT;
    }
    if (file.notes.n > 0)
        fprintf(stderr, "%.*s\n", TAB_STR(file.notes));
    int rc = 0;
    for (size_t i = 0; i < file.n && rc == 0; i++)
        rc = take_table(to, file.table[i], file.reading[i], path);
    return rc;
}

/* ---- folders: of their files, those with the same columns are one table ------------------------------ */

enum { FILES = 10000 };

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int is_shown(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int failed(const char *path, const char *why, int rc)
{
    fprintf(stderr, "tabella run: %s: %s\n", path, why);
    return rc;
}

/* Tables of the folder's files into found and reading (FILES). */
static int read_files(tab_arena *a, const char *path, const tab_reading_asked *asked, const tab_table **found,
                      tab_str *reading, size_t *ret_n)
{
    struct dirent **entry;
    int n = scandir(path, &entry, is_shown, alphasort), rc = 0;
    if (n < 0)
        return failed(path, strerror(errno), EXIT_INPUT);
    for (int i = 0; i < n && rc == 0; i++) {
        char file[4096];
        input one = { .n = 0 };
        int len = snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name);
        if (len < 0 || (size_t)len >= sizeof file || is_folder(file))
            continue;
        rc = read_one(a, file, asked, &one);
        for (size_t k = 0; k < one.n && rc == 0; k++) {
            if (*ret_n == FILES) {
                rc = failed(path, "the folder holds more than 10000 tables", EXIT_INPUT);
                break;
            }
            reading[*ret_n] = one.reading[k];
            found[(*ret_n)++] = one.table[k];
        }
    }
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    return rc == 0 && *ret_n == 0 ? failed(path, "the folder holds no file", EXIT_INPUT) : rc;
}

/* The folder's own name, and at most so much of it as an id may have. */
static tab_str name_of(tab_arena *a, const char *path)
{
    enum { MOST = 96 };
    char whole[4096];
    tab_str s = tab_str_of(realpath(path, whole) != NULL ? whole : path);
    const char *slash = memrchr(s.p, '/', s.n);
    if (slash != NULL)
        s = (tab_str){ slash + 1, s.n - (size_t)(slash + 1 - s.p) };
    s.n = s.n < MOST ? s.n : MOST;
    while (s.n > 0 && !tab_utf8_valid(s))
        s.n--;
    s = tab_arena_copy(a, s.n > 0 ? s : TAB_S("folder"));
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.')
            ((char *)(uintptr_t)s.p)[i] = '_';
    return s;
}

static int read_folder(tab_arena *a, const char *path, const tab_reading_asked *asked, input *to)
{
    const tab_table **found = tab_arena_new_of(a, const tab_table *, FILES);
    tab_str *reading = tab_arena_new_of(a, tab_str, FILES);
    tab_stacked *how = tab_arena_new_of(a, tab_stacked, FILES);
    size_t n = 0;
    tab_error err = { 0 };
    if (found == NULL || reading == NULL || how == NULL)
        return failed(path, "out of memory", EXIT_FAILURE);
    int rc = read_files(a, path, asked, found, reading, &n);
    if (rc != 0)
        return rc;
    if (tab_tables_stack(a, found, &n, name_of(a, path), 1 << 17, (uint64_t)1 << 32, how, &err) != TAB_OK)
        return failed(path, err.message, EXIT_INPUT);
    for (size_t i = 0; i < n; i++) {
        if (how[i].files > 1)
            fprintf(stderr, "%.*s: %zu files of the same columns are one table; the last column says which\n",
                    TAB_STR(found[i]->id), how[i].files);
        rc = take_table(to, found[i], reading[how[i].first], path);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int read_file(tab_arena *a, const char *path, const tab_reading_asked *asked, input *to)
{
    return is_folder(path) ? read_folder(a, path, asked, to) : read_one(a, path, asked, to);
}

static int read_tables(tab_arena *a, const arguments *args, input *ret)
{
    int rc = 0;
    for (size_t i = 0; i < args->n && rc == 0; i++)
        rc = read_file(a, args->file[i], &args->reading, ret);
    return rc;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int cmd_run(int argc, char **argv)
{
    arguments args;
    int early = parse(argc, argv, &args);
    if (early >= 0)
        return early;
    if (args.n == 1 && large_is(args.file[0], &args.reading, args.memory))
        return cmd_large(&(large_run){ .path = args.file[0],
                                       .reading = &args.reading,
                                       .o = args.o,
                                       .memory = args.memory,
                                       .threads = (size_t)args.threads,
                                       .json = args.json,
                                       .out = args.out,
                                       .words = (const char *const *)argv });
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    input in = { .n = 0 };
    int rc = read_tables(a, &args, &in);
    if (rc != 0)
        return rc;
    TAB_AUTO(tab_pool) *pool = tab_pool_new((size_t)args.threads - 1, false);
    bool tty = isatty(STDERR_FILENO);
    tab_engine e = { .arena = a,
                     .progress = tty ? show_progress : NULL,
                     .parallel_for = pool != NULL ? tab_pool_for : NULL,
                     .parallel_arg = pool };
    /* the screen and the page say what moves the predictions */
    bool explain = args.o.explain;
    size_t rows = 0;
    for (size_t i = 0; i < in.n; i++)
        rows += in.table[i]->rows;
    args.o.explain = explain || (!args.json && rows <= EXPLAINED);
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    double began = now();
    tab_status s = tab_engine_run(&e, in.table, in.n, &args.o, &b, &err);
    if (tty)
        fputs("\r                                 \r", stderr);
    if (s != TAB_OK) {
        fprintf(stderr, "tabella run: %s%s%s\n", err.param, err.param[0] != 0 ? ": " : "", err.message);
        return s == TAB_VALIDATION || s == TAB_CAPABILITY ? EXIT_INPUT : EXIT_FAILURE;
    }
    for (size_t i = 0; i < b->n_tables && i < in.n; i++)
        b->tables[i]->reading =
            (ProtobufCBinaryData){ in.reading[i].n, (uint8_t *)(uintptr_t)in.reading[i].p };
    findings f;
    double took = now() - began;
    if ((!args.json || args.out != NULL) && !findings_of(&e, in.table, b, &f)) {
        fputs("tabella run: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    if (args.out != NULL && !write_out(&e, args.out, in.table, b, &f))
        return EXIT_FAILURE;
    if (args.json)
        return print_bundle(b);
    print_summary(&e, in.table, b, &f, explain, took);
    return EXIT_SUCCESS;
}
