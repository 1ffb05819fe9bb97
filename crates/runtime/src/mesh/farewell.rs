//! How connections end, and what people get to read about it.

use quinn::{Connection, ConnectionError, VarInt};

use super::transport::IDLE_MS_MAX;

/// Longest text from outside that is kept.
const REASON_CHARS_MAX: usize = 300;

/// Why a process ends a connection. The other side is told the number and a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// The process stops.
    Leaving = 1,
    /// The hello, or who sent it, is not accepted.
    Refused = 2,
    /// There is a newer connection with the same process.
    Superseded = 3,
    /// The other process is no longer one to talk to.
    Dismissed = 4,
    /// The other side did what it must not.
    Violation = 5,
}

/// Ends a connection and tells the other side why.
pub(crate) fn bid(connection: &Connection, why: Farewell, reason: &str) {
    connection.close(VarInt::from_u32(why as u32), reason.as_bytes());
}

/// What an ended connection means, for people.
pub(crate) fn describe(error: &ConnectionError) -> String {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            let refused = close.error_code == VarInt::from_u32(Farewell::Refused as u32);
            format!(
                "{}: {}",
                if refused { "refused by the other side" } else { "ended by the other side" },
                plain(&close.reason)
            )
        }
        ConnectionError::ConnectionClosed(close) => {
            format!("refused by the other side: {} ({})", plain(&close.reason), close.error_code)
        }
        ConnectionError::TransportError(error) => format!("refused here: {}", plain(error.reason.as_bytes())),
        ConnectionError::TimedOut => format!("nothing was heard for {IDLE_MS_MAX} ms"),
        ConnectionError::Reset => "the other side does not know the connection; it was started again".to_owned(),
        ConnectionError::LocallyClosed => "ended on this side".to_owned(),
        ConnectionError::VersionMismatch => "the other side speaks another version of QUIC".to_owned(),
        ConnectionError::CidsExhausted => "too many connections".to_owned(),
    }
}

/// Whether an ended connection means that this side did not accept the other one.
pub(crate) fn refused_here(error: &ConnectionError) -> bool {
    matches!(error, ConnectionError::TransportError(_) | ConnectionError::VersionMismatch)
}

/// Text from outside, short and on one line.
fn plain(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().take(REASON_CHARS_MAX).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_tamed() {
        assert_eq!(plain(b"a\n\x1b[2Jb\xff"), "a  [2Jb\u{fffd}");
        assert_eq!(plain(&[b'x'; 1000]).len(), REASON_CHARS_MAX);
    }
}
