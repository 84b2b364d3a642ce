//! Reads the `Authorization` header.

use hyper::header::{AUTHORIZATION, HeaderMap};

/// The header is given twice in different ways, or is not ASCII text: nobody knows which one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidHeader;

/// What `Authorization` holds, if anything: a scheme and credentials.
pub(crate) type Shown<'a> = Option<Result<(&'a str, &'a str), InvalidHeader>>;

/// What stands in `Authorization` after that scheme.
pub(crate) fn authorization<'a>(
    headers: &'a HeaderMap,
    scheme: &str,
) -> Option<Result<&'a str, InvalidHeader>> {
    credentials(shown(headers), scheme)
}

/// The credentials, if they are of that scheme.
pub(crate) fn credentials<'a>(
    shown: Shown<'a>,
    scheme: &str,
) -> Option<Result<&'a str, InvalidHeader>> {
    match shown? {
        Ok((said, credentials)) => said.eq_ignore_ascii_case(scheme).then_some(Ok(credentials)),
        Err(cause) => Some(Err(cause)),
    }
}

/// Reads the header.
pub(crate) fn shown(headers: &HeaderMap) -> Shown<'_> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let first = values.next()?;
    if values.any(|other| other != first) {
        return Some(Err(InvalidHeader));
    }
    // Not byte by byte, as `to_str` would. A header has no control characters.
    let text = str::from_utf8(first.as_bytes()).ok();
    let Some(text) = text.filter(|text| text.is_ascii()) else {
        return Some(Err(InvalidHeader));
    };
    let (said, credentials) = text.trim().split_once(' ')?;
    Some(Ok((said, credentials.trim())))
}
