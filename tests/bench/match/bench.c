/* The protocol of the shared data's match/BASELINES.md: names hidden, nothing given, default threshold.
 *
 *   match [--dir DIR] [--verbose] [--rules] [--columns FILE] [--pairs FILE] [CASE ...]
 *   match --within --dir DIR [CASE ...]       duplicates of single tables
 *   match --scale [--threads N] ROWS ...      cost on generated tables
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "services/inference/engine/link/evidence/across_model.h"
#include "services/inference/engine/link/groups/confirm.h"
#include "tests/bench/match/cases.h"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct {
    double p;
    bool right;
} judged;

static int surest_first(const void *a, const void *b)
{
    const judged *x = a, *y = b;
    return (x->p < y->p) - (x->p > y->p);
}

typedef struct {
    double precision, recall, f1;
} prf;

static prf score(double right, double said, double there)
{
    prf r = { said > 0 ? right / said : 0, there > 0 ? right / there : 0, 0 };
    r.f1 = r.precision + r.recall > 0 ? 2 * r.precision * r.recall / (r.precision + r.recall) : 0;
    return r;
}

/* Ten bins of equal width; weighted by their size. */
static double calibration_error(const judged *j, size_t n)
{
    double sum[10] = { 0 }, hit[10] = { 0 }, all = 0, e = 0;
    for (size_t i = 0; i < n; i++) {
        int b = (int)fmin(9, j[i].p * 10);
        sum[b] += j[i].p;
        hit[b] += j[i].right;
        all++;
    }
    for (int b = 0; b < 10; b++)
        e += fabs(sum[b] - hit[b]);
    return all > 0 ? e / all : 0;
}

static int in_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(true_pair));
}

static bool is_true(const true_pair *t, size_t n, size_t ta, size_t tb, size_t a, size_t b)
{
    true_pair k = { (uint32_t)ta, (uint32_t)tb, (uint32_t)a, (uint32_t)b };
    return n > 0 && bsearch(&k, t, n, sizeof k, in_order) != NULL;
}

typedef struct {
    prf column, row;
    double at_gt, mrr, oracle, complete, ece, sure_precision, column_ece, seconds;
    size_t sure, reported;
    bool has_rows;
} outcome;

static FILE *column_file, *pair_file;
static bool verbose, rules, within;

/* Share of the true pairs among the |truth| highest scores; ties share their mean rank. */
static void rank_columns(const match_case *m, const tab_linkage *link, size_t links, outcome *o)
{
    size_t n = 0;
    for (size_t l = 0; l < links; l++)
        n += link[l].cols_a * link[l].cols_b;
    judged *j = malloc((n + 1) * sizeof *j);
    double mrr = 0, sources = 0;
    n = 0;
    for (size_t l = 0; l < links; l++)
        for (size_t i = 0; i < link[l].cols_a; i++) {
            double best_rank = 0;
            const float *p = link[l].column_p + i * link[l].cols_b;
            for (size_t k = 0; k < link[l].cols_b; k++) {
                bool right = is_true(m->column, m->columns, link[l].ta, link[l].tb, i, k);
                j[n++] = (judged){ (double)p[k], right };
                if (!right)
                    continue;
                double above = 0, equal = 0;
                for (size_t q = 0; q < link[l].cols_b; q++) {
                    above += p[q] > p[k];
                    equal += p[q] == p[k];
                }
                double rank = above + (equal + 1) / 2;
                if (best_rank == 0 || rank < best_rank)
                    best_rank = rank;
            }
            if (best_rank > 0) {
                mrr += 1 / best_rank;
                sources++;
            }
        }
    qsort(j, n, sizeof *j, surest_first);
    double found = 0, left = (double)m->columns;
    for (size_t i = 0; i < n && left > 0;) {
        size_t k = i, hits = 0;
        for (; k < n && j[k].p == j[i].p; k++)
            hits += j[k].right;
        double take = fmin(left, (double)(k - i));
        found += take * (double)hits / (double)(k - i);
        left -= take;
        i = k;
    }
    o->at_gt = m->columns > 0 ? found / (double)m->columns : 0;
    o->mrr = sources > 0 ? mrr / sources : 0;
    free(j);
}

