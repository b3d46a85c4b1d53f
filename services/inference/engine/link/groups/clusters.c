#include "services/inference/engine/link/groups/clusters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int likeliest_first(const void *a, const void *b)
{
    const tab_match *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int in_order(const void *a, const void *b)
{
    const tab_match *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* Rows of all tables are nodes; first[t] is the first node of table t. */
typedef struct {
    const tab_views *v;
    const tab_linkage *links;
    const tab_twins *twins; /* (tables), or NULL */
    uint32_t *up, *next, *table, *first;
    uint32_t *link_of; /* (tables, tables) index of the pair's link, smaller table first */
    bool *repeats;     /* (tables) an entity may have several rows of the table */
    bool *learned;     /* (tables) and which of them are one is known by a model */
    uint32_t **from;   /* (links) (rows of a + 1) where a row's candidates start */
    tab_match *match;  /* all of at least the threshold, likeliest first */
    size_t matches;
    double least; /* log-odds from which a pair is reported; of 0.5 where the threshold is higher */
} forest;

static double log_odds(double p)
{
    p = fmin(fmax(p, 1e-9), 1 - 1e-9);
    return log(p / (1 - p));
}

static void forest_free(forest *f, size_t links)
{
    for (size_t l = 0; f->from != NULL && l < links; l++)
        free(f->from[l]);
    free(f->from);
    free(f->up);
    free(f->next);
    free(f->table);
    free(f->first);
    free(f->link_of);
    free(f->repeats);
    free(f->learned);
    free(f->match);
}

static bool forest_new(forest *f, const tab_views *v, const tab_linkage *links, size_t n_links,
                       const tab_twins *twins, double threshold)
{
    size_t nodes = v->total_rows, n = 0;
    for (size_t l = 0; l < n_links; l++)
        for (size_t i = 0; i < links[l].c.n; i++)
            n += links[l].c.kept[i] && (double)links[l].c.p[i] >= threshold;
    *f = (forest){ .v = v,
                   .links = links,
                   .twins = twins,
                   .up = malloc((nodes + 1) * 4),
                   .next = malloc((nodes + 1) * 4),
                   .table = malloc((nodes + 1) * 4),
                   .first = malloc((v->n + 1) * 4),
                   .link_of = malloc((v->n * v->n + 1) * 4),
                   .repeats = calloc(v->n + 1, 1),
                   .learned = calloc(v->n + 1, 1),
                   .from = calloc(n_links + 1, sizeof *f->from),
                   .match = malloc((n + 1) * sizeof *f->match) };
    if (!f->up || !f->next || !f->table || !f->first || !f->link_of || !f->repeats || !f->learned ||
        !f->from || !f->match)
        return false;
    f->least = log_odds(fmin(threshold, 0.5));
    uint32_t node = 0;
    for (uint32_t t = 0; t < v->n; t++) {
        f->first[t] = node;
        for (size_t r = 0; r < v->table[t].rows; r++, node++) {
            f->up[node] = f->next[node] = node;
            f->table[node] = t;
        }
    }
    f->first[v->n] = node;
    for (size_t l = 0; l < n_links; l++) {
        const tab_candidates *c = &links[l].c;
        size_t ta = links[l].ta, tb = links[l].tb, rows = v->table[ta].rows;
        f->link_of[ta * v->n + tb] = f->link_of[tb * v->n + ta] = (uint32_t)l;
        f->repeats[ta] = f->repeats[ta] || links[l].many_a || links[l].learned;
        f->repeats[tb] = f->repeats[tb] || links[l].many_b || links[l].learned;
        f->learned[ta] = f->learned[ta] || links[l].learned;
        f->learned[tb] = f->learned[tb] || links[l].learned;
        f->from[l] = calloc(rows + 2, 4);
        if (f->from[l] == NULL)
            return false;
        for (size_t i = 0; i < c->n; i++)
            f->from[l][c->a[i] + 1]++;
        for (size_t r = 0; r < rows; r++)
            f->from[l][r + 1] += f->from[l][r];
        for (size_t i = 0; i < c->n; i++)
            if (c->kept[i] && (double)c->p[i] >= threshold)
                f->match[f->matches++] =
                    (tab_match){ (uint32_t)ta, (uint32_t)tb, c->a[i], c->b[i], (uint32_t)l, c->p[i] };
    }
    qsort(f->match, f->matches, sizeof *f->match, likeliest_first);
    return true;
}

static void join(forest *f, uint32_t x, uint32_t y)
{
    uint32_t rx = tab_root(f->up, x), ry = tab_root(f->up, y);
    f->up[rx > ry ? rx : ry] = rx > ry ? ry : rx;
    tab_splice(f->next, x, y);
}

/* ---- what speaks for two groups being one ---------------------------------------------------- */

/* Log-odds of two rows of one table, as far as it is known: the sum of them over a group's pairs is what
 * duplicates.c goes by too. */
static double twin_weight(const forest *f, uint32_t x, uint32_t y)
{
    static const double MOST = 4;
    size_t t = f->table[x];
    const tab_twin_pairs *s = f->twins == NULL ? NULL : f->twins[t].pairs;
    if (s == NULL || s->n == 0)
        return -MOST;
    uint32_t a = x - f->first[t], b = y - f->first[t];
    for (uint64_t k = s->at[a]; k < s->at[a + 1]; k++) {
        uint32_t i = s->pair[k];
        if (s->a[i] == b || s->b[i] == b)
            return fmin(fmax(log_odds((double)s->p[i]), -MOST), MOST);
    }
    return 0;
}

/* Log-odds of two rows of different tables: of a kept pair by its probability; of another by its evidence,
 * which speaks against at most as far as a sure match speaks for, and hardly for: the assignment passed it
 * over. */
static double pair_weight(const forest *f, uint32_t x, uint32_t y)
{
    static const double MOST = 4, HARDLY = 0.5;
    if (f->table[x] > f->table[y]) {
        uint32_t t = x;
        x = y;
        y = t;
    }
    const tab_linkage *l = &f->links[f->link_of[f->table[x] * f->v->n + f->table[y]]];
    uint32_t a = x - f->first[l->ta], b = y - f->first[l->tb];
    const uint32_t *from = f->from[l - f->links];
    for (uint32_t i = from[a]; i < from[a + 1]; i++)
        if (l->c.b[i] == b && l->c.kept[i])
            return fmin(fmax(log_odds((double)l->c.p[i]) - f->least, -MOST), MOST);
    double sum = -l->log_none;
    for (size_t k = 0; k < l->attrs; k++) {
        tab_agreement g = tab_agree(f->v, &f->v->table[l->ta], &f->v->table[l->tb], &l->attr[k], a, b, NULL);
        sum += tab_evidence(l, k, &g);
    }
    return fmin(fmax(sum, -MOST), HARDLY);
}

/* The same where a model knows the pairs (decision 0376): rows of one table say less than those of two, whose
 * model knows more, and a pair that is not among the nearest speaks a little against. */
static double known_weight(const forest *f, uint32_t x, uint32_t y)
{
    static const double MOST = 4, OWN = 0.3, FAR = -0.2;
    if (f->table[x] == f->table[y]) {
        double w = twin_weight(f, x, y);
        return w == 0 ? FAR : OWN * w;
    }
    if (f->table[x] > f->table[y]) {
        uint32_t t = x;
        x = y;
        y = t;
    }
    const tab_linkage *l = &f->links[f->link_of[f->table[x] * f->v->n + f->table[y]]];
    const uint32_t *from = f->from[l - f->links], b = y - f->first[l->tb];
    uint32_t lo = from[x - f->first[l->ta]], end = from[x - f->first[l->ta] + 1];
    for (uint32_t hi = end; lo < hi;) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (l->c.b[mid] < b)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == end || l->c.b[lo] != b || !l->c.kept[lo])
        return FAR;
    return fmin(fmax(log_odds((double)l->c.p[lo]) - f->least, -MOST), MOST);
}

/* Whether what is known of the pairs between the groups of x and y speaks for their being one entity. */
static bool known_to_join(const forest *f, uint32_t x, uint32_t y)
{
    enum { PAIRS = 256 };
    double sum = 0;
    int left = PAIRS;
    uint32_t i = x, j = y;
    do {
        do {
            if (f->table[i] == f->table[j] && !f->repeats[f->table[i]])
                return false;
            sum += known_weight(f, i, j);
            j = f->next[j];
        } while (j != y && --left > 0);
        j = y;
        i = f->next[i];
    } while (i != x && --left > 0);
    return sum > 0;
}

/* Whether the groups of x and y may be one entity: no table has rows in both, but one whose rows repeat,
 * and the sum of the weights of their pairs is not negative. */
static bool may_join(const forest *f, uint32_t x, uint32_t y)
{
    enum { PAIRS = 64 };
    double sum = 0;
    int left = PAIRS;
    uint32_t i = x, j = y;
    do {
        do {
            if (f->table[i] != f->table[j])
                sum += left-- > 0 ? pair_weight(f, i, j) : 0;
            else if (!f->repeats[f->table[i]])
                return false;
            else if (f->learned[f->table[i]])
                sum += left-- > 0 ? twin_weight(f, i, j) : 0;
            j = f->next[j];
        } while (j != y);
        i = f->next[i];
    } while (i != x);
    return sum >= 0;
}

/* Keeps of the matches, into ret, those that join groups or lie within one; in many-to-many data that the
 * rules know all. */
static void grow(forest *f, const tab_twins *twins, tab_match *ret, size_t *ret_n)
{
    for (size_t t = 0; twins != NULL && t < f->v->n; t++)
        for (size_t i = 0; i < twins[t].n; i++) {
            uint32_t x = f->first[t] + twins[t].twin[i].a, y = f->first[t] + twins[t].twin[i].b;
            if (twins[t].twin[i].sure && tab_root(f->up, x) != tab_root(f->up, y))
                join(f, x, y);
        }
    for (size_t i = 0; i < f->matches; i++) {
        const tab_match *m = &f->match[i];
        const tab_linkage *l = &f->links[m->link];
        uint32_t x = f->first[m->ta] + m->a, y = f->first[m->tb] + m->b;
        bool one = tab_root(f->up, x) == tab_root(f->up, y);
        if (!one && (l->learned ? known_to_join(f, x, y) : may_join(f, x, y))) {
            join(f, x, y);
            one = true;
        }
        if (one || (l->many_a && l->many_b && !l->learned))
            ret[(*ret_n)++] = *m;
    }
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* Rows of an entity whose pairs are all looked at, in tables of up to SMALL rows in all and in larger ones:
 * the work is their cube. */
enum { SMALL = 40000, MANY = 160, FEW = 32 };

typedef struct {
    uint32_t entity, x, y;
    float p;
} edge;

static int by_entity(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->entity != y->entity)
        return x->entity < y->entity ? -1 : 1;
    if (x->x != y->x)
        return x->x < y->x ? -1 : 1;
    return (x->y > y->y) - (x->y < y->y);
}

/* Scratch: of the pairs of an entity's rows. */
typedef struct {
    float p[MANY][MANY];
    bool said[MANY][MANY];
} chains;

/* Pairs of an entity's rows that no link reported, as likely as the likeliest chain of pairs that leads
 * there. */
static size_t follow(const forest *f, const uint32_t *node, size_t n, const edge *e, size_t edges,
                     double threshold, chains *c, tab_match *out)
{
    float(*p)[MANY] = c->p;
    bool(*said)[MANY] = c->said;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        memset(p[i], 0, n * sizeof p[i][0]);
        memset(said[i], 0, n * sizeof said[i][0]);
    }
    for (size_t k = 0; k < edges; k++) {
        size_t i = 0, j = 0;
        while (node[i] != e[k].x)
            i++;
        while (node[j] != e[k].y)
            j++;
        p[i][j] = p[j][i] = e[k].p;
        said[i][j] = said[j][i] = true;
    }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                p[i][j] = fmaxf(p[i][j], p[i][k] * p[k][j]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            uint32_t ta = f->table[node[i]], tb = f->table[node[j]];
            if (ta != tb && !said[i][j] && (double)p[i][j] >= threshold)
                out[count++] = (tab_match){
                    ta,     tb, node[i] - f->first[ta], node[j] - f->first[tb], f->link_of[ta * f->v->n + tb],
                    p[i][j]
                };
        }
    return count;
}

