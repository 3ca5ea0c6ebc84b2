// SPDX-License-Identifier: MIT
//
// As raw.h, in Rust on x86-64: a connection whose system calls are the instruction itself, so that no library
// sees them.
use std::arch::asm;

const READ: i64 = 0;
const WRITE: i64 = 1;
const CLOSE: i64 = 3;
const SOCKET: i64 = 41;
const CONNECT: i64 = 42;
const SETSOCKOPT: i64 = 54;
const GETSOCKOPT: i64 = 55;
const TCP: i64 = 6; // the protocol, and the level of its options
const NODELAY: i64 = 1;

fn call(number: i64, a: i64, b: i64, c: i64, d: i64, e: i64) -> i64 {
    let result;
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

pub struct Connection(i64);

impl Connection {
    /// To 127.0.0.1.
    pub fn new(port: u16) -> Connection {
        let [high, low] = port.to_be_bytes();
        let address: [u8; 16] = [2, 0, high, low, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let fd = call(SOCKET, 2, 1, 0, 0, 0);
        let failed = call(CONNECT, fd, address.as_ptr() as i64, 16, 0, 0);
        assert!(fd >= 0 && failed == 0, "connect: {}", failed);
        Connection(fd)
    }

    pub fn write(&self, bytes: &[u8]) {
        let written = call(WRITE, self.0, bytes.as_ptr() as i64, bytes.len() as i64, 0, 0);
        assert_eq!(written, bytes.len() as i64);
    }

    pub fn take(&self, count: usize) {
        let mut bytes = [0u8; 200];
        let mut got = 0;
        while got < count {
            let n = call(READ, self.0, bytes.as_mut_ptr() as i64, (count - got) as i64, 0, 0);
            assert!(n > 0, "the peer has closed: {}", n);
            got += n as usize;
        }
    }

    pub fn set_nodelay(&self, value: i32) {
        assert_eq!(call(SETSOCKOPT, self.0, TCP, NODELAY, &value as *const i32 as i64, 4), 0);
    }

    pub fn nodelay(&self) -> i32 {
        let (mut value, mut size) = (-1i32, 4u32);
        call(GETSOCKOPT, self.0, TCP, NODELAY, &mut value as *mut i32 as i64, &mut size as *mut u32 as i64);
        value
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        call(CLOSE, self.0, 0, 0, 0, 0);
    }
}
