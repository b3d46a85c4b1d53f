/* train-keys: learns which inclusions of columns are references between tables (engine/keys), from schemas
 * whose keys are known.
 *
 *   train-keys --cv DIR...         leaves out one family of schemas at a time and prints what is found in it
 *   train-keys --shipped DIR...    the same with the weights that are linked in
 *   train-keys --write FILE DIR... fits on all and writes the weights as a header
 *   train-keys --engine DIR...     all references, of several columns and within a table too, as the engine
 *                                  answers
 *   train-keys --sets DIR...       references of several columns, one family left out
 *   train-keys --sets-write FILE   fits these on all and writes their weights as a header
 *   train-keys --within DIR..., --within-write FILE   the same of references within a table
 *
 * DIR holds one folder a schema (tests/bench/keys writes them). --verbose names what is wrong and missed.
 * --not FAMILY: judges, and teaches nothing. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/keys/score.h"
#include "tools/train/keys/schemas.h"
#include "tools/train/keys/sets.h"
#include "tools/train/keys/within.h"
#include "tools/train/trees.h"

enum { SCHEMAS = 512 };
/* SAMPLE: share of the inclusions that each tree learns on. VARIED: what one of a schema that was made at
 * random weighs beside one of the others, of which there are fewer. WHOLE: a feature, KIND. */
static const float RATE = 0.1f, VARIED = 0.2f, WHOLE = 1;
static const double SAMPLE = 0.5;
/* Confidence that is counted apart. */
static const double SURE = 0.9;

static const char *const feature_name[] = {
#define TAB_X(name) #name,
    TAB_KEY_FEATURE_LIST(TAB_X) TAB_KEY_CONTEXT_LIST(TAB_X)
#undef TAB_X
};

typedef struct {
    size_t right, wrong, missed;
} tally;

enum { TEXTS, MANY, FEWER, CLASSES };
static const char *const class_name[] = { "texts", "numbers, 7 values and more", "numbers, 6 or fewer" };

/* What schemas are from. */
enum { SILENT, PUBLIC, MADE, EVERYDAY, GROUPS };
static const char *const group_name[] = { "teach nothing", "public", "made", "everyday" };

static bool verbose, nested, others;

static int group_of(const schema *s)
{
    if (strncmp(s->family, "everyday-", 9) == 0)
        return EVERYDAY;
    return s->silent ? SILENT : strncmp(s->family, "made", 4) == 0 ? MADE : PUBLIC;
}

/* Whether a schema was made at random (tests/bench/keys/varied.py). Its dates teach nothing. */
static bool is_varied(const schema *s)
{
    return strncmp(s->family, "made-varied", 11) == 0;
}

/* Whether one of the schemas is of a group. */
static bool has_group(const schema *s, size_t n, int group)
{
    bool has = false;
    for (size_t i = 0; i < n; i++)
        has = has || group_of(&s[i]) == group;
    return has;
}

static bool left_out(const schema *s, const char *without, const char *also)
{
    return s->silent || (without != NULL && strcmp(s->family, without) == 0) ||
           (also != NULL && strcmp(s->family, also) == 0);
}

/* Fits one stage on the first d features of the schemas that are of neither family. */
static bool fit(const schema *s, size_t n, size_t d, const char *without, const char *also, tab_key_stage *m)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows += left_out(&s[i], without, also) ? 0 : s[i].n;
    float *x = malloc(rows * TAB_KEY_ALL * sizeof *x), *w = malloc(rows * sizeof *w);
    uint8_t *y = malloc(rows);
    size_t k = 0;
    for (size_t i = 0; x != NULL && w != NULL && y != NULL && i < n; i++) {
        if (left_out(&s[i], without, also))
            continue;
        for (size_t q = 0; q < s[i].n; q++) {
            if (s[i].label[q] < 0 || (is_varied(&s[i]) && s[i].x[q].f[TAB_KEY_F_KIND] > WHOLE))
                continue;
            memcpy(x + k * TAB_KEY_ALL, s[i].x[q].f, sizeof s[i].x[q].f);
            y[k] = s[i].label[q] == 1;
            w[k++] = is_varied(&s[i]) ? VARIED : 1;
        }
    }
    bool ok = k > 0 && trees_fit(&(trees_data){ k, d, TAB_KEY_ALL, x, y, w }, RATE, SAMPLE, TAB_KEY_TREES,
                                 &m->start, m->tree) == 0;
    free(x);
    free(w);
    free(y);
    return ok;
}

