//! What a process did to its files, in order: recorded by `trace.c`, which is compiled here and preloaded into the
//! process; and [`Disk`]: what a loss of power may leave of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod disk;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use disk::{Disk, Unsynced};

/// The file in the traced directory to which the workload writes the number of each acknowledged task.
pub const ACKNOWLEDGED: &str = "acknowledged";

/// One operation on the traced directory. Paths are relative to it; the directory itself has the empty path.
#[derive(Debug)]
pub enum Operation {
    /// A new file.
    Create(PathBuf),
    /// A new directory.
    CreateDir(PathBuf),
    /// Bytes at an offset.
    Write(PathBuf, usize, Vec<u8>),
    /// A file of this length.
    Truncate(PathBuf, usize),
    /// Of a file: its content. Of a directory: the names in it.
    Sync(PathBuf),
    /// A name that is removed.
    Unlink(PathBuf),
    /// A name that replaces another.
    Rename(PathBuf, PathBuf),
    /// A second name.
    Link(PathBuf, PathBuf),
    /// The commit of this task was acknowledged to its caller.
    Acknowledge(u32),
}

impl Operation {
    /// Whether it is about what SQLite makes anew after each crash.
    pub fn is_volatile(&self) -> bool {
        match self {
            Self::Create(path) | Self::Write(path, ..) | Self::Truncate(path, _) => {
                path.to_string_lossy().ends_with("-shm")
            }
            _ => false,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(path) => write!(f, "create {}", path.display()),
            Self::CreateDir(path) => write!(f, "create directory {}", path.display()),
            Self::Write(path, offset, data) => {
                let length = data.len();
                write!(f, "write {} at {offset}: {length} bytes", path.display())
            }
            Self::Truncate(path, length) => write!(f, "truncate {} to {length}", path.display()),
            Self::Sync(path) => write!(f, "sync {}", path.display()),
            Self::Unlink(path) => write!(f, "unlink {}", path.display()),
            Self::Rename(from, to) => write!(f, "rename {} to {}", from.display(), to.display()),
            Self::Link(from, to) => write!(f, "link {} as {}", from.display(), to.display()),
            Self::Acknowledge(task) => write!(f, "acknowledge {task}"),
        }
    }
}

/// A directory that is traced.
#[derive(Debug)]
pub struct Tracer<'a> {
    /// The directory. What is beside it is not traced.
    pub root: &'a Path,
    library: PathBuf,
    file: PathBuf,
}

impl<'a> Tracer<'a> {
    /// Traces what happens in `root`; keeps its own files in `aside`.
    pub fn new(root: &'a Path, aside: &Path) -> Self {
        let (library, file) = (aside.join("trace.so"), aside.join("trace"));
        if !library.exists() {
            compile(&library);
        }
        Self {
            root,
            library,
            file,
        }
    }

    /// Has `command` be traced, and killed instead of its call number `kill_at`.
    pub fn trace(&self, command: &mut Command, kill_at: Option<usize>) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("TRACE_ROOT", self.root)
            .env("TRACE_FILE", &self.file);
        if let Some(call) = kill_at {
            command.env("TRACE_KILL_AT", call.to_string());
        }
    }

    /// Everything that was done so far.
    pub fn operations(&self) -> Vec<Operation> {
        let data = fs::read(&self.file).unwrap();
        let mut rest = data.as_slice();
        let mut operations = Vec::new();
        while !rest.is_empty() {
            operations.extend(self.next(&mut rest));
        }
        operations
    }

    fn next(&self, rest: &mut &[u8]) -> Option<Operation> {
        let kind = rest.split_off(..1).unwrap()[0];
        let length = u32::from_ne_bytes(rest.split_off(..4).unwrap().try_into().unwrap());
        let path = self.below(rest.split_off(..length.try_into().unwrap()).unwrap());
        let mut number = || {
            let number = u64::from_ne_bytes(rest.split_off(..8).unwrap().try_into().unwrap());
            usize::try_from(number).unwrap()
        };
        let (offset, length) = (number(), number());
        let data = match kind {
            b'W' | b'R' | b'L' => rest.split_off(..length).unwrap(),
            _ => &[],
        };
        if path == Path::new(ACKNOWLEDGED) {
            let text = str::from_utf8(data).unwrap().trim();
            return (kind == b'W').then(|| Operation::Acknowledge(text.parse().unwrap()));
        }
        Some(match kind {
            b'C' => Operation::Create(path),
            b'D' => Operation::CreateDir(path),
            b'W' => Operation::Write(path, offset, data.to_vec()),
            b'T' => Operation::Truncate(path, offset),
            b'S' => Operation::Sync(path),
            b'U' => Operation::Unlink(path),
            b'R' => Operation::Rename(path, self.below(data)),
            b'L' => Operation::Link(path, self.below(data)),
            _ => panic!("operation {kind}"),
        })
    }

    fn below(&self, path: &[u8]) -> PathBuf {
        let path = Path::new(str::from_utf8(path).unwrap());
        path.strip_prefix(self.root).unwrap().to_owned()
    }
}

fn compile(library: &Path) {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/power_loss/trace.c");
    let compiled = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(library)
        .arg(source)
        .args(["-ldl", "-lpthread"])
        .status()
        .unwrap();
    assert!(compiled.success(), "trace.c does not compile");
}
