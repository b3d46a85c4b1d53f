/* See table.h: cells of both layouts, and the builder that starts with numbers and turns to a dictionary
 * at the first other cell. */
#include "common/table/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "common/base/nearest.h"

/* ---- reading --------------------------------------------------------------------------------- */

tab_cell tab_cell_at(const tab_column *c, size_t row)
{
    if (c->layout == TAB_NUMBERS) {
        double x = c->num[row];
        return (tab_cell){ isnan(x) ? TAB_CELL_NULL : TAB_CELL_NUMBER, x, { NULL, 0 } };
    }
    uint32_t k = c->code[row];
    if (k == TAB_NULL)
        return (tab_cell){ TAB_CELL_NULL, (double)NAN, { NULL, 0 } };
    assert(k < c->levels);
    tab_cell cell = { (tab_cell_kind)c->kind[k], (double)NAN, tab_level(c, k) };
    if (cell.kind == TAB_CELL_NUMBER) {
        char buf[400];
        if (cell.text.n < sizeof buf) {
            memcpy(buf, cell.text.p, cell.text.n);
            buf[cell.text.n] = 0;
            cell.num = strtod(buf, NULL);
        }
    }
    return cell;
}

tab_str tab_column_address(tab_arena *a, const tab_table *t, size_t col)
{
    tab_str name = t->col[col].name;
    bool alone = name.n > 0;
    for (size_t i = 0; alone && i < t->cols; i++)
        alone = i == col || !tab_str_eq(t->col[i].name, name);
    if (alone)
        return name;
    return tab_str_of(tab_arena_printf(a, "c%zu", col));
}

/* The refusal of a name that several columns of one table have. */
static bool several(const tab_table *t, tab_str name, tab_error *err)
{
    size_t found = 0, at[2] = { 0, 0 };
    for (size_t c = 0; c < t->cols && found < 2; c++)
        if (tab_str_eq(t->col[c].name, name))
            at[found++] = c;
    if (found == 2)
        (void)tab_fail(err, TAB_VALIDATION, "target.column",
                       "several columns have this name; name one by its position, c%zu or c%zu", at[0],
                       at[1]);
    return found == 2;
}

/* The refusal of a column that no table holds: the nearest one, or the first that there are. */
static tab_status no_column(tab_arena *a, const tab_table *const *t, size_t n, tab_str name, tab_error *err)
{
    enum { MOST = 2000, SHOWN = 10, LONGEST = 48 };
    for (size_t i = 0; i < n; i++)
        if (several(t[i], name, err))
            return TAB_VALIDATION;
    size_t count = 0, room = 0;
    char all[320] = "";
    tab_str *known = tab_arena_new_of(a, tab_str, MOST);
    for (size_t i = 0; known != NULL && i < n; i++)
        for (size_t c = 0; c < t[i]->cols && count < MOST; c++) {
            tab_str address = tab_column_address(a, t[i], c), id = t[i]->id;
            bool qualified = n > 1 || memchr(name.p, '.', name.n) != NULL;
            known[count++] = qualified
                                 ? tab_str_of(tab_arena_printf(a, "%.*s.%.*s", TAB_STR(id), TAB_STR(address)))
                                 : address;
        }
    if (known == NULL || tab_arena_full(a))
        return tab_no_memory(err);
    size_t near = tab_nearest(name, known, count), shown = 0;
    for (size_t k = 0; k < count && shown < SHOWN; k++) {
        if (known[k].n > LONGEST || room + known[k].n + 3 > sizeof all)
            continue;
        room += (size_t)snprintf(all + room, sizeof all - room, "%s%.*s", shown > 0 ? ", " : "",
                                 TAB_STR(known[k]));
        shown++;
    }
    const char *more = shown < count ? ", ..." : "";
    int asked = (int)(name.n < LONGEST ? name.n : LONGEST);
    while (asked > 0 && (size_t)asked < name.n && ((unsigned char)name.p[asked] & 0xc0) == 0x80)
        asked--; /* within a letter */
    if (near < count && known[near].n <= LONGEST)
        return tab_fail(err, TAB_VALIDATION, "target.column",
                        "column \"%.*s\" does not exist; did you mean %.*s? The columns are %s%s", asked,
                        name.p, TAB_STR(known[near]), all, more);
    return tab_fail(err, TAB_VALIDATION, "target.column",
                    "column \"%.*s\" does not exist; the columns are %s%s", asked, name.p, all, more);
}

