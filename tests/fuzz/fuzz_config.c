/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target: the configuration's parser. Any name and value either sets exactly what it may, or
 * changes nothing and says which form is expected. Filters answer any question.
 *
 * Input: lines of NAME=VALUE, as in an environment; the last line may be "ask PORT FAMILY ADDRESS".
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config.h"

enum { LONGEST = 4096 };

static void check_ranges(const struct config *c) {
    assert((unsigned)c->mode < MODES);
    assert(c->window_us >= WINDOW_MIN_US && c->window_us <= WINDOW_MAX_US);
    assert(c->small <= SMALL_MAX);
    assert(c->port_count <= CONFIG_FILTERS && c->peer_count <= CONFIG_FILTERS);
    for (uint32_t i = 0; i < c->port_count; i++)
        assert(c->ports[i].first <= c->ports[i].last);
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct peer_range *p = &c->peers[i];
        assert((p->family == AF_INET && p->bits <= 32) || (p->family == AF_INET6 && p->bits <= 128));
    }
}

static void set(struct config *c, const char *name, const char *value) {
    static struct config before;
    const char *expected = NULL;
    memcpy(&before, c, sizeof(before));
    switch (config_set(c, name, value, &expected)) {
    case CONFIG_OK: break;
    case CONFIG_BAD:
        assert(expected && *expected);
        assert(memcmp(&before, c, sizeof(before)) == 0);
        break;
    case CONFIG_UNKNOWN: assert(memcmp(&before, c, sizeof(before)) == 0); break;
    default: abort();
    }
    check_ranges(c);
    config_program_included(value, name);
}

static void ask(const struct config *c, const uint8_t *data, size_t size) {
    uint8_t address[16] = {0};
    static const int families[] = {0, AF_INET, AF_INET6, AF_UNIX};
    if (size < 3)
        return;
    memcpy(address, data + 3, size - 3 < sizeof(address) ? size - 3 : sizeof(address));
    uint16_t port = (uint16_t)(data[0] << 8 | data[1]);
    bool first = config_includes(c, port, families[data[2] & 3], address);
    assert(first == config_includes(c, port, families[data[2] & 3], address));
    if (c->port_count == 0 && c->peer_count == 0)
        assert(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct config c;
    static char text[LONGEST + 1];
    if (size > LONGEST)
        return 0;
    memset(&c, 0, sizeof(c));
    config_defaults(&c);
    memcpy(text, data, size);
    text[size] = '\0';
    char *rest = text;
    /* the strings that a configuration points to live as long as it does: `text` stays */
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *value = strchr(line, '=');
        if (value) {
            *value++ = '\0';
            set(&c, line, value);
        }
    }
    size_t tail = size < 19 ? size : 19;
    ask(&c, data + size - tail, tail);
    return 0;
}
