/* SPDX-License-Identifier: MIT */
#include "explain_link.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2048, DESCRIPTORS = 8192, LINKS = 4096, HABITS = 256 };

static uint64_t descriptor_key(const struct thread *t, int number) {
    return (uint64_t)(uint32_t)t->process << 32 | (uint32_t)number;
}

/* ---- the tables ------------------------------------------------------ */

static void nothing(void *context, void *item) {
    (void)context;
    (void)item;
}

static void descriptor_gone(void *context, void *item) {
    struct links *l = context;
    struct link *link = table_find(&l->links, ((struct descriptor *)item)->link);
    if (link && --link->references == 0)
        table_drop(&l->links, link);
}

static void habit_gone(void *context, void *item) {
    struct links *l = context;
    habit_judge(&((struct habit_item *)item)->habit, l->out);
}

bool links_make(struct links *l, struct findings *out) {
    *l = (struct links){.out = out};
    bool made = table_make(&l->threads, THREADS, sizeof(struct thread), nothing, l);
    made &= table_make(&l->descriptors, DESCRIPTORS, sizeof(struct descriptor), descriptor_gone, l);
    made &= table_make(&l->links, LINKS, sizeof(struct link), nothing, l);
    made &= table_make(&l->habits, HABITS, sizeof(struct habit_item), habit_gone, l);
    return made;
}

void links_free(struct links *l) {
    table_free(&l->descriptors);
    table_free(&l->links);
    table_free(&l->threads);
    table_free(&l->habits);
}

struct thread *links_thread(struct links *l, int pid) {
    struct thread *t = table_find(&l->threads, (uint64_t)(uint32_t)pid);
    if (!t) {
        t = table_add(&l->threads, (uint64_t)(uint32_t)pid);
        t->process = pid;
    }
    return t;
}

struct link *links_get(struct links *l, uint64_t key) {
    return key ? table_find(&l->links, key) : NULL;
}

/* ---- what -y and -yy tell --------------------------------------------- */

struct told {
    enum link_kind kind;
    char local[ENDPOINT_TEXT], peer[ENDPOINT_TEXT];
};

static void copy(char *to, size_t size, const char *from, const char *end) {
    size_t n = (size_t)(end - from);
    n = n < size - 1 ? n : size - 1;
    memcpy(to, from, n);
    to[n] = '\0';
}

/* "TCP:[10.0.0.1:4000->10.0.0.2:80]", "TCPv6:[…]", "TCP:[12345]" before it is connected. */
static void tell_tcp(const char *p, const char *end, struct told *out) {
    out->kind = LINK_TCP;
    const char *open = memchr(p, '[', (size_t)(end - p));
    if (!open || end[-1] != ']')
        return;
    const char *arrow = memmem(open, (size_t)(end - open), "->", 2);
    if (!arrow)
        return;
    copy(out->local, sizeof(out->local), open + 1, arrow);
    copy(out->peer, sizeof(out->peer), arrow + 2, end - 1);
}

static void tell(const char *p, const char *end, struct told *out) {
    *out = (struct told){.kind = LINK_OTHER};
    size_t n = (size_t)(end - p);
    if (n > 4 && (strncmp(p, "TCP:", 4) == 0 || strncmp(p, "TCPv6:", 6) == 0))
        tell_tcp(p, end, out);
    else if (n > 8 && strncmp(p, "socket:[", 8) == 0)
        out->kind = LINK_SOCKET;
}

/* Is the connection that we know another one than what the log says now?  Its number was closed
 * where we did not see it. */
static bool is_stale(const struct link *link, const struct told *told) {
    if (told->kind == LINK_OTHER)
        return link->kind != LINK_OTHER && link->kind != LINK_UNKNOWN;
    if (link->kind == LINK_OTHER)
        return true;
    return told->peer[0] && link->peer[0] && strcmp(told->peer, link->peer) != 0;
}

static void learn(struct link *link, const struct told *told) {
    if (told->kind == LINK_SOCKET ? link->kind == LINK_UNKNOWN : link->kind != LINK_TCP)
        link->kind = (uint8_t)told->kind;
    if (told->peer[0]) {
        memcpy(link->local, told->local, sizeof(link->local));
        memcpy(link->peer, told->peer, sizeof(link->peer));
    }
}

/* Another thread's descriptor may lead to the same connection, where the log began too late to tell that
 * they are one process. */
