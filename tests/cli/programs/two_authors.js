// SPDX-License-Identifier: MIT
// A client of Node's that writes each request in two pieces: PORT, EXCHANGES. Without them a server that does
// so with each answer; it prints its port.
const net = require('net');

function sendHeader(socket) {
    socket.write('h'.repeat(200));
}

function sendBody(socket) {
    socket.write('b'.repeat(100));
}

function sendBoth(socket) {
    sendHeader(socket);
    sendBody(socket);
}

function ask(port, left) {
    const socket = net.connect(port, '127.0.0.1', () => sendBoth(socket));
    let read = 0;
    socket.setNoDelay(false);
    socket.on('data', (bytes) => {
        read += bytes.length;
        if (read < 200)
            return;
        read = 0;
        if (--left)
            sendBoth(socket);
        else
            socket.destroy();
    });
}

function serve(socket) {
    socket.setNoDelay(false);
    socket.on('error', () => {});
    socket.on('data', () => sendBoth(socket));
}

if (process.argv.length > 2) {
    ask(+process.argv[2], +process.argv[3]);
} else {
    const server = net.createServer(serve);
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}
