/* See pieces.h. Bytes are taken by pread, never mapped: a file that is cut off meanwhile is an error. */
#include "common/files/pieces/pieces_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/charset.h"
#include "common/files/csv/survey.h"
#include "common/files/parquet/parquet.h"

/* HEAD: bytes in which a text's form is found. FOOTER: of Parquet, at most. PIECE: a record is shorter.
 * BACK: lines of a quoted field in which the head may end. */
enum { FILES = 100000, COLS = 1 << 16, HEAD = 1 << 20, FOOTER = 1 << 30, PIECE = 1 << 30, BACK = 100 };

/* ---- bytes ----------------------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

tab_status pieces_failed(const char *path, const char *why, tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "", "%.200s: %s", name_of(path), why);
}

/* A reader's failure, with the file's name. */
tab_status pieces_of_file(const file *f, tab_status s, tab_error *err)
{
    tab_error why = *err;
    return s == TAB_VALIDATION ? tab_fail(err, s, why.param, "%.200s: %s", name_of(f->path), why.message) : s;
}

/* n bytes at `at`; fewer are an error. */
static tab_status take(int fd, const file *f, uint64_t at, char *to, size_t n, tab_error *err)
{
    for (size_t got = 0; got < n;) {
        ssize_t k = pread(fd, to + got, n - got, (off_t)(at + got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return pieces_failed(f->path, strerror(errno), err);
        if (k == 0)
            return pieces_failed(f->path, "the file became shorter while it was read", err);
        got += (size_t)k;
    }
    return TAB_OK;
}

tab_status pieces_open_file(const file *f, int *ret, tab_error *err)
{
    *ret = open(f->path, O_RDONLY | O_CLOEXEC);
    return *ret >= 0 ? TAB_OK : pieces_failed(f->path, strerror(errno), err);
}

/* ---- records --------------------------------------------------------------------------------------- */

/* Behind the last line that ends in n bytes; a carriage return that may be half of an end is none. */
static size_t last_line(const char *p, size_t n)
{
    size_t k = n;
    while (k > 0 && p[k - 1] != '\n' && (p[k - 1] != '\r' || k == n))
        k--;
    return k;
}

/* How many of n bytes, which begin with a record, are whole records; 0: none is. Where nothing is
 * quoted a line is a record, else they are read one after the other, and the last, which may be cut off, is
 * left. False: out of memory. */
static bool whole_records(const char *p, size_t n, const tab_csv_dialect *d, size_t *ret)
{
    size_t whole = 0;
    tab_str s;
    *ret = last_line(p, n);
    if (memchr(p, d->quote, n) == NULL && (d->escape == 0 || memchr(p, d->escape, n) == NULL))
        return true;
    char *scratch = malloc(tab_csv_scratch(n));
    if (scratch == NULL)
        return false;
    tab_csv_lexer f = { .p = p, .end = p + n, .d = *d, .scratch = scratch, .line = 1 };
    while (tab_csv_record(&f, NULL)) {
        whole = (size_t)(f.p - p);
        for (bool last = false; !last && tab_csv_field(&f, &s, &last);)
            ;
        if (f.unclosed || f.too_long)
            break;
    }
    free(scratch);
    *ret = whole;
    return true;
}

/* ---- opening --------------------------------------------------------------------------------------- */

/* The place behind so many lines. */
static size_t behind_lines(const char *p, size_t n, size_t lines)
{
    const char *at = p, *end = p + n;
    for (; lines > 0 && at < end; lines--) {
        while (at < end && *at != '\n' && *at != '\r')
            at++;
        at += at + 1 < end && at[0] == '\r' && at[1] == '\n' ? 2 : at < end;
    }
    return (size_t)(at - p);
}

static bool packed(const char *p, size_t n)
{
    static const char *const magic[] = { "\x1f\x8b", "PK\x03\x04", "\x28\xb5\x2f\xfd", "BZh",
                                         "\xfd"
                                         "7zXZ" };
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (n >= strlen(magic[i]) && memcmp(p, magic[i], strlen(magic[i])) == 0)
            return true;
    return false;
}

static tab_status say_reading(tab_pieces *p, const tab_csv_notes *n, tab_error *err)
{
    tab_file_reading how = { .format = n != NULL ? "csv" : "parquet", .header_rows = -1, .confidence = -1 };
    if (n != NULL) {
        how.encoding = n->encoding;
        how.delimiter = n->dialect.delimiter;
        how.quote = n->dialect.quote;
        how.header_rows = n->header;
        how.confidence = n->told ? 1 : n->scores.best;
        tab_reading_skipped(&how, n->skipped, "above the header");
    }
    if (p->reading.p == NULL)
        p->reading = tab_reading_json(p->a, &how);
    return p->reading.p != NULL ? TAB_OK : tab_no_memory(err);
}

/* f->top, a table of no rows, of the columns of t. */
static bool names_of(tab_pieces *p, const tab_table *t, file *f)
{
    tab_column *c = tab_arena_new_of(p->a, tab_column, t->cols + 1);
    if (c == NULL)
        return false;
    for (size_t k = 0; k < t->cols; k++)
        c[k] = (tab_column){ .name = tab_arena_copy(p->a, t->col[k].name) };
    f->top = (tab_table){ .cols = t->cols, .col = c };
    return !tab_arena_full(p->a);
}

/* A header of several rows names its columns by all of them, as where the file is read whole. */
static tab_status with_upper_names(tab_arena *a, const tab_table **t, const tab_csv_notes *notes,
                                   tab_error *err)
{
    tab_layout_part part[TAB_LAYOUT_PARTS];
    size_t n = 0;
    if (notes->seen.uppers == 0)
        return TAB_OK;
    TAB_TRY(tab_layout_parts(a, *t, &notes->seen, part, &n, err));
    if (n == 1 && part[0].table->cols == (*t)->cols)
        *t = part[0].table;
    return TAB_OK;
}

static tab_status open_csv(tab_pieces *p, file *f, const char *head, size_t n, tab_error *err)
{
    const tab_table *t;
    tab_csv_notes notes;
    if (packed(head, n))
        return pieces_failed(f->path, "it is compressed and larger than --memory allows; decompress it first",
                             err);
    if (n > 1 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0))
        return pieces_failed(f->path, "it is UTF-16 and larger than --memory allows; convert it to UTF-8",
                             err);
    bool all = n == f->size;
    if (!all && (n = last_line(head, n)) == 0)
        return pieces_failed(f->path, "its first line is longer than 1 MiB", err);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    if (a == NULL)
        return tab_no_memory(err);
    tab_status s = tab_csv_read_as(a, (tab_str){ head, n }, TAB_S(""), p->asked, &t, &notes, err);
    /* the head may end within a quoted field: some lines earlier it does not */
    for (size_t k = 0; k < BACK && !all && s == TAB_VALIDATION && err->param[0] == 0 && n > 1; k++)
        if ((n = last_line(head, n - 1)) > 0)
            s = tab_csv_read_as(a, (tab_str){ head, n }, TAB_S(""), p->asked, &t, &notes, err);
    TAB_TRY(pieces_of_file(f, s, err));
    if (notes.drawn && !all)
        return pieces_failed(f->path, "its table is drawn and larger than --memory allows; convert it to CSV",
                             err);
    f->dialect = notes.dialect;
    f->encoding = p->asked->encoding != NULL             ? p->asked->encoding
                  : strcmp(notes.encoding, "utf-8") != 0 ? notes.encoding
                                                         : NULL;
    f->begin = behind_lines(head, n, notes.above);
    size_t body = n - (size_t)f->begin;
    f->rows = body == 0 ? 0 : (double)t->rows * ((double)(f->size - f->begin) / (double)body);
    f->piece_rows = body == 0 ? 0 : (size_t)((double)t->rows * (double)p->size / (double)body) + 1;
    if (p->asked->encoding == NULL && f->encoding == NULL)
        f->other = tab_charset_of((tab_str){ head, n });
    TAB_TRY(say_reading(p, &notes, err));
    TAB_TRY(with_upper_names(a, &t, &notes, err));
    return names_of(p, t, f) ? TAB_OK : tab_no_memory(err);
}

static tab_status open_parquet(tab_pieces *p, file *f, int fd, tab_error *err)
{
    char tail[TAB_PARQUET_TAIL];
    size_t n = 0;
    const tab_table *t;
    if (f->size < sizeof tail)
        return pieces_failed(f->path, "it is truncated", err);
    TAB_TRY(take(fd, f, f->size - sizeof tail, tail, sizeof tail, err));
    TAB_TRY(pieces_of_file(f, tab_parquet_footer(tail, f->size, &n, err), err));
    char *footer = n <= FOOTER ? tab_arena_new_of(p->a, char, n + 1) : NULL;
    if (footer == NULL)
        return tab_no_memory(err);
    TAB_TRY(take(fd, f, f->size - sizeof tail - n, footer, n, err));
    f->footer = (tab_str){ footer, n };
    TAB_TRY(pieces_of_file(
        f, tab_parquet_groups(p->a, f->footer, f->size, TAB_S(""), COLS, &t, &f->group, &f->groups, err),
        err));
    for (size_t i = 0; i < f->groups; i++) {
        f->rows += (double)f->group[i].rows;
        f->piece_rows = f->group[i].rows > f->piece_rows ? f->group[i].rows : f->piece_rows;
    }
    TAB_TRY(say_reading(p, NULL, err));
    return names_of(p, t, f) ? TAB_OK : tab_no_memory(err);
}

/* Which column of f each of the first file's is: by names where they are unique, else by their order. */
static tab_status match_columns(tab_pieces *p, file *f, tab_error *err)
{
    const tab_table *first = &p->file[0].top, *t = &f->top;
    f->from = NULL;
    if (t->cols != first->cols)
        return pieces_failed(f->path, "it has other columns than the first file of the folder", err);
    bool same = true;
    for (size_t c = 0; c < t->cols; c++)
        same = same && tab_str_eq(t->col[c].name, first->col[c].name);
    if (same)
        return TAB_OK;
    if ((f->from = tab_arena_new_of(p->a, size_t, t->cols)) == NULL)
        return tab_no_memory(err);
    for (size_t c = 0; c < t->cols; c++) {
        size_t found = 0;
        for (size_t k = 0; k < t->cols; k++)
            if (tab_str_eq(t->col[k].name, first->col[c].name)) {
                f->from[c] = k;
                found++;
            }
        if (found != 1)
            return pieces_failed(f->path, "it has other columns than the first file of the folder", err);
    }
    return TAB_OK;
}

/* The columns of f become `cols`, of which those behind its own have no name. */
tab_status pieces_widen(tab_pieces *p, file *f, size_t cols, tab_error *err)
{
    tab_column *c = tab_arena_new_of(p->a, tab_column, cols + 1);
    bool *text = tab_arena_new_of(p->a, bool, cols + 1);
    if (c == NULL || text == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < cols; k++) {
        c[k] = k < f->top.cols ? f->top.col[k] : (tab_column){ .name = TAB_S("") };
        text[k] = f->text != NULL && k < f->top.cols && f->text[k];
    }
    f->text = f->text != NULL ? text : NULL;
    f->top.col = c;
    f->top.cols = cols;
    return TAB_OK;
}

/* A file whose last columns have no name may hold nothing in them where another one does. */
static bool is_named(const file *f)
{
    bool named = false;
    for (size_t k = 0; k < f->top.cols; k++)
        named = named || f->top.col[k].name.n > 0;
    return named;
}

tab_status pieces_even_out(tab_pieces *p, tab_error *err)
{
    size_t most = 0;
    for (size_t i = 0; i < p->files; i++)
        most = p->file[i].top.cols > most ? p->file[i].top.cols : most;
    for (size_t i = 0; i < p->files; i++)
        if (p->file[i].top.cols < most && !p->file[i].parquet && is_named(&p->file[i]))
            TAB_TRY(pieces_widen(p, &p->file[i], most, err));
    for (size_t i = 0; i < p->files; i++)
        TAB_TRY(match_columns(p, &p->file[i], err));
    return TAB_OK;
}

static tab_status look(tab_pieces *p, file *f, tab_error *err)
{
    struct stat st;
    int fd = -1;
    TAB_TRY(pieces_open_file(f, &fd, err));
    tab_status s = TAB_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        s = pieces_failed(f->path, "it is not a file that can be read twice", err);
    f->size = s == TAB_OK ? (uint64_t)st.st_size : 0;
    size_t n = f->size < HEAD ? (size_t)f->size : HEAD;
    char *head = malloc(n + 1);
    if (head == NULL)
        s = tab_no_memory(err);
    if (s == TAB_OK)
        s = take(fd, f, 0, head, n, err);
    f->parquet = s == TAB_OK && tab_parquet_is((tab_str){ head, n });
    if (s == TAB_OK)
        s = f->parquet ? open_parquet(p, f, fd, err) : open_csv(p, f, head, n, err);
    p->bytes += f->size;
    free(head);
    close(fd);
    return s;
}

static bool is_table(const char *name)
{
    static const char *const ends[] = { ".csv", ".tsv", ".txt", ".parquet" };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (name[0] != '.' && name[0] != '_' && n > strlen(ends[i]) &&
            strcasecmp(name + n - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const file *)x)->path, ((const file *)y)->path);
}