static void first_answer(const tab_key_stage *m, schema *s)
{
    tab_key_stage_run(m, s->x, s->n, s->p);
    if (!tab_inclusions_context(&s->k, s->x, s->n, s->p))
        exit(1);
}

/* Fits both stages. The second learns on first answers of models that saw nothing of the schema's family. */
static void fit_both(schema *s, size_t n, const char *without, tab_key_model *m)
{
    for (size_t i = 0; i < n; i++) {
        bool done = left_out(&s[i], without, NULL);
        for (size_t k = 0; k < i && !done; k++)
            done = strcmp(s[i].family, s[k].family) == 0;
        if (done)
            continue;
        if (!fit(s, n, TAB_KEY_FEATURES, without, s[i].family, &m->stage[0]))
            exit(1);
        for (size_t k = i; k < n; k++)
            if (strcmp(s[i].family, s[k].family) == 0)
                first_answer(&m->stage[0], &s[k]);
    }
    if (!fit(s, n, TAB_KEY_ALL, without, NULL, &m->stage[1]) ||
        !fit(s, n, TAB_KEY_FEATURES, without, NULL, &m->stage[0]))
        exit(1);
}

static int class_of(const schema *s, uint32_t column)
{
    return s->k.col[column].kind != TAB_KEY_WHOLE ? TEXTS : s->k.col[column].n > TAB_KEY_FEW ? MANY : FEWER;
}

/* The probabilities of a schema's inclusions, after the choice. */
static void last_answer(const tab_key_stage *m, schema *s)
{
    tab_key_stage_run(m, s->x, s->n, s->p);
    if (!tab_keys_settle(&s->k, s->columns, s->x, s->n, s->p))
        exit(1);
}

static void answer(const tab_key_model *m, schema *s)
{
    first_answer(&m->stage[0], s);
    last_answer(&m->stage[1], s);
}

/* Whether a key refers to its own table. */
static bool within(const schema *s, const true_key *t)
{
    return s->k.col[t->child[0]].table == s->k.col[t->parent[0]].table;
}

static void count(const schema *s, tally *all)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->p[i] < 0.5f || s->label[i] < 0)
            continue;
        int c = class_of(s, s->x[i].child);
        all[c].right += s->label[i] == 1;
        all[c].wrong += s->label[i] == 0;
        if (verbose && s->label[i] == 0)
            printf("  wrong   %.2f %s > %s\n", (double)s->p[i], s->title[s->x[i].child],
                   s->title[s->x[i].parent]);
    }
    for (size_t k = 0; k < s->truths; k++) {
        if (s->truth[k].n > 1 || within(s, &s->truth[k]))
            continue;
        uint32_t child = s->truth[k].child[0];
        bool found = false, seen = false;
        float p = 0;
        for (size_t i = 0; i < s->n; i++)
            if (s->x[i].child == child && s->x[i].parent == s->truth[k].parent[0]) {
                found = s->p[i] >= 0.5f;
                p = s->p[i];
                seen = true;
            }
        all[class_of(s, child)].missed += !found;
        if (verbose && !found)
            printf("  missed  %.2f %s > %s (%u values)%s\n", (double)p, s->title[child],
                   s->title[s->truth[k].parent[0]], s->k.col[child].n, seen ? "" : " no candidate");
    }
}

static void add(tally *to, const tally *t)
{
    to->right += t->right;
    to->wrong += t->wrong;
    to->missed += t->missed;
}

static void say(const char *name, const tally *t)
{
    double found = (double)(t->right + t->missed), said = (double)(t->right + t->wrong);
    printf("%-30s recall %.3f precision %.3f  (%zu of %zu, %zu wrong)\n", name,
           found > 0 ? (double)t->right / found : 1, said > 0 ? (double)t->right / said : 1, t->right,
           t->right + t->missed, t->wrong);
}

