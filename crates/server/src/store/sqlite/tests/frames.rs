//! The journal by itself.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::super::frames::Frame;
use super::super::journal::{self, Journal};

const DATABASE: u64 = 7;

fn open(dir: &Path) -> Journal {
    Journal::open(dir, DATABASE, true).unwrap()
}

fn write(journal: &mut Journal, number: u64, content: &[u8]) {
    let mut frame = Vec::new();
    journal::clear(&mut frame);
    frame.extend_from_slice(content);
    journal.write(number, &mut frame).unwrap();
    journal.sync().unwrap();
    journal.keep(number, journal.after(&frame));
}

fn frame(number: u64, content: &[u8]) -> Frame {
    Frame {
        number,
        content: content.to_vec(),
    }
}

/// What another process finds.
fn found(dir: &Path) -> Vec<Frame> {
    open(dir).read().unwrap().frames
}

fn with_three_frames() -> (TempDir, Vec<Frame>) {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    let frames = vec![frame(1, b"one"), frame(2, b""), frame(3, &[3; 40])];
    for frame in &frames {
        write(&mut journal, frame.number, &frame.content);
    }
    (dir, frames)
}

#[test]
fn frames_come_back_from_both_files_in_order() {
    let (dir, mut frames) = with_three_frames();
    let mut journal = open(dir.path());
    journal.switch();
    write(&mut journal, 4, &[4; 2_000_000]);
    assert!(journal.is_full());
    frames.push(frame(4, &[4; 2_000_000]));
    assert_eq!(found(dir.path()), frames);
    journal.switch();
    write(&mut journal, 5, b"five");
    assert_eq!(
        found(dir.path()),
        [frame(4, &[4; 2_000_000]), frame(5, b"five")]
    );
}

#[test]
fn a_file_that_is_cut_anywhere_ends_after_its_last_whole_frame() {
    let (dir, frames) = with_three_frames();
    let path = dir.path().join("switchboard.journal-a");
    let whole = fs::read(&path).unwrap();
    let ends = [24 + 16 + 3, 24 + 16 + 3 + 16, 24 + 16 + 3 + 16 + 16 + 40];
    for length in 0..=ends[2] {
        fs::write(&path, &whole[..length]).unwrap();
        let left = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(found(dir.path()), frames[..left], "{length} bytes");
    }
}

#[test]
fn a_flipped_bit_hides_no_commit() {
    let (dir, frames) = with_three_frames();
    let path = dir.path().join("switchboard.journal-a");
    let end = 24 + 16 + 3 + 16 + 16 + 40;
    // Without most of the room that was never written.
    let mut whole = fs::read(&path).unwrap();
    whole.truncate(1000);
    for bit in 0..8 * (end + 32) {
        let mut data = whole.clone();
        data[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &data).unwrap();
        let found = open(dir.path()).read();
        if data[7] > 1 {
            // The version of the format.
            assert!(found.is_err(), "bit {bit}");
            continue;
        }
        let found = found.unwrap();
        assert_eq!(found.last, 3, "bit {bit}");
        let left: Vec<&Frame> = match bit / 8 {
            // Without the salt nothing can be verified but the mark.
            16..24 => Vec::new(),
            24..43 => vec![&frames[1], &frames[2]],
            43..59 => vec![&frames[0], &frames[2]],
            59..115 => vec![&frames[0], &frames[1]],
            // What the file is, whose it is, the mark itself.
            _ => frames.iter().collect(),
        };
        assert_eq!(found.frames.iter().collect::<Vec<_>>(), left, "bit {bit}");
    }
}

#[test]
fn a_torn_last_frame_is_no_damage() {
    let (dir, _) = with_three_frames();
    let path = dir.path().join("switchboard.journal-a");
    let end = 24 + 16 + 3 + 16 + 16 + 40;
    let whole = fs::read(&path).unwrap();
    // The next frame has begun to overwrite the mark after the third, and got no further than `length` bytes.
    let mut journal = open(dir.path());
    for number in 1..=4 {
        write(&mut journal, number, &[7; 40]);
    }
    let next = fs::read(&path).unwrap();
    let from = 24 + 3 * 56;
    for length in 0..56 {
        let mut data = whole.clone();
        data.splice(end..end + length, next[from..from + length].iter().copied());
        fs::write(&path, &data).unwrap();
        let found = open(dir.path()).read().unwrap();
        assert_eq!((found.frames.len(), found.last), (3, 3), "{length} bytes");
    }
}

#[test]
fn what_is_left_of_older_frames_is_not_taken_for_new_ones() {
    let (dir, frames) = with_three_frames();
    // A frame as long as the first one: the second and third still stand where they stood.
    let mut journal = open(dir.path());
    write(&mut journal, 1, b"ONE");
    assert_eq!(found(dir.path()), [frame(1, b"ONE")]);
    assert_ne!(frames[0], frame(1, b"ONE"));
}

#[test]
fn a_frame_that_was_taken_back_is_not_found() {
    for before in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = open(dir.path());
        let kept: Vec<Frame> = (1..before).map(|number| frame(number, b"kept")).collect();
        for frame in &kept {
            write(&mut journal, frame.number, &frame.content);
        }
        let mut refused = Vec::new();
        journal::clear(&mut refused);
        refused.extend_from_slice(b"refused");
        journal.write(before, &mut refused).unwrap();
        journal.sync().unwrap();
        assert_eq!(found(dir.path()).len(), kept.len() + 1);
        journal.retract().unwrap();
        assert_eq!(found(dir.path()), kept);
        write(&mut journal, before, b"next");
        assert_eq!(found(dir.path()).last(), Some(&frame(before, b"next")));
    }
}

#[test]
fn a_journal_of_another_database_is_refused_by_name() {
    let (dir, _) = with_three_frames();
    let other = Journal::open(dir.path(), DATABASE + 1, true).unwrap();
    let found = other.read().unwrap();
    let text = found
        .require_database(DATABASE + 1)
        .unwrap_err()
        .to_string();
    assert!(text.contains("switchboard.journal-a"), "{text}");
    assert!(text.contains("another database"), "{text}");
    assert!(
        !text.contains("remove") && !text.contains("delete"),
        "{text}"
    );
}

#[test]
fn a_file_of_something_else_holds_no_frames() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("switchboard.journal-a"), [0xff; 1000]).unwrap();
    assert!(found(dir.path()).is_empty());
}

#[test]
fn a_journal_of_a_newer_version_is_refused() {
    let (dir, _) = with_three_frames();
    let path = dir.path().join("switchboard.journal-a");
    let mut data = fs::read(&path).unwrap();
    data[7] += 1;
    fs::write(&path, &data).unwrap();
    for refused in [open(dir.path()).read(), journal::read_in(dir.path())] {
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("use the newer version"), "{text}");
    }
    assert_eq!(fs::read(&path).unwrap(), data);
}
