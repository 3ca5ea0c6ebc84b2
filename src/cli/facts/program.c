/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "closing.h"
#include "errors.h"

enum {
    HEAD_BYTES = 256, /* the kernel reads so many of a script (BINPRM_BUF_SIZE) */
    DEPTH = 5,        /* scripts that run scripts; one more is ELOOP */
};

static int executable(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return access(path, X_OK) == 0 ? 0 : -errno;
}

/* Searches as execvp(3) does.  A file that may not be run is taken only if no later folder has one that
 * may. */
static int find(const char *name, char path[PATH_MAX]) {
    if (strchr(name, '/')) {
        int n = snprintf(path, PATH_MAX, "%s", name);
        return n >= PATH_MAX ? -ENAMETOOLONG : executable(path);
    }
    const char *list = getenv("PATH");
    if (!list)
        list = "/bin:/usr/bin";
    int result = -ENOENT;
    char candidate[PATH_MAX];
    snprintf(path, PATH_MAX, "%s", name);
    for (const char *end; name[0]; list = end + 1) {
        end = strchrnul(list, ':');
        bool here = end == list;
        int n = snprintf(candidate, PATH_MAX, "%.*s/%s", here ? 1 : (int)(end - list),
                         here ? "." : list, name);
        int error = n < PATH_MAX ? executable(candidate) : -ENAMETOOLONG;
        if (error == 0 || error == -EACCES) {
            memcpy(path, candidate, PATH_MAX);
            result = error;
        }
        if (error == 0 || !*end)
            break;
    }
    return result;
}

/* The next word of a line of env -S.  Quotes are understood, escapes and variables are not: #! lines rarely
 * have them. */
static char *word_of(char **line) {
    *line += strspn(*line, " \t");
    if (!**line)
        return NULL;
    char quote = **line;
    if (quote != '"' && quote != '\'')
        quote = '\0';
    char *word = *line + (quote != 0);
    char *end = quote ? strchrnul(word, quote) : word + strcspn(word, " \t");
    *line = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* The program that env(1) runs for the one argument of a #! line, or NULL. */
static const char *behind_env(struct program *p, char *argument) {
    char *line = NULL;
    if (strncmp(argument, "-S", 2) == 0)
        line = argument + 2;
    else if (strncmp(argument, "-vS", 3) == 0)
        line = argument + 3;
    else if (strncmp(argument, "--split-string", 14) == 0)
        line = argument + 14 + (argument[14] == '=');
    if (!line)
        return argument[0] == '-' ? NULL : argument;
    for (char *word; (word = word_of(&line));) {
        if (strcmp(word, "-i") == 0 || strcmp(word, "-") == 0 ||
            strcmp(word, "--ignore-environment") == 0)
            p->env_cleared = true;
        else if (strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0)
            word_of(&line);
        else if (word[0] != '-' && !strchr(word, '='))
            return word;
    }
    return NULL;
}

/* Splits "#! interpreter argument" as the kernel does.  False: the file does not begin so. */
static bool shebang(char *head, char **interpreter, char **argument) {
    if (head[0] != '#' || head[1] != '!')
        return false;
    head[strcspn(head, "\n")] = '\0';
    char *at = head + 2 + strspn(head + 2, " \t");
    *interpreter = at;
    at += strcspn(at, " \t");
    if (*at)
        *at++ = '\0';
    *argument = at + strspn(at, " \t");
    for (char *end = *argument + strlen(*argument); end > *argument && strchr(" \t", end[-1]);)
        *--end = '\0';
    return true;
}

static ssize_t head_of(const char *path, char head[HEAD_BYTES]) {
    CLOSED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1; /* a file that may be run but not read is no script */
    ssize_t n = read(fd, head, HEAD_BYTES - 1);
    if (n >= 0)
        head[n] = '\0';
    return n;
}

/* If p->file is a script, p->file becomes its interpreter, and *again is true. */
static int follow(struct program *p, bool *again) {
    char head[HEAD_BYTES], *interpreter, *argument;
    ssize_t n = head_of(p->file, head);
    *again = false;
    if (n <= 0 || memcmp(head, "\177ELF", n < 4 ? (size_t)n : 4) == 0)
        return 0;
    bool script = shebang(head, &interpreter, &argument);
    if (!script && (memchr(head, '\0', (size_t)n) || p->script[0]))
        return 0; /* binfmt_misc may know this kind */
    memcpy(p->script, p->file, PATH_MAX);
    *again = true;
    p->by_shell = !script;
    if (!script)
        return find("/bin/sh", p->file);
    int error = find(strchr(interpreter, '/') ? interpreter : "", p->file);
    const char *slash = strrchr(interpreter, '/');
    if (error || !slash || strcmp(slash, "/env") != 0 || !*argument)
        return error;
    const char *name = behind_env(p, argument);
    return name ? find(name, p->file) : 0;
}

int program_find(struct program *p, const char *name) {
    memset(p, 0, sizeof(*p));
    p->name = name;
    int error = find(name, p->path);
    memcpy(p->file, p->path, PATH_MAX);
    bool again = true;
    for (int depth = 0; !error && again; depth++)
        error = depth > DEPTH ? -ELOOP : follow(p, &again);
    return error;
}

/* The exit codes of env(1). */
static int exit_code(int error) {
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

int program_complain(const struct program *p, int error) {
    const char *name = p->file[0] ? p->file : p->name;
    char lead[PATH_MAX + 64] = "";
    if (p->script[0]) /* the script exists; the program of its first line does not */
        snprintf(lead, sizeof(lead), "%s: is a script for ", p->script);
    if (exit_code(error) == EXIT_NOT_FOUND)
        complain("%s%s: no such program; %s", lead, name,
                 p->script[0]        ? "install it, or correct the first line"
                 : strchr(name, '/') ? "check the path"
                                     : "give its path, or check $PATH");
    else
        complain("%s%s: cannot be run: %s", lead, name, strerror(error));
    return exit_code(error);
}
