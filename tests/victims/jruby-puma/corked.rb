# SPDX-License-Identifier: MIT
# Puma's own cure, TCP_CORK around a response, as the story's end has it.  In JRuby 9.3 setsockopt(TCP_CORK) says that
# it was done and makes no system call; here it is made.
require 'ffi'
require 'jruby'
require 'puma'
require 'puma/server'

module LibC
  extend FFI::Library
  ffi_lib FFI::Library::LIBC
  attach_function :setsockopt, %i[int int int buffer_in uint], :int
end

class Puma::Server
  ON, OFF = [1, 0].map { |value| [value].pack('i') }

  def cork_socket(socket)
    put_cork(socket, ON)
  end

  def uncork_socket(socket)
    put_cork(socket, OFF)
  end

  private

  def put_cork(socket, value)
    descriptor = JRuby.reference(socket.to_io).getOpenFile.fd.realFileno
    LibC.setsockopt(descriptor, Socket::IPPROTO_TCP, Socket::TCP_CORK, value, value.bytesize)
  end
end
