#include "common/files/multipart.h"

#include <criterion/criterion.h>

#define TYPE "multipart/form-data; boundary=\"a b\""

static tab_status read_form(const char *type, const char *body, tab_part *part, size_t *n)
{
    tab_error err = { 0 };
    tab_status s = tab_multipart_read(type, tab_str_of(body), part, 3, n, &err);
    cr_expect(s == TAB_OK || (err.message[0] != 0 && strcmp(err.param, "body") == 0));
    return s;
}

Test(multipart, parts_in_place)
{
    tab_part part[3];
    size_t n = 0;
    cr_assert(
        read_form(
            TYPE,
            "preamble\r\n--a b\r\ncontent-disposition: form-data; filename=\"x; y.csv\"; name=\"file\"\r\n"
            "Content-Type: text/csv\r\n\r\na,b\r\n--a\r\n\r\n--a b\r\n"
            "Content-Disposition: form-data; name=name\r\n\r\n\r\n--a b--\r\n",
            part, &n) == TAB_OK);
    cr_assert_eq(n, 2);
    cr_expect(tab_str_eq(part[0].name, TAB_S("file")) && tab_str_eq(part[0].file_name, TAB_S("x; y.csv")));
    cr_expect(tab_str_eq(part[0].bytes, TAB_S("a,b\r\n--a\r\n")));
    cr_expect(tab_str_eq(part[1].name, TAB_S("name")) && part[1].bytes.n == 0);
}

Test(multipart, says_what_is_wrong)
{
#define PART(name) "\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\nx\r\n"
    static const char *const bad[][2] = {
        { "application/json", "{}" },
        { "multipart/form-data", "--a\r\n" },
        { "multipart/form-data; boundary=", "--\r\n" },
        { "multipart/form-data; boundary=a", "" },
        { "multipart/form-data; boundary=a", "--a" },
        { "multipart/form-data; boundary=a", "--a\r\nContent-Disposition: form-data; name=x\r\n\r\n" },
        { "multipart/form-data; boundary=a", "--a\r\nContent-Type: x\r\n\r\nx\r\n--a--" },
        { "multipart/form-data; boundary=a", "--a" PART("x") "--a" PART("x") "--a--" },
        { "multipart/form-data; boundary=a",
          "--a" PART("1") "--a" PART("2") "--a" PART("3") "--a" PART("4") "--a--" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tab_part part[3];
        size_t n;
        cr_expect(read_form(bad[i][0], bad[i][1], part, &n) == TAB_VALIDATION, "%zu", i);
    }
}
