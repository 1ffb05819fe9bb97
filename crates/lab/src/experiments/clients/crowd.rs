//! Clients that watch: what each is sent, whether it is right, and how long an answer takes.

#![allow(clippy::disallowed_methods, reason = "real sockets take real time")]

use nimbus_client::Client;
use nimbus_model::Nid;
use nimbus_wire::client::{FromClient, Watch};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tungstenite::Message;

use crate::experiment::LabError;
use crate::web_client::{Got, WebClient};

/// Every so many clients, one understands everything that it is sent. The others count bytes.
const READERS_EVERY: usize = 50;
/// Bytes of the head of a message from a server, short and long.
const FRAME_BYTES: [usize; 2] = [2, 4];
/// A question every so often from each client, when latencies are measured.
const ASKS_EVERY: Duration = Duration::from_millis(500);

struct Seat {
    socket: WebClient,
    client: Option<Box<Client>>,
    bytes: u64,
    states: u64,
    /// Questions without an answer, by number.
    asked: BTreeMap<u64, Instant>,
    next_ask: Instant,
    next_seq: u64,
    over: bool,
}

/// What was seen of some clients over some time.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) seconds: f64,
    /// Bytes that each client was sent, messages and their heads.
    pub(super) bytes: Vec<u64>,
    /// Messages of states, all together.
    pub(super) states: u64,
    /// How long each answer took, milliseconds.
    pub(super) latencies_ms: Vec<f64>,
}

impl Seen {
    /// What a client got on average, and the one that got most, kbit/s.
    pub(super) fn kbit(&self) -> (f64, f64) {
        let kbit = |bytes: f64| bytes * 8.0 / 1e3 / self.seconds.max(1e-9);
        let sum: u64 = self.bytes.iter().sum();
        let most = self.bytes.iter().copied().max().unwrap_or(0);
        (kbit(sum as f64 / self.bytes.len().max(1) as f64), kbit(most as f64))
    }

    /// The latency that a share of the answers did not exceed, milliseconds.
    pub(super) fn latency_ms(&self, share: f64) -> f64 {
        let mut sorted = self.latencies_ms.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// Some connected clients.
pub(super) struct Crowd {
    seats: Vec<Seat>,
}

impl Crowd {
    /// Connects so many, each with its view.
    pub(super) fn connect(
        gateway: SocketAddr,
        count: usize,
        view: impl Fn(usize) -> Watch,
        passed: &mut dyn FnMut(f32),
    ) -> Result<Crowd, LabError> {
        let mut crowd = Crowd { seats: Vec::new() };
        for i in 0..count {
            let mut socket = WebClient::connect(gateway, "bodies=watched")?;
            socket.say(&FromClient::Watch(view(i)).to_text(None));
            let client = i.is_multiple_of(READERS_EVERY).then(|| Box::new(Client::new()));
            let now = Instant::now();
            let asked = BTreeMap::new();
            crowd.seats.push(Seat {
                socket,
                client,
                bytes: 0,
                states: 0,
                asked,
                next_ask: now,
                next_seq: 0,
                over: false,
            });
            if i.is_multiple_of(20) {
                crowd.read();
                passed(i as f32 / count as f32);
            }
        }
        Ok(crowd)
    }

    pub(super) fn len(&self) -> usize {
        self.seats.iter().filter(|seat| !seat.over).count()
    }

    /// Lets all but so many go.
    pub(super) fn keep(&mut self, count: usize) {
        self.seats.truncate(count);
    }

    /// Reads what comes for some seconds. With a body to ask about, every client asks now and then.
    pub(super) fn watch(&mut self, time: Duration, ask: Option<Nid>, passed: &mut dyn FnMut(f32)) -> Seen {
        let began = Instant::now();
        for (i, seat) in self.seats.iter_mut().enumerate() {
            (seat.bytes, seat.states) = (0, 0);
            // Not all at once.
            seat.next_ask = began + ASKS_EVERY * i as u32 / 200;
        }
        let mut latencies_ms = Vec::new();
        let rest = if ask.is_some() { Duration::from_micros(500) } else { Duration::from_millis(10) };
        while began.elapsed() < time {
            latencies_ms.extend(self.read());
            if let Some(nid) = ask {
                self.ask(nid);
            }
            passed((began.elapsed().as_secs_f32() / time.as_secs_f32()).min(1.0));
            std::thread::sleep(rest);
        }
        Seen {
            seconds: began.elapsed().as_secs_f64(),
            bytes: self.seats.iter().map(|seat| seat.bytes).collect(),
            states: self.seats.iter().map(|seat| seat.states).sum(),
            latencies_ms,
        }
    }

    /// Clients that understand everything: how many bodies each sees, and how much of what they were told they could not use.
    pub(super) fn understood(&self) -> (Vec<usize>, u64) {
        let readers: Vec<&Client> = self.seats.iter().filter_map(|seat| seat.client.as_deref()).collect();
        let lost = readers.iter().map(|client| client.dropped()).map(|d| d.messages + d.records + d.shapeless).sum();
        (readers.iter().map(|client| client.len()).collect(), lost)
    }

    fn ask(&mut self, nid: Nid) {
        let now = Instant::now();
        for seat in self.seats.iter_mut().filter(|seat| !seat.over && seat.next_ask <= now) {
            seat.next_ask += ASKS_EVERY;
            seat.next_seq += 1;
            if seat.socket.say(&FromClient::Inspect { nid }.to_text(Some(seat.next_seq))) {
                seat.asked.insert(seat.next_seq, now);
            }
        }
    }

    /// Reads whatever has come; gives how long answers took.
    fn read(&mut self) -> Vec<f64> {
        let mut latencies_ms = Vec::new();
        for seat in self.seats.iter_mut().filter(|seat| !seat.over) {
            loop {
                match seat.socket.read() {
                    Got::Message(Message::Binary(bytes)) => {
                        seat.bytes += (bytes.len() + FRAME_BYTES[usize::from(bytes.len() > 125)]) as u64;
                        seat.states += u64::from(matches!(bytes.first(), Some(4 | 9)));
                        if let Some(client) = &mut seat.client {
                            client.handle_binary(&bytes);
                        }
                    }
                    Got::Message(Message::Text(text)) => {
                        seat.bytes += (text.len() + FRAME_BYTES[usize::from(text.len() > 125)]) as u64;
                        if let Some(client) = &mut seat.client {
                            client.handle_text(&text);
                        }
                        if !seat.asked.is_empty()
                            && let Some(seq) = seq_of(&text)
                            && let Some(asked) = seat.asked.remove(&seq)
                        {
                            latencies_ms.push(asked.elapsed().as_secs_f64() * 1e3);
                        }
                    }
                    Got::Message(_) => {}
                    Got::Nothing => break,
                    Got::Over => {
                        seat.over = true;
                        break;
                    }
                }
            }
        }
        latencies_ms
    }
}

/// The number of the question that a text answers.
fn seq_of(text: &str) -> Option<u64> {
    let rest = text.split_once("\"seq\":")?.1;
    rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}
