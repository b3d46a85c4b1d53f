// JSON to columns against a bare simdjson on-demand parse, a yajl parse and a jansson DOM, in one run: MB per
// CPU second of each, and the peak memory of ours and of the DOM above the body, against the size of the
// columns.
//
// usage: json-bench   (four bodies of 16 MB made here: measurements, texts, mixed, digits as %.17g prints
// them)
#include "common/json/json.h"

#include <simdjson.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <malloc.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<jansson.h>)
#include <jansson.h>
#define HAVE_JANSSON 1
#endif
#if __has_include(<yajl/yajl_parse.h>)
#include <yajl/yajl_parse.h>
#define HAVE_YAJL 1
#endif

static double cpu()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

static std::string make(const char *kind, size_t bytes)
{
    static const char *WORDS[] = { "Vienna", "Graz", "north", "south", "in stock", "sold", "pending review" };
    std::string s = "{\"tables\":[{\"id\":\"t\",\"columns\":[";
    for (int c = 0; c < 20; c++)
        s += (c ? ",\"c" : "\"c") + std::to_string(c) + "\"";
    s += "],\"rows\":[";
    srand48(5);
    char buf[64];
    for (size_t row = 0; s.size() < bytes; row++) {
        s += row ? ",[" : "[";
        for (int c = 0; c < 20; c++) {
            s += c ? ", " : "";
            char k = kind[0] == 'm' && kind[1] == 'i' ? "mtdi"[c % 4] : kind[0];
            if (drand48() < 0.03)
                s += "null";
            else if (k == 't')
                c % 5 == 0
                    ? snprintf(buf, sizeof buf, "\"user %ld of %ld\"", lrand48() % 100000, lrand48() % 10)
                    : snprintf(buf, sizeof buf, "\"%s\"", WORDS[lrand48() % 7]),
                    s += buf;
            else
                snprintf(buf, sizeof buf,
                         k == 'm'   ? "%.2f"
                         : k == 'd' ? "%.17g"
                                    : "%.0f",
                         drand48() * 10000),
                    s += buf;
        }
        s += "]";
    }
    return s + "]}]}";
}

static const tab_body_limits LIMITS = TAB_BODY_LIMITS;

static size_t column_bytes(const tab_body &b)
{
    size_t n = 0;
    for (size_t i = 0; i < b.n_tables; i++)
        for (size_t k = 0; k < b.tables[i]->cols; k++) {
            const tab_column &c = b.tables[i]->col[k];
            n += c.layout == TAB_NUMBERS ? 8 * b.tables[i]->rows : 4 * b.tables[i]->rows;
            if (c.layout == TAB_CODED && c.levels > 0)
                n += c.end[c.levels - 1] + 5 * c.levels;
        }
    return n;
}

static size_t ours(const std::string &s)
{
    tab_arena *a = tab_arena_new(size_t(1) << 31);
    tab_body b;
    tab_error err;
    if (tab_body_read(a, tab_str{ s.data(), s.size() }, &LIMITS, &b, &err) != TAB_OK) {
        fprintf(stderr, "json-bench: %s: %s\n", err.param, err.message);
        exit(1);
    }
    size_t n = column_bytes(b);
    tab_arena_free(a);
    return n;
}

static size_t bare_simdjson(const std::string &s)
{
    static simdjson::ondemand::parser parser;
    static simdjson::padded_string padded;
    if (padded.size() != s.size())
        padded = simdjson::padded_string(s);
    double sum = 0;
    size_t n = 0;
    simdjson::ondemand::document doc;
    if (parser.iterate(padded).get(doc))
        exit(1);
    for (auto table : doc["tables"])
        for (auto row : table["rows"])
            for (auto cell : row) {
                simdjson::ondemand::json_type type;
                if (cell.type().get(type))
                    exit(1);
                std::string_view v;
                double x;
                if (type == simdjson::ondemand::json_type::number && !cell.get_double().get(x))
                    sum += x;
                else if (type == simdjson::ondemand::json_type::string && !cell.get_string().get(v))
                    n += v.size();
                else if (!cell.is_null())
                    exit(1);
            }
    return n + static_cast<size_t>(std::fabs(sum));
}

