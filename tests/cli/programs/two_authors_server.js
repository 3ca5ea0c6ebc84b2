// SPDX-License-Identifier: MIT
// A server of Node's that writes each answer in two pieces. Prints its port.
const net = require('net');

function sendHeader(socket) {
    socket.write('h'.repeat(200));
}

function sendBody(socket) {
    socket.write('b'.repeat(100));
}

const server = net.createServer((socket) => {
    socket.setNoDelay(false);
    socket.on('error', () => {});
    socket.on('data', () => {
        sendHeader(socket);
        sendBody(socket);
    });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