/* Pairs that follow from others, of all entities; NULL: out of memory. */
static tab_match *follow_all(const forest *f, const tab_entities *n, edge *e, size_t edges, double threshold,
                             size_t *ret_n)
{
    size_t most = 0, limit = f->v->total_rows <= SMALL ? MANY : FEW;
    for (size_t i = 0; i < n->n; i++) {
        size_t k = n->at[i + 1] - n->at[i];
        most += k > 2 && k <= limit ? k * (k - 1) / 2 : 0;
    }
    tab_match *out = malloc((most + 1) * sizeof *out);
    chains *c = malloc(sizeof *c);
    if (c == NULL) {
        free(out);
        out = NULL;
    }
    qsort(e, edges, sizeof *e, by_entity);
    for (size_t i = 0, k = 0; out != NULL && i < n->n; i++) {
        size_t from = k, rows = n->at[i + 1] - n->at[i];
        while (k < edges && e[k].entity == i)
            k++;
        if (rows < 3 || rows > limit)
            continue;
        uint32_t node[MANY];
        for (size_t r = 0; r < rows; r++)
            node[r] = f->first[n->member[n->at[i] + r].table] + n->member[n->at[i] + r].row;
        *ret_n += follow(f, node, rows, e + from, k - from, threshold, c, out + *ret_n);
    }
    free(c);
    return out;
}

