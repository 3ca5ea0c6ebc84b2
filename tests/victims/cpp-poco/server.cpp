// SPDX-License-Identifier: MIT
//
// server PORT [nodelay]: a line server on POCO's SocketStream with a flush after each line, a thread a
// connection.
// (POCO's TCPServer sets TCP_NODELAY, its ServerSocket does not.)
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/SocketStream.h>
#include <Poco/Net/StreamSocket.h>
#include <string>
#include <thread>

static void serve(Poco::Net::StreamSocket socket, bool nodelay) {
    if (nodelay)
        socket.setNoDelay(true);
    Poco::Net::SocketStream stream(socket);
    for (std::string line; std::getline(stream, line);) {
        stream << "200 " << line.size() << std::endl;
        stream << "you said " << line << std::endl;
    }
}

int main(int count, char **words) {
    Poco::Net::ServerSocket listener(Poco::Net::SocketAddress("127.0.0.1", words[1]));
    for (;;)
        std::thread(serve, listener.acceptConnection(), count > 2).detach();
}
