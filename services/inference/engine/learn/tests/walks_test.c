/* Trees as they answer, beside the plain walk: random trees and rows, a third of the cells at a cut or beside
 * it, a tenth missing. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/boost/boost.h"
#include "services/inference/engine/learn/forest/forest_walk.h"

enum { FEATURES = 7, ROWS = 260, TREES = 19, MOST = 4096, NUMBERS = 4, LEAVES = 28 };

/* Bins of a feature without the missing one: features from NUMBERS on are categories, of one word of a set to
 * four. */
static const uint8_t BINS[FEATURES] = { 254, 40, 3, 1, 5, 64, 254 };
enum { CUT = 2 }; /* half of the splits of a number are here */

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = tab_mix2(*seed, below);
    return (uint32_t)(*seed >> 20) % below;
}

/* bin (FEATURES)(ROWS) */
static void fill_rows(uint64_t *seed, uint8_t (*bin)[ROWS])
{
    for (size_t f = 0; f < FEATURES; f++)
        for (size_t i = 0; i < ROWS; i++) {
            uint32_t kind = draw(seed, 30), near = CUT - 1 + draw(seed, 3);
            bin[f][i] = kind < 3                      ? TAB_BIN_MISSING
                        : kind < 13 && near < BINS[f] ? (uint8_t)near
                                                      : (uint8_t)draw(seed, BINS[f]);
        }
    for (size_t i = 0; i < ROWS; i++) /* every bin that there is */
        bin[FEATURES - 1][i] = i < 254 ? (uint8_t)i : TAB_BIN_MISSING;
}

static uint8_t draw_cut(uint64_t *seed, size_t f)
{
    return draw(seed, 2) && BINS[f] > CUT ? CUT : (uint8_t)draw(seed, BINS[f]);
}

static float value_of(uint64_t *seed)
{
    return (float)draw(seed, 1 << 20) / 1e5f - 5;
}

/* ---- boosted trees --------------------------------------------------------------------------- */

typedef struct {
    tab_tree_node node[MOST];
    uint64_t set[MOST][4];
    uint32_t root[TREES], nodes, sets;
    size_t depth[TREES];
} boosted;

/* A tree of `leaves`: some leaf is divided until there are as many. */
static void grow_boosted(uint64_t *seed, boosted *b, size_t t, size_t leaves)
{
    uint32_t leaf[LEAVES], n = 1;
    size_t depth[LEAVES] = { 0 };
    b->root[t] = leaf[0] = b->nodes++;
    b->depth[t] = 0;
    for (; n < leaves; n++) {
        uint32_t at = draw(seed, n), f = draw(seed, FEATURES), left = b->nodes, split;
        b->nodes += 2;
        if (f >= NUMBERS) {
            for (size_t k = 0; k < 4; k++)
                b->set[b->sets][k] = tab_mix2(*seed, k);
            split = b->sets++ | TAB_SPLIT_SET;
        } else {
            uint32_t cut = draw_cut(seed, f);
            split = draw(seed, 2) ? (cut + 1) | TAB_SPLIT_MISSING_LEFT : cut;
        }
        b->node[leaf[at]] = (tab_tree_node){ (int32_t)f, left, split, value_of(seed) };
        leaf[at] = left, leaf[n] = left + 1;
        depth[n] = ++depth[at];
        b->depth[t] = depth[n] > b->depth[t] ? depth[n] : b->depth[t];
    }
    for (size_t k = 0; k < n; k++)
        b->node[leaf[k]] = (tab_tree_node){ TAB_LEAF, leaf[k], 255, value_of(seed) };
}

/* The leaf's value by the meaning of a split. */
static float boosted_plainly(const boosted *b, size_t t, uint8_t (*bin)[ROWS], size_t row)
{
    const tab_tree_node *n = &b->node[b->root[t]];
    while (n->feature >= 0) {
        uint8_t own = bin[n->feature][row];
        uint32_t cut = n->split & 255;
        bool left = n->split & TAB_SPLIT_SET ? b->set[n->split ^ TAB_SPLIT_SET][own / 64] >> (own % 64) & 1
                    : n->split & TAB_SPLIT_MISSING_LEFT ? own == TAB_BIN_MISSING || own + 1u <= cut
                                                        : own <= cut;
        n = &b->node[n->left + !left];
    }
    return n->value;
}

