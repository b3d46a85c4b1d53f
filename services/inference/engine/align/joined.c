/* See joined.h. A column is part of a whole where most of its words stand there in rows that seem to match,
 * and far fewer where the whole is another pair's: that is chance. */
#include "services/inference/engine/align/joined.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/align/view_pool.h"

/* PAIRS: the surest pairs are looked at. A part is held in HELD of its words, BEYOND more than by chance;
 * together the parts are COVERED of the whole, each MORE than those before it. ALIGNED: a pair of columns
 * that is compared as such. */
enum { FEWEST = 5, PAIRS = 200 };
static const float HELD = 0.5f, BEYOND = 0.25f, COVERED = 0.4f, MORE = 0.05f, ALIGNED = 0.5f;

typedef struct {
    const tab_views *v;
    const tab_table_view *parts, *wholes;
    const uint32_t *part_row, *whole_row;
    size_t n;
} side;

static const tab_value *value_at(const tab_view *w, uint32_t row)
{
    return w->code[row] == TAB_NULL ? NULL : &w->value[w->code[row]];
}

/* Whether token i of a value is all of its text, beside the parts of a code that it is closed from: what
 * the code is joined with has the parts. */
static bool is_closed(const tab_views *v, const tab_value *x, uint32_t i)
{
    return x->tok_n > 1 && v->term_n[v->tok[x->tok + i]] == x->text_n;
}

/* Whether the first token is a letter that the second begins with: an initial. */
static bool is_initial(const tab_views *v, uint32_t letter, uint32_t word)
{
    char c = v->text[v->term_at[letter]];
    return v->term_n[letter] == 1 && (c < '0' || c > '9') && v->text[v->term_at[word]] == c;
}

/* Whether a value has the token, or one that either stands for the other: the token an initial of a word of
 * it (whole: the value is the whole), or a letter of it the token's. */
static bool holds(const tab_views *v, const tab_value *x, uint32_t token, bool whole)
{
    const uint32_t *tok = v->tok + x->tok;
    bool has = bsearch(&token, tok, x->tok_n, sizeof token, tab_ascending_u32) != NULL;
    for (uint32_t i = 0; i < x->tok_n && !has; i++)
        has = whole ? is_initial(v, token, tok[i]) : is_initial(v, tok[i], token);
    return has;
}

/* What the words of x that stand in y weigh, and what all of x's do. */
static void weigh_words(const tab_views *v, const tab_value *x, const tab_value *y, float *in, float *all)
{
    for (uint32_t i = 0; i < x->tok_n; i++) {
        uint32_t token = v->tok[x->tok + i];
        if (is_closed(v, x, i))
            continue;
        *all += v->idf[token];
        *in += holds(v, y, token, true) ? v->idf[token] : 0;
    }
}

/* The share of x's words that stand in y: over the pairs, each beside the whole of the pair `shift` behind.
 * Less than FEWEST pairs with a value on both sides: 0. */
static float share_held(const side *s, const tab_view *x, const tab_view *y, size_t shift)
{
    float in = 0, all = 0;
    size_t seen = 0;
    for (size_t k = 0; k < s->n; k++) {
        const tab_value *p = value_at(x, s->part_row[k]), *q = value_at(y, s->whole_row[(k + shift) % s->n]);
        if (p == NULL || q == NULL || p->tok_n == 0)
            continue;
        float in_one = 0, all_one = 0;
        weigh_words(s->v, p, q, &in_one, &all_one);
        in += all_one > 0 ? in_one / all_one : 0;
        all += all_one > 0;
        seen++;
    }
    return seen < FEWEST || all == 0 ? 0 : in / all;
}

