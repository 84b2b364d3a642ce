//! The journal: the changes of each commit, appended to a file of their own and synced before the commit is
//! acknowledged. The database takes the same changes in one transaction for many commits; what it had not kept
//! when the process ended is read from here.
//!
//! There are two files. While one is written, the database makes durable what stands in the other. A file is a
//! head (`MAGIC`, the database's id, a salt) and frames: length, checksum, number, content. It begins anew under
//! another salt, which is part of the checksums, so that what is left of older frames is not taken for new ones.
//! How they are read, and how damage is told from a crash, is in `frames`.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::frames::{self, FILE_HEAD, FRAME_HEAD, JournalContent, MAGIC, MARK};
use crate::store::{Error, files};

/// The heads of a file and of a frame: the room before the content of a frame in memory.
const ROOM: usize = FILE_HEAD + FRAME_HEAD;
/// A file of this size is full: few enough bytes that the commits of one moment wait for the end of their
/// transaction no longer than for a sync.
const FULL: u64 = 256 * 1024;
/// A file grows by so much at once, since syncing a file that has grown costs twice.
const GROWTH: u64 = 128 * 1024;
/// The room for an end mark.
const END_MARK: u64 = MARK as u64;
/// The files.
pub(in crate::store) const NAMES: [&str; 2] = ["switchboard.journal-a", "switchboard.journal-b"];

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    paths: [PathBuf; 2],
    files: [File; 2],
    sizes: [u64; 2],
    /// Which of them is written.
    current: usize,
    /// Where its next frame goes.
    end: u64,
    salt: u64,
    /// The last commit in it.
    last: u64,
    database: u64,
    /// Whether commits survive a loss of power.
    synced: bool,
}

/// Makes `frame` one without content, to be filled by appending.
pub(super) fn clear(frame: &mut Vec<u8>) {
    frame.clear();
    frame.resize(ROOM, 0);
}

/// What a frame was filled with.
pub(super) fn content(frame: &[u8]) -> &[u8] {
    frame.get(ROOM..).unwrap_or_default()
}

/// Whether there is a journal in `dir`: of a process that runs, or of one that could not tidy up.
pub(super) fn is_left_in(dir: &Path) -> bool {
    NAMES.iter().any(|name| dir.join(name).exists())
}

/// What a journal holds, whose process may be running or gone. Changes nothing.
pub(super) fn read_in(dir: &Path) -> Result<JournalContent, Error> {
    let paths = NAMES.iter().map(|name| dir.join(name));
    let read = paths.filter_map(|path| match fs::read(&path) {
        Ok(data) => Some(frames::read(path, &data)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(files::unusable(&path, &error))),
    });
    Ok(JournalContent::new(read.collect::<Result<_, Error>>()?))
}

impl Journal {
    /// Opens the journal of a database in `dir`, which may be new. What is in it stays until the first
    /// [`Self::write`].
    pub(super) fn open(dir: &Path, database: u64, synced: bool) -> io::Result<Self> {
        let paths = NAMES.map(|name| dir.join(name));
        let [a, b] = &paths;
        let files = [files::private_file(a)?, files::private_file(b)?];
        // Their names are to survive a loss of power too, as that of the database.
        files::sync_names(dir)?;
        let sizes = [files[0].metadata()?.len(), files[1].metadata()?.len()];
        Ok(Self {
            paths,
            files,
            sizes,
            current: 0,
            end: 0,
            salt: salt(),
            last: 0,
            database,
            synced,
        })
    }

    /// Whether the file that is written is full.
    pub(super) fn is_full(&self) -> bool {
        self.end >= FULL
    }

    /// Goes on in the other file. All of its frames must be durable in the database.
    pub(super) fn switch(&mut self) {
        self.current = 1 - self.current;
        self.end = 0;
        self.salt = salt();
    }

    /// Writes a frame. To be followed by [`Self::sync`], and then [`Self::keep`] or [`Self::retract`].
    pub(super) fn write(&mut self, number: u64, frame: &mut Vec<u8>) -> Result<(), Error> {
        self.fill_head(number, frame)
            .and_then(|()| self.put(frame))
            .map_err(|error| unusable(&error))
    }

