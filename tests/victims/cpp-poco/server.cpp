// SPDX-License-Identifier: MIT
//
// server PORT: a line server on POCO's TCPServer, through its SocketStream with a flush after each line.
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/SocketStream.h>
#include <Poco/Net/TCPServer.h>
#include <Poco/Net/TCPServerConnection.h>
#include <Poco/Net/TCPServerConnectionFactory.h>
#include <Poco/Thread.h>
#include <string>

struct Lines : Poco::Net::TCPServerConnection {
    using TCPServerConnection::TCPServerConnection;
    void run() override {
        Poco::Net::SocketStream stream(socket());
        for (std::string line; std::getline(stream, line);) {
            stream << "200 " << line.size() << std::endl;
            stream << "you said " << line << std::endl;
        }
    }
};

int main(int, char **words) {
    Poco::Net::ServerSocket listener(Poco::Net::SocketAddress("127.0.0.1", words[1]));
    Poco::Net::TCPServer server(new Poco::Net::TCPServerConnectionFactoryImpl<Lines>, listener);
    server.start();
    for (;;)
        Poco::Thread::sleep(60000);
}
