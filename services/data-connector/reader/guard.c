/* This file defines connect(), recv() and HMAC_Init_ex() for the whole program, in place of libc's and
 * OpenSSL's: the dynamic linker finds ours first, and ours call theirs by dlsym(RTLD_NEXT). They change
 * nothing for a thread that is not between guard_begin and guard_end. */
#include "services/data-connector/reader/guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "common/security/address.h"

static _Thread_local const char *guarded; /* NULL: this thread may connect where it likes */
static _Thread_local const char *paused;  /* what guard_resume brings back */
static _Thread_local int64_t receivable;  /* bytes, of a guarded thread */
static _Thread_local int64_t keyings;     /* what a guarded thread may still do */

void guard_begin(const char *allow, int64_t most)
{
    guarded = allow;
    receivable = most;
    keyings = GUARD_KEYINGS;
}

void guard_end(void)
{
    paused = guarded;
    guarded = NULL;
}

void guard_resume(void)
{
    guarded = paused;
}

bool guard_spent(void)
{
    return guarded != NULL && receivable <= 0;
}

bool guard_laboured(void)
{
    return guarded != NULL && keyings <= 0;
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    typedef ssize_t recv_fn(int, void *, size_t, int);
    static _Atomic(recv_fn *) known; /* many a row is many a call */
    recv_fn *next = atomic_load(&known);
    if (next == NULL)
        atomic_store(&known, next = (recv_fn *)dlsym(RTLD_NEXT, "recv"));
    if (guard_spent() || next == NULL) {
        errno = next == NULL ? ENOSYS : ECONNRESET;
        return -1;
    }
    ssize_t got = next(fd, buf, n, flags);
    if (guarded != NULL && got > 0)
        receivable -= got;
    return got;
}

/* OpenSSL's, by its plain types: libpq calls it once an iteration of SCRAM (RFC 5802), in a loop whose
 * length the server names and that nothing else ends. 0: failed. */
int HMAC_Init_ex(void *ctx, const void *key, int n, const void *md, void *engine);
int HMAC_Init_ex(void *ctx, const void *key, int n, const void *md, void *engine)
{
    typedef int init_fn(void *, const void *, int, const void *, void *);
    static _Atomic(init_fn *) known;
    init_fn *next = atomic_load(&known);
    if (next == NULL)
        atomic_store(&known, next = (init_fn *)dlsym(RTLD_NEXT, "HMAC_Init_ex"));
    if (guard_laboured() || next == NULL)
        return 0;
    if (guarded != NULL)
        keyings--;
    return next(ctx, key, n, md, engine);
}

int connect(int fd, const struct sockaddr *sa, socklen_t len)
{
    typedef int connect_fn(int, const struct sockaddr *, socklen_t);
    connect_fn *next = (connect_fn *)dlsym(RTLD_NEXT, "connect");
    if (guarded != NULL && !tab_address_allowed(sa, guarded)) {
        errno = EACCES;
        return -1;
    }
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    return next(fd, sa, len);
}
