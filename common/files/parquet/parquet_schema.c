/* See parquet_schema.h. The tree is written depth first; each group tells how many children follow it. */
#include "common/files/parquet/parquet_schema.h"

#include "common/json/json.h"

enum { FLAT_DEPTH = 8, NAME_MOST = 1024, NONE = -1, DIGITS_MOST = 38 };
enum { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 }; /* FieldRepetitionType */

/* ConvertedType, which older writers use alone. */
enum {
    UTF8 = 0,
    MAP = 1,
    MAP_KEY_VALUE = 2,
    LIST = 3,
    ENUM = 4,
    DECIMAL = 5,
    DATE = 6,
    TIME_MS = 7,
    TIME_US = 8,
    STAMP_MS = 9,
    STAMP_US = 10,
    UINT_8 = 11,
    UINT_64 = 14,
    INT_8 = 15,
    INT_64 = 18,
    JSON = 19,
    BSON = 20,
    INTERVAL = 21
};

/* The fields of the union LogicalType. */
enum {
    L_STRING = 1,
    L_MAP = 2,
    L_LIST = 3,
    L_ENUM = 4,
    L_DECIMAL = 5,
    L_DATE = 6,
    L_TIME = 7,
    L_STAMP = 8,
    L_INTEGER = 10,
    L_UNKNOWN = 11,
    L_JSON = 12,
    L_UUID = 14,
    L_FLOAT16 = 15
};

typedef struct {
    int64_t physical, width, repetition, children, converted, scale, precision;
    tab_str name;
    int logical; /* NONE: no LogicalType */
    int64_t unit, bits;
    bool utc, is_signed;
} element;

typedef struct {
    tab_arena *a;
    tab_thrift *t;
    parquet_schema s;
    size_t most, elements;
    tab_error *err;
} reader;

/* What is known where a field is read: of all that is around it. */
typedef struct {
    tab_str path;
    int depth, levels, repeats;
} around;

static tab_status damaged(tab_error *err, const char *what)
{
    return tab_fail(err, TAB_VALIDATION, "", "its Parquet data cannot be read: %s", what);
}

static tab_status not_read(reader *r, tab_str name, const char *what)
{
    return tab_fail(
        r->err, TAB_VALIDATION, "",
        "column `%.*s` has the Parquet type %s, which a cell cannot hold; drop the column or cast it to a "
        "string",
        (int)(name.n < 64 ? name.n : 64), name.p, what);
}

/* ---- one element --------------------------------------------------------------------------------- */

/* TimeUnit is a union of empty structs: its field says all. */
static int64_t read_unit(tab_thrift *t, int type)
{
    tab_thrift_field f = { 0 };
    int64_t unit = NONE;
    if (!tab_thrift_is_struct(t, type))
        return NONE;
    while (tab_thrift_next(t, &f)) {
        unit = f.id;
        tab_thrift_skip(t, f.type, false, 0);
    }
    return unit;
}

static void read_parameters(tab_thrift *t, int type, element *e)
{
    tab_thrift_field f = { 0 };
    bool time = e->logical == L_TIME || e->logical == L_STAMP;
    if (!tab_thrift_is_struct(t, type))
        return;
    while (tab_thrift_next(t, &f)) {
        if (e->logical == L_DECIMAL && f.id == 1)
            e->scale = tab_thrift_int(t, f.type);
        else if (e->logical == L_DECIMAL && f.id == 2)
            e->precision = tab_thrift_int(t, f.type);
        else if (time && f.id == 1)
            e->utc = tab_thrift_bool(t, f.type);
        else if (time && f.id == 2)
            e->unit = read_unit(t, f.type);
        else if (e->logical == L_INTEGER && f.id == 1)
            e->bits = tab_thrift_int(t, f.type);
        else if (e->logical == L_INTEGER && f.id == 2)
            e->is_signed = tab_thrift_bool(t, f.type);
        else
            tab_thrift_skip(t, f.type, false, 0);
    }
}

static void read_logical(tab_thrift *t, int type, element *e)
{
    tab_thrift_field f = { 0 };
    if (!tab_thrift_is_struct(t, type))
        return;
    while (tab_thrift_next(t, &f)) {
        e->logical = f.id;
        read_parameters(t, f.type, e);
    }
}

