//! Encrypted connections: what is right, what is wrong, what is doubted.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair};
use switchboard_server::http::tls::Pem;

use super::{PARROT, Written};
use crate::config::{Config, Flags, Own};

/// A certificate and its key, in two files; `ends` in that year.
fn pair(written: &Written, name: &str, ends: i32) {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(ends, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    written.file(&format!("{name}.pem"), &certificate.pem());
    let file = format!("{name}-key.pem");
    written.file(&file, &key.serialize_pem());
    set_mode(&written.dir.path().join(file), 0o600);
}

fn set_mode(file: &Path, mode: u32) {
    std::fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
}

fn written(yaml: &str) -> Written {
    let written = Written::new(&format!("{yaml}{PARROT}"));
    pair(&written, "cert", 4000);
    pair(&written, "other", 4000);
    pair(&written, "old", 2020);
    written.file("empty.pem", "");
    written.file("secret", "open sesame");
    written
}

fn load(yaml: &str) -> Config {
    written(yaml).load().unwrap()
}

const PAIR: &str = "cert_file: cert.pem, key_file: cert-key.pem";

#[test]
fn files_are_relative_to_the_configuration() {
    let written = written(&format!("tls: {{{PAIR}}}\n"));
    let tls = written.load().unwrap().tls.unwrap();
    let own = Own::Files {
        certificate: written.dir.path().join("cert.pem"),
        key: written.dir.path().join("cert-key.pem"),
    };
    assert_eq!(tls.own, own);
    assert!(tls.clients.is_none());
    assert!(load("").tls.is_none());
}

#[test]
fn clients_are_asked_for_certificates_if_someone_can_check_them() {
    for (more, required) in [
        ("client_ca_file: other.pem", Some(false)),
        (
            "client_ca_file: other.pem, client_certificates: optional",
            Some(false),
        ),
        (
            "client_ca_file: other.pem, client_certificates: required",
            Some(true),
        ),
        ("client_ca_file: other.pem, client_certificates: off", None),
        ("client_certificates: off", None),
    ] {
        let tls = load(&format!("tls: {{{PAIR}, {more}}}\n")).tls.unwrap();
        assert_eq!(tls.clients.as_ref().map(|c| c.required), required, "{more}");
        if let Some(clients) = tls.clients {
            let Pem::File(file) = clients.authorities else {
                panic!("{more}")
            };
            assert!(file.ends_with("other.pem"));
        }
    }
}

#[test]
fn the_flag_makes_a_certificate_whatever_the_file_says() {
    let flags = Flags {
        self_signed: true,
        ..Flags::default()
    };
    for (yaml, clients) in [
        ("", false),
        (
            "tls: {cert_file: nowhere.pem, key_file: nowhere.pem}\n",
            false,
        ),
        ("tls: {client_ca_file: other.pem}\n", true),
    ] {
        let tls = written(yaml).load_with(&[], &flags).unwrap().tls.unwrap();
        assert_eq!((tls.own, tls.clients.is_some()), (Own::SelfSigned, clients));
    }
}

#[test]
fn each_mistake_has_a_place_a_cause_and_a_way_out() {
    for (yaml, said) in [
        (
            "tls: {}\n",
            "switchboard.yaml:1:1: tls: there is no cert_file\n  hint: add `cert_file`, or try `--tls self-signed`",
        ),
        (
            "tls: {cert_file: cert.pem}\n",
            "switchboard.yaml:1:1: tls: there is no key_file\n  hint: add `key_file`, or try `--tls self-signed`",
        ),
        (
            "tls: {cert_file: nowhere.pem, key_file: cert-key.pem}\n",
            "switchboard.yaml:1:7: tls.cert_file: nowhere.pem cannot be read: No such file or directory (os error \
             2)\n  hint: the path is relative to the configuration file",
        ),
        (
            "tls: {cert_file: cert.pem, key_file: other-key.pem}\n",
            "switchboard.yaml:1:28: tls.key_file: other-key.pem is not the key of cert.pem",
        ),
        (
            "tls: {cert_file: cert-key.pem, key_file: cert-key.pem}\n",
            "switchboard.yaml:1:7: tls.cert_file: cert-key.pem has no certificate in PEM form",
        ),
        (
            "tls: {cert_file: cert.pem, key_file: cert.pem}\n",
            "switchboard.yaml:1:28: tls.key_file: cert.pem has no private key in PEM form that is not encrypted",
        ),
        (
            &format!("tls: {{{PAIR}, client_ca_file: empty.pem}}\n"),
            "switchboard.yaml:1:52: tls.client_ca_file: empty.pem has no certificate in PEM form",
        ),
        (
            &format!("tls: {{{PAIR}, client_certificates: required}}\n"),
            "switchboard.yaml:1:52: tls.client_certificates: client certificates cannot be checked\n  hint: add \
             `client_ca_file`",
        ),
        (
            &format!("tls: {{{PAIR}, client_certificates: maybe}}\n"),
            "switchboard.yaml:1:73: tls.client_certificates: unknown value `maybe`\n  hint: use one of `off`, `optional`, \
             `required`",
        ),
        (
            "auth: {methods: {mesh: {mtls: {subjects: ['*']}}}}\n",
            "switchboard.yaml:1:25: auth.methods.mesh.mtls: client certificates cannot be checked\n  hint: add \
             `tls.client_ca_file`",
        ),
        (
            &format!(
                "tls: {{{PAIR}, client_ca_file: other.pem, client_certificates: off}}\nauth: {{methods: {{mesh: \
                 {{mtls: {{subjects: ['*']}}}}}}}}\n"
            ),
            "switchboard.yaml:2:25: auth.methods.mesh.mtls: client certificates cannot be checked\n  hint: set \
             `tls.client_certificates` to `optional` or `required`",
        ),
        (
            &format!(
                "tls: {{{PAIR}, client_ca_file: other.pem}}\nauth: {{methods: {{mesh: {{mtls: {{subjects: []}}}}}}}}\n"
            ),
            "switchboard.yaml:2:25: auth.methods.mesh.mtls: must name subjects\n  hint: write `subjects: [\"*\"]` if \
             every certificate will do",
        ),
    ] {
        assert_eq!(written(yaml).problems(&[]), said, "{yaml}");
    }
}

#[test]
fn a_private_key_that_everyone_can_read_is_warned_of() {
    for (mode, is_open) in [(0o644, true), (0o640, false), (0o400, false)] {
        let written = written(&format!("tls: {{{PAIR}}}\n"));
        set_mode(&written.dir.path().join("cert-key.pem"), mode);
        let warnings = written.load().unwrap().doubts;
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(!warnings.is_empty(), is_open, "{mode:o}: {warnings:?}");
        for warning in warnings {
            assert!(
                warning.contains("mode 0644") && warning.contains("chmod 600"),
                "{warning}"
            );
        }
    }
}

#[test]
fn what_may_not_be_meant_is_doubted() {
    let ops = "auth: {methods: {keys: {api_key: {}}}}\n";
    let public = "listen: 0.0.0.0:7420\n";
    let unencrypted = "switchboard.yaml:1:1: listen: credentials cross the network unencrypted\n  hint: set `tls`, or \
                       `public_url: https://…` behind a proxy that encrypts";
    for (yaml, said) in [
        (format!("{public}{ops}"), Some(unencrypted)),
        (
            format!("{public}{ops}public_url: http://a.example\n"),
            Some(unencrypted),
        ),
        (
            format!("{public}{ops}public_url: https://a.example\n"),
            None,
        ),
        (
            format!(
                "{public}public_url: https://a.example\nauth: {{methods: {{ops: {{basic: {{users: {{a: {{password_file: secret}}}}}}}}}}}}\n"
            ),
            Some(
                "switchboard.yaml:2:1: public_url: callers behind a proxy share its address: one client's failed \
                 logins would lock out all others\n  hint: name the proxy in `trust_forwarded`",
            ),
        ),
        (format!("{public}{ops}tls: {{{PAIR}}}\n"), None),
        (format!("{public}auth: none\n"), None),
        (ops.to_owned(), None),
        (
            "tls: {cert_file: old.pem, key_file: old-key.pem}\n".to_owned(),
            Some(
                "switchboard.yaml:1:7: tls.cert_file: the certificate has expired\n  hint: clients are going to refuse \
                 it: put a new one in its place",
            ),
        ),
    ] {
        let written = written(&yaml);
        let dir = format!("{}/", written.dir.path().display());
        let doubts = written.load().unwrap().doubts;
        let doubts: Vec<String> = doubts
            .iter()
            .map(|doubt| doubt.to_string().replace(&dir, ""))
            .collect();
        assert_eq!(doubts, said.into_iter().collect::<Vec<_>>(), "{yaml}");
    }
}
