//! The parts of a message, in the order in which they stand on the command line.

use std::io::{self, Read};
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use switchboard_types::model::{Content, Json, Part};

use super::failure::Failure;

/// `--text`, `--file`, `--data` and `--media-type`, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct PartFlags(Vec<(Flag, String)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    Text,
    File,
    Data,
    MediaType,
}

impl Flag {
    const ALL: [Self; 4] = [Self::Text, Self::File, Self::Data, Self::MediaType];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::File => "file",
            Self::Data => "data",
            Self::MediaType => "media-type",
        }
    }

    /// As the tool of the A2A project spells it.
    fn alias(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("text-part"),
            Self::File => Some("file-part"),
            Self::Data => Some("data-part"),
            Self::MediaType => None,
        }
    }

    fn value(self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::File => "PATH|URL",
            Self::Data => "PATH|JSON|-",
            Self::MediaType => "TYPE",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Text => "Add a text part (repeatable)",
            Self::File => {
                "Add a file part: a local file is sent inline, a URL by reference (repeatable)"
            }
            Self::Data => {
                "Add a JSON part: a file, JSON text, or - for standard input (repeatable)"
            }
            Self::MediaType => "Media type of the preceding part (repeatable)",
        }
    }
}

// By hand: the derived form keeps one list per flag, and forgets how they were mixed.
impl Args for PartFlags {
    fn augment_args(command: Command) -> Command {
        command.args(Flag::ALL.map(|flag| {
            Arg::new(flag.name())
                .long(flag.name())
                .value_name(flag.value())
                .help(flag.help())
                .aliases(flag.alias())
                .action(ArgAction::Append)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PartFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found = Vec::new();
        for flag in Flag::ALL {
            let values = matches
                .get_many::<String>(flag.name())
                .into_iter()
                .flatten();
            let indices = matches.indices_of(flag.name()).into_iter().flatten();
            found.extend(
                indices
                    .zip(values)
                    .map(|(at, value)| (at, flag, value.clone())),
            );
        }
        found.sort_unstable_by_key(|(at, ..)| *at);
        let in_order = found.into_iter().map(|(_, flag, value)| (flag, value));
        Ok(Self(in_order.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl PartFlags {
    /// The parts, after those of a bare argument.
    pub(super) fn read(&self, first: Option<&str>) -> Result<Vec<Part>, Failure> {
        let mut parts: Vec<Part> = first.map(Part::text).into_iter().collect();
        for (flag, value) in &self.0 {
            match flag {
                Flag::Text => parts.push(Part::text(value)),
                Flag::File => parts.push(file(value)?),
                Flag::Data => parts.push(data(value)?),
                Flag::MediaType => {
                    let part = parts.last_mut().ok_or_else(|| {
                        Failure::usage("--media-type must follow a part", "put it after its part")
                    })?;
                    part.media_type = Some(value.clone());
                }
            }
        }
        if parts.is_empty() {
            return Err(Failure::usage(
                "nothing to send",
                "give a text, --text, --file or --data",
            ));
        }
        Ok(parts)
    }
}

fn file(name: &str) -> Result<Part, Failure> {
    if name.starts_with("http://") || name.starts_with("https://") {
        let mut part = Part::new(Content::Url(name.to_owned()));
        part.media_type = media_type(name).map(str::to_owned);
        return Ok(part);
    }
    let bytes = std::fs::read(name).map_err(|error| unreadable("--file", name, &error))?;
    let mut part = Part::new(Content::Raw(bytes.into()));
    let base = Path::new(name).file_name();
    part.filename = base.map(|base| base.to_string_lossy().into_owned());
    part.media_type = media_type(name).map(str::to_owned);
    Ok(part)
}

fn data(name: &str) -> Result<Part, Failure> {
    let text = if name.starts_with(['{', '[']) {
        Ok(name.to_owned())
    } else if name == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(name)
    };
    let text = text.map_err(|error| unreadable("--data", name, &error))?;
    let json = Json::parse(text);
    let wrong = |error| Failure::usage(&format!("--data {name}: {error}"), "give valid JSON");
    json.map(Part::data).map_err(wrong)
}

fn unreadable(flag: &str, name: &str, error: &io::Error) -> Failure {
    Failure::usage(
        &format!("{flag} {name}: {error}"),
        "name a file that can be read",
    )
}

/// The media type that goes with the ending of a name, for the endings that agents meet most.
pub(super) fn media_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(args: &[&str]) -> PartFlags {
        let command = PartFlags::augment_args(Command::new("send"));
        let matches = command.get_matches_from([&["send"], args].concat());
        PartFlags::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn parts_keep_their_order_and_a_type_goes_to_the_part_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let (json, png) = (dir.path().join("a.json"), dir.path().join("b.png"));
        std::fs::write(&json, r#"{"n":1}"#).unwrap();
        std::fs::write(&png, b"\x89PNG").unwrap();
        let args = [
            "--data",
            json.to_str().unwrap(),
            "--text",
            "second",
            "--media-type",
            "text/markdown",
            "--file",
            png.to_str().unwrap(),
            "--text",
            "last",
        ];
        let parts = flags(&args).read(Some("first")).unwrap();
        let kinds: Vec<_> = parts.iter().map(|part| &part.content).collect();
        assert_eq!(
            kinds,
            [
                &Content::Text("first".into()),
                &Content::Data(Json::parse(r#"{"n":1}"#).unwrap()),
                &Content::Text("second".into()),
                &Content::Raw(b"\x89PNG"[..].into()),
                &Content::Text("last".into()),
            ]
        );
        assert_eq!(parts[2].media_type.as_deref(), Some("text/markdown"));
        assert_eq!(parts[3].media_type.as_deref(), Some("image/png"));
        assert_eq!(parts[3].filename.as_deref(), Some("b.png"));
    }

    #[test]
    fn links_are_not_read() {
        let parts = flags(&["--file", "https://a.example/x.pdf"])
            .read(None)
            .unwrap();
        assert_eq!(
            parts[0].content,
            Content::Url("https://a.example/x.pdf".to_owned())
        );
        assert_eq!(parts[0].media_type.as_deref(), Some("application/pdf"));
    }

    #[test]
    fn what_cannot_be_sent_is_wrong_usage() {
        for args in [
            &[][..],
            &["--media-type", "text/plain"],
            &["--file", "/no/such/file"],
            &["--data", "/no/such/file"],
        ] {
            let failure = flags(args).read(None).unwrap_err();
            assert_eq!(failure.exit(), 2, "{failure}");
        }
    }
}