#ifdef HAVE_JANSSON
static size_t dom(const std::string &s)
{
    json_error_t e;
    json_t *j = json_loadb(s.data(), s.size(), JSON_REJECT_DUPLICATES, &e);
    size_t n = json_object_size(j);
    json_decref(j);
    return n;
}
#endif
#ifdef HAVE_YAJL
static int y_null(void *)
{
    return 1;
}
static int y_number(void *n, const char *p, size_t len)
{
    *static_cast<double *>(n) += strtod(std::string(p, len).c_str(), nullptr);
    return 1;
}
static int y_string(void *n, const unsigned char *, size_t len)
{
    return *static_cast<double *>(n) += double(len), 1;
}
static size_t yajl(const std::string &s)
{
    static const yajl_callbacks cb = { y_null,  nullptr, nullptr, nullptr, y_number, y_string,
                                       nullptr, nullptr, nullptr, nullptr, nullptr };
    double n = 0;
    yajl_handle h = yajl_alloc(&cb, nullptr, &n);
    yajl_parse(h, reinterpret_cast<const unsigned char *>(s.data()), s.size());
    yajl_complete_parse(h);
    yajl_free(h);
    return static_cast<size_t>(n);
}
#endif

using parser = size_t (*)(const std::string &);

static double rate(parser f, const std::string &s)
{
    double best = 0;
    f(s);
    for (int i = 0; i < 3; i++) {
        double t = cpu();
        f(s);
        double r = static_cast<double>(s.size()) / 1e6 / (cpu() - t);
        best = r > best ? r : best;
    }
    return best;
}

// Peak resident memory that one parse adds, in a process of its own.
static double peak(parser f, const std::string &s)
{
    int fd[2];
    if (pipe(fd))
        return -1;
    if (pid_t pid = fork(); pid == 0) {
        auto resident = [](const char *field) {
            FILE *p = fopen("/proc/self/status", "r");
            char line[256];
            long kb = 0;
            while (fgets(line, sizeof line, p))
                if (!strncmp(line, field, strlen(field)))
                    kb = atol(line + strlen(field));
            fclose(p);
            return static_cast<double>(kb) * 1024;
        };
        malloc_trim(0); // what earlier parses left on the heap would hide what this one takes
        // The high-water mark starts again from what is resident now.
        FILE *clear = fopen("/proc/self/clear_refs", "w");
        if (clear) {
            fputs("5", clear);
            fclose(clear);
        }
        double before = resident("VmRSS:");
        f(s);
        double grown = resident("VmHWM:") - before;
        if (write(fd[1], &grown, sizeof grown) < 0)
            _exit(1);
        _exit(0);
    }
    double grown = -1;
    if (read(fd[0], &grown, sizeof grown) < 0)
        grown = -1;
    close(fd[0]);
    close(fd[1]);
    wait(nullptr);
    return grown;
}

int main()
{
    printf("%-14s %10s %12s %10s %10s %8s %8s %10s %10s\n", "MB/CPU s", "columns", "simdjson", "yajl",
           "jansson", "x jansson", "x simdj", "mem/cols", "DOM/cols");
    for (const char *kind : { "measurements", "texts", "mixed", "digits" }) {
        std::string s = make(kind, 16u << 20);
        double columns = static_cast<double>(ours(s)), mem = peak(ours, s) / columns;
        double r = rate(ours, s), b = rate(bare_simdjson, s), y = 0, j = 0, djm = 0;
#ifdef HAVE_YAJL
        y = rate(yajl, s);
#endif
#ifdef HAVE_JANSSON
        djm = peak(dom, s) / columns;
        j = rate(dom, s);
#endif
        printf("%-14s %10.0f %12.0f %10.0f %10.0f %8.1fx %7.2fx %10.2f %10.2f\n", kind, r, b, y, j,
               j > 0 ? r / j : 0, r / b, mem, djm);
    }
    puts("mem/cols: peak memory that reading adds to the body, over the size of the columns (goal: under 2)");
    return 0;
}
