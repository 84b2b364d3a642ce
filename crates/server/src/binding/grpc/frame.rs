//! What comes in is one message in one frame: a flag, four bytes of length, the message.

use switchboard_types::{Error, ErrorKind};

const HEAD: usize = 5;

/// Checks the frame around a request's message, so that a broken one is told as the caller's fault.
///
/// # Errors
///
/// If it is not exactly one frame.
pub(super) fn check(body: &[u8]) -> Result<(), Error> {
    let Some((head, rest)) = body.split_first_chunk::<HEAD>() else {
        return Err(broken("holds no message"));
    };
    let [flag, length @ ..] = *head;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if flag > 1 {
        return Err(broken("does not begin with a frame"));
    }
    match rest.len().cmp(&length) {
        std::cmp::Ordering::Less => Err(broken("ends in the middle of a message")),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(broken("holds more than one message")),
    }
}

fn broken(what: &str) -> Error {
    Error::new(
        ErrorKind::InvalidRequest,
        format!("the request body {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_whole_frame_is_taken() {
        for (body, fine) in [
            (&b""[..], false),
            (b"\0\0\0\0", false),
            (b"\0\0\0\0\0", true),
            (b"\0\0\0\0\x02ab", true),
            (b"\x01\0\0\0\x02ab", true),
            (b"\x02\0\0\0\x02ab", false),
            (b"\0\0\0\0\x02a", false),
            (b"\0\0\0\0\x02abc", false),
            (b"\0\xff\xff\xff\xffa", false),
            (b"{\"a\":1}", false),
        ] {
            assert_eq!(check(body).is_ok(), fine, "{body:?}");
        }
    }
}
