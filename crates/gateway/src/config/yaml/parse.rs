//! Text to tree. Anchors, aliases and merge keys work; tags, several documents and keys that are not
//! text do not.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, options};

use super::{Data, Entry, Node, Origin, Scalar};
use crate::config::problem::{Place, Problem};

/// Aliases can multiply a small text into a huge tree; no honest configuration comes near this.
const MAX_NODES: usize = 200_000;
/// The reader recurses; no honest configuration nests like this.
const MAX_DEPTH: usize = 64;

/// Parses `text`, which came from `file`. Stops at the first error of syntax; double keys and the like
/// are pushed to `problems` and passed over.
pub(crate) fn parse(text: &str, file: &Arc<str>, problems: &mut Vec<Problem>) -> Option<Node> {
    let mut builder = Builder {
        events: Parser::new_from_str_with_options(text, options! { emit_comments: false }),
        file: Arc::clone(file),
        anchors: HashMap::new(),
        nodes: 0,
        problems,
    };
    match builder.document() {
        Ok(node) => Some(node),
        Err(problem) => {
            builder.problems.push(*problem);
            None
        }
    }
}

type Result<T> = std::result::Result<T, Box<Problem>>;

struct Builder<'t, 'p> {
    events: Parser<'t, StrInput<'t>>,
    file: Arc<str>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    problems: &'p mut Vec<Problem>,
}

impl<'t> Builder<'t, '_> {
    fn document(&mut self) -> Result<Node> {
        let start = Place::File {
            file: Arc::clone(&self.file),
            line: 1,
            column: 1,
        };
        let mut root = Node::empty(start);
        let mut documents = 0;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::DocumentStart(..) if documents > 0 => {
                    return Err(self.problem(span, "only one document can stand in a file"));
                }
                Event::DocumentStart(..) => documents += 1,
                Event::StreamEnd => return Ok(root),
                Event::StreamStart | Event::DocumentEnd => {}
                event => {
                    let node = self.node(event, span, 0)?;
                    // A file of comments only is an empty configuration.
                    if !matches!(&node.data, Data::Scalar(scalar) if scalar.is_null()) {
                        root = node;
                    }
                }
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node> {
        if depth > MAX_DEPTH {
            return Err(self.problem(span, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if let Event::Alias(anchor) = event {
            return self.alias(anchor, span);
        }
        self.refuse_tag(&event, span)?;
        let anchor = event.anchor_id();
        let id = self.fresh(span)?;
        let data = match event {
            Event::Scalar(text, style, ..) => Data::Scalar(Scalar {
                text: text.into_owned(),
                origin: match style {
                    ScalarStyle::Plain => Origin::Plain,
                    _ => Origin::Quoted,
                },
                given: false,
            }),
            Event::SequenceStart(..) => Data::List(self.list(depth)?),
            Event::MappingStart(..) => Data::Map(self.map(depth)?),
            _ => return Err(self.problem(span, "this cannot be read")),
        };
        let node = Node {
            id,
            place: self.place(span.start),
            data,
        };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(items);
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let place = self.place(span.start);
            let Event::Scalar(key, style, ..) = event else {
                return Err(self.problem(span, "a key must be a plain word or text"));
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            if key == "<<" && style == ScalarStyle::Plain {
                merged.push((value, span));
            } else if entries.iter().any(|e| e.key == key) {
                self.problems.push(Problem {
                    place,
                    path: String::new(),
                    message: format!("the key `{key}` is given twice"),
                    hint: None,
                });
            } else {
                let key = key.into_owned();
                entries.push(Entry { key, place, value });
            }
        }
        for (value, span) in merged {
            self.merge(&mut entries, value, span)?;
        }
        Ok(entries)
    }

    /// `<<: *base` and `<<: [*one, *two]`: keys that are not given here come from there.
    fn merge(&self, entries: &mut Vec<Entry>, from: Node, span: Span) -> Result<()> {
        match from.data {
            Data::Map(more) => {
                for entry in more {
                    if !entries.iter().any(|e| e.key == entry.key) {
                        entries.push(entry);
                    }
                }
                Ok(())
            }
            Data::List(bases) => bases
                .into_iter()
                .try_for_each(|base| self.merge(entries, base, span)),
            Data::Scalar(_) => Err(self.problem(span, "`<<` takes a mapping, such as `<<: *base`")),
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node> {
        let Some(mut node) = self.anchors.get(&anchor).cloned() else {
            return Err(self.problem(span, "an alias cannot stand inside its own anchor"));
        };
        self.renumber(&mut node, span)?;
        Ok(node)
    }

    /// A copy's nodes need ids of their own.
    fn renumber(&mut self, node: &mut Node, span: Span) -> Result<()> {
        node.id = self.fresh(span)?;
        match &mut node.data {
            Data::Scalar(_) => Ok(()),
            Data::List(items) => items
                .iter_mut()
                .try_for_each(|item| self.renumber(item, span)),
            Data::Map(entries) => entries
                .iter_mut()
                .try_for_each(|entry| self.renumber(&mut entry.value, span)),
        }
    }

    fn refuse_tag(&self, event: &Event<'_>, span: Span) -> Result<()> {
        match event.tag() {
            Some(tag) if tag.is_custom() => {
                let mut problem = self.problem(span, format!("the tag `{tag}` means nothing here"));
                problem.hint = Some("leave the tag out".to_owned());
                Err(problem)
            }
            _ => Ok(()),
        }
    }

    fn fresh(&mut self, span: Span) -> Result<usize> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.problem(span, "aliases make this file too large"));
        }
        Ok(self.nodes)
    }

    fn next(&mut self) -> Result<(Event<'t>, Span)> {
        match self.events.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn syntax(&self, error: &ScanError) -> Box<Problem> {
        Box::new(Problem {
            place: self.place(*error.marker()),
            path: String::new(),
            message: format!("not valid YAML: {}", error.info()),
            hint: None,
        })
    }

    fn problem(&self, span: Span, message: impl Into<String>) -> Box<Problem> {
        Box::new(Problem {
            place: self.place(span.start),
            path: String::new(),
            message: message.into(),
            hint: None,
        })
    }

    fn place(&self, mark: Marker) -> Place {
        Place::File {
            file: Arc::clone(&self.file),
            line: mark.line(),
            column: mark.col() + 1,
        }
    }
}
