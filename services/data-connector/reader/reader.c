/* See child.h: the reader's side, a process that ends with its one answer. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/proto.h"
#include "common/table/table_wire.h"
#include "services/data-connector/reader/child.h"
#include "services/data-connector/store/blocks.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* its shadow is terabytes of addresses */
#else
enum { SANITIZED = 0 };
#endif

enum { TASK_MOST = 1 << 30, FILES = 64 };

static void limit(int what, rlim_t most)
{
    const struct rlimit r = { most, most };
    setrlimit((__rlimit_resource_t)what, &r);
}

/* Before anything is read. */
static void shut_in(void)
{
    close_range(CHILD_FILE + 1, ~0U, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, SANITIZED);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, FILES);
    if (!SANITIZED && freopen("/dev/null", "w", stderr) == NULL) /* what a library prints may hold a secret */
        _exit(EXIT_FAILURE);
}

static bool take(void *p, size_t n)
{
    for (char *at = p; n > 0;) {
        ssize_t got = read(STDIN_FILENO, at, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool give(const void *p, size_t n)
{
    for (const char *at = p; n > 0;) {
        ssize_t put = write(STDOUT_FILENO, at, n);
        if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

static Tabella__SourceTask *heard(tab_arena *a)
{
    uint8_t head[4];
    if (!take(head, sizeof head))
        return NULL;
    size_t n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    char *bytes = n > TASK_MOST ? NULL : malloc(n + 1);
    if (bytes == NULL || !tab_arena_adopt(a, bytes, n + 1) || !take(bytes, n))
        return NULL;
    return tab_proto_read(a, &tabella__source_task__descriptor, (tab_str){ bytes, n });
}

static tab_status one_table(tab_arena *a, tab_str wire, const tab_table **ret, tab_error *err)
{
    const tab_table *const *tables;
    size_t n = 0;
    TAB_TRY(tab_wire_read(a, wire, &tables, &n, err));
    *ret = n == 1 ? tables[0] : NULL;
    return n == 1 ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "rows to write that are no table");
}

/* The rows that follow the task, a piece a time. */
static tab_status more_rows(void *arg, tab_arena *a, const tab_table **ret, tab_error *err)
{
    bool *more = arg;
    uint8_t head[4];
    *ret = NULL;
    if (!*more)
        return TAB_OK;
    if (!take(head, sizeof head)) /* nobody waits any more */
        _exit(EXIT_FAILURE);
    size_t n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    *more = n > 0;
    if (n == 0)
        return TAB_OK;
    char *bytes = n > TASK_MOST ? NULL : tab_arena_alloc(a, n + 1, 8);
    if (bytes == NULL)
        return tab_no_memory(err);
    if (!take(bytes, n))
        _exit(EXIT_FAILURE);
    return one_table(a, (tab_str){ bytes, n }, ret, err);
}

static tab_status write_out(const provider *p, const source *s, const Tabella__SourceTask *t, tab_arena *a,
                            tab_error *err)
{
    bool more = t->out_more;
    output o = { .file = { (const char *)t->file.data, t->file.len },
                 .csv = t->out_csv,
                 .kinds = t->out_kinds,
                 .n_kinds = t->n_out_kinds,
                 .more = more_rows,
                 .arg = &more,
                 .once = t->once,
                 .check = t->out_check };
    o.mode = strcmp(t->out_mode, "append") == 0    ? OUT_APPEND
             : strcmp(t->out_mode, "replace") == 0 ? OUT_REPLACE
                                                   : OUT_NEW;
    if (t->table.len > 0)
        TAB_TRY(one_table(a, (tab_str){ (const char *)t->table.data, t->table.len }, &o.table, err));
    return p->write(s, a, &o, err);
}

static tab_status work(const Tabella__SourceTask *t, tab_arena *a, const tab_table **ret, tab_str *notes,
                       tab_str *read, tab_error *err)
{
    static const atomic_bool never;
    source_ref ref;
    TAB_TRY(ref_parse(a, t->out[0] != '\0' ? t->out : t->source->source, &ref, err));
    const provider *p = provider_of(ref.scheme);
    source s = { .ref = &ref,
                 .is_public = true,
                 .allow = t->allow,
                 .odbc = t->odbc,
                 .credentials = t->source->credentials,
                 .n_credentials = t->source->n_credentials,
                 .query = t->source->query,
                 .sheet = t->source->sheet,
                 .records = t->source->records,
                 .reading = t->source->reading,
                 .key = t->source->key,
                 .n_key = t->source->n_key,
                 .deadline = tab_in_ms(t->left_ms),
                 .connect_s = t->connect_s,
                 .read_mib = t->read_mib,
                 .cancel = &never,
                 .notes = notes,
                 .read = read };
    if (!p->by_name)
        TAB_TRY(tab_address_resolve(a, ref.host, ref.port, t->allow, &s.address, &s.is_public, err));
    guard_begin(t->allow, t->read_mib << 20);
    if (t->out[0] == '\0')
        return p->read(&s, a, ret, err);
    *ret = NULL;
    return write_out(p, &s, t, a, err);
}

static bool give_table(tab_arena *a, const tab_wire *w)
{
    enum { PIECE = 1 << 20 };
    char *piece = tab_arena_alloc(a, PIECE, 1);
    size_t n = tab_wire_bytes(w);
    for (size_t at = 0; at < n && piece != NULL; at += PIECE) {
        size_t m = n - at < PIECE ? n - at : PIECE;
        tab_wire_copy(w, at, m, piece);
        if (!give(piece, m))
            return false;
    }
    return piece != NULL;
}

/* The tables of a file in pieces, and their end. */
static bool give_pieces(const tab_file *f)
{
    const child_piece end = { 0 };
    for (size_t i = 0; i < f->n; i++) {
        block_range at = { 0 };
        while (block_next(f->table[i], &at)) {
            TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
            tab_str plain;
            tab_error err;
            if (a == NULL || block_plain(a, f->table[i], at, &plain, &err) != TAB_OK)
                return false;
            const child_piece p = { i, at.first_row, at.rows, at.first_col, at.cols, plain.n };
            if (!give(&p, sizeof p) || !give(plain.p, plain.n))
                return false;
        }
    }
    return give(&end, sizeof end);
}

static char **lines(tab_arena *a, tab_str text, size_t *ret_n)
{
    char **line = tab_arena_new_of(a, char *, 64);
    *ret_n = 0;
    while (line != NULL && text.n > 0 && *ret_n < 64) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end != NULL ? (size_t)(end - text.p) : text.n, used = n + (end != NULL);
        if ((line[*ret_n] = (char *)tab_arena_copy(a, (tab_str){ text.p, n }).p) == NULL)
            break;
        ++*ret_n;
        text = (tab_str){ text.p + used, text.n - used };
    }
    return line;
}

static bool is_stored(tab_str reading)
{
    static const char begins[] = "{\"format\":\"stored\"";
    return reading.n >= sizeof begins - 1 && memcmp(reading.p, begins, sizeof begins - 1) == 0;
}

static bool name_tables(tab_arena *a, const tab_file *f, Tabella__SourceAnswer *m)
{
    Tabella__FileTable *t = tab_arena_new_of(a, Tabella__FileTable, f->n);
    m->tables = tab_arena_new_of(a, Tabella__FileTable *, f->n);
    for (size_t i = 0; t != NULL && m->tables != NULL && i < f->n; i++) {
        tabella__file_table__init(&t[i]);
        t[i].id = (char *)tab_arena_copy(a, f->table[i]->id).p;
        t[i].rows = f->table[i]->rows;
        t[i].cols = f->table[i]->cols;
        t[i].stored = is_stored(f->reading[i]) && !f->table[i]->file;
        t[i].reading = (char *)tab_arena_copy(a, f->reading[i]).p;
        m->tables[m->n_tables++] = &t[i];
        if (t[i].id == NULL || t[i].reading == NULL)
            return false;
    }
    return m->tables != NULL;
}

/* t: of a source; f: of a file. */
static bool answer(tab_arena *a, tab_status s, const tab_table *t, const tab_file *f, tab_str notes,
                   tab_str read, tab_error *err)
{
    Tabella__SourceAnswer m = TABELLA__SOURCE_ANSWER__INIT;
    tab_wire *w = NULL;
    uint8_t head[4];
    if (s == TAB_OK && f != NULL && !name_tables(a, f, &m))
        s = TAB_INTERNAL;
    if (s == TAB_OK && t != NULL)
        s = tab_wire_new(a, &t, 1, &w, err);
    if (s == TAB_INTERNAL && tab_arena_full(a))
        s = tab_fail(err, TAB_VALIDATION, f != NULL ? "file" : "source", "The %s does not fit in memory.",
                     f != NULL ? "file's content" : "source's table");
    m.status = (int32_t)s;
    m.param = err->param;
    m.message = err->message;
    m.table_bytes = w == NULL || s != TAB_OK ? 0 : tab_wire_bytes(w);
    if (s == TAB_OK)
        m.notes = lines(a, notes, &m.n_notes);
    if (s == TAB_OK && (m.reading = (char *)tab_arena_copy(a, read).p) == NULL)
        m.reading = (char *)"";
    size_t n = tabella__source_answer__get_packed_size(&m);
    uint8_t *bytes = malloc(n);
    if (bytes == NULL)
        return false;
    for (int i = 0; i < 4; i++)
        head[i] = (uint8_t)(n >> (8 * i));
    tabella__source_answer__pack(&m, bytes);
    bool good = give(head, sizeof head) && give(bytes, n) && (m.table_bytes == 0 || give_table(a, w));
    if (s == TAB_OK && f != NULL)
        good = good && give_pieces(f);
    free(bytes);
    return good;
}

int child_main(void)
{
    shut_in();
    tab_arena *small = tab_arena_new((size_t)3 << 30), *a = NULL;
    Tabella__SourceTask *t = small == NULL ? NULL : heard(small);
    const tab_table *table = NULL;
    tab_file file = { 0 };
    tab_str notes = TAB_S(""), read = TAB_S("");
    tab_error err = { 0 };
    if (t == NULL || t->source == NULL)
        return EXIT_FAILURE;
    bool of_file = t->file_bytes > 0;
    if (!of_file)
        close(CHILD_FILE);
    if (!SANITIZED) /* the program itself, beside what it reads; a file is mapped, not copied */
        limit(RLIMIT_AS, ((rlim_t)(t->memory_mib + 512) << 20) + t->file_bytes);
    limit(RLIMIT_CPU, (rlim_t)(t->left_ms / 1000 + 10));
    limit(RLIMIT_FSIZE, (rlim_t)1 << 20); /* certificates in memory: nothing is written to a disk */
    a = tab_arena_new((size_t)t->memory_mib << 20);
    if (a == NULL)
        return EXIT_FAILURE;
    tab_status s = of_file ? child_file(a, t, &file, &err) : work(t, a, &table, &notes, &read, &err);
    guard_end();
    bool good = answer(a, s, table, of_file ? &file : NULL, of_file ? file.notes : notes, read, &err);
    _exit(good ? EXIT_SUCCESS : EXIT_FAILURE); /* what libraries would do at exit is not waited for */
}
