/* See config.h: reads the environment by a table of options. A wrong value stops the daemon before it
 * opens anything (exit code 78, EX_CONFIG of sysexits.h; 64, EX_USAGE, for an unknown argument). */
#include "common/base/config.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/integer.h"

enum { BAD_VALUE = 78, BAD_USE = 64, FILE_MOST = 64 * 1024, FILES = 64 };
#define INT_MOST \
    INT64_C(1000000000000000) /* so that a thousand times it, milliseconds of seconds, is a number too */

/* The whole file without its last newline; never freed: configuration lives as long as the process. */
static char *read_file(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text = f == NULL ? NULL : calloc(1, FILE_MOST + 1);
    if (text != NULL) {
        size_t n = fread(text, 1, FILE_MOST, f);
        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
            text[--n] = 0;
    }
    if (f != NULL)
        fclose(f);
    return text;
}

/* What was read from files: the text that was given first, which names it, and its newest value. */
static struct {
    pthread_mutex_t lock;
    struct {
        const char *path, *first, *now;
    } of[FILES];
    size_t n;
    tab_config_listener *listeners;
} files = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void remember(const char *path, const char *text)
{
    pthread_mutex_lock(&files.lock);
    if (text != NULL && files.n < FILES) {
        files.of[files.n].path = path;
        files.of[files.n].first = files.of[files.n].now = text;
        files.n++;
    }
    pthread_mutex_unlock(&files.lock);
}

/* Where a text or secret lies that is in no variable: NAME_FILE says so, or it is NAME in the folder of them
 * all. NULL: nowhere. The caller's. */
static char *file_of(const char *name)
{
    char variable[128];
    snprintf(variable, sizeof variable, "%s_FILE", name);
    const char *path = getenv(variable), *folder = getenv("TAB_SECRETS_FOLDER");
    if (path != NULL)
        return strdup(path);
    char *in_folder = NULL;
    if (folder == NULL || asprintf(&in_folder, "%s/%s", folder, name) < 0)
        return NULL;
    if (access(in_folder, F_OK) == 0)
        return in_folder;
    free(in_folder);
    return NULL;
}

static const char *value_of(const tab_option *o)
{
    const char *v = getenv(o->name);
    if (v == NULL && (o->kind == TAB_OPTION_TEXT || o->kind == TAB_OPTION_SECRET)) {
        char *path = file_of(o->name);
        if (path != NULL) {
            v = read_file(path);
            if (v == NULL)
                free(path); /* the value is refused by the caller */
            else
                remember(path, v);
            return v;
        }
    }
    return v == NULL ? o->otherwise : v;
}

static char read_line[1024]; /* what the last tab_config_read read: "NAME=value NAME=value" */

static void note(const tab_option *o, const char *v)
{
    size_t n = strlen(read_line);
    snprintf(read_line + n, sizeof read_line - n, "%s%s=%s", n == 0 ? "" : " ", o->name,
             o->kind == TAB_OPTION_SECRET && v[0] != 0 ? "***" : v);
}

void tab_config_log(void)
{
    if (read_line[0] != 0)
        tab_log_fields(TAB_INFO, "configuration", "values", read_line, NULL);
}

static bool set_bool(const char *v, bool *ret)
{
    static const char *const words[] = { "0", "false", "no", "off", "1", "true", "yes", "on" };
    for (size_t i = 0; i < 8; i++)
        if (strcmp(v, words[i]) == 0) {
            *ret = i >= 4;
            return true;
        }
    return false;
}

static bool set(const tab_option *o, const char *v, void *at)
{
    char *end = NULL;
    switch (o->kind) {
    case TAB_OPTION_TEXT:
    case TAB_OPTION_SECRET:
        *(const char **)at = v;
        return true;
    case TAB_OPTION_INT:
        return tab_integer_read(tab_str_of(v), 0, INT_MOST, at);
    case TAB_OPTION_REAL: {
        double x = strtod(v, &end);
        *(double *)at = x;
        return end != v && *end == 0 && isfinite(x) && x >= 0;
    }
    case TAB_OPTION_BOOL:
        return set_bool(v, at);
    case TAB_OPTION_LEVEL:
        return tab_log_level_of(v, at);
    }
    return false;
}

