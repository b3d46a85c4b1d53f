/* Makes the rows of sector/affinity.h: affinity WORDNET LEXICON OUT.
 *
 * WORDNET (/usr/share/wordnet of Debian's wordnet-base) is read as a graph without direction. Its nodes are
 * lemmas and synsets; its edges join a synset with its lemmas (1), with the synsets that it is related to
 * (1/2 for each of the two entries that say so), and with the lemmas of its gloss (1 / sqrt of the glosses
 * that hold the lemma, so that common words carry little). LEXICON's sector lists are its targets: each
 * term weighs 1 / n^1.5 for the n sectors that hold it, each sector 1 in all. A term that WordNet lacks is
 * a node without edges, whose words share the same weight again.
 *
 * A walk begins at a word and goes on with probability 0.7 after each step, four steps at most; where it ends
 * is told for all words at once by products with the matrix of steps (personalised PageRank seen from its
 * targets: Haveliwala, TKDE 2003; over WordNet: Agirre & Soroa, EACL 2009). Sums run in the order of the
 * files, in double precision: the same bytes on every machine with this compiler and C library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/lexicon/lexicon.h"
#include "services/inference/engine/sector/affinity.h"

enum { STEPS = 4, SLOTS = 1 << 18, MOST = 1 << 18, ENDS = TAB_SECTORS };
static const double GOES_ON = 0.7, RELATED = 0.5, EVEN = 0.02; /* EVEN: added to each sector's odds */
/* A row that speaks for and against no sector by more than this, in units, is left out: a third of the words
 * (decision 0678). */
static const double FLAT = 2;

/* ---- names of nodes -------------------------------------------------------------------------- */

/* Words and keys of synsets by their hash; a node's number is its place in order of first mention. */
typedef struct {
    uint64_t hash[2 * MOST];
    uint32_t id[2 * MOST], n;
} names;

static uint32_t *name_slot(names *t, tab_str s, uint64_t *hash)
{
    *hash = tab_wyhash(s.p, s.n, TAB_AFFINITY_SEED) | 1;
    size_t i = *hash >> 20 & (2 * MOST - 1);
    while (t->hash[i] != 0 && t->hash[i] != *hash)
        i = (i + 1) & (2 * MOST - 1);
    return &t->id[i];
}

/* The node of that name, made where it is new; exits where there are too many. */
static uint32_t node_of(names *t, tab_str s)
{
    uint64_t hash;
    uint32_t *slot = name_slot(t, s, &hash);
    if (t->hash[slot - t->id] == 0) {
        if (t->n == MOST) {
            fputs("too many words\n", stderr);
            exit(1);
        }
        t->hash[slot - t->id] = hash;
        *slot = t->n++;
    }
    return *slot;
}

static bool has_node(names *t, tab_str s, uint32_t *ret)
{
    uint64_t hash;
    const uint32_t *slot = name_slot(t, s, &hash);
    *ret = *slot;
    return s.n > 0 && t->hash[slot - t->id] != 0;
}

/* ---- the graph ------------------------------------------------------------------------------- */

typedef struct {
    uint32_t a, b;
    double weight;
} edge;

static names words, synsets;
static uint32_t lemmas = MOST; /* words of WordNet: the nodes before those of terms */
static char *text[MOST];       /* of words */
static edge *edges, *gloss_edges;
static size_t edge_count, edge_cap, gloss_count, gloss_cap;
static struct {
    char *form, *base;
} exception[1 << 13];
static size_t exceptions;

static void *grown(void *p, size_t n, size_t size)
{
    void *q = realloc(p, n * size);
    if (q == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return q;
}

static void join(edge **list, size_t *n, size_t *cap, edge e)
{
    if (*n == *cap)
        *list = grown(*list, *cap = *cap == 0 ? 1 << 16 : 2 * *cap, sizeof **list);
    (*list)[(*n)++] = e;
}

static uint32_t word_of(tab_str s)
{
    uint32_t before = words.n, id = node_of(&words, s);
    if (words.n > before)
        text[id] = strndup(s.p, s.n);
    return id;
}

/* The word's node, or that of the word that it is a form of. */
static bool base_of(tab_str word, uint32_t *ret)
{
    char buf[TAB_AFFINITY_LONGEST + 4];
    if (has_node(&words, word, ret))
        return true;
    for (size_t i = 0; i < exceptions; i++)
        if (tab_str_eq(word, tab_str_of(exception[i].form)) &&
            has_node(&words, tab_str_of(exception[i].base), ret))
            return true;
    for (size_t k = 1; k < TAB_AFFINITY_FORMS; k++)
        if (has_node(&words, tab_affinity_form(word, k, buf), ret))
            return true;
    return false;
}

/* ---- WordNet's files (wndb(5WN)) --------------------------------------------------------------- */

static const char *const parts[] = { "noun", "verb", "adj", "adv" };

static FILE *open_in(const char *folder, const char *before, const char *name, const char *after)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s%s%s", folder, before, name, after);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        perror(path);
        exit(1);
    }
    return f;
}

