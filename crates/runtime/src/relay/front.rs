//! The address that others take for a process's own, and a socket of its own towards the process for each of them.

use socket2::SockRef;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

use super::conditions::{Fate, Way};
use super::under_way::Packet;
use super::{FrontConfig, Shared, count};
use crate::mesh::ProcessName;

/// Most addresses that send to one process through the relay. A further one takes the place of the longest silent.
pub const CLIENTS_MAX: usize = 256;

/// The longest packet that UDP has.
const PACKET_BYTES: usize = 65_535;
/// Bytes that a socket holds while the relay is busy. The system may grant less.
const SOCKET_BYTES: usize = 2 << 20;
/// Pause after a socket failed for another reason than that nobody listens.
const FAILED_PAUSE: Duration = Duration::from_millis(10);

/// A process behind the relay, as others see it.
pub(super) struct Front {
    config: FrontConfig,
    known: Arc<BTreeMap<SocketAddr, ProcessName>>,
    shared: Arc<Shared>,
    receiving: tokio::net::UdpSocket,
    sending: Arc<UdpSocket>,
    clients: BTreeMap<SocketAddr, Client>,
}

/// Somebody who sends to the process.
struct Client {
    line: Line,
    socket: Arc<UdpSocket>,
    answers: AbortHandle,
    heard: Duration,
}

/// One direction between two ends, and what went along it.
struct Line {
    way: Way,
    packets: u64,
    /// When the last packet is due that keeps its place.
    last_due: Duration,
}

impl Front {
    /// Begins to listen, and says where; to be called inside a runtime.
    pub(super) fn open(
        config: FrontConfig,
        known: Arc<BTreeMap<SocketAddr, ProcessName>>,
        shared: Arc<Shared>,
    ) -> io::Result<(Front, SocketAddr)> {
        let (receiving, sending) = bind(config.listen)?;
        let address = sending.local_addr()?;
        Ok((Front { config, known, shared, receiving, sending, clients: BTreeMap::new() }, address))
    }

    /// Takes what is sent to the process, until the runtime ends.
    pub(super) async fn run(mut self) {
        let mut buffer = vec![0; PACKET_BYTES];
        loop {
            let (length, from) = match self.receiving.recv_from(&mut buffer).await {
                Ok(received) => received,
                Err(error) => {
                    calm_down(&error).await;
                    continue;
                }
            };
            if !self.clients.contains_key(&from) && self.admit(from).is_err() {
                count(&self.shared.counts.overflowed);
                continue;
            }
            if let Some(client) = self.clients.get_mut(&from) {
                client.heard = self.shared.clock.now();
                client.line.pass(&self.shared, &buffer[..length], &client.socket, None);
            }
        }
    }

    /// Makes a socket for somebody new.
    fn admit(&mut self, from: SocketAddr) -> io::Result<()> {
        if self.clients.len() >= CLIENTS_MAX {
            let silent = self.clients.iter().min_by_key(|(_, client)| client.heard).map(|(address, _)| *address);
            silent.and_then(|address| self.clients.remove(&address));
        }
        let any = match self.config.process {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let (receiving, sending) = bind(any)?;
        sending.connect(self.config.process)?;
        let process = self.config.name.as_str().to_owned();
        let name = self.known.get(&from).map_or_else(|| from.to_string(), |name| name.as_str().to_owned());
        let there = Line::new(Way { from: name.clone(), to: process.clone() });
        let back = Line::new(Way { from: process, to: name });
        let answers = answers(self.shared.clone(), receiving, back, self.sending.clone(), from);
        let client = Client {
            line: there,
            socket: sending,
            answers: tokio::spawn(answers).abort_handle(),
            heard: Duration::ZERO,
        };
        self.clients.insert(from, client);
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.answers.abort();
    }
}

/// Takes what the process answers to one of them.
async fn answers(
    shared: Arc<Shared>,
    receiving: tokio::net::UdpSocket,
    mut line: Line,
    front: Arc<UdpSocket>,
    to: SocketAddr,
) {
    let mut buffer = vec![0; PACKET_BYTES];
    loop {
        match receiving.recv(&mut buffer).await {
            Ok(length) => line.pass(&shared, &buffer[..length], &front, Some(to)),
            Err(error) => calm_down(&error).await,
        }
    }
}

/// A process that is not there yet is no reason to wait; anything else might not go away by itself.
async fn calm_down(error: &io::Error) {
    if error.kind() != io::ErrorKind::ConnectionRefused {
        tokio::time::sleep(FAILED_PAUSE).await;
    }
}

impl Line {
    fn new(way: Way) -> Line {
        Line { way, packets: 0, last_due: Duration::ZERO }
    }

    /// Does with a packet what is to become of it.
    fn pass(&mut self, shared: &Shared, bytes: &[u8], socket: &Arc<UdpSocket>, to: Option<SocketAddr>) {
        let now = shared.clock.now();
        let number = self.packets;
        self.packets += 1;
        let fate = shared.conditions().fate(&self.way, number, now);
        let (after, overtaken, again) = match fate {
            Fate::Cut => return count(&shared.counts.cut),
            Fate::Lost => return count(&shared.counts.lost),
            Fate::Arrives { after, overtaken, again } => (after, overtaken, again),
        };
        let mut due = now + after;
        if overtaken {
            count(&shared.counts.reordered);
        } else {
            due = due.max(self.last_due);
            self.last_due = due;
        }
        let bytes: Arc<[u8]> = bytes.into();
        let mut under_way = shared.under_way();
        let next = under_way.next_due();
        for (due, counter) in
            [(Some(due), &shared.counts.passed), (again.map(|after| now + after), &shared.counts.duplicated)]
        {
            let Some(due) = due else { continue };
            let packet = Packet { bytes: bytes.clone(), socket: socket.clone(), to };
            count(if under_way.push(due, packet) { counter } else { &shared.counts.overflowed });
        }
        let is_sooner = under_way.next_due() != next;
        drop(under_way);
        if is_sooner {
            shared.sooner.notify_one();
        }
    }
}

/// A socket as two handles: one that waits for packets, and one that any thread may send with.
fn bind(address: SocketAddr) -> io::Result<(tokio::net::UdpSocket, Arc<UdpSocket>)> {
    let socket = UdpSocket::bind(address)?;
    let options = SockRef::from(&socket);
    // With less room, a burst loses packets that nobody asked to be lost.
    _ = options.set_recv_buffer_size(SOCKET_BYTES);
    _ = options.set_send_buffer_size(SOCKET_BYTES);
    socket.set_nonblocking(true)?;
    let sending = Arc::new(socket.try_clone()?);
    Ok((tokio::net::UdpSocket::from_std(socket)?, sending))
}
