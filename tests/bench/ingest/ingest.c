/* What taking tables in costs, stage by stage, on one thread and in CPU time; for `run` beside it.
 *
 *   make ROWS SEED      a CSV of 20 columns to standard output: ids, counts, amounts, measures, days, times,
 *                       categories, names, notes, some of them missing
 *   file PATH ...       any file: seconds to read it, and to cut, hash and pack its blocks
 *   diff BEFORE AFTER   two files' tables: seconds of a sync's comparison
 *   cells PATH          a file's table: a JSON array of names, then one of each row's cells; or {"error"}
 *
 * A line of JSON each: {"bytes", "rows", "cols", "read", "pack", "packed", "peak"}; peak is the process's
 * resident memory in bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/files/files.h"
#include "common/json/json.h"
#include "services/data-connector/store/blocks.h"
#include "services/data-connector/store/diff.h"

static double seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static long long peak(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (long long)u.ru_maxrss * 1024;
}

/* ---- the table ----------------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t draw(uint32_t n) /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static int make(unsigned rows, unsigned seed)
{
    static const char *const
        region[] = { "north", "south", "east", "west", "centre" },
        *const state_of[] = { "open", "paid", "shipped", "returned" }, *const first[] = { "Ada",   "Emil",
                                                                                          "Grace", "Hannah",
                                                                                          "Ito",   "Jun",
                                                                                          "Zoë",   "Omar" },
        *const last[] = { "Becker", "Garcia", "Kowalski", "Lee", "Novak", "Okafor" };
    puts("id,order_no,customer,name,region,state,quantity,price,total,weight,score,day,at,paid,channel,sku,"
         "ratio,note,city,flag");
    for (unsigned i = 0; i < rows; i++) {
        state = ((uint64_t)seed << 32 | i) * 0x9e3779b97f4a7c15u; /* a row is its number's */
        unsigned q = 1 + draw(9), cents = 99 + draw(100000);
        printf("%u,ORD-%08u,%u,%s %s,%s,%s,%u,%u.%02u,%u.%02u,", i + 1, i * 7 + 13, 1000 + draw(50000),
               first[draw(8)], last[draw(6)], region[draw(5)], state_of[draw(4)], q, cents / 100, cents % 100,
               q * cents / 100, q * cents % 100);
        if (draw(20) > 0)
            printf("%u.%04u", draw(100), draw(10000));
        printf(",%s%u.%09u,20%02u-%02u-%02u,2026-%02u-%02uT%02u:%02u:%02u,%s,%s,SKU%05u,0.%017u,",
               draw(2) ? "-" : "", draw(3), draw(1000000000), 10 + draw(16), 1 + draw(12), 1 + draw(28),
               1 + draw(12), 1 + draw(28), draw(24), draw(60), draw(60), draw(2) ? "true" : "false",
               draw(3) ? "web" : "shop", draw(20000), draw(1000000000));
        if (draw(3) == 0)
            printf("\"item %u, as \"\"agreed\"\" on call\"", draw(100000));
        printf(",%s %u,%u\n", draw(2) ? "Springfield" : "Łódź", draw(300), draw(2));
    }
    return 0;
}

/* ---- files --------------------------------------------------------------------------------------- */

static tab_str slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *p = NULL;
    size_t n = 0;
    if (f != NULL && fseek(f, 0, SEEK_END) == 0 && (n = (size_t)ftell(f)) < SIZE_MAX &&
        (p = malloc(n + 1)) != NULL) {
        rewind(f);
        n = fread(p, 1, n, f);
        p[n] = 0;
    }
    if (f != NULL)
        fclose(f);
    return (tab_str){ p, n };
}

static const tab_table *read_file(tab_arena *a, const char *path, tab_str bytes)
{
    const tab_file_limits most = TAB_FILE_LIMITS;
    tab_error err = { 0 };
    tab_file f;
    if (a == NULL || bytes.p == NULL ||
        tab_file_read(a, tab_str_of(path), bytes, &most, &f, &err) != TAB_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        exit(EXIT_FAILURE);
    }
    return f.table[0];
}

