/* SPDX-License-Identifier: MIT
 *
 * unstall disable: it needs neither the unit nor systemd, so that it also works in an emergency.
 */
#include <errno.h>
#include <glob.h>
#include <string.h>

#include "closing.h"
#include "dropin.h"
#include "errors.h"
#include "reader.h"
#include "service.h"
#include "stats_folder.h"

struct removal {
    const struct service_order *order;
    char base[DROPIN_BASES][PATH_MAX];
    unsigned bases;
    unsigned removed, failed;
};

static void remove_one(struct removal *r, const struct dropin *d) {
    FREED char *text = NULL;
    enum dropin_state state = dropin_read(d, &text);
    if (state == DROPIN_NONE)
        return;
    if (state == DROPIN_CHANGED && !r->order->force) {
        complain("%s: was changed by hand, or is not from unstall enable; it stays; look at it first, "
                 "--force removes it",
                 d->path);
        r->failed++;
        return;
    }
    int error = r->order->dry_run ? 0 : dropin_remove(d);
    if (error) {
        complain("%s: %s%s", d->path, strerror(-error), reader_refused(-error, ROOT));
        r->failed++;
        return;
    }
    printf("%s %s\n", r->order->dry_run ? "would remove" : "removed", d->path);
    r->removed++;
}

static void remove_of(struct removal *r, const char *unit) {
    struct dropin d;
    for (unsigned i = 0; i < r->bases; i++)
        if (dropin_place(r->base[i], unit, &d))
            remove_one(r, &d);
}

/* The name of the unit of which `name` is an alias. */
static bool other_name(const struct manager *m, char name[UNIT_ROOM]) {
    struct properties p = {0};
    bool other = manager_runs(m) && !strstr(name, "@.") && properties_read(m, name, &p) &&
                 property(&p, "Id")[0] && !property_is(&p, "Id", name);
    if (other)
        snprintf(name, UNIT_ROOM, "%s", property(&p, "Id"));
    properties_free(&p);
    return other;
}

void service_forget_stats(const struct manager *m, const char *unit) {
    char pattern[PATH_MAX], parent[PATH_MAX];
    const char *runtime = m->user ? getenv("XDG_RUNTIME_DIR") : "/run", *at = strstr(unit, "@.");
    int name = (int)(at ? at + 1 - unit : (long)strlen(unit) - (long)strlen(".service"));
    glob_t found;
    if (!runtime || name <= 0)
        return;
    snprintf(parent, sizeof(parent), "%s/unstall", runtime);
    int n = snprintf(pattern, sizeof(pattern), "%s/%.*s%s", parent, name, unit, at ? "*" : "");
    if (n > 0 && (size_t)n < sizeof(pattern) && glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            observe_folder_remove(found.gl_pathv[i]);
        globfree(&found);
    }
    rmdir(parent); /* fails if other units use it */
}

static int restart(const struct removal *r, char (*units)[UNIT_ROOM], size_t count) {
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        FREED char *running = service_running(&r->order->manager, units[i]);
        if (service_each(&r->order->manager, false, "restart", running) != 0)
            failed = EXIT_OWN;
        else
            service_forget_stats(&r->order->manager, units[i]);
    }
    return failed;
}

static int finish(const struct removal *r, char (*units)[UNIT_ROOM], size_t count) {
    const struct manager *m = &r->order->manager;
    int failed = r->failed ? EXIT_OWN : 0;
    if (r->removed && !r->order->dry_run) {
        if (!manager_runs(m))
            remark("systemd does not run here, so nothing was reloaded");
        else if (systemctl_do(m, false, "daemon-reload", NULL) != 0)
            return EXIT_OWN;
        else if (r->order->restart)
            failed = restart(r, units, count) ? EXIT_OWN : failed;
        else
            puts("running processes keep the library until their next restart");
    }
    int unwritten = finish_output();
    return failed ? failed : unwritten;
}

static int disable_one(struct removal *r) {
    char name[1][UNIT_ROOM];
    int failed = unit_name(r->order->unit, name[0]);
    if (failed)
        return failed;
    remove_of(r, name[0]);
    if (!r->removed && !r->failed && other_name(&r->order->manager, name[0]))
        remove_of(r, name[0]);
    if (!r->removed && !r->failed)
        return complain(
            "%s: has no drop-in of unstall; unstall status lists the units that have one", name[0]);
    return finish(r, name, 1);
}

static int disable_all(struct removal *r) {
    size_t total = 0, count[DROPIN_BASES] = {0};
    struct dropin *lists[DROPIN_BASES] = {NULL};
    for (unsigned i = 0; i < r->bases; i++) {
        lists[i] = dropin_list(r->base[i], &count[i]);
        total += count[i];
    }
    char(*units)[UNIT_ROOM] = calloc(total + 1, UNIT_ROOM);
    size_t n = 0;
    for (unsigned i = 0; i < r->bases; i++)
        for (size_t k = 0; units && k < count[i]; k++) {
            remove_one(r, &lists[i][k]);
            snprintf(units[n++], UNIT_ROOM, "%s", lists[i][k].unit);
        }
    if (!total)
        puts("no unit has a drop-in of unstall");
    int failed = units ? finish(r, units, n) : complain("%s", strerror(ENOMEM));
    for (unsigned i = 0; i < r->bases; i++)
        free(lists[i]);
    free(units);
    return failed;
}

int service_disable(const struct service_order *o) {
    struct removal r = {.order = o};
    if ((r.bases = dropin_bases(&o->manager, r.base)) == 0)
        return EXIT_OWN;
    return o->unit ? disable_one(&r) : disable_all(&r);
}
