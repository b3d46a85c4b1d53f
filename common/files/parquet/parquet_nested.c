/* See parquet_nested.h.
 *
 *   tags: [["a"], [], null]     leaf: an entry for each value, and for what has none
 *                               repeat 0: a row begins; r: the list r goes on
 *                               level: how many of the optional and repeated fields are there
 *
 * One position a leaf, moved on by who reads its entry; a field looks at its first leaf. */
#include "common/files/parquet/parquet_nested.h"

#include <stdlib.h>

#include "common/json/json.h"

typedef struct {
    const parquet_column *leaf;
    const tab_column *value;
    size_t *at; /* (leaves) the next entry */
    bool bad;   /* a leaf has no more entries where another has, or a text is too large */
    uint64_t *room;
    tab_out o;
} writer;

tab_status parquet_entries_add(parquet_column *c, const uint32_t *level, const uint32_t *repeat, size_t n,
                               tab_error *err)
{
    if (c->entries + n > c->cap) {
        size_t cap = 2 * (c->entries + n) + 64;
        uint8_t *l = realloc(c->level, cap);
        c->level = l != NULL ? l : c->level;
        uint8_t *r = realloc(c->repeat, cap);
        c->repeat = r != NULL ? r : c->repeat;
        if (l == NULL || r == NULL)
            return tab_no_memory(err);
        c->cap = cap;
    }
    for (size_t i = 0; i < n; i++) {
        c->level[c->entries + i] = (uint8_t)level[i];
        c->repeat[c->entries + i] = repeat != NULL ? (uint8_t)repeat[i] : 0;
    }
    c->entries += n;
    return TAB_OK;
}

/* The level of a leaf's next entry; 0 behind the last, and where it is bad. */
static int level_of(writer *w, size_t k)
{
    const parquet_column *c = &w->leaf[k];
    w->bad |= w->at[k] >= c->entries || w->o.n > *w->room;
    return w->bad ? 0 : c->level[w->at[k]];
}

static void pass(writer *w, const parquet_field *f)
{
    for (size_t k = f->leaf; k < f->leaf + f->leaves; k++)
        w->at[k]++;
}

static void write_field(writer *w, const parquet_field *f);

static bool goes_on(const writer *w, const parquet_field *f)
{
    const parquet_column *c = &w->leaf[f->leaf];
    return !w->bad && w->at[f->leaf] < c->entries && c->repeat[w->at[f->leaf]] == f->repeats;
}

/* A key is a text: of a number its digits. One that is missing, or itself a list, has none. */
static void write_key(writer *w, const parquet_field *key)
{
    tab_out text = w->o;
    w->o = (tab_out){ 0 };
    write_field(w, key);
    tab_out made = w->o;
    w->o = text;
    if (made.n > 1 && made.p[0] == '"') { /* a JSON string: as it stands */
        tab_out_raw(&w->o, (tab_str){ made.p, made.n });
        tab_out_bytes(&w->o, ":", 1);
        w->o.comma = false;
    } else {
        tab_out_key_str(&w->o, tab_out_text(&made));
    }
    w->bad |= made.failed;
    tab_out_free(&made);
}

static void write_list(writer *w, const parquet_field *f)
{
    bool map = f->shape == PARQUET_MAP;
    tab_out_open(&w->o, map ? '{' : '[');
    if (level_of(w, f->leaf) < f->levels) {
        pass(w, f);
    } else {
        do {
            if (map)
                write_key(w, f->child);
            write_field(w, map ? f->child->next : f->child);
        } while (goes_on(w, f));
    }
    tab_out_close(&w->o, map ? '}' : ']');
}

static void write_field(writer *w, const parquet_field *f)
{
    const parquet_column *c = &w->leaf[f->leaf];
    int level = level_of(w, f->leaf);
    if (w->bad || level < f->present) {
        tab_out_null(&w->o);
        pass(w, f);
        return;
    }
    switch (f->shape) {
    case PARQUET_VALUE:
        if (level < c->levels)
            tab_out_null(&w->o);
        else
            tab_out_cell(&w->o, &w->value[f->leaf], w->at[f->leaf]);
        pass(w, f);
        break;
    case PARQUET_STRUCT:
        tab_out_open(&w->o, '{');
        for (const parquet_field *m = f->child; m != NULL; m = m->next) {
            tab_out_key_str(&w->o, m->name);
            write_field(w, m);
        }
        tab_out_close(&w->o, '}');
        break;
    default:
        write_list(w, f);
    }
}

/* Whether all leaves stand before a row, or behind the last one. */
static bool between_rows(const writer *w, const parquet_field *f, bool end)
{
    for (size_t k = f->leaf; k < f->leaf + f->leaves; k++) {
        const parquet_column *c = &w->leaf[k];
        if (end ? w->at[k] != c->entries : w->at[k] >= c->entries || c->repeat[w->at[k]] != 0)
            return false;
    }
    return true;
}

static tab_status write_rows(writer *w, const parquet_field *f, size_t rows, tab_builder *b, tab_error *err)
{
    for (size_t r = 0; r < rows; r++) {
        if (!between_rows(w, f, false))
            return tab_fail(err, TAB_VALIDATION, "", "its Parquet data cannot be read: levels of a list");
        w->o.n = 0;
        w->o.comma = false;
        bool null = level_of(w, f->leaf) < f->present;
        write_field(w, f);
        if (w->o.n > *w->room)
            return tab_fail(err, TAB_VALIDATION, "", "its lists are larger as text than is read");
        *w->room -= w->o.n;
        if (w->o.failed)
            return tab_no_memory(err);
        if (null)
            tab_builder_null(b);
        else
            tab_builder_text(b, tab_out_text(&w->o));
    }
    return !w->bad && between_rows(w, f, true)
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "", "its Parquet data cannot be read: levels of a list");
}

tab_status parquet_nested_cells(tab_arena *a, const parquet_field *f, const parquet_column *leaf,
                                const tab_column *value, size_t rows, uint64_t *room, tab_column *ret,
                                tab_error *err)
{
    writer w = { .leaf = leaf, .value = value, .room = room };
    tab_builder *b = tab_builder_new(a, f->path);
    w.at = calloc(f->leaf + f->leaves, sizeof *w.at);
    tab_status s = w.at != NULL && b != NULL ? write_rows(&w, f, rows, b, err) : tab_no_memory(err);
    free(w.at);
    tab_out_free(&w.o);
    if (s != TAB_OK)
        return s;
    return tab_builder_finish(b, ret) ? TAB_OK : tab_no_memory(err);
}
