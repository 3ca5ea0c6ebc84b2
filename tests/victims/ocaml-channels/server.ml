(* SPDX-License-Identifier: MIT

   server PORT: answers each line by two lines, each followed by flush, as a Unix.establish_server does. *)
let serve input output =
  try
    while true do
      let line = input_line input in
      Printf.fprintf output "200 %d\n%!" (String.length line);
      Printf.fprintf output "you said %s\n%!" line
    done
  with End_of_file -> ()

let () =
  let port = int_of_string Sys.argv.(1) in
  Unix.establish_server serve (Unix.ADDR_INET (Unix.inet_addr_loopback, port))