/* ---- in order -------------------------------------------------------------------------------- */

/* Numbers the entities by their first row, in table order. entity: (nodes) filled. */
static bool number_entities(const forest *f, tab_arena *out, tab_entities *n, uint32_t *entity)
{
    size_t nodes = f->v->total_rows, count = 0;
    for (uint32_t i = 0; i < nodes; i++)
        count += tab_root(f->up, i) == i;
    n->row = tab_arena_new_of(out, uint32_t, count * f->v->n);
    n->confidence = tab_arena_new_of(out, double, count);
    n->at = tab_arena_new_of(out, size_t, count + 1);
    n->member = tab_arena_new_of(out, tab_member, nodes);
    if (n->row == NULL || n->confidence == NULL || n->at == NULL || n->member == NULL)
        return false;
    for (size_t i = 0; i < count * f->v->n; i++)
        n->row[i] = TAB_NULL;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t r = tab_root(f->up, i); /* the smallest of its group */
        if (r == i) {
            n->confidence[n->n] = 1;
            entity[i] = (uint32_t)n->n++;
        }
        entity[i] = entity[r];
        n->at[entity[i] + 1]++;
    }
    for (size_t k = 0; k < n->n; k++)
        n->at[k + 1] += n->at[k];
    for (uint32_t i = nodes > 0 ? (uint32_t)nodes : 0;
         i-- > 0;) { /* from the last, so that at[] ends where it starts */
        uint32_t k = entity[i], t = f->table[i], row = i - f->first[t];
        n->member[--n->at[k + 1]] = (tab_member){ t, row };
        n->row[k * f->v->n + t] = row;
    }
    memmove(n->at, n->at + 1, n->n * sizeof *n->at);
    n->at[n->n] = nodes;
    return true;
}

