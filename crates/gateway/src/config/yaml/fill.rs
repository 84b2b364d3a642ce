//! `${NAME}` and `${NAME:-default}` in scalars, filled from the environment.
//!
//! This happens on the parsed tree: places stay right, and whatever a variable holds (colons, quotes,
//! line breaks) stays one value. `$${` writes `${`. Keys are not filled.

use super::{Data, Node, Origin};
use crate::config::Env;
use crate::config::problem::{Place, Problem};

/// Fills all scalars of a tree.
pub(crate) fn fill(tree: &mut Node, env: &Env, problems: &mut Vec<Problem>) {
    let mut faults = Vec::new();
    fill_below(tree, env, &mut faults);
    problems.extend(faults.into_iter().map(|(id, place, fault)| Problem {
        path: tree.path_to(id).unwrap_or_default(),
        message: fault.message,
        // A flag gives the name alone.
        hint: Some(match place {
            Place::Flag(_) => "name a variable that is set".to_owned(),
            _ => fault.hint,
        }),
        place,
    }));
}

fn fill_below(node: &mut Node, env: &Env, faults: &mut Vec<(usize, Place, Fault)>) {
    match &mut node.data {
        Data::List(items) => {
            for item in items {
                fill_below(item, env, faults);
            }
        }
        Data::Map(entries) => {
            for entry in entries {
                fill_below(&mut entry.value, env, faults);
            }
        }
        Data::Scalar(scalar) if scalar.text.contains("${") => match filled(&scalar.text, env) {
            Ok(text) => {
                scalar.given = is_one_variable(&scalar.text);
                scalar.text = text;
                if scalar.origin == Origin::Plain {
                    scalar.origin = Origin::Filled;
                }
            }
            Err(fault) => {
                faults.push((node.id, node.place.clone(), fault));
                scalar.origin = Origin::Broken;
            }
        },
        Data::Scalar(_) => {}
    }
}

/// `${NAME}` and nothing else; no default either.
fn is_one_variable(text: &str) -> bool {
    let name = text
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.contains(['$', '}', ':']))
}

struct Fault {
    message: String,
    hint: String,
}

fn filled(text: &str, env: &Env) -> Result<String, Fault> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some(end) = after.find('}') else {
            return Err(Fault {
                message: "`${` without `}`".to_owned(),
                hint: "write `$${` for the characters `${` themselves".to_owned(),
            });
        };
        out.push_str(&value(&after[..end], env)?);
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn value(inside: &str, env: &Env) -> Result<String, Fault> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(word) || name.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(Fault {
            message: format!("`${{{inside}}}` does not name an environment variable"),
            hint: "write `$${` for the characters `${` themselves".to_owned(),
        });
    }
    match (env.get(name), default) {
        (Some(value), None) => Ok(value.to_owned()),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value.to_owned()),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(Fault {
            message: format!("the environment variable `{name}` is not set"),
            hint: format!("set it, or give a default: `${{{name}:-value}}`"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill_in(text: &str) -> Result<String, String> {
        let env = Env::from_pairs([("HOST", "10.0.0.1"), ("EMPTY", ""), ("ODD", "a: [b\n\"")]);
        filled(text, &env).map_err(|fault| fault.message)
    }

    #[test]
    fn fills_names_and_defaults() {
        for (text, filled) in [
            ("${HOST}:7420", "10.0.0.1:7420"),
            ("${HOST}${HOST}", "10.0.0.110.0.0.1"),
            ("${NONE:-x}y", "xy"),
            ("${NONE:-}", ""),
            ("${EMPTY:-x}", "x"),
            ("${EMPTY}", ""),
            ("${NONE:-http://a:1}", "http://a:1"),
            ("$${HOST}", "${HOST}"),
            ("$HOST $5 $", "$HOST $5 $"),
            ("${ODD}", "a: [b\n\""),
        ] {
            assert_eq!(fill_in(text).as_deref(), Ok(filled), "{text}");
        }
    }

    #[test]
    fn refuses_what_cannot_be_meant() {
        for (text, message) in [
            ("${NONE}", "the environment variable `NONE` is not set"),
            ("a ${HOST", "`${` without `}`"),
            ("${}", "`${}` does not name an environment variable"),
            ("${a b}", "`${a b}` does not name an environment variable"),
        ] {
            assert_eq!(fill_in(text), Err(message.to_owned()), "{text}");
        }
    }
}
