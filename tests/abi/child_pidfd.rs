// SPDX-License-Identifier: MIT
//
// A child with a pidfd: std makes it by pidfd_spawnp, where a weak reference finds that.  `create_pidfd` is
// not stable: compile with RUSTC_BOOTSTRAP=1.
#![feature(linux_pidfd)]
use std::os::linux::process::{ChildExt, CommandExt};
use std::process::Command;

fn main() {
    let mut shell = Command::new("/bin/sh");
    let mut child = shell.args(["-c", "exit 5"]).create_pidfd(true).spawn().expect("spawn");
    let has = child.pidfd().is_ok();
    println!("pidfd {}, ended with {:?}", has, child.wait().expect("wait").code());
}
