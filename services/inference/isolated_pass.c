/* A pass in a process of its own, for a job whose worker died while it had it: whoever killed that worker
 * kills nobody else here, and is known (decision 0240).
 *
 *   this process                                   its child: the same program, TAB_ALONE=1
 *   slot taken -> spawn ------------------------>  starts, serves under a name that it writes to stdout
 *   the call, addressed to that name ----------->  the pass; progress and cancellation by name as ever
 *        answered <------------------------------  answer           -> told to stop, and waited for
 *        nobody listens there any more             died of a signal -> JOB_FAILED
 *
 * The kernel kills the child when its parent dies. It has the parent's configuration, other ports, and no
 * part in who owns which state. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "services/inference/inference.h"

enum { START_MS = 30000, STOP_MS = 5000, LOOK_MS = 20, NAME = 40 };

extern char **environ;

void isolated_pass_begin(inference *self)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, ALONE); /* so that a list of processes tells them apart */
    printf("%s\n", tab_rpc_worker(self->rpc));
    if (fflush(stdout) != 0) /* the parent is gone */
        exit(EXIT_FAILURE);
}

/* The child, or -1. *ret_out: what it writes. */
static pid_t spawn_child(int *ret_out)
{
    int fd[2];
    pid_t child = -1;
    posix_spawn_file_actions_t files;
    size_t n = 0;
    while (environ[n] != NULL)
        n++;
    char **env = calloc(n + 2, sizeof *env), *argv[] = { (char *)"inference", NULL };
    if (env == NULL)
        return -1;
    env[0] = (char *)"TAB_ALONE=1";        /* the first of two counts */
    for (size_t i = 0, to = 1; i < n; i++) /* it keeps no states, and needs no key of theirs */
        if (strncmp(environ[i], "TAB_STATE_KEK", strlen("TAB_STATE_KEK")) != 0 &&
            strncmp(environ[i], "TAB_PKCS11_", strlen("TAB_PKCS11_")) != 0)
            env[to++] = environ[i];
    if (pipe(fd) == 0) {
        if (posix_spawn_file_actions_init(&files) == 0) {
            if (posix_spawn_file_actions_adddup2(&files, fd[1], STDOUT_FILENO) != 0 ||
                posix_spawn_file_actions_addclosefrom_np(&files, 3) != 0 ||
                posix_spawn(&child, "/proc/self/exe", &files, NULL, argv, env) != 0)
                child = -1;
            posix_spawn_file_actions_destroy(&files);
        }
        close(fd[1]);
        *ret_out = fd[0];
        if (child < 0)
            close(fd[0]);
    }
    free(env);
    return child;
}

/* The name under which the child serves; false: it did not come up, or the call has ended. */
static bool read_name(int out, const atomic_bool *cancel, char name[NAME])
{
    size_t n = 0;
    for (tab_deadline end = tab_in_ms(START_MS); tab_left_ms(end, 1) > 0 && !atomic_load(cancel);) {
        struct pollfd p = { .fd = out, .events = POLLIN };
        if (poll(&p, 1, 100) <= 0)
            continue;
        ssize_t got = read(out, name + n, NAME - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        n += (size_t)got;
        name[n] = 0;
        char *end_of = strchr(name, '\n');
        if (end_of != NULL) {
            *end_of = 0;
            return true;
        }
        if (n == NAME - 1)
            return false;
    }
    return false;
}

/* Waits for the child's end, so long at most. */
static bool ended(pid_t child, int64_t ms, int *ret_status)
{
    for (tab_deadline end = tab_in_ms(ms);; poll(NULL, 0, LOOK_MS)) {
        pid_t got = waitpid(child, ret_status, WNOHANG);
        if (got == child || (got < 0 && errno != EINTR))
            return true;
        if (tab_left_ms(end, 1) == 0)
            return false;
    }
}

/* Asks the child to stop; kills one that is frozen or hangs. */
static void end_child(pid_t child)
{
    int status = 0;
    kill(child, SIGTERM);
    if (!ended(child, STOP_MS, &status)) {
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
}

tab_status isolated_pass_call(inference *self, tab_call *call, const char *method,
                              const ProtobufCMessageDescriptor *reply, const void *ret, tab_error *err)
{
    pass p;
    int out = -1, status = 0;
    char name[NAME] = "";
    tab_answer answer = { 0 };
    tab_status s = pass_begin(&p, self, call, NULL, true, err); /* its child counts as one that computes */
    if (s != TAB_OK)
        return s;
    pid_t child = spawn_child(&out);
    if (child < 0 || !read_name(out, &p.cancel, name)) {
        s = atomic_load(&p.cancel) ? tab_fail(err, TAB_CANCELLED, "", "cancelled")
                                   : tab_fail(err, TAB_UNAVAILABLE, "",
                                              "no process could be started for this computation; try again");
        tab_log(TAB_WARN, "a pass alone: %s", err == NULL ? "" : err->message);
    } else {
        tab_ask ask = { .service = ALONE,
                        .method = method,
                        .worker = name,
                        .in = call->in,
                        .tables = call->tables,
                        .n_tables = call->n_tables,
                        .tell_begun = true,
                        .reply = reply,
                        .arena = call->arena };
        tab_ask_inherit(&ask, call);
        ask.gone = &p.cancel;
        tab_log_fields(TAB_INFO, "a pass runs alone", "method", method, "worker", name, NULL);
        tab_error why = { 0 };
        s = tab_rpc_call(self->rpc, &ask, &answer, &why);
        bool stopped = tab_rpc_stopped(s, &why); /* it was told to, by whoever stops processes here */
        bool died = s == TAB_UNAVAILABLE && !stopped && ended(child, LOOK_MS, &status);
        if (s == TAB_OK) {
            *(const void **)(uintptr_t)ret = answer.msg;
        } else if (died || tab_rpc_lost(s, &why)) {
            /* dead, or frozen while at work: the two look the same from outside */
            s = tab_fail(err, TAB_JOB_FAILED, "",
                         "the process that computed this result crashed; nothing else is affected");
            tab_metric_add(tab_counter("tabella_inference_died_alone_total",
                                       "Passes that ended the process in which they were alone", NULL),
                           1);
            tab_log(TAB_WARN, "a pass alone ended its process: status %d", died ? status : -1);
            if (died)
                child = -1;
        } else {
            tab_fail(err, s, why.param, "%s", why.message);
        }
    }
    if (child > 0)
        end_child(child);
    if (out >= 0)
        close(out);
    pass_end(&p);
    return s;
}
