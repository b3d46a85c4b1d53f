/* See tabella.h: a part of the result as a stream of Arrow arrays (decision 0807). A batch is made when it is
 * asked for, and owns its memory; the stream holds the run's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/written/table_arrays.h"
#include "common/parts/parts.h"
#include "tools/library/library.h"

enum { STEP_ROWS = 8192 };

typedef struct {
    tabella *t;
    tab_arena *arena; /* of the part */
    tab_part p;
    tab_file *f;
    tab_arena *rows_arena;
    const tab_table *rows; /* of the part, of which `from` are in `f` */
    size_t from;
    struct ArrowArray *ready; /* batches that are not asked for yet: [given, made) */
    size_t given, made, room;
    bool over;
    tab_error err; /* of the stream: it has failed for good */
} part_stream;

static tab_status take_batch(void *to, struct ArrowArray *batch, tab_error *err)
{
    part_stream *s = to;
    if (s->made == s->room) {
        size_t room = s->room == 0 ? 4 : 2 * s->room;
        struct ArrowArray *more = realloc(s->ready, room * sizeof *more);
        if (more == NULL) {
            batch->release(batch);
            return tab_no_memory(err);
        }
        s->ready = more;
        s->room = room;
    }
    s->ready[s->made++] = *batch;
    return TAB_OK;
}

/* Some more rows into the file; at the end, its end. */
static tab_status pull(part_stream *s, tab_error *err)
{
    if (s->rows == NULL || s->from == s->rows->rows) {
        tab_arena_free(s->rows_arena);
        s->rows = NULL;
        s->from = 0;
        s->rows_arena = tab_arena_new(SIZE_MAX / 2);
        if (s->rows_arena == NULL)
            return tab_no_memory(err);
        TAB_TRY(tab_part_next(&s->p, s->rows_arena, &s->rows, err));
        s->over = s->rows == NULL;
        if (s->over)
            return tab_file_end(s->f, err);
    }
    size_t left = s->rows->rows - s->from, n = left < STEP_ROWS ? left : STEP_ROWS;
    const tab_table *some = tab_part_rows(s->rows_arena, s->rows, s->from, n);
    if (some == NULL)
        return tab_no_memory(err);
    s->from += n;
    return tab_file_rows(s->f, some, err);
}

static int failed(part_stream *s)
{
    bool memory = strcmp(s->err.message, "out of memory") == 0;
    return memory ? ENOMEM : EIO;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    part_stream *s = stream->private_data;
    out->release = NULL;
    return tab_file_schema(s->f, out, &s->err) == TAB_OK ? 0 : failed(s);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    part_stream *s = stream->private_data;
    out->release = NULL;
    if (s->err.message[0] != 0)
        return failed(s);
    if (s->given == s->made)
        s->given = s->made = 0;
    while (s->given == s->made && !s->over)
        if (pull(s, &s->err) != TAB_OK)
            return failed(s);
    if (s->given < s->made)
        *out = s->ready[s->given++];
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream)
{
    const part_stream *s = stream->private_data;
    return s->err.message[0] != 0 ? s->err.message : NULL;
}

static void free_stream(part_stream *s)
{
    for (; s->given < s->made; s->given++)
        s->ready[s->given].release(&s->ready[s->given]);
    free(s->ready);
    tab_file_free(s->f);
    tab_part_close(&s->p);
    tab_arena_free(s->rows_arena);
    tab_arena_free(s->arena);
    tabella_free(s->t);
    free(s);
}

static void release(struct ArrowArrayStream *stream)
{
    free_stream(stream->private_data);
    stream->release = NULL;
}

/* A table of the run, as it was read. */
static tab_status rows_of(void *of, tab_arena *a, size_t table, size_t from, size_t rows,
                          const tab_table **ret, tab_error *err)
{
    const tabella *t = of;
    *ret = tab_part_rows(a, t->table[table], from, rows);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status open_part(part_stream *s, const tab_part_kind *kind, const char *table, tab_error *err)
{
    tab_str name = tab_arena_copy(s->arena, tab_str_of(table));
    if (name.p == NULL)
        return tab_no_memory(err);
    s->p = (tab_part){ .arena = s->arena,
                       .b = s->t->bundle,
                       .kind = kind,
                       .source = { s->t, NULL, rows_of },
                       .table = name,
                       .shares = s->t->served };
    TAB_TRY(tab_part_open(&s->p, err));
    TAB_TRY(tab_part_types(&s->p, NULL, NULL, err));
    s->f = tab_file_arrays(s->p.column, s->p.cols, take_batch, s);
    return s->f == NULL ? tab_no_memory(err) : TAB_OK;
}

static const tab_part_kind *kind_of(const char *part)
{
    return strcmp(part, tab_part_profile.name) == 0 ? &tab_part_profile : tab_part_named(tab_str_of(part));
}

int tabella_part(tabella *t, const char *part, const char *table, struct ArrowArrayStream *ret)
{
    const tab_part_kind *kind = kind_of(part);
    tab_error err = { 0 };
    *ret = (struct ArrowArrayStream){ 0 };
    if (t->bundle == NULL)
        return library_failed(t, "", "there is no result yet; tabella_run or tabella_serve makes one");
    if (kind == NULL)
        return library_failed(t, "part",
                              "one of results, filled, unified_rows, matches, duplicates, suspects, forecast "
                              "and profile");
    if (table != NULL && strcmp(part, "filled") != 0)
        return library_failed(t, "table", "only filled has a table of its own; give none");
    part_stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        return library_no_memory(t);
    s->t = library_hold(t);
    s->arena = tab_arena_new(SIZE_MAX / 2);
    tab_status done =
        s->arena == NULL ? tab_no_memory(&err) : open_part(s, kind, table == NULL ? "" : table, &err);
    if (done == TAB_OK) {
        *ret = (struct ArrowArrayStream){ get_schema, get_next, last_error, release, s };
        return 0;
    }
    free_stream(s);
    return library_error(t, &err);
}