/* Twins that a table is said to hold, the least likely last. */
static void print_twins(const match_case *m, size_t t, const tab_twins *w)
{
    printf("    t%zu: %zu twins of %zu rows\n", t, w->n, m->table[t].rows);
    for (size_t i = w->n > 5 ? w->n - 5 : 0; i < w->n; i++)
        printf("      rows %u and %u  %.3f\n", w->twin[i].a, w->twin[i].b, (double)w->twin[i].p);
}

/* Columns that are one attribute and were not said to be. */
static void print_missed(const match_case *m, const tab_linkage *link, size_t links)
{
    for (size_t t = 0; t < m->columns; t++)
        for (size_t l = 0; l < links; l++)
            if (link[l].ta == m->column[t].ta && link[l].tb == m->column[t].tb) {
                float p = link[l].column_p[m->column[t].a * link[l].cols_b + m->column[t].b];
                if (link[l].match[m->column[t].a] != m->column[t].b || p < 0.5f)
                    printf("    missed column t%zu %.*s = t%zu %.*s  %.3f\n", link[l].ta,
                           TAB_STR(m->table[link[l].ta].col[m->column[t].a].name), link[l].tb,
                           TAB_STR(m->table[link[l].tb].col[m->column[t].b].name), (double)p);
            }
}

static void judge_columns(const match_case *m, const tab_linkage *link, size_t links, outcome *o)
{
    double right = 0, said = 0;
    judged *cols = calloc(100000, sizeof *cols);
    for (size_t l = 0; l < links; l++)
        for (size_t i = 0; i < link[l].cols_a; i++) {
            uint32_t k = link[l].match[i];
            if (k == TAB_NULL || link[l].column_p[i * link[l].cols_b + k] < 0.5f)
                continue;
            bool ok = is_true(m->column, m->columns, link[l].ta, link[l].tb, i, k);
            cols[(size_t)said] = (judged){ (double)link[l].column_p[i * link[l].cols_b + k], ok };
            said++;
            right += ok;
            if (verbose && !ok)
                printf("    wrong column t%zu.%zu %.*s = t%zu.%u %.*s  %.3f\n", link[l].ta, i,
                       TAB_STR(m->table[link[l].ta].col[i].name), link[l].tb, k,
                       TAB_STR(m->table[link[l].tb].col[k].name),
                       (double)link[l].column_p[i * link[l].cols_b + k]);
        }
    if (verbose)
        print_missed(m, link, links);
    o->column = score(right, said, (double)m->columns);
    o->column_ece = calibration_error(cols, (size_t)said);
    free(cols);
    rank_columns(m, link, links, o);
}

static void judge_rows(const match_case *m, const tab_clusters *cl, outcome *o)
{
    judged *j = malloc((cl->matches + 1) * sizeof *j);
    double right = 0, sure_right = 0;
    for (size_t i = 0; i < cl->matches; i++) {
        const tab_match *q = &cl->match[i];
        j[i] = (judged){ (double)q->p, is_true(m->row, m->rows, q->ta, q->tb, q->a, q->b) };
        right += j[i].right;
        if (q->p >= 0.9f) {
            o->sure++;
            sure_right += j[i].right;
        }
    }
    o->reported = cl->matches;
    o->row = score(right, (double)cl->matches, (double)m->rows);
    o->ece = calibration_error(j, cl->matches);
    o->sure_precision = o->sure > 0 ? sure_right / (double)o->sure : 1;
    free(j);
}

/* What was said of one pair of tables, beside the best that its candidates allow. */
static void print_pair(const match_case *m, const tab_linkage *link, size_t l, const tab_clusters *cl,
                       double there, double best)
{
    double said_here = 0, right_here = 0;
    for (size_t i = 0; i < cl->matches; i++)
        if (cl->match[i].link == l) {
            said_here++;
            right_here += is_true(m->row, m->rows, link[l].ta, link[l].tb, cl->match[i].a, cl->match[i].b);
        }
    prf r = score(right_here, said_here, there);
    printf("    t%zu t%zu  P %.3f R %.3f F1 %.3f oracle %.3f share %.3f %s\n", link[l].ta + 1, link[l].tb + 1,
           r.precision, r.recall, r.f1, best, link[l].share,
           link[l].many_a   ? (link[l].many_b ? "m:n" : "n:1")
           : link[l].many_b ? "1:n"
                            : "1:1");
}