static bool read_element(tab_thrift *t, element *e)
{
    tab_thrift_field f = { 0 };
    *e = (element){ .physical = NONE,
                    .repetition = REQUIRED,
                    .converted = NONE,
                    .logical = NONE,
                    .unit = NONE,
                    .is_signed = true };
    int64_t *const number[] = {
        [1] = &e->physical,  [2] = &e->width, [3] = &e->repetition, [5] = &e->children,
        [6] = &e->converted, [7] = &e->scale, [8] = &e->precision
    };
    while (tab_thrift_next(t, &f)) {
        if (f.id == 4)
            e->name = tab_thrift_text(t, f.type);
        else if (f.id == 10)
            read_logical(t, f.type, e);
        else if ((size_t)f.id < sizeof number / sizeof *number && number[f.id] != NULL)
            *number[f.id] = tab_thrift_int(t, f.type);
        else
            tab_thrift_skip(t, f.type, false, 0);
    }
    return !t->bad && e->name.n <= NAME_MOST && tab_utf8_valid(e->name) && e->children >= 0 &&
           e->children <= INT32_MAX && e->repetition >= REQUIRED && e->repetition <= REPEATED;
}

/* What the older annotation means in the words of the newer one. */
static void from_converted(element *e)
{
    if (e->logical != NONE)
        return;
    switch (e->converted) {
    case UTF8:
        e->logical = L_STRING;
        break;
    case MAP:
    case MAP_KEY_VALUE: /* some writers' word for the map itself */
        e->logical = L_MAP;
        break;
    case LIST:
        e->logical = L_LIST;
        break;
    case ENUM:
        e->logical = L_ENUM;
        break;
    case DECIMAL:
        e->logical = L_DECIMAL;
        break;
    case DATE:
        e->logical = L_DATE;
        break;
    case TIME_MS:
    case TIME_US:
        e->logical = L_TIME;
        e->unit = e->converted == TIME_MS ? 1 : 2;
        break;
    case STAMP_MS:
    case STAMP_US:
        e->logical = L_STAMP;
        e->unit = e->converted == STAMP_MS ? 1 : 2;
        e->utc = true; /* as the format says */
        break;
    case JSON:
        e->logical = L_JSON;
        break;
    default:
        if (e->converted >= UINT_8 && e->converted <= INT_64) {
            e->logical = L_INTEGER;
            e->is_signed = e->converted >= INT_8;
        }
    }
}

/* ---- types --------------------------------------------------------------------------------------- */

static tab_status decimal_type(reader *r, const element *e, tab_str name, parquet_type *ret)
{
    bool whole = ret->physical == PARQUET_INT32 || ret->physical == PARQUET_INT64;
    if (!whole && ret->physical != PARQUET_BYTES && ret->physical != PARQUET_FIXED)
        return damaged(r->err, "a decimal of no number");
    if (e->precision > DIGITS_MOST)
        return not_read(r, name, "decimal of more than 38 digits");
    if (e->scale < 0 || e->scale > DIGITS_MOST)
        return damaged(r->err, "a decimal's scale");
    ret->cell = (arrow_type){ .kind = ARROW_DECIMAL,
                              .bits = whole ? (int)ret->width * 8 : 128,
                              .scale = (int)e->scale };
    return TAB_OK;
}

static tab_status time_type(reader *r, const element *e, parquet_type *ret)
{
    bool ms = ret->physical == PARQUET_INT32;
    if (e->unit < 1 || e->unit > 3 || (!ms && ret->physical != PARQUET_INT64) ||
        (ms && (e->logical == L_STAMP || e->unit != 1)))
        return damaged(r->err, "a time of no unit");
    ret->cell = (arrow_type){ .kind = e->logical == L_TIME ? ARROW_TIME : ARROW_TIMESTAMP,
                              .bits = ms ? 32 : 64,
                              .unit = (int)e->unit,
                              .zone = e->logical == L_STAMP && e->utc };
    return TAB_OK;
}

static tab_status bytes_type(reader *r, const element *e, tab_str name, parquet_type *ret)
{
    ret->cell.kind = ARROW_UTF8;
    if (ret->physical == PARQUET_FIXED) {
        ret->uuid = e->logical == L_UUID && ret->width == 16;
        if (e->logical == L_FLOAT16 && ret->width == 2)
            ret->cell = (arrow_type){ .kind = ARROW_FLOAT, .bits = 16 };
        else if (!ret->uuid)
            return not_read(r, name, e->converted == INTERVAL ? "interval" : "fixed_len_byte_array");
        return TAB_OK;
    }
    if (e->converted == BSON)
        return not_read(r, name, "BSON");
    bool text = e->logical == NONE || e->logical == L_STRING || e->logical == L_ENUM ||
                e->logical == L_JSON || e->logical == L_UNKNOWN;
    return text ? TAB_OK : not_read(r, name, "of bytes");
}

