# SPDX-License-Identifier: MIT
# What this machine's parts need to get along; Puma itself is as it is.
require 'socket'

# JRuby 9.3 copies TCP_INFO into 256 bytes and fails where the kernel's is longer (280 in Linux 6.18).  Without the
# constant Puma does not ask whether a client has left, as it does where there is no TCP_INFO.
Socket::Constants.send(:remove_const, :TCP_INFO)

# Debian's nio4r has the selector for Ruby's own interpreter, and this one in Ruby.
ENV['NIO4R_PURE'] = 'true'
