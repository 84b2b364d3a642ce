//! A name that leads elsewhere the second time, told by a name server of our own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_server::egress::{Allow, Guard, Lookup};
use switchboard_server::shutdown::Tasks;
use switchboard_types::Dialect;
use tokio::net::{TcpListener, UdpSocket};

use crate::scene::{Scene, quick};

/// As far as the guard is concerned, an address that anyone may call.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const INSIDE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// What follows the twelve bytes of a message's head: one question.
fn question(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.as_bytes());
    }
    // The root; an address; of the Internet.
    bytes.extend([0, 0, 1, 0, 1]);
    bytes
}

/// Answers every question by UDP: the first one with `OUTSIDE`, all others with `INSIDE`. Nothing is to be kept.
async fn name_server(tasks: &Tasks) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, stop) = (Arc::clone(&asked), tasks.stopping().clone());
    tasks.spawn(async move {
        let answering = async {
            let mut message = [0; 512];
            loop {
                let (length, from) = socket.recv_from(&mut message).await.unwrap();
                let (head, question) = message[..length].split_at(12);
                let leads_to = match count.fetch_add(1, Ordering::SeqCst) {
                    0 => OUTSIDE,
                    _ => INSIDE,
                };
                let mut answer = head[..2].to_vec();
                // An answer without errors: one question, one record.
                answer.extend([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
                answer.extend(question);
                // The same name, an address of the Internet, good for no second.
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                answer.extend(leads_to.octets());
                socket.send_to(&answer, from).await.unwrap();
            }
        };
        stop.run_until_cancelled(answering).await;
    });
    (address, asked)
}

/// Asks a name server for the address of a name.
async fn resolve(server: SocketAddr, name: &str) -> io::Result<Vec<IpAddr>> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    socket.connect(server).await?;
    let question = question(name);
    let mut query = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend(&question);
    socket.send(&query).await?;
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).await?;
    assert_eq!(answer[..2], query[..2], "an answer to something else");
    assert_eq!(answer[12..12 + question.len()], question[..]);
    let records = &answer[12 + question.len()..length];
    let addresses = records.chunks(16).map(|record| {
        let octets: [u8; 4] = record[12..].try_into().unwrap();
        IpAddr::from(octets)
    });
    Ok(addresses.collect())
}

/// Counts who connects, and says nothing.
fn count(listener: TcpListener, tasks: &Tasks) -> Arc<AtomicUsize> {
    let connected = Arc::new(AtomicUsize::new(0));
    let (count, stop) = (Arc::clone(&connected), tasks.stopping().clone());
    tasks.spawn(async move {
        let accepting = async {
            while listener.accept().await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        };
        stop.run_until_cancelled(accepting).await;
    });
    connected
}

#[tokio::test]
async fn a_name_that_leads_inside_the_second_time_is_not_called_there() {
    let tasks = Tasks::default();
    let (server, asked) = name_server(&tasks).await;
    // The same port at both addresses: only the address tells them apart.
    let outside = TcpListener::bind((OUTSIDE, 0)).await.unwrap();
    let port = outside.local_addr().unwrap().port();
    let inside = TcpListener::bind((INSIDE, port)).await.unwrap();
    let (outside, inside) = (count(outside, &tasks), count(inside, &tasks));
    let lookup = Lookup::new(move |name| async move { resolve(server, &name).await });
    let allowed = vec![Allow::parse(&OUTSIDE.to_string()).unwrap()];
    let scene = Scene::with(Guard::with_lookup(allowed, lookup), quick());
    let url = format!("https://rebind.example:{port}/");
    scene.task("t", &[("w", &url, Dialect::V1)]);
    let delivery = scene.until("t", "w", |d| d.attempts > 2).await;
    assert_eq!(
        delivery.last_error.as_deref(),
        Some("could not connect: the host resolves to a loopback address, which is not allowed")
    );
    assert!(asked.load(Ordering::SeqCst) > 1, "it is asked each time");
    assert_eq!(outside.load(Ordering::SeqCst), 1, "the first time");
    assert_eq!(inside.load(Ordering::SeqCst), 0);
    tasks.stop();
}
