# SPDX-License-Identifier: MIT
# Puma's own cure, TCP_CORK around a response, as at the story's end.  In JRuby 9.3 setsockopt(TCP_CORK)
# reports success and makes no system call; here it is made.
require 'ffi'
require 'jruby'
require 'puma'
require 'puma/server'

module LibC
  extend FFI::Library
  ffi_lib FFI::Library::LIBC
  attach_function :setsockopt, %i[int int int pointer uint], :int
end

class Puma::Server
  ON, OFF = [1, 0].map { |value| FFI::MemoryPointer.new(:int).write_int(value) }

  def cork_socket(socket)
    put_cork(socket.to_io, ON)
  end

  def uncork_socket(socket)
    put_cork(socket.to_io, OFF)
  end

  private

  # The number that the kernel knows is remembered: to ask JRuby for it takes longer than the call.
  def put_cork(socket, value)
    number = socket.instance_variable_get(:@number) ||
             socket.instance_variable_set(:@number, JRuby.reference(socket).getOpenFile.fd.realFileno)
    LibC.setsockopt(number, Socket::IPPROTO_TCP, Socket::TCP_CORK, value, 4)
  end
end
