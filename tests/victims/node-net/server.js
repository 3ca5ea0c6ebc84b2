// SPDX-License-Identifier: MIT
// node server.js PORT [nodelay]: answers each line by two writes, with net's default noDelay, or without
// Nagle's algorithm.
const net = require('net');
net.createServer((socket) => {
  socket.setNoDelay(process.argv[3] === 'nodelay');
  socket.on('data', (bytes) => {
    socket.write(`200 ${bytes.length - 1}\n`);
    socket.write(`you said ${bytes}`);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
