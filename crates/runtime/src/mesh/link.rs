//! What goes on while a connection lasts: frames out of the queues, frames into the inbox.

use bytes::Bytes;
use nimbus_wire::FRAME_BYTES_MAX;
use quinn::{Connection, ReadError, ReadExactError, ReadToEndError, RecvStream, SendDatagramError, SendStream, VarInt};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Shared;
use super::farewell::{Farewell, bid, describe};
use super::inbox::Received;
use super::outgoing::{LATEST_AGE_MAX, LATEST_BYTES_MAX, Single};
use super::peer::{Attached, Link, Peer, add};
use super::pieces::{Datagram, Pieces, cut};
use super::transport::{IDLE_MS_MAX, LATEST_STREAMS_MAX};

/// Bytes of the length before a frame on the ordered stream.
const LENGTH_BYTES: usize = 4;

/// A frame is read in pieces of this size, so that nobody can have memory set aside by promising bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The number with which a stream is given up whose frame is out of date.
const OUT_OF_DATE: VarInt = VarInt::from_u32(1);

/// Ownership goes before updates that the next tick replaces.
const ORDERED_PRIORITY: i32 = 1;

/// Why a link ends.
enum End {
    /// The connection broke.
    Broken,
    /// The other side did what it must not.
    Violation(&'static str),
}

/// Serves a connection until it ends, and says why it did.
pub(crate) async fn serve(shared: &Arc<Shared>, attached: Attached, send: SendStream, recv: RecvStream) -> String {
    let (peer, link) = (&attached.peer, &attached.link);
    let _ = send.set_priority(ORDERED_PRIORITY);
    let end = tokio::select! {
        end = write_ordered(peer, link, send) => end,
        end = write_latest(shared, peer, link) => end,
        end = read_ordered(shared, peer, link, recv) => end,
        end = read_datagrams(shared, peer, link) => end,
        end = read_streams(shared, peer, link) => end,
    };
    let connection = &link.connection;
    match end {
        End::Violation(what) => {
            bid(connection, Farewell::Violation, what);
            what.to_owned()
        }
        End::Broken => {
            // Whatever broke a stream ends the connection, too: both sides start anew together.
            let why = connection.close_reason();
            bid(connection, Farewell::Violation, "the ordered stream has ended");
            why.map_or_else(|| "the ordered stream has ended".to_owned(), |why| describe(&why))
        }
    }
}

async fn write_ordered(peer: &Arc<Peer>, link: &Link, mut send: SendStream) -> End {
    loop {
        let frame = link.outgoing.next_ordered().await;
        let underway = Underway::new(peer, &frame);
        let head = Bytes::copy_from_slice(&underway.length.to_le_bytes());
        if send.write_all_chunks(&mut [head, frame]).await.is_err() {
            return End::Broken;
        }
        underway.sent();
    }
}

async fn write_latest(shared: &Arc<Shared>, peer: &Arc<Peer>, link: &Link) -> End {
    let mut streams = JoinSet::new();
    let mut number = 0_u64;
    loop {
        let Single { since, bytes: frame, copies } = link.outgoing.next_latest().await;
        let underway = Underway::new(peer, &frame);
        let left = LATEST_AGE_MAX.saturating_sub(shared.clock.now().saturating_sub(since));
        if left.is_zero() {
            continue;
        }
        let fits = link.connection.max_datagram_size().is_some_and(|most| frame.len() <= most);
        if fits {
            let mut sent = Ok(());
            for _ in 0..copies {
                sent = sent.and(link.connection.send_datagram_wait(frame.clone()).await);
            }
            match sent {
                Ok(()) => {
                    underway.sent();
                    continue;
                }
                // The path has become narrower in the meantime.
                Err(SendDatagramError::TooLarge) => {}
                Err(_) => return End::Broken,
            }
        }
        if copies > 1 && !fits {
            number += 1;
            match write_pieces(&link.connection, &frame, number, copies).await {
                Ok(true) => {
                    underway.sent();
                    continue;
                }
                Ok(false) => {}
                Err(end) => return end,
            }
        }
        while streams.try_join_next().is_some() {}
        if streams.len() >= LATEST_STREAMS_MAX {
            streams.join_next().await;
        }
        streams.spawn(write_stream(underway, link.connection.clone(), frame, left));
    }
}

/// Sends a frame in pieces, all of them so many times; false when it is too long for that, or the path has become narrower.
async fn write_pieces(connection: &Connection, frame: &Bytes, number: u64, copies: u8) -> Result<bool, End> {
    let pieces = connection.max_datagram_size().map_or_else(Vec::new, |most| cut(frame, number, most));
    for _ in 0..copies {
        for piece in &pieces {
            match connection.send_datagram_wait(piece.clone()).await {
                Ok(()) => {}
                Err(SendDatagramError::TooLarge) => return Ok(false),
                Err(_) => return Err(End::Broken),
            }
        }
    }
    Ok(!pieces.is_empty())
}

/// Sends one frame in a stream of its own, and gives up when it is out of date.
async fn write_stream(underway: Underway, connection: Connection, frame: Bytes, left: Duration) {
    let mut stream = None;
    let written = timeout(left, async {
        let send = stream.insert(connection.open_uni().await.ok()?);
        send.write_chunk(frame).await.ok()?;
        send.finish().ok()
    });
    if let Ok(Some(())) = written.await {
        underway.sent();
    } else if let Some(mut send) = stream {
        let _ = send.reset(OUT_OF_DATE);
    }
}

async fn read_ordered(shared: &Shared, peer: &Peer, link: &Link, mut recv: RecvStream) -> End {
    loop {
        let mut head = [0; LENGTH_BYTES];
        match recv.read_exact(&mut head).await {
            Ok(()) => {}
            Err(ReadExactError::FinishedEarly(_)) => return End::Violation("the ordered stream was ended"),
            Err(ReadExactError::ReadError(error)) => return failed(&error),
        }
        let length = u32::from_le_bytes(head) as usize;
        if length > FRAME_BYTES_MAX {
            return End::Violation("a frame is longer than any may be");
        }
        let mut frame = Vec::new();
        while frame.len() < length {
            let from = frame.len();
            frame.resize(length.min(from + PIECE_BYTES), 0);
            match recv.read_exact(&mut frame[from..]).await {
                Ok(()) => {}
                Err(ReadExactError::FinishedEarly(_)) => return End::Violation("a frame was cut short"),
                Err(ReadExactError::ReadError(error)) => return failed(&error),
            }
        }
        arrived(shared, peer, link.incarnation, frame);
    }
}

fn failed(error: &ReadError) -> End {
    match error {
        ReadError::ConnectionLost(_) => End::Broken,
        _ => End::Violation("the ordered stream was given up"),
    }
}

async fn read_datagrams(shared: &Shared, peer: &Peer, link: &Link) -> End {
    let mut pieces = Pieces::default();
    loop {
        let Ok(datagram) = link.connection.read_datagram().await else { return End::Broken };
        match pieces.take(datagram) {
            Datagram::Frame(frame) => arrived(shared, peer, link.incarnation, frame.into()),
            Datagram::Completed(frame) => arrived(shared, peer, link.incarnation, frame),
            Datagram::Piece => {}
            Datagram::Malformed => return End::Violation("a datagram is no piece of a frame"),
        }
    }
}

/// Reads frames that come in streams of their own. The transport lets only a few be under way.
async fn read_streams(shared: &Arc<Shared>, peer: &Arc<Peer>, link: &Link) -> End {
    let mut streams: JoinSet<Result<(), End>> = JoinSet::new();
    loop {
        tokio::select! {
            next = link.connection.accept_uni() => match next {
                Ok(recv) => {
                    streams.spawn(read_stream(shared.clone(), peer.clone(), link.incarnation, recv));
                }
                Err(_) => return End::Broken,
            },
            Some(done) = streams.join_next() => if let Ok(Err(end)) = done {
                return end;
            },
        }
    }
}

async fn read_stream(shared: Arc<Shared>, peer: Arc<Peer>, incarnation: u16, mut recv: RecvStream) -> Result<(), End> {
    let longest = Duration::from_millis(u64::from(IDLE_MS_MAX));
    match timeout(longest, recv.read_to_end(LATEST_BYTES_MAX)).await {
        Ok(Ok(frame)) => arrived(&shared, &peer, incarnation, frame),
        Ok(Err(ReadToEndError::TooLong)) => return Err(End::Violation("an update is longer than any may be")),
        // Given up by the sender, or so slow that it is out of date. A lost connection is noticed elsewhere.
        Ok(Err(ReadToEndError::Read(_))) | Err(_) => {}
    }
    Ok(())
}

fn arrived(shared: &Shared, peer: &Peer, incarnation: u16, bytes: Vec<u8>) {
    let length = bytes.len();
    if shared.inbox.push(Received { from: peer.name.clone(), role: peer.role, incarnation, bytes }) {
        add(&peer.counts.received, 1);
        add(&peer.counts.received_bytes, length as u64);
    } else {
        add(&peer.counts.unread, 1);
    }
}

/// A frame that left the queue. It counts as lost unless it is handed to the connection, whatever happens on the way.
struct Underway {
    peer: Arc<Peer>,
    length: u32,
    lost: bool,
}

impl Underway {
    /// Frames are far shorter than four gigabytes.
    fn new(peer: &Arc<Peer>, frame: &Bytes) -> Underway {
        Underway { peer: peer.clone(), length: frame.len() as u32, lost: true }
    }

    fn sent(mut self) {
        self.lost = false;
        add(&self.peer.counts.sent, 1);
        add(&self.peer.counts.sent_bytes, u64::from(self.length));
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if self.lost {
            add(&self.peer.counts.lost, 1);
        }
    }
}
