# SPDX-License-Identifier: MIT
"""client.py PORT COUNT [nodelay]: prints 2 COUNT messages to which it has subscribed with QoS 1."""

import socket
import sys

import paho.mqtt.client as mqtt

PORT, COUNT = map(int, sys.argv[1:3])
left = [2 * COUNT]


def connected(client, *_):
    if "nodelay" in sys.argv:
        client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.subscribe("house/door", qos=1)


def came(client, _data, message):
    print(message.payload.decode())
    left[0] -= 1
    if left[0] == 0:
        client.disconnect()


one = mqtt.Client(protocol=mqtt.MQTTv311)
one.on_connect, one.on_message = connected, came
one.connect("127.0.0.1", PORT)
one.loop_forever()