/* A lemma as values hold it: blanks for _, without the mark of an adjective's place, "(a)". */
static tab_str lemma_of(char *t, char *buf, size_t size)
{
    char *mark = strchr(t, '(');
    if (mark != NULL && mark > t)
        *mark = 0;
    for (char *p = t; *p != 0; p++)
        if (*p == '_')
            *p = ' ';
    return tab_fold(tab_str_of(t), buf, size);
}

static uint32_t synset_of(char part, const char *offset)
{
    char key[32];
    snprintf(key, sizeof key, "%c%s", part == 's' ? 'a' : part, offset);
    return node_of(&synsets, tab_str_of(key));
}

static const char *next_field(char **save)
{
    const char *t = strtok_r(NULL, " ", save);
    if (t == NULL) {
        fputs("a line of WordNet ends early\n", stderr);
        exit(1);
    }
    return t;
}

/* offset lex type count (lemma id)... count (relation offset part places)... ... | gloss */
static void read_synset(char *line, char part)
{
    char *save = NULL, buf[256], *offset = strtok_r(line, " ", &save);
    uint32_t self = synset_of(part, offset);
    next_field(&save);
    next_field(&save);
    for (long n = strtol(next_field(&save), NULL, 16); n > 0; n--) {
        char *t = (char *)(uintptr_t)next_field(&save);
        tab_str lemma = lemma_of(t, buf, sizeof buf);
        if (lemma.n > 0)
            join(&edges, &edge_count, &edge_cap, (edge){ word_of(lemma), MOST + self, 1 });
        next_field(&save);
    }
    for (long n = strtol(next_field(&save), NULL, 10); n > 0; n--) {
        next_field(&save);
        const char *to = next_field(&save);
        uint32_t other = synset_of(next_field(&save)[0], to);
        next_field(&save);
        join(&edges, &edge_count, &edge_cap, (edge){ MOST + self, MOST + other, RELATED });
    }
}

static bool is_stop(tab_str word)
{
    const tab_lexeme *x = tab_lexicon_find(word);
    return x != NULL && (x->lists >> TAB_LIST_STOP_WORD & 1) != 0;
}

/* Calls take for each lemma that the text names: pairs of words before single ones. */
static void each_word(tab_str folded, void (*take)(void *, uint32_t), void *ctx)
{
    tab_str word = tab_affinity_next(&folded);
    while (word.n > 0) {
        uint32_t id;
        tab_str next = tab_affinity_next(&folded);
        bool side = next.n > 0 && next.p == word.p + word.n + 1 && word.p[word.n] == ' ';
        if (side && has_node(&words, (tab_str){ word.p, word.n + 1 + next.n }, &id) && id < lemmas) {
            take(ctx, id);
            next = tab_affinity_next(&folded);
        } else if (!is_stop(word) && base_of(word, &id)) {
            take(ctx, id);
        }
        word = next;
    }
}

static void join_gloss(void *ctx, uint32_t word)
{
    uint32_t self = *(uint32_t *)ctx;
    for (size_t i = gloss_count; i > 0 && gloss_edges[i - 1].b == MOST + self; i--)
        if (gloss_edges[i - 1].a == word)
            return;
    join(&gloss_edges, &gloss_count, &gloss_cap, (edge){ word, MOST + self, 1 });
}

/* Definitions without their examples, which stand in quotes. */
static void read_gloss(char *line, char part)
{
    static char buf[4096];
    char *gloss = strchr(line, '|'), *save = NULL;
    if (gloss == NULL)
        return;
    *gloss++ = 0;
    gloss[strcspn(gloss, "\"")] = 0;
    uint32_t self = synset_of(part, strtok_r(line, " ", &save));
    each_word(tab_fold(tab_str_of(gloss), buf, sizeof buf), join_gloss, &self);
}

