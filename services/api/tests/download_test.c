/* Which format a request for a file asks for. */
#include <criterion/criterion.h>

#include "services/api/runs/download.h"

static void expect(const char *format, const char *accept, int want)
{
    tab_file_format got = TAB_FILE_FORMATS;
    tab_error err = { 0 };
    tab_status s = download_format(format == NULL ? (tab_str){ NULL, 0 } : tab_str_of(format),
                                   tab_str_of(accept), &got, &err);
    if (want < 0)
        cr_expect(s == TAB_VALIDATION && strcmp(err.param, "format") == 0, "%s", accept);
    else
        cr_expect(s == TAB_OK && (int)got == want, "%s: %d", accept, (int)got);
}

Test(download, the_format_is_what_was_asked_for)
{
    expect(NULL, "", TAB_FILE_CSV);
    expect(NULL, "*/*", TAB_FILE_CSV);
    expect(NULL, "text/*", TAB_FILE_CSV);
    expect(NULL, "application/vnd.apache.parquet", TAB_FILE_PARQUET);
    expect(NULL, "APPLICATION/VND.APACHE.ARROW.STREAM; q=0.5", TAB_FILE_ARROW);
    expect(NULL, "text/csv;q=0.2, application/vnd.apache.arrow.stream;q=0.3", TAB_FILE_ARROW);
    expect(NULL, "text/html,application/xhtml+xml,*/*;q=0.8", TAB_FILE_CSV);
    expect("parquet", "text/csv", TAB_FILE_PARQUET);
    expect(NULL, "application/json", -1);
    expect(NULL, "text/csv;q=0", -1);
    expect(NULL, ",;,", -1);
    expect("xlsx", "text/csv", -1);
    expect("", "", -1);
}

Test(download, an_answer_is_a_table_where_accept_names_one_above_json)
{
    static const struct {
        const char *accept;
        int want; /* -1: JSON */
    } cases[] = {
        { "", -1 },
        { "*/*", -1 },
        { "text/*", -1 },
        { "application/json", -1 },
        { "text/csv", TAB_FILE_CSV },
        { "text/csv, */*", TAB_FILE_CSV },
        { "text/csv;q=0", -1 },
        { "text/csv, application/json", -1 },
        { "application/json;q=0.5, application/vnd.apache.arrow.stream", TAB_FILE_ARROW },
        { "application/vnd.apache.parquet;q=0.4, application/json;q=0.3, text/csv;q=0.2", TAB_FILE_PARQUET },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_file_format got = TAB_FILE_FORMATS;
        bool table = download_named(tab_str_of(cases[i].accept), &got);
        cr_expect(table ? (int)got == cases[i].want : cases[i].want == -1, "%s", cases[i].accept);
    }
}
