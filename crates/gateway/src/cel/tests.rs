//! Expressions, from what is written to what is answered.

use std::fmt::Write as _;

use serde_json::json;

use super::*;

const KNOWN: [Variable; 3] = [
    Variable {
        name: "caller",
        fields: Some(&["tenant", "scopes", "claims"]),
    },
    Variable {
        name: "operation",
        fields: None,
    },
    Variable {
        name: "now",
        fields: None,
    },
];

fn values() -> Values {
    let claims = json!({"dept": "poetry", "level": 7, "ratio": 0.5, "admin": true, "none": null,
        "groups": ["a", "b"], "address": {"city": "Bern"}});
    let caller = Value::fields([
        ("tenant", Some("corp".into())),
        ("scopes", Some(Value::texts(["read", "write"]))),
        ("claims", claims.as_object().map(Value::from)),
    ]);
    Values::from([
        ("caller", caller),
        ("operation", "CancelTask".into()),
        ("now", 1_800_000_000_i64.into()),
    ])
}

fn ask(source: &str) -> Result<bool, String> {
    let expression = Expression::compile(source, &KNOWN);
    expression
        .unwrap_or_else(|e| panic!("{source}: {e:?}"))
        .is_true(&values())
}

fn refused(source: &str) -> String {
    let Unusable { message, hint } = Expression::compile(source, &KNOWN).unwrap_err();
    match hint {
        Some(hint) => format!("{message} ({hint})"),
        None => message,
    }
}

