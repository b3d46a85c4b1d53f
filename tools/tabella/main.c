/* tabella, the command line: the commands of the library (tools/library/command.c), which have the engine in
 * them, and admin.c, which calls a running suite. */
#include "tools/tabella/tabella.h"

int main(int argc, char **argv)
{
    static const command admin = { "admin", cmd_admin,
                                   "manage the organizations and bases of a running suite" };
    return command_line(argc, argv, &admin);
}
