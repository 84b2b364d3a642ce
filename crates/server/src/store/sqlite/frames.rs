//! Reading the journal: the commits in its files, and signs of commits that cannot be read.
//!
//! A frame that cannot be verified is the ordinary trace of a crash, if it is the last one: it was never acknowledged. It
//! is damage if a commit with a higher number was acknowledged. That is so if a later frame can be verified, wherever it
//! is, or if there is an end mark: a commit is followed by a mark with its number once it is durable, which the next
//! frame overwrites.
//!
//! A mark repeats what the head of its file says, so that it can be verified even if the head is what is damaged.

use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use crate::store::Error;

/// How every file begins; the last byte counts the ways frames are written.
pub(super) const MAGIC: [u8; 8] = *b"SWBDJNL\x01";
/// What comes before the first frame: `MAGIC`, the database's id, the salt.
pub(super) const FILE_HEAD: usize = 24;
/// What comes before the content of a frame: length, checksum, number.
pub(super) const FRAME_HEAD: usize = 16;
/// An end mark: the head of a frame with the length `MARK_LENGTH`, the salt, the database's id.
pub(super) const MARK: usize = FRAME_HEAD + 16;
/// The length that no frame has. Versions that know of no marks take it for the end of the file, too.
const MARK_LENGTH: u32 = u32::MAX;

/// One commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) number: u64,
    pub(super) content: Vec<u8>,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct FileContent {
    pub(super) path: PathBuf,
    /// The id of the database that the file belongs to.
    pub(super) database: u64,
    /// The commits that can be verified, in the order of their numbers.
    pub(super) frames: Vec<Frame>,
    /// The last commit that is known to have been acknowledged, whether or not it can be read.
    pub(super) last: u64,
    /// The last commit whose end mark was found; later ones may have been acknowledged or not.
    pub(super) marked: u64,
    /// The first commit that can be verified, and how many can.
    pub(super) first: u64,
    pub(super) readable: u64,
}

/// What was found in both files.
#[derive(Debug, Default)]
pub(super) struct JournalContent {
    pub(super) files: Vec<FileContent>,
    /// The commits of both files that can be verified, in the order of their numbers.
    pub(super) frames: Vec<Frame>,
    /// The last commit that is known to have been acknowledged, whether or not it can be read.
    pub(super) last: u64,
    /// The last commit whose end mark was found.
    pub(super) marked: u64,
}

impl JournalContent {
    pub(super) fn new(mut files: Vec<FileContent>) -> Self {
        let frames = files.iter_mut().flat_map(|file| file.frames.drain(..));
        let mut frames: Vec<Frame> = frames.collect();
        frames.sort_by_key(|frame| frame.number);
        frames.dedup_by_key(|frame| frame.number);
        let last = files.iter().map(|file| file.last).max().unwrap_or(0);
        let marked = files.iter().map(|file| file.marked).max().unwrap_or(0);
        Self {
            files,
            frames,
            last,
            marked,
        }
    }

    /// Requires that the commits are of the database with that id.
    pub(super) fn require_database(&self, id: u64) -> Result<(), Error> {
        let mut files = self.files.iter().filter(|file| file.last > 0);
        match files.find(|file| file.database != id) {
            None => Ok(()),
            Some(other) => Err(Error::Damaged(format!(
                "{} holds acknowledged commits of another database than the one beside it. Nothing was changed. \
                 Put the database back that belongs to it, or move the journal to the directory of that database; \
                 keep it in any case, since it may be the only copy of these commits",
                other.path.display()
            ))),
        }
    }

    /// The id of the database that all commits belong to, if these are all that it ever had.
    pub(super) fn complete_database(&self) -> Option<u64> {
        let mut ids = self.files.iter().filter(|file| file.last > 0);
        let id = ids.next()?.database;
        let is_one = ids.all(|file| file.database == id);
        let is_complete = missing(&self.frames, 0, self.last).is_none();
        (is_one && is_complete).then_some(id)
    }
}

/// The first number after `settled`, up to `last`, that is not among the frames.
pub(super) fn missing(frames: &[Frame], settled: u64, last: u64) -> Option<u64> {
    let mut numbers = frames.iter().map(|frame| frame.number);
    let mut next = numbers.by_ref().find(|number| *number > settled);
    for expected in settled + 1..=last {
        if next != Some(expected) {
            return Some(expected);
        }
        next = numbers.next();
    }
    None
}

/// Reads one file.
///
/// # Errors
///
/// If a newer version has written it.
pub(super) fn read(path: PathBuf, data: &[u8]) -> Result<FileContent, Error> {
    require_known_format(&path, data)?;
    Ok(read_known(path, data))
}

