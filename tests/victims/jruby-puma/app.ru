# SPDX-License-Identifier: MIT
run proc { |_| [200, { 'Content-Type' => 'text/plain' }, ["an order\n"]] }