static tab_status add_file(tab_pieces *p, size_t *cap, const char *folder, const char *name, tab_error *err)
{
    if (p->files == FILES)
        return pieces_failed(folder, "it holds more than 100000 files", err);
    if (p->files == *cap) {
        size_t more = *cap * 2 + 16;
        file *f = tab_arena_new_of(p->a, file, more);
        if (f == NULL)
            return tab_no_memory(err);
        if (p->files > 0)
            memcpy(f, p->file, p->files * sizeof *f);
        p->file = f;
        *cap = more;
    }
    file *f = &p->file[p->files++];
    f->path = tab_arena_printf(p->a, "%s%s%s", folder, name != NULL ? "/" : "", name != NULL ? name : "");
    return f->path != NULL ? TAB_OK : tab_no_memory(err);
}

static tab_status list(tab_pieces *p, const char *path, tab_error *err)
{
    size_t cap = 0;
    struct stat st;
    if (stat(path, &st) != 0)
        return pieces_failed(path, strerror(errno), err);
    if (!S_ISDIR(st.st_mode))
        return add_file(p, &cap, path, NULL, err);
    DIR *d = opendir(path);
    if (d == NULL)
        return pieces_failed(path, strerror(errno), err);
    tab_status s = TAB_OK;
    for (struct dirent *e; s == TAB_OK && (e = readdir(d)) != NULL;)
        if (is_table(e->d_name))
            s = add_file(p, &cap, path, e->d_name, err);
    closedir(d);
    TAB_TRY(s);
    if (p->files == 0)
        return pieces_failed(path, "the folder holds no file that ends in .csv, .tsv, .txt or .parquet", err);
    qsort(p->file, p->files, sizeof *p->file, by_name);
    return TAB_OK;
}