static void help(const tab_option *options, const char *program)
{
    printf("%s: a daemon of Tabella. Its configuration is environment variables.\n\n", program);
    for (const tab_option *o = options; o->name != NULL; o++)
        printf("  %-24s %s (default: %s)\n", o->name, o->help, o->otherwise[0] == 0 ? "empty" : o->otherwise);
    printf(
        "\n  A text or a secret may also come from a file: NAME_FILE names it, or it is the file NAME in\n"
        "  the folder that TAB_SECRETS_FOLDER names.\n");
    printf("\n  --help  --version  --check (read the configuration and print it)\n");
}

int tab_config_read(const tab_option *options, void *cfg, int argc, char **argv)
{
    bool check = false;
    read_line[0] = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return help(options, argv[0]), 0;
        if (strcmp(argv[i], "--version") == 0)
            return printf(TAB_VERSION " %s\n", tab_commit), 0;
        if (strcmp(argv[i], "--check") != 0) {
            fprintf(stderr, "%s: unknown argument %s (see --help)\n", argv[0], argv[i]);
            return BAD_USE;
        }
        check = true;
    }
    for (const tab_option *o = options; o->name != NULL; o++) {
        const char *v = value_of(o);
        if (v == NULL || !set(o, v, (char *)cfg + o->at)) {
            fprintf(stderr, "%s: bad value of %s (%s)\n", argv[0], o->name, o->help);
            return BAD_VALUE;
        }
        note(o, v);
        if (check)
            printf("%s=%s\n", o->name, o->kind == TAB_OPTION_SECRET && v[0] != 0 ? "***" : v);
    }
    return check ? 0 : -1;
}

/* ---- read again ------------------------------------------------------------------------------ */

const char *tab_config_now(const char *text)
{
    pthread_mutex_lock(&files.lock);
    for (size_t i = 0; i < files.n; i++)
        if (files.of[i].first == text) {
            text = files.of[i].now;
            break;
        }
    pthread_mutex_unlock(&files.lock);
    return text;
}

tab_access tab_access_now(const tab_access *a)
{
    return (tab_access){ .address = tab_config_now(a->address),
                         .user = tab_config_now(a->user),
                         .password = tab_config_now(a->password),
                         .tls = a->tls,
                         .ca = tab_config_now(a->ca),
                         .cert = tab_config_now(a->cert),
                         .key = tab_config_now(a->key) };
}

void tab_config_again(void)
{
    pthread_mutex_lock(&files.lock);
    for (size_t i = 0; i < files.n; i++) {
        char *text = read_file(files.of[i].path);
        if (text != NULL && text[0] != '\0' && strcmp(text, files.of[i].now) != 0)
            files.of[i].now = text;
        else
            free(text);
    }
    pthread_mutex_unlock(&files.lock);
}

void tab_config_told(void)
{
    tab_config_again();
    tab_log(TAB_INFO, "files of the configuration are read again");
    pthread_mutex_lock(&files.lock);
    tab_config_listener *l = files.listeners;
    pthread_mutex_unlock(&files.lock);
    for (; l != NULL; l = l->next) /* main alone opens, frees and is told */
        l->told(l->arg);
}

void tab_config_listen(tab_config_listener *l)
{
    pthread_mutex_lock(&files.lock);
    l->next = files.listeners;
    files.listeners = l;
    pthread_mutex_unlock(&files.lock);
}

void tab_config_forget(const tab_config_listener *l)
{
    pthread_mutex_lock(&files.lock);
    for (tab_config_listener **at = &files.listeners; *at != NULL; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    pthread_mutex_unlock(&files.lock);
}
