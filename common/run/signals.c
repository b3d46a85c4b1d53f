/* See signals.h: the signals are blocked in every thread, and main waits for them. */
#include "common/run/signals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/config.h"

static atomic_bool held_now;
static pthread_t holder;

/* A library may have started threads before main, which do not hold the signals (OpenBLAS does): one that
 * comes to such a thread is passed on. */
static void pass_on(int sig)
{
    if (!pthread_equal(pthread_self(), holder))
        pthread_kill(holder, sig);
}

sigset_t tab_signals_hold(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGTERM);
    sigaddset(&s, SIGINT);
    sigaddset(&s, SIGHUP);
    holder = pthread_self();
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    signal(SIGTERM, pass_on);
    signal(SIGINT, pass_on);
    signal(SIGHUP, pass_on);
    atomic_store(&held_now, true);
    signal(SIGPIPE, SIG_IGN);
    /* No dump of our memory: 0 would do for files, 1 keeps the kernel from a core_pattern's pipe too. */
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return s;
}

int tab_signals_wait(const sigset_t *held)
{
    int got = 0;
    while (sigwait(held, &got) != 0 || got == SIGHUP)
        if (got == SIGHUP)
            tab_config_told();
    signal(SIGHUP, SIG_IGN); /* what stops reads nothing any more */
    atomic_store(&held_now, false);
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    return got;
}

void tab_signals_stop(void)
{
    if (atomic_exchange(&held_now, false))
        kill(getpid(), SIGTERM);
}
