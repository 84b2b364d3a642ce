//! What the standard variables say. One that cannot be read is told of and left out: what they are about must not keep a
//! server from its work.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::sampler::Sampler;
use crate::config::Env;

/// Where spans go, and how.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) endpoint: Url,
    pub(super) headers: HeaderMap,
    /// How long one attempt may take.
    pub(super) timeout: Duration,
    /// Said of everything that is sent.
    pub(super) resource: Vec<(String, String)>,
    pub(super) sampler: Sampler,
    /// How many spans may wait.
    pub(super) queue: usize,
    /// How many go together.
    pub(super) batch: usize,
    /// How long the first of them waits for others.
    pub(super) delay: Duration,
    /// How long a batch may take with all its attempts.
    pub(super) patience: Duration,
}

impl Settings {
    /// Reads the variables; `None` if there is no collector, or none that we can speak to.
    pub(super) fn read(env: &Env) -> Option<Self> {
        let get = |name: &str| env.get(name).map(str::trim).filter(|text| !text.is_empty());
        // Those for traces come before those for everything.
        let either = |name: &str| {
            let own = get(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"));
            own.or_else(|| get(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        if get("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return None;
        }
        match get("OTEL_TRACES_EXPORTER") {
            None | Some("otlp") => {}
            Some("none") => return None,
            Some(other) => {
                tracing::warn!(
                    exporter = other,
                    "span export disabled: OTEL_TRACES_EXPORTER must be otlp or none"
                );
                return None;
            }
        }
        let endpoint = endpoint(
            get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            get("OTEL_EXPORTER_OTLP_ENDPOINT"),
        )?;
        match either("PROTOCOL") {
            None | Some("http/protobuf") => {}
            Some(other) => {
                tracing::warn!(
                    protocol = other,
                    "span export disabled: OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, usually on port 4318"
                );
                return None;
            }
        }
        let number = |name: &str, default: u64| match get(name).map(str::parse) {
            None => default,
            Some(Ok(number)) if number > 0 => number,
            Some(_) => {
                tracing::warn!(
                    variable = name,
                    default,
                    "variable is not a positive number, using the default"
                );
                default
            }
        };
        let millis = |name: &str, default| Duration::from_millis(number(name, default));
        let count = |name: &str, default| usize::try_from(number(name, default)).unwrap_or(1);
        let queue = count("OTEL_BSP_MAX_QUEUE_SIZE", 2048).min(1 << 20);
        Some(Self {
            endpoint,
            headers: headers(either("HEADERS").unwrap_or_default()),
            timeout: millis(
                match get("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT") {
                    Some(_) => "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
                    None => "OTEL_EXPORTER_OTLP_TIMEOUT",
                },
                10_000,
            ),
            resource: resource(get("OTEL_SERVICE_NAME"), get("OTEL_RESOURCE_ATTRIBUTES")),
            sampler: sampler(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG")),
            queue,
            batch: count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512).min(queue),
            delay: millis("OTEL_BSP_SCHEDULE_DELAY", 5000),
            patience: millis("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
        })
    }

    /// The address as it may be shown: without what may be secret.
    pub(super) fn shown(&self) -> String {
        let origin = self.endpoint.origin().ascii_serialization();
        format!("{origin}{}", self.endpoint.path())
    }
}

/// Where to: as it is written for traces, or below what is written for everything.
fn endpoint(traces: Option<&str>, all: Option<&str>) -> Option<Url> {
    let text = match (traces, all) {
        (Some(traces), _) => traces.to_owned(),
        (None, Some(all)) => format!("{}/v1/traces", all.trim_end_matches('/')),
        (None, None) => return None,
    };
    let url = Url::parse(&text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if url.is_none() {
        tracing::warn!(
            "span export disabled: OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL"
        );
    }
    url
}

fn sampler(name: Option<&str>, argument: Option<&str>) -> Sampler {
    let Some(name) = name else {
        return Sampler::default();
    };
    Sampler::read(name, argument).unwrap_or_else(|| {
        tracing::warn!(
            sampler = name,
            "OTEL_TRACES_SAMPLER or its argument is unknown, using parentbased_always_on"
        );
        Sampler::default()
    })
}

/// `name=value,name=value`; values may be percent-encoded.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (decoded(name), decoded(value.trim())))
    })
}

fn decoded(text: &str) -> String {
    // What is no plus sign in a form is one here.
    let form = text.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(form.as_bytes());
    let (name, value) = pairs.next().unwrap_or_default();
    match text.contains('=') {
        true => format!("{name}={value}"),
        false => name.into_owned(),
    }
}

fn headers(text: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(text) {
        match (HeaderName::try_from(&name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
            _ => tracing::warn!(
                name,
                "ignoring an invalid header in OTEL_EXPORTER_OTLP_HEADERS"
            ),
        }
    }
    headers
}

/// Who sends: the name of the service, and whatever else is said of it.
fn resource(service: Option<&str>, attributes: Option<&str>) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = pairs(attributes.unwrap_or_default()).collect();
    if let Some(service) = service {
        all.retain(|(name, _)| name != "service.name");
        all.push(("service.name".to_owned(), service.to_owned()));
    } else if !all.iter().any(|(name, _)| name == "service.name") {
        all.push(("service.name".to_owned(), "switchboard".to_owned()));
    }
    if !all.iter().any(|(name, _)| name == "service.version") {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        all.push(("service.version".to_owned(), version));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Option<Settings> {
        Settings::read(&Env::from_pairs(pairs.iter().copied()))
    }

    const AT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

    #[test]
    fn nothing_is_sent_unless_the_variables_say_where() {
        assert!(read(&[]).is_none());
        assert!(read(&[AT]).is_some());
        for off in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_TRACES_EXPORTER", "console"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector"),
        ] {
            assert!(read(&[AT, off]).is_none(), "{off:?}");
        }
    }

    #[test]
    fn variables_mean_what_they_mean_elsewhere() {
        let all = read(&[AT]).unwrap();
        assert_eq!(all.endpoint.as_str(), "http://collector:4318/v1/traces");
        assert_eq!((all.queue, all.batch), (2048, 512));
        let own = read(&[
            AT,
            (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "https://o.example/in?k=s3cret",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Basic%20YTpi==,x-team=a+b",
            ),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment=test,service.name=other",
            ),
            ("OTEL_SERVICE_NAME", "line"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "10"),
            ("OTEL_BSP_SCHEDULE_DELAY", "never"),
        ])
        .unwrap();
        assert_eq!(own.endpoint.as_str(), "https://o.example/in?k=s3cret");
        assert_eq!(own.shown(), "https://o.example/in");
        assert_eq!(own.headers["authorization"], "Basic YTpi==");
        assert_eq!(own.headers["x-team"], "a+b");
        assert_eq!((own.queue, own.batch), (10, 10));
        assert_eq!(own.delay, Duration::from_secs(5));
        let resource: Vec<_> = own
            .resource
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        assert_eq!(
            resource[..2],
            ["deployment.environment=test", "service.name=line"]
        );
    }
}
