/* SPDX-License-Identifier: MIT
 *
 * server PORT [nodelay]: a Modbus server as the manual of libmodbus shows it, with ten registers.
 */
#include <errno.h>
#include <modbus/modbus.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(int count, char **words) {
    static const int on = 1;
    modbus_t *bus = modbus_new_tcp("127.0.0.1", atoi(words[1]));
    modbus_mapping_t *registers = modbus_mapping_new(0, 0, 10, 0);
    if (!bus || !registers)
        return 1;
    for (int i = 0; i < 10; i++)
        registers->tab_registers[i] = (uint16_t)(1000 + i);
    int listener = modbus_tcp_listen(bus, 1);
    while (modbus_tcp_accept(bus, &listener) >= 0) {
        uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
        int length;
        if (count > 2 && setsockopt(modbus_get_socket(bus), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
            return 1;
        while ((length = modbus_receive(bus, query)) >= 0)
            if (length > 0)
                modbus_reply(bus, query, length, registers);
        modbus_close(bus);
    }
    return 1;
}
