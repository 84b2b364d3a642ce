//! What the machine is and does: cores, processor time, memory, disk.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// The core of the server, and that of everything that makes load.
#[derive(Debug, Clone, Copy)]
pub struct Cores {
    pub server: usize,
    pub load: usize,
}

impl Cores {
    /// The first two cores; on a machine with one, both are the same, and the figures mean little.
    pub fn choose() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            server: 0,
            load: cores.min(2) - 1,
        }
    }
}

/// Moves this process, and what it starts from now on, to one core.
pub fn pin(core: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("cannot run on core {core}"))
}

/// User and system time a process has used so far, in all its threads.
pub fn cpu_time(process: u32) -> anyhow::Result<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(process.cast_signed()))?;
    Ok(Duration::from(clock_gettime(clock)?))
}

/// Memory a process holds, in bytes.
pub fn resident(process: u32) -> anyhow::Result<u64> {
    status_line(process, "VmRSS:")
}

/// The most memory a process has held so far, in bytes.
pub fn peak(process: u32) -> anyhow::Result<u64> {
    status_line(process, "VmHWM:")
}

fn status_line(process: u32, name: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: u64 = kilobytes.context("no such line in /proc")?.parse()?;
    Ok(kilobytes * 1024)
}

/// The size of the files in a directory, in bytes.
pub fn disk(dir: &Path) -> anyhow::Result<u64> {
    let mut total = 0;
    for file in fs::read_dir(dir)? {
        total += file?.metadata()?.len();
    }
    Ok(total)
}

/// How long the disk under `dir` takes to make a small write safe: the middle of some.
pub fn sync_time(dir: &Path) -> anyhow::Result<Duration> {
    let path = dir.join("sync");
    let file = fs::File::create(&path)?;
    // As a write-ahead log does once it has its size: the same blocks again.
    let block = vec![0x5a; 32 << 10];
    file.write_all_at(&block, 0)?;
    file.sync_all()?;
    let mut times = Vec::new();
    for _ in 0..50 {
        file.write_all_at(&block, 0)?;
        let began = Instant::now();
        file.sync_all()?;
        times.push(began.elapsed());
    }
    times.sort();
    fs::remove_file(path)?;
    Ok(times[times.len() / 2])
}

/// Lets this process, and what it starts, hold `files` open.
pub fn allow_files(files: u64) -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= files {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, files, hard.max(files))
        .with_context(|| format!("cannot open {files} files: raise `ulimit -Hn`"))
}

/// How busy the machine is with everything, ourselves included, and what it is.
pub fn describe() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?").to_owned();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model
        .and_then(|line| line.split(": ").nth(1))
        .unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cores} cores, load average {load}")
}
