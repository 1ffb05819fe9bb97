//! The first message of a client that comes over QUIC. Over a WebSocket, the address says the same.
//!
//! Layout: version of the protocol (u32, little-endian), which bodies it wants (u8: 0 all, 1 only those that it watches),
//! and then its connect token, which is empty for a client that has none. The version stays where it is for ever.

use super::CLIENT_PROTOCOL;

/// What both ends of a client's connection name as their application protocol, so that nobody takes it for the mesh.
pub const CLIENT_ALPN: &[u8] = b"nimbus-client";

/// Longest hello that is looked at.
pub const CLIENT_HELLO_BYTES_MAX: usize = 1024;

/// Code that a gateway ends a connection with which it has served, as over a WebSocket. Lower ones are refusals.
pub const CLIENT_GOODBYE: u32 = 1008;

/// How a client introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHello {
    /// No bodies before it says what it watches.
    pub watches: bool,
    /// What lets it in, where that is asked for.
    pub token: Option<String>,
}

/// Why a hello is not accepted. The text is what the refused side gets to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientHelloError {
    /// The bytes are no hello.
    #[error("the first message is no hello: version (u32), bodies (u8: 0 all, 1 watched), then the token")]
    Malformed,
    /// The client speaks another version.
    #[error("the client speaks protocol version {0}, this gateway speaks version {ours}", ours = CLIENT_PROTOCOL)]
    Version(u32),
}

impl ClientHello {
    /// The hello as bytes, in this version.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = CLIENT_PROTOCOL.to_le_bytes().to_vec();
        bytes.push(u8::from(self.watches));
        bytes.extend_from_slice(self.token.as_deref().unwrap_or_default().as_bytes());
        bytes
    }

    /// Bytes from outside as a hello of this version, or why they are none.
    pub fn decode(bytes: &[u8]) -> Result<ClientHello, ClientHelloError> {
        let (version, rest) = bytes.split_first_chunk().ok_or(ClientHelloError::Malformed)?;
        let version = u32::from_le_bytes(*version);
        if version != CLIENT_PROTOCOL {
            return Err(ClientHelloError::Version(version));
        }
        let (watches, token) = match rest.split_first() {
            Some((0, token)) => (false, token),
            Some((1, token)) => (true, token),
            _ => return Err(ClientHelloError::Malformed),
        };
        let token = std::str::from_utf8(token).map_err(|_| ClientHelloError::Malformed)?;
        Ok(ClientHello { watches, token: (!token.is_empty()).then(|| token.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_hello_survives_the_wire(watches: bool, token in prop::option::of("[a-z0-9._-]{1,80}")) {
            let hello = ClientHello { watches, token };
            prop_assert_eq!(ClientHello::decode(&hello.encode()), Ok(hello));
        }

        #[test]
        fn whatever_comes_means_one_thing_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(hello) = ClientHello::decode(&bytes) {
                prop_assert_eq!(hello.encode(), bytes);
            }
        }
    }

    #[test]
    fn another_version_is_named_whatever_follows() {
        let error = ClientHello::decode(&[9, 0, 0, 0, 77]).unwrap_err();
        assert_eq!(error, ClientHelloError::Version(9));
        let text = error.to_string();
        assert!(text.contains("version 9") && text.contains(&format!("version {CLIENT_PROTOCOL}")), "{text}");
        for bad in [&[][..], &[1, 0, 0], &[1, 0, 0, 0], &[1, 0, 0, 0, 2], &[1, 0, 0, 0, 0, 0xff]] {
            assert_eq!(ClientHello::decode(bad), Err(ClientHelloError::Malformed), "{bad:?}");
        }
    }
}
