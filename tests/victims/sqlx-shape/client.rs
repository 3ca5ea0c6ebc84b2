// SPDX-License-Identifier: MIT
// client PORT COUNT [nodelay]: COUNT queries as sqlx makes them (sqlx#4335), each by a statement of its own:
// PREPARE and its answer, EXECUTE, CLOSE, which has no answer, and the answer of EXECUTE.  A packet of the
// MySQL protocol is a write_all on a std TcpStream.  The next PREPARE is written behind CLOSE.
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

fn send(mut stream: &TcpStream, body: &[u8]) -> std::io::Result<()> {
    let mut packet = (body.len() as u32).to_le_bytes().to_vec();
    packet.extend_from_slice(body);
    stream.write_all(&packet)
}

fn receive(reader: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = [0u8; 4];
    reader.read_exact(&mut head)?;
    head[3] = 0;
    let mut body = vec![0u8; u32::from_le_bytes(head) as usize];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let stream = TcpStream::connect(format!("127.0.0.1:{}", words[1]))?;
    stream.set_nodelay(words.len() > 3)?;
    let mut reader = BufReader::new(&stream);
    for _ in 0..words[2].parse::<u32>().expect("a number") {
        send(&stream, b"\x16SELECT state FROM doors LIMIT")?;
        let statement = receive(&mut reader)?[1..5].to_vec();
        let parameter = b"\0\x01\0\0\0\0\x01\x08\0\x07\0\0\0\0\0\0\0";
        send(&stream, &[b"\x17", &statement[..], parameter].concat())?;
        send(&stream, &[b"\x19", &statement[..]].concat())?;
        println!("{}", String::from_utf8_lossy(&receive(&mut reader)?));
    }
    Ok(())
}
