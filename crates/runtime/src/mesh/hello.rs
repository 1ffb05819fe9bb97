//! The first thing said on a connection, both ways: who speaks, and in which version.
//!
//! Layout, all of fixed width: magic (8 bytes), version (1), role (1), incarnation (2, little endian), then cluster and
//! process name ([`NAME_BYTES_MAX`] each, filled up with zeros). Magic and version stay where they are for ever, so that
//! any two versions can tell each other what they are.

use nimbus_wire::PROTOCOL_VERSION;

use super::identity::Identity;
use super::names::{ClusterName, NAME_BYTES_MAX, ProcessName, Role};

/// Bytes of a hello.
pub const HELLO_BYTES: usize = HEAD_BYTES + 3 + 2 * NAME_BYTES_MAX;

/// Bytes of magic and version.
pub(crate) const HEAD_BYTES: usize = 9;

const MAGIC: [u8; 8] = *b"\x89nimbus\n";

/// Who a process says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Version of the frames it speaks.
    pub version: u8,
    /// Its cluster.
    pub cluster: ClusterName,
    /// What it is for.
    pub role: Role,
    /// Its name.
    pub name: ProcessName,
    /// Which life of the process this is; a process that was started again has a higher one.
    pub incarnation: u16,
}

/// Why a hello is not accepted. The text is what the refused side gets to read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The bytes are no hello.
    #[error("the first bytes are not those of a nimbus process")]
    Malformed,
    /// The other side speaks another version.
    #[error("{peer} speaks protocol version {theirs}, {own} speaks version {ours}; run the same release everywhere")]
    Version {
        /// Who was refused.
        peer: ProcessName,
        /// Its version.
        theirs: u8,
        /// Who refused.
        own: ProcessName,
        /// Its version.
        ours: u8,
    },
    /// The other side belongs to another cluster.
    #[error("{peer} belongs to cluster `{theirs}`, {own} to cluster `{ours}`")]
    Cluster {
        /// Who was refused.
        peer: ProcessName,
        /// Its cluster.
        theirs: ClusterName,
        /// Who refused.
        own: ProcessName,
        /// Its cluster.
        ours: ClusterName,
    },
    /// What it says of itself is not what its certificate says.
    #[error("it says it is the {role} `{name}`, but its certificate is for the {certified_role} `{certified}`")]
    NotCertified {
        /// The role it claims.
        role: Role,
        /// The name it claims.
        name: ProcessName,
        /// The role it has.
        certified_role: Role,
        /// The name it has.
        certified: ProcessName,
    },
}

impl Hello {
    /// What the process with this identity says in this version.
    pub fn new(cluster: ClusterName, identity: &Identity, incarnation: u16) -> Hello {
        let (role, name) = (identity.role(), identity.name().clone());
        Hello { version: PROTOCOL_VERSION, cluster, role, name, incarnation }
    }