static void read_data(const char *folder, void (*take)(char *, char))
{
    char *line = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        FILE *f = open_in(folder, "data.", parts[i], "");
        while (getline(&line, &cap, f) > 0)
            if (line[0] != ' ') /* the licence */
                take(line, "nvar"[i]);
        fclose(f);
    }
    free(line);
}

static void read_exceptions(const char *folder)
{
    char form[128], base[128], line[512];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        FILE *f = open_in(folder, "", parts[i], ".exc");
        while (fgets(line, sizeof line, f) != NULL && exceptions < sizeof exception / sizeof *exception)
            if (sscanf(line, "%127s %127s", form, base) == 2) {
                exception[exceptions].form = strdup(form);
                exception[exceptions++].base = strdup(base);
            }
        fclose(f);
    }
}

static void weigh_glosses(void)
{
    double *held = calloc(MOST, sizeof *held);
    for (size_t i = 0; i < gloss_count; i++)
        held[gloss_edges[i].a]++;
    for (size_t i = 0; i < gloss_count; i++) {
        gloss_edges[i].weight = 1 / sqrt(held[gloss_edges[i].a]);
        join(&edges, &edge_count, &edge_cap, gloss_edges[i]);
    }
    free(held);
}

/* ---- where walks end ------------------------------------------------------------------------- */

typedef double ends[ENDS];

typedef struct {
    double weight;
    int sector;
} share;

static ends *target;
static uint32_t held[MOST]; /* which sectors' lists the word was found in */

static void add_target(void *ctx, uint32_t word)
{
    const share *s = ctx;
    target[word][s->sector] += s->weight;
}

static void count_word(void *ctx, uint32_t word)
{
    (void)word;
    ++*(size_t *)ctx;
}

/* Gives the term's weight to its node; where that is new, to the nodes of its words together as well. */
static void aim(tab_str term, int sector)
{
    const tab_lexeme *x = tab_lexicon_find(term);
    size_t n = 0;
    if (x == NULL || (x->sectors >> sector & 1) == 0)
        return;
    int sectors = __builtin_popcount(x->sectors);
    double weight = 1 / (sectors * sqrt(sectors));
    uint32_t id = word_of(term);
    if ((held[id] >> sector & 1) != 0) /* a list may repeat it */
        return;
    held[id] |= UINT32_C(1) << sector;
    target[id][sector] += weight;
    if (id < lemmas)
        return;
    each_word(term, count_word, &n);
    share part = { weight / (double)(n == 0 ? 1 : n), sector };
    each_word(term, add_target, &part);
}

static void read_targets(const char *folder)
{
    char *line = NULL, buf[256];
    size_t cap = 0;
    for (int s = 0; s < TAB_SECTORS; s++) {
        FILE *f = open_in(folder, "sector_", tab_sectors[s].slug, ".txt");
        while (getline(&line, &cap, f) > 0)
            for (char *save = NULL, *t = strtok_r(line, ";\n", &save); t != NULL && line[0] != '#';
                 t = strtok_r(NULL, ";\n", &save))
                aim(tab_fold(tab_str_of(t), buf, sizeof buf), s);
        fclose(f);
    }
    free(line);
    for (int s = 0; s < ENDS; s++) {
        double sum = 0;
        for (size_t i = 0; i < words.n; i++)
            sum += target[i][s];
        for (size_t i = 0; i < words.n; i++)
            target[i][s] /= sum;
    }
}

/* to[a] = the mean of from over a's neighbours, by weight. */
static void step(ends *to, const ends *from, const double *degree)
{
    memset(to, 0, 2 * (size_t)MOST * sizeof *to);
    for (size_t i = 0; i < edge_count; i++) {
        const edge *e = &edges[i];
        double ab = e->weight / degree[e->a], ba = e->weight / degree[e->b];
        for (int s = 0; s < ENDS; s++) {
            to[e->a][s] += ab * from[e->b][s];
            to[e->b][s] += ba * from[e->a][s];
        }
    }
}

