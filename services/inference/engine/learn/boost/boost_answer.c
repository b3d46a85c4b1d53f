/* See boost.h: the margins of new rows by the grown trees (decision 0377).
 *
 * Few rows walk down a tree, eight side by side. Many rows are led down it node by node: every row has the
 * byte of the node where it stands, and each inner node, parents before children, moves on those that stand
 * at it. That is a comparison and a choice of bytes, 32 rows an instruction, and nothing is guessed:
 *
 *   at[i] <- at[i] == node ? (bin[i] <= cut ? left : left + 1) : at[i]
 *
 * A tree of 28 leaves has 27 inner nodes. In both forms a row gets one leaf's value a tree, tree by tree: the
 * same bits. */
#include "services/inference/engine/learn/boost/boost.h"
#include "services/inference/engine/learn/clones.h"

typedef uint8_t bytes __attribute__((vector_size(TAB_TREE_STEP)));
typedef int8_t masks __attribute__((vector_size(TAB_TREE_STEP)));
typedef uint8_t half __attribute__((vector_size(16)));
typedef int8_t half_masks __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(64)));
typedef int32_t ints __attribute__((vector_size(64)));

/* MANY: from as many rows on a tree is gone through node by node; 7 to 11 rows cost about as much both ways.
 * BLOCK: rows at a time, a multiple of TAB_TREE_STEP. */
enum { MANY = 12, BLOCK = 1024 };

/* One step down. */
static inline uint32_t step(const tab_tree_node *node, const uint64_t (*set)[4], uint32_t at,
                            const uint8_t *bin)
{
    const tab_tree_node *n = &node[at]; /* a leaf stays at itself whatever it reads */
    return n->left + !tab_goes_left(n, set, bin[n->feature & INT32_MAX]);
}

/* Eight rows walk side by side, as far as the farthest leaf: a walk alone waits for each of its loads. */
void tab_tree_add(const tab_tree_node *node, const uint64_t (*set)[4], uint32_t root, size_t depth,
                  const uint8_t *bin, size_t features, size_t n, float *out, size_t stride)
{
    enum { ROWS = 8 };
    size_t i = 0;
    for (; i + ROWS <= n; i += ROWS) {
        const uint8_t *row = bin + i * features;
        uint32_t at[ROWS] = { root, root, root, root, root, root, root, root };
        for (size_t d = 0; d < depth; d++) {
#pragma GCC unroll 8
            for (size_t k = 0; k < ROWS; k++)
                at[k] = step(node, set, at[k], row + k * features);
        }
        for (size_t k = 0; k < ROWS; k++)
            out[(i + k) * stride] += node[at[k]].value;
    }
    for (; i < n; i++) {
        uint32_t at = root;
        while (node[at].feature >= 0)
            at = step(node, set, at, bin + i * features);
        out[i * stride] += node[at].value;
    }
}

/* The inner nodes of the tree at `root`, parents first, by their place behind it. A tree's nodes stand
 * together, children in pairs behind their parent (tab_grow). */
static size_t inner_nodes(const tab_tree_node *node, uint32_t root, uint8_t *inner)
{
    size_t n = 0;
    uint32_t last = root;
    for (uint32_t i = root; i <= last; i++) {
        bool is = node[i].feature >= 0;
        inner[n] = (uint8_t)(i - root); /* a leaf's is written over */
        n += is;
        last = is && node[i].left + 1 > last ? node[i].left + 1 : last;
    }
    return n;
}

/* Rows at a node of a number go on: bin + plus <= cut to child, others to child + 1. */
TAB_CLONES static void lead_number(const uint8_t *bin, size_t room, uint8_t own, uint8_t child, uint8_t plus,
                                   uint8_t cut, uint8_t *at)
{
    for (size_t i = 0; i < room; i += TAB_TREE_STEP) {
        bytes b, stand;
        memcpy(&b, bin + i, sizeof b);
        memcpy(&stand, at + i, sizeof stand);
        masks right = b + plus > cut, here = stand == own;
        bytes to = child - (bytes)right;
        stand ^= (stand ^ to) & (bytes)here;
        memcpy(at + i, &stand, sizeof stand);
    }
}