tab_status tab_column_find(tab_arena *a, const tab_table *const *t, size_t n, tab_str name, size_t *ret_table,
                           size_t *ret_column, tab_error *err)
{
    size_t hits = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < t[i]->cols; c++) {
            tab_str address = tab_column_address(a, t[i], c), id = t[i]->id;
            bool full = name.n == id.n + 1 + address.n && memcmp(name.p, id.p, id.n) == 0 &&
                        name.p[id.n] == '.' &&
                        (address.n == 0 || memcmp(name.p + id.n + 1, address.p, address.n) == 0);
            if (full || tab_str_eq(name, address)) {
                *ret_table = i, *ret_column = c;
                if (full)
                    return TAB_OK;
                hits++;
            }
        }
    if (hits == 1)
        return TAB_OK;
    if (hits > 1)
        return tab_fail(err, TAB_VALIDATION, "target.column",
                        "several tables have this column; write it as table.column");
    return no_column(a, t, n, name, err);
}

/* The column of t with this address, or cols. */
static size_t column_at(tab_arena *a, const tab_table *t, tab_str column)
{
    size_t at = t->cols, same = 0, index = 0, digits = 1;
    for (size_t c = 0; c < t->cols; c++)
        if (column.n > 0 && tab_str_eq(t->col[c].name, column))
            at = c, same++;
    if (same == 1)
        return at;
    while (digits < column.n && digits < 6 && column.p[digits] >= '0' && column.p[digits] <= '9')
        index = 10 * index + (size_t)(column.p[digits++] - '0');
    bool by_index = digits == column.n && digits > 1 && column.p[0] == 'c' && index < t->cols;
    return by_index && tab_str_eq(tab_column_address(a, t, index), column) ? index : t->cols;
}

/* The first columns of t by their addresses, quoted. */
static const char *list_columns(tab_arena *a, const tab_table *t)
{
    enum { SHOWN = 12 };
    const char *all = "";
    for (size_t c = 0; all != NULL && c < t->cols && c < SHOWN; c++) {
        tab_str s = tab_column_address(a, t, c);
        all = tab_arena_printf(a, "%s%s\"%.*s\"", all, c > 0 ? ", " : "", (int)(s.n < 40 ? s.n : 40), s.p);
    }
    return all == NULL || t->cols <= SHOWN ? all
                                           : tab_arena_printf(a, "%s and %zu more", all, t->cols - SHOWN);
}

tab_status tab_column_given(tab_arena *a, const tab_table *const *t, size_t n, tab_str table, tab_str column,
                            size_t i, size_t *ret_table, size_t *ret_column, tab_error *err)
{
    char param[64];
    size_t at = 0;
    while (at < n && !(table.n == 0 && n == 1) && !tab_str_eq(t[at]->id, table))
        at++;
    if (at == n) {
        snprintf(param, sizeof param, "options.columns[%zu].table", i);
        return tab_fail(err, TAB_VALIDATION, param, "no such table; there %s \"%.*s\"%s",
                        n > 1 ? "are" : "is", (int)(t[0]->id.n < 64 ? t[0]->id.n : 64), t[0]->id.p,
                        n > 1 ? " and others" : "");
    }
    *ret_table = at;
    *ret_column = column_at(a, t[at], column);
    if (*ret_column < t[at]->cols)
        return TAB_OK;
    const char *all = list_columns(a, t[at]);
    snprintf(param, sizeof param, "options.columns[%zu].column", i);
    return tab_fail(err, TAB_VALIDATION, param, "no such column; the columns are %s",
                    all == NULL ? "others" : all);
}

