//! Secrets, which come from the environment or from files, and those who have them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use switchboard_server::auth::method::User;
use switchboard_types::model::Secret;

use super::agent::{at_path, join};
use super::auth::MethodKind;
use super::load::{Check, lower_first};
use super::problem::Place;
use super::raw;
use super::value::SecretText;
use super::written::print;
use super::yaml::{self, Data, Step, Step::Key};

impl Check<'_> {
    pub(super) fn basic(&mut self, at: &[Step<'_>], raw: raw::Basic) -> MethodKind {
        let at = join(at, Key("users"));
        if raw.users.0.is_empty() {
            self.wrong(&at, "no users configured".to_owned(), None);
        }
        let mut users = Vec::new();
        for (name, user) in raw.users.0 {
            let at = join(&at, Key(&name));
            if name.is_empty() || name.contains(':') {
                let message = format!("`{name}` cannot be the name of a user");
                let hint = "a name has no colon in it".to_owned();
                self.wrong(&at, message, Some(hint));
            }
            if user.password.is_some() && user.password_file.is_some() {
                let message = "`password` and `password_file` are mutually exclusive".to_owned();
                let hint = "keep one of them".to_owned();
                self.wrong(&join(&at, Key("password_file")), message, Some(hint));
                continue;
            }
            let secret = self.secret(&at, "password", user.password, user.password_file);
            let Some((key, password)) = secret else {
                continue;
            };
            if password.reveal().is_empty() {
                self.wrong(&join(&at, Key(key)), "must not be empty".to_owned(), None);
            }
            users.push(User {
                name,
                password,
                tenant: user.tenant.filter(|tenant| !tenant.is_empty()),
                scopes: user.scopes.unwrap_or_default(),
            });
        }
        MethodKind::Basic(users)
    }

    /// A secret from the environment or a file, and the key that gave it.
    pub(super) fn secret(
        &mut self,
        at: &[Step<'_>],
        key: &'static str,
        text: Option<SecretText>,
        file: Option<String>,
    ) -> Option<(&'static str, Secret)> {
        let in_file = match key {
            "secret" => "secret_file",
            "key" => "key_file",
            "token" => "token_file",
            _ => "password_file",
        };
        match (text, file) {
            (Some(text), _) => {
                let at = join(at, Key(key));
                let given = at_path(self.tree, &at);
                if !given.is_some_and(|node| matches!(&node.data, Data::Scalar(s) if s.given)) {
                    self.wrong(
                        &at,
                        "secrets must not be written in the file".to_owned(),
                        Some(format!("write `${{NAME}}`, or give `{in_file}`")),
                    );
                    return None;
                }
                Some((key, text.0))
            }
            (None, Some(file)) => {
                let text = self.read_beside(&join(at, Key(in_file)), &file)?;
                Some((in_file, Secret::new(text.trim_end_matches(['\r', '\n']))))
            }
            (None, None) if self.is_damaged(at) => None,
            (None, None) => {
                let hint = format!("add `{key}: ${{NAME}}` or `{in_file}`");
                self.wrong(at, format!("there is no {key}"), Some(hint));
                None
            }
        }
    }

    /// Whether something below could not be read: then it is not missing.
    pub(super) fn is_damaged(&self, at: &[Step<'_>]) -> bool {
        let path = yaml::show(at);
        let mut problems = self.problems.iter();
        problems.any(|problem| problem.path.starts_with(&path))
    }

    /// A file whose path is relative to the configuration.
    pub(super) fn read_beside(&mut self, at: &[Step<'_>], file: &str) -> Option<String> {
        let path = self.base.join(file);
        let text = std::fs::read_to_string(&path);
        self.names(at, &path, text.as_ref().ok().map(print));
        let wrong = |error: std::io::Error| {
            let cause = lower_first(&error.to_string());
            let message = format!("{} cannot be read: {cause}", path.display());
            let hint = "the path is relative to the configuration file".to_owned();
            let hint = self.is_in_a_file(at).then_some(hint);
            self.wrong(at, message, hint);
        };
        text.map_err(wrong).ok()
    }

    /// Warns of a private key that everyone on this machine can read. It is the operator's file, and orchestrators mount
    /// keys like that, so it is used all the same.
    pub(super) fn doubt_open_key(&mut self, at: &[Step<'_>], file: &Path) {
        let mode = std::fs::metadata(file).map(|found| found.permissions().mode() & 0o777);
        if let Ok(mode) = mode
            && mode & 0o007 != 0
        {
            let message = format!("everyone on this machine can use this key (mode {mode:04o})");
            let hint = format!("run `chmod 600 {}`", file.display());
            self.doubt(at, message, Some(hint));
        }
    }

    /// Whether a key stands in a file, and not in a flag or a variable.
    pub(super) fn is_in_a_file(&self, at: &[Step<'_>]) -> bool {
        matches!(self.tree.place_of(at), Place::File { .. })
    }
}