/* table[place[i]] for each i; places below 16. */
static inline half choose(half table, half place)
{
#ifdef __clang__
    half to = { 0 };
    for (size_t i = 0; i < sizeof to; i++)
        to[i] = table[place[i]];
    return to;
#else
    return __builtin_shuffle(table, place);
#endif
}

/* The same at a node of a set of bins: a byte of the set by the bin's upper five bits, from two tables of 16,
 * then its bit by the lower three. */
TAB_CLONES static void lead_set(const uint8_t *bin, size_t room, uint8_t own, uint8_t child,
                                const uint64_t *set, uint8_t *at)
{
    const half bit = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    half low, high;
    memcpy(&low, set, sizeof low);
    memcpy(&high, set + 2, sizeof high);
    for (size_t i = 0; i < room; i += sizeof low) {
        half b, stand;
        memcpy(&b, bin + i, sizeof b);
        memcpy(&stand, at + i, sizeof stand);
        half place = b >> 3 & 15;
        half_masks upper = b > 127;
        half word = choose(low, place);
        word ^= (word ^ choose(high, place)) & (half)upper;
        half_masks right = (word & choose(bit, b & 7)) == 0, here = stand == own;
        half to = child - (half)right;
        stand ^= (stand ^ to) & (half)here;
        memcpy(at + i, &stand, sizeof stand);
    }
}

/* at (room): where the rows stand in the tree in the end. */
static void lead(const tab_tree_node *node, const uint64_t (*set)[4], uint32_t root, const uint8_t *bin,
                 size_t room, uint8_t *at)
{
    uint8_t inner[2 * TAB_TREE_LEAVES];
    size_t count = inner_nodes(node, root, inner);
    memset(at, 0, room);
    for (size_t k = 0; k < count; k++) {
        const tab_tree_node *own = &node[root + inner[k]];
        const uint8_t *b = bin + (size_t)own->feature * room;
        uint8_t child = (uint8_t)(own->left - root);
        if (own->split & TAB_SPLIT_SET)
            lead_set(b, room, inner[k], child, set[own->split ^ TAB_SPLIT_SET], at);
        else
            lead_number(b, room, inner[k], child, own->split >> 8 & 1, (uint8_t)own->split, at);
    }
}

void tab_tree_add_many(const tab_tree_node *node, const uint64_t (*set)[4], uint32_t root, const uint8_t *bin,
                       size_t room, uint8_t *at, size_t n, float *out, size_t stride)
{
    lead(node, set, root, bin, room, at);
    for (size_t i = 0; i < n; i++)
        out[i * stride] += node[root + at[i]].value;
}

/* out (n, k) += the values of a round of k trees of one shape, where the rows stand in the first of them. */
static void add_values(const tab_tree_node *node, const uint32_t *root, size_t k, const uint8_t *at, size_t n,
                       float *out)
{
    enum { PART = 64 }; /* classes at a time */
    float value[2 * TAB_TREE_LEAVES][PART];
    uint32_t nodes = root[1] - root[0];
    for (size_t from = 0; from < k; from += PART) {
        size_t own = k - from < PART ? k - from : PART;
        for (size_t j = 0; j < own; j++)
            for (uint32_t i = 0; i < nodes; i++)
                value[i][j] = node[root[from + j] + i].value;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < own; j++)
                out[i * k + from + j] += value[at[i]][j];
    }
}

/* Rows at a time: their bins lie together in a buffer, and many trees read them. */
enum { ROOM = 96 * 1024 }; /* bytes: a row of the widest table (2,000 columns) */

