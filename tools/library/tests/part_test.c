/* Parts of a result as streams of Arrow arrays, as another program reads them: tables of files in, a run,
 * streams out, released in any order. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/arrow/arrow_stream.h"
#include "tools/library/tabella.h"

enum { ROWS = 120 };

/* A table with a key, a class, a number that follows both and has gaps, and two rows that are one. */
static tabella *ran(const char *target)
{
    char text[ROWS * 64];
    int n = snprintf(text, sizeof text, "id,kind,day,size\n");
    for (int i = 0; i < ROWS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      i % 7 == 0 ? "%d,%c,2024-01-%02d,\n" : "%d,%c,2024-01-%02d,%d\n", i, "uvw"[i % 3],
                      1 + i % 28, 10 * (i % 3));
    tabella *t = tabella_new();
    cr_assert_neq(t, NULL);
    cr_assert_eq(tabella_add_file(t, "sizes.csv", text, (size_t)n), 0, "%s", tabella_error(t));
    cr_assert_eq(tabella_option(t, "target", target), 0);
    cr_assert_eq(tabella_run(t), 0, "%s", tabella_error(t));
    return t;
}

static int64_t rows_left(struct ArrowArrayStream *s)
{
    int64_t rows = 0;
    for (;;) {
        struct ArrowArray batch;
        cr_assert_eq(s->get_next(s, &batch), 0, "%s", s->get_last_error(s));
        if (batch.release == NULL)
            return rows;
        rows += batch.length;
        batch.release(&batch);
    }
}

static size_t column_of(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t k = 0; k < schema->n_children; k++)
        if (strcmp(schema->children[k]->name, name) == 0)
            return (size_t)k;
    cr_assert(false, "no column %s", name);
    return 0;
}

Test(part, predictions_are_numbers_by_row)
{
    tabella *t = ran("size");
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    cr_assert_eq(tabella_part(t, "results", NULL, &s), 0, "%s", tabella_error(t));
    cr_assert_eq(s.get_schema(&s, &schema), 0);
    cr_assert_str_eq(schema.format, "+s");
    size_t row = column_of(&schema, "row"), value = column_of(&schema, "predicted"),
           missing = column_of(&schema, "target_missing");
    cr_assert_str_eq(schema.children[row]->format, "l");
    cr_assert_str_eq(schema.children[value]->format, "g");
    cr_assert_str_eq(schema.children[missing]->format, "b");
    cr_assert_eq(s.get_next(&s, &batch), 0);
    cr_assert_eq(batch.length, ROWS);
    cr_assert_eq(batch.n_children, schema.n_children);
    const int64_t *at = batch.children[row]->buffers[1];
    const double *x = batch.children[value]->buffers[1];
    const uint8_t *gap = batch.children[missing]->buffers[1];
    for (int i = 0; i < ROWS; i++) {
        cr_assert_eq(at[i], i);
        cr_assert_float_eq(x[i], 10 * (i % 3), 2.5, "row %d: %g", i, x[i]);
        cr_assert_eq(gap[i / 8] >> i % 8 & 1, i % 7 == 0);
    }
    batch.release(&batch);
    cr_assert_eq(rows_left(&s), 0);
    cr_assert_eq(rows_left(&s), 0); /* the end stays the end */
    schema.release(&schema);
    s.release(&s);
    tabella_free(t);
}

Test(part, a_filled_table_has_its_own_types_and_no_gap)
{
    tabella *t = ran("none");
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    cr_assert_eq(tabella_part(t, "filled", "sizes", &s), 0, "%s", tabella_error(t));
    tabella_free(t); /* the stream holds what it reads */
    cr_assert_eq(s.get_schema(&s, &schema), 0);
    cr_assert_eq(schema.n_children, 6);
    static const char *const names[] = { "id", "kind", "day", "size", "size_filled", "row_confidence" },
                             *const formats[] = { "l", "u", "tdD", "l", "b", "g" };
    for (int k = 0; k < 6; k++) {
        cr_assert_str_eq(schema.children[k]->name, names[k]);
        cr_assert_str_eq(schema.children[k]->format, formats[k], "%s is %s", names[k],
                         schema.children[k]->format);
    }
    schema.release(&schema);
    cr_assert_eq(s.get_next(&s, &batch), 0);
    s.release(&s); /* batches outlive the stream */
    cr_assert_eq(batch.children[3]->null_count, 0);
    struct ArrowArray size = *batch.children[3]; /* moved out */
    batch.children[3]->release = NULL;
    cr_assert_eq(batch.children[5]->null_count, ROWS - (ROWS + 6) / 7);
    const int32_t *end = batch.children[1]->buffers[1], *day = batch.children[2]->buffers[1];
    const char *kind = batch.children[1]->buffers[2];
    cr_assert_eq(end[ROWS], ROWS);
    cr_assert_eq(memcmp(kind, "uvwuvw", 6), 0);
    cr_assert_eq(day[1], 19724); /* 2024-01-02 */
    batch.release(&batch);
    for (int i = 0; i < ROWS; i++)
        cr_assert_eq(((const int64_t *)size.buffers[1])[i], 10 * (i % 3));
    size.release(&size);
}

