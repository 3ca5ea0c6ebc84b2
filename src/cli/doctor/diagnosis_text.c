/* SPDX-License-Identifier: MIT */

#include "array.h"
#include "diagnosis.h"
#include "format.h"
#include "grid.h"
#include "stats_names.h"
#include "terminal.h"

enum { LABEL = 13, BULLET = 4, SOCKETS_SHOWN = 20 };

static void indented(FILE *out, unsigned indent, const char *label, const char *text) {
    fprintf(out, "  %-*s", (int)indent - 2, label);
    print_wrapped(out, text, indent, indent, (unsigned)terminal_width(out));
}

static void folded(FILE *out, const char *label, const char *text) {
    indented(out, LABEL, label, text);
}

static void kind_of_file(FILE *out, const struct diagnosis *d) {
    char text[900];
    const struct elf_facts *f = &d->file;
    if (!f->elf)
        snprintf(text, sizeof(text), "%.500s", d->program.file);
    else
        snprintf(text, sizeof(text), "%.500s, %s, %s", d->program.file,
                 machine_name(f->class, f->machine),
                 f->libc == LIBC_GLIBC   ? "dynamically linked (glibc)"
                 : f->libc == LIBC_MUSL  ? "dynamically linked (musl)"
                 : f->libc == LIBC_OTHER ? "dynamically linked"
                 : f->is_linker          ? "the dynamic linker itself"
                                         : "statically linked");
    folded(out, "program", text);
    if (d->program.script[0])
        folded(out, "script", d->program.script);
}

static void process(FILE *out, const struct diagnosis *d) {
    const struct process_facts *p = &d->process;
    char text[900];
    if (p->library[0])
        folded(out, "library", p->library);
    if (d->mode[0])
        folded(out, "mode", d->mode);
    if (d->stats_file[0])
        folded(out, "statistics", d->stats_file);
    if (p->unit[0])
        folded(out, "service", p->unit);
    snprintf(text, sizeof(text), "user %u%s%s%s%s", (unsigned)p->user,
             p->no_new_privs ? ", no_new_privs" : "", p->seccomp ? ", seccomp" : "",
             p->other_files ? ", own root directory" : "", p->other_network ? ", own network" : "");
    folded(out, "rights", text);
}

static const char *nagle(const struct tcp_socket *s) {
    if (s->state == 10 /* listening */)
        return "-";
    return s->nodelay < 0 ? "?" : s->nodelay ? "off" : s->cork > 0 ? "corked" : "in force";
}

static void sockets(FILE *out, const struct diagnosis *d) {
    static const struct grid_column columns[] = {
        {"fd", 6, false, 0},    {"local", 22, true, 0}, {"peer", 22, true, 0},
        {"state", 19, true, 1}, {"Nagle", 9, true, 0},
    };
    char local[ENDPOINT_ROOM], peer[ENDPOINT_ROOM], fd[16];
    if (d->socket_count == 0 || d->socket_count == SIZE_MAX)
        return;
    const struct grid g = grid_fit(columns, ARRAY_SIZE(columns), (unsigned)terminal_width(out));
    fprintf(out, "\n%zu TCP socket%s:\n", d->socket_count, d->socket_count > 1 ? "s" : "");
    grid_heading(out, &g);
    for (size_t i = 0; i < d->socket_count && i < SOCKETS_SHOWN; i++) {
        const struct tcp_socket *s = &d->sockets[i];
        snprintf(fd, sizeof(fd), "%d", s->fd);
        grid_line(out, &g,
                  (const char *[]){fd, address_text(&s->local, local),
                                   s->peer.port ? address_text(&s->peer, peer) : "-",
                                   tcp_state_name(s->state), nagle(s)});
    }
    if (d->socket_count > SOCKETS_SHOWN)
        fprintf(out, "  ... and %zu more (--json lists all)\n", d->socket_count - SOCKETS_SHOWN);
}

void diagnosis_text(FILE *out, const struct diagnosis *d) {
    char name[NAME_ROOM];
    print_safe(out, d->target);
    if (d->live)
        fprintf(out, " (%s)", base_text(d->process.program, name, sizeof(name)));
    fprintf(out, ": %s%s%s\n", colour(out, d->works || diagnosis_cured(d) ? GREEN : RED),
            diagnosis_verdict(d), colour(out, PLAIN));
    for (unsigned i = 0; i < d->obstacles.count && !diagnosis_cured(d); i++)
        if (!d->obstacles.list[i].remark)
            folded(out, "because", d->obstacles.list[i].reason);
    kind_of_file(out, d);
    if (d->live)
        process(out, d);
    for (unsigned i = 0; i < d->remark_count; i++)
        folded(out, "note", d->remarks[i]);
    sockets(out, d);
    fprintf(out, "\n%sWhat to do%s\n", colour(out, BOLD), colour(out, PLAIN));
    for (unsigned i = 0; i < d->advice_count; i++)
        indented(out, BULLET, "-", d->advice[i]);
}