/* "data/orders.csv" and "data/orders/" -> "orders"; dots inside become _. */
static tab_str id_of(tab_arena *a, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/')
        from--;
    size_t end = n;
    for (size_t i = n; i > from + 1; i--)
        if (path[i - 1] == '.') {
            end = i - 1;
            break;
        }
    char *text = tab_arena_printf(a, "%.*s", (int)(end - from < 96 ? end - from : 96), path + from);
    for (char *c = text; c != NULL && *c != 0; c++)
        *c = *c == '.' ? '_' : *c;
    return tab_str_of(text);
}

static tab_status begin(tab_pieces *p, const char *path, tab_error *err)
{
    TAB_TRY(list(p, path, err));
    for (size_t i = 0; i < p->files; i++)
        TAB_TRY(look(p, &p->file[i], err));
    TAB_TRY(pieces_even_out(p, err));
    p->file[0].top.id = id_of(p->a, path);
    return tab_arena_full(p->a) ? tab_no_memory(err) : TAB_OK;
}

tab_status tab_pieces_open(const char *path, const tab_reading_asked *asked, size_t size, tab_pieces **ret,
                           tab_error *err)
{
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    tab_pieces *p = a != NULL ? tab_arena_new_of(a, tab_pieces, 1) : NULL;
    if (p == NULL) {
        tab_arena_free(a);
        return tab_no_memory(err);
    }
    *p = (tab_pieces){ .a = a, .asked = asked, .size = size, .fd = -1 };
    tab_status s = begin(p, path, err);
    if (s != TAB_OK)
        tab_pieces_free(p);
    else
        *ret = p;
    return s;
}