/* How sure the answers for a group's schemas are and how often they are right. */
static void calibration(const schema *s, size_t n, int group)
{
    double sum[10] = { 0 }, yes[10] = { 0 }, count[10] = { 0 }, all = 0, error = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t q = 0; group_of(&s[i]) == group && q < s[i].n; q++)
            if (s[i].p[q] > 0.05f && s[i].label[q] >= 0) {
                int b = s[i].p[q] >= 1 ? 9 : (int)(s[i].p[q] * 10);
                sum[b] += (double)s[i].p[q];
                yes[b] += s[i].label[q];
                count[b]++;
                all++;
            }
    for (int b = 0; b < 10; b++)
        if (count[b] > 0) {
            printf("  said %.2f  right %.2f  (%.0f)\n", sum[b] / count[b], yes[b] / count[b], count[b]);
            error += fabs(sum[b] - yes[b]) / all;
        }
    printf("calibration error %.3f\n", error);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t read_all(tab_arena *a, const char *dir, schema *s, size_t n)
{
    char *names[SCHEMAS];
    size_t k = 0;
    DIR *d = opendir(dir);
    if (d == NULL) {
        fprintf(stderr, "%s: no such folder\n", dir);
        exit(2);
    }
    for (struct dirent *e; (e = readdir(d)) != NULL && k < SCHEMAS;)
        if (e->d_name[0] != '.')
            names[k++] = tab_arena_printf(a, "%s", e->d_name);
    closedir(d);
    qsort(names, k, sizeof *names, by_name);
    for (size_t i = 0; i < k && n < SCHEMAS; i++)
        n += schema_read(a, dir, names[i], others, &s[n]);
    return n;
}

/* Each family's schemas answered by models that saw none of them. Without --nested the second stage learns
 * on first answers that saw the family's schemas, though never their own: a tenth of the time. */
static void leave_out(schema *s, size_t n, tab_key_model *m)
{
    for (int round = 0; round < (nested ? 1 : 2); round++)
        for (size_t i = 0; i < n; i++) {
            bool done = false;
            for (size_t k = 0; k < i && !done; k++)
                done = strcmp(s[i].family, s[k].family) == 0;
            if (done)
                continue;
            if (nested)
                fit_both(s, n, s[i].family, m);
            else if (!fit(s, n, round == 0 ? TAB_KEY_FEATURES : TAB_KEY_ALL, s[i].family, NULL,
                          &m->stage[round]))
                exit(1);
            for (size_t k = i; k < n; k++) {
                if (strcmp(s[i].family, s[k].family) != 0)
                    continue;
                if (nested)
                    answer(m, &s[k]);
                else if (round == 0)
                    first_answer(&m->stage[0], &s[k]);
                else
                    last_answer(&m->stage[1], &s[k]);
            }
        }
}

static void importance(const tab_key_model *m)
{
    for (int q = 0; q < 2; q++) {
        size_t used[TAB_KEY_ALL] = { 0 };
        for (size_t k = 0; k < TAB_KEY_TREES; k++)
            for (size_t i = 0; i < TAB_TREE_SPLITS; i++)
                used[m->stage[q].tree[k].feature[i]] += isfinite(m->stage[q].tree[k].cut[i]);
        for (size_t f = 0; f < TAB_KEY_ALL; f++)
            printf("%s %zu  ", feature_name[f], used[f]);
        printf("\n");
    }
}

static void write_model(schema *s, size_t n, tab_key_model *m, const char *path)
{
    fit_both(s, n, NULL, m);
    memcpy(m->mark, TAB_KEY_MARK, sizeof m->mark);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(m, sizeof *m, 1, f) != 1 || fclose(f) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
    if (verbose)
        importance(m);
}

static void report(const schema *s, size_t n)
{
    tally all[GROUPS][CLASSES] = { 0 };
    for (size_t i = 0; i < n; i++) {
        tally one[CLASSES] = { 0 }, sum = { 0 };
        if (verbose)
            printf("%s\n", s[i].name);
        count(&s[i], one);
        for (int c = 0; c < CLASSES; c++) {
            add(&all[group_of(&s[i])][c], &one[c]);
            add(&sum, &one[c]);
        }
        say(s[i].name, &sum);
    }
    for (int k = 0; k < GROUPS; k++) {
        tally sum = { 0 };
        if (!has_group(s, n, k))
            continue;
        printf("---- %s\n", group_name[k]);
        for (int c = 0; c < CLASSES; c++) {
            say(class_name[c], &all[k][c]);
            add(&sum, &all[k][c]);
        }
        say("all", &sum);
        calibration(s, n, k);
    }
}