static void judge_candidates(const match_case *m, const tab_linkage *link, size_t links,
                             const tab_clusters *cl, outcome *o)
{
    size_t n = 0, blocked = 0;
    for (size_t l = 0; l < links; l++)
        n += link[l].c.n;
    judged *j = malloc((n + 1) * sizeof *j);
    n = 0;
    for (size_t l = 0; l < links; l++) {
        double best = 0, hits = 0, there = 0;
        size_t from = n;
        for (size_t i = 0; i < m->rows; i++)
            there += m->row[i].ta == link[l].ta && m->row[i].tb == link[l].tb;
        for (size_t i = 0; i < link[l].c.n; i++) {
            bool ok = is_true(m->row, m->rows, link[l].ta, link[l].tb, link[l].c.a[i], link[l].c.b[i]);
            blocked += ok;
            if (link[l].c.kept[i])
                j[n++] = (judged){ (double)link[l].c.p[i], ok };
        }
        qsort(j + from, n - from, sizeof *j, surest_first);
        for (size_t i = from; i < n; i++) {
            hits += j[i].right;
            if (i + 1 == n || j[i + 1].p != j[i].p)
                best = fmax(best, score(hits, (double)(i + 1 - from), there).f1);
        }
        o->oracle += best / (double)links;
        if (verbose)
            printf("    share %.3f\n", link[l].share);
        if (verbose && links > 1)
            print_pair(m, link, l, cl, there, best);
    }
    o->complete = m->rows > 0 ? (double)blocked / (double)m->rows : 1;
    free(j);
}

static outcome judge(const match_case *m, const tab_linkage *link, size_t links, const tab_clusters *cl)
{
    outcome o = { .has_rows = m->has_rows, .reported = cl->matches };
    judge_columns(m, link, links, &o);
    if (m->has_rows) {
        judge_rows(m, cl, &o);
        judge_candidates(m, link, links, cl, &o);
    }
    return o;
}

static void dump(const match_case *m, const tab_linkage *link, size_t links)
{
    for (size_t l = 0; l < links && column_file != NULL; l++)
        for (size_t i = 0; i < link[l].cols_a; i++)
            for (size_t k = 0; k < link[l].cols_b; k++) {
                const float *f = link[l].features + (i * link[l].cols_b + k) * TAB_ALIGN_FEATURES;
                if (f[4] == 0 && f[5] == 0)
                    continue; /* a side is empty */
                fprintf(column_file, "%s %zu_%zu_%zu_%zu %d", m->name, link[l].ta, link[l].tb, i, k,
                        is_true(m->column, m->columns, link[l].ta, link[l].tb, i, k));
                for (size_t q = 0; q < TAB_ALIGN_FEATURES; q++)
                    fprintf(column_file, " %.4g", (double)f[q]);
                fputc('\n', column_file);
            }
    for (size_t l = 0; l < links && pair_file != NULL && m->has_rows; l++) {
        const tab_candidates *c = &link[l].c;
        for (size_t i = 0; i < c->n; i++) {
            size_t both = 0, equal = 0;
            for (size_t k = 0; k < c->attrs; k++) {
                both += c->agree[i * c->attrs + k].level != TAB_MISSING;
                equal += c->agree[i * c->attrs + k].level == TAB_EQUAL;
            }
            fprintf(pair_file, "%s %zu_%zu %u %u %d %.5g %.5g %.4g %zu %zu %d %.4g\n", m->name, link[l].ta,
                    link[l].tb, c->a[i], c->b[i],
                    is_true(m->row, m->rows, link[l].ta, link[l].tb, c->a[i], c->b[i]),
                    (double)c->evidence[i], (double)c->cosine[i], (double)c->elsewhere[i], both, equal,
                    c->kept[i], (double)c->p[i]);
        }
    }
}

