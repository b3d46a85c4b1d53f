/* See quality.h. Means and squares are joined by the update of Chan, Golub & LeVeque (1983), so that large
 * outcomes of small spread lose no digits. */
#include "services/jobs/outcomes/quality.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/proto.h"
#include "common/json/json.h"

static const double SURPRISE = 1e-6;
static const char *const regimes[] = { "alike", "later", "new_group", "out_of_range" };

/* ---- outcomes -------------------------------------------------------------------------------- */

/* A class is called by its JSON text. */
static uint64_t hash_of_number(double x)
{
    char text[40];
    int n = snprintf(text, sizeof text, "%.17g", x);
    return tab_receipt_class((tab_str){ text, (size_t)n });
}

static uint64_t hash_of_text(tab_str s)
{
    tab_out o = { 0 };
    tab_out_str(&o, s);
    uint64_t h = tab_receipt_class(tab_out_text(&o));
    tab_out_free(&o);
    return h;
}

/* The whole of a text as a finite number. */
static bool number_of(tab_str s, double *ret)
{
    char text[64], *end;
    if (s.n == 0 || s.n >= sizeof text || isspace((unsigned char)s.p[0]))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    *ret = strtod(text, &end);
    return end == text + s.n && isfinite(*ret);
}

static const char *read_class(const Tabella__OutcomeRow *row, outcome *ret)
{
    static const char *const yes_no[] = { "false", "true" };
    tab_str text = { (const char *)row->text.data, row->text.len };
    char digits[40];
    double x;
    if (row->kind == 1) {
        ret->hash[ret->hashes++] = tab_receipt_class(tab_str_of(yes_no[row->number != 0]));
        ret->hash[ret->hashes++] = hash_of_text(tab_str_of(yes_no[row->number != 0]));
    } else if (row->kind == 2) {
        int n = snprintf(digits, sizeof digits, "%.15g", row->number);
        ret->hash[ret->hashes++] = hash_of_number(row->number);
        ret->hash[ret->hashes++] = hash_of_text((tab_str){ digits, (size_t)n });
    } else {
        ret->hash[ret->hashes++] = hash_of_text(text);
        if (number_of(text, &x))
            ret->hash[ret->hashes++] = hash_of_number(x);
        else if (tab_str_eq(text, TAB_S("true")) || tab_str_eq(text, TAB_S("false")))
            ret->hash[ret->hashes++] = tab_receipt_class(text);
    }
    return NULL;
}