static bool cell_equal(tab_cell a, tab_cell b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == TAB_CELL_NULL)
        return true;
    if (a.kind != TAB_CELL_NUMBER || (a.text.n > 0 && b.text.n > 0))
        return tab_str_eq(a.text, b.text);
    return a.num == b.num;
}

bool tab_table_equal(const tab_table *a, const tab_table *b)
{
    if (!tab_str_eq(a->id, b->id) || a->rows != b->rows || a->cols != b->cols)
        return false;
    for (size_t c = 0; c < a->cols; c++) {
        if (!tab_str_eq(a->col[c].name, b->col[c].name))
            return false;
        for (size_t r = 0; r < a->rows; r++)
            if (!cell_equal(tab_cell_at(&a->col[c], r), tab_cell_at(&b->col[c], r)))
                return false;
    }
    return true;
}

/* ---- building -------------------------------------------------------------------------------- */

/* While only representable numbers have come, `num` grows. The first other cell turns all of them
 * into codes. The dictionary is an open-addressing hash of level indices. Scratch is malloc'ed and
 * trimmed into the arena by finish, so that growth leaves no holes in it. */
struct tab_builder {
    tab_arena *arena;
    tab_str name;
    size_t rows, cap;
    bool coded, failed;
    double *num;
    uint32_t *code;
    char *text;
    size_t text_n, text_cap;
    uint32_t *end;
    uint8_t *kind;
    size_t levels, level_cap;
    struct slot {
        uint32_t level; /* + 1, 0 empty */
        uint32_t hash;
    } * slot;
    size_t slots;
};

static void scratch_free(void *p)
{
    tab_builder *b = p;
    free(b->num);
    free(b->code);
    free(b->text);
    free(b->end);
    free(b->kind);
    free(b->slot);
    b->num = NULL;
    b->code = b->end = NULL;
    b->slot = NULL;
    b->text = NULL;
    b->kind = NULL;
}

tab_builder *tab_builder_new(tab_arena *a, tab_str name)
{
    tab_builder *b = tab_arena_new_of(a, tab_builder, 1);
    if (b == NULL || !tab_arena_defer(a, scratch_free, b))
        return NULL;
    b->arena = a;
    b->name = name;
    return b;
}

static bool fail(tab_builder *b)
{
    b->failed = true;
    return false;
}

static bool resize(tab_builder *b, void *pp, size_t n, size_t size)
{
    void **p = pp;
    void *q = realloc(*p, n * size);
    if (q == NULL)
        return fail(b);
    *p = q;
    return true;
}

static bool more_rows(tab_builder *b, size_t cap)
{
    if (b->failed)
        return false;
    if (b->coded ? !resize(b, &b->code, cap, sizeof *b->code) : !resize(b, &b->num, cap, sizeof *b->num))
        return false;
    b->cap = cap;
    return true;
}

static inline bool room_for_row(tab_builder *b)
{
    if (__builtin_expect(b->rows < b->cap, 1))
        return !b->failed;
    return more_rows(b, b->cap == 0 ? 64 : b->cap * 2);
}

/* The pages past the rows that come are never touched, so a generous hint costs address space only.
 */
void tab_builder_reserve(tab_builder *b, size_t rows)
{
    if (b != NULL && rows > b->cap)
        (void)more_rows(b, rows);
}

/* Hash of a level: multiply and fold (the step of wyhash), 8 bytes at a time, with a secret drawn once a
 * process, so that nobody can choose cells that collide. Levels keep their order of first appearance, so no
 * output depends on it. */
static uint64_t secret;

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 x = (unsigned __int128)a * b;
    return (uint64_t)x ^ (uint64_t)(x >> 64);
}

static inline uint64_t load(const char *p, size_t n)
{
    uint64_t w = 0;
    memcpy(&w, p, n);
    return w;
}