Test(part, what_is_not_there_is_an_error_and_nothing_to_release)
{
    struct ArrowArrayStream s;
    tabella *t = tabella_new();
    cr_assert_eq(tabella_part(t, "results", NULL, &s), -1);
    cr_assert_eq(s.release, NULL);
    cr_assert(strstr(tabella_error(t), "tabella_run") != NULL, "%s", tabella_error(t));
    tabella_free(t);
    t = ran("none");
    static const char *const wrong[][3] = {
        { "results", NULL, "not_found" },           { "matches", NULL, "not_found" },
        { "forecast", NULL, "not_found" },          { "filled", "another", "not_found" },
        { "profile", "sizes", "validation_error" }, { "", NULL, "validation_error" },
        { "answers", NULL, "validation_error" }
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_eq(tabella_part(t, wrong[i][0], wrong[i][1], &s), -1, "%s", wrong[i][0]);
        cr_assert_eq(s.release, NULL);
        cr_assert_str_eq(tabella_error_type(t), wrong[i][2], "%s: %s", wrong[i][0], tabella_error(t));
    }
    cr_assert_eq(tabella_part(t, "profile", NULL, &s), 0); /* and the next call is answered */
    cr_assert_eq(rows_left(&s), 4);
    s.release(&s);
    tabella_free(t);
}

Test(part, streams_of_one_result_are_apart)
{
    tabella *t = ran("size");
    struct ArrowArrayStream s[4];
    struct ArrowArray batch;
    static const char *const parts[] = { "results", "filled", "profile", "results" };
    for (int i = 0; i < 4; i++)
        cr_assert_eq(tabella_part(t, parts[i], NULL, &s[i]), 0, "%s", tabella_error(t));
    cr_assert_eq(s[3].get_next(&s[3], &batch), 0); /* one that is left in the middle */
    s[3].release(&s[3]);
    s[1].release(&s[1]); /* one that nobody reads */
    cr_assert_eq(rows_left(&s[2]), 4);
    cr_assert_eq(rows_left(&s[0]), ROWS);
    s[0].release(&s[0]);
    tabella_free(t);
    s[2].release(&s[2]);
    batch.release(&batch);
}

Test(part, answers_of_a_fitted_one_outlive_it)
{
    tabella *fitted = tabella_new(), *rows = tabella_new();
    char text[ROWS * 32];
    int n = snprintf(text, sizeof text, "x,y\n");
    for (int i = 0; i < ROWS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%d,%s\n", i * 7 % 50,
                      i * 7 % 50 < 25 ? "low" : "high");
    static const char asked[] = "x\n3\n44\n";
    cr_assert_eq(tabella_add_file(fitted, "t.csv", text, (size_t)n), 0);
    cr_assert_eq(tabella_option(fitted, "target", "y"), 0);
    cr_assert_eq(tabella_fit(fitted), 0, "%s", tabella_error(fitted));
    cr_assert_eq(tabella_add_file(rows, "t.csv", asked, sizeof asked - 1), 0);
    cr_assert_eq(tabella_serve(rows, fitted), 0, "%s", tabella_error(rows));
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    cr_assert_eq(tabella_part(rows, "results", NULL, &s), 0, "%s", tabella_error(rows));
    tabella_free(fitted);
    tabella_free(rows);
    cr_assert_eq(s.get_schema(&s, &schema), 0);
    size_t label = column_of(&schema, "predicted"), high = column_of(&schema, "p(high)");
    cr_assert_eq(s.get_next(&s, &batch), 0);
    cr_assert_eq(memcmp(batch.children[label]->buffers[2], "lowhigh", 7), 0);
    const double *p = batch.children[high]->buffers[1];
    cr_assert(p[0] < 0.5 && p[1] > 0.5, "%g %g", p[0], p[1]);
    batch.release(&batch);
    schema.release(&schema);
    s.release(&s);
}
