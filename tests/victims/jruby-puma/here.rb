# SPDX-License-Identifier: MIT
# Changes that this machine's parts need; Puma itself is unchanged.
require 'socket'

# JRuby 9.3 copies TCP_INFO into 256 bytes and fails where the kernel's is longer (280 in Linux 6.18).
# Without the constant Puma does not ask whether a client has left, as on systems without TCP_INFO.
Socket::Constants.send(:remove_const, :TCP_INFO)

# Debian's nio4r has the selector for Ruby's own interpreter, and this one in Ruby.
ENV['NIO4R_PURE'] = 'true'
