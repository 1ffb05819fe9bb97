//! Messages on a stream of bytes, for transports that do not tell where one ends, such as QUIC.
//!
//! Before every message is a head of [`FRAME_HEAD_BYTES`]: the length of what follows the head (u32, little-endian), and
//! what it is (u8, a [`FrameKind`]). This stays so in every version, so that any two can tell each other what they are.

/// Bytes before every message.
pub const FRAME_HEAD_BYTES: usize = 5;

/// What a message on a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The first one of either side.
    Hello = 0,
    /// JSON.
    Text = 1,
    /// Bodies.
    Binary = 2,
}

impl FrameKind {
    /// What is sent before a message of this kind. One that is too long for a head is refused by everybody.
    pub fn head(self, message: &[u8]) -> [u8; FRAME_HEAD_BYTES] {
        let [a, b, c, d] = u32::try_from(message.len()).unwrap_or(u32::MAX).to_le_bytes();
        [a, b, c, d, self as u8]
    }

    /// The head and the message.
    pub fn frame(self, message: &[u8]) -> Vec<u8> {
        [self.head(message).as_slice(), message].concat()
    }
}

/// A message that has come as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed<'a> {
    /// The first one, for [`ClientHello`](super::ClientHello) to read.
    Hello(&'a [u8]),
    /// JSON.
    Text(&'a str),
    /// Bodies.
    Binary(&'a [u8]),
}

impl Framed<'_> {
    /// Bytes in it.
    pub fn size(&self) -> usize {
        match self {
            Framed::Hello(bytes) | Framed::Binary(bytes) => bytes.len(),
            Framed::Text(text) => text.len(),
        }
    }
}

/// Why a stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// Longer than the receiver takes.
    #[error("that message of {length} bytes is too long; at most {length_max} are taken")]
    TooLong {
        /// What its head says.
        length: usize,
        /// What is taken.
        length_max: usize,
    },
    /// The head names no kind of message.
    #[error("{0} is no kind of message: 0 is a hello, 1 text, 2 binary")]
    Kind(u8),
    /// A text that is none.
    #[error("that text is not valid UTF-8")]
    NotText,
}

/// Makes messages of bytes that come in any pieces. Holds what has come of one message, and no more than was pushed.
#[derive(Clone, Debug, Default)]
pub struct Framer {
    bytes: Vec<u8>,
    /// How many of these were handed out already.
    taken: usize,
}

impl Framer {
    /// Takes what came. Hand out what is complete before more is pushed.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message; none until more is pushed. After an error the stream is of no use any more.
    pub fn next(&mut self, length_max: usize) -> Result<Option<Framed<'_>>, FramingError> {
        let Some((&[a, b, c, d, kind], rest)) = self.bytes[self.taken..].split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if kind > FrameKind::Binary as u8 {
            return Err(FramingError::Kind(kind));
        }
        if length > length_max {
            return Err(FramingError::TooLong { length, length_max });
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        self.taken += FRAME_HEAD_BYTES + length;
        Ok(Some(match kind {
            0 => Framed::Hello(message),
            1 => Framed::Text(std::str::from_utf8(message).map_err(|_| FramingError::NotText)?),
            _ => Framed::Binary(message),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything that comes out, as kind and bytes.
    fn read(pieces: &[&[u8]]) -> Result<Vec<(FrameKind, Vec<u8>)>, FramingError> {
        let (mut framer, mut messages) = (Framer::default(), Vec::new());
        for piece in pieces {
            framer.push(piece);
            while let Some(message) = framer.next(100)? {
                messages.push(match message {
                    Framed::Hello(bytes) => (FrameKind::Hello, bytes.to_vec()),
                    Framed::Text(text) => (FrameKind::Text, text.as_bytes().to_vec()),
                    Framed::Binary(bytes) => (FrameKind::Binary, bytes.to_vec()),
                });
            }
        }
        Ok(messages)
    }

    proptest! {
        #[test]
        fn messages_survive_any_cut(lengths in prop::collection::vec(0..100usize, 0..6), size in 1..40usize) {
            let kinds = [FrameKind::Hello, FrameKind::Text, FrameKind::Binary];
            let sent: Vec<_> = lengths.iter().enumerate().map(|(i, length)| (kinds[i % 3], vec![b'x'; *length])).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|(kind, message)| kind.frame(message)).collect();
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            prop_assert_eq!(read(&pieces), Ok(sent));
        }

        #[test]
        fn rubbish_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64), size in 1..9usize) {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            // Whatever it is, it is a value.
            _ = read(&pieces);
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let long = FrameKind::Text.frame(&[b'x'; 101]);
        assert_eq!(read(&[&long[..5]]), Err(FramingError::TooLong { length: 101, length_max: 100 }), "by its head");
        assert_eq!(read(&[&[0, 0, 0, 0, 7]]), Err(FramingError::Kind(7)));
        assert_eq!(read(&[&FrameKind::Text.frame(&[0xff])]), Err(FramingError::NotText));
        assert_eq!(read(&[&[1, 0, 0, 0]]), Ok(Vec::new()), "half a head");
    }
}
