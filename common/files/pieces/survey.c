/* tab_pieces_survey: what only all of a text tells (csv/survey.h). */
#include "common/files/csv/survey.h"

#include "common/files/pieces/pieces_internal.h"

/* All of it, in pieces, from the first row on. */
static tab_status survey_text(tab_pieces *p, file *f, tab_csv_survey *s, const atomic_bool *cancel,
                              tab_error *err)
{
    TAB_TRY(pieces_open_file(f, &p->fd, err));
    tab_status status = TAB_OK;
    for (p->at = f->begin; status == TAB_OK && p->at < f->size;) {
        tab_piece x = { 0 };
        status = pieces_next_records(p, f, &x, err);
        if (status == TAB_OK)
            status = pieces_of_file(
                f, tab_csv_survey_add(s, (tab_str){ x.bytes, x.n }, &f->dialect, f->encoding, err), err);
        if (status == TAB_OK && cancel != NULL && atomic_load(cancel))
            status = tab_fail(err, TAB_CANCELLED, "", "interrupted");
        tab_piece_free(&x);
    }
    tab_pieces_rewind(p);
    return status;
}

static tab_status survey_file(tab_pieces *p, file *f, const atomic_bool *cancel, tab_error *err)
{
    tab_csv_survey s = TAB_CSV_SURVEY;
    tab_status status = survey_text(p, f, &s, cancel, err);
    if (status == TAB_OK && !s.utf8) {
        /* an old encoding whose signs of ASCII stand within others is looked at anew */
        f->encoding = f->other;
        tab_csv_survey_free(&s);
        status = survey_text(p, f, &s, cancel, err);
    }
    if (status == TAB_OK && s.zeros > f->size / 100)
        status = pieces_failed(f->path, "the file contains NUL bytes, so it is not a text file", err);
    if (status == TAB_OK && s.cols > f->top.cols)
        status = pieces_widen(p, f, s.cols, err);
    bool *text = status == TAB_OK ? tab_arena_new_of(p->a, bool, f->top.cols + 1) : NULL;
    if (status == TAB_OK && text == NULL)
        status = tab_no_memory(err);
    for (size_t k = 0; status == TAB_OK && k < s.cols; k++)
        text[k] = s.text[k];
    f->text = text;
    tab_csv_survey_free(&s);
    return status;
}

tab_status tab_pieces_survey(tab_pieces *p, const atomic_bool *cancel, tab_error *err)
{
    for (size_t i = 0; i < p->files; i++)
        if (!p->file[i].parquet)
            TAB_TRY(survey_file(p, &p->file[i], cancel, err));
    return pieces_even_out(p, err);
}
