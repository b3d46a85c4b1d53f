#include "tools/tabella/large/large.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "services/inference/engine/evaluate/answer_quality.h"
#include "services/inference/engine/profile/given.h"
#include "services/inference/engine/suspects/suspects.h"
#include "services/inference/pool.h"
#include "tools/tabella/out.h"

/* CELL: bytes that a pass of the engine needs for a cell of its table, all in all (1,000,000 x 20: 1.96 GB).
 * SEEN: rows of which more teach next to nothing (tests/bench/large). UNSEEN: rows by which answers are
 * judged. PIECE: bytes of a piece of CSV. */
enum { CELL = 100, SEEN_MOST = 1000000, SEEN_LEAST = 2000, UNSEEN_MOST = 50000 };
enum { PIECE_MOST = 16 << 20, PIECE_LEAST = 1 << 18 };

static size_t piece_bytes(const large_run *r)
{
    size_t n = r->memory / 32 / r->threads;
    return n < PIECE_LEAST ? PIECE_LEAST : n > PIECE_MOST ? PIECE_MOST : n;
}

bool large_is(const char *path, const tab_reading_asked *reading, size_t memory)
{
    struct stat st;
    TAB_AUTO(tab_pieces) *p = NULL;
    tab_error err;
    if (stat(path, &st) != 0)
        return false;
    /* what is packed to a fortieth is rare */
    if (S_ISREG(st.st_mode) ? (uint64_t)st.st_size < memory / 40 : !S_ISDIR(st.st_mode))
        return false;
    if (tab_pieces_open(path, reading, PIECE_MOST, &p, &err) != TAB_OK)
        return false;
    tab_pieces_size s = tab_pieces_measure(p);
    return s.rows * (double)s.cols * CELL + (double)s.bytes > (double)memory;
}

/* ---- the first pass ------------------------------------------------------------------------------- */

typedef struct {
    large *l;
    const tab_table *const *piece;
    size_t n;
    atomic_bool failed;
} columns;

static void take_column(void *arg, size_t c)
{
    columns *x = arg;
    bool good = tab_sample_take(x->l->sample, c, x->piece, x->n);
    for (size_t i = 0; good && i < x->n; i++)
        good = tab_sketch_add(x->l->sketch[c], &x->piece[i]->col[c], x->piece[i]->rows);
    if (!good)
        atomic_store(&x->failed, true);
}

static tab_status take(large *l, const tab_table *const *piece, size_t n, void *arg, tab_error *err)
{
    columns x = { .l = l, .piece = piece, .n = n };
    (void)arg;
    if (!tab_sample_choose(l->sample, piece, n))
        return tab_no_memory(err);
    tab_engine_for(&l->e, l->size.cols, take_column, &x);
    return atomic_load(&x.failed) ? tab_no_memory(err) : TAB_OK;
}

/* Rows that the learners see: candidates of the sample and those by which it is judged take the rest of the
 * memory allowed. */
static size_t seen_most(const large *l)
{
    size_t n = l->run->memory / 3 / CELL / (l->size.cols > 0 ? l->size.cols : 1);
    return n < SEEN_LEAST ? SEEN_LEAST : n > SEEN_MOST ? SEEN_MOST : n;
}

static tab_status draw(large *l, tab_error *err)
{
    size_t seen = seen_most(l), unseen = seen / 4 < UNSEEN_MOST ? seen / 4 : UNSEEN_MOST;
    const tab_table *top = tab_pieces_top(l->pieces);
    l->sketch = tab_arena_new_of(l->e.arena, tab_sketch *, l->size.cols + 1);
    l->sample = tab_sample_new(seen + unseen, l->size.cols, !l->size.parquet, l->e.seed);
    bool good = l->sketch != NULL && l->sample != NULL;
    for (size_t c = 0; good && c < l->size.cols; c++)
        good = (l->sketch[c] = tab_sketch_new(l->size.cols)) != NULL;
    if (!good)
        return tab_no_memory(err);
    TAB_TRY(large_pass(l, "read", take, NULL, err));
    l->rows = tab_sample_rows(l->sample);
    if (l->rows >= UINT32_MAX)
        return tab_fail(err, TAB_VALIDATION, "", "a table has at most %u rows", UINT32_MAX - 1);
    /* where there are hardly more rows than are seen, a tenth stays unseen */
    if (l->rows < seen + unseen) {
        unseen = (size_t)l->rows / 10;
        seen = (size_t)l->rows - unseen;
    }
    if (!tab_sample_end(l->sample) ||
        !tab_sample_table(l->sample, l->e.arena, top, 0, seen, &l->seen, &l->seen_row) ||
        !tab_sample_table(l->sample, l->e.arena, top, seen, seen + unseen, &l->unseen, &l->unseen_row))
        return tab_no_memory(err);
    tab_sample_free(l->sample);
    l->sample = NULL;
    return TAB_OK;
}

/* The first pass, or what an earlier run has left of it. */
static tab_status look(large *l, tab_error *err)
{
    if (l->run->out != NULL && !large_resume_key(l))
        return tab_no_memory(err);
    if (l->run->out != NULL && large_resume_load(l)) {
        fprintf(stderr, "tabella run: %s: going on with what was read before\n", l->run->out);
        return TAB_OK;
    }
    TAB_TRY(draw(l, err));
    if (l->run->out != NULL)
        large_resume_save(l);
    return TAB_OK;
}

