# SPDX-License-Identifier: MIT
# ruby server.rb PORT: answers each line by two prints; Ruby's sockets have sync set.
require 'socket'

server = TCPServer.new('127.0.0.1', ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    while (line = client.gets)
      client.print "200 #{line.size - 1}\n"
      client.print "you said #{line}"
    end
    client.close
  end
end