static bool run(const char *dir, const char *name, outcome *ret)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    match_case m;
    if (!case_read(a, dir, name, &m))
        return false;
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_profile *profile[CASE_TABLES];
    double from = cpu();
    for (size_t t = 0; t < m.n; t++)
        if (tab_profile_table(&e, &m.table[t], &profile[t], &err) != TAB_OK)
            return false;
    TAB_AUTO(tab_views) *v = NULL;
    tab_link_table *tables = NULL;
    tab_key_plan plan;
    tab_clusters cl;
    size_t links = 0;
    tab_linkage *link = NULL;
    tab_status st = tab_views_new(&e, profile, m.n, &v, &err);
    if (st == TAB_OK)
        st = tab_link_tables_new(&e, v, a, &tables, &err);
    if (st == TAB_OK)
        st = tab_key_plan_new(&e, v, 0.5, a, &plan, &err);
    for (size_t i = 0; st == TAB_OK && verbose && i < plan.keys.n; i++)
        printf("  key %.2f %s\n", plan.keys.ref[i].p, tab_reference_words(a, v, &plan.keys.ref[i]));
    tab_twins *twins = tab_arena_new_of(a, tab_twins, m.n);
    if (st == TAB_OK)
        st = tab_link_tables(&e, v, tables, &plan, rules ? NULL : tab_across_model_shipped(), 0.5, NULL, NULL,
                             a, &link, &links, twins, &err);
    for (size_t i = 0; st == TAB_OK && i < links; i++)
        st = tab_link_confirm(v, &link[i], 0.5, &err);
    for (size_t i = 0; verbose && st == TAB_OK && i < m.n; i++)
        print_twins(&m, i, &twins[i]);
    if (st == TAB_OK)
        st = tab_clusters_build(v, link, links, twins, 0.5, a, &cl, &err);
    double seconds = cpu() - from;
    if (st != TAB_OK) {
        fprintf(stderr, "%s: %s\n", name, err.message);
    } else {
        *ret = judge(&m, link, links, &cl);
        ret->seconds = seconds;
        dump(&m, link, links);
    }
    tab_link_tables_free(tables, m.n);
    return st == TAB_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *const groups[] = { "real",      "gdc",    "union0",    "union0fmt",
                                      "view30fmt", "join50", "join50fmt", "same100fmt" };
enum { GROUPS = 8 };

static void scale_all(int argc, char **argv)
{
    size_t threads = 1;
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = (size_t)fmin(fmax(atof(argv[++i]), 1), 16);
        else
            scale_run(strtoul(argv[i], NULL, 10), threads);
}

static void within_all(const char *dir, char *const *names, size_t n)
{
    static within_found o[512];
    size_t found = 0;
    within_header();
    for (size_t i = 0; i < n; i++)
        found += within_run(dir, names[i], &o[found]);
    within_means(o, found);
}

static size_t group_of(const char *name)
{
    size_t g = strncmp(name, "gdc-", 4) == 0 ? 1 : 0;
    const char *recipe = strrchr(name, '-');
    if (strncmp(name, "fab-", 4) == 0)
        for (size_t k = 2; k < GROUPS; k++)
            if (strcmp(recipe + 1, groups[k]) == 0)
                g = k;
    return g;
}

static void print_outcome(const char *name, const outcome *o)
{
    printf("%-30s   %.3f %.3f %.3f %.3f %.3f %.3f |", name, o->column.precision, o->column.recall,
           o->column.f1, o->at_gt, o->mrr, o->column_ece);
    if (o->has_rows)
        printf("   %.3f %.3f %.3f  %.3f %.3f %.3f  %.3f %6zu", o->row.precision, o->row.recall, o->row.f1,
               o->oracle, o->complete, o->ece, o->sure_precision, o->reported);
    else
        printf("   no row is shared; reported %23zu", o->reported);
    printf("  %.2f\n", o->seconds);
    fflush(stdout);
}