/* Of a round of trees of one shape a row walks down the first. bin (n, features). */
static void walk_round(const tab_boost *m, size_t round, const uint8_t *bin, size_t n, float *out)
{
    const uint32_t *root = m->root + round * m->margins;
    for (size_t i = 0; i < n; i++) {
        uint32_t at = root[0];
        while (m->node[at].feature >= 0)
            at = step(m->node, (const uint64_t(*)[4])m->set, at, bin + i * m->features);
        for (size_t k = 0; k < m->margins; k++)
            out[i * m->margins + k] += m->node[root[k] + (at - root[0])].value;
    }
}

/* Few rows: their bins row by row. */
static void add_few(const tab_boost *m, const tab_data *q, const uint32_t *row, size_t n, float *out)
{
    uint8_t bin[ROOM];
    size_t features = m->features, most = features < ROOM / 256 ? 256 : ROOM / features;
    for (size_t at = 0; at < n && most > 0; at += most) {
        size_t own = n - at < most ? n - at : most;
        for (size_t f = 0; f < features; f++)
            for (size_t i = 0; i < own; i++)
                bin[i * features + f] = q->bin[f][row[at + i]];
        for (size_t r = 0; r < m->rounds && m->shared; r++)
            walk_round(m, r, bin, own, out + at * m->margins);
        for (size_t t = 0; t < m->rounds * m->margins && !m->shared; t++)
            tab_tree_add(m->node, (const uint64_t(*)[4])m->set, m->root[t], m->depth[t], bin, features, own,
                         out + at * m->margins + t % m->margins, m->margins);
    }
}

/* Leaves with slopes: the numbers' readings of a row, or of rows side by side, come before its trees. */
enum { READINGS = 32 * 1024 }; /* floats */

/* What the leaf adds to a row of readings z (numbers): the sum of boost_slopes.h, in its order. */
static inline float sloped(const tab_tree_node *n, const tab_leaf_slopes *s, const float *z)
{
    float v = n->value;
    for (size_t j = 0; j < TAB_SLOPES; j++)
        if (s->slope[j] != 0)
            v += s->slope[j] * tab_slope_within(s, j, z[s->number[j]]);
    return v;
}

/* The same for the rows that stand at `leaf`, sixteen side by side: own (room). */
TAB_WIDE_CLONES static void add_leaf(uint8_t leaf, float value, const tab_leaf_slopes *s, const float *z,
                                     size_t room, const uint8_t *at, float *own)
{
    for (size_t i = 0; i < room; i += 16) {
        floats v = value - (floats){ 0 }, was;
        for (size_t j = 0; j < TAB_SLOPES; j++) {
            if (s->slope[j] == 0)
                continue;
            floats x, low = s->low[j] - (floats){ 0 }, high = s->high[j] - (floats){ 0 };
            memcpy(&x, z + s->number[j] * room + i, sizeof x);
            ints under = low > x;
            x = (floats)(((ints)low & under) | ((ints)x & ~under));
            ints over = high < x;
            x = (floats)(((ints)high & over) | ((ints)x & ~over));
            v += s->slope[j] * x;
        }
        half stand;
        memcpy(&stand, at + i, sizeof stand);
        memcpy(&was, own + i, sizeof was);
        ints here = __builtin_convertvector(stand, ints) == leaf;
        was = (floats)(((ints)v & here) | ((ints)was & ~here));
        memcpy(own + i, &was, sizeof was);
    }
}

static void add_sloped_row(const tab_boost *m, const tab_data *q, uint32_t row, float *out)
{
    float z[READINGS];
    for (size_t k = 0; k < m->numbers; k++)
        z[k] = tab_slope_reading(&m->number[k], q->x[m->number[k].feature][row]);
    for (size_t t = 0; t < m->rounds; t++) {
        uint32_t at = m->root[t];
        while (m->node[at].feature >= 0)
            at = m->node[at].left +
                 !tab_goes_left(&m->node[at], (const uint64_t(*)[4])m->set, q->bin[m->node[at].feature][row]);
        *out += sloped(&m->node[at], &m->slopes[at], z);
    }
}

