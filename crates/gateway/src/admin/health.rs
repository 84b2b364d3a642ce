//! `GET /admin/health`: whether the server is well.

use http::StatusCode;
use serde_json::json;

use super::{Answer, in_json};

pub(super) fn answer() -> Answer {
    let body = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    in_json(StatusCode::OK, &body)
}
