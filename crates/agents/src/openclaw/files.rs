//! Files that a message names by their URLs: OpenClaw takes them with their bytes only, so they are fetched for it.

use bytes::Bytes;
use switchboard_server::agent::AgentError;
use switchboard_server::push::Fetcher;
use switchboard_types::model::{Content, Message, Part};
use switchboard_types::{Error, ErrorKind};

use super::prompt::{ALL_FILES, Prompt, too_much};
use super::run::Run;

/// How many files are fetched for one message.
const MOST: usize = 16;

/// The message with files that stand where their URLs do: to judge it.
pub(super) fn stood_in(message: &Message) -> Message {
    let mut message = message.clone();
    for part in &mut message.parts {
        if let Content::Url(_) = part.content {
            part.content = Content::Raw(Bytes::new());
            // What it is may be known only with the file, and then it is judged again. An image can be taken with all.
            part.media_type.get_or_insert_with(|| "image/*".to_owned());
        }
    }
    message
}

/// Whether all files may be fetched, by their URLs alone.
pub(super) fn require(message: &Message, fetcher: &Fetcher) -> Result<(), Error> {
    if urls(message).count() > MOST {
        let text = format!("at most {MOST} files can be fetched for one message");
        return Err(Error::new(ErrorKind::InvalidParams, text));
    }
    for (at, url) in urls(message) {
        let checked = fetcher.check(url).map_err(|why| told(at, &why));
        checked.map_err(|text| Error::new(ErrorKind::InvalidParams, text))?;
    }
    Ok(())
}

impl Run<'_> {
    /// The message as OpenClaw takes it, with its files; or why it cannot be taken.
    pub(super) async fn prompt(&self) -> Result<Result<Prompt, String>, AgentError> {
        let most = self.settings.max_file_bytes;
        let fetching = fetched(&self.turn.message, self.fetcher, most);
        let Some(message) = self.turn.canceled.run_until_cancelled(fetching).await else {
            return Err(AgentError::over());
        };
        Ok(message.and_then(|message| {
            let prompt = Prompt::of(&message, self.settings);
            prompt.map_err(|error| error.message().to_owned())
        }))
    }
}

/// The message with its files; or why it has none.
async fn fetched(message: &Message, fetcher: &Fetcher, most: usize) -> Result<Message, String> {
    let mut whole = message.clone();
    let mut size = 0;
    for (at, url) in urls(message) {
        let file = fetcher.fetch(url, most).await;
        let file = file.map_err(|why| told(at, &why))?;
        size += file.bytes.len();
        if size > ALL_FILES {
            return Err(too_much(at));
        }
        let part = &mut whole.parts[at];
        let media = file.media_type.filter(|_| part.media_type.is_none());
        *part = Part {
            media_type: media.or(part.media_type.take()),
            filename: part.filename.take().or_else(|| name(url)),
            content: Content::Raw(file.bytes),
            ..part.clone()
        };
    }
    Ok(whole)
}

fn urls(message: &Message) -> impl Iterator<Item = (usize, &str)> {
    let parts = message.parts.iter().enumerate();
    parts.filter_map(|(at, part)| match &part.content {
        Content::Url(url) => Some((at, url.as_str())),
        _ => None,
    })
}

fn told(at: usize, why: &str) -> String {
    format!("the file of message.parts[{at}] cannot be fetched: {why}")
}

/// The last of its path.
fn name(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let name = url.path_segments()?.next_back()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use switchboard_server::egress::{Allow, Guard};
    use switchboard_server::shutdown::Tasks;
    use switchboard_types::model::{MessageId, Role};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::Settings;
    use super::*;

    /// A server that gives each who asks this, until the test is over: the URL of a file there.
    async fn place(media: &'static str, bytes: Vec<u8>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/pictures/a.png?x", listener.local_addr().unwrap());
        Tasks::default().spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                drop(stream.read(&mut [0; 2048]).await);
                let length = bytes.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n"
                );
                drop(stream.write_all(head.as_bytes()).await);
                drop(stream.write_all(&bytes).await);
            }
        });
        url
    }

    fn fetcher() -> Fetcher {
        Fetcher::new(Guard::new(vec![Allow::parse("127.0.0.1").unwrap()]))
    }

    fn message(text: &str, urls: &[&str]) -> Message {
        let files = urls.iter().map(|url| Content::Url((*url).to_owned()));
        let mut parts = vec![Part::text(text)];
        parts.extend(files.map(Part::new));
        Message::new(MessageId::new("m").unwrap(), Role::User, parts)
    }

    #[tokio::test]
    async fn a_file_is_put_where_its_url_was() {
        let url = place("image/png", b"png".to_vec()).await;
        let message = message("look", &[&url]);
        let careful = Fetcher::new(Guard::new(Vec::new()));
        let why = "the file of message.parts[1] cannot be fetched: its URL must not point to a loopback address; an operator can allow it with push.allow";
        let refused = require(&message, &careful).unwrap_err();
        assert_eq!(
            (refused.kind(), refused.message()),
            (ErrorKind::InvalidParams, why)
        );
        assert_eq!(fetched(&message, &careful, 9).await.unwrap_err(), why);
        require(&message, &fetcher()).unwrap();
        let whole = fetched(&message, &fetcher(), 9).await.unwrap();
        assert_eq!(whole.parts[0], message.parts[0]);
        let expected = Part {
            media_type: Some("image/png".to_owned()),
            filename: Some("a.png".to_owned()),
            ..Part::new(Content::Raw(Bytes::from_static(b"png")))
        };
        assert_eq!(whole.parts[1], expected);
        let mut many = message.clone();
        many.parts = vec![message.parts[1].clone(); MOST + 1];
        let refused = require(&many, &fetcher()).unwrap_err();
        assert_eq!(
            refused.message(),
            "at most 16 files can be fetched for one message"
        );
    }

    #[tokio::test]
    async fn a_file_is_refused_for_what_it_is_only_once_that_is_known() {
        let settings = Settings::new("main");
        let judged = |message: &Message| Prompt::of(message, &settings).map(drop);
        for (media, is_taken) in [("image/png", true), ("application/pdf", false)] {
            let url = place(media, b"...".to_vec()).await;
            // Only with images, it may begin so.
            let mut message = message("/status", &[&url]);
            judged(&stood_in(&message)).unwrap();
            let whole = fetched(&message, &fetcher(), 9).await.unwrap();
            assert_eq!(judged(&whole).is_ok(), is_taken, "{media}");
            message.parts[1].media_type = Some(media.to_owned());
            let known = judged(&stood_in(&message));
            assert_eq!(known.is_ok(), is_taken, "{media} {known:?}");
        }
    }

    #[tokio::test]
    async fn what_is_too_large_is_told_a_file_or_all_of_them() {
        let most = ALL_FILES / 2 + 1;
        let url = place("image/png", vec![0; most]).await;
        let message = message("look", &[&url, &url]);
        let refused = fetched(&message, &fetcher(), most - 1).await.unwrap_err();
        let one = "the file of message.parts[1] cannot be fetched: it is larger than 8388608 bytes";
        assert_eq!(refused, one);
        let refused = fetched(&message, &fetcher(), most).await.unwrap_err();
        let all = "files are larger than 16777216 bytes (message.parts[2])";
        assert_eq!(refused, all);
    }
}
