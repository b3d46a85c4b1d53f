#include "common/base/config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    const char *text, *secret;
    int64_t number;
} some_config;

static const tab_option options[] = {
    TAB_OPTION(some_config, text, TEXT, "TAB_SOME_TEXT", "as it is", "a text"),
    TAB_OPTION(some_config, secret, SECRET, "TAB_SOME_SECRET", "", "a secret"),
    TAB_OPTION(some_config, number, INT, "TAB_SOME_NUMBER", "3", "a number"), TAB_OPTIONS_END
};

static char folder[64];

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    cr_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/tabella-config-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    setenv("TAB_SECRETS_FOLDER", folder, 1);
}

static void remove_folder(void)
{
    static const char *const names[] = { "TAB_SOME_TEXT", "TAB_SOME_SECRET", "TAB_SOME_NUMBER", "other" };
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static int read_into(some_config *cfg)
{
    char program[] = "daemon";
    char *argv[] = { program, NULL };
    return tab_config_read(options, cfg, 1, argv);
}

TestSuite(config, .init = make_folder, .fini = remove_folder);

Test(config, secrets_lie_in_a_folder_under_their_names)
{
    some_config cfg = { 0 };
    put("TAB_SOME_SECRET", "from the folder\n");
    put("TAB_SOME_NUMBER", "9");
    cr_assert_eq(read_into(&cfg), -1);
    cr_expect_str_eq(cfg.secret, "from the folder");
    cr_expect_str_eq(cfg.text, "as it is"); /* no file of its name */
    cr_expect_eq(cfg.number, 3);            /* numbers are no secrets */

    put("TAB_SOME_SECRET", "changed");
    tab_config_again();
    cr_expect_str_eq(tab_config_now(cfg.secret), "changed");
}

Test(config, a_variable_and_a_file_of_its_own_come_before_the_folder)
{
    some_config cfg = { 0 };
    char path[128];
    put("TAB_SOME_TEXT", "from the folder");
    put("TAB_SOME_SECRET", "from the folder");
    put("other", "from another file");
    snprintf(path, sizeof path, "%s/other", folder);
    setenv("TAB_SOME_TEXT", "from a variable", 1);
    setenv("TAB_SOME_SECRET_FILE", path, 1);
    cr_assert_eq(read_into(&cfg), -1);
    cr_expect_str_eq(cfg.text, "from a variable");
    cr_expect_str_eq(cfg.secret, "from another file");
}

Test(config, a_file_that_is_named_and_away_stops_the_daemon)
{
    some_config cfg = { 0 };
    setenv("TAB_SOME_SECRET_FILE", "/nowhere/at/all", 1);
    cr_expect_eq(read_into(&cfg), 78);
}
