// SPDX-License-Identifier: MIT
// server PORT [nodelay]: answers each line by two write! calls on a std TcpStream, which buffers nothing.
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(std::env::args().nth(2).is_some())?;
    let reader = BufReader::new(stream.try_clone()?);
    for line in reader.lines() {
        let line = line?;
        stream.write_all(format!("200 {}\n", line.len()).as_bytes())?;
        stream.write_all(format!("you said {}\n", line).as_bytes())?;
    }
    Ok(())
}

fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let listener = TcpListener::bind(format!("127.0.0.1:{}", port)).expect("to listen");
    for stream in listener.incoming() {
        std::thread::spawn(move || serve(stream.expect("a connection")));
    }
}