void tab_pieces_free(tab_pieces *p)
{
    if (p == NULL)
        return;
    tab_pieces_rewind(p);
    tab_arena_free(p->a);
}

tab_pieces_size tab_pieces_measure(const tab_pieces *p)
{
    tab_pieces_size s = { .bytes = p->bytes, .files = p->files, .cols = p->file[0].top.cols };
    for (size_t i = 0; i < p->files; i++) {
        s.rows += p->file[i].rows;
        s.parquet |= p->file[i].parquet;
        s.piece_rows = p->file[i].piece_rows > s.piece_rows ? p->file[i].piece_rows : s.piece_rows;
    }
    return s;
}

const tab_table *tab_pieces_top(const tab_pieces *p)
{
    return &p->file[0].top;
}

tab_str tab_pieces_reading(const tab_pieces *p)
{
    return p->reading;
}

/* ---- pieces ---------------------------------------------------------------------------------------- */

void tab_piece_free(tab_piece *x)
{
    free(x->bytes);
    x->bytes = NULL;
}

/* From p->at on: whole records, as many as there is room for; a record that is longer is given more. */
tab_status pieces_next_records(tab_pieces *p, const file *f, tab_piece *ret, tab_error *err)
{
    for (size_t room = p->size;; room *= 2) {
        uint64_t left = f->size - p->at;
        size_t n = left < room ? (size_t)left : room, whole = n;
        char *bytes = malloc(n + 1);
        if (bytes == NULL)
            return tab_no_memory(err);
        tab_status s = take(p->fd, f, p->at, bytes, n, err);
        if (s == TAB_OK && n < left && !whole_records(bytes, n, &f->dialect, &whole))
            s = tab_no_memory(err);
        if (s != TAB_OK || whole > 0) {
            ret->bytes = bytes;
            ret->n = whole;
            bytes[whole] = 0;
            p->at += whole;
            return s;
        }
        free(bytes);
        if (room > PIECE / 2)
            return pieces_failed(f->path, "a record is longer than 1 GiB; check for a missing closing quote",
                                 err);
    }
}