#[test]
fn expressions_are_asked_about_values() {
    for (source, answer) in [
        (r#"caller.tenant == "corp""#, true),
        (
            r#"caller.tenant == "corp" && !("admin" in caller.scopes)"#,
            true,
        ),
        (r#"operation in ["GetTask", "ListTasks"]"#, false),
        (
            r#"caller.claims.dept.startsWith("poe") && caller.claims.level >= 7"#,
            true,
        ),
        (r#"caller.claims["dept"].matches("^po.*y$")"#, true),
        (
            "has(caller.claims.dept) && !has(caller.claims.nothing)",
            true,
        ),
        (r#"caller.claims.groups.exists(g, g == "b")"#, true),
        (r#"caller.scopes.all(s, s != "admin")"#, true),
        (r#"caller.claims.address.city == "Bern""#, true),
        ("caller.claims.ratio < 1.0 && caller.claims.admin", true),
        ("caller.claims.none == null", true),
        ("now > 1700000000", true),
        (
            "size(caller.scopes) == 2 && type(caller.tenant) == string",
            true,
        ),
        (
            r#"operation == "GetTask" ? true : caller.tenant.contains("or")"#,
            true,
        ),
        // What is missing does not matter where the rest decides.
        (r#"caller.claims.nothing == "x" && false"#, false),
        (r#"caller.claims.nothing == "x" || true"#, true),
    ] {
        assert_eq!(ask(source), Ok(answer), "{source}");
    }
}

#[test]
fn every_function_is_there() {
    for source in [
        r#"size("ab") == 2"#,
        r#""ab".contains("a") && "ab".startsWith("a") && "ab".endsWith("b") && "ab".matches("a.")"#,
        r#"string(1) == "1" && int("1") == 1 && uint("1") == 1u && double("1") == 1.0"#,
        r#"bool("true") && bytes("a") == b"a" && type(1) == int && dyn(1) == 1"#,
    ] {
        assert_eq!(ask(source), Ok(true), "{source}");
    }
}

#[test]
fn what_cannot_be_told_is_an_error_without_anyones_values() {
    for (source, error) in [
        ("caller.claims.nothing == 1", "there is no `nothing`"),
        ("caller.tenant", "is neither true nor false, but \"corp\""),
        ("caller.claims.groups[9] == \"a\"", "the list is shorter"),
        ("caller.claims.level / 0 == 1", "a division by zero"),
        (
            "9223372036854775807 + caller.claims.level > 0",
            "a number is too large",
        ),
    ] {
        assert_eq!(ask(source), Err(error.to_owned()), "{source}");
    }
    assert!(ask("caller.tenant + 1 == 2").is_err());
}

#[test]
fn unknown_names_are_found_before_anyone_asks() {
    for (source, problem) in [
        (
            "callr.tenant == \"x\"",
            "there is no variable `callr` (did you mean `caller`?)",
        ),
        (
            "caller.tennant == \"x\"",
            "there is no `caller.tennant` (did you mean `tenant`?)",
        ),
        (
            "has(caller.who)",
            "there is no `caller.who` (use one of `tenant`, `scopes`, `claims`)",
        ),
        (
            "operation.startWith(\"Get\")",
            "there is no function `startWith` (did you mean `startsWith`?)",
        ),
        (
            "caller.scopes.exists(s, t == \"x\")",
            "there is no variable `t` (use one of `caller`, `operation`, `now`)",
        ),
    ] {
        assert_eq!(refused(source), problem, "{source}");
    }
    // The name of a loop is its own.
    assert_eq!(
        ask(r#"caller.scopes.exists(caller, caller == "read")"#),
        Ok(true)
    );
}

#[test]
fn what_cannot_be_read_says_where() {
    let refusal = refused("caller.tenant ==");
    assert!(refusal.starts_with("column "), "{refusal}");
    assert_eq!(refused("  "), "is empty");
    assert!(refused("caller.tenant == \"a\n").starts_with("column "));
    assert!(!refused("a ? b").is_empty());
}

#[test]
fn what_is_too_large_is_refused_and_breaks_nothing() {
    let deep =
        |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
    for source in [
        deep("(", ")", 40),
        deep("[", "]", 1000),
        "(".repeat(2000),
        "caller".to_owned() + &".a".repeat(1000),
        "true?".repeat(400) + "true",
        "true ? true : ".repeat(140) + "true",
        "1+".repeat(1000) + "1 == 1",
        "x".repeat(5000),
        "caller.scopes.all(a, caller.scopes.all(b, caller.scopes.all(c, a == b)))".to_owned(),
        "\u{0}\u{1}\"".to_owned(),
        "\"".repeat(2000),
    ] {
        let short: String = source.chars().take(30).collect();
        assert!(Expression::compile(&source, &KNOWN).is_err(), "{short}");
    }
    // An even number of them says nothing.
    assert_eq!(ask(&("!".repeat(2000) + "true")), Ok(true));
    // Long, but flat.
    let many = vec![r#"caller.tenant == "corp""#; 60].join(" && ");
    assert_eq!(ask(&many), Ok(true));
}

#[test]
fn the_deepest_expression_fits_the_stack_of_a_worker() {
    let nested = "true ? true : ".repeat(DEEPEST - 2) + "true";
    assert!(Expression::compile(&("true ? true : ".to_owned() + &nested), &KNOWN).is_ok());
    assert!(Expression::compile(&("true ? true : ".repeat(2) + &nested), &KNOWN).is_err());
    let looped = r#"caller.scopes.all(a, caller.claims.groups.exists(b, (((((((a != b)))))))))"#;
    let worker = thread::Builder::new().stack_size(2 << 20);
    let asked = worker.spawn(move || (ask(&nested).is_ok(), ask(looped)));
    assert_eq!(asked.unwrap().join().unwrap(), (true, Ok(true)));
}

#[test]
fn an_expression_tells_what_it_looks_at() {
    let source = r#"caller.tenant == "corp" && caller.claims.nothing == operation"#;
    let expression = Expression::compile(source, &KNOWN).unwrap();
    let mut seen = String::new();
    for (name, value) in expression.looks_at(&values()) {
        let value = value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
        write!(seen, "{name} is {value}; ").unwrap();
    }
    assert_eq!(
        seen,
        "caller.tenant is \"corp\"; caller.claims.nothing is nothing; operation is \"CancelTask\"; "
    );
    assert!(expression.mentions("operation") && !expression.mentions("now"));
    assert!(expression.has_text("corp") && !expression.has_text("tenant"));
}

#[test]
fn regular_expressions_are_written_out_and_small() {
    for (source, problem) in [
        (
            r#"caller.tenant.matches("(")"#,
            "has an invalid regular expression",
        ),
        (
            "caller.tenant.matches(operation)",
            "takes the regular expression of `matches` from a value",
        ),
        (
            "caller.scopes.exists(s, caller.tenant.matches(s))",
            "takes the regular expression of `matches` from a value",
        ),
        (
            r#"caller.tenant.matches("a" + operation)"#,
            "takes the regular expression of `matches` from a value",
        ),
        (
            r#"caller.tenant.matches("(\\w{1,50}){1,20}")"#,
            "has a regular expression that is too large",
        ),
    ] {
        let refusal = refused(source);
        assert!(refusal.starts_with(problem), "{source}: {refusal}");
    }
    let each = r#"["^x", "^co"].exists(p, caller.tenant.matches(p))"#;
    assert_eq!(ask(each), Ok(true));
}

/// Values with lists that a caller made as large as it could.
fn large(elements: usize) -> Values {
    let list: Vec<String> = (0..elements).map(|n| format!("e{n}")).collect();
    let claims = json!({"list": list, "lists": [list], "text": "x".repeat(elements * 1000)});
    let caller = Value::fields([
        (
            "scopes",
            Some(Value::texts(list.iter().map(String::as_str))),
        ),
        ("claims", claims.as_object().map(Value::from)),
    ]);
    Values::from([("caller", caller), ("operation", "CancelTask".into())])
}

#[test]
fn an_expression_that_could_take_too_long_is_not_evaluated() {
    let asked = |source: &str, elements: usize| {
        let expression = Expression::compile(source, &KNOWN).unwrap();
        expression.is_true(&large(elements))
    };
    for source in [
        "caller.scopes.exists(a, caller.scopes.exists(b, a + b == operation))",
        "caller.claims.list.all(a, caller.claims.list.exists(b, a == b))",
        "caller.claims.lists.exists(l, l.exists(a, l.all(b, a != b)))",
        "caller.scopes.map(a, caller.scopes).exists(l, l.exists(b, b == operation))",
        "(caller.scopes + caller.scopes).exists(a, caller.scopes.exists(b, a + b == operation))",
        r#"caller.scopes.exists(a, a.matches("^[xyz]+$"))"#,
        r#"caller.scopes.exists(a, caller.claims["list"].exists(b, a + b == operation))"#,
    ] {
        let Ok(expression) = Expression::compile(source, &KNOWN) else {
            // Three loops are refused whatever they do.
            continue;
        };
        let refusal = expression.is_true(&large(3_000)).unwrap_err();
        assert!(
            refusal.contains("more than 200000 steps"),
            "{source}: {refusal}"
        );
        assert!(asked(source, 6).is_ok(), "{source}");
    }
    let many = vec![r#"caller.claims.text.contains("y")"#; 40].join(" || ");
    assert!(asked(&many, 3_000).is_err());
    assert_eq!(asked(&many, 100), Ok(false));
    // One loop, one search: as large as a request can be.
    for source in [
        "caller.scopes.exists(a, a == operation)",
        r#""e2999" in caller.claims.list && !caller.claims.text.contains("y")"#,
    ] {
        assert!(asked(source, 3_000).is_ok(), "{source}");
    }
}

#[test]
fn loops_within_loops_over_values_are_warned_of() {
    for (source, is_expensive) in [
        (
            "caller.scopes.exists(a, caller.scopes.exists(b, a == b))",
            true,
        ),
        (
            r#"["a", "b"].all(a, caller.scopes.exists(b, a == b))"#,
            false,
        ),
        ("caller.scopes.exists(a, a == operation)", false),
    ] {
        let expression = Expression::compile(source, &KNOWN).unwrap();
        assert_eq!(expression.expense().is_some(), is_expensive, "{source}");
    }
}

#[test]
fn a_regular_expression_counts_by_its_size_and_the_text() {
    let asked = |source: &str, text: String| {
        let expression = Expression::compile(source, &KNOWN).unwrap();
        let claims = json!({ "text": text });
        let claims = claims.as_object().map(Value::from);
        let caller = Value::fields([("claims", claims)]);
        expression.is_true(&Values::from([("caller", caller)]))
    };
    let slow = r#"caller.claims.text.matches("(.*\\b){8}[zx]")"#;
    let many_states = r#"caller.claims.text.matches("[ab].{20}[x0-9]")"#;
    // Slow where it meets word boundaries in a text that is not ASCII, or has too many states.
    assert!(asked(slow, "é ".repeat(20_000)).is_err());
    assert_eq!(asked(slow, "e ".repeat(20_000)), Ok(false));
    assert_eq!(asked(slow, "é ".repeat(1_000)), Ok(false));
    assert!(asked(many_states, "ab".repeat(20_000)).is_err());
    let fast = r#"caller.claims.text.matches("^(invoice|poem)")"#;
    assert_eq!(asked(fast, "é ".repeat(100_000)), Ok(false));
    // The compiled size counts each time.
    let large = r#"["a", "b"].all(x, caller.claims.text.matches("\\w\\w"))"#;
    assert!(asked(large, "text".to_owned()).is_ok());
    let often = vec![r#"caller.claims.text.matches("\\w\\w")"#; 40].join(" && ");
    assert!(asked(&often, "text".to_owned()).is_err());
    let often = vec![r#"caller.claims.text.matches("^te")"#; 40].join(" && ");
    assert_eq!(asked(&often, "text".to_owned()), Ok(true));
}
