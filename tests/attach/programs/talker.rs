// SPDX-License-Identifier: MIT
//
// As talker.c, in Rust with raw system calls: talker connect PORT.
#[path = "../../harness/raw.rs"]
mod raw;

use std::io::BufRead;
use std::time::{Duration, Instant};

const PIECE: [u8; 100] = [0; 100];

fn lines_of_input() -> std::sync::mpsc::Receiver<String> {
    let (told, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            told.send(line.expect("a line")).expect("the main thread");
        }
        std::process::exit(0);
    });
    lines
}

fn main() {
    let port: u16 = std::env::args().nth(2).expect("connect PORT").parse().expect("a port");
    let lines = lines_of_input();
    let mut connection = raw::Connection::new(port);
    let end = Instant::now() + Duration::from_secs(600);
    while Instant::now() < end {
        let begin = Instant::now();
        connection.write(&PIECE);
        connection.write(&PIECE);
        connection.take(2 * PIECE.len());
        println!("{} {}", begin.elapsed().as_micros(), connection.nodelay());
        std::thread::sleep(Duration::from_millis(2));
        match lines.try_recv().as_deref() {
            Ok("new") => connection = raw::Connection::new(port),
            Ok(value) => connection.set_nodelay(value.parse().expect("0, 1 or new")),
            Err(_) => {}
        }
    }
}
