/* `tabella run`: CSV files in, a bundle out, in this process. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/csv.h"
#include "services/inference/pool.h"
#include "tools/tabella/tabella.h"

static const char HELP[] =
    "usage: tabella run FILE.csv [FILE.csv ...] [options]\n\n"
    "Understands the tables in CSV files; a table's id is its file's name without folder and ending. "
    "An empty\n"
    "field is null. The first record is the header.\n\n"
    "  --target TABLE.COLUMN   predict this column (COLUMN alone where one table holds it); "
    "none: predict nothing\n"
    "                          (default: the most predictable column)\n"
    "  --task TASK             classification, regression or anomaly (default: as the target asks)\n"
    "  --base base-N           the engine's recipe (default: the latest)\n"
    "  --threshold X           least confidence of reported alignments and matches, 0 to 1 (0.5)\n"
    "  --explain               say which columns moved each prediction\n"
    "  --json                  the whole bundle as JSON on stdout, instead of a summary\n"
    "  --threads N             threads to use; the bundle does not depend on it (all processors)\n"
    "  --help\n";

typedef struct {
    tab_run_options o;
    bool json;
    long threads;
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

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "tabella run: %s: %s\n", what, value);
    return EXIT_USAGE;
}

/* -1 to go on, else the exit code. */
static int parse(int argc, char **argv, arguments *a)
{
    static const struct option options[] = {
        { "target", 1, NULL, 't' },    { "task", 1, NULL, 'k' },    { "base", 1, NULL, 'b' },
        { "threshold", 1, NULL, 'c' }, { "explain", 0, NULL, 'e' }, { "json", 0, NULL, 'j' },
        { "threads", 1, NULL, 'n' },   { "help", 0, NULL, 'h' },    { NULL, 0, NULL, 0 },
    };
    char *end;
    *a = (arguments){ .o = TAB_RUN_DEFAULTS, .threads = sysconf(_SC_NPROCESSORS_ONLN) };
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        switch (c) {
        case 't':
            a->o.target = strcmp(optarg, "none") == 0   ? TAB_TARGET_NONE
                          : strcmp(optarg, "auto") == 0 ? TAB_TARGET_AUTO
                                                        : TAB_TARGET_COLUMN;
            a->o.target_column = a->o.target == TAB_TARGET_COLUMN ? tab_str_of(optarg) : TAB_S("");
            break;
        case 'k':
            if (!parse_task(optarg, &a->o.task))
                return wrong("--task is classification, regression or anomaly, not", optarg);
            break;
        case 'b':
            a->o.base = optarg;
            break;
        case 'c':
            a->o.threshold = strtod(optarg, &end);
            if (*optarg == 0 || *end != 0 || !(a->o.threshold >= 0 && a->o.threshold <= 1))
                return wrong("--threshold is a number from 0 to 1, not", optarg);
            break;
        case 'n':
            a->threads = strtol(optarg, &end, 10);
            if (*optarg == 0 || *end != 0 || a->threads < 1 || a->threads > 256)
                return wrong("--threads is a number from 1 to 256, not", optarg);
            break;
        case 'e':
            a->o.explain = true;
            break;
        case 'j':
            a->json = true;
            break;
        case 'h':
            fputs(HELP, stdout);
            return 0;
        default:
            fputs("tabella run --help says what there is\n", stderr);
            return EXIT_USAGE;
        }
    a->file = argv + optind;
    a->n = (size_t)(argc - optind);
    if (a->n == 0 || a->n > 64)
        return wrong("give 1 to 64 CSV files", a->n == 0 ? "none given" : "too many given");
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

/* "data/orders.csv" -> "orders"; dots inside become _, since an id holds none. */
static tab_str stem(tab_arena *a, const char *path)
{
    const char *name = strrchr(path, '/');
    name = name != NULL ? name + 1 : path;
    const char *dot = strrchr(name, '.');
    tab_str s =
        tab_arena_copy(a, (tab_str){ name, dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name) });
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.')
            ((char *)(uintptr_t)s.p)[i] = '_';
    return s;
}

static int read_tables(tab_arena *a, const arguments *args, const tab_table **ret)
{
    for (size_t i = 0; i < args->n; i++) {
        tab_str bytes, id = stem(a, args->file[i]);
        tab_csv_notes notes;
        tab_error err = { 0 };
        for (size_t k = 0; k < i; k++)
            if (tab_str_eq(ret[k]->id, id)) {
                fprintf(stderr, "tabella run: two files are called %.*s: a table's id is its file's name\n",
                        TAB_STR(id));
                return EXIT_USAGE;
            }
        if (!slurp(args->file[i], &bytes))
            return EXIT_INPUT;
        tab_status s = tab_csv_read(a, bytes, id, &ret[i], &notes, &err);
        free((void *)(uintptr_t)bytes.p);
        if (s != TAB_OK) {
            fprintf(stderr, "tabella run: %s: %s\n", args->file[i], err.message);
            return EXIT_INPUT;
        }
        if (notes.padded > 0 || notes.widened > 0)
            fprintf(stderr,
                    "%s: %zu short records padded with null, %zu long ones kept in columns without a name\n",
                    args->file[i], notes.padded, notes.widened);
    }
    return 0;
}

static void progress(void *arg, const char *phase, double done)
{
    (void)arg;
    static int last = -1;
    int percent = (int)(done * 100);
    if (percent != last)
        fprintf(stderr, "\r%3d %%  %-24.24s", percent, phase);
    last = percent;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int print_json(const Tabella__Bundle *b, const arguments *args)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_out_key(&o, "mode");
    tab_out_cstr(&o, "run");
    tab_out_key(&o, "base");
    tab_out_cstr(&o, b->base_model);
    tab_out_key(&o, "feed");
    tab_out_cstr(&o, args->n > 1 ? "multi_table" : "single_table");
    tab_out_key(&o, "status");
    tab_out_cstr(&o, "complete");
    tab_bundle_json(&o, b, NULL);
    tab_out_close(&o, '}');
    tab_out_bytes(&o, "\n", 1);
    bool ok = !o.failed && fwrite(o.p, 1, o.n, stdout) == o.n && fflush(stdout) == 0;
    tab_out_free(&o);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int cmd_run(int argc, char **argv)
{
    arguments args;
    int early = parse(argc, argv, &args);
    if (early >= 0)
        return early;
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    const tab_table *tables[64];
    int rc = read_tables(a, &args, tables);
    if (rc != 0)
        return rc;
    TAB_AUTO(tab_pool) *pool = tab_pool_new((size_t)args.threads - 1, false);
    bool tty = isatty(STDERR_FILENO);
    tab_engine e = { .arena = a,
                     .progress = tty ? progress : NULL,
                     .parallel_for = pool != NULL ? tab_pool_for : NULL,
                     .parallel_arg = pool };
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    double began = now();
    tab_status s = tab_engine_run(&e, tables, args.n, &args.o, &b, &err);
    if (tty)
        fputs("\r                                 \r", stderr);
    if (s != TAB_OK) {
        fprintf(stderr, "tabella run: %s%s%s\n", err.param, err.param[0] != 0 ? ": " : "", err.message);
        return s == TAB_VALIDATION || s == TAB_CAPABILITY ? EXIT_INPUT : EXIT_FAILURE;
    }
    if (args.json)
        return print_json(b, &args);
    print_summary(&e, tables, b, now() - began);
    return EXIT_SUCCESS;
}