/* ---- two columns, and one table ---------------------------------------------------------------- */

/* Whether the engine's reference is key t: the same columns, in any order. */
static bool is_key(const schema *s, const tab_reference *r, const true_key *t)
{
    uint32_t c = (uint32_t)s->k.at[r->child_table], p = (uint32_t)s->k.at[r->parent_table];
    uint32_t mine[TAB_KEY_ALSO + 1] = { r->child }, theirs[TAB_KEY_ALSO + 1] = { r->parent }, same = 0;
    memcpy(mine + 1, r->child_also, sizeof r->child_also);
    memcpy(theirs + 1, r->parent_also, sizeof r->parent_also);
    for (uint32_t i = 0; i <= r->also; i++)
        for (uint32_t q = 0; q < t->n; q++)
            same += t->child[q] == c + mine[i] && t->parent[q] == p + theirs[i];
    return t->n == r->also + 1 && same == t->n;
}

/* Whether it follows from the keys. */
static bool follows(const schema *s, const tab_reference *r)
{
    uint32_t c = (uint32_t)s->k.at[r->child_table], p = (uint32_t)s->k.at[r->parent_table];
    uint32_t mine[TAB_KEY_ALSO + 1] = { c + r->child }, theirs[TAB_KEY_ALSO + 1] = { p + r->parent };
    for (uint32_t i = 0; i < r->also; i++) {
        mine[i + 1] = c + r->child_also[i];
        theirs[i + 1] = p + r->parent_also[i];
    }
    return schema_implied(s, mine, theirs, r->also + 1, 0);
}

static void name_reference(const schema *s, const tab_reference *r, const char *what)
{
    size_t c = s->k.at[r->child_table], p = s->k.at[r->parent_table];
    printf("  %s   %.2f %s", what, r->p, s->title[c + r->child]);
    for (uint32_t i = 0; i < r->also; i++)
        printf(", %s", s->title[c + r->child_also[i]]);
    printf(" > %s", s->title[p + r->parent]);
    for (uint32_t i = 0; i < r->also; i++)
        printf(", %s", s->title[p + r->parent_also[i]]);
    printf("\n");
}

enum { PLAIN, SEVERAL, OWN, KINDS };

/* What kind of reference a key, or what the engine says, is. */
static int kind_of(bool several, bool own)
{
    return several ? SEVERAL : own ? OWN : PLAIN;
}

/* Counts of one schema, as the engine answers; sure: of what is said at SURE and more. */
static void count_others(const schema *s, tally *all, tally *sure)
{
    for (size_t i = 0; i < s->keys.n; i++) {
        const tab_reference *r = &s->keys.ref[i];
        bool right = false;
        for (size_t k = 0; k < s->truths && !right; k++)
            right = is_key(s, r, &s->truth[k]);
        if (!right && follows(s, r))
            continue;
        tally *t = &all[kind_of(r->also > 0, r->child_table == r->parent_table)];
        t->right += right;
        t->wrong += !right;
        if (r->p >= SURE)
            *(right ? &sure->right : &sure->wrong) += 1;
        if (verbose && !right)
            name_reference(s, r, "wrong ");
    }
    for (size_t k = 0; k < s->truths; k++) {
        const true_key *t = &s->truth[k];
        bool found = false;
        for (size_t i = 0; i < s->keys.n && !found; i++)
            found = is_key(s, &s->keys.ref[i], t);
        all[kind_of(t->n > 1, within(s, t))].missed += !found;
        if (verbose && !found)
            printf("  missed  %s (%u columns) > %s (%u values)\n", s->title[t->child[0]], t->n,
                   s->title[t->parent[0]], s->k.col[t->child[0]].n);
    }
}

