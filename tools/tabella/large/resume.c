/* A run in passes that was ended goes on where it was (decision 0672): the same command, of the same build,
 * over the same files, into the same folder.
 *
 *   OUT/.passes        behind the first pass: what it leaves, the sketches and the sample
 *   OUT/.passes-done   in the last pass: how much of the answers is written, every few seconds
 *
 * What the engine learns of the sample is the same each time, and is learned again. Both files go when the
 * run has ended well; one of another command or build, or one that is damaged, counts for nothing. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/hash.h"
#include "common/table/table_wire.h"
#include "tools/tabella/large/large.h"

enum { EVERY_S = 5, PATH_ROOM = 4352 };
static const char MARK[] = "tabella passes 1\n";

static void path_of(const large *l, const char *name, char path[PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "%.4000s/%s", l->run->out, name);
}

/* ---- what makes it the same run --------------------------------------------------------------- */

static void add_file(tab_out *o, const char *name, const struct stat *st)
{
    char text[96];
    snprintf(text, sizeof text, " %lld %lld.%09ld\n", (long long)st->st_size, (long long)st->st_mtim.tv_sec,
             st->st_mtim.tv_nsec);
    tab_out_bytes(o, name, strlen(name));
    tab_out_bytes(o, text, strlen(text));
}

/* Of a folder its files, by name. */
static void add_files(tab_out *o, const char *path)
{
    struct stat st;
    struct dirent **entry;
    if (stat(path, &st) != 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        add_file(o, path, &st);
        return;
    }
    int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char file[PATH_ROOM];
        snprintf(file, sizeof file, "%.4000s/%.255s", path, entry[i]->d_name);
        if (stat(file, &st) == 0 && S_ISREG(st.st_mode))
            add_file(o, file, &st);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

bool large_resume_key(large *l)
{
    tab_out o = { 0 };
    char whole[PATH_ROOM];
    tab_out_bytes(&o, MARK, sizeof MARK - 1);
    tab_out_bytes(&o, tab_commit, strlen(tab_commit) + 1);
    for (const char *const *w = l->run->words; *w != NULL; w++)
        tab_out_bytes(&o, *w, strlen(*w) + 1);
    snprintf(whole, sizeof whole, "%zu %zu ", l->run->memory, l->run->threads);
    tab_out_bytes(&o, whole, strlen(whole));
    add_files(&o, l->run->path);
    l->key = tab_fnv1a(TAB_FNV1A, o.p, o.n);
    bool good = !o.failed;
    tab_out_free(&o);
    return good;
}

/* ---- the first pass ---------------------------------------------------------------------------- */

/* Beside its place, then there: a file of this name is whole. */
static bool put(const large *l, const char *name, tab_str bytes)
{
    char path[PATH_ROOM], part[PATH_ROOM + 8];
    path_of(l, name, path);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "wbe");
    bool good = f != NULL && fwrite(bytes.p, 1, bytes.n, f) == bytes.n;
    good = f != NULL && fflush(f) == 0 && fsync(fileno(f)) == 0 && good;
    good = (f == NULL || fclose(f) == 0) && good && rename(part, path) == 0;
    if (!good)
        unlink(part);
    return good;
}

static void number(tab_out *o, uint64_t x)
{
    tab_out_bytes(o, &x, sizeof x);
}

static bool write_sample(const large *l, tab_out *o)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    const tab_table *both[] = { l->seen, l->unseen };
    tab_wire *w = NULL;
    tab_error err;
    if (a == NULL || tab_wire_new(a, both, 2, &w, &err) != TAB_OK)
        return false;
    size_t n = tab_wire_bytes(w);
    char *bytes = malloc(n + 1);
    if (bytes == NULL)
        return false;
    tab_wire_copy(w, 0, n, bytes);
    tab_out_bytes(o, l->seen_row, l->seen->rows * sizeof *l->seen_row);
    tab_out_bytes(o, l->unseen_row, l->unseen->rows * sizeof *l->unseen_row);
    number(o, n);
    tab_out_bytes(o, bytes, n);
    free(bytes);
    return true;
}

/* What cannot be kept is only lost when the run is ended. */
void large_resume_save(const large *l)
{
    tab_out o = { 0 };
    number(&o, l->rows);
    number(&o, l->wide);
    number(&o, l->seen->rows);
    number(&o, l->unseen->rows);
    for (size_t c = 0; c < l->size.cols; c++)
        tab_sketch_write(l->sketch[c], &o);
    if (write_sample(l, &o) && !o.failed) {
        tab_out all = { 0 };
        tab_out_bytes(&all, MARK, sizeof MARK - 1);
        number(&all, l->key);
        number(&all, tab_fnv1a(TAB_FNV1A, o.p, o.n));
        tab_out_bytes(&all, o.p, o.n);
        if (all.failed || !put(l, ".passes", tab_out_text(&all)))
            fprintf(stderr, "tabella run: %s: what was read could not be kept for a later run\n",
                    l->run->out);
        tab_out_free(&all);
    }
    tab_out_free(&o);
}