/* How much of the whole the words of the parts are, in the mean. */
static float share_covered(const side *s, const tab_view *whole, const uint32_t *part, uint32_t parts)
{
    float in = 0, all = 0;
    for (size_t k = 0; k < s->n; k++) {
        const tab_value *q = value_at(whole, s->whole_row[k]);
        for (uint32_t i = 0; q != NULL && i < q->tok_n; i++) {
            uint32_t token = s->v->tok[q->tok + i];
            bool has = false;
            for (uint32_t c = 0; c < parts && !has; c++) {
                const tab_value *p = value_at(&s->parts->col[part[c]], s->part_row[k]);
                has = p != NULL && holds(s->v, p, token, false);
            }
            all += s->v->idf[token];
            in += has ? s->v->idf[token] : 0;
        }
    }
    return all > 0 ? in / all : 0;
}

/* Where in the whole's text a part's words begin, in the mean, as a share of its length. */
static float place_of(const side *s, const tab_view *whole, uint32_t part)
{
    float sum = 0, n = 0;
    for (size_t k = 0; k < s->n; k++) {
        const tab_value *p = value_at(&s->parts->col[part], s->part_row[k]),
                        *q = value_at(whole, s->whole_row[k]);
        if (p == NULL || q == NULL)
            continue;
        tab_str x = tab_value_text(s->v, p), y = tab_value_text(s->v, q);
        const char *at = x.n > 0 && y.n >= x.n ? memmem(y.p, y.n, x.p, x.n) : NULL;
        if (at == NULL)
            continue;
        sum += (float)(at - y.p) / (float)y.n;
        n++;
    }
    return n > 0 ? sum / n : 1;
}

/* By where they stand in the whole. */
static void order_parts(const side *s, tab_joined *j)
{
    float place[TAB_JOINED_PARTS];
    const tab_view *whole = &s->wholes->col[j->whole];
    for (uint32_t i = 0; i < j->parts; i++) {
        float at = place_of(s, whole, j->part[i]);
        uint32_t part = j->part[i], k = i;
        for (; k > 0 && place[k - 1] > at; k--) {
            place[k] = place[k - 1];
            j->part[k] = j->part[k - 1];
        }
        place[k] = at;
        j->part[k] = part;
    }
}

/* What is known of the columns' partners, seen from the side of the parts. */
typedef struct {
    const uint32_t *match; /* (columns of a) */
    const float *p;
    size_t cols_a, cols_b;
    bool second; /* the parts are b's */
} partners;

/* The column that c of the parts' table (of_part) or of the whole's is compared with, or TAB_NULL. */
static uint32_t partner_of(const partners *x, bool of_part, size_t c)
{
    if (of_part != x->second) { /* c is a's */
        uint32_t j = x->match[c];
        return j != TAB_NULL && x->p[c * x->cols_b + j] >= ALIGNED ? j : TAB_NULL;
    }
    for (uint32_t i = 0; i < x->cols_a; i++)
        if (x->match[i] == c && x->p[i * x->cols_b + c] >= ALIGNED)
            return i;
    return TAB_NULL;
}

static bool may_be_part(const tab_view *w)
{
    return w->kind != TAB_VIEW_DATE && w->values >= 2;
}

static bool may_be_whole(const tab_view *w)
{
    return w->kind == TAB_VIEW_TEXT && w->values >= FEWEST;
}

/* The columns of which more than by chance stands in column w. */
static uint32_t find_candidates(const side *s, const partners *x, size_t w, uint32_t *part, float *held)
{
    enum { MOST = 2 * TAB_JOINED_PARTS };
    const tab_view *whole = &s->wholes->col[w];
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->parts->cols && n < MOST; c++) {
        uint32_t partner = partner_of(x, true, c);
        if (!may_be_part(&s->parts->col[c]) || (partner != TAB_NULL && partner != w))
            continue;
        float in = share_held(s, &s->parts->col[c], whole, 0);
        if (in < HELD || in < BEYOND + share_held(s, &s->parts->col[c], whole, 1 + s->n / 3))
            continue;
        part[n] = c;
        held[n++] = in;
    }
    return n;
}

/* The columns that make up column w: the one that covers most of it, then as long as one covers more that
 * those before do not; what says the same again (a title and its link) does not. */
