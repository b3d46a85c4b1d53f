/* See table_arrays.h. A structure and each of its children own their memory, so that a reader may move a
 * column out and release the rest. */
#include <stdlib.h>

#include "common/files/written/table_file_parts.h"

enum { BUFFERS = 3, NULLABLE = 2 };

/* ---- schema ---------------------------------------------------------------------------------- */

static const char *const formats[] = {
    [TAB_FILE_TEXT] = "u",   [TAB_FILE_BOOL] = "b",    [TAB_FILE_INT] = "l",       [TAB_FILE_REAL] = "g",
    [TAB_FILE_DATE] = "tdD", [TAB_FILE_TIME] = "tsu:", [TAB_FILE_UTC] = "tsu:UTC",
};

static void free_schema(struct ArrowSchema *x)
{
    for (int64_t i = 0; i < x->n_children; i++) {
        struct ArrowSchema *child = x->children[i];
        if (child->release != NULL)
            child->release(child);
        free(child);
    }
    free(x->children);
    free(x->private_data); /* a column's name */
    x->release = NULL;
}

static struct ArrowSchema *schema_of(const tab_file_cells *c)
{
    struct ArrowSchema *x = calloc(1, sizeof *x);
    char *name = calloc(1, c->name.n + 1);
    if (x == NULL || name == NULL) {
        free(x);
        free(name);
        return NULL;
    }
    memcpy(name, c->name.p, c->name.n);
    *x = (struct ArrowSchema){ .format = formats[c->type],
                               .name = name,
                               .flags = NULLABLE,
                               .release = free_schema,
                               .private_data = name };
    return x;
}

tab_status tab_file_schema(const tab_file *f, struct ArrowSchema *ret, tab_error *err)
{
    *ret = (struct ArrowSchema){ .format = "+s",
                                 .name = "",
                                 .children = calloc(f->cols + 1, sizeof(struct ArrowSchema *)),
                                 .release = free_schema };
    bool good = ret->children != NULL;
    for (size_t k = 0; good && k < f->cols; k++) {
        good = (ret->children[k] = schema_of(&f->c[k])) != NULL;
        ret->n_children += good;
    }
    if (good)
        return TAB_OK;
    free_schema(ret);
    return tab_no_memory(err);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* What an array points to. */
typedef struct {
    const void *buffer[BUFFERS];
} held;

static void free_array(struct ArrowArray *x)
{
    held *own = x->private_data;
    for (int64_t i = 0; i < x->n_children; i++) {
        struct ArrowArray *child = x->children[i];
        if (child->release != NULL)
            child->release(child);
        free(child);
    }
    for (int64_t i = 0; i < x->n_buffers; i++)
        free((void *)(uintptr_t)own->buffer[i]);
    free(x->children);
    free(own);
    x->release = NULL;
}

/* A byte a row as a bit a row. NULL: out of memory. */
static void *bits(const char *byte, size_t n)
{
    uint8_t *x = calloc(n / 8 + 1, 1);
    for (size_t i = 0; x != NULL && i < n; i++)
        x[i / 8] |= (uint8_t)((byte[i] != 0) << i % 8);
    return x;
}

/* Dates have 32 bits. */
static void *days(const char *values, size_t n)
{
    int32_t *x = calloc(n + 1, sizeof *x);
    for (size_t i = 0; x != NULL && i < n; i++)
        memcpy(&x[i], values + 8 * i, sizeof *x); /* the lower half of 64 */
    return x;
}

static void *ends(const char *length, size_t n)
{
    int32_t *x = calloc(n + 1, sizeof *x);
    uint32_t one;
    for (size_t i = 0; x != NULL && i < n; i++) {
        memcpy(&one, length + 4 * i, sizeof one);
        x[i + 1] = x[i] + (int32_t)one;
    }
    return x;
}

/* The bytes as they were built, without a copy; `o` is empty then. */
static void *taken(tab_out *o)
{
    void *x = o->p != NULL ? o->p : calloc(1, 8); /* of texts that are all empty */
    *o = (tab_out){ 0 };
    return x;
}

static bool fill(struct ArrowArray *x, tab_file_cells *c, size_t rows)
{
    held *own = x->private_data;
    size_t last = c->type == TAB_FILE_TEXT ? 2 : 1;
    x->n_buffers = (int64_t)last + 1;
    if (c->nulls > 0 && (own->buffer[0] = bits(c->valid.p, rows)) == NULL)
        return false;
    if (c->type == TAB_FILE_TEXT && (own->buffer[1] = ends(c->length.p, rows)) == NULL)
        return false;
    own->buffer[last] = c->type == TAB_FILE_BOOL   ? bits(c->values.p, rows)
                        : c->type == TAB_FILE_DATE ? days(c->values.p, rows)
                                                   : taken(&c->values);
    return own->buffer[last] != NULL;
}

/* An array without buffers. */
static bool begin(struct ArrowArray *x, size_t rows)
{
    held *own = calloc(1, sizeof *own);
    if (own == NULL)
        return false;
    *x = (struct ArrowArray){
        .length = (int64_t)rows, .buffers = own->buffer, .release = free_array, .private_data = own
    };
    return true;
}

static bool add_column(struct ArrowArray *batch, tab_file_cells *c, size_t rows)
{
    struct ArrowArray *x = calloc(1, sizeof *x);
    if (x == NULL || !begin(x, rows)) {
        free(x);
        return false;
    }
    x->null_count = (int64_t)c->nulls;
    batch->children[batch->n_children++] = x;
    return fill(x, c, rows);
}

tab_status arrow_arrays_batch(tab_file *f, tab_error *err)
{
    struct ArrowArray batch;
    for (size_t k = 0; k < f->cols; k++)
        if (f->c[k].values.n > INT32_MAX)
            return tab_fail(err, TAB_INTERNAL, "", "cells too long for a batch of an Arrow stream");
    if (!begin(&batch, f->rows))
        return tab_no_memory(err);
    batch.n_buffers = 1; /* no row of the batch itself is null */
    bool good = (batch.children = calloc(f->cols + 1, sizeof(struct ArrowArray *))) != NULL;
    for (size_t k = 0; good && k < f->cols; k++)
        good = add_column(&batch, &f->c[k], f->rows);
    if (good)
        return f->take(f->to, &batch, err);
    free_array(&batch);
    return tab_no_memory(err);
}

tab_status arrow_arrays_edge(tab_file *f, tab_error *err)
{
    (void)f;
    (void)err;
    return TAB_OK;
}