static bool slurp(const large *l, const char *name, tab_str *ret)
{
    char path[PATH_ROOM];
    struct stat st;
    path_of(l, name, path);
    FILE *f = fopen(path, "rbe");
    char *p = f != NULL && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode)
                  ? tab_arena_alloc(l->e.arena, (size_t)st.st_size + 1, 8)
                  : NULL;
    bool good = p != NULL && fread(p, 1, (size_t)st.st_size, f) == (size_t)st.st_size;
    if (f != NULL)
        fclose(f);
    if (good)
        p[st.st_size] = 0;
    *ret = (tab_str){ p, good ? (size_t)st.st_size : 0 };
    return good;
}

static bool take(tab_str *rest, void *to, size_t n)
{
    if (rest->n < n)
        return false;
    memcpy(to, rest->p, n);
    *rest = (tab_str){ rest->p + n, rest->n - n };
    return true;
}

static bool read_rows(large *l, tab_str *rest, uint64_t n, uint64_t **ret)
{
    if (n > rest->n / sizeof **ret)
        return false;
    *ret = tab_arena_new_of(l->e.arena, uint64_t, n + 1);
    return *ret != NULL && take(rest, *ret, n * sizeof **ret);
}

static bool read_sample(large *l, tab_str rest, uint64_t seen, uint64_t unseen)
{
    uint64_t n = 0;
    const tab_table *const *t;
    size_t tables = 0;
    tab_error err;
    if (!read_rows(l, &rest, seen, &l->seen_row) || !read_rows(l, &rest, unseen, &l->unseen_row) ||
        !take(&rest, &n, sizeof n) || n != rest.n ||
        tab_wire_read(l->e.arena, rest, &t, &tables, &err) != TAB_OK || tables != 2 || t[0]->rows != seen ||
        t[1]->rows != unseen || t[0]->cols != l->size.cols || t[1]->cols != l->size.cols)
        return false;
    l->seen = t[0];
    l->unseen = t[1];
    return true;
}

bool large_resume_load(large *l)
{
    tab_str rest;
    char mark[sizeof MARK - 1];
    uint64_t key, sum, seen, unseen;
    if (!slurp(l, ".passes", &rest) || !take(&rest, mark, sizeof mark) || !take(&rest, &key, sizeof key) ||
        memcmp(mark, MARK, sizeof mark) != 0 || key != l->key || !take(&rest, &sum, sizeof sum))
        return false;
    bool good = sum == tab_fnv1a(TAB_FNV1A, rest.p, rest.n) && take(&rest, &l->rows, sizeof l->rows) &&
                take(&rest, &l->wide, sizeof l->wide) && take(&rest, &seen, sizeof seen) &&
                take(&rest, &unseen, sizeof unseen);
    l->sketch = tab_arena_new_of(l->e.arena, tab_sketch *, l->size.cols + 1);
    good = good && l->sketch != NULL;
    for (size_t c = 0; good && c < l->size.cols; c++)
        good = (l->sketch[c] = tab_sketch_read(&rest)) != NULL;
    if (good && read_sample(l, rest, seen, unseen))
        return true;
    for (size_t c = 0; l->sketch != NULL && c < l->size.cols; c++)
        tab_sketch_free(l->sketch[c]);
    l->sketch = NULL;
    l->rows = l->wide = 0;
    return false;
}

/* ---- the last pass ----------------------------------------------------------------------------- */

void large_done_save(large *l, const large_done *d)
{
    char text[160];
    double now = large_now();
    if (now - l->kept < EVERY_S)
        return;
    l->kept = now;
    int n = snprintf(text, sizeof text,
                     "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", l->key,
                     d->pieces, d->rows, d->wide, d->bytes[0], d->bytes[1]);
    (void)put(l, ".passes-done", (tab_str){ text, (size_t)n });
}

bool large_done_load(large *l, large_done *ret)
{
    tab_str text;
    uint64_t key;
    large_done d;
    if (!slurp(l, ".passes-done", &text) ||
        sscanf(text.p, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &key,
               &d.pieces, &d.rows, &d.wide, &d.bytes[0], &d.bytes[1]) != 6 ||
        key != l->key)
        return false;
    *ret = d;
    return true;
}

void large_resume_end(const large *l)
{
    static const char *const names[] = { ".passes", ".passes-done" };
    char path[PATH_ROOM];
    for (size_t i = 0; i < 2; i++) {
        path_of(l, names[i], path);
        unlink(path);
    }
}
