// SPDX-License-Identifier: MIT
//
// As raw.c, in Rust: 127.0.0.1 PORT EXCHANGES.
#[path = "../../harness/raw.rs"]
mod raw;

const HEADER: usize = 200;
const MESSAGE: usize = 300;
const REPLY: usize = 200;
const SIGNS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The same bytes as harness.pattern().
fn message(index: usize) -> Vec<u8> {
    let stream = index * MESSAGE..(index + 1) * MESSAGE;
    stream.map(|at| SIGNS[(at * 7 + (at >> 6) * 13) % SIGNS.len()]).collect()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let count: usize = words[3].parse().expect("a number of exchanges");
    let connection = raw::Connection::new(words[2].parse().expect("a port"));
    connection.set_nodelay(0);
    let mut times = Vec::new();
    for index in 0..count {
        let bytes = message(index);
        let begin = std::time::Instant::now();
        connection.write(&bytes[..HEADER]);
        connection.write(&bytes[HEADER..]);
        connection.take(REPLY);
        times.push(begin.elapsed().as_micros().to_string());
    }
    println!("{{\"us\": [{}], \"nodelay\": {}}}", times.join(", "), connection.nodelay());
}
