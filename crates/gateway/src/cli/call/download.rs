//! `switchboard task download`: what a task has made, as files.

use std::path::{Path, PathBuf};

use serde_json::json;
use switchboard_server::files;
use switchboard_types::model::{Artifact, Content, Part};
use switchboard_types::printable;

use super::args::TaskDownloadArgs;
use super::failure::Local;
use super::task::task_id;
use super::{Connected, End, Failure, print_json, print_text};

/// A file that was written, or a link that was found.
#[derive(Debug)]
struct Saved {
    artifact: String,
    place: Place,
    media_type: Option<String>,
}

#[derive(Debug)]
enum Place {
    File(PathBuf, usize),
    Link(String),
}

pub(super) async fn run(args: &TaskDownloadArgs, connected: &Connected) -> Result<End, Failure> {
    let id = task_id(&args.id)?;
    let task = connected.ask(connected.client.get(&id, Some(0))).await?;
    for wanted in &args.artifact {
        if !task
            .artifacts
            .iter()
            .any(|artifact| artifact.id.as_str() == wanted)
        {
            let known: Vec<&str> = task.artifacts.iter().map(|a| a.id.as_str()).collect();
            let message = format!("the task has no artifact {wanted}");
            return Err(Failure::usage(
                &message,
                &format!("it has: {}", known.join(", ")),
            ));
        }
    }
    std::fs::create_dir_all(&args.dir)?;
    let mut saved = Vec::new();
    for artifact in &task.artifacts {
        if args.artifact.is_empty() || args.artifact.iter().any(|id| artifact.id.as_str() == id) {
            // A streamed text is one file, though the agent may store it in pieces.
            let joined = Artifact {
                parts: artifact.joined(),
                ..Artifact::clone(artifact)
            };
            save(&joined, args, &mut saved)?;
        }
    }
    print(connected, &saved)?;
    if !connected.json() {
        let mut page = connected.page();
        page.stands(&task);
        print_text(page)?;
    }
    Ok(End::Done)
}

fn save(
    artifact: &Artifact,
    args: &TaskDownloadArgs,
    saved: &mut Vec<Saved>,
) -> Result<(), Failure> {
    for (at, part) in artifact.parts.iter().enumerate() {
        let place = match bytes(part) {
            Some(bytes) => {
                let path = free(&args.dir.join(file_name(artifact, at, part)), saved);
                write(&path, bytes, args.overwrite)?;
                Place::File(path, bytes.len())
            }
            None => match &part.content {
                Content::Url(url) => Place::Link(url.clone()),
                _ => continue,
            },
        };
        saved.push(Saved {
            artifact: artifact.id.as_str().to_owned(),
            place,
            media_type: part.effective_media_type().map(str::to_owned),
        });
    }
    Ok(())
}

/// A path that no other part of this task has.
fn free(path: &Path, saved: &[Saved]) -> PathBuf {
    let is_taken = |path: &Path| {
        let mut files = saved.iter().map(|saved| &saved.place);
        files.any(|place| matches!(place, Place::File(other, _) if other == path))
    };
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let ending = path
        .extension()
        .map(|ending| format!(".{}", ending.to_string_lossy()));
    let ending = ending.unwrap_or_default();
    let mut tried = path.to_owned();
    let mut number = 2;
    while is_taken(&tried) {
        tried = path.with_file_name(format!("{stem}-{number}{ending}"));
        number += 1;
    }
    tried
}

/// What is in a part itself.
fn bytes(part: &Part) -> Option<&[u8]> {
    match &part.content {
        Content::Text(text) => Some(text.as_bytes()),
        Content::Data(data) => Some(data.as_str().as_bytes()),
        Content::Raw(bytes) => Some(bytes),
        Content::Url(_) => None,
    }
}

/// The name an agent gave, reduced to a plain name in the directory asked for; else one made of the artifact's.
fn file_name(artifact: &Artifact, at: usize, part: &Part) -> String {
    let given = part
        .filename
        .as_deref()
        .map(plain)
        .filter(|name| !name.is_empty());
    given.unwrap_or_else(|| {
        let name = artifact
            .name
            .as_deref()
            .map(plain)
            .filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| plain(artifact.id.as_str()));
        let number = if artifact.parts.len() > 1 {
            format!("-{}", at + 1)
        } else {
            String::new()
        };
        let named = Path::new(&name).extension().is_some();
        let ending = if named { "" } else { ending(part) };
        format!("{name}{number}{ending}")
    })
}

/// The last step of a path, of characters that no file system minds.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let tame = |c: char| {
        if c.is_control() || printable::is_unsafe(c) || "<>:\"|?*".contains(c) {
            '_'
        } else {
            c
        }
    };
    let name: String = last.chars().map(tame).take(200).collect();
    name.trim_matches(['.', ' ']).to_owned()
}

fn ending(part: &Part) -> &'static str {
    match part.effective_media_type().unwrap_or_default() {
        "text/plain" => ".txt",
        "text/markdown" => ".md",
        "text/html" => ".html",
        "text/csv" => ".csv",
        "application/json" => ".json",
        "application/pdf" => ".pdf",
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        _ => "",
    }
}

fn write(path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), Failure> {
    files::save(path, bytes, overwrite).map_err(|error| {
        let failed = Failure::local(Local::Internal, format!("{}: {error}", path.display()));
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            failed.hint("give --overwrite, or another --dir")
        } else {
            failed
        }
    })
}

fn print(connected: &Connected, saved: &[Saved]) -> Result<(), Failure> {
    if connected.json() {
        let list: Vec<_> = saved
            .iter()
            .map(|saved| match &saved.place {
                Place::File(path, size) => json!({
                    "artifactId": saved.artifact, "file": path.display().to_string(), "size": size,
                    "mediaType": saved.media_type,
                }),
                Place::Link(url) => json!({
                    "artifactId": saved.artifact, "link": url, "mediaType": saved.media_type,
                }),
            })
            .collect();
        return print_json(|out| out.extend(json!({ "files": list }).to_string().into_bytes()));
    }
    let mut page = connected.page();
    for saved in saved {
        page.field("Artifact", &saved.artifact);
        match &saved.place {
            Place::File(path, size) => {
                page.field("File", path.display().to_string());
                page.field("Size", size.to_string());
            }
            Place::Link(url) => page.field("Link", url),
        }
    }
    print_text(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::model::ArtifactId;

    #[test]
    fn names_stay_in_the_directory() {
        for (given, expected) in [
            ("../../etc/passwd", "passwd"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\a.txt", "a.txt"),
            ("a\u{1b}[2J.txt", "a_[2J.txt"),
            ("invoice\u{202e}fdp.exe", "invoice_fdp.exe"),
            ("report.pdf", "report.pdf"),
            ("..", ""),
            (".bashrc", "bashrc"),
        ] {
            assert_eq!(plain(given), expected, "{given}");
        }
    }

    #[test]
    fn a_file_without_a_name_gets_that_of_its_artifact() {
        let id = ArtifactId::new("a/1").unwrap();
        let mut artifact = Artifact::new(id, vec![Part::text("x"), Part::text("y")]);
        assert_eq!(file_name(&artifact, 1, &artifact.parts[1]), "1-2.txt");
        artifact.name = Some("answer".to_owned());
        artifact.parts.pop();
        assert_eq!(file_name(&artifact, 0, &artifact.parts[0]), "answer.txt");
    }
}
