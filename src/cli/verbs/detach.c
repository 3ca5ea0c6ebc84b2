/* SPDX-License-Identifier: MIT
 *
 * unstall detach: ends attachments, also those whose command was killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "attach.h"
#include "attach_words.h"
#include "errors.h"
#include "verbs.h"

static int detach(const char *name, const char *text) {
    char error[ATTACH_ERROR] = "";
    int failed = attach_end(name, error);
    if (failed == -ENOENT)
        return complain("%s: nothing is attached there; `unstall attach --list` shows what is",
                        text);
    if (failed || error[0])
        complain("%s: %s", text, error);
    if (!failed)
        printf("%s: detached; %sconnections have their own values back\n", text,
               error[0] ? "all other " : "");
    return failed ? EXIT_OWN : finish_output();
}

static int detach_all(void) {
    struct attach_state *list = NULL;
    size_t count = 0;
    char error[ATTACH_ERROR] = "";
    int code = 0;
    if (attach_list(&list, &count, error) != 0)
        return complain("%s", error);
    if (!count)
        printf("nothing is attached\n");
    for (size_t i = 0; i < count; i++)
        if (detach(list[i].name, list[i].name) != 0)
            code = EXIT_OWN;
    free(list);
    return code ? code : finish_output();
}

/* True for a name in the list: the only way to name an attachment whose cgroup was removed. */
static bool is_name(const char *word) {
    struct attach_state *list = NULL;
    size_t count = 0;
    char error[ATTACH_ERROR] = "";
    bool found = false;
    if (attach_list(&list, &count, error) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(list[i].name, word) == 0;
    free(list);
    return found;
}

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_detach, argc, argv);
    struct attach_wish wish = {.pid = 0};
    struct attach_target target = {.pid = 0};
    const char *name = NULL;
    char error[ATTACH_ERROR] = "";
    enum args_kind kind;
    int failed;
    while ((kind = args_next(&a)) != ARGS_END) {
        failed = 0;
        if (kind == ARGS_OPTION && (failed = attach_option(&a, &wish)) < 0)
            return args_unknown(&a);
        if (kind == ARGS_WORD && is_name(a.word))
            name = a.word;
        else if (kind == ARGS_WORD)
            failed = attach_process(&a, &wish, "or a name that `unstall attach --list` shows");
        if (failed)
            return failed;
    }
    if (attach_targets(&wish) + (name != NULL) != 1)
        return complain("give one target: a PID, --cgroup, --unit, --container, --port, a name of "
                        "`unstall attach --list`, or --all");
    if (name)
        return detach(name, name);
    if (wish.all)
        return detach_all();
    if (!attach_name(&wish, &target) && attach_find(&wish, &target, error) != 0)
        return complain("%s", error);
    return detach(target.name, target.text);
}

const struct verb verb_detach = {
    .name = "detach",
    .summary = "End `unstall attach`, and give connections their own values back",
    .usage = "[OPTION]... [PID|NAME]",
    .help = "  PID, NAME         the process, or a name of `unstall attach --list`\n"
            "  --unit NAME       what was attached to this unit of systemd\n"
            "  --container NAME  to this container\n"
            "  --cgroup PATH     to this cgroup\n"
            "  --port PORT       to this port\n"
            "  --all             all that is attached\n",
    .run = run,
};
