//! What came out: Markdown for people as it comes, and JSON for machines at the end.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// The report of a whole run.
#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<Value>,
    /// How many targets were looked at, and which were missed.
    targets: usize,
    missed: Vec<String>,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Only to be known.
    None,
}

impl Target {
    fn met_by(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(bound) => Some(value >= bound),
            Self::AtMost(bound) => Some(value <= bound),
            Self::None => None,
        }
    }

    fn text(self, value: f64) -> String {
        let mark = match self.met_by(value) {
            Some(true) => "✓",
            Some(false) => "✗",
            None => return String::new(),
        };
        match self {
            Self::AtLeast(bound) => format!("≥ {} {mark}", number(bound)),
            Self::AtMost(bound) => format!("≤ {} {mark}", number(bound)),
            Self::None => String::new(),
        }
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the report is what this program is for"
)]
impl Report {
    /// Begins a section.
    pub fn heading(&self, text: &str) {
        println!("\n## {text}\n");
    }

    /// Begins a table.
    pub fn table(&self, columns: &[&str]) {
        println!("| {} |", columns.join(" | "));
        println!("|{}", "---|".repeat(columns.len()));
    }

    /// A row of the current table.
    pub fn row(&self, cells: &[String]) {
        println!("| {} |", cells.join(" | "));
    }

    /// A row of a table of figures: name, figure, unit, target.
    pub fn figure(&mut self, name: &str, value: f64, unit: &str, target: Target) {
        let judged = self.judge(name, value, target);
        self.row(&[name.to_owned(), number(value), unit.to_owned(), judged]);
        self.record(name, json!({ "value": value, "unit": unit }));
    }

    /// Holds a figure against its target and says how it stands.
    pub fn judge(&mut self, name: &str, value: f64, target: Target) -> String {
        if let Some(met) = target.met_by(value) {
            self.targets += 1;
            if !met {
                self.missed.push(name.to_owned());
            }
        }
        target.text(value)
    }

    /// Keeps a figure for machines.
    pub fn record(&mut self, name: &str, value: Value) {
        let mut figure = Map::new();
        figure.insert("name".to_owned(), json!(name));
        if let Value::Object(fields) = value {
            figure.extend(fields);
        }
        self.figures.push(Value::Object(figure));
    }

    /// A paragraph.
    pub fn note(&self, text: &str) {
        println!("\n{text}");
    }

    /// Says how many targets were met, and writes everything down.
    pub fn finish(&self, machine: &str, results: &Path) -> anyhow::Result<()> {
        let met = self.targets - self.missed.len();
        let mut text = format!("\n**{met} of {} targets met.**", self.targets);
        for name in &self.missed {
            write!(text, "\n- missed: {name}")?;
        }
        println!("{text}");
        fs::create_dir_all(results)?;
        let seconds = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
        let file = results.join(format!("{seconds}.json"));
        let all = json!({ "machine": machine, "missed": self.missed, "figures": self.figures });
        fs::write(&file, serde_json::to_string_pretty(&all)?)?;
        println!("\nAlso in {}", file.display());
        Ok(())
    }
}

/// The middle value.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    percentile(values, 0.5)
}

/// The value that a share of all values does not exceed.
pub fn percentile(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else {
        return f64::NAN;
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let place = (last as f64 * share).round() as usize;
    values[place]
}

/// A number with as many digits as say something.
pub fn number(value: f64) -> String {
    let whole = value.abs() >= 100.0 || value.fract() == 0.0;
    match value.abs() {
        _ if whole => thousands(value),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

/// Bytes as megabytes.
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
