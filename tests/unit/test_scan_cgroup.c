/* SPDX-License-Identifier: MIT
 *
 * Names of services and containers from the lines of /proc/PID/cgroup of systemd,
 * docker, podman and Kubernetes.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Kubernetes in a container: 324 characters */
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD   "kubelet-kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice"
#define NODE_OF_KIND                                                            \
    "/system.slice/docker-" ID ".scope/kubelet.slice/kubelet-kubepods.slice"    \
    "/kubelet-kubepods-burstable.slice/" POD "/cri-containerd-" OTHER ".scope"

struct place {
    const char *text, *path, *unit, *container;
};

static const struct place places[] = {
    {"0::/system.slice/nginx.service\n", "/system.slice/nginx.service", "nginx.service", ""},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/mail.service\n",
     "/user.slice/user-1000.slice/user@1000.service/app.slice/mail.service", "mail.service", ""},
    {"0::/user.slice/user-0.slice/session-1.scope\n", "/user.slice/user-0.slice/session-1.scope",
     "session-1.scope", ""},
    {"0::/system.slice/docker-" ID ".scope\n", "/system.slice/docker-" ID ".scope", "docker-" ID,
     "0123456789ab"},
    {"0::/machine.slice/libpod-" ID ".scope/container\n",
     "/machine.slice/libpod-" ID ".scope/container", "libpod-" ID, "0123456789ab"},
    {"0::/kubepods/burstable/pod12/" ID "\n", "/kubepods/burstable/pod12/" ID, "", "0123456789ab"},
    {"0::" NODE_OF_KIND "\n", NODE_OF_KIND, "cri-containerd-" OTHER, "fedcba987654"},
    {"9:name=systemd:/system.slice/a.service\n4:memory:/x\n0::/\n", "/system.slice/a.service",
     "a.service", ""},
    {"9:name=systemd:/a.slice\n0::/b.slice\n", "/b.slice", "", ""},
    {"0::/\n", "/", "", ""},
    {"", "", "", ""},
    {"no colon", "", "", ""},
};

Test(scan_cgroup, paths_tell_units_and_containers) {
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[SCAN_CGROUP], unit[SCAN_UNIT], container[SCAN_CONTAINER];
        scan_cgroup_path(places[i].text, path);
        scan_cgroup_unit(path, unit);
        scan_cgroup_container(path, container);
        cr_assert_str_eq(path, places[i].path);
        cr_assert_eq(strncmp(unit, places[i].unit, SCAN_UNIT - 1), 0, "%s: %s", path, unit);
        cr_assert_str_eq(container, places[i].container);
    }
}

struct match {
    const char *path, *wanted;
    bool matches;
};

static const struct match matches[] = {
    {"/system.slice/a.service", "/system.slice/a.service", true},
    {"/system.slice/a.service", "/system.slice/", true},
    {"/system.slice/a.service", "/sys/fs/cgroup/system.slice", true},
    {"/system.slice/a.service", "/sys/fs/cgroup/unified/system.slice", true},
    {"/system.slice/a.service", "/system", false},
    {"/system.slice/a.service", "a.service", true},
    {"/system.slice/a.service/b", "a.service", true},
    {"/system.slice/a.service", "service", false},
    {"/system.slice/a.service", "system.slice/a.service", true},
    {"/x/system.slice/a.service/b", "system.slice/a.service/", true},
    {"/system.slice/a.service", "slice/a.service", false},
    {"/system.slice/a.service", "system.slice/a", false},
    {"/system.slice/a.service", "/", true},
    {"", "a.service", false},
};

Test(scan_cgroup, a_cgroup_contains_those_below) {
    for (size_t i = 0; i < sizeof(matches) / sizeof(matches[0]); i++)
        cr_assert_eq(scan_cgroup_matches(matches[i].path, matches[i].wanted), matches[i].matches,
                     "%s in %s", matches[i].path, matches[i].wanted);
}
