//! The exchange of hellos. A connection counts only once both sides have accepted each other.
//!
//! To the side that dials, TLS seems complete before the other side has looked at its certificate. So each side says
//! hello, looks at the hello it gets, and then says [`WELCOME`]; nothing else is said or believed before that.

use quinn::{Connection, ConnectionError, ReadError, ReadExactError, RecvStream, SendStream, WriteError};
use rustls::pki_types::CertificateDer;
use std::time::Duration;

use super::farewell::{Farewell, bid, describe, refused_here};
use super::hello::{HEAD_BYTES, HELLO_BYTES, Hello, HelloError};
use super::identity::certified;
use super::names::{ProcessName, Role};

/// How long TLS and hellos may take together.
pub const HELLO_TIMEOUT: Duration = Duration::from_millis(2_000);

/// Says that a hello is accepted.
const WELCOME: u8 = 0xa5;

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotMet {
    /// What to tell people.
    pub(crate) why: String,
    /// Whether it was this side that did not accept the other one.
    pub(crate) refused_here: bool,
}

/// Says hello on a fresh stream and listens to the other side's. `expected` has the last word on
/// who may be met.
pub(crate) async fn greet(
    own: &Hello,
    connection: &Connection,
    (send, recv): (&mut SendStream, &mut RecvStream),
    expected: impl FnOnce(&Hello) -> Result<(), String>,
) -> Result<Hello, NotMet> {
    let Some(peer) = peer_certificate(connection) else {
        return Err(refuse(connection, "its certificate does not name exactly one process and role"));
    };
    send.write_all(&own.encode()).await.map_err(broken_writing)?;
    let mut bytes = [0; HELLO_BYTES];
    let (head, rest) = bytes.split_at_mut(HEAD_BYTES);
    read(connection, recv, head).await?;
    let accepted = |checked: Result<(), HelloError>| checked.map_err(|error| refuse(connection, &error.to_string()));
    let mut start = [0; HEAD_BYTES];
    start.copy_from_slice(head);
    let version = Hello::decode_version(&start).map_err(|error| refuse(connection, &error.to_string()))?;
    accepted(own.check_version(version, &peer.0))?;
    read(connection, recv, rest).await?;
    let theirs = Hello::decode(&bytes).map_err(|error| refuse(connection, &error.to_string()))?;
    accepted(own.check(&theirs, &peer))?;
    expected(&theirs).map_err(|why| refuse(connection, &why))?;
    send.write_all(&[WELCOME]).await.map_err(broken_writing)?;
    let mut answer = [0];
    read(connection, recv, &mut answer).await?;
    if answer != [WELCOME] {
        return Err(refuse(connection, "it says more than a hello before it is accepted"));
    }
    Ok(theirs)
}

/// Ends a connection with somebody who is not accepted.
pub(crate) fn refuse(connection: &Connection, why: &str) -> NotMet {
    bid(connection, Farewell::Refused, why);
    NotMet { why: why.to_owned(), refused_here: true }
}

/// The connection broke before both sides had accepted each other.
pub(crate) fn broken(error: ConnectionError) -> NotMet {
    NotMet { why: describe(&error), refused_here: refused_here(&error) }
}

/// The process that the other side's certificate is for. TLS has made sure that the CA made the certificate.
fn peer_certificate(connection: &Connection) -> Option<(ProcessName, Role)> {
    let chain = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    certified(chain.first()?)
}

async fn read(connection: &Connection, recv: &mut RecvStream, bytes: &mut [u8]) -> Result<(), NotMet> {
    recv.read_exact(bytes).await.map_err(|error| match error {
        ReadExactError::ReadError(ReadError::ConnectionLost(error)) => broken(error),
        _ => refuse(connection, "it did not say hello"),
    })
}

fn broken_writing(error: WriteError) -> NotMet {
    match error {
        WriteError::ConnectionLost(error) => broken(error),
        other => NotMet { why: other.to_string(), refused_here: false },
    }
}