    fn fill_head(&self, number: u64, frame: &mut [u8]) -> io::Result<()> {
        let content = content(frame);
        let length = u32::try_from(content.len()).map_err(io::Error::other)?;
        let sum = frames::checksum(self.salt, number, content);
        let mut head = Vec::with_capacity(ROOM);
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&self.database.to_le_bytes());
        head.extend_from_slice(&self.salt.to_le_bytes());
        head.extend_from_slice(&length.to_le_bytes());
        head.extend_from_slice(&sum.to_le_bytes());
        head.extend_from_slice(&number.to_le_bytes());
        frame[..ROOM].copy_from_slice(&head);
        Ok(())
    }

    fn put(&mut self, frame: &mut Vec<u8>) -> io::Result<()> {
        let (filled, end) = (frame.len(), self.after(frame));
        let size = &mut self.sizes[self.current];
        if end + END_MARK > *size {
            *size = (end + END_MARK).next_multiple_of(GROWTH);
            let padding = usize::try_from(*size - end).map_err(io::Error::other)?;
            frame.resize(filled + padding, 0);
        }
        let written = self.file().write_all_at(&frame[self.skipped()..], self.end);
        frame.truncate(filled);
        written
    }

    /// Waits until the frame is on the disk.
    pub(super) fn sync(&self) -> Result<(), Error> {
        if self.synced {
            self.file().sync_data().map_err(|error| unusable(&error))?;
        }
        Ok(())
    }

    /// The frame stays: it is durable, and its commit is acknowledged. The next one goes to `end`, where [`Self::after`]
    /// said.
    pub(super) fn keep(&mut self, number: u64, end: u64) {
        (self.end, self.last) = (end, number);
        // Says that the frame was whole, should it be damaged later. It is not synced: the next frame overwrites it. If it
        // cannot be written, the commit is none the worse.
        drop(self.file().write_all_at(&self.mark(), end));
    }

    /// The frame is of a commit that was refused: it is not to be found again.
    pub(super) fn retract(&mut self) -> Result<(), Error> {
        let mut cleared = [0; ROOM];
        if self.end > 0 {
            cleared[..MARK].copy_from_slice(&self.mark());
        }
        let file = self.file();
        file.write_all_at(&cleared, self.end)
            .and_then(|()| file.sync_data())
            .map_err(|error| unusable(&error))
    }

    fn mark(&self) -> [u8; MARK] {
        frames::new_mark(self.database, self.salt, self.last)
    }

    /// What the files hold.
    pub(super) fn read(&self) -> Result<JournalContent, Error> {
        let read = self.files.iter().zip(&self.paths).map(|(mut file, path)| {
            let mut data = Vec::new();
            let read = file.rewind().and_then(|()| file.read_to_end(&mut data));
            read.map_err(|error| unusable(&error))?;
            frames::read(path.clone(), &data)
        });
        Ok(JournalContent::new(read.collect::<Result<_, Error>>()?))
    }

    /// Belongs to the database with that id from now on.
    pub(super) fn belong_to(&mut self, database: u64) {
        self.database = database;
    }

    /// Removes the files. The database holds everything.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.paths.iter().try_for_each(fs::remove_file)
    }

    #[cfg(test)]
    pub(super) fn make_read_only(&mut self) {
        self.files = self.paths.clone().map(|path| File::open(path).unwrap());
    }

    fn file(&self) -> &File {
        &self.files[self.current]
    }

    /// How much of a frame in memory is not written: only the first of a file begins with the file's head.
    fn skipped(&self) -> usize {
        if self.end == 0 { 0 } else { FILE_HEAD }
    }

    /// Where the file ends after `frame`.
    pub(super) fn after(&self, frame: &[u8]) -> u64 {
        let length = frame.len() - self.skipped();
        self.end + u64::try_from(length).unwrap_or(u64::MAX)
    }
}

fn salt() -> u64 {
    Uuid::new_v4().as_u64_pair().0
}

fn unusable(error: &io::Error) -> Error {
    Error::Unavailable(format!("the journal cannot be used: {error}"))
}
