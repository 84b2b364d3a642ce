//! How the program is linked.

use std::env;
use std::process::Command;

/// The first C library that can read addresses in their short form.
const SHORT_SINCE: (u32, u32) = (2, 36);

/// Set by whoever builds a program for older systems than this one.
const ELSEWHERE: &str = "SWITCHBOARD_BUILD_PORTABLE";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={ELSEWHERE}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let here = env::var("HOST").ok() == env::var("TARGET").ok();
    let linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // Addresses that are corrected at the start are a megabyte of the program, all of it read at the start. In the short
    // form they are a hundredth of that. A program that is to run elsewhere cannot count on it.
    let stays = env::var_os(ELSEWHERE).is_none();
    if here && stays && linux && is("PROFILE", "release") && c_library() >= Some(SHORT_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library that is here.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let told = String::from_utf8(told.ok()?.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
