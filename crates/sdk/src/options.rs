//! Settings of a connection.

use nimbus_client::SessionConfig;
use std::time::Duration;

use crate::trust::Trust;

/// How to connect and how to go on. The default suits a gateway that lets everybody in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What lets us in, where the gateway asks for tokens. Good once: the gateway gives us the next ones by itself. When it
    /// refuses those as well, the connection is over ([`Event::Closed`](crate::Event::Closed)): at once if every gateway does, and
    /// after the fourth time if the others cannot be reached.
    pub token: Option<String>,
    /// Which certificates of gateways are trusted, where the address says `quic://` or `wss://`.
    pub trust: Trust,
    /// No bodies before it is said what is [watched](crate::Connection::watch).
    pub only_watched: bool,
    /// Other gateways of the same world, to move to when one dies.
    pub gateways: Vec<String>,
    /// How long one attempt to connect may take.
    pub attempt: Duration,
    /// A gateway speaks twice a second. After this long without a byte it is taken for gone; one that is busy with a long message
    /// over a slow line is not.
    pub silence: Duration,
    /// How motion is shown, how many events are kept, how long answers are awaited.
    pub session: SessionConfig,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            token: None,
            trust: Trust::default(),
            only_watched: false,
            gateways: Vec::new(),
            attempt: Duration::from_secs(8),
            silence: Duration::from_secs(5),
            session: SessionConfig::default(),
        }
    }
}
