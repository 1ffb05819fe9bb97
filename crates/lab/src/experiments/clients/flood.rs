//! Clients that send rubbish, as fast as they are let, and clients that read nothing.

#![allow(clippy::disallowed_methods, reason = "real sockets take real time")]

use nimbus_wire::client::{FromClient, Watch};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::experiment::LabError;
use crate::web_client::{Got, WebClient};

/// Rubbish of every kind: no JSON, no command, numbers that are none, what is far too large, what is not allowed.
const RUBBISH: [&str; 6] = [
    "what?",
    r#"{"type":"weather"}"#,
    r#"{"type":"impulse","nid":"0.1","impulse":[null,0,0]}"#,
    r#"{"type":"spawn","shape":{"ball":{"radius":1e30}},"position":[0,0,0],"velocity":[0,0,0]}"#,
    r#"{"type":"spawn","shape":{"ball":{"radius":0.5}},"position":[1e300,0,0],"velocity":[0,0,0]}"#,
    r#"{"type":"query","queries":"all"}"#,
];
/// Packets that are sent at once, before the clock is looked at.
const BURST: u64 = 10;

/// Threads that send rubbish until they are stopped.
pub(super) struct Flood {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    cut_off: Arc<AtomicU64>,
    began: Instant,
    threads: Vec<JoinHandle<()>>,
}

/// What became of a flood.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flooded {
    pub(super) packets_per_s: f64,
    /// Connections that the gateway ended.
    pub(super) cut_off: u64,
}

impl Flood {
    /// Sends so many packets a second over a few connections, each of which is made anew when it is ended.
    pub(super) fn start(gateway: SocketAddr, packets_per_s: u64, connections: u64) -> Flood {
        let (stop, sent, cut_off) = <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let threads = (0..connections)
            .map(|_| {
                let (stop, sent, cut_off) = (stop.clone(), sent.clone(), cut_off.clone());
                let each = packets_per_s / connections;
                std::thread::spawn(move || pour(gateway, each, &stop, &sent, &cut_off))
            })
            .collect();
        Flood { stop, sent, cut_off, began: Instant::now(), threads }
    }

    pub(super) fn stop(self) -> Flooded {
        self.stop.store(true, Ordering::Relaxed);
        let seconds = self.began.elapsed().as_secs_f64();
        // A thread that panicked has said so.
        self.threads.into_iter().for_each(|thread| _ = thread.join());
        Flooded {
            packets_per_s: self.sent.load(Ordering::Relaxed) as f64 / seconds,
            cut_off: self.cut_off.load(Ordering::Relaxed),
        }
    }
}

fn pour(gateway: SocketAddr, per_s: u64, stop: &AtomicBool, sent: &AtomicU64, cut_off: &AtomicU64) {
    let began = Instant::now();
    let (mut mine, mut kind) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut socket) = WebClient::connect(gateway, "bodies=watched") else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        'connected: while !stop.load(Ordering::Relaxed) {
            if mine >= (began.elapsed().as_secs_f64() * per_s as f64) as u64 {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            for _ in 0..BURST {
                kind += 1;
                let went = match RUBBISH.get(kind % (RUBBISH.len() + 1)) {
                    Some(text) => socket.say(text),
                    None => socket.say_bytes(&[7; 32]),
                };
                mine += u64::from(went);
                sent.fetch_add(u64::from(went), Ordering::Relaxed);
            }
            loop {
                match socket.read() {
                    Got::Message(_) => {}
                    Got::Nothing => break,
                    Got::Over => {
                        cut_off.fetch_add(1, Ordering::Relaxed);
                        break 'connected;
                    }
                }
            }
        }
    }
}

/// Clients that ask for much and read nothing. Gives how many of them the gateway lets go within some time.
pub(super) fn slow_readers(
    gateway: SocketAddr,
    count: usize,
    view: impl Fn(usize) -> Watch,
    time: Duration,
    mut meanwhile: impl FnMut(Duration),
) -> Result<usize, LabError> {
    let mut sockets = Vec::new();
    for i in 0..count {
        let mut socket = WebClient::connect(gateway, "bodies=watched")?;
        socket.say(&FromClient::Watch(view(i)).to_text(None));
        sockets.push(socket);
    }
    meanwhile(time);
    let mut let_go = 0;
    for mut socket in sockets {
        // What was under way comes first, and the end behind it.
        let patience = Instant::now();
        let over = loop {
            match socket.read() {
                Got::Message(_) => {}
                Got::Over => break true,
                Got::Nothing if patience.elapsed() > Duration::from_secs(2) => break false,
                Got::Nothing => std::thread::sleep(Duration::from_millis(1)),
            }
            if patience.elapsed() > Duration::from_secs(4) {
                break false;
            }
        };
        let_go += usize::from(over);
    }
    Ok(let_go)
}
