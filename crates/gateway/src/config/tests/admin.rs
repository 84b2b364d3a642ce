//! Where operators look: what is meant if nothing is said, and what is refused.

use super::{PARROT, Written, good};
use crate::config::Flags;

fn address(yaml: &str) -> Option<(String, bool)> {
    let admin = good(&format!("{yaml}{PARROT}")).admin;
    admin.map(|admin| (admin.listen.to_string(), admin.chosen))
}

#[test]
fn operators_look_one_port_above_unless_something_else_is_said() {
    let at = |address: &str, chosen| Some((address.to_owned(), chosen));
    assert_eq!(address(""), at("127.0.0.1:7421", false));
    assert_eq!(address("listen: 8000\n"), at("127.0.0.1:8001", false));
    assert_eq!(address("listen: 0\n"), at("127.0.0.1:0", false));
    assert_eq!(address("listen: 65535\n"), at("127.0.0.1:65534", false));
    let wide = "listen: 0.0.0.0:7420\nauth: none\n";
    assert_eq!(address(wide), at("127.0.0.1:7421", false));
    assert_eq!(address("admin: {listen: 9}\n"), at("127.0.0.1:9", true));
    assert_eq!(address("admin: {listen: off}\n"), None);
}

#[test]
fn a_token_comes_from_the_environment_or_a_file_and_is_long() {
    let long = "0123456789abcdef";
    let written = |yaml: &str| Written::new(&format!("{yaml}{PARROT}"));
    let token = |written: &Written| {
        let config = written.load_with(&[("TOKEN", long)], &Flags::default());
        let admin = config.unwrap().admin.unwrap();
        admin.token.map(|token| token.reveal().to_owned())
    };
    assert_eq!(token(&written("")), None);
    let given = written("admin: {token: '${TOKEN}'}\n");
    assert_eq!(token(&given).as_deref(), Some(long));
    let in_file = written("admin: {token_file: t}\n");
    in_file.file("t", &format!("{long}\n"));
    assert_eq!(token(&in_file).as_deref(), Some(long));
    for (yaml, problem) in [
        (
            "admin: {token: abc}\n",
            "secrets must not be written in the file",
        ),
        (
            "admin: {token: '${TOKEN}'}\n",
            "must be at least 16 characters",
        ),
        (
            "admin: {listen: '0.0.0.0:1', open: true}\n",
            "0.0.0.0:1 can be reached from other machines",
        ),
        ("admin: {listen: nowhere}\n", "`nowhere` is not an address"),
    ] {
        let wrong = written(yaml).problems(&[("TOKEN", "short")]);
        assert!(wrong.contains(problem), "{wrong}");
    }
    let wide = written("admin: {listen: '0.0.0.0:1'}\n").load().unwrap();
    assert!(wide.doubts[0].to_string().contains("is not encrypted"));
}
