#include "common/run/health.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/time.h"

/* What comes on the socket until it is closed or says something. */
static bool says(int s, int port, const char *path, const char *code)
{
    char ask[128], want[8];
    int n = snprintf(ask, sizeof ask, "GET %s HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", path);
    snprintf(want, sizeof want, " %s ", code);
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    char text[512] = "";
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct pollfd p = { .fd = s, .events = POLLIN };
    return connect(s, (struct sockaddr *)&at, sizeof at) == 0 && send(s, ask, (size_t)n, 0) == n &&
           poll(&p, 1, 60000) == 1 && recv(s, text, sizeof text - 1, 0) > 0 && strstr(text, want) != NULL;
}

static bool answers(int s, int port)
{
    return says(s, port, "/livez", "200");
}

static bool now_says(int port, const char *path, const char *code)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    bool did = says(s, port, path, code);
    close(s);
    return did;
}

static bool comes_to_say(int port, const char *path, const char *code)
{
    for (int i = 0; i < 600; i++, poll(NULL, 0, 100))
        if (now_says(port, path, code))
            return true;
    return false;
}

static bool held_up(void *arg)
{
    atomic_int *asked = arg;
    atomic_fetch_add(asked, 1);
    while (atomic_load(asked) < 1000)
        poll(NULL, 0, 10);
    return true;
}

/* A name server that does not answer holds a server's probe up for as long as it likes. */
Test(health, liveness_waits_for_no_server, .timeout = 120)
{
    static atomic_int asked;
    tab_log_open("test", TAB_ERROR);
    tab_health *h = tab_health_open(0);
    cr_assert_not_null(h);
    tab_health_ready(h, true);
    cr_expect(comes_to_say(tab_health_port(h), "/readyz", "200"));
    tab_health_watch(h, "stuck", held_up, &asked);
    while (atomic_load(&asked) == 0)
        poll(NULL, 0, 10);
    cr_expect(now_says(tab_health_port(h), "/livez", "200"));
    cr_expect(now_says(tab_health_port(h), "/readyz", "503"));
    cr_expect_lt(atomic_load(&asked), 1000, "it still holds");
    atomic_store(&asked, 1000);
    cr_expect(comes_to_say(tab_health_port(h), "/readyz", "200"));
    tab_health_leave(h, 0);
    cr_expect(now_says(tab_health_port(h), "/readyz", "503"));
    cr_expect(now_says(tab_health_port(h), "/livez", "200"));
    tab_health_free(h);
}

Test(health, a_loop_that_is_stuck_is_not_alive, .timeout = 120)
{
    static _Atomic int64_t turned;
    tab_log_open("test", TAB_ERROR);
    tab_health *h = tab_health_open(0);
    cr_assert_not_null(h);
    atomic_store(&turned, tab_mono_ms());
    tab_health_loop(h, "loop", &turned);
    cr_expect(now_says(tab_health_port(h), "/livez", "200"));
    atomic_store(&turned, tab_mono_ms() - TAB_LOOP_STUCK_MS);
    cr_expect(now_says(tab_health_port(h), "/livez", "503"));
    atomic_store(&turned, tab_mono_ms());
    cr_expect(now_says(tab_health_port(h), "/livez", "200"));
    tab_health_free(h);
}

static size_t lines(FILE *f)
{
    size_t n = 0;
    rewind(f);
    for (int c; (c = fgetc(f)) != EOF;)
        n += c == '\n';
    return n;
}

/* libevent's listener, left alone, answers nobody then, and writes some 100,000 lines a second. */
Test(health, answers_when_all_descriptors_are_in_use, .timeout = 120)
{
    enum { ASKERS = 3, MOST = 64 };
    FILE *log = tmpfile();
    cr_assert_not_null(log);
    dup2(fileno(log), STDERR_FILENO);
    tab_log_open("test", TAB_INFO);
    tab_health *h = tab_health_open(0);
    cr_assert_not_null(h);
    int ask[ASKERS], used[MOST], n = 0;
    for (int i = 0; i < ASKERS; i++)
        ask[i] = socket(AF_INET, SOCK_STREAM, 0);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ MOST, MOST });
    while (n < MOST && (used[n] = open("/dev/null", O_RDONLY)) >= 0)
        n++;
    size_t before = lines(log);
    for (int i = 0; i < ASKERS; i++) {
        cr_expect(answers(ask[i], tab_health_port(h)), "asker %d", i);
        poll(NULL, 0, 500);
        close(ask[i]);
        poll(NULL, 0, 500); /* the descriptor of the asker is its, not the server's */
        open("/dev/null", O_RDONLY);
    }
    cr_expect_lt(lines(log) - before, 50, "%zu lines", lines(log) - before);
    while (n > 0)
        close(used[--n]);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    cr_expect(answers(s, tab_health_port(h)), "and when there are some again");
    close(s);
    tab_health_free(h);
}
