# SPDX-License-Identifier: MIT
# ruby client.rb PORT COMMANDS: commands over one connection.
require 'net/imap'

port, commands = ARGV.map(&:to_i)
session = Net::IMAP.new('127.0.0.1', port: port)
session.login('me', 'secret')
commands.times { |number| session.create("folder#{number}") }
session.logout
session.disconnect