static void add_outcome(const outcome *o, outcome *s)
{
    s->column.precision += o->column.precision;
    s->column.recall += o->column.recall;
    s->column.f1 += o->column.f1;
    s->at_gt += o->at_gt;
    s->mrr += o->mrr;
    s->column_ece += o->column_ece;
    s->row.precision += o->row.precision;
    s->row.recall += o->row.recall;
    s->row.f1 += o->row.f1;
    s->oracle += o->oracle;
    s->complete += o->complete;
    s->ece += o->ece;
    s->seconds += o->seconds;
    s->reported += o->reported;
}

static void print_means(const outcome *sum, const double *count, double worst_sure)
{
    printf("\nmeans\n");
    for (size_t g = 0; g < GROUPS; g++)
        if (count[g] > 0)
            printf("%-30s   %.3f %.3f %.3f %.3f %.3f %.3f |   %.3f %.3f %.3f  %.3f %.3f %.3f %13zu  %.2f\n",
                   groups[g], sum[g].column.precision / count[g], sum[g].column.recall / count[g],
                   sum[g].column.f1 / count[g], sum[g].at_gt / count[g], sum[g].mrr / count[g],
                   sum[g].column_ece / count[g], sum[g].row.precision / count[g],
                   sum[g].row.recall / count[g], sum[g].row.f1 / count[g], sum[g].oracle / count[g],
                   sum[g].complete / count[g], sum[g].ece / count[g], sum[g].reported, sum[g].seconds);
    double f = 0, fn = 0;
    for (size_t g = 2; g < GROUPS; g++) {
        f += sum[g].column.f1;
        fn += count[g];
    }
    printf("fabricated columns F1 %.3f; real cases: lowest precision at confidence >= 0.9: %.3f\n",
           fn > 0 ? f / fn : 0, worst_sure);
}

int main(int argc, char **argv)
{
    const char *dir = NULL, *shared = getenv("TAB_SHARED");
    char where[512], *names[512];
    size_t n = 0;
    if (argc > 2 && strcmp(argv[1], "--scale") == 0) {
        scale_all(argc, argv);
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc)
            dir = argv[++i];
        else if (strcmp(argv[i], "--columns") == 0 && i + 1 < argc)
            column_file = fopen(argv[++i], "w");
        else if (strcmp(argv[i], "--pairs") == 0 && i + 1 < argc)
            pair_file = fopen(argv[++i], "w");
        else if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else if (strcmp(argv[i], "--rules") == 0)
            rules = true;
        else if (strcmp(argv[i], "--within") == 0)
            within = true;
        else if (n < 512)
            names[n++] = strdup(argv[i]);
    }
    if (dir == NULL) {
        snprintf(where, sizeof where, "%s/data/match", shared == NULL ? "../shared" : shared);
        dir = where;
    }
    DIR *d = opendir(dir);
    if (d == NULL) {
        printf("bench-match: skipped, no %s (set TAB_SHARED)\n", dir);
        return 0;
    }
    bool all = n == 0;
    for (struct dirent *x; all && (x = readdir(d)) != NULL && n < 512;)
        if (x->d_name[0] != '.' && strchr(x->d_name, '.') == NULL)
            names[n++] = strdup(x->d_name);
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    if (within) {
        within_all(dir, names, n);
        return 0;
    }
    outcome sum[GROUPS] = { 0 };
    double count[GROUPS] = { 0 }, worst_sure = 1;
    printf("%-30s cols: P     R     F1    @GT   MRR   ece  | rows: "
           "P     R     F1   oracle blocked ece  P>=.9     n  cpu s\n",
           "case");
    for (size_t i = 0; i < n; i++) {
        outcome o = { 0 };
        if (!run(dir, names[i], &o))
            continue;
        size_t g = group_of(names[i]);
        print_outcome(names[i], &o);
        add_outcome(&o, &sum[g]);
        count[g]++;
        if (g == 0 && o.sure > 0)
            worst_sure = fmin(worst_sure, o.sure_precision);
    }
    print_means(sum, count, worst_sure);
    return 0;
}