static tab_status type_of(reader *r, element *e, tab_str name, parquet_type *ret)
{
    static const size_t widths[] = { [PARQUET_INT32] = 4, [PARQUET_INT64] = 8,  [PARQUET_INT96] = 12,
                                     [PARQUET_FLOAT] = 4, [PARQUET_DOUBLE] = 8, [PARQUET_FIXED] = 0 };
    from_converted(e);
    if (e->physical < PARQUET_BOOLEAN || e->physical > PARQUET_FIXED)
        return damaged(r->err, "a column has no type");
    *ret = (parquet_type){ .physical = (parquet_physical)e->physical, .width = widths[e->physical] };
    if (ret->physical == PARQUET_FIXED) {
        if (e->width <= 0 || e->width > INT16_MAX)
            return damaged(r->err, "a column of no width");
        ret->width = (size_t)e->width;
    }
    if (e->logical == L_DECIMAL)
        return decimal_type(r, e, name, ret);
    switch (ret->physical) {
    case PARQUET_BOOLEAN:
        ret->cell = (arrow_type){ .kind = ARROW_BOOL };
        return TAB_OK;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE:
        ret->cell = (arrow_type){ .kind = ARROW_FLOAT, .bits = (int)ret->width * 8 };
        return TAB_OK;
    case PARQUET_INT96:
        ret->cell = (arrow_type){ .kind = ARROW_TIMESTAMP, .bits = 64, .unit = 2 };
        return TAB_OK;
    case PARQUET_BYTES:
    case PARQUET_FIXED:
        return bytes_type(r, e, name, ret);
    default:
        break;
    }
    ret->cell = (arrow_type){ .kind = ARROW_INT, .bits = (int)ret->width * 8, .is_signed = e->is_signed };
    if (e->logical == L_TIME || e->logical == L_STAMP)
        return time_type(r, e, ret);
    if (e->logical == L_DATE && ret->physical == PARQUET_INT32)
        ret->cell = (arrow_type){ .kind = ARROW_DATE, .bits = 32 };
    return TAB_OK;
}

/* ---- the tree ------------------------------------------------------------------------------------ */

static tab_status too_many(reader *r)
{
    return tab_fail(r->err, TAB_VALIDATION, "", "it has more than %zu columns", r->most);
}

static tab_status add_leaf(reader *r, element *e, const parquet_field *f)
{
    if (r->s.leaves == r->most)
        return too_many(r);
    parquet_column *c = &r->s.leaf[r->s.leaves];
    *c = (parquet_column){ .name = f->path, .levels = f->levels, .repeats = f->repeats };
    TAB_TRY(type_of(r, e, f->path, &c->type));
    c->column = (arrow_column){ .type = c->type.cell, .b = tab_builder_new(r->a, f->path) };
    r->s.leaves++;
    return c->column.b != NULL ? TAB_OK : tab_no_memory(r->err);
}

/* A repeated field, and not a group that is annotated as a list: as_list. */
static bool is_bare(const parquet_field *f)
{
    return f->shape == PARQUET_LIST && f->child->path.p == f->path.p;
}

/* What the repeated field of a list is: the element itself, or a group around it. The format's rules for
 * lists of older writers. */
static bool is_element(const parquet_field *list, const parquet_field *repeated)
{
    static const char tuple[] = "_tuple";
    size_t n = list->name.n, k = sizeof tuple - 1;
    return repeated->child->next != NULL || is_bare(repeated->child) ||
           tab_str_eq(repeated->name, TAB_S("array")) ||
           (repeated->name.n == n + k && memcmp(repeated->name.p, list->name.p, n) == 0 &&
            memcmp(repeated->name.p + n, tuple, k) == 0);
}

/* A group that is annotated as a list or a map, around one repeated field: they are one field. */
static bool fold(parquet_field *f, int logical)
{
    parquet_field *list = f->child, *inner = list->child;
    if (list->next != NULL || !is_bare(list))
        return false;
    f->levels = list->levels;
    f->repeats = list->repeats;
    f->shape = PARQUET_LIST;
    f->child = inner;
    if (inner->shape != PARQUET_STRUCT)
        return true;
    if (logical == L_MAP) {
        if (inner->child->next != NULL && inner->child->next->next == NULL) {
            f->shape = PARQUET_MAP;
            f->child = inner->child;
        } else if (inner->child->next == NULL) { /* a set: keys alone */
            f->child = inner->child;
        }
    } else if (!is_element(f, inner)) {
        f->child = inner->child;
    }
    return true;
}

