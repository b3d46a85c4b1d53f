/* What every provider of source.h uses. */
#include "services/data-connector/source/source.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

const char *credential(const source *s, const char *name)
{
    for (size_t i = 0; i < s->n_credentials; i++)
        if (strcmp(s->credentials[i]->name, name) == 0)
            return s->credentials[i]->value;
    return "";
}

int64_t source_left_ms(const source *s, int64_t most)
{
    return *s->cancel ? 0 : tab_left_ms(s->deadline, most);
}

tab_status source_plain(const source *s, bool *ret, tab_error *err)
{
    const char *tls = credential(s, "tls");
    *ret = strcmp(tls, "disable") == 0;
    if (tls[0] != '\0' && !*ret && strcmp(tls, "verify-full") != 0)
        return tab_fail(err, TAB_VALIDATION, "credentials.tls", "`tls` must be verify-full or disable.");
    if (*ret && s->is_public)
        return tab_fail(err, TAB_VALIDATION, "credentials.tls",
                        "TLS can only be disabled in networks that the operator allows.");
    return TAB_OK;
}

tab_status source_roots(const source *s, char path[64], int *ret, tab_error *err)
{
    const char *ca = credential(s, "ca");
    size_t n = strlen(ca), at = 0;
    *ret = -1;
    snprintf(path, 64, "/etc/ssl/certs/ca-certificates.crt");
    if (n == 0)
        return TAB_OK;
    if (strstr(ca, "-----BEGIN CERTIFICATE-----") == NULL)
        return tab_fail(err, TAB_VALIDATION, "credentials.ca",
                        "`ca` must be one or more certificates in PEM form.");
    int fd = memfd_create("ca", MFD_CLOEXEC);
    while (fd >= 0 && at < n) {
        ssize_t w = write(fd, ca + at, n - at);
        if (w <= 0)
            break;
        at += (size_t)w;
    }
    if (fd < 0 || at < n) {
        if (fd >= 0)
            close(fd);
        return tab_fail(err, TAB_INTERNAL, "", "no room for the certificates");
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    *ret = fd;
    return TAB_OK;
}

bool source_refuses(const source *s)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *to = NULL;
    char port[8];
    int why = 0;
    socklen_t n = sizeof why;
    snprintf(port, sizeof port, "%u", s->ref->port);
    if (getaddrinfo(s->address, port, &hints, &to) != 0)
        return false;
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) != 0)
        why = errno;
    struct pollfd p = { fd, POLLOUT, 0 };
    if (why == EINPROGRESS && (poll(&p, 1, 1000) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) != 0))
        why = 0;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(to);
    return why == ECONNREFUSED;
}

tab_status source_refuses_login(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "credentials", "The source refuses these credentials.");
}

tab_status source_grants_nothing(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "credentials",
                    "The source accepts these credentials, but their user has no right to read this table. "
                    "Grant it there (SELECT), or connect with another user.");
}

tab_status source_without_tls(tab_error *err)
{
    return tab_fail(
        err, TAB_VALIDATION, "source",
        "The TLS certificate of the source cannot be verified, or it offers no TLS. Enable TLS there and "
        "give the certificate of its authority as credentials.ca; in networks that the operator allows, "
        "credentials.tls can be disable.");
}

tab_status source_not_listening(tab_error *err)
{
    return tab_fail(
        err, TAB_VALIDATION, "source",
        "Nothing is listening at the source's address and port. Check both, and that the server accepts "
        "connections from other machines.");
}

tab_status source_too_large(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "source", "The source sends more data than the limit.");
}

tab_status source_too_late(tab_error *err)
{
    return tab_fail(err, TAB_CANCELLED, "", "Reading the source took too long.");
}

tab_status source_broke(tab_error *err)
{
    if (guard_spent())
        return source_too_large(err);
    return tab_fail(err, TAB_UNAVAILABLE, "", "The source closed the connection.");
}