static struct link *same_connection(struct links *l, const struct told *told) {
    if (!told->peer[0])
        return NULL;
    for (struct node *n = l->links.newest; n; n = n->older) {
        struct link *link = (struct link *)(void *)n;
        if (link->kind == LINK_TCP && strcmp(link->peer, told->peer) == 0 &&
            strcmp(link->local, told->local) == 0)
            return link;
    }
    return NULL;
}

/* ---- descriptors ----------------------------------------------------- */

void links_close(struct links *l, const struct thread *t, int number) {
    struct descriptor *d = table_find(&l->descriptors, descriptor_key(t, number));
    if (d)
        table_drop(&l->descriptors, d);
}

void links_alias(struct links *l, const struct thread *t, int number, const struct link *to) {
    uint64_t key = to->node.key;
    const struct descriptor *known = table_find(&l->descriptors, descriptor_key(t, number));
    if (known && known->link == key)
        return;
    links_close(l, t, number);
    struct link *link = links_get(l, key);
    if (!link)
        return; /* it was its only descriptor */
    link->references++;
    struct descriptor *d = table_add(&l->descriptors, descriptor_key(t, number));
    d->link = key;
}

struct link *links_birth(struct links *l, const struct thread *t, int number, enum link_kind kind) {
    links_close(l, t, number);
    struct link *link = table_add(&l->links, ++l->serial);
    link->kind = (uint8_t)kind;
    link->descriptor = number;
    link->references = 1;
    struct descriptor *d = table_add(&l->descriptors, descriptor_key(t, number));
    d->link = link->node.key;
    return link;
}

static struct link *met(struct links *l, const struct thread *t, int number,
                        const struct told *told) {
    struct link *other = told ? same_connection(l, told) : NULL;
    if (other) {
        links_alias(l, t, number, other);
        return other;
    }
    /* 0 to 2 are a terminal, a file or a pipe, where nothing says otherwise. */
    return links_birth(l, t, number, number <= 2 && !told ? LINK_OTHER : LINK_UNKNOWN);
}

struct link *links_of_args(struct links *l, const struct thread *t, const char *args) {
    const char *p, *end;
    int number = line_descriptor(args, &p, &end);
    if (number < 0)
        return NULL;
    struct told told;
    if (p)
        tell(p, end, &told);
    const struct descriptor *d = table_find(&l->descriptors, descriptor_key(t, number));
    struct link *link = d ? links_get(l, d->link) : NULL;
    if (link && p && is_stale(link, &told))
        link = NULL;
    if (!link)
        link = met(l, t, number, p ? &told : NULL);
    if (p)
        learn(link, &told);
    return link;
}

/* ---- children -------------------------------------------------------- */

static void copy_descriptors(struct links *l, int from, const struct thread *child) {
    /* Collected first: adding moves what is oldest.  More than these no program of interest has. */
    static struct {
        int number;
        uint64_t link;
    } found[DESCRIPTORS];
    int count = 0;
    for (struct node *n = l->descriptors.oldest; n; n = n->newer) {
        const struct descriptor *d = (const struct descriptor *)(const void *)n;
        if ((int)(n->key >> 32) == from) {
            found[count].number = (int)(uint32_t)n->key;
            found[count++].link = d->link;
        }
    }
    for (int i = 0; i < count; i++) {
        const struct link *link = links_get(l, found[i].link);
        if (link && link->kind != LINK_OTHER)
            links_alias(l, child, found[i].number, link);
    }
}

void links_child(struct links *l, const struct thread *parent, int pid, bool shares) {
    struct thread from = *parent;
    int process = from.process;
    struct thread *child = links_thread(l, pid); /* may give `parent` up */
    if (!child->program[0]) {
        memcpy(child->command, from.command, sizeof(from.command));
        memcpy(child->program, from.program, sizeof(from.program));
    }
    if (shares) {
        child->process = process;
    } else {
        child->process = pid;
        copy_descriptors(l, process, child);
    }
}

/* ---- addresses ------------------------------------------------------- */

void links_address(const char *args, char text[ENDPOINT_TEXT]) {
    text[0] = '\0';
    const char *port = strstr(args, "port=htons(");
    const char *four = strstr(args, "inet_addr(\""), *six = strstr(args, "inet_pton(AF_INET6, \"");
    const char *address = four ? four + 11 : six ? six + 21 : NULL;
    if (!port || !address)
        return;
    char host[INET6_ADDRSTRLEN];
    copy(host, sizeof(host), address, address + strcspn(address, "\""));
    snprintf(text, ENDPOINT_TEXT, four ? "%s:%d" : "[%s]:%d", host,
             (int)strtol(port + 11, NULL, 10));
}