Test(walks, boosted_trees_answer_as_plain_walks)
{
    static boosted b;
    static uint8_t bin[FEATURES][ROWS];
    uint64_t seed = 1;
    fill_rows(&seed, bin);
    for (size_t t = 0; t < TREES; t++) /* the first is a leaf alone */
        grow_boosted(&seed, &b, t, t == 0 ? 1 : 2 + draw(&seed, LEAVES - 1));
    for (size_t n = 1; n <= ROWS; n += n < 40 ? 1 : 44) {
        float want[ROWS], few[2 * ROWS], many[2 * ROWS];
        size_t room = (n + TAB_TREE_STEP - 1) / TAB_TREE_STEP * TAB_TREE_STEP;
        uint8_t *rows = malloc(n * FEATURES), *by_feature = calloc(room, FEATURES), *at = malloc(room);
        for (size_t i = 0; i < n; i++) {
            want[i] = few[2 * i] = many[2 * i] = 0.25f;
            few[2 * i + 1] = many[2 * i + 1] = 7;
            for (size_t f = 0; f < FEATURES; f++)
                rows[i * FEATURES + f] = by_feature[f * room + i] = bin[f][i];
        }
        const uint64_t(*set)[4] = (const uint64_t(*)[4])b.set;
        for (size_t t = 0; t < TREES; t++) {
            tab_tree_add(b.node, set, b.root[t], b.depth[t], rows, FEATURES, n, few, 2);
            tab_tree_add_many(b.node, set, b.root[t], by_feature, room, at, n, many, 2);
            for (size_t i = 0; i < n; i++)
                want[i] += boosted_plainly(&b, t, bin, i);
        }
        for (size_t i = 0; i < n; i++) {
            cr_expect(few[2 * i] == want[i] && few[2 * i + 1] == 7, "row %zu of %zu, walking", i, n);
            cr_expect(many[2 * i] == want[i] && many[2 * i + 1] == 7, "row %zu of %zu, led", i, n);
        }
        free(rows), free(by_feature), free(at);
    }
}

/* ---- the forest ------------------------------------------------------------------------------ */

typedef struct {
    tab_forest_node node[MOST];
    tab_forest_split split[MOST]; /* by node */
    float value[MOST];
    uint32_t root[TREES], nodes, values;
} forest;

/* The subtree of node `at`; k values a leaf. */
static void grow_forest(uint64_t *seed, forest *m, uint32_t at, size_t depth, size_t features, size_t k)
{
    if (depth == 0 || draw(seed, 5) == 0 || m->nodes + 100 > MOST) {
        m->split[at].feature = -1;
        m->node[at] = (tab_forest_node){ .left = m->values, .how = TAB_FOREST_LEAF };
        for (size_t j = 0; j < k; j++)
            m->value[m->values++] = value_of(seed);
        return;
    }
    uint32_t f = draw(seed, (uint32_t)features), left = m->nodes;
    tab_forest_split s = { .feature = (int32_t)f,
                           .salt = draw(seed, 1 << 30),
                           .cut = draw_cut(seed, f),
                           .code = f >= NUMBERS,
                           .missing_left = draw(seed, 2) };
    m->split[at] = s;
    m->nodes += (uint32_t)tab_forest_room(&s, BINS[f]);
    tab_forest_divide(m->node, at, left, &s, BINS[f]);
    grow_forest(seed, m, left, depth - 1, features, k);
    grow_forest(seed, m, left + 1, depth - 1, features, k);
}

static void compare_forest(size_t features, size_t k)
{
    static forest m;
    static uint8_t bin[FEATURES][ROWS];
    uint8_t *bins[FEATURES];
    uint64_t seed = 2 + features + k;
    memset(&m, 0, sizeof m);
    fill_rows(&seed, bin);
    for (size_t f = 0; f < FEATURES; f++)
        bins[f] = bin[f];
    for (size_t t = 0; t < TREES; t++) { /* the first is a leaf alone */
        m.root[t] = m.nodes++;
        grow_forest(&seed, &m, m.root[t], t == 0 ? 0 : 3 + t / 4, features, k);
    }
    cr_assert_lt(m.nodes + 100, MOST);
    tab_forest_walks w = { m.node, m.root, m.value, TREES, k, features > NUMBERS };
    for (size_t n = 1; n <= ROWS; n += n < 20 ? 1 : 48) {
        float sum[ROWS * 4], want[ROWS * 4];
        uint32_t row[ROWS];
        for (size_t i = 0; i < n; i++) { /* rows of any order */
            row[i] = (uint32_t)((i * 7 + 3) % ROWS);
            for (size_t j = 0; j < 4; j++)
                sum[i * 4 + j] = want[i * 4 + j] = 0.5f;
            for (size_t t = 0; t < TREES; t++) {
                uint32_t at = m.root[t];
                while (m.split[at].feature >= 0)
                    at = m.node[at].left +
                         !tab_forest_goes_left(&m.split[at], bin[m.split[at].feature][row[i]]);
                for (size_t j = 0; j < k; j++)
                    want[i * 4 + j] += m.value[m.node[at].left + j];
            }
        }
        tab_forest_add(&w, bins, row, n, sum, 4);
        for (size_t i = 0; i < n * 4; i++)
            cr_expect(sum[i] == want[i], "%zu features, value %zu of row %zu of %zu", features, i % 4, i / 4,
                      n);
    }
}

Test(walks, forest_answers_as_plain_walks)
{
    compare_forest(NUMBERS, 1);
    compare_forest(FEATURES, 1);
    compare_forest(FEATURES, 3);
}
