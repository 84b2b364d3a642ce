//! A disk that loses power: which states of a directory may be found afterwards, given the operations before.
//!
//! Only what was synced is sure to be there: the content of a file after a sync of the file, a name after a sync of the
//! directory that it is in. Of everything else any part may be there: this is less than what common file systems
//! promise, and what POSIX allows.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use super::Operation;

/// Writes reach the disk in pieces of this size, in any order.
const SECTOR: usize = 512;

/// What becomes of operations that were not synced.
#[derive(Debug, Clone, Copy)]
pub enum Unsynced {
    /// None has reached the disk.
    Lost,
    /// All have: the process was killed, and the machine goes on.
    Kept,
    /// All but the content of files: a journaling file system that writes names first.
    NamesKept,
    /// Some have, by chance.
    Some(u64),
}

/// The files and directories, as they are and as they would be found.
#[derive(Debug, Default)]
pub struct Disk {
    nodes: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    File {
        synced: Vec<u8>,
        unsynced: Vec<Change>,
    },
    Dir {
        live: Names,
        synced: Names,
        unsynced: Vec<(OsString, Option<usize>)>,
    },
}

type Names = BTreeMap<OsString, usize>;

#[derive(Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let limit = u64::try_from(limit).unwrap();
        usize::try_from((z ^ (z >> 31)) % limit).unwrap()
    }
}

impl Disk {
    /// A disk that holds what is in `dir`, synced.
    pub fn of(dir: &Path) -> Self {
        let mut disk = Self::default();
        disk.load(dir);
        disk
    }

    fn load(&mut self, path: &Path) -> usize {
        let number = self.nodes.len();
        if path.is_file() {
            self.add_file(fs::read(path).unwrap());
            return number;
        }
        self.add_dir();
        let entries = fs::read_dir(path).unwrap().map(Result::unwrap);
        let names: Names = entries
            .map(|entry| (entry.file_name(), self.load(&entry.path())))
            .collect();
        let (live, synced) = self.dir(number);
        live.clone_from(&names);
        *synced = names;
        number
    }

    fn add_file(&mut self, synced: Vec<u8>) -> usize {
        self.nodes.push(Node::File {
            synced,
            unsynced: Vec::new(),
        });
        self.nodes.len() - 1
    }

    fn add_dir(&mut self) -> usize {
        self.nodes.push(Node::Dir {
            live: Names::new(),
            synced: Names::new(),
            unsynced: Vec::new(),
        });
        self.nodes.len() - 1
    }

    fn dir(&mut self, number: usize) -> (&mut Names, &mut Names) {
        match &mut self.nodes[number] {
            Node::Dir { live, synced, .. } => (live, synced),
            Node::File { .. } => panic!("{number} is a file"),
        }
    }

    fn find(&self, path: &Path) -> usize {
        let mut number = 0;
        for name in path {
            let Node::Dir { live, .. } = &self.nodes[number] else {
                panic!("{} is below a file", path.display());
            };
            number = live[name];
        }
        number
    }

    /// Does what the process did.
    pub fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create(path) => {
                let file = self.add_file(Vec::new());
                self.name(path, Some(file));
            }
            Operation::CreateDir(path) => {
                let dir = self.add_dir();
                self.name(path, Some(dir));
            }
            Operation::Write(path, offset, data) => {
                self.change(path, Change::Write(*offset, data.clone()));
            }
            Operation::Truncate(path, length) => self.change(path, Change::Truncate(*length)),
            Operation::Sync(path) => {
                let number = self.find(path);
                match &mut self.nodes[number] {
                    Node::File { synced, unsynced } => {
                        unsynced.drain(..).for_each(|change| change.apply(synced));
                    }
                    Node::Dir {
                        live,
                        synced,
                        unsynced,
                    } => {
                        unsynced.clear();
                        synced.clone_from(live);
                    }
                }
            }
            Operation::Unlink(path) => self.name(path, None),
            Operation::Rename(from, to) => {
                let number = self.find(from);
                self.name(to, Some(number));
                self.name(from, None);
            }
            Operation::Link(from, to) => {
                let number = self.find(from);
                self.name(to, Some(number));
            }
            Operation::Acknowledge(_) => {}
        }
    }

    /// Gives `path` to a node, or takes it from the one that has it.
    fn name(&mut self, path: &Path, number: Option<usize>) {
        let (folder, name) = (path.parent().unwrap(), path.file_name().unwrap());
        let folder = self.find(folder);
        let Node::Dir { live, unsynced, .. } = &mut self.nodes[folder] else {
            panic!("{} is below a file", path.display());
        };
        give(live, name, number);
        unsynced.push((name.to_owned(), number));
    }

    fn change(&mut self, path: &Path, change: Change) {
        let number = self.find(path);
        match &mut self.nodes[number] {
            Node::File { unsynced, .. } => unsynced.push(change),
            Node::Dir { .. } => panic!("{} is a directory", path.display()),
        }
    }

    /// Writes to `target` what is found after a loss of power now.
    pub fn lose_power(&self, unsynced: Unsynced, target: &Path) {
        let mut chance = match unsynced {
            Unsynced::Some(seed) => Chance(seed),
            _ => Chance(0),
        };
        self.find_after(0, unsynced, &mut chance, target);
    }

    fn find_after(&self, number: usize, kept: Unsynced, chance: &mut Chance, target: &Path) {
        match &self.nodes[number] {
            Node::File { synced, unsynced } => {
                let mut content = synced.clone();
                for change in unsynced {
                    match kept {
                        Unsynced::Lost | Unsynced::NamesKept => {}
                        Unsynced::Kept => change.apply(&mut content),
                        Unsynced::Some(_) => change.apply_some(chance, &mut content),
                    }
                }
                fs::write(target, content).unwrap();
            }
            Node::Dir {
                synced, unsynced, ..
            } => {
                let mut names = synced.clone();
                for (name, number) in unsynced {
                    let is_kept = match kept {
                        Unsynced::Lost => false,
                        Unsynced::Kept | Unsynced::NamesKept => true,
                        Unsynced::Some(_) => chance.below(2) == 0,
                    };
                    if is_kept {
                        give(&mut names, name, *number);
                    }
                }
                fs::create_dir_all(target).unwrap();
                for (name, number) in names {
                    self.find_after(number, kept, chance, &target.join(name));
                }
            }
        }
    }
}

fn give(names: &mut Names, name: &OsStr, number: Option<usize>) {
    match number {
        Some(number) => names.insert(name.to_owned(), number),
        None => names.remove(name),
    };
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write(offset, data) => overwrite(content, *offset, data),
            Self::Truncate(length) => content.resize(*length, 0),
        }
    }

    /// All of it, nothing, the sectors up to one, or some of them.
    fn apply_some(&self, chance: &mut Chance, content: &mut Vec<u8>) {
        let Self::Write(offset, data) = self else {
            if chance.below(2) == 0 {
                self.apply(content);
            }
            return;
        };
        let (mut from, mut rest) = (*offset, data.as_slice());
        let whole = rest.len().div_ceil(SECTOR);
        let (way, end) = (chance.below(4), chance.below(whole + 1));
        for sector in 0.. {
            let length = (SECTOR - from % SECTOR).min(rest.len());
            if length == 0 {
                return;
            }
            let is_kept = match way {
                0 => true,
                1 => false,
                2 => sector < end,
                _ => chance.below(2) == 0,
            };
            let piece = rest.split_off(..length).unwrap();
            if is_kept {
                overwrite(content, from, piece);
            }
            from += length;
        }
    }
}

fn overwrite(content: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(data);
}