const char *outcome_read(const tab_receipt *r, const Tabella__OutcomeRow *row, outcome *ret)
{
    tab_str text = { (const char *)row->text.data, row->text.len };
    *ret = (outcome){ 0 };
    if (row->kind == 0 || row->kind > 3 || (row->kind == 3 && text.n == 0))
        return "the outcome is missing";
    if (r->task == TAB_RECEIPT_CLASS)
        return read_class(row, ret);
    ret->number = row->number;
    if (r->task == TAB_RECEIPT_NUMBER)
        return row->kind == 1 || (row->kind == 3 && !number_of(text, &ret->number)) || !isfinite(ret->number)
                   ? "the outcome must be a number, as the prediction was"
                   : NULL;
    if (row->kind == 3 && (tab_str_eq(text, TAB_S("true")) || tab_str_eq(text, TAB_S("false"))))
        ret->number = text.n == 4;
    else if (row->kind == 3 && !number_of(text, &ret->number))
        return "the outcome of an anomaly score must be true or false";
    return ret->number == 0 || ret->number == 1 ? NULL
                                                : "the outcome of an anomaly score must be true or false";
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Its arrays hold as many as they ever will. */
static Tabella__OutcomeSums *sums_new(tab_arena *a)
{
    Tabella__OutcomeSums *s = tab_arena_new_of(a, Tabella__OutcomeSums, 1);
    if (s == NULL)
        return NULL;
    tabella__outcome_sums__init(s);
    s->said = tab_arena_new_of(a, double, QUALITY_BINS);
    s->was = tab_arena_new_of(a, uint64_t, QUALITY_BINS);
    s->judged = tab_arena_new_of(a, uint64_t, QUALITY_BINS);
    s->known = tab_arena_new_of(a, uint64_t, QUALITY_CLASSES);
    s->count = tab_arena_new_of(a, uint64_t, QUALITY_CLASSES);
    s->n_said = s->n_was = s->n_judged = QUALITY_BINS;
    return s->said == NULL || s->was == NULL || s->judged == NULL || s->known == NULL || s->count == NULL
               ? NULL
               : s;
}

static void count_class(Tabella__OutcomeSums *s, uint64_t hash, uint64_t n)
{
    size_t k = 0;
    while (k < s->n_known && s->known[k] != hash)
        k++;
    if (k == QUALITY_CLASSES)
        return;
    if (k == s->n_known) {
        s->known[k] = hash;
        s->count[k] = 0;
        s->n_known = s->n_count = k + 1;
    }
    s->count[k] += n;
}

static void add_moments(Tabella__OutcomeSums *s, uint64_t rows, double mean, double squares)
{
    double n = (double)s->rows, m = (double)rows, d = mean - s->mean;
    s->mean += d * m / (n + m);
    s->squares += squares + d * d * n * m / (n + m);
}

static void add_number(Tabella__OutcomeSums *s, const tab_receipt *r, double y)
{
    double e = y - r->value;
    add_moments(s, 1, y, 0);
    s->abs_error += fabs(e);
    s->sq_error += e * e;
    s->width += r->high - r->low;
    s->inside += y >= r->low && y <= r->high;
    s->at_most_low += y <= r->low;
    s->at_most_median += y <= r->median;
    s->at_most_high += y <= r->high;
}

size_t outcome_class(const tab_receipt *r, const outcome *o)
{
    size_t k = r->classes;
    for (size_t h = 0; h < o->hashes && k == r->classes; h++)
        for (k = 0; k < r->classes && r->of[k].hash != o->hash[h]; k++)
            continue;
    return k;
}

static void add_class(Tabella__OutcomeSums *s, const tab_receipt *r, const outcome *o)
{
    size_t k = outcome_class(r, o);
    double p = k < r->classes ? (double)r->of[k].share : r->others > 0 ? r->rest / r->others : 0;
    double said = fmin(fmax((double)r->of[0].share, 0), 1);
    size_t bin = (size_t)fmin(floor(said * QUALITY_BINS), QUALITY_BINS - 1);
    s->log_loss -= log(fmin(fmax(p, SURPRISE), 1));
    s->confidence += said;
    s->variance += said * (1 - said);
    s->hits += k == 0;
    s->said[bin] += said;
    s->was[bin] += k == 0;
    s->judged[bin]++;
    count_class(s, k < r->classes ? r->of[k].hash : o->hash[0], 1);
}

static void sums_add(Tabella__OutcomeSums *s, const tab_receipt *r, const outcome *o, int64_t delay_us)
{
    if (r->task == TAB_RECEIPT_NUMBER) {
        add_number(s, r, o->number);
    } else if (r->task == TAB_RECEIPT_CLASS) {
        add_class(s, r, o);
    } else {
        s->anomalies += o->number != 0;
        s->flagged += r->flagged;
        s->caught += r->flagged && o->number != 0;
    }
    s->delay_s += (double)(delay_us > 0 ? delay_us : 0) / 1e6;
    s->rows++;
}

static bool sound(const Tabella__OutcomeSums *s)
{
    return s != NULL && s->n_said == QUALITY_BINS && s->n_was == QUALITY_BINS &&
           s->n_judged == QUALITY_BINS && s->n_known == s->n_count && s->n_known <= QUALITY_CLASSES;
}

static void sums_merge(Tabella__OutcomeSums *s, const Tabella__OutcomeSums *f)
{
    assert(sound(f));
    if (f->rows == 0)
        return;
    add_moments(s, f->rows, f->mean, f->squares);
    s->rows += f->rows;
    s->delay_s += f->delay_s;
    s->abs_error += f->abs_error;
    s->sq_error += f->sq_error;
    s->width += f->width;
    s->inside += f->inside;
    s->at_most_low += f->at_most_low;
    s->at_most_median += f->at_most_median;
    s->at_most_high += f->at_most_high;
    s->log_loss += f->log_loss;
    s->confidence += f->confidence;
    s->variance += f->variance;
    s->hits += f->hits;
    s->anomalies += f->anomalies;
    s->flagged += f->flagged;
    s->caught += f->caught;
    for (size_t i = 0; i < QUALITY_BINS; i++) {
        s->said[i] += f->said[i];
        s->was[i] += f->was[i];
        s->judged[i] += f->judged[i];
    }
    for (size_t k = 0; k < f->n_known; k++)
        count_class(s, f->known[k], f->count[k]);
}

/* ---- days ------------------------------------------------------------------------------------ */

/* Columns are told with their table, "goods.colour = red", so that none is called as these are. */
static bool by_column(const char *name)
{
    return strncmp(name, "regime = ", 9) != 0 && strncmp(name, "revision = ", 11) != 0;
}

/* The slice's sums, made where there is room for one more of its kind. *ret NULL: there is none. False: out
 * of memory. */
static bool slice_of(tab_arena *a, Tabella__OutcomeDay *d, const char *name, Tabella__OutcomeSums **ret)
{
    size_t k = 0, kind = 0;
    *ret = NULL;
    for (; k < d->n_slices && strcmp(d->slices[k]->slice, name) != 0; k++)
        kind += by_column(d->slices[k]->slice) == by_column(name);
    if (k == d->n_slices && kind >= (by_column(name) ? QUALITY_COLUMNS : QUALITY_OWN))
        return true;
    if (k == d->n_slices) {
        Tabella__OutcomeSlice *s = tab_arena_new_of(a, Tabella__OutcomeSlice, 1);
        if (s == NULL)
            return false;
        tabella__outcome_slice__init(s);
        s->slice = tab_proto_text(a, name);
        s->sums = sums_new(a);
        if (s->sums == NULL)
            return false;
        d->slices[d->n_slices++] = s;
    }
    *ret = d->slices[k]->sums;
    return true;
}

bool quality_sound(const Tabella__OutcomeDay *d)
{
    bool ok = sound(d->sums) && d->n_slices <= QUALITY_SLICES && d->task >= TAB_RECEIPT_NUMBER &&
              d->task <= TAB_RECEIPT_ANOMALY;
    for (size_t i = 0; ok && i < d->n_slices; i++)
        ok = sound(d->slices[i]->sums);
    return ok;
}

Tabella__OutcomeDay *quality_day(tab_arena *a, int32_t day, tab_receipt_task task,
                                 const Tabella__OutcomeDay *kept)
{
    Tabella__OutcomeDay *d = tab_arena_new_of(a, Tabella__OutcomeDay, 1);
    if (d == NULL)
        return NULL;
    tabella__outcome_day__init(d);
    d->day = day;
    d->task = task;
    d->sums = sums_new(a);
    d->slices = tab_arena_new_of(a, Tabella__OutcomeSlice *, QUALITY_SLICES);
    bool ok = d->sums != NULL && d->slices != NULL && (kept == NULL || quality_merge(a, d, kept));
    return ok ? d : NULL;
}

bool quality_add(tab_arena *a, Tabella__OutcomeDay *d, const tab_receipt *r, const outcome *o,
                 int64_t delay_us)
{
    char regime[32], revision[48];
    Tabella__OutcomeSums *s;
    snprintf(regime, sizeof regime, "regime = %s", regimes[r->regime]);
    snprintf(revision, sizeof revision, "revision = %u.%u", r->config_revision, r->data_revision);
    const char *names[2 + TAB_RECEIPT_SLICES] = { regime, revision };
    for (size_t k = 0; k < r->slices; k++)
        names[2 + k] = r->slice[k];
    sums_add(d->sums, r, o, delay_us);
    for (size_t i = 0; i < 2 + r->slices; i++) {
        if (!slice_of(a, d, names[i], &s))
            return false;
        if (s != NULL)
            sums_add(s, r, o, delay_us);
    }
    return true;
}

bool quality_merge(tab_arena *a, Tabella__OutcomeDay *into, const Tabella__OutcomeDay *from)
{
    Tabella__OutcomeSums *s;
    sums_merge(into->sums, from->sums);
    for (size_t i = 0; i < from->n_slices; i++) {
        if (!slice_of(a, into, from->slices[i]->slice, &s))
            return false;
        if (s != NULL)
            sums_merge(s, from->slices[i]->sums);
    }
    return true;
}
