//! What is wrong with a configuration, and where. Problems are collected: a reader sees all of them at
//! once, each with its place and, where one can be guessed, a way out.

use std::fmt;
use std::sync::Arc;

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file; lines and columns count from 1.
    File {
        /// The file, as the user named it.
        file: Arc<str>,
        /// The line.
        line: usize,
        /// The column, in characters.
        column: usize,
    },
    /// In a file as a whole: it cannot be read, or a key is missing.
    Whole(Arc<str>),
    /// In an environment variable.
    Variable(Arc<str>),
    /// In a flag of the command line.
    Flag(&'static str),
    /// In the store, under that id.
    Stored(Arc<str>),
    /// In Switchboard itself: a default that does not hold here.
    Default,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Whole(file) => f.write_str(file),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Stored(id) => write!(f, "stored as {id}"),
            Self::Default => f.write_str("default settings"),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The path of the key, such as `agents.echo.card`; empty at the top.
    pub path: String,
    /// What.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All that is wrong; never empty. Nothing of a configuration with problems is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub(crate) Vec<Problem>);

impl Problems {
    /// All of them, and how many there are.
    #[must_use]
    pub fn report(&self) -> String {
        let number = self.0.len();
        let noun = if number == 1 { "problem" } else { "problems" };
        format!("{self}\nerror: {number} {noun} in the configuration; nothing was applied")
    }

    /// Each problem, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// A hint for a word that is none of `known`: the nearest one, or all if they are few.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let nearest = known
        .iter()
        .map(|k| (distance(word, k), *k))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance);
    if let Some((_, nearest)) = nearest {
        return Some(format!("did you mean `{nearest}`?"));
    }
    match known.as_slice() {
        [] => None,
        [only] => Some(format!("use `{only}`")),
        many if many.len() <= 12 => {
            let quoted: Vec<_> = many.iter().map(|k| format!("`{k}`")).collect();
            Some(format!("use one of {}", quoted.join(", ")))
        }
        _ => None,
    }
}

/// Keys as other programs name them, in plain spelling, with those of ours that may be meant, and how they are written.
const SYNONYMS: [(&[&str], &str, &str); 11] = [
    (
        &["port", "host", "bind", "address", "hostname"],
        "listen",
        ", such as `listen: 127.0.0.1:8080`",
    ),
    (
        &["baseurl", "apibase", "endpoint", "uri", "server"],
        "url",
        "",
    ),
    (
        &["apikey", "token", "secret", "bearer"],
        "key",
        ", such as `key: ${NAME}`",
    ),
    (
        &["apikey", "key", "secret", "password"],
        "token",
        ", such as `token: ${NAME}`",
    ),
    (
        &["cwd", "workdir", "workingdirectory", "dir", "path"],
        "directory",
        "",
    ),
    (
        &["env", "envs", "vars", "variables"],
        "environment",
        ", or `inherit` for variables of the server",
    ),
    (
        &["cmd", "program", "args", "arguments", "exec", "run"],
        "command",
        ", a list such as `[python3, agent.py]`",
    ),
    (&["prompt", "systemprompt", "instructions"], "system", ""),
    (
        &["graph", "graphid", "assistantid", "agent"],
        "assistant",
        "",
    ),
    (
        &["datadir", "database", "db", "storage", "directory"],
        "data",
        "",
    ),
    (&["authentication", "security"], "auth", ""),
];

/// A hint for a key that other programs know by another name.
pub(crate) fn synonym(key: &str, known: &[&str]) -> Option<String> {
    let key = plain(key);
    SYNONYMS.iter().find_map(|(others, ours, written)| {
        let meant = others.contains(&&*key) && known.contains(ours);
        meant.then(|| format!("did you mean `{ours}`{written}?"))
    })
}

/// How far a word is from a known one. Case and the choice of `-`, `_` or camel case do not count, and a
/// word that begins the other is near.
fn distance(word: &str, known: &str) -> usize {
    let (word, known) = (plain(word), plain(known));
    if word.len() >= 4 && (known.starts_with(&word) || word.starts_with(&known)) {
        return 1;
    }
    strsim::damerau_levenshtein(&word, &known)
}

fn plain(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '-' | '_' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_nearest_word() {
        let keys = ["listen", "limits", "public_url", "on_disconnect"];
        for (word, nearest) in [
            ("lisen", "listen"),
            ("limit", "limits"),
            ("publicUrl", "public_url"),
            ("public-url", "public_url"),
            ("on_disconect", "on_disconnect"),
        ] {
            assert_eq!(
                did_you_mean(word, keys),
                Some(format!("did you mean `{nearest}`?"))
            );
        }
    }

    #[test]
    fn names_our_key_for_the_one_of_another_program() {
        for (key, known, hint) in [
            ("base_url", &["url", "model"][..], "did you mean `url`?"),
            (
                "api_key",
                &["url", "key"],
                "did you mean `key`, such as `key: ${NAME}`?",
            ),
            (
                "apiKey",
                &["url", "token"],
                "did you mean `token`, such as `token: ${NAME}`?",
            ),
            (
                "port",
                &["agents", "listen"],
                "did you mean `listen`, such as `listen: 127.0.0.1:8080`?",
            ),
            ("cwd", &["directory"], "did you mean `directory`?"),
            (
                "env",
                &["environment"],
                "did you mean `environment`, or `inherit` for variables of the server?",
            ),
        ] {
            assert_eq!(synonym(key, known).as_deref(), Some(hint), "{key}");
        }
        assert_eq!(synonym("port", &["url"]), None);
    }

    #[test]
    fn lists_a_few_words_when_none_is_near() {
        assert_eq!(
            did_you_mean("xyz", ["task", "message"]).unwrap(),
            "use one of `task`, `message`"
        );
        assert_eq!(did_you_mean("xyz", (0..20).map(|_| "abcdef")), None);
    }
}
