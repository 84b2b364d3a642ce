//! `switchboard config show`: every setting, and where it comes from.

use serde_json::json;

use super::settings::Settings;
use super::{End, Failure, Page, print_text};
use crate::cli::args::Output;
use crate::cli::out;

pub(super) fn show(settings: &Settings) -> Result<End, Failure> {
    if settings.output == Output::Json {
        let rows = settings.rows.iter().map(|row| {
            let setting = json!({"value": row.value, "source": row.source.to_string()});
            (row.name.to_owned(), setting)
        });
        let all: serde_json::Map<_, _> = rows.collect();
        out(format_args!("{}\n", serde_json::Value::Object(all)))?;
        return Ok(End::Done);
    }
    let mut page = Page::default();
    for row in &settings.rows {
        let value = if row.value.is_empty() {
            "-"
        } else {
            &row.value
        };
        page.field(row.name, format!("{value} ({})", row.source));
    }
    print_text(page)?;
    Ok(End::Done)
}
