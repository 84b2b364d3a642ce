//! Reading Markdown, as much of it as the documents use.

use std::path::{Path, PathBuf};

/// A document.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    text: String,
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The line it begins on.
    pub(crate) line: usize,
    /// The words after the opening fence: language and tag.
    pub(crate) info: Vec<String>,
    pub(crate) text: String,
}

/// README and the other pages at the top, and all below docs/.
pub(crate) fn all(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    markdown_in(root, &mut found);
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        markdown_in(&folder, &mut found);
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.map(|e| e.path()).filter(|path| path.is_dir()));
    }
    assert!(found.len() > 2, "{found:?}");
    found.sort();
    found
}

fn markdown_in(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let pages = entries.map(|entry| entry.path());
    found.extend(pages.filter(|path| path.extension().is_some_and(|e| e == "md")));
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        for (at, line) in text.lines().enumerate() {
            match (line.strip_prefix("```"), open) {
                (Some(info), false) => {
                    open = true;
                    blocks.push(Block {
                        line: at + 1,
                        info: info.split_whitespace().map(str::to_owned).collect(),
                        text: String::new(),
                    });
                }
                (Some(_), true) => open = false,
                (None, true) => {
                    if let Some(block) = blocks.last_mut() {
                        block.text.push_str(line);
                        block.text.push('\n');
                    }
                }
                (None, false) => {}
            }
        }
        assert!(!open, "{path:?} ends within a block");
        Self {
            path: path.to_owned(),
            text,
            blocks,
        }
    }

    pub(crate) fn has_commands(&self) -> bool {
        self.blocks.iter().any(|block| block.is("sh"))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Relative links, anchors included.
    pub(crate) fn links(&self) -> Vec<String> {
        let mut links = Vec::new();
        for piece in self.prose().split("](").skip(1) {
            let target = piece.split(')').next().unwrap_or_default();
            if !target.contains("://") {
                links.push(target.to_owned());
            }
        }
        links
    }

    /// What headings are called in links.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = String> {
        let prose = self.prose();
        let headings: Vec<String> = prose
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(anchor)
            .collect();
        headings.into_iter()
    }

    /// The headings of a level: 1 for titles.
    pub(crate) fn headings(&self, level: usize) -> Vec<String> {
        let marks = format!("{} ", "#".repeat(level));
        let prose = self.prose();
        let headings = prose.lines().filter_map(|line| line.strip_prefix(&marks));
        headings.map(|heading| heading.trim().to_owned()).collect()
    }

    /// The blocks between a heading and the next one.
    pub(crate) fn section(&self, heading: &str) -> Vec<&Block> {
        let mut inside = false;
        let mut is_heading = |line: &str| {
            inside ^= line.starts_with("```");
            !inside && line.starts_with('#')
        };
        let lines = self.text.lines().enumerate();
        let mut headings = lines.filter(|(_, line)| is_heading(line));
        let named = |(_, line): &(usize, &str)| line.trim_start_matches('#').trim() == heading;
        let (from, _) = headings
            .find(named)
            .unwrap_or_else(|| panic!("{:?} has no heading {heading:?}", self.path));
        let to = headings.next().map_or(usize::MAX, |(line, _)| line);
        let blocks = self.blocks.iter();
        blocks
            .filter(|block| (from..to).contains(&block.line))
            .collect()
    }

    /// The text without its blocks.
    fn prose(&self) -> String {
        let mut inside = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            if line.starts_with("```") {
                inside = !inside;
            } else if !inside {
                prose.push_str(line);
                prose.push('\n');
            }
        }
        prose
    }
}

impl Block {
    pub(crate) fn is(&self, language: &str) -> bool {
        self.info.first().is_some_and(|first| first == language)
    }

    /// The file that a block is, if it is one: its tag has a dot.
    pub(crate) fn file(&self) -> Option<&str> {
        self.tag().filter(|tag| tag.contains('.'))
    }

    /// Whether its commands need the official SDKs.
    pub(crate) fn needs_sdk(&self) -> bool {
        self.is("sh") && self.tag() == Some("sdk")
    }

    pub(crate) fn tag(&self) -> Option<&str> {
        self.info.get(1).map(String::as_str)
    }
}

fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