/// Frames of another format may be verified and still mean something else.
fn require_known_format(path: &Path, data: &[u8]) -> Result<(), Error> {
    let [kind @ .., known] = &MAGIC;
    let written = data.strip_prefix(kind).and_then(<[u8]>::first);
    match written.filter(|written| *written > known) {
        None => Ok(()),
        Some(written) => Err(Error::Unavailable(format!(
            "{} has format {written}, this version of switchboard knows {known} at most. Nothing was changed. It may \
             hold acknowledged commits: use the newer version that wrote it",
            path.display()
        ))),
    }
}

fn read_known(path: PathBuf, data: &[u8]) -> FileContent {
    let mut content = FileContent {
        path,
        ..FileContent::default()
    };
    let Some((head, _)) = data.split_first_chunk::<FILE_HEAD>() else {
        return content;
    };
    content.database = number_at(head, 8);
    let salt = number_at(head, 16);
    let (mut at, mut is_whole) = (FILE_HEAD, true);
    let mut written = None;
    while at + FRAME_HEAD <= data.len() {
        let rest = &data[at..];
        // What follows a frame that can be read need not be looked for.
        if let Some((frame, length)) = frame(salt, rest)
            && (is_whole || frame.number > content.last)
        {
            content.last = content.last.max(frame.number);
            content.frames.push(frame);
            (at, is_whole) = (at + length, true);
            continue;
        }
        if let Some(number) = mark(content.database, rest) {
            content.last = content.last.max(number);
            content.marked = content.marked.max(number);
            if is_whole {
                break;
            }
        }
        // Files grow by zeros.
        let end = || data.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        if at >= *written.get_or_insert_with(end) {
            break;
        }
        (at, is_whole) = (at + 1, false);
    }
    if content.frames.is_empty() {
        content.last = content.last.max(unverified(data));
    }
    content.first = content.frames.first().map_or(0, |frame| frame.number);
    content.readable = u64::try_from(content.frames.len()).unwrap_or(u64::MAX);
    content
}

/// The last commit of a file of which no frame can be verified, because its salt is damaged: the heads of its frames
/// still count from one to the next. What is left of older frames does not, since their numbers are lower.
fn unverified(data: &[u8]) -> u64 {
    let mut last: Option<u64> = None;
    let (mut at, mut found) = (FILE_HEAD, 0);
    while let Some(head) = data.get(at..at + FRAME_HEAD) {
        let number = number_at(head, 8);
        match last {
            Some(last) if number == last + 1 => found = number,
            None if number > 0 && data.starts_with(&MAGIC) => {}
            _ => break,
        }
        last = Some(number);
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        at += FRAME_HEAD + usize::try_from(length).unwrap_or(usize::MAX / 2);
    }
    found
}

/// The frame at the beginning of `data`, if it can be verified, and its length.
fn frame(salt: u64, data: &[u8]) -> Option<(Frame, usize)> {
    let (length, sum, number) = frame_head(data)?;
    // Numbers begin with 1: this is room that was never written.
    if number == 0 {
        return None;
    }
    let end = FRAME_HEAD.checked_add(usize::try_from(length).ok()?)?;
    let content = data.get(FRAME_HEAD..end)?;
    (checksum(salt, number, content) == sum).then(|| {
        let content = content.to_vec();
        (Frame { number, content }, end)
    })
}

/// The number in the end mark at the beginning of `data`, if there is one.
fn mark(database: u64, data: &[u8]) -> Option<u64> {
    let (length, sum, number) = frame_head(data)?;
    if length != MARK_LENGTH || data.len() < MARK {
        return None;
    }
    let (salt, id) = (number_at(data, FRAME_HEAD), number_at(data, FRAME_HEAD + 8));
    let is_mark = checksum(salt, number, &id.to_le_bytes()) == sum;
    // A mark of another database is no more than a file of that one.
    (is_mark && id == database).then_some(number)
}

/// The end mark of a commit.
pub(super) fn new_mark(database: u64, salt: u64, number: u64) -> [u8; MARK] {
    let sum = checksum(salt, number, &database.to_le_bytes());
    let mut mark = [0; MARK];
    mark[..4].copy_from_slice(&MARK_LENGTH.to_le_bytes());
    mark[4..8].copy_from_slice(&sum.to_le_bytes());
    mark[8..16].copy_from_slice(&number.to_le_bytes());
    mark[16..24].copy_from_slice(&salt.to_le_bytes());
    mark[24..].copy_from_slice(&database.to_le_bytes());
    mark
}

fn frame_head(data: &[u8]) -> Option<(u32, u32, u64)> {
    let (head, _) = data.split_first_chunk::<FRAME_HEAD>()?;
    let [l0, l1, l2, l3, s0, s1, s2, s3, ..] = *head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    let sum = u32::from_le_bytes([s0, s1, s2, s3]);
    Some((length, sum, number_at(head, 8)))
}

/// The number at a place that is within `data`.
fn number_at(data: &[u8], at: usize) -> u64 {
    let bytes = data.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn checksum(salt: u64, number: u64, content: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}
