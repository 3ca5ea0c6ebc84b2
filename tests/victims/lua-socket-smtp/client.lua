-- SPDX-License-Identifier: MIT
-- lua client.lua PORT MAILS: mails over one connection.
local smtp = require("socket.smtp")
local port, mails = arg[1], tonumber(arg[2])
local session = smtp.open("127.0.0.1", port)
session:greet("localhost")
for number = 1, mails do
    session:send{
        from = "<a@localhost>", rcpt = "<b@localhost>",
        source = smtp.message{headers = {subject = "mail " .. number},
                              body = "this is mail " .. number .. ".\r\n"},
    }
end
session:quit()
session:close()
