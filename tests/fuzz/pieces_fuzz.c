/* Whatever the bytes, the way they are read and the size of a piece (the first two bytes choose): reading a
 * file in pieces neither crashes nor loses its place, and an error says something. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/files/pieces/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(tab_pieces *p)
{
    tab_status s = TAB_OK;
    tab_error err = { 0 };
    for (size_t n = 0; s == TAB_OK; n++) {
        tab_piece x;
        uint64_t done = 0;
        size_t wide;
        const tab_table *t;
        s = tab_pieces_next(p, &x, &done, &err);
        if (s != TAB_OK || x.bytes == NULL)
            break;
        tab_arena *a = tab_arena_new(64 << 20);
        if (a == NULL || done > tab_pieces_measure(p).bytes)
            abort();
        s = tab_piece_read(p, &x, a, &t, &wide, &err);
        if (s == TAB_OK && t->cols != tab_pieces_measure(p).cols)
            abort();
        for (size_t c = 0; s == TAB_OK && c < t->cols; c++)
            for (size_t r = 0; r < t->rows; r++)
                (void)tab_cell_at(&t->col[c], r);
        tab_piece_free(&x);
        tab_arena_free(a);
    }
    if (s != TAB_OK && err.message[0] == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tab_reading_asked asked[] = {
        TAB_READING_FOUND,
        { .header_rows = 0, .skip_lines = -1 },
        { .header_rows = 3, .skip_lines = 1, .delimiter = ';', .quote = TAB_READING_UNQUOTED },
        { .header_rows = -1, .skip_lines = 2, .quote = '\'', .encoding = "latin1" },
    };
    char path[64];
    tab_pieces *p = NULL;
    tab_error err = { 0 };
    int fd = size < 2 ? -1 : memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    if (write(fd, data + 2, size - 2) != (ssize_t)(size - 2))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (tab_pieces_open(path, &asked[data[0] % 4], (size_t)data[1] * 8 + 16, &p, &err) == TAB_OK &&
        (data[0] % 8 < 4 || tab_pieces_survey(p, NULL, &err) == TAB_OK))
        read_all(p);
    else if (err.message[0] == 0)
        abort();
    tab_pieces_free(p);
    close(fd);
    return 0;
}
