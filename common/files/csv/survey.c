/* See survey.h. */
#include "common/files/csv/survey.h"

#include <stdlib.h>

#include "common/files/text.h"
#include "common/json/json.h"

void tab_csv_survey_free(tab_csv_survey *s)
{
    free(s->text);
    *s = (tab_csv_survey)TAB_CSV_SURVEY;
}

static tab_status widen(tab_csv_survey *s, size_t cols, tab_error *err)
{
    if (cols > TAB_CSV_FIELDS_MOST)
        return tab_fail(err, TAB_VALIDATION, "", "a line has more than %d fields", TAB_CSV_FIELDS_MOST);
    if (cols > s->cap) {
        size_t cap = cols * 2 + 16;
        bool *text = realloc(s->text, cap * sizeof *text);
        if (text == NULL)
            return tab_no_memory(err);
        memset(text + s->cap, 0, (cap - s->cap) * sizeof *text);
        s->text = text;
        s->cap = cap;
    }
    s->cols = cols;
    return TAB_OK;
}

static tab_status look_at(tab_csv_survey *s, tab_csv_lexer *f, tab_error *err)
{
    tab_str field;
    double x;
    while (tab_csv_record(f, NULL)) {
        bool last = false;
        for (size_t k = 0; !last && tab_csv_field(f, &field, &last); k++) {
            if (field.n == 0)
                continue;
            if (k >= s->cols)
                TAB_TRY(widen(s, k + 1, err));
            if (!s->text[k])
                s->text[k] = !tab_csv_number(field, &x);
        }
        if (f->too_long)
            break; /* who reads the piece says so */
    }
    return TAB_OK;
}

static uint64_t zeros_in(tab_str s)
{
    uint64_t n = 0;
    for (const char *p = s.p, *end = p + s.n; p < end && (p = memchr(p, 0, (size_t)(end - p))) != NULL; p++)
        n++;
    return n;
}

tab_status tab_csv_survey_add(tab_csv_survey *s, tab_str bytes, const tab_csv_dialect *d,
                              const char *encoding, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    const char *found;
    tab_str text = bytes;
    if (a != NULL && encoding != NULL)
        text = tab_text_utf8_as(a, bytes, encoding, &found);
    char *scratch = malloc(tab_csv_scratch(text.n)); /* in UTF-8 it may be longer */
    tab_status status = tab_no_memory(err);
    if (a != NULL && scratch != NULL && (text.p != NULL || bytes.n == 0)) {
        tab_csv_lexer f = { .p = text.p, .end = text.p + text.n, .d = *d, .scratch = scratch, .line = 1 };
        s->zeros += zeros_in(text);
        s->utf8 = s->utf8 && (encoding != NULL || tab_utf8_valid(text));
        status = look_at(s, &f, err);
    }
    free(scratch);
    return status;
}
