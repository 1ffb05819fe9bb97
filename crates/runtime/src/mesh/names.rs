//! What processes and clusters are called, and what a process is for.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Longest name of a process or a cluster. A label of a DNS name has room for twice as much.
pub const NAME_BYTES_MAX: usize = 32;

/// The domain under which certificates name processes.
pub(crate) const DOMAIN: &str = "nimbus";

/// What a process is for. It is part of the certificate, so that nobody can take on another role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Decides who has which region.
    Coordinator,
    /// Has regions and keeps backups of others.
    Node,
    /// Serves viewers.
    Gateway,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 3] = [Role::Coordinator, Role::Node, Role::Gateway];

    /// The role as it stands in certificates and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Coordinator => "coordinator",
            Role::Node => "node",
            Role::Gateway => "gateway",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why something cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name: use 1 to {NAME_BYTES_MAX} of the characters a-z, 0-9 and -, and no - at the beginning or end"
)]
pub struct NameError(String);

/// The name of a process, unique in its cluster. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessName(Arc<str>);

/// The name of a cluster. Processes of different clusters do not talk, even when one CA made their certificates.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterName(Arc<str>);

impl ProcessName {
    /// Makes sure that a text is a name.
    pub fn new(name: &str) -> Result<ProcessName, NameError> {
        checked(name).map(ProcessName)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name under which a certificate vouches for a process and its role.
    pub fn certified(&self, role: Role) -> String {
        format!("{}.{role}.{DOMAIN}", self.0)
    }
}

impl ClusterName {
    /// Makes sure that a text is a name.
    pub fn new(name: &str) -> Result<ClusterName, NameError> {
        checked(name).map(ClusterName)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A process and its role from the name in a certificate; none when the name is not of that kind.
pub(crate) fn parse_certified(name: &str) -> Option<(ProcessName, Role)> {
    let (process, role) = name.strip_suffix(DOMAIN)?.strip_suffix('.')?.split_once('.')?;
    let role = Role::ALL.into_iter().find(|known| known.as_str() == role)?;
    Some((ProcessName::new(process).ok()?, role))
}

/// Lower case only: names in certificates are compared without regard to case, and ours must not be equal there.
fn checked(name: &str) -> Result<Arc<str>, NameError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
    if fits && name.bytes().all(plain) && !name.starts_with('-') && !name.ends_with('-') {
        Ok(name.into())
    } else {
        Err(NameError(name.chars().take(2 * NAME_BYTES_MAX).flat_map(char::escape_debug).collect()))
    }
}

macro_rules! text {
    ($name:ty) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(name: &str) -> Result<Self, NameError> {
                <$name>::new(name)
            }
        }
    };
}

text!(ProcessName);
text!(ClusterName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_labels() {
        for good in ["a", "node-0", "0", &"x".repeat(NAME_BYTES_MAX)] {
            assert_eq!(ProcessName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "-a", "a-", "Node", "a.b", "a b", "a\n", "ä", "*", "../a", &"x".repeat(NAME_BYTES_MAX + 1)] {
            assert!(ProcessName::new(bad).is_err(), "{bad:?}");
        }
        assert!(!ProcessName::new("a\nb").unwrap_err().to_string().contains('\n'));
    }

    #[test]
    fn certificates_name_process_and_role() {
        let name = ProcessName::new("node-0").unwrap();
        for role in Role::ALL {
            assert_eq!(parse_certified(&name.certified(role)), Some((name.clone(), role)));
        }
        for other in ["localhost", "nimbus", ".nimbus", "node-0.nimbus", "node-0.king.nimbus", "a.b.node.nimbus"] {
            assert_eq!(parse_certified(other), None, "{other}");
        }
    }
}