static void add_sloped(const tab_boost *m, const tab_data *q, const uint32_t *row, size_t n, size_t most,
                       float *out)
{
    uint8_t bin[ROOM], stand[BLOCK];
    float z[READINGS], own_leaf[BLOCK];
    for (size_t at = 0; at < n; at += most) {
        size_t own = n - at < most ? n - at : most, room = (own + TAB_TREE_STEP - 1) & -TAB_TREE_STEP;
        for (size_t f = 0; f < m->features; f++) {
            for (size_t i = 0; i < own; i++)
                bin[f * room + i] = q->bin[f][row[at + i]];
            memset(bin + f * room + own, 0, room - own);
        }
        memset(z, 0, m->numbers * room * sizeof *z);
        for (size_t k = 0; k < m->numbers; k++)
            for (size_t i = 0; i < own; i++)
                z[k * room + i] = tab_slope_reading(&m->number[k], q->x[m->number[k].feature][row[at + i]]);
        for (size_t t = 0; t < m->rounds; t++) {
            const tab_tree_node *node = m->node + m->root[t];
            const tab_leaf_slopes *slopes = m->slopes + m->root[t];
            lead(m->node, (const uint64_t(*)[4])m->set, m->root[t], bin, room, stand);
            uint32_t last = 0;
            for (uint32_t k = 0; k <= last; k++)
                if (node[k].feature < 0)
                    add_leaf((uint8_t)k, node[k].value, &slopes[k], z, room, stand, own_leaf);
                else if (node[k].left + 1 - m->root[t] > last)
                    last = node[k].left + 1 - m->root[t];
            for (size_t i = 0; i < own; i++)
                out[at + i] += own_leaf[i];
        }
    }
}

/* Many rows: their bins feature by feature, `most` rows at a time. */
static void add_many(const tab_boost *m, const tab_data *q, const uint32_t *row, size_t n, size_t most,
                     float *out)
{
    uint8_t bin[ROOM], stand[BLOCK];
    for (size_t at = 0; at < n; at += most) {
        size_t own = n - at < most ? n - at : most, room = (own + TAB_TREE_STEP - 1) & -TAB_TREE_STEP;
        for (size_t f = 0; f < m->features; f++) {
            uint8_t *to = bin + f * room;
            for (size_t i = 0; i < own; i++)
                to[i] = q->bin[f][row[at + i]];
            memset(to + own, 0, room - own);
        }
        for (size_t r = 0; r < m->rounds && m->shared; r++) {
            const uint32_t *root = m->root + r * m->margins;
            lead(m->node, (const uint64_t(*)[4])m->set, root[0], bin, room, stand);
            add_values(m->node, root, m->margins, stand, own, out + at * m->margins);
        }
        for (size_t t = 0; t < m->rounds * m->margins && !m->shared; t++)
            tab_tree_add_many(m->node, (const uint64_t(*)[4])m->set, m->root[t], bin, room, stand, own,
                              out + at * m->margins + t % m->margins, m->margins);
    }
}

void tab_boost_margins(const tab_boost *m, const tab_data *q, const uint32_t *row, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * m->margins, m->base, m->margins * sizeof *out);
    size_t most = ROOM / (m->features + 1) & -TAB_TREE_STEP;
    if (m->slopes != NULL) {
        size_t fit = READINGS / m->numbers & -TAB_TREE_STEP;
        most = fit < most ? fit : most;
        if (n >= MANY && most > 0)
            add_sloped(m, q, row, n, most < BLOCK ? most : BLOCK, out);
        for (size_t i = 0; (n < MANY || most == 0) && i < n; i++)
            add_sloped_row(m, q, row[i], &out[i]);
    } else if (n >= MANY && most > 0)
        add_many(m, q, row, n, most < BLOCK ? most : BLOCK, out);
    else
        add_few(m, q, row, n, out);
}