static void find_parts(const side *s, const partners *x, size_t w, tab_joined *j)
{
    uint32_t part[2 * TAB_JOINED_PARTS];
    float held[2 * TAB_JOINED_PARTS], covered = 0;
    uint32_t n = find_candidates(s, x, w, part, held);
    j->held = 1;
    while (j->parts < TAB_JOINED_PARTS) {
        float best = covered + MORE;
        uint32_t with = TAB_NULL;
        for (uint32_t i = 0; i < n; i++) {
            j->part[j->parts] = part[i];
            float c = part[i] == TAB_NULL ? 0 : share_covered(s, &s->wholes->col[w], j->part, j->parts + 1);
            if (c > best) {
                best = c;
                with = i;
            }
        }
        if (with == TAB_NULL)
            break;
        covered = best;
        j->part[j->parts++] = part[with];
        part[with] = TAB_NULL;
        j->held = held[with] < j->held ? held[with] : j->held;
    }
}

static bool is_part(const tab_joined *j, uint32_t c)
{
    for (uint32_t i = 0; i < j->parts; i++)
        if (j->part[i] == c)
            return true;
    return false;
}

/* One part alone is joined where neither column has a partner. */
static bool makes_whole(const side *s, const partners *x, const tab_joined *j)
{
    uint32_t partner = partner_of(x, false, j->whole);
    if (j->parts == 0 || (partner != TAB_NULL && (j->parts == 1 || !is_part(j, partner))))
        return false;
    return share_covered(s, &s->wholes->col[j->whole], j->part, j->parts) >= COVERED;
}

/* Whether two joined columns have a column in common. */
static bool clash(const tab_joined *x, const tab_joined *y)
{
    if (x->second != y->second)
        return is_part(x, y->whole) || is_part(y, x->whole);
    for (uint32_t i = 0; i < x->parts; i++)
        if (is_part(y, x->part[i]))
            return true;
    return x->whole == y->whole;
}

/* Keeps j beside those before it, or instead of one that it clashes with and has more parts than. */
static size_t keep(tab_joined *ret, size_t n, const tab_joined *j)
{
    for (size_t i = 0; i < n; i++)
        if (clash(&ret[i], j)) {
            if (j->parts > ret[i].parts)
                ret[i] = *j;
            return n;
        }
    if (n < TAB_JOINED_MOST)
        ret[n++] = *j;
    return n;
}

size_t tab_joined_find(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                       const tab_row_pairs *rows, const uint32_t *match, const float *column_p,
                       tab_joined *ret)
{
    size_t n = 0, pairs = rows->n < PAIRS ? rows->n : PAIRS;
    for (int back = 0; back < 2 && pairs >= FEWEST; back++) {
        side s = { .v = v,
                   .parts = back ? b : a,
                   .wholes = back ? a : b,
                   .part_row = back ? rows->b : rows->a,
                   .whole_row = back ? rows->a : rows->b,
                   .n = pairs };
        partners x = { match, column_p, a->cols, b->cols, back };
        for (uint32_t w = 0; w < s.wholes->cols; w++) {
            tab_joined j = { .second = back, .whole = w, .column = TAB_NULL };
            if (!may_be_whole(&s.wholes->col[w]))
                continue;
            find_parts(&s, &x, w, &j);
            if (!makes_whole(&s, &x, &j))
                continue;
            order_parts(&s, &j);
            n = keep(ret, n, &j);
        }
    }
    return n;
}

/* ---- the joined column ------------------------------------------------------------------------- */

/* A text by its hash: its key, and its value in the joined column, TAB_NULL before there is one. */
typedef struct {
    uint64_t hash;
    uint32_t key, value;
} slot;

typedef struct {
    slot *at;
    size_t n; /* a power of 2 */
} slots;

static slot *slot_of(const slots *s, tab_str text)
{
    uint64_t h = tab_hash_bytes(text.p, text.n, 0) | 1;
    size_t i = h & (s->n - 1);
    while (s->at[i].hash != 0 && s->at[i].hash != h)
        i = (i + 1) & (s->n - 1);
    if (s->at[i].hash == 0)
        s->at[i] = (slot){ h, TAB_NULL, TAB_NULL };
    return &s->at[i];
}

