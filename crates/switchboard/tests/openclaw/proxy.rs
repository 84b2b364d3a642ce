//! A proxy before a gateway, which says that its callers are elsewhere.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use switchboard_server::shutdown::Tasks;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// Gone with its runtime.
pub(crate) struct Proxy {
    address: SocketAddr,
    /// The port of the gateway.
    port: u16,
    serving: Tasks,
}

impl Proxy {
    pub(crate) async fn before(port: u16) -> Self {
        let mut proxy = Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            port,
            serving: Tasks::default(),
        };
        proxy.open().await;
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Takes connections, where it took them before.
    pub(crate) async fn open(&mut self) {
        let listener = TcpListener::bind(self.address).await.expect("a port");
        self.address = listener.local_addr().expect("an address");
        self.serving = Tasks::default();
        let (serving, port) = (self.serving.clone(), self.port);
        self.serving.spawn(async move {
            let stopping = serving.stopping().clone();
            let serve = async {
                while let Ok((from, _)) = listener.accept().await {
                    let cut = serving.stopping().clone();
                    serving.spawn(async move {
                        drop(cut.run_until_cancelled(pass(from, port)).await);
                    });
                }
            };
            stopping.run_until_cancelled(serve).await;
        });
    }

    /// Cuts all connections and takes no others.
    pub(crate) async fn cut(&self) {
        self.serving.stop();
        assert!(self.serving.drain(Duration::from_secs(10)).await);
    }
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