/* ---- what the sample says ------------------------------------------------------------------------- */

/* How good the answers are, by rows that nothing was learned of. */
static tab_status judge(large *l, tab_error *err)
{
    tab_profile *p;
    Tabella__Prediction *m = NULL;
    size_t target = l->parts.selection.column;
    if (l->b->prediction == NULL || l->parts.selection.task == TAB_TASK_ANOMALY || l->unseen->rows == 0)
        return TAB_OK;
    TAB_TRY(tab_profile_given(&l->e, l->unseen, &l->run->o.given, &p, err));
    TAB_TRY(tab_score_any(&l->e, l->parts.fitted, l->unseen, false, &m, err));
    if (!tab_answer_quality(&l->e, p, 0, target, m->results, l->b->prediction))
        return tab_no_memory(err);
    return TAB_OK;
}

static tab_status learn(large *l, tab_error *err)
{
    TAB_TRY(tab_engine_pass(&l->e, &l->seen, 1, &l->run->o, &l->parts, &l->b, err));
    TAB_TRY(tab_suspects(&l->e, l->parts.profile, 1, l->run->o.threshold, NULL, &l->b->suspects, err));
    return judge(l, err);
}

static int shown(large *l)
{
    const large_run *r = l->run;
    findings f;
    double took = large_now() - l->began;
    if ((!r->json || r->out != NULL) && !findings_of(&l->e, &l->seen, l->b, &f)) {
        fputs("tabella run: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    /* the answers of all rows are there already: they are not given up for want of a page */
    if (r->out != NULL && !write_out_page(&l->e, r->out, &l->seen, l->b, &f))
        fprintf(stderr, "tabella run: %s: report.html could not be made\n", r->out);
    tab_error err;
    if (r->out != NULL)
        large_resume_end(l);
    if (large_tell(l, &err) != TAB_OK) {
        fprintf(stderr, "tabella run: %s\n", err.message);
        return EXIT_FAILURE;
    }
    if (r->json)
        return print_bundle(l->b);
    for (size_t i = 0; i < f.anomalies; i++)
        f.anomaly[i].row = (uint32_t)l->seen_row[f.anomaly[i].row];
    print_summary(&l->e, &l->seen, l->b, &f, r->o.explain, took);
    return EXIT_SUCCESS;
}

static tab_status run(large *l, tab_error *err)
{
    TAB_TRY(tab_pieces_open(l->run->path, l->run->reading, piece_bytes(l->run), &l->pieces, err));
    TAB_TRY(tab_pieces_survey(l->pieces, &large_stopped, err));
    l->size = tab_pieces_measure(l->pieces);
    if (l->run->o.horizon > 0)
        return tab_fail(err, TAB_VALIDATION, "--horizon",
                        "a forecast needs every row of its series in memory; raise --memory");
    /* pieces of Parquet are as large as their writer made them */
    size_t piece = l->size.piece_rows * l->size.cols * CELL / 2 + piece_bytes(l->run);
    l->batch = l->run->memory / 4 / piece;
    l->batch = l->batch < 1 ? 1 : l->batch > 2 * l->run->threads ? 2 * l->run->threads : l->batch;
    l->batch = l->batch < LARGE_BATCH ? l->batch : LARGE_BATCH;
    double began = large_now();
    if (l->run->out != NULL && mkdir(l->run->out, 0777) != 0 && errno != EEXIST)
        return tab_fail(err, TAB_INTERNAL, "", "%.300s: %s", l->run->out, strerror(errno));
    TAB_TRY(look(l, err));
    TAB_TRY(learn(l, err));
    if (l->run->out != NULL) {
        TAB_TRY(large_fit_fills(l, err));
        TAB_TRY(large_answer(l, err));
    }
    l->began = began;
    return TAB_OK;
}

int cmd_large(const large_run *r)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    TAB_AUTO(tab_pool) *pool = tab_pool_new(r->threads - 1, false);
    large l = { .run = r };
    if (a == NULL) {
        fputs("tabella run: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    bool tty = isatty(STDERR_FILENO);
    l.e = (tab_engine){ .arena = a,
                        .cancel = &large_stopped,
                        .progress = tty ? show_progress : NULL,
                        .parallel_for = pool != NULL ? tab_pool_for : NULL,
                        .parallel_arg = pool };
    l.parts = (tab_pass_parts){ .arena = a, .profile = &l.profile };
    signal(SIGINT, large_stop);
    signal(SIGTERM, large_stop);
    tab_error err = { 0 };
    tab_status s = run(&l, &err);
    if (tty)
        fputs("\r                                               \r", stderr);
    int rc = s == TAB_OK ? shown(&l) : s == TAB_VALIDATION ? EXIT_INPUT : EXIT_FAILURE;
    if (s != TAB_OK)
        fprintf(stderr, "tabella run: %s%s%s\n", err.param, err.param[0] != 0 ? ": " : "",
                s == TAB_CANCELLED ? "interrupted" : err.message);
    for (size_t c = 0; l.sketch != NULL && c < l.size.cols; c++)
        tab_sketch_free(l.sketch[c]);
    tab_sample_free(l.sample);
    for (size_t i = 0; i < l.fills; i++)
        tab_fitted_free(l.fill[i].fitted);
    tab_fitted_free(l.parts.fitted);
    tab_pieces_free(l.pieces);
    return s == TAB_CANCELLED ? 130 : rc;
}
