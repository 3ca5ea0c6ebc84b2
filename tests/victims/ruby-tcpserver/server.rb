# SPDX-License-Identifier: MIT
# ruby server.rb PORT [nodelay]: answers each line by two prints; Ruby's sockets have sync set.
require 'socket'

server = TCPServer.new('127.0.0.1', ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if ARGV[1] == 'nodelay'
    while (line = client.gets)
      client.print "200 #{line.size - 1}\n"
      client.print "you said #{line}"
    end
    client.close
  end
end