static tab_status read_field(reader *r, around at, parquet_field **ret);

static tab_status read_children(reader *r, const element *e, around at, parquet_field *f)
{
    parquet_field **last = &f->child;
    at = (around){ f->path, at.depth + 1, f->levels, f->repeats };
    for (int64_t i = 0; i < e->children; i++) {
        TAB_TRY(read_field(r, at, last));
        last = &(*last)->next;
    }
    return TAB_OK;
}

/* A repeated field is a list without a name of its own, of itself. */
static tab_status as_list(reader *r, parquet_field **f)
{
    parquet_field *list = tab_arena_new_of(r->a, parquet_field, 1);
    if (list == NULL)
        return tab_no_memory(r->err);
    *list = **f;
    list->shape = PARQUET_LIST;
    list->child = *f;
    list->next = NULL;
    *f = list;
    return TAB_OK;
}

static tab_status read_field(reader *r, around at, parquet_field **ret)
{
    element e;
    parquet_field *f = *ret = tab_arena_new_of(r->a, parquet_field, 1);
    if (r->elements-- == 0 || !read_element(r->t, &e)) {
        r->elements = 0;
        return damaged(r->err, "its schema");
    }
    if (f == NULL)
        return tab_no_memory(r->err);
    f->name = f->path = tab_arena_copy(r->a, e.name);
    if (at.path.n > 0) {
        char *path = tab_arena_printf(r->a, "%.*s.%.*s", TAB_STR(at.path), TAB_STR(e.name));
        f->path = path != NULL ? tab_str_of(path) : f->name;
    }
    if (at.depth == PARQUET_DEPTH)
        return not_read(r, f->path, "struct, more than thirty-two deep");
    f->levels = at.levels + (e.repetition != REQUIRED);
    f->repeats = at.repeats + (e.repetition == REPEATED);
    f->present = at.levels + (e.repetition == OPTIONAL);
    f->leaf = r->s.leaves;
    if (e.children == 0) {
        TAB_TRY(add_leaf(r, &e, f));
    } else {
        f->shape = PARQUET_STRUCT;
        TAB_TRY(read_children(r, &e, at, f));
    }
    f->leaves = r->s.leaves - f->leaf;
    if (e.repetition == REPEATED)
        TAB_TRY(as_list(r, ret));
    from_converted(&e);
    if (e.children > 0 && (e.logical == L_LIST || e.logical == L_MAP))
        (void)fold(f, e.logical); /* one that is not as it must be is a struct of lists */
    return TAB_OK;
}

/* Structs are taken apart, as far as names remain names. */
static void flatten(parquet_schema *s, const parquet_field *f, int depth)
{
    if (f->shape != PARQUET_STRUCT || depth > FLAT_DEPTH) {
        s->column[s->cols++] = f;
        return;
    }
    for (const parquet_field *c = f->child; c != NULL; c = c->next)
        flatten(s, c, depth + 1);
}

tab_status parquet_schema_read(tab_arena *a, tab_thrift *t, int type, size_t most, parquet_schema *ret,
                               tab_error *err)
{
    int element_type;
    element root;
    reader r = { .a = a, .t = t, .most = most, .err = err };
    r.elements = tab_thrift_list(t, type, &element_type);
    if (t->bad || r.elements == 0 || element_type != THRIFT_STRUCT || !read_element(t, &root))
        return damaged(err, "its schema");
    r.elements--;
    size_t room = r.elements < most ? r.elements + 1 : most + 1;
    r.s.leaf = tab_arena_new_of(a, parquet_column, room);
    r.s.column = tab_arena_new_of(a, const parquet_field *, room);
    if (r.s.leaf == NULL || r.s.column == NULL)
        return tab_no_memory(err);
    parquet_field all = { .path = TAB_S("") };
    tab_status s = read_children(&r, &root, (around){ .depth = 0 }, &all);
    if (s == TAB_OK && r.elements > 0)
        s = damaged(err, "its schema");
    if (s == TAB_OK && r.s.leaves == 0)
        s = tab_fail(err, TAB_VALIDATION, "", "it has no columns");
    if (s == TAB_OK)
        for (const parquet_field *f = all.child; f != NULL; f = f->next)
            flatten(&r.s, f, 1);
    *ret = r.s;
    return s;
}
