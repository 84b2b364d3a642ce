//! A proxy that cuts event streams after so many bytes, as networks do.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use switchboard_server::shutdown::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// In front of another server.
pub(crate) struct Cutter {
    pub(crate) base: String,
    tasks: Tasks,
    made: Arc<AtomicUsize>,
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl Cutter {
    /// Each stream is cut after so many bytes, one number per stream; when they are used up, none is.
    pub(crate) async fn before(upstream: &str, cuts: &[usize]) -> Self {
        let upstream = upstream.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let tasks = Tasks::default();
        let cuts: Arc<Mutex<VecDeque<usize>>> =
            Arc::new(Mutex::new(cuts.iter().copied().collect()));
        let made = Arc::new(AtomicUsize::new(0));
        let (own, count) = (tasks.clone(), Arc::clone(&made));
        tasks.spawn(async move {
            let stopping = own.stopping().clone();
            loop {
                let accepted = tokio::select! {
                    () = stopping.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                let Ok((near, _)) = accepted else { return };
                let far = TcpStream::connect(&upstream).await.unwrap();
                let (cuts, count) = (Arc::clone(&cuts), Arc::clone(&count));
                let stopping = stopping.clone();
                own.spawn(async move {
                    tokio::select! {
                        () = stopping.cancelled() => {}
                        () = pass(near, far, &cuts, &count) => {}
                    }
                });
            }
        });
        Self { base, tasks, made }
    }

    /// How many streams were cut.
    pub(crate) fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }
}

async fn pass(near: TcpStream, far: TcpStream, cuts: &Mutex<VecDeque<usize>>, made: &AtomicUsize) {
    let (mut near_read, mut near_write) = near.into_split();
    let (mut far_read, mut far_write) = far.into_split();
    let up = tokio::io::copy(&mut near_read, &mut far_write);
    let down = async {
        let mut buffer = vec![0; 4096];
        let mut left: Option<usize> = None;
        let mut first = true;
        loop {
            let Ok(count) = far_read.read(&mut buffer).await else {
                return;
            };
            if count == 0 {
                return;
            }
            let mut bytes = &buffer[..count];
            let text = String::from_utf8_lossy(bytes);
            let events = text.contains("text/event-stream") && text.starts_with("HTTP/1.1 200");
            // What does not begin like HTTP/1.1 is HTTP/2, and so gRPC: the connection is the stream.
            let grpc = first && !text.starts_with("HTTP/1.1");
            first = false;
            if left.is_none() && (events || grpc) {
                left = cuts.lock().unwrap().pop_front();
            }
            if let Some(left) = &mut left {
                let whole = bytes.len() < *left;
                bytes = &bytes[..bytes.len().min(*left)];
                *left -= bytes.len();
                if !whole {
                    drop(near_write.write_all(bytes).await);
                    made.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
            if near_write.write_all(bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = up => {}
        () = down => {}
    }
}
