/* SPDX-License-Identifier: MIT
 *
 * A long path where the kernel has no netem: a TUN device in each of two network
 * namespaces, and every packet carried from one to the other a while later.
 *
 * Usage: relay NAMESPACE NAMESPACE MILLISECONDS     (root; prints "ready")
 *
 * The namespaces are files (/run/netns/NAME), the devices are called bench0.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "common.h"

enum { PACKET = 2048, QUEUE = 4096 };

struct lane {
    int from, to;
    unsigned head, tail;
    struct packet {
        double due;
        ssize_t length;
        char bytes[PACKET];
    } queue[QUEUE];
};

static struct lane lanes[2];
static double delay_ns;

static int device_in(const char *namespace) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int space = open(namespace, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        die(namespace);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    strcpy(request.ifr_name, "bench0");
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0)
        die("/dev/net/tun");
    return fd;
}

static void take(struct lane *l) {
    while (l->tail - l->head < QUEUE) {
        struct packet *p = &l->queue[l->tail % QUEUE];
        p->length = read(l->from, p->bytes, PACKET);
        if (p->length <= 0)
            return;
        p->due = now_ns() + delay_ns;
        l->tail++;
    }
}

/* Nanoseconds until the next packet is due; less than zero: none waits. */
static double deliver(struct lane *l) {
    while (l->head != l->tail) {
        struct packet *p = &l->queue[l->head % QUEUE];
        double left = p->due - now_ns();
        if (left > 0)
            return left;
        if (write(l->to, p->bytes, (size_t)p->length) < 0 && errno != EIO)
            die("write");
        l->head++;
    }
    return -1;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    end_with_parent();
    lanes[0].from = lanes[1].to = device_in(argv[1]);
    lanes[1].from = lanes[0].to = device_in(argv[2]);
    delay_ns = atof(argv[3]) * 1e6;
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd both[2] = {{.fd = lanes[0].from, .events = POLLIN},
                                 {.fd = lanes[1].from, .events = POLLIN}};
        double a = deliver(&lanes[0]), b = deliver(&lanes[1]);
        double next = a < 0 ? b : b < 0 || a < b ? a : b;
        struct timespec wait = {(time_t)(next / 1e9), (long)next % 1000000000};
        ppoll(both, 2, next < 0 ? NULL : &wait, NULL);
        take(&lanes[0]);
        take(&lanes[1]);
    }
}