tab_status tab_clusters_build(const tab_views *v, const tab_linkage *links, size_t n_links,
                              const tab_twins *twins, double threshold, tab_arena *out, tab_clusters *ret,
                              tab_error *err)
{
    forest f;
    size_t nodes = v->total_rows, edges = 0, twin = 0, more = 0;
    for (size_t t = 0; twins != NULL && t < v->n; t++)
        twin += twins[t].n;
    tab_entities n = { 0 };
    *ret = (tab_clusters){ 0 };
    bool ok = forest_new(&f, v, links, n_links, twins, threshold);
    tab_match *kept = ok ? malloc((f.matches + 1) * sizeof *kept) : NULL, *follows = NULL;
    edge *e = ok ? malloc((f.matches + twin + 1) * sizeof *e) : NULL;
    uint32_t *entity = malloc((nodes + 1) * 4);
    bool *used = calloc(nodes + 1, 1);
    size_t matches = 0;
    ok = ok && kept != NULL && e != NULL && entity != NULL && used != NULL;
    if (ok) {
        grow(&f, twins, kept, &matches);
        ok = number_entities(&f, out, &n, entity);
    }
    for (size_t i = 0; ok && i < matches; i++) {
        uint32_t x = f.first[kept[i].ta] + kept[i].a, y = f.first[kept[i].tb] + kept[i].b;
        used[x] = used[y] = true;
        if (entity[x] == entity[y])
            e[edges++] = (edge){ entity[x], x, y, kept[i].p };
    }
    for (size_t t = 0; ok && twins != NULL && t < v->n; t++)
        for (size_t i = 0; i < twins[t].n; i++) {
            uint32_t x = f.first[t] + twins[t].twin[i].a, y = f.first[t] + twins[t].twin[i].b;
            if (entity[x] == entity[y])
                e[edges++] = (edge){ entity[x], x, y, twins[t].twin[i].p };
        }
    for (size_t i = 0; ok && i < edges; i++)
        n.confidence[e[i].entity] = fmin(n.confidence[e[i].entity], (double)e[i].p);
    if (ok) {
        follows = follow_all(&f, &n, e, edges, threshold, &more);
        ret->match = tab_arena_new_of(out, tab_match, matches + more);
        ok = follows != NULL && ret->match != NULL;
    }
    if (ok) {
        memcpy(ret->match, kept, matches * sizeof *kept);
        memcpy(ret->match + matches, follows, more * sizeof *follows);
        ret->matches = matches + more;
        qsort(ret->match, ret->matches, sizeof *ret->match, in_order);
        for (uint32_t i = 0; i < nodes; i++) {
            const tab_member *m = &n.member[n.at[entity[i]]];
            ret->linked += used[i] || m->table != n.member[n.at[entity[i] + 1] - 1].table;
        }
        ret->entities = n;
    }
    free(kept);
    free(follows);
    free(e);
    free(entity);
    free(used);
    forest_free(&f, n_links);
    return ok ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "out of memory");
}