static int file(const char *path)
{
    static const uint8_t key[BLOCK_KEY] = "a key";
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_str bytes = slurp(path);
    size_t packed = 0;
    double began = seconds();
    const tab_table *t = read_file(a, path, bytes);
    double read = seconds();
    tab_error err = { 0 };
    for (block_range at = { 0 }; block_next(t, &at);) {
        TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)1 << 30);
        block b;
        if (scratch == NULL || block_write(scratch, t, at, key, &b, &err) != TAB_OK)
            return EXIT_FAILURE;
        packed += b.bytes.n;
    }
    double done = seconds();
    printf("{\"bytes\": %zu, \"rows\": %zu, \"cols\": %zu, \"read\": %.3f, \"pack\": %.3f, \"packed\": %zu, "
           "\"peak\": %lld}\n",
           bytes.n, t->rows, t->cols, read - began, done - read, packed, peak());
    free((char *)bytes.p);
    return 0;
}

static int diff(const char *before, const char *after)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)4 << 30);
    tab_str bytes[2] = { slurp(before), slurp(after) };
    const tab_table *t[2] = { read_file(a, before, bytes[0]), read_file(a, after, bytes[1]) };
    tab_error err = { 0 };
    row_diff d;
    double began = seconds();
    if (scratch == NULL || diff_tables(scratch, t[0], t[1], NULL, 0, &d, &err) != TAB_OK)
        return EXIT_FAILURE;
    double done = seconds();
    printf("{\"rows\": %zu, \"cols\": %zu, \"diff\": %.3f, \"added\": %llu, \"changed\": %llu, "
           "\"removed\": %llu, \"unchanged\": %llu, \"key\": \"%.*s\", \"peak\": %lld}\n",
           t[1]->rows, t[1]->cols, done - began, (unsigned long long)d.added, (unsigned long long)d.changed,
           (unsigned long long)d.removed, (unsigned long long)d.unchanged, d.n_key > 0 ? (int)d.key[0].n : 0,
           d.n_key > 0 ? d.key[0].p : "", peak());
    free((char *)bytes[0].p);
    free((char *)bytes[1].p);
    return 0;
}

static void put_line(tab_out *o)
{
    tab_out_close(o, ']');
    tab_out_bytes(o, "\n", 1);
    fwrite(o->p, 1, o->n, stdout);
    o->n = 0;
    o->comma = false;
}

static int cells(const char *path)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    const tab_file_limits most = TAB_FILE_LIMITS;
    tab_str bytes = slurp(path);
    tab_error err = { 0 };
    tab_file f;
    tab_out o = { 0 };
    if (a == NULL || bytes.p == NULL)
        return EXIT_FAILURE;
    if (tab_file_read(a, tab_str_of(path), bytes, &most, &f, &err) != TAB_OK) {
        tab_out_bytes(&o, "{\"error\":", 9);
        tab_out_cstr(&o, err.message);
        printf("%.*s}\n", (int)o.n, o.p);
    } else {
        const tab_table *t = f.table[0];
        tab_out_open(&o, '[');
        for (size_t k = 0; k < t->cols; k++)
            tab_out_str(&o, t->col[k].name);
        put_line(&o);
        for (size_t r = 0; r < t->rows; r++) {
            tab_out_open(&o, '[');
            for (size_t k = 0; k < t->cols; k++)
                tab_out_cell(&o, &t->col[k], r);
            put_line(&o);
        }
    }
    tab_out_free(&o);
    free((char *)bytes.p);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        return make((unsigned)strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "file") == 0)
        return file(argv[2]);
    if (argc == 4 && strcmp(argv[1], "diff") == 0)
        return diff(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "cells") == 0)
        return cells(argv[2]);
    fputs("usage: ingest make ROWS SEED | file PATH | diff BEFORE AFTER | cells PATH\n", stderr);
    return EXIT_FAILURE;
}
