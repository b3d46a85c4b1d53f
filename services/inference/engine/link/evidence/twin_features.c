/* See twin_pairs.h: the numbers that the trees read. Each is the same whichever row comes first. */
#include <math.h>

#include "services/inference/engine/link/evidence/twin_pairs.h"

static float least(double x, double y)
{
    return (float)(x < y ? x : y);
}

static float most(double x, double y)
{
    return (float)(x > y ? x : y);
}

/* ---- words and 3-grams of the whole rows ------------------------------------------------------- */

typedef struct {
    double dot, shared[2], all[2]; /* squares of weights: shared and all, by row */
} overlap;

/* Words that a row alone holds. */
typedef struct {
    double words, codes, numbers, code_rare, known_rare;
} own_words;

static void take_own(const tab_twin_pairs *s, uint32_t id, own_words *o)
{
    enum { KNOWN = 3 }; /* rows: a misspelling is in fewer */
    double rare = (double)s->v->rarity[id];
    if (s->term[id] == TAB_TERM_CODE) {
        o->codes++;
        o->code_rare = fmax(o->code_rare, rare);
    } else if (s->term[id] == TAB_TERM_NUMBER) {
        o->numbers++;
    } else {
        o->words++;
        if (s->v->df[id] >= KNOWN)
            o->known_rare = fmax(o->known_rare, rare);
    }
}

static double part(double shared, double all)
{
    return all > 0 ? shared / all : 0;
}

