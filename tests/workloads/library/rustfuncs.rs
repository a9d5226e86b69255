// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

//! rustfuncs: functions of Rust, each called a known number of times: of a trait and generic ones,
//! in threads, that sleep, and that a panic leaves.

use std::io::Write;
use std::panic;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs, process, ptr, thread};

const USAGE: &str = "Usage: rustfuncs THREADS
Call functions of Rust a known number of times: in THREADS threads, of a trait and generic ones,
that sleep, and that a panic leaves.

Gates: ready, go; at done all have ended; leave.
";

const LEAVES: u64 = 1009; // of each thread
const SLEEPS: usize = 31;
const SLEEP: Duration = Duration::from_millis(3);
const PANICS: u64 = 53; // of which every other one panics

/// The compiler does not know what it returns.
fn opaque(n: u64) -> u64 {
    unsafe { ptr::read_volatile(&n) }
}

pub trait Shape {
    fn area(&self) -> u64;
}

pub struct Square(u64);

impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        opaque(self.0) * self.0
    }
}

#[inline(never)]
pub fn generic<T: Into<u64>>(n: T) -> u64 {
    opaque(n.into()) + 1
}

#[inline(never)]
pub fn sleeps() -> u64 {
    thread::sleep(SLEEP);
    opaque(1)
}

#[inline(never)]
pub fn panics(n: u64) -> u64 {
    if opaque(n) % 2 == 1 {
        panic!("odd");
    }
    n
}

#[inline(never)]
pub fn between(n: u64) -> u64 {
    opaque(panics(n)) + 1
}

fn gate(name: &str) -> Option<PathBuf> {
    env::var_os("WORKLOAD_GATES").map(|dir| PathBuf::from(dir).join(name))
}

fn reached(name: &str) {
    if let Some(path) = gate(name) {
        fs::write(path, "").expect("a gate");
    }
}

fn wait_for(name: &str) {
    if let Some(path) = gate(name) {
        while !path.exists() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn run_leaves(threads: u64) -> u64 {
    let all: Vec<_> = (0..threads)
        .map(|_| thread::spawn(|| (0..LEAVES).map(|n| Square(n).area()).fold(0, u64::wrapping_add)))
        .collect();
    all.into_iter().map(|t| t.join().unwrap()).fold(0, u64::wrapping_add)
}

fn main() {
    let threads: u64 = match env::args().nth(1).and_then(|n| n.parse().ok()) {
        Some(n) => n,
        None => {
            eprint!("{}", USAGE);
            process::exit(2);
        }
    };
    panic::set_hook(Box::new(|_| {}));
    reached("ready");
    wait_for("go");
    let mut sum = run_leaves(threads);
    for n in 0..LEAVES as u32 {
        sum += generic(n) + generic(n as u8);
    }
    let mut times: Vec<u128> = (0..SLEEPS)
        .map(|_| {
            let start = Instant::now();
            sleeps();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let caught = (0..PANICS).filter(|&n| panic::catch_unwind(|| between(n)).is_err()).count();
    reached("done");
    wait_for("leave");
    let json = format!(
        "{{\"workload\":\"rustfuncs\",\"pid\":{},\"calls\":[{{\"function\":\"sleeps\",\"count\":{},\"sum\":{},\
         \"min\":{},\"max\":{}}}],\"caught\":{},\"sum\":{}}}\n",
        process::id(), SLEEPS, times.iter().sum::<u128>(), times[0], times[SLEEPS - 1], caught, sum
    );
    match env::var_os("WORKLOAD_JSON") {
        Some(path) => fs::write(path, json).expect("the JSON"),
        None => std::io::stdout().write_all(json.as_bytes()).expect("the JSON"),
    }
}
