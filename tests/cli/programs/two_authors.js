// SPDX-License-Identifier: MIT
// A client of Node's that writes each request in two pieces: PORT, EXCHANGES.
const net = require('net');

function sendHeader(socket) {
    socket.write('h'.repeat(200));
}

function sendBody(socket) {
    socket.write('b'.repeat(100));
}

const socket = net.connect(+process.argv[2], '127.0.0.1');
let left = +process.argv[3], read = 0;

function exchange() {
    sendHeader(socket);
    sendBody(socket);
}

socket.setNoDelay(false);
socket.on('connect', exchange);
socket.on('data', (bytes) => {
    read += bytes.length;
    if (read < 200)
        return;
    read = 0;
    if (--left)
        exchange();
    else
        socket.destroy();
});