static void whole_rows(const tab_twin_pairs *s, uint32_t a, uint32_t b, float *x)
{
    const tab_sparse *w = s->whole[0], *w2 = s->whole[1];
    uint64_t i = w->at[a], in = w->at[a + 1], j = w2->at[b], jn = w2->at[b + 1];
    overlap o[2] = { { 0 } }; /* words, 3-grams */
    own_words own[2] = { { 0 } };
    double codes = 0, code_rare = 0, word_rare = 0, words_rare = 0;
    while (i < in || j < jn) {
        uint32_t p = i < in ? w->id[i] : UINT32_MAX, q = j < jn ? w2->id[j] : UINT32_MAX;
        uint32_t id = p < q ? p : q;
        if (id < s->v->terms && s->term[id] == TAB_TERM_RUNNING) {
            i += p == id;
            j += q == id;
            continue;
        }
        overlap *k = &o[id >= s->v->terms];
        double wa = p == id ? (double)w->w[i] : 0, wb = q == id ? (double)w2->w[j] : 0;
        k->all[0] += wa * wa;
        k->all[1] += wb * wb;
        if (p == q) {
            k->dot += wa * wb;
            k->shared[0] += wa * wa;
            k->shared[1] += wb * wb;
        }
        if (id < s->v->terms && p != q) {
            take_own(s, id, &own[q == id]);
        } else if (id < s->v->terms) {
            double rare = (double)s->v->rarity[id];
            word_rare = fmax(word_rare, rare);
            words_rare += fmax(0, rare - 2.5);
            codes += s->term[id] == TAB_TERM_CODE;
            if (s->term[id] == TAB_TERM_CODE)
                code_rare = fmax(code_rare, rare);
        }
        i += p == id;
        j += q == id;
    }
    x[TAB_TWIN_COSINE] = (float)(o[0].dot + o[1].dot);
    for (int k = 0; k < 2; k++) {
        double held = part(o[k].shared[0], o[k].all[0]), back = part(o[k].shared[1], o[k].all[1]);
        x[k == 0 ? TAB_TWIN_WORDS : TAB_TWIN_GRAMS] = (float)part(o[k].dot, sqrt(o[k].all[0] * o[k].all[1]));
        x[k == 0 ? TAB_TWIN_HELD : TAB_TWIN_GRAMS_HELD] = most(held, back);
        x[k == 0 ? TAB_TWIN_HELD_LEAST : TAB_TWIN_GRAMS_LEAST] = least(held, back);
    }
    x[TAB_TWIN_CODES] = (float)codes;
    x[TAB_TWIN_CODES_LEFT] = least(own[0].codes, own[1].codes);
    x[TAB_TWIN_CODES_MORE] = most(own[0].codes, own[1].codes);
    x[TAB_TWIN_CODE_RARE] = (float)code_rare;
    x[TAB_TWIN_CODE_APART] = least(own[0].code_rare, own[1].code_rare);
    x[TAB_TWIN_DIGITS_LEFT] = least(own[0].numbers, own[1].numbers);
    x[TAB_TWIN_WORD_RARE] = (float)word_rare;
    x[TAB_TWIN_WORDS_RARE] = (float)words_rare;
    x[TAB_TWIN_KNOWN_APART] = least(own[0].known_rare, own[1].known_rare);
    x[TAB_TWIN_LEFT] = least(own[0].words, own[1].words);
    x[TAB_TWIN_LEFT_MORE] = most(own[0].words, own[1].words);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The two least and the two greatest of what is put in. */
typedef struct {
    double low[2], high[2], sum;
} extremes;

static void put(extremes *m, double e)
{
    m->sum += e;
    if (e < m->low[0]) {
        m->low[1] = m->low[0];
        m->low[0] = e;
    } else if (e < m->low[1]) {
        m->low[1] = e;
    }
    if (e > m->high[0]) {
        m->high[1] = m->high[0];
        m->high[0] = e;
    } else if (e > m->high[1]) {
        m->high[1] = e;
    }
}

static const tab_value *value_at(const tab_twin_pairs *s, size_t attr, int side, uint32_t row)
{
    const tab_attribute *t = &s->l.attr[attr];
    const tab_view *w = &s->t[side]->col[side ? t->b : t->a];
    return w->code[row] == TAB_NULL ? NULL : &w->value[w->code[row]];
}

/* Names that differ: each is known from another row, so that neither is the other misspelt. */
static void named_apart(const tab_twin_pairs *s, size_t attr, const tab_value *p, const tab_value *q,
                        float *x)
{
    double rows = log((double)(p->rows < q->rows ? p->rows : q->rows));
    double like = tab_edit_similarity(tab_value_text(s->v, p), tab_value_text(s->v, q));
    x[TAB_TWIN_NAMED_APART] = most((double)x[TAB_TWIN_NAMED_APART], rows);
    if (p->rows < 2 || q->rows < 2)
        return;
    x[TAB_TWIN_NAMED_TELLS] = most((double)x[TAB_TWIN_NAMED_TELLS], (double)s->entropy[attr]);
    x[TAB_TWIN_NAMED_LIKE] = least((double)x[TAB_TWIN_NAMED_LIKE], like);
}

/* How rare the equal values are together, and what is usual among rows that share the rarest of them. */
static void jointly(const tab_twin_pairs *s, const tab_agreement *g, float *x)
{
    enum { FAR = 7 };
    size_t n = s->l.attrs, rarest = n, equal = 0;
    double low = 0, high = 0, usual = 0;
    for (size_t k = 0; k < n; k++) {
        if (g[k].level != TAB_EQUAL)
            continue;
        double e = -(double)g[k].rare;
        for (size_t q = 0; q < n; q++)
            if (q != k && g[q].level == TAB_EQUAL)
                e -= log((double)s->joint[k * n + q]);
        low = equal == 0 ? e : fmin(low, e);
        high = equal == 0 ? e : fmax(high, e);
        equal++;
        if (rarest == n || g[k].rare < g[rarest].rare)
            rarest = k;
    }
    double rows = log(0.5 * (double)(s->t[0]->rows + s->t[1]->rows)), apart = 1;
    for (size_t q = 0; q < n && rarest < n; q++) {
        double p = (double)s->joint[rarest * n + q];
        if (g[q].level == TAB_EQUAL && q != rarest)
            usual += p / (double)(equal - 1);
        else if (g[q].level >= FAR)
            apart = fmin(apart, p);
    }
    x[TAB_TWIN_JOINT] = (float)(low - rows);
    x[TAB_TWIN_JOINT_MOST] = (float)(high - rows);
    x[TAB_TWIN_APART_USUAL] = (float)apart;
    x[TAB_TWIN_EQUAL_USUAL] = (float)usual;
}

/* What numbers and dates of a pair of rows say. */
typedef struct {
    double numbers, level, same, far, dates;
} measured;

static void measure(const tab_twin_pairs *s, size_t k, const tab_agreement *g, measured *m)
{
    enum { FARTHER = 6 }; /* a level */
    bool is = g->level == TAB_EQUAL;
    if (s->l.attr[k].numeric) {
        m->numbers++;
        m->level += g->level;
        m->same += is;
        m->far += g->level >= FARTHER;
    }
    if (s->t[0]->col[s->l.attr[k].a].kind == TAB_VIEW_DATE)
        m->dates += is ? -1 : 1;
}

static void columns(const tab_twin_pairs *s, size_t pair, float *x)
{
    enum { NEARLY = 4, FAR = 7 }; /* levels */
    uint32_t a = s->a[pair], b = s->b[pair];
    const tab_agreement *g = s->agree + pair * s->l.attrs;
    extremes e = { { 0, 0 }, { 0, 0 }, 0 };
    measured n = { 0 };
    double both = 0, equal = 0, alike = 0, apart = 0, missing = 0, bits = 0, equal_bits = 0, apart_bits = 0;
    double top = 1e-9, apart_tells = 0, equal_tells = 0, rarest = 0, rare = 0;
    x[TAB_TWIN_NAMED_APART] = 0;
    x[TAB_TWIN_NAMED_TELLS] = 0;
    x[TAB_TWIN_NAMED_LIKE] = 1;
    for (size_t k = 0; k < s->l.attrs; k++) {
        const tab_value *p = value_at(s, k, 0, a), *q = value_at(s, k, 1, b);
        double h = (double)s->entropy[k];
        top = fmax(top, h);
        if (p == NULL || q == NULL) {
            missing += p != q;
            continue;
        }
        put(&e, tab_evidence(&s->l, k, &g[k]));
        both++;
        bits += h;
        bool is = g[k].level == TAB_EQUAL, differs = g[k].level >= FAR;
        if (is) {
            double r = -(double)g[k].rare;
            equal++;
            equal_bits += h;
            equal_tells = fmax(equal_tells, h);
            rare += r;
            rarest = fmax(rarest, r);
        }
        alike += !is && g[k].level <= NEARLY;
        if (differs) {
            apart++;
            apart_bits += h;
            apart_tells = fmax(apart_tells, h);
        }
        measure(s, k, &g[k], &n);
        if (!is && !s->l.attr[k].numeric)
            named_apart(s, k, p, q, x);
    }
    x[TAB_TWIN_EVIDENCE] = s->evidence[pair];
    x[TAB_TWIN_WORST] = (float)e.low[0];
    x[TAB_TWIN_WORST_NEXT] = (float)e.low[1];
    x[TAB_TWIN_BEST] = (float)e.high[0];
    x[TAB_TWIN_BEST_NEXT] = (float)e.high[1];
    x[TAB_TWIN_EVIDENCE_MEAN] = (float)part(e.sum, both);
    x[TAB_TWIN_BOTH] = (float)both;
    x[TAB_TWIN_EQUAL] = (float)equal;
    x[TAB_TWIN_ALIKE] = (float)alike;
    x[TAB_TWIN_APART] = (float)apart;
    x[TAB_TWIN_MISSING] = (float)missing;
    x[TAB_TWIN_EQUAL_SHARE] = (float)part(equal, both);
    x[TAB_TWIN_EQUAL_BITS] = (float)part(equal_bits, bits);
    x[TAB_TWIN_APART_BITS] = (float)part(apart_bits, bits);
    x[TAB_TWIN_APART_TELLS] = (float)(apart_tells / top);
    x[TAB_TWIN_EQUAL_TELLS] = (float)(equal_tells / top);
    x[TAB_TWIN_CHANCE] =
        (float)(rarest + 0.6 * (rare - rarest) - log(0.5 * (double)(s->t[0]->rows + s->t[1]->rows)));
    x[TAB_TWIN_RAREST] = (float)rarest;
    jointly(s, g, x);
    x[TAB_TWIN_NUMBERS] = (float)part(n.level, n.numbers);
    x[TAB_TWIN_NUMBERS_EQUAL] = (float)n.same;
    x[TAB_TWIN_NUMBERS_APART] = (float)n.far;
    x[TAB_TWIN_DATES_APART] = (float)n.dates;
}

/* ---- rivals ---------------------------------------------------------------------------------- */

/* How a pair stands among those of one of its rows, by the score of each. */
typedef struct {
    double rank, lead, mean;
} standing;

static standing stand(const tab_twin_pairs *s, const float *score, size_t pair, size_t row)
{
    double rival = 0, above = 0, sum = 0, n = (double)(s->at[row + 1] - s->at[row]);
    bool some = false;
    for (uint64_t k = s->at[row]; k < s->at[row + 1]; k++) {
        uint32_t q = s->pair[k];
        sum += (double)score[q];
        if (q == pair)
            continue;
        rival = some ? fmax(rival, (double)score[q]) : (double)score[q];
        above += score[q] > score[pair];
        some = true;
    }
    return (standing){ above, some ? (double)score[pair] - rival : 0, (double)score[pair] - sum / n };
}

static void rivals(const tab_twin_pairs *s, size_t pair, float *x)
{
    uint32_t a = s->a[pair], b = tab_twin_node(s, pair);
    standing p = stand(s, s->cosine, pair, a), q = stand(s, s->cosine, pair, b);
    x[TAB_TWIN_RANK] = least(p.rank, q.rank);
    x[TAB_TWIN_RANK_WORSE] = most(p.rank, q.rank);
    x[TAB_TWIN_LEAD] = most(p.lead, q.lead);
    x[TAB_TWIN_LEAD_LEAST] = least(p.lead, q.lead);
    p = stand(s, s->evidence, pair, a);
    q = stand(s, s->evidence, pair, b);
    x[TAB_TWIN_RANK_EVIDENCE] = least(p.rank, q.rank);
    x[TAB_TWIN_RANK_EVIDENCE_WORSE] = most(p.rank, q.rank);
    x[TAB_TWIN_LEAD_EVIDENCE] = most(p.lead, q.lead);
    x[TAB_TWIN_LEAD_EVIDENCE_LEAST] = least(p.lead, q.lead);
    x[TAB_TWIN_ABOVE] = most(p.mean, q.mean);
    x[TAB_TWIN_ABOVE_LEAST] = least(p.mean, q.mean);
    double pa = part((double)s->evidence[pair], fmax((double)s->self[a], 1)),
           pb = part((double)s->evidence[pair], fmax((double)s->self[b], 1));
    x[TAB_TWIN_SELF] = least(pa, pb);
    x[TAB_TWIN_SELF_MORE] = most(pa, pb);
}

void tab_twin_features(const tab_twin_pairs *s, size_t i, float *x)
{
    whole_rows(s, s->a[i], s->b[i], x);
    columns(s, i, x);
    rivals(s, i, x);
}
