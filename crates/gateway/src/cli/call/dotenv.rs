//! Files of `NAME=value` lines.
//!
//! Not read with `dotenvy`: its errors have no line number and quote the line, which may hold a secret, and it replaces
//! `$NAME` within values, which may be part of one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The variables of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dotenv {
    pub(super) path: PathBuf,
    values: BTreeMap<String, String>,
    /// Others than its owner can read it.
    pub(super) exposed: bool,
}

impl Dotenv {
    /// Reads a file; none if it is not there.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, String> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        };
        let values = parse(&text)
            .map_err(|line| format!("{}:{line}: this is not NAME=value", path.display()))?;
        Ok(Some(Self {
            path: path.to_owned(),
            values,
            exposed: is_exposed(path),
        }))
    }

    /// The nearest `.env` in a directory or above it that says something about the client commands: projects
    /// have such files for their own ends.
    pub(super) fn nearest(dir: &Path) -> Result<Option<Self>, String> {
        for dir in dir.ancestors() {
            match Self::read(&dir.join(".env")) {
                Ok(Some(file)) if file.names_ours() => return Ok(Some(file)),
                // A file in a form we do not know is not meant for us.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(None)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    fn names_ours(&self) -> bool {
        self.values
            .keys()
            .any(|name| name.starts_with(super::places::PREFIX))
    }
}

/// Reads `NAME=value` lines; empty lines, comments, `export` and quotes are understood. Or the number of the
/// line that is none.
fn parse(text: &str) -> Result<BTreeMap<String, String>, usize> {
    let mut values = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(number)?;
        let name = name.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(number);
        }
        values.insert(name.to_owned(), unquoted(value.trim()).to_owned());
    }
    Ok(values)
}

/// Without the quotes around it, or the comment after it.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote)
            && let Some(end) = inner.find(quote)
        {
            return &inner[..end];
        }
    }
    value
        .split_once(" #")
        .map_or(value, |(value, _)| value.trim_end())
}

#[cfg(unix)]
fn is_exposed(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_exposed(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_shells_do() {
        let text =
            "# a comment\n\nA=1\nexport B = two words # and why\nC=\"x # y\"\nD='it is'\nE=\n";
        let values = parse(text).unwrap();
        let found: Vec<_> = values
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("A", "1"),
                ("B", "two words"),
                ("C", "x # y"),
                ("D", "it is"),
                ("E", "")
            ]
        );
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        assert_eq!(parse("A=1\nnothing\n"), Err(2));
        assert_eq!(parse("a b=1\n"), Err(1));
    }

    #[test]
    fn the_nearest_file_that_speaks_of_us_counts() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(Dotenv::nearest(&inner).unwrap(), None);
        fs::write(dir.path().join(".env"), "A2ACLI_TIMEOUT=1s\n").unwrap();
        fs::write(dir.path().join("a/.env"), "DATABASE=x\n").unwrap();
        let found = Dotenv::nearest(&inner).unwrap().unwrap();
        assert_eq!(found.path, dir.path().join(".env"));
        assert_eq!(found.get("A2ACLI_TIMEOUT"), Some("1s"));
    }
}
