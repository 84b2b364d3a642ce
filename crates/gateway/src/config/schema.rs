//! The JSON Schema of the configuration file, made from the types that read it.

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{Schema, SchemaGenerator};

use super::raw;

/// The schema as JSON text, with a line break at the end.
///
/// # Errors
///
/// Never in practice: a schema always prints.
pub fn text() -> serde_json::Result<String> {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<raw::Config>();
    schema.insert("title".to_owned(), "Switchboard configuration".into());
    RecursiveTransform(allow_variables).transform(&mut schema);
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    Ok(text)
}

/// Numbers and booleans may also be `${NAME}`.
fn allow_variables(schema: &mut Schema) {
    let Some(kind) = schema.get("type") else {
        return;
    };
    let kinds: Vec<String> = match kind {
        serde_json::Value::String(kind) => vec![kind.clone()],
        serde_json::Value::Array(kinds) => kinds
            .iter()
            .filter_map(|kind| kind.as_str().map(str::to_owned))
            .collect(),
        _ => return,
    };
    let typed = kinds
        .iter()
        .any(|kind| kind == "boolean" || kind == "integer");
    if typed && !kinds.iter().any(|kind| kind == "string") {
        let mut kinds = kinds;
        kinds.push("string".to_owned());
        schema.insert("type".to_owned(), kinds.into());
        schema.insert("pattern".to_owned(), r"\$\{".into());
    }
}