static void walk(ends *sum)
{
    ends *now = calloc(2 * (size_t)MOST, sizeof *now), *then = calloc(2 * (size_t)MOST, sizeof *then);
    double *degree = calloc(2 * (size_t)MOST, sizeof *degree), far = 1;
    if (now == NULL || then == NULL || degree == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    for (size_t i = 0; i < edge_count; i++) {
        degree[edges[i].a] += edges[i].weight;
        degree[edges[i].b] += edges[i].weight;
    }
    memcpy(now, target, words.n * sizeof *now);
    memcpy(sum, target, words.n * sizeof *sum);
    for (int k = 0; k < STEPS; k++) {
        step(then, now, degree);
        far *= GOES_ON;
        for (size_t i = 0; i < words.n; i++)
            for (int s = 0; s < ENDS; s++)
                sum[i][s] += far * then[i][s];
        ends *swap = now;
        now = then;
        then = swap;
    }
    free(now);
    free(then);
    free(degree);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The word's row; false where it tells next to nothing. */
static bool row_of(const double *end, const double *mean, tab_affinity *ret)
{
    double p[ENDS], sum = 0, log_mean = 0, tells = 0;
    bool any = false;
    for (int s = 0; s < ENDS; s++)
        sum += p[s] = end[s] / mean[s] + EVEN;
    for (int s = 0; s < ENDS; s++) {
        p[s] = log(p[s] / sum);
        log_mean += p[s] / ENDS;
        tells += exp(p[s]) * (p[s] + log(ENDS));
    }
    for (int s = 0; s < ENDS; s++) {
        double x = round((p[s] - log_mean) * tells / (double)TAB_AFFINITY_UNIT);
        ret->of[s] = (int8_t)fmax(-127, fmin(127, x));
        any |= fabs(x) > FLAT;
    }
    return any;
}

/* What each slot holds, and the words' rows; 0: a slot is free. */
static struct {
    uint32_t fingerprint, row;
} slots[SLOTS];
static tab_affinity rows[MOST];
static uint32_t row_count, used;

static void put(const char *word, uint32_t row)
{
    uint64_t hash = tab_wyhash(word, strlen(word), TAB_AFFINITY_SEED);
    uint32_t f = tab_lexicon_fingerprint(hash), i = (uint32_t)hash & (SLOTS - 1);
    while (slots[i].fingerprint != 0 && slots[i].fingerprint != f)
        i = (i + 1) & (SLOTS - 1);
    if (slots[i].fingerprint != 0)
        return;
    slots[i].fingerprint = f;
    slots[i].row = row;
    if (++used > SLOTS * 2 / 3) {
        fputs("too many words for the slots\n", stderr);
        exit(1);
    }
}

static void make_rows(const ends *end)
{
    static uint32_t row[MOST];
    ends mean = { 0 };
    for (size_t i = 0; i < words.n; i++)
        for (int s = 0; s < ENDS; s++)
            mean[s] += end[i][s] / words.n;
    for (size_t i = 0; i < words.n; i++) {
        size_t n = strlen(text[i]);
        row[i] = UINT32_MAX;
        if (n < 3 || n > TAB_AFFINITY_LONGEST || !row_of(end[i], mean, &rows[row_count]))
            continue;
        put(text[i], row[i] = row_count++);
    }
    for (size_t i = 0; i < exceptions; i++) {
        uint32_t id;
        if (has_node(&words, tab_str_of(exception[i].base), &id) && row[id] != UINT32_MAX &&
            strlen(exception[i].form) >= 3)
            put(exception[i].form, row[id]);
    }
}

static bool write_rows(const char *path)
{
    static uint32_t fingerprint[SLOTS], before[SLOTS / TAB_AFFINITY_BLOCK];
    static tab_affinity in_order[SLOTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (i % TAB_AFFINITY_BLOCK == 0)
            before[i / TAB_AFFINITY_BLOCK] = n;
        fingerprint[i] = slots[i].fingerprint;
        if (slots[i].fingerprint != 0)
            in_order[n++] = rows[slots[i].row];
    }
    tab_affinity_header h = { .magic = "TABAFF2\n", .slots = SLOTS, .rows = n };
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(&h, sizeof h, 1, f) == 1 &&
              fwrite(fingerprint, sizeof fingerprint, 1, f) == 1 &&
              fwrite(before, sizeof before, 1, f) == 1 && fwrite(in_order, sizeof *in_order, n, f) == n;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    if (!ok)
        perror(path);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("usage: affinity WORDNET_FOLDER LEXICON_FOLDER OUT\n", stderr);
        return 2;
    }
    read_data(argv[1], read_synset);
    read_exceptions(argv[1]);
    read_data(argv[1], read_gloss);
    weigh_glosses();
    ends *end = calloc(MOST, sizeof *end);
    target = calloc(MOST, sizeof *target);
    if (end == NULL || target == NULL)
        return 1;
    lemmas = words.n;
    read_targets(argv[2]);
    walk(end);
    make_rows(end);
    printf("%u words, %u synsets, %zu edges; %u rows\n", words.n, synsets.n, edge_count, row_count);
    return write_rows(argv[3]) ? 0 : 1;
}
