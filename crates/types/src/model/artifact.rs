//! Artifacts: what a task produces.

use std::sync::Arc;

use super::{ArtifactId, Object, Part};

/// One output of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Unique within the task.
    pub id: ArtifactId,
    /// A short name for people.
    pub name: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// At least one part, once decoded.
    pub parts: Vec<Part>,
    /// URIs of the extensions that shaped this artifact.
    pub extensions: Vec<String>,
    /// Free data.
    pub metadata: Option<Object>,
}

impl Artifact {
    /// An artifact with nothing but an id and parts.
    #[must_use]
    pub fn new(id: ArtifactId, parts: Vec<Part>) -> Self {
        Self {
            id,
            name: None,
            description: None,
            parts,
            extensions: Vec::new(),
            metadata: None,
        }
    }

    /// Appends the parts of a later piece (`append: true`); see [`append_parts`].
    pub fn append(&mut self, piece: &[Part]) {
        append_parts(&mut self.parts, piece);
    }

    /// The parts, with every text joined to the texts of the same kind before it: agents may store what they stream in
    /// pieces.
    #[must_use]
    pub fn joined(&self) -> Vec<Part> {
        let mut joined: Vec<Part> = Vec::new();
        for part in &self.parts {
            if !joined.last_mut().is_some_and(|last| last.extend_text(part)) {
                push(&mut joined, part);
            }
        }
        joined
    }
}

/// Makes an artifact update part of the artifacts of a task: `append` adds parts to the artifact of that id; otherwise it is
/// new, or replaces it (A2A 1.0 §4.2.2). An append to an artifact nobody has seen begins it.
///
/// Amortised, a piece costs as much as it is long: the text grows in place, unless someone still reads the artifact as it
/// was before. Readers keep what they hold, since that is copied first.
pub fn apply_artifact(artifacts: &mut Vec<Arc<Artifact>>, piece: Arc<Artifact>, append: bool) {
    // The latest artifact is nearly always the one being streamed.
    match artifacts.iter_mut().rfind(|known| known.id == piece.id) {
        None => artifacts.push(piece),
        Some(known) if append => {
            let known = Arc::make_mut(known);
            known.append(&piece.parts);
            if piece.name.is_some() {
                known.name.clone_from(&piece.name);
            }
            if piece.description.is_some() {
                known.description.clone_from(&piece.description);
            }
            if piece.metadata.is_some() {
                known.metadata.clone_from(&piece.metadata);
            }
        }
        Some(known) => *known = piece,
    }
}

/// Appends the parts of a later piece. Streams cut a text anywhere, so a text at the beginning of the piece extends the
/// text before it if the two parts differ in nothing else; parts that came in one piece stay apart. Blank parts are left
/// out, as long as another part remains.
pub fn append_parts(parts: &mut Vec<Part>, piece: &[Part]) {
    let mut piece = piece.iter();
    if let (Some(last), Some(first)) = (parts.last_mut(), piece.as_slice().first())
        && last.extend_text(first)
    {
        piece.next();
    }
    for part in piece {
        push(parts, part);
    }
}

/// Adds a part, unless it is blank; a blank one that was there alone gives way to it.
fn push(parts: &mut Vec<Part>, part: &Part) {
    match parts.as_slice() {
        [] => {}
        _ if part.is_blank() => return,
        [first] if first.is_blank() => parts.clear(),
        _ => {}
    }
    parts.push(part.clone());
}

#[cfg(test)]
mod tests {
    use super::super::{Content, Json};
    use super::*;

    fn text(text: &str, media_type: Option<&str>) -> Part {
        Part {
            media_type: media_type.map(str::to_owned),
            ..Part::text(text)
        }
    }

    fn appended(pieces: &[&[Part]]) -> Vec<Part> {
        let mut artifact = Artifact::new(ArtifactId::new("a").unwrap(), pieces[0].to_vec());
        for piece in &pieces[1..] {
            artifact.append(piece);
        }
        artifact.parts
    }

    #[test]
    fn pieces_of_one_text_become_one_part() {
        let (data, md) = (Part::data(Json::parse("1").unwrap()), Some("text/markdown"));
        let named = |name: &str, words: &str| Part {
            filename: Some(name.to_owned()),
            ..Part::text(words)
        };
        let raw = Part::new(Content::Raw("x".into()));
        let plain = |words: &str| text(words, None);
        for (pieces, expected) in [
            (
                vec![vec![plain("Hel")], vec![plain("lo")]],
                vec![plain("Hello")],
            ),
            (
                vec![vec![plain("a")], vec![text("b", md)], vec![text("c", md)]],
                vec![plain("a"), text("bc", md)],
            ),
            // Something else between two texts keeps them apart, and files are never merged.
            (
                vec![vec![plain("a")], vec![data.clone()], vec![plain("b")]],
                vec![plain("a"), data.clone(), plain("b")],
            ),
            (
                vec![vec![raw.clone()], vec![raw.clone()]],
                vec![raw.clone(), raw],
            ),
            (
                vec![vec![named("1", "a")], vec![named("2", "b")]],
                vec![named("1", "a"), named("2", "b")],
            ),
            // Parts of one piece are apart because the agent wants it so.
            (
                vec![vec![plain("a"), plain("b")], vec![plain("c"), plain("d")]],
                vec![plain("a"), plain("bc"), plain("d")],
            ),
            // Empty texts go, but for one that names a file or is alone.
            (
                vec![vec![plain("")], vec![data.clone()], vec![plain("")]],
                vec![data.clone()],
            ),
            (
                vec![vec![data.clone()], vec![named("1", "")]],
                vec![data, named("1", "")],
            ),
            (vec![vec![plain("")], vec![text("", md)]], vec![plain("")]),
        ] {
            let pieces: Vec<&[Part]> = pieces.iter().map(Vec::as_slice).collect();
            assert_eq!(appended(&pieces), expected);
        }
    }

    #[test]
    fn an_update_begins_extends_or_replaces_the_artifact_of_its_id() {
        let piece = |id: &str, words: &str, name: Option<&str>| {
            let id = ArtifactId::new(id).unwrap();
            let mut piece = Artifact::new(id, vec![Part::text(words)]);
            piece.name = name.map(str::to_owned);
            Arc::new(piece)
        };
        let mut artifacts = Vec::new();
        apply_artifact(&mut artifacts, piece("a", "Hel", Some("greeting")), true);
        let reader = Arc::clone(&artifacts[0]);
        apply_artifact(&mut artifacts, piece("b", "other", None), false);
        apply_artifact(&mut artifacts, piece("a", "lo", None), true);
        let merged = piece("a", "Hello", Some("greeting"));
        assert_eq!(artifacts, [merged, piece("b", "other", None)]);
        assert_eq!(
            reader.parts,
            [Part::text("Hel")],
            "readers keep what they hold"
        );
        apply_artifact(&mut artifacts, piece("a", "!", Some("shout")), true);
        assert_eq!(artifacts[0], piece("a", "Hello!", Some("shout")));
        apply_artifact(&mut artifacts, piece("a", "Bye", None), false);
        assert_eq!(artifacts[0], piece("a", "Bye", None));
    }

    #[test]
    fn what_was_stored_in_pieces_can_be_joined() {
        let pieces = ["", "Hel", "", "lo"].map(Part::text).to_vec();
        let artifact = Artifact::new(ArtifactId::new("a").unwrap(), pieces);
        assert_eq!(artifact.joined(), [Part::text("Hello")]);
        let empty = Artifact::new(ArtifactId::new("a").unwrap(), vec![Part::text("")]);
        assert_eq!(empty.joined(), [Part::text("")]);
    }
}
