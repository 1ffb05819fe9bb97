//! Frames cut into pieces that each fit a datagram, and put together again.
//!
//! A frame that goes in copies goes in pieces, each of them so many times. Of ten packets at 20 % loss, a whole copy arrives once
//! in ten times; three of every piece arrive in full 92 times of 100, without waiting for anything to be sent again.
//!
//! A piece begins with `MARK`, with which no frame does, then the number of its frame, its place and how many there are.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use nimbus_wire::PROTOCOL_VERSION;
use std::collections::BTreeMap;

/// First byte of a piece. Frames begin with their version.
const MARK: u8 = 0xff;
const _: () = assert!(PROTOCOL_VERSION != MARK);
/// Bytes before what a piece carries.
const HEAD_BYTES: usize = 1 + 8 + 2 + 2;
/// Most pieces of one frame. A longer frame is not worth copies: it is no update of a tick.
const PIECES_MAX: usize = 64;
/// Frames that are put together at once, finished ones included. The oldest makes room.
const FRAMES_MAX: usize = 64;

/// The datagrams of at most so many bytes that together are a frame; none if it is too long for that.
pub(super) fn cut(frame: &Bytes, number: u64, datagram_bytes: usize) -> Vec<Bytes> {
    let room = datagram_bytes.saturating_sub(HEAD_BYTES);
    let count = frame.len().div_ceil(room.max(1));
    if room == 0 || count > PIECES_MAX {
        return Vec::new();
    }
    let piece = |(place, part): (usize, &[u8])| {
        let mut datagram = BytesMut::with_capacity(HEAD_BYTES + part.len());
        datagram.put_u8(MARK);
        datagram.put_u64_le(number);
        datagram.put_u16_le(place as u16);
        datagram.put_u16_le(count as u16);
        datagram.put_slice(part);
        datagram.freeze()
    };
    frame.chunks(room).enumerate().map(piece).collect()
}

/// What a datagram was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Datagram {
    /// A frame by itself.
    Frame(Bytes),
    /// The last piece that a frame lacked, and the frame.
    Completed(Vec<u8>),
    /// A piece of a frame that lacks others, or that is complete already.
    Piece,
    /// Cut off, or against the rules above.
    Malformed,
}

/// Frames of one connection of which pieces have arrived.
#[derive(Default)]
pub(super) struct Pieces {
    frames: BTreeMap<u64, Partial>,
}

struct Partial {
    parts: Vec<Option<Bytes>>,
    missing: usize,
}

impl Pieces {
    /// Takes a datagram.
    pub(super) fn take(&mut self, datagram: Bytes) -> Datagram {
        if datagram.first() != Some(&MARK) {
            return Datagram::Frame(datagram);
        }
        let Some((number, place, count)) = head(&datagram) else { return Datagram::Malformed };
        if self.frames.len() >= FRAMES_MAX && !self.frames.contains_key(&number) {
            match self.frames.first_key_value() {
                Some((oldest, _)) if *oldest > number => return Datagram::Piece,
                _ => _ = self.frames.pop_first(),
            }
        }
        let new = || Partial { parts: vec![None; count], missing: count };
        let partial = self.frames.entry(number).or_insert_with(new);
        if partial.missing == 0 {
            return Datagram::Piece;
        }
        if partial.parts.len() != count {
            return Datagram::Malformed;
        }
        // Copied, because a slice would keep all that was received with it in memory.
        if partial.parts[place].replace(Bytes::copy_from_slice(&datagram[HEAD_BYTES..])).is_some() {
            return Datagram::Piece;
        }
        partial.missing -= 1;
        if partial.missing > 0 {
            return Datagram::Piece;
        }
        let parts = std::mem::take(&mut partial.parts);
        Datagram::Completed(parts.into_iter().flatten().flatten().collect())
    }
}

/// Number of the frame, place of the piece, and number of pieces.
fn head(datagram: &[u8]) -> Option<(u64, usize, usize)> {
    let mut head = datagram.get(1..HEAD_BYTES)?;
    let (number, place, count) = (head.get_u64_le(), usize::from(head.get_u16_le()), usize::from(head.get_u16_le()));
    (place < count && count <= PIECES_MAX).then_some((number, place, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Rng;

    fn frame(length: usize) -> Bytes {
        (0..length).map(|i| (i * 7 % 251) as u8).collect::<Vec<u8>>().into()
    }

    #[test]
    fn a_frame_comes_together_once_from_any_one_of_each_piece_in_any_order() {
        let mut rng = Rng::stream(1, 1);
        let mut pieces = Pieces::default();
        for (number, length) in [1, 86, 87, 88, 500, 5_000].into_iter().enumerate() {
            let whole = frame(length);
            let cut = cut(&whole, number as u64, 100);
            assert!(cut.iter().all(|piece| piece.len() <= 100));
            // Every piece twice, the first copy of every other one lost.
            let lost = |place: usize| place.is_multiple_of(2);
            let mut sent: Vec<Bytes> =
                cut.iter().enumerate().filter(|(p, _)| !lost(*p)).map(|(_, b)| b.clone()).collect();
            sent.extend(cut.iter().cloned());
            for i in (1..sent.len()).rev() {
                sent.swap(i, rng.below(i as u64 + 1) as usize);
            }
            let got: Vec<Vec<u8>> = sent
                .into_iter()
                .filter_map(|piece| match pieces.take(piece) {
                    Datagram::Completed(frame) => Some(frame),
                    Datagram::Piece => None,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(got, [whole.to_vec()], "{length} bytes");
        }
    }

    #[test]
    fn what_begins_otherwise_is_a_frame() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.take(frame(40)), Datagram::Frame(frame(40)));
        assert_eq!(pieces.take(Bytes::new()), Datagram::Frame(Bytes::new()));
    }

    #[test]
    fn frames_that_never_come_together_make_room() {
        let mut pieces = Pieces::default();
        for number in 0..10_000 {
            assert_eq!(pieces.take(cut(&frame(500), number, 100)[0].clone()), Datagram::Piece);
            assert!(pieces.frames.len() <= FRAMES_MAX);
        }
        // What comes too late starts nothing anew.
        assert_eq!(pieces.take(cut(&frame(10), 3, 100)[0].clone()), Datagram::Piece);
        assert!(!pieces.frames.contains_key(&3));
    }

    #[test]
    fn rubbish_is_refused() {
        let mut pieces = Pieces::default();
        let good = cut(&frame(500), 1, 100);
        assert_eq!(pieces.take(good[0].slice(..HEAD_BYTES - 1)), Datagram::Malformed);
        let forged = |place: u16, count: u16| {
            let [p, c] = [place.to_le_bytes(), count.to_le_bytes()];
            Bytes::from([&[MARK, 1, 0, 0, 0, 0, 0, 0, 0][..], &p, &c, &[9]].concat())
        };
        for (place, count) in [(0, 0), (3, 3), (0, PIECES_MAX as u16 + 1), (u16::MAX, u16::MAX)] {
            assert_eq!(pieces.take(forged(place, count)), Datagram::Malformed, "{place} of {count}");
        }
        assert_eq!(pieces.take(good[0].clone()), Datagram::Piece);
        assert_eq!(pieces.take(forged(1, 2)), Datagram::Malformed, "of another number of pieces");
        assert!(cut(&frame(PIECES_MAX * 87 + 1), 1, 100).is_empty(), "too long");
    }
}
