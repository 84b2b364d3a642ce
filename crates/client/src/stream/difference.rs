//! Two snapshots of a task give the events that lie between them, so that nothing is told twice after a
//! reconnection. Pure.

use std::sync::Arc;

use switchboard_types::model::{
    Artifact, ArtifactUpdate, Content, Event, Part, StatusUpdate, Task,
};

/// What happened between `seen` and `now`: artifacts first, then the status, so that an end comes last. Folded into
/// `seen`, it gives the artifacts and the status of `now`. An artifact that `now` lacks is not taken back: there are
/// agents that show artifacts to whoever sent the message only.
pub fn difference(seen: &Task, now: &Task) -> Vec<Event> {
    let mut events = Vec::new();
    for artifact in &now.artifacts {
        let known = seen.artifacts.iter().find(|known| known.id == artifact.id);
        let update = match known {
            None => Some((Arc::clone(artifact), false)),
            Some(known) => grown(known, artifact),
        };
        if let Some((artifact, append)) = update {
            events.push(Event::Artifact(ArtifactUpdate {
                task_id: now.id.clone(),
                context_id: now.context_id.clone(),
                artifact,
                append,
                last_chunk: now.status.state.is_terminal(),
                metadata: None,
            }));
        }
    }
    let (before, after) = (&seen.status, &now.status);
    if before.state != after.state || before.message != after.message {
        events.push(Event::Status(StatusUpdate {
            task_id: now.id.clone(),
            context_id: now.context_id.clone(),
            status: after.clone(),
            metadata: None,
        }));
    }
    events
}

/// What is wrong with artifacts that were told by a snapshot and the pieces after it, now that it is known what the agent
/// keeps. A piece that was in the snapshot may have come once more, or one may have come between the two. There are agents
/// that keep no more than the last piece: nothing is taken back for them.
pub(super) fn correction(seen: &Task, now: &Task) -> Vec<Event> {
    let mut events = difference(seen, now);
    events.retain(|event| match event {
        Event::Artifact(ArtifactUpdate {
            artifact, append, ..
        }) => {
            let told = seen.artifacts.iter().find(|told| told.id == artifact.id);
            *append || told.is_none_or(|told| is_told_from(&told.parts, &artifact.parts))
        }
        _ => false,
    });
    events
}

/// Whether what was told is a beginning and an end of what is kept. The two may overlap, or not meet.
fn is_told_from(told: &[Part], kept: &[Part]) -> bool {
    let beginning = units(told)
        .zip(units(kept))
        .take_while(|(a, b)| is_same(a, b));
    let end = units(told).rev().zip(units(kept).rev());
    let end = end.take_while(|(a, b)| is_same(a, b));
    beginning.count() + end.count() >= units(told).count()
}

/// Parts as what pieces can be cut to: bytes of texts, and whatever else as a whole.
fn units(parts: &[Part]) -> impl DoubleEndedIterator<Item = (u8, &Part)> {
    parts.iter().flat_map(|part| {
        let bytes = part.as_text().map_or(&[0][..], str::as_bytes);
        bytes.iter().map(move |byte| (*byte, part))
    })
}

fn is_same((byte, of): &(u8, &Part), (other, of_other): &(u8, &Part)) -> bool {
    match (&of.content, &of_other.content) {
        (Content::Text(_), Content::Text(_)) => byte == other && of.is_alike(of_other),
        _ => of == of_other,
    }
}

/// What an artifact has more than it had: a piece to append, or the whole of it if it is another one now.
fn grown(seen: &Artifact, now: &Arc<Artifact>) -> Option<(Arc<Artifact>, bool)> {
    let (before, after) = (seen.joined(), now.joined());
    let named = |artifact: &Artifact| {
        let Artifact {
            name,
            description,
            metadata,
            ..
        } = artifact;
        (name.clone(), description.clone(), metadata.clone())
    };
    if named(seen) == named(now)
        && let Some(more) = rest(&before, &after)
    {
        if more.is_empty() {
            return None;
        }
        let mut piece = Artifact::new(now.id.clone(), more);
        piece.extensions.clone_from(&now.extensions);
        return Some((Arc::new(piece), true));
    }
    Some((Arc::clone(now), false))
}

/// What follows `before` in `after`; nothing if `after` does not begin with it.
fn rest(before: &[Part], after: &[Part]) -> Option<Vec<Part>> {
    let Some((last, whole)) = before.split_last() else {
        return Some(after.to_vec());
    };
    if after.len() < before.len() || after[..whole.len()] != *whole {
        return None;
    }
    let (next, more) = after[whole.len()..].split_first()?;
    if next == last {
        return Some(more.to_vec());
    }
    let (Content::Text(old), Content::Text(new)) = (&last.content, &next.content) else {
        return None;
    };
    let tail = new.strip_prefix(old.as_str());
    let tail = tail.filter(|_| last.is_alike(next))?;
    let mut first = next.clone();
    first.content = Content::Text(tail.to_owned());
    Some(std::iter::once(first).chain(more.iter().cloned()).collect())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
