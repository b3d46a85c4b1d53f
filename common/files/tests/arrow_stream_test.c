/* Tables by the Arrow C stream interface, from streams made by hand. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>

#include "common/files/arrow/arrow_stream.h"

/* One column in `batches` equal batches. */
typedef struct {
    struct ArrowSchema column, levels, table, *child;
    struct ArrowArray array, dictionary, batch, *part;
    int batches, given, released;
    bool fails;
} made;

static void schema_done(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void array_done(struct ArrowArray *x)
{
    x->release = NULL;
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    made *m = s->private_data;
    *out = m->table;
    return 0;
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    made *m = s->private_data;
    if (m->fails)
        return EIO;
    if (m->given++ == m->batches)
        out->release = NULL;
    else
        *out = m->batch;
    return 0;
}

static const char *last_error(struct ArrowArrayStream *s)
{
    (void)s;
    return "the disk is gone";
}

static void stream_done(struct ArrowArrayStream *s)
{
    made *m = s->private_data;
    m->released++;
    s->release = NULL;
}

static tab_status read_made(made *m, tab_arena *a, const tab_table **ret, tab_error *err)
{
    struct ArrowArrayStream s = { get_schema, get_next, last_error, stream_done, m };
    m->child = &m->column;
    m->part = &m->array;
    m->table.children = &m->child;
    m->batch.children = &m->part;
    m->table.n_children = m->batch.n_children = 1;
    m->table.release = schema_done;
    m->batch.release = array_done;
    if (m->table.format == NULL)
        m->table.format = "+s";
    if (m->levels.format != NULL) {
        m->column.dictionary = &m->levels;
        m->array.dictionary = &m->dictionary;
    }
    if (m->batches == 0)
        m->batches = 1;
    if (m->batch.length == 0)
        m->batch.length = m->array.length;
    return tab_arrow_stream_read(a, &s, TAB_S("t"), 4, 1000, ret, err);
}

Test(arrow_stream, batches_are_read_from_their_offsets)
{
    const double values[] = { 9, 1.5, 2.5, 3.5, 9 };
    const uint8_t valid[] = { 0x1b }; /* the third is missing */
    const void *buffers[] = { valid, values };
    made m = { .column = { .format = "g", .name = "x" },
               .array = { .length = 4, .offset = 1, .n_buffers = 2, .buffers = buffers },
               .batch = { .length = 2, .offset = 1 },
               .batches = 2 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const tab_table *t;
    tab_error err = { 0 };
    cr_assert_eq(read_made(&m, a, &t, &err), TAB_OK, "%s", err.message);
    cr_assert(t->rows == 4 && t->cols == 1 && tab_str_eq(t->col[0].name, TAB_S("x")));
    cr_expect(isnan(t->col[0].num[0]) && t->col[0].num[1] == 3.5 && isnan(t->col[0].num[2]));
    cr_expect_eq(m.released, 1);
}

Test(arrow_stream, views_and_codes_are_texts)
{
    static const char far[] = "..a text of more than twelve bytes";
    struct {
        int32_t n;
        char start[4];
        int32_t buffer, at;
    } views[2] = { { 5, "shor", 0, 0 }, { 32, "a te", 0, 2 } };
    memcpy((char *)&views[0] + 4, "short", 5);
    const int64_t sizes[] = { sizeof far - 1 };
    const int8_t codes[] = { 1, 0, 1 };
    const void *coded[] = { NULL, codes }, *texts[] = { NULL, views, far, sizes };
    made m = { .column = { .format = "c", .name = "kind" },
               .levels = { .format = "vu" },
               .array = { .length = 3, .n_buffers = 2, .buffers = coded },
               .dictionary = { .length = 2, .n_buffers = 4, .buffers = texts } };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const tab_table *t;
    tab_error err = { 0 };
    cr_assert_eq(read_made(&m, a, &t, &err), TAB_OK, "%s", err.message);
    cr_expect(tab_str_eq(tab_cell_at(&t->col[0], 0).text, TAB_S("a text of more than twelve bytes")));
    cr_expect(tab_str_eq(tab_cell_at(&t->col[0], 1).text, TAB_S("short")));
    cr_expect_eq(t->col[0].levels, 2);
}

Test(arrow_stream, what_cannot_be_read_is_said_and_released)
{
    const int64_t codes[] = { 0, 7 };
    const int32_t numbers[] = { 1, 2 };
    const void *coded[] = { NULL, codes }, *plain[] = { NULL, numbers };
    static const struct {
        const char *what, *table, *format, *levels, *said;
        int64_t length, batch;
        bool fails;
    } cases[] = {
        { "a stream that fails", NULL, "i", NULL, "the disk is gone", 2, 2, true },
        { "no table", "i", "i", NULL, "batches", 2, 2, false },
        { "a list", NULL, "+l", NULL, "+l", 2, 2, false },
        { "a code that is none", NULL, "l", "i", "dictionary code", 2, 2, false },
        { "a column shorter than its batch", NULL, "i", NULL, "schema", 2, 3, false },
        { "more cells than are allowed", NULL, "n", NULL, "cells", 2000, 2000, false },
        { "a unit that is none", NULL, "tsx:", NULL, "tsx:", 2, 2, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m = { .table = { .format = cases[i].table },
                   .column = { .format = cases[i].format, .name = "x" },
                   .levels = { .format = cases[i].levels },
                   .array = { .length = cases[i].length,
                              .n_buffers = 2,
                              .buffers = cases[i].levels != NULL ? coded : plain },
                   .dictionary = { .length = 2, .n_buffers = 2, .buffers = plain },
                   .batch = { .length = cases[i].batch },
                   .fails = cases[i].fails };
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        const tab_table *t;
        tab_error err = { 0 };
        cr_expect_eq(read_made(&m, a, &t, &err), TAB_VALIDATION, "%s", cases[i].what);
        cr_expect(strstr(err.message, cases[i].said) != NULL, "%s: %s", cases[i].what, err.message);
        cr_expect_eq(m.released, 1, "%s", cases[i].what);
    }
}

Test(arrow_stream, memory_that_is_short_is_an_error)
{
    const double values[64] = { 1 };
    const void *buffers[] = { NULL, values };
    for (size_t limit = 64; limit < 4096; limit += 64) {
        made m = { .column = { .format = "g", .name = "x" },
                   .array = { .length = 64, .n_buffers = 2, .buffers = buffers } };
        TAB_AUTO(tab_arena) *a = tab_arena_new(limit);
        const tab_table *t;
        tab_error err = { 0 };
        if (a == NULL)
            continue;
        tab_status s = read_made(&m, a, &t, &err);
        cr_expect(s == TAB_OK || s == TAB_INTERNAL, "%zu: %s", limit, err.message);
        cr_expect_eq(m.released, 1);
    }
}
