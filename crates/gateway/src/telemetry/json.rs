//! A log line as one flat JSON object: the fields of the event, then those of the spans around it that it does not have
//! itself. So every line of a turn has `agent`, `task` and `url` at the same place, whoever wrote it.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};
use switchboard_server::clock;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The format. Spans must be formatted with `JsonFields`.
#[derive(Debug)]
pub(super) struct FlatJson;

impl<S, N> FormatEvent<S, N> for FlatJson
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut line = Line {
            text: String::with_capacity(256),
            names: Vec::with_capacity(16),
        };
        let now = clock::precise();
        write!(
            line.text,
            "{{\"timestamp\":\"{now}\",\"level\":\"{}\"",
            metadata.level()
        )?;
        event.record(&mut line);
        // The innermost span first: it knows best.
        for span in context.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>();
            let fields = fields.and_then(|fields| serde_json::from_str(fields).ok());
            let fields: Map<String, Value> = fields.unwrap_or_default();
            for (name, value) in &fields {
                line.add(name, format_args!("{value}"));
            }
        }
        line.add("target", Quoted(metadata.target()));
        writeln!(writer, "{}}}", line.text)
    }
}

/// A line that is being written.
struct Line {
    text: String,
    /// What is in it already.
    names: Vec<String>,
}

impl Line {
    fn add(&mut self, name: &str, value: impl fmt::Display) {
        if !self.names.iter().any(|known| known == name) {
            // A text takes every write.
            let _ = write!(self.text, ",{}:{value}", Quoted(name));
            self.names.push(name.to_owned());
        }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), Quoted(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), Value::from(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), Quoted(&format!("{value:?}")));
    }
}

/// A text as JSON writes it.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing_subscriber::fmt::format::JsonFields;

    use super::*;

    #[derive(Debug, Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut written = self.0.lock();
            written.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn fields_of_spans_stand_beside_those_of_the_event() {
        let written = Written::default();
        let ours = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .fmt_fields(JsonFields::new())
            .event_format(FlatJson)
            .with_writer(move || ours.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let url = tracing::field::Empty;
            let span = tracing::error_span!("turn", agent = "clerk", task = "t1", url);
            let _entered = span.enter();
            span.record("url", "http://h/\"x\"");
            tracing::warn!(agent = "other", status = 503, up = false, "no \"answer\"");
        });
        let text = written.0.lock().clone();
        let line: Value = serde_json::from_slice(&text).unwrap();
        for (name, value) in [
            ("level", Value::from("WARN")),
            ("message", "no \"answer\"".into()),
            ("agent", "other".into()),
            ("task", "t1".into()),
            ("url", "http://h/\"x\"".into()),
            ("status", 503.into()),
            ("up", false.into()),
        ] {
            assert_eq!(line[name], value, "{line}");
        }
        assert_eq!(line.as_object().unwrap().len(), 9, "{line}");
    }
}