static tab_status next_group(tab_pieces *p, const file *f, tab_piece *ret, tab_error *err)
{
    const tab_parquet_group *g = &f->group[p->at_group];
    ret->group = p->at_group++;
    ret->n = (size_t)g->bytes;
    ret->bytes = malloc(ret->n + 1);
    if (ret->bytes == NULL)
        return tab_no_memory(err);
    ret->bytes[ret->n] = 0;
    p->at = p->at_group == f->groups ? f->size : g->at + g->bytes;
    return take(p->fd, f, g->at, ret->bytes, ret->n, err);
}

tab_status tab_pieces_next(tab_pieces *p, tab_piece *ret, uint64_t *ret_done, tab_error *err)
{
    tab_status s = TAB_OK;
    *ret = (tab_piece){ 0 };
    for (; s == TAB_OK && p->at_file < p->files; p->at_file++) {
        const file *f = &p->file[p->at_file];
        if (p->fd < 0) {
            TAB_TRY(pieces_open_file(f, &p->fd, err));
            p->at = f->begin;
            p->at_group = 0;
        }
        if (f->parquet ? p->at_group < f->groups : p->at < f->size) {
            ret->file = p->at_file;
            s = f->parquet ? next_group(p, f, ret, err) : pieces_next_records(p, f, ret, err);
            break;
        }
        p->before += f->size;
        close(p->fd);
        p->fd = -1;
    }
    if (s != TAB_OK)
        tab_piece_free(ret);
    *ret_done = p->at_file < p->files ? p->before + p->at : p->bytes;
    return s;
}

void tab_pieces_rewind(tab_pieces *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    p->at_file = p->at_group = 0;
    p->at = p->before = 0;
}

tab_status tab_piece_read(const tab_pieces *p, const tab_piece *x, tab_arena *a, const tab_table **ret,
                          size_t *ret_wide, tab_error *err)
{
    const file *f = &p->file[x->file];
    const tab_str bytes = { x->bytes, x->n };
    const tab_table *t = NULL, *first = &p->file[0].top;
    *ret_wide = 0;
    if (f->parquet) {
        const tab_parquet_group *g = &f->group[x->group];
        TAB_TRY(pieces_of_file(f,
                               tab_parquet_group_read(a, f->footer, x->group, g, bytes, first->id, COLS,
                                                      UINT32_MAX, (uint64_t)1 << 36, &t, err),
                               err));
    } else {
        tab_str *name = tab_arena_new_of(a, tab_str, f->top.cols + 1);
        const tab_csv_cols cols = { name, f->text, f->top.cols };
        tab_csv_notes notes;
        if (name == NULL)
            return tab_no_memory(err);
        for (size_t c = 0; c < f->top.cols; c++)
            name[c] = f->top.col[c].name;
        TAB_TRY(pieces_of_file(
            f, tab_csv_rows_read(a, bytes, &f->dialect, f->encoding, &cols, first->id, &t, &notes, err),
            err));
        *ret_wide = notes.widened;
    }
    tab_table *own = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    if (own == NULL || col == NULL)
        return tab_no_memory(err);
    *own = (tab_table){ .id = first->id, .rows = t->rows, .cols = t->cols, .col = col };
    for (size_t c = 0; c < t->cols; c++)
        col[c] = t->col[f->from != NULL ? f->from[c] : c];
    for (size_t c = 0; c < t->cols; c++)
        col[c].name = first->col[c].name;
    *ret = own;
    return TAB_OK;
}
