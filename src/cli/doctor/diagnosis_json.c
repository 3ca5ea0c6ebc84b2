/* SPDX-License-Identifier: MIT */

#include "diagnosis.h"
#include "json.h"
#include "stats_names.h"

static const char *or_null(const char *text) {
    return text[0] ? text : NULL;
}

static void file(struct json *j, const struct diagnosis *d) {
    static const char *const libcs[] = {NULL, "glibc", "musl", "other"};
    const struct elf_facts *f = &d->file;
    json_object(j, "file");
    json_string(j, "path", d->program.file);
    json_string(j, "script", or_null(d->program.script));
    json_bool(j, "elf", f->elf);
    json_string(j, "machine", f->elf ? machine_name(f->class, f->machine) : NULL);
    json_string(j, "linker", or_null(f->linker));
    json_string(j, "libc", libcs[f->libc]);
    json_bool(j, "go", f->go);
    json_object_end(j);
}

static void obstacles(struct json *j, const struct diagnosis *d) {
    json_array(j, "obstacles");
    for (unsigned i = 0; i < d->obstacles.count; i++) {
        const struct obstacle *o = &d->obstacles.list[i];
        json_object(j, NULL);
        json_string(j, "kind", obstacle_names[o->kind]);
        json_bool(j, "forbids", !o->remark);
        json_string(j, "reason", o->reason);
        json_string(j, "instead", o->instead);
        json_object_end(j);
    }
    json_array_end(j);
}

static void option(struct json *j, const char *name, int value) {
    if (value < 0)
        json_null(j, name);
    else
        json_bool(j, name, value);
}

static void sockets(struct json *j, const struct diagnosis *d) {
    char text[ENDPOINT_ROOM];
    if (d->socket_count == SIZE_MAX) {
        json_null(j, "sockets");
        return;
    }
    json_array(j, "sockets");
    for (size_t i = 0; i < d->socket_count; i++) {
        const struct tcp_socket *s = &d->sockets[i];
        json_object(j, NULL);
        json_signed(j, "fd", s->fd);
        json_string(j, "local", address_text(&s->local, text));
        json_string(j, "peer", s->peer.port ? address_text(&s->peer, text) : NULL);
        json_string(j, "state", tcp_state_name(s->state));
        option(j, "nodelay", s->nodelay);
        option(j, "cork", s->cork);
        json_object_end(j);
    }
    json_array_end(j);
}

static void process(struct json *j, const struct diagnosis *d) {
    const struct process_facts *p = &d->process;
    json_object(j, "process");
    json_signed(j, "pid", p->pid);
    json_string(j, "program", p->program);
    json_string(j, "library", or_null(p->library));
    json_bool(j, "library_replaced", p->library_replaced);
    json_string(j, "mode", or_null(d->mode));
    json_string(j, "attached", or_null(d->attached));
    json_bool(j, "attached_unprivileged", d->fetcher != 0);
    json_bool(j, "supervised", d->guard != 0);
    json_string(j, "stats_file", or_null(d->stats_file));
    json_string(j, "service", or_null(p->unit));
    json_unsigned(j, "user", p->user);
    json_bool(j, "secure", p->secure);
    json_bool(j, "no_new_privs", p->no_new_privs);
    json_signed(j, "seccomp", p->seccomp);
    json_string(j, "profile", or_null(p->profile));
    json_bool(j, "own_files", p->other_files);
    json_bool(j, "own_network", p->other_network);
    sockets(j, d);
    json_object_end(j);
}

static void texts(struct json *j, const char *name, const char list[][ADVICE_ROOM],
                  unsigned count) {
    json_array(j, name);
    for (unsigned i = 0; i < count; i++)
        json_string(j, NULL, list[i]);
    json_array_end(j);
}

void diagnosis_json(FILE *out, const struct diagnosis *d) {
    struct json j = json_begin(out);
    json_document(&j, "doctor");
    json_string(&j, "target", d->target);
    json_bool(&j, "works", d->works);
    json_string(&j, "verdict", diagnosis_verdict(d));
    json_string(&j, "library", d->library);
    file(&j, d);
    obstacles(&j, d);
    if (d->live)
        process(&j, d);
    texts(&j, "remarks", d->remarks, d->remark_count);
    texts(&j, "advice", d->advice, d->advice_count);
    json_object_end(&j);
    json_end(&j);
}
