# SPDX-License-Identifier: MIT
# ruby server.rb PORT: WEBrick with one answer.
require 'webrick'

server = WEBrick::HTTPServer.new(BindAddress: '127.0.0.1', Port: ARGV[0].to_i, AccessLog: [], DoNotReverseLookup: true,
                                 Logger: WEBrick::Log.new(File::NULL))
server.mount_proc('/order') do |_request, response|
  response['Content-Type'] = 'text/plain'
  response.body = "an order\n"
end
server.start