static inline uint32_t hash_level(tab_str s, uint8_t kind)
{
    const uint64_t k = secret;
    uint64_t h = k ^ s.n ^ ((uint64_t)kind << 56);
    const char *p = s.p;
    size_t n = s.n;
    for (; n > 16; n -= 16, p += 16)
        h = fold(h ^ load(p, 8), k ^ load(p + 8, 8));
    /* The rest, 0 to 16 bytes, in two words that may overlap. */
    uint64_t x = 0, y = 0;
    if (n >= 8)
        x = load(p, 8), y = load(p + n - 8, 8);
    else if (n >= 4)
        x = load(p, 4), y = load(p + n - 4, 4);
    else if (n > 0)
        x = (uint64_t)(uint8_t)p[0] << 16 | (uint64_t)(uint8_t)p[n / 2] << 8 | (uint8_t)p[n - 1];
    return (uint32_t)fold(fold(h ^ x, 0x9e3779b97f4a7c15u ^ k) ^ y, 0xd6e8feb86659fd93u ^ k);
}

static void __attribute__((constructor)) draw_secret(void)
{
    if (getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        secret = (uint64_t)time(NULL) * 0x2545f4914f6cdd1du;
    secret |= 1;
}

static tab_str level_of(const tab_builder *b, size_t i)
{
    uint32_t from = i == 0 ? 0 : b->end[i - 1];
    return (tab_str){ b->text == NULL ? "" : b->text + from, b->end[i] - from }; /* NULL: so far "" alone */
}

/* Twice the slots; an entry's place follows from its own hash, so no level is looked at. */
static bool rehash(tab_builder *b)
{
    size_t slots = b->slots == 0 ? 64 : b->slots * 2;
    assert((slots & (slots - 1)) == 0 && slots > b->levels);
    struct slot *slot = calloc(slots, sizeof *slot);
    if (slot == NULL)
        return fail(b);
    for (size_t i = 0; i < b->slots; i++)
        if (b->slot[i].level != 0) {
            size_t at = b->slot[i].hash & (slots - 1);
            while (slot[at].level != 0)
                at = (at + 1) & (slots - 1);
            slot[at] = b->slot[i];
        }
    free(b->slot);
    b->slot = slot;
    b->slots = slots;
    return true;
}

/* Are n bytes alike? Most levels are short, and a call for each costs more than the two words. */
static inline bool same(const char *a, const char *b, size_t n)
{
    if (n > 16)
        return memcmp(a, b, n) == 0;
    if (n >= 8)
        return ((load(a, 8) ^ load(b, 8)) | (load(a + n - 8, 8) ^ load(b + n - 8, 8))) == 0;
    if (n >= 4)
        return ((load(a, 4) ^ load(b, 4)) | (load(a + n - 4, 4) ^ load(b + n - 4, 4))) == 0;
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* h: hash_level(s, kind) */
static bool code_at(tab_builder *b, tab_str s, uint8_t kind, uint32_t h, uint32_t *ret)
{
    if (b->levels >= b->slots / 4 * 3 && !rehash(b))
        return false;
    size_t at = h & (b->slots - 1);
    for (; b->slot[at].level != 0; at = (at + 1) & (b->slots - 1)) {
        uint32_t i = b->slot[at].level - 1;
        if (b->slot[at].hash != h || b->kind[i] != kind)
            continue;
        tab_str level = level_of(b, i);
        if (level.n == s.n && same(level.p, s.p, s.n)) {
            *ret = i;
            return true;
        }
    }
    if (b->levels == b->level_cap) {
        size_t cap = b->level_cap == 0 ? 32 : b->level_cap * 2;
        if (!resize(b, &b->end, cap, sizeof *b->end) || !resize(b, &b->kind, cap, 1))
            return false;
        b->level_cap = cap;
    }
    if (s.n > UINT32_MAX - 1 - b->text_n || b->levels == TAB_NULL - 1)
        return fail(b);
    if (b->text_n + s.n > b->text_cap) {
        size_t cap = b->text_cap == 0 ? 256 : b->text_cap * 2;
        while (cap < b->text_n + s.n)
            cap *= 2;
        if (!resize(b, &b->text, cap, 1))
            return false;
        b->text_cap = cap;
    }
    assert(b->text_n + s.n <= b->text_cap && b->levels < b->level_cap && b->levels < b->slots);
    if (s.n > 0)
        memcpy(b->text + b->text_n, s.p, s.n);
    b->text_n += s.n;
    b->end[b->levels] = (uint32_t)b->text_n;
    b->kind[b->levels] = kind;
    b->slot[at] = (struct slot){ (uint32_t)++b->levels, h };
    *ret = (uint32_t)b->levels - 1;
    return true;
}

static bool code_of(tab_builder *b, tab_str s, uint8_t kind, uint32_t *ret)
{
    return code_at(b, s, kind, hash_level(s, kind), ret);
}

static bool to_codes(tab_builder *b)
{
    if (b->coded)
        return true;
    if (b->cap > 0 && !resize(b, &b->code, b->cap, sizeof *b->code))
        return false;
    for (size_t r = 0; r < b->rows; r++) {
        if (isnan(b->num[r])) {
            b->code[r] = TAB_NULL;
            continue;
        }
        char buf[32];
        size_t n = tab_number_text(b->num[r], buf);
        if (!code_of(b, (tab_str){ buf, n }, TAB_CELL_NUMBER, &b->code[r]))
            return false;
    }
    free(b->num);
    b->num = NULL;
    b->coded = true;
    return true;
}

static void add_level(tab_builder *b, tab_str s, uint8_t kind)
{
    uint32_t k;
    if (b->failed || !to_codes(b) || !room_for_row(b) || !code_of(b, s, kind, &k))
        return;
    b->code[b->rows++] = k;
}

void tab_builder_null(tab_builder *b)
{
    if (b == NULL || !room_for_row(b))
        return;
    if (b->coded)
        b->code[b->rows++] = TAB_NULL;
    else
        b->num[b->rows++] = (double)NAN;
}

void tab_builder_number(tab_builder *b, double x)
{
    if (b == NULL || !room_for_row(b))
        return;
    if (b->coded) {
        char buf[32];
        size_t n = tab_number_text(x, buf);
        add_level(b, (tab_str){ buf, n }, TAB_CELL_NUMBER);
    } else {
        b->num[b->rows++] = x;
    }
}

void tab_builder_number_text(tab_builder *b, tab_str digits)
{
    if (b != NULL)
        add_level(b, digits, TAB_CELL_NUMBER);
}

void tab_builder_text(tab_builder *b, tab_str s)
{
    if (b != NULL)
        add_level(b, s, TAB_CELL_TEXT);
}

/* Of a dictionary beyond the caches each text waits for its slot, then for where its level's bytes begin,
 * then for these. Each step is taken for all texts before the next one is. */
static void fetch_levels(const tab_builder *b, const uint32_t *h, size_t n)
{
    uint32_t level[TAB_BUILDER_AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        level[i] = b->slot[h[i] & (b->slots - 1)].level;
        if (level[i] > 1)
            __builtin_prefetch(&b->end[level[i] - 2]);
    }
    for (size_t i = 0; i < n; i++)
        if (level[i] > 1)
            __builtin_prefetch(b->text + b->end[level[i] - 2]);
}

void tab_builder_texts(tab_builder *b, const tab_str *s, size_t n)
{
    enum { CACHED = 1 << 12 }; /* slots, of 8 bytes */
    uint32_t h[TAB_BUILDER_AT_ONCE];
    for (size_t m; b != NULL && n > 0; s += m, n -= m) {
        m = n < TAB_BUILDER_AT_ONCE ? n : TAB_BUILDER_AT_ONCE;
        for (size_t i = 0; i < m; i++) {
            h[i] = s[i].p != NULL ? hash_level(s[i], TAB_CELL_TEXT) : 0;
            if (b->slots > 0)
                __builtin_prefetch(&b->slot[h[i] & (b->slots - 1)]);
        }
        if (b->slots > CACHED)
            fetch_levels(b, h, m);
        for (size_t i = 0; i < m; i++)
            if (s[i].p == NULL)
                tab_builder_null(b);
            else if ((b->coded || to_codes(b)) && room_for_row(b) &&
                     code_at(b, s[i], TAB_CELL_TEXT, h[i], &b->code[b->rows]))
                b->rows++;
    }
}

void tab_builder_bool(tab_builder *b, bool x)
{
    if (b != NULL)
        add_level(b, x ? TAB_S("true") : TAB_S("false"), TAB_CELL_BOOL);
}

void tab_builder_cell(tab_builder *b, tab_cell x)
{
    switch (x.kind) {
    case TAB_CELL_NULL:
        tab_builder_null(b);
        break;
    case TAB_CELL_BOOL:
        tab_builder_bool(b, tab_str_eq(x.text, TAB_S("true")));
        break;
    case TAB_CELL_TEXT:
        tab_builder_text(b, x.text);
        break;
    case TAB_CELL_NUMBER:
        if (x.text.n > 0)
            tab_builder_number_text(b, x.text);
        else
            tab_builder_number(b, x.num);
        break;
    }
}

void tab_builder_copy(tab_builder *b, const tab_column *c, size_t row, uint32_t *known)
{
    uint32_t level = c->layout == TAB_CODED ? c->code[row] : TAB_NULL;
    if (b == NULL || level == TAB_NULL) {
        tab_builder_cell(b, tab_cell_at(c, row));
    } else if (known[level] == 0) {
        add_level(b, tab_level(c, level), c->kind[level]);
        known[level] = b->failed ? 0 : b->code[b->rows - 1] + 1;
    } else if (room_for_row(b)) {
        assert(b->coded && known[level] - 1 < b->levels);
        b->code[b->rows++] = known[level] - 1;
    }
}

size_t tab_builder_rows(const tab_builder *b)
{
    return b->rows;
}

void tab_builder_pad(tab_builder *b, size_t rows)
{
    while (b != NULL && !b->failed && b->rows < rows)
        tab_builder_null(b);
}

/* Large scratch arrays are cut to size and handed to the arena: no copy is made, and a column is never held
 * twice. Small ones are copied, so that narrow tables do not keep a malloc for each array. */
static const void *trim(tab_arena *a, void *pp, size_t n, size_t size)
{
    void **p = pp, *q = *p;
    if (n * size <= 4096) {
        void *small = tab_arena_alloc(a, n, size);
        if (small != NULL && n > 0)
            memcpy(small, q, n * size);
        return small;
    }
    *p = NULL;
    void *cut = realloc(q, n * size);
    q = cut != NULL ? cut : q;
    return tab_arena_adopt(a, q, n * size) ? q : NULL;
}

void tab_builder_drop(tab_builder *b)
{
    scratch_free(b);
}

bool tab_builder_finish(tab_builder *b, tab_column *ret)
{
    if (b == NULL)
        return false;
    if (!b->failed) {
        tab_arena *a = b->arena;
        tab_column c = { .name = b->name, .layout = b->coded ? TAB_CODED : TAB_NUMBERS };
        assert(b->rows <= b->cap && (!b->coded || b->levels == 0 || b->end[b->levels - 1] == b->text_n));
        free(b->slot);
        b->slot = NULL;
        if (b->coded) {
            c.code = trim(a, &b->code, b->rows, sizeof *b->code);
            c.text = trim(a, &b->text, b->text_n, 1);
            c.end = trim(a, &b->end, b->levels, sizeof *b->end);
            c.kind = trim(a, &b->kind, b->levels, 1);
            c.levels = b->levels;
        } else {
            c.num = trim(a, &b->num, b->rows, sizeof *b->num);
        }
        b->failed = tab_arena_full(a);
        *ret = c;
    }
    scratch_free(b);
    return !b->failed;
}