static bool slots_new(const tab_views *v, const tab_view *whole, size_t rows, slots *s)
{
    s->n = 16;
    while (s->n < 2 * (rows + whole->values))
        s->n *= 2;
    s->at = calloc(s->n, sizeof *s->at);
    for (uint32_t i = 0; s->at != NULL && i < whole->values; i++)
        slot_of(s, tab_value_text(v, &whole->value[i]))->key = whole->value[i].key;
    return s->at != NULL;
}

/* The row's parts, one behind the other, and their tokens. Returns the text's length. */
static size_t join_row(tab_views *v, const tab_table_view *t, const tab_joined *j, uint32_t row,
                       char out[TAB_NORMAL_MAX])
{
    size_t n = 0;
    v->own->buffered = 0;
    for (uint32_t i = 0; i < j->parts; i++) {
        const tab_value *x = value_at(&t->col[j->part[i]], row);
        if (x == NULL || n + 1 + x->text_n > TAB_NORMAL_MAX)
            continue;
        if (n > 0)
            out[n++] = ' ';
        memcpy(out + n, v->text + x->text, x->text_n);
        n += x->text_n;
        for (uint32_t k = 0; k < x->tok_n; k++)
            if (!is_closed(v, x, k) && v->own->buffered < sizeof v->own->buffer / sizeof *v->own->buffer)
                v->own->buffer[v->own->buffered++] = v->tok[x->tok + k];
    }
    return n;
}

static void fill(tab_views *v, const tab_table_view *t, const tab_joined *j, const slots *s, tab_view *w)
{
    char text[TAB_NORMAL_MAX];
    for (uint32_t row = 0; row < t->rows && !v->own->failed; row++) {
        v->text = v->own->text; /* they grow with each value */
        v->tok = v->own->tok;
        size_t n = join_row(v, t, j, row, text);
        w->code[row] = TAB_NULL;
        if (n == 0)
            continue;
        slot *o = slot_of(s, (tab_str){ text, n });
        if (o->value == TAB_NULL) {
            tab_value *x = &w->value[o->value = w->values++];
            *x = (tab_value){ .text = tab_view_text(v, (tab_str){ text, n }),
                              .text_n = (uint32_t)n,
                              .key = o->key,
                              .first = row,
                              .number = (double)NAN };
            if (x->key == TAB_NULL)
                x->key = (uint32_t)v->terms + v->own->joined_keys++;
            tab_view_tokens(v, x);
        }
        w->code[row] = o->value;
        w->value[o->value].rows++;
        w->present++;
    }
}

/* The part with most values stands for all of them. */
static uint32_t chief_of(const tab_table_view *t, const tab_joined *j)
{
    uint32_t best = j->part[0];
    for (uint32_t i = 1; i < j->parts; i++)
        if (t->col[j->part[i]].values > t->col[best].values)
            best = j->part[i];
    return best;
}

tab_status tab_joined_build(tab_views *v, size_t table, const tab_view *whole, tab_joined *j, tab_error *err)
{
    tab_table_view *t = &v->table[table];
    slots s = { 0 };
    j->column = TAB_NULL;
    if (t->joined == TAB_VIEW_JOINED)
        return TAB_OK;
    tab_view *w = &t->col[t->cols + t->joined];
    uint32_t chief = chief_of(t, j);
    *w = (tab_view){ .profile = t->col[chief].profile, .kind = TAB_VIEW_TEXT, .chief = chief };
    w->code = tab_arena_new_of(v->own->arena, uint32_t, t->rows);
    w->value = tab_arena_new_of(v->own->arena, tab_value, t->rows);
    bool ok = w->code != NULL && w->value != NULL && slots_new(v, whole, t->rows, &s);
    if (ok)
        fill(v, t, j, &s, w);
    free(s.at);
    v->text = v->own->text;
    v->tok = v->own->tok;
    if (!ok || v->own->failed)
        return tab_no_memory(err);
    w->once = tab_view_once(w);
    j->column = (uint32_t)(t->cols + t->joined++);
    return TAB_OK;
}
