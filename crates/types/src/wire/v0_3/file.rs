//! Reads what `file_with_bytes` holds, in both forms that peers of 0.3 give it. Called by the codecs of `ProtoJSON` and
//! gRPC.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use bytes::Bytes;

use crate::error::Error;
use crate::version::FileBytes;
use crate::wire::path::Path;

/// The file that the field holds.
///
/// Base64 text must be exact: padded, and without stray bits. Every SDK writes it so, and each text that is refused is
/// a file of a peer with the other form that is not damaged in silence.
///
/// # Errors
///
/// `InvalidParams` if the field cannot hold base64 text. It is not taken for the file itself: other files of the same
/// peer could be base64 text by chance, and what it downloads would be wrong in any case.
pub(crate) fn read(field: Bytes, files: FileBytes, at: &Path<'_>) -> Result<Bytes, Error> {
    match files {
        FileBytes::Raw => Ok(field),
        FileBytes::Base64 => {
            let url_safe = field.iter().any(|byte| matches!(byte, b'-' | b'_'));
            let engine = if url_safe { &URL_SAFE } else { &STANDARD };
            engine.decode(&field).map(Bytes::from).map_err(|_| {
                at.error(
                    "must hold the base64 text of the file, as the 0.3 SDKs for Python, Java and Go send it; \
                     for a peer that sends the file itself, set `file_bytes: raw`",
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_text_is_decoded_once() {
        for (file, text) in [
            (&b""[..], "".as_bytes()),
            (b"\x00", b"AA=="),
            (b"deadbeef", b"ZGVhZGJlZWY="),
            (b"\xfb\xff", b"+/8="),
        ] {
            let file = Bytes::from_static(file);
            let read = read(Bytes::from_static(text), FileBytes::Base64, &Path::ROOT);
            assert_eq!(read.as_ref(), Ok(&file));
        }
        let url_safe = Bytes::from_static(b"-_8=");
        let read = read(url_safe, FileBytes::Base64, &Path::ROOT);
        assert_eq!(read.unwrap(), &b"\xfb\xff"[..]);
    }

    #[test]
    fn what_cannot_be_base64_text_is_refused_with_the_setting_that_helps() {
        for field in [&b"\xff\xfe"[..], b"hello", b"hi", b"AA", b"AB==", b"QQ==\n"] {
            let field = Bytes::from_static(field);
            let error = read(field.clone(), FileBytes::Base64, &Path::ROOT).unwrap_err();
            assert!(error.message().contains("`file_bytes: raw`"), "{error}");
            assert_eq!(read(field.clone(), FileBytes::Raw, &Path::ROOT), Ok(field));
        }
    }
}
