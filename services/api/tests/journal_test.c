#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/api/serve/journal.h"

typedef struct {
    size_t n;
    char id[64][32], bytes[64][32];
    journal_file *file[64];
} found;

static void note(void *arg, const char *id, tab_str bytes, journal_file *f)
{
    found *x = arg;
    snprintf(x->id[x->n], sizeof x->id[0], "%s", id);
    snprintf(x->bytes[x->n], sizeof x->bytes[0], "%.*s", (int)bytes.n, bytes.p);
    x->file[x->n++] = f;
}

static size_t files(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static char *new_dir(void)
{
    static char dir[64];
    snprintf(dir, sizeof dir, "/tmp/journal-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    return dir;
}

/* A process that puts n records and dies. */
static void owe(const char *dir, size_t n)
{
    pid_t pid = fork();
    if (pid == 0) {
        journal_file *f;
        tab_error err;
        bool ok = journal_open(dir);
        for (size_t i = 0; i < n && ok; i++) {
            char id[32], bytes[32];
            snprintf(id, sizeof id, "bill_%zu", i);
            snprintf(bytes, sizeof bytes, "work %zu", i);
            ok = journal_put(id, tab_str_of(bytes), &f, &err) == TAB_OK;
        }
        _exit(ok ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    cr_assert_eq(status, 0);
}

Test(journal, what_a_process_left_is_found_once_and_its_file_goes_when_it_is_settled)
{
    static found x;
    const char *dir = new_dir();
    owe(dir, 3);
    cr_assert_eq(files(dir), 1);
    cr_assert(journal_open(dir));
    journal_adopt(note, &x);
    journal_adopt(note, &x);
    cr_assert_eq(x.n, 3);
    cr_assert_str_eq(x.id[2], "bill_2");
    cr_assert_str_eq(x.bytes[2], "work 2");
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(files(dir), 1);
        journal_settled(x.file[i]);
    }
    cr_assert_eq(files(dir), 0);
}

Test(journal, who_lives_keeps_its_file_and_an_empty_folder_owes_nothing)
{
    static found x;
    const char *dir = new_dir();
    journal_file *f[2];
    tab_error err;
    cr_assert(journal_open(dir));
    cr_assert_eq(journal_put("a", TAB_S("1"), &f[0], &err), TAB_OK);
    cr_assert_eq(journal_put("b", TAB_S(""), &f[1], &err), TAB_OK);
    pid_t pid = fork(); /* another process looks; it has no journal of its own yet */
    if (pid == 0) {
        journal_close();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    journal_adopt(note, &x);
    cr_assert_eq(x.n, 0);
    journal_settled(f[0]);
    cr_assert_eq(files(dir), 1);
    journal_settled(f[1]);
    cr_assert_eq(files(dir), 0);
    cr_assert_eq(journal_put("c", TAB_S("3"), &f[0], &err), TAB_OK);
    cr_assert_eq(files(dir), 1);
    journal_close();
    cr_assert_eq(files(dir), 1, "what is not settled stays");
}

static void one_more(void *arg, const char *id, tab_str bytes)
{
    (void)id;
    (void)bytes;
    ++*(size_t *)arg;
}

static const char *only_file(const char *dir)
{
    static char path[600];
    DIR *d = opendir(dir);
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        if (e->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    closedir(d);
    return path;
}

Test(journal, a_torn_or_damaged_record_is_left_out)
{
    static char bytes[4096];
    const char *dir = new_dir();
    owe(dir, 5);
    int fd = open(only_file(dir), O_RDONLY);
    size_t n = (size_t)read(fd, bytes, sizeof bytes), all = 0, whole;
    close(fd);
    journal_read((tab_str){ bytes, n }, one_more, &all, &whole);
    cr_assert_eq(all, 5);
    cr_assert_eq(whole, n);
    for (size_t cut = 0; cut < n; cut++) {
        size_t some = 0;
        journal_read((tab_str){ bytes, cut }, one_more, &some, &whole);
        cr_assert_leq(whole, cut);
        cr_assert_lt(some, 5);
    }
    for (size_t at = 16; at < n; at++) {
        size_t some = 0;
        bytes[at] ^= 1;
        journal_read((tab_str){ bytes, n }, one_more, &some, &whole);
        cr_assert_lt(some, 5, "byte %zu", at);
        cr_assert_lt(whole, n);
        bytes[at] ^= 1;
    }
}

Test(journal, a_flipped_bit_loses_one_record_and_the_file_is_kept)
{
    static found x;
    const char *dir = new_dir();
    owe(dir, 5);
    const char *path = only_file(dir);
    int fd = open(path, O_RDWR);
    char c;
    enum { SECOND = 16 + (16 + 6 + 6) + 16 + 3 }; /* within its id */
    cr_assert_eq(pread(fd, &c, 1, SECOND), 1);
    c ^= 0x10;
    cr_assert_eq(pwrite(fd, &c, 1, SECOND), 1);
    close(fd);
    cr_assert(journal_open(dir));
    journal_adopt(note, &x);
    cr_assert_eq(x.n, 4);
    cr_assert_str_eq(x.id[0], "bill_0");
    cr_assert_str_eq(x.id[1], "bill_2");
    for (size_t i = 0; i < x.n; i++)
        journal_settled(x.file[i]);
    cr_assert_eq(files(dir), 1);
    cr_assert_str_eq(strrchr(only_file(dir), '.'), ".unreadable");
    x.n = 0;
    journal_adopt(note, &x);
    cr_assert_eq(x.n, 0, "and nothing of it is billed twice");
}

Test(journal, a_folder_that_cannot_be_written_is_said)
{
    journal_file *f;
    tab_error err;
    cr_assert(!journal_open("/proc/nowhere"));
    cr_assert(journal_open(""));
    cr_assert(!journal_kept());
    cr_assert_eq(journal_put("a", TAB_S("1"), &f, &err), TAB_UNAVAILABLE);
}

Test(journal, what_is_larger_than_a_record_is_refused)
{
    enum { LARGEST = 4 << 20 };
    static char id[130], bytes[LARGEST + 1];
    static found x;
    journal_file *f[3];
    tab_error err;
    const char *dir = new_dir();
    cr_assert(journal_open(dir));
    memset(id, 'i', 129);
    cr_expect_eq(journal_put(id, TAB_S("x"), &f[0], &err), TAB_UNAVAILABLE, "an id of 129 bytes");
    id[128] = 0;
    cr_expect_eq(journal_put("large", (tab_str){ bytes, LARGEST + 1 }, &f[0], &err), TAB_UNAVAILABLE);
    cr_expect_eq(files(dir), 0);
    cr_assert_eq(journal_put(id, TAB_S("x"), &f[0], &err), TAB_OK);
    cr_assert_eq(journal_put("large", (tab_str){ bytes, LARGEST }, &f[1], &err), TAB_OK);
    cr_expect_eq(f[0], f[1]);
    cr_expect_eq(files(dir), 1);
    cr_assert_eq(journal_put("next", TAB_S("y"), &f[2], &err), TAB_OK);
    cr_expect(f[2] != f[0] && files(dir) == 2, "a full file grows no more");
    journal_settled(f[0]);
    journal_settled(f[1]);
    cr_expect_eq(files(dir), 1, "and goes when all of it is settled");
    journal_settled(f[2]);
    cr_expect_eq(files(dir), 0);
    cr_assert_eq(journal_put(id, TAB_S("x"), &f[0], &err), TAB_OK);
    journal_close();
    journal_adopt(note, &x);
    cr_expect(x.n == 1 && strncmp(x.id[0], "iii", 3) == 0, "the longest id is read again");
}

Test(journal, a_file_of_another_kind_or_cut_in_its_first_line_holds_nothing)
{
    static char bytes[4096];
    const char *dir = new_dir();
    owe(dir, 1);
    int fd = open(only_file(dir), O_RDONLY);
    size_t n = (size_t)read(fd, bytes, sizeof bytes), all = 0, whole = 9;
    close(fd);
    journal_read((tab_str){ bytes, 15 }, one_more, &all, &whole);
    cr_expect(all == 0 && whole == 0);
    journal_read((tab_str){ bytes, 16 }, one_more, &all, &whole);
    cr_expect(all == 0 && whole == 16, "a line and no record");
    bytes[3] ^= 1;
    journal_read((tab_str){ bytes, n }, one_more, &all, &whole);
    cr_expect(all == 0 && whole == 0);
    bytes[3] ^= 1;
    uint32_t huge = UINT32_MAX; /* sizes from the disk are bounded before they are used */
    for (size_t at = 16; at <= 20; at += 4) {
        uint32_t was;
        memcpy(&was, bytes + at, 4);
        memcpy(bytes + at, &huge, 4);
        journal_read((tab_str){ bytes, n }, one_more, &all, &whole);
        cr_expect(all == 0 && whole == 16);
        memcpy(bytes + at, &was, 4);
    }
    journal_read((tab_str){ bytes, n }, one_more, &all, &whole);
    cr_expect(all == 1 && whole == n);
}

/* What cannot be read is never deleted: of a file that is too large to be one of ours nothing is billed,
 * and it is there for whoever looks into it. The same as of one whose size the disk does not tell. */
Test(journal, a_file_too_large_to_be_read_is_kept)
{
    static found x;
    static char bytes[4096];
    const char *dir = new_dir();
    owe(dir, 2);
    int fd = open(only_file(dir), O_RDWR);
    ssize_t n = read(fd, bytes, sizeof bytes);
    cr_assert_eq(ftruncate(fd, (off_t)64 << 20), 0);
    close(fd);
    cr_assert(journal_open(dir));
    journal_adopt(note, &x);
    cr_expect_eq(x.n, 0);
    cr_assert_eq(files(dir), 1);
    cr_expect_str_eq(strrchr(only_file(dir), '.'), ".unreadable");
    /* and one just below, of the shortest name: its records count, and it is kept for what follows them */
    char path[700];
    snprintf(path, sizeof path, "%s/x.bills", dir);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    cr_assert(write(fd, bytes, (size_t)n) == n && ftruncate(fd, ((off_t)64 << 20) - 1) == 0);
    close(fd);
    journal_adopt(note, &x);
    cr_assert_eq(x.n, 2);
    journal_settled(x.file[0]);
    journal_settled(x.file[1]);
    cr_expect_eq(files(dir), 2);
    cr_expect_neq(access(path, F_OK), 0, "it was put aside");
}