static void name_grains(const schema *s)
{
    for (size_t t = 0; t < s->tables; t++) {
        printf("  rows    %.2f %.*s: %s", s->grain[t].confidence, TAB_STR(s->table[t]),
               tab_grain_names[s->grain[t].kind]);
        for (uint32_t i = 0; i < s->grain[t].n; i++)
            printf(" %s", s->title[s->k.at[t] + s->grain[t].of[i]]);
        printf("\n");
    }
}

static void report_others(const schema *s, size_t n)
{
    static const char *const kind[] = { "by one column", "by several columns", "within a table" };
    tally all[GROUPS][KINDS] = { 0 }, sure[GROUPS] = { 0 };
    for (size_t i = 0; i < n; i++) {
        tally one[KINDS] = { 0 }, sum = { 0 };
        if (verbose)
            printf("%s\n", s[i].name);
        if (verbose)
            name_grains(&s[i]);
        count_others(&s[i], one, &sure[group_of(&s[i])]);
        for (int q = 0; q < KINDS; q++) {
            add(&all[group_of(&s[i])][q], &one[q]);
            add(&sum, &one[q]);
        }
        say(s[i].name, &sum);
    }
    for (int group = 0; group < GROUPS; group++) {
        tally sum = { 0 };
        if (!has_group(s, n, group))
            continue;
        printf("---- %s\n", group_name[group]);
        for (int q = 0; q < KINDS; q++) {
            say(kind[q], &all[group][q]);
            add(&sum, &all[group][q]);
        }
        say("all", &sum);
        printf("said at %.2f and more: %zu, of these %zu wrong\n", SURE,
               sure[group].right + sure[group].wrong, sure[group].wrong);
    }
}

int main(int argc, char **argv)
{
    static schema s[SCHEMAS];
    static tab_key_model m;
    const char *write = NULL, *write_sets = NULL, *write_within = NULL, *silent[SCHEMAS];
    bool shipped = false, sets = false, within_table = false;
    size_t n = 0, silents = 0;
    int from = 1;
    for (; from < argc && argv[from][0] == '-'; from++) {
        verbose = verbose || strcmp(argv[from], "--verbose") == 0;
        nested = nested || strcmp(argv[from], "--nested") == 0;
        others = others || strcmp(argv[from], "--engine") == 0;
        shipped = shipped || strcmp(argv[from], "--shipped") == 0;
        sets = sets || strcmp(argv[from], "--sets") == 0;
        within_table = within_table || strcmp(argv[from], "--within") == 0;
        if (strcmp(argv[from], "--write") == 0 && from + 1 < argc)
            write = argv[++from];
        else if (strcmp(argv[from], "--sets-write") == 0 && from + 1 < argc)
            write_sets = argv[++from];
        else if (strcmp(argv[from], "--within-write") == 0 && from + 1 < argc)
            write_within = argv[++from];
        else if (strcmp(argv[from], "--not") == 0 && from + 1 < argc && silents < SCHEMAS)
            silent[silents++] = argv[++from];
    }
    others = others || sets || within_table || write_sets != NULL || write_within != NULL;
    if (from == argc) {
        fprintf(stderr,
                "usage: train-keys --cv [--nested] | --shipped | --engine | --write FILE | --sets | "
                "--sets-write FILE | --within | --within-write FILE [--not FAMILY] [--verbose] DIR...\n");
        return 2;
    }
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    for (int i = from; i < argc; i++)
        n = read_all(a, argv[i], s, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < silents; k++)
            s[i].silent = s[i].silent || strcmp(s[i].family, silent[k]) == 0;
    bool ok = true;
    if (write_sets != NULL) {
        ok = sets_write(s, n, write_sets);
    } else if (write_within != NULL) {
        ok = within_write(s, n, write_within);
    } else if (within_table) {
        ok = within_leave_out(s, n, verbose);
    } else if (sets) {
        ok = sets_leave_out(s, n, verbose);
    } else if (write != NULL) {
        write_model(s, n, &m, write);
    } else if (others) {
        report_others(s, n);
    } else {
        if (shipped)
            for (size_t i = 0; i < n; i++)
                answer(tab_key_model_shipped(), &s[i]);
        else
            leave_out(s, n, &m);
        report(s, n);
    }
    for (size_t i = 0; i < n; i++)
        schema_free(&s[i]);
    tab_arena_free(a);
    return ok ? 0 : 1;
}
