//! A proxy before a gateway, which says that its callers are elsewhere.

use std::io;

use switchboard_server::shutdown::Tasks;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// Starts it; gives its address. Gone with its runtime.
pub(crate) async fn before(port: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let tasks = Tasks::default();
    tasks.clone().spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            tasks.spawn(async move { drop(pass(from, port).await) });
        }
    });
    format!("http://{address}")
}

async fn pass(mut from: TcpStream, port: u16) -> io::Result<()> {
    let mut to = TcpStream::connect(("127.0.0.1", port)).await?;
    let mut begin = vec![0; 8192];
    let read = from.read(&mut begin).await?;
    let begin = String::from_utf8_lossy(&begin[..read]).into_owned();
    let told = begin.replacen("\r\n", "\r\nX-Forwarded-For: 203.0.113.9\r\n", 1);
    to.write_all(told.as_bytes()).await?;
    copy_bidirectional(&mut from, &mut to).await?;
    Ok(())
}
