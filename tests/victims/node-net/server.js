// SPDX-License-Identifier: MIT
// node server.js PORT: answers each line by two writes, with net's default noDelay.
const net = require('net');
net.createServer((socket) => {
  socket.setNoDelay(false);
  socket.on('data', (bytes) => {
    socket.write(`200 ${bytes.length - 1}\n`);
    socket.write(`you said ${bytes}`);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