    /// The hello as bytes.
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let role = match self.role {
            Role::Coordinator => 1,
            Role::Node => 2,
            Role::Gateway => 3,
        };
        let [low, high] = self.incarnation.to_le_bytes();
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&[self.version, role, low, high]);
        let (cluster, name) = (self.cluster.as_str().as_bytes(), self.name.as_str().as_bytes());
        bytes[12..12 + cluster.len()].copy_from_slice(cluster);
        bytes[12 + NAME_BYTES_MAX..][..name.len()].copy_from_slice(name);
        bytes
    }

    /// The version that the first bytes of a hello name.
    pub(crate) fn decode_version(head: &[u8; HEAD_BYTES]) -> Result<u8, HelloError> {
        let [magic @ .., version] = head;
        if *magic == MAGIC { Ok(*version) } else { Err(HelloError::Malformed) }
    }

    /// Bytes from outside as a hello of this version, or why they are none.
    pub fn decode(bytes: &[u8; HELLO_BYTES]) -> Result<Hello, HelloError> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or(HelloError::Malformed)?;
        let version = Hello::decode_version(head)?;
        let ([role, low, high], names) = rest.split_first_chunk::<3>().ok_or(HelloError::Malformed)?;
        let (cluster, name) = names.split_at(NAME_BYTES_MAX);
        let role = match role {
            1 => Role::Coordinator,
            2 => Role::Node,
            3 => Role::Gateway,
            _ => return Err(HelloError::Malformed),
        };
        Ok(Hello {
            version,
            cluster: ClusterName::new(text(cluster)?).map_err(|_| HelloError::Malformed)?,
            role,
            name: ProcessName::new(text(name)?).map_err(|_| HelloError::Malformed)?,
            incarnation: u16::from_le_bytes([*low, *high]),
        })
    }

    /// Says whether the version of a certified peer will do. Comes before anything else of its hello is looked at.
    pub(crate) fn check_version(&self, theirs: u8, peer: &ProcessName) -> Result<(), HelloError> {
        if theirs == self.version {
            return Ok(());
        }
        Err(HelloError::Version { peer: peer.clone(), theirs, own: self.name.clone(), ours: self.version })
    }

    /// Says whether the hello of a peer is that of a process of the same cluster and of its certificate.
    pub(crate) fn check(&self, theirs: &Hello, certified: &(ProcessName, Role)) -> Result<(), HelloError> {
        let (peer, role) = certified;
        if theirs.cluster != self.cluster {
            return Err(HelloError::Cluster {
                peer: peer.clone(),
                theirs: theirs.cluster.clone(),
                own: self.name.clone(),
                ours: self.cluster.clone(),
            });
        }
        if (&theirs.name, theirs.role) != (peer, *role) {
            return Err(HelloError::NotCertified {
                role: theirs.role,
                name: theirs.name.clone(),
                certified_role: *role,
                certified: peer.clone(),
            });
        }
        Ok(())
    }
}

/// A name that is filled up with zeros.
fn text(field: &[u8]) -> Result<&str, HelloError> {
    let length = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (name, fill) = field.split_at(length);
    if fill.iter().any(|byte| *byte != 0) {
        return Err(HelloError::Malformed);
    }
    std::str::from_utf8(name).map_err(|_| HelloError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        Hello {
            version: 1,
            cluster: ClusterName::new("demo").unwrap(),
            role: Role::Node,
            name: ProcessName::new(&"n".repeat(NAME_BYTES_MAX)).unwrap(),
            incarnation: 0x1234,
        }
    }

    proptest! {
        #[test]
        fn damaged_hellos_never_panic_and_mean_one_thing(at in 0..HELLO_BYTES, value in any::<u8>()) {
            let mut bytes = hello().encode();
            bytes[at] = value;
            if let Ok(read) = Hello::decode(&bytes) {
                prop_assert_eq!(read.encode(), bytes);
            }
        }

        #[test]
        fn rubbish_is_no_hello(bytes in prop::array::uniform32(any::<u8>())) {
            let mut long = [0; HELLO_BYTES];
            long[..32].copy_from_slice(&bytes);
            prop_assert_eq!(Hello::decode(&long), Err(HelloError::Malformed));
        }
    }

    #[test]
    fn a_hello_survives_the_wire() {
        for role in Role::ALL {
            let sent = Hello { role, ..hello() };
            assert_eq!(Hello::decode(&sent.encode()), Ok(sent));
        }
    }

    #[test]
    fn refusals_name_both_sides() {
        let (own, peer) = (hello(), ProcessName::new("node-7").unwrap());
        let text = own.check_version(9, &peer).unwrap_err().to_string();
        assert!(text.contains("version 9") && text.contains("version 1") && text.contains("node-7"), "{text}");
        let theirs = Hello { cluster: ClusterName::new("other").unwrap(), ..hello() };
        let certified = (own.name.clone(), Role::Node);
        let text = own.check(&theirs, &certified).unwrap_err().to_string();
        assert!(text.contains("`other`") && text.contains("`demo`"), "{text}");
        let text = own.check(&hello(), &(peer, Role::Gateway)).unwrap_err().to_string();
        assert!(text.contains("gateway `node-7`"), "{text}");
        assert_eq!(own.check(&hello(), &certified), Ok(()));
    }
}
