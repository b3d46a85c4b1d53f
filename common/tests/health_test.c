#include "common/health.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"

/* What comes on the socket until it is closed or says something. */
static bool answers(int s, int port)
{
    static const char ask[] = "GET /livez HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    char text[512] = "";
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct pollfd p = { .fd = s, .events = POLLIN };
    return connect(s, (struct sockaddr *)&at, sizeof at) == 0 &&
           send(s, ask, sizeof ask - 1, 0) == (ssize_t)sizeof ask - 1 && poll(&p, 1, 60000) == 1 &&
           recv(s, text, sizeof text - 1, 0) > 0 && strstr(text, " 200 ") != NULL;
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
