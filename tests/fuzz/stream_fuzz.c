/* Whatever comes over a connection whose body is taken as it comes: its head and its framing are read or
 * refused, and the body is no longer than what came. */
#include "services/api/http/stream.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static streams all;
    static struct stream s;
    int pair[2];
    size_t body = 0;
    char some[777];
    tab_str identity = TAB_S("");
    tab_error err = { 0 };
    if (size > 1 << 16 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 0;
    memset(&s, 0, sizeof s);
    s.of = &all;
    s.fd = pair[1];
    s.r.arena = tab_arena_new(1 << 20);
    if (s.r.arena == NULL || send(pair[0], data, size, MSG_DONTWAIT) != (ssize_t)size)
        size = 0;
    shutdown(pair[0], SHUT_WR);
    tab_status status = read_head(&s, &identity, &err);
    for (size_t n = 1; status == TAB_OK && n > 0; body += n)
        status = stream_pull(&s, some, sizeof some, &n, &err);
    if (body > size || (status != TAB_OK && err.message[0] == 0))
        abort();
    if (status == TAB_OK && s.r.path.p == NULL)
        abort();
    close(pair[0]);
    close(pair[1]);
    tab_arena_free(s.r.arena);
    return 0;
}
