# SPDX-License-Identifier: MIT
# ruby server.rb PORT [nodelay]: WEBrick with one answer; with `nodelay` it sets TCP_NODELAY, its own cure.
require 'webrick'

cure = proc do |socket|
  socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if ARGV[1] == 'nodelay'
end

server = WEBrick::HTTPServer.new(BindAddress: '127.0.0.1', Port: ARGV[0].to_i, AccessLog: [],
                                 DoNotReverseLookup: true,
                                 Logger: WEBrick::Log.new(File::NULL), AcceptCallback: cure)
server.mount_proc('/order') do |_request, response|
  response['Content-Type'] = 'text/plain'
  response.body = "an order\n"
end
server.start
