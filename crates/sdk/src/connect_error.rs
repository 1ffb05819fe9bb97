//! Why a program is not connected.

/// Longest reason taken over from a gateway.
const REASON_CHARS_MAX: usize = 300;

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The address is none, or the token is none.
    #[error("{address}: {problem}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody answers there, or not as a gateway does.
    #[error("{gateway} cannot be reached: {problem}")]
    Unreachable {
        /// Which gateway.
        gateway: String,
        /// Why not.
        problem: String,
    },
    /// The gateway shows a certificate that is not trusted.
    #[error("{gateway} is not trusted: {problem}; {help}", help = TRUST_HELP)]
    Untrusted {
        /// Which gateway.
        gateway: String,
        /// What is wrong with its certificate, or with what it is held against.
        problem: String,
    },
    /// The gateway does not let us in.
    #[error("{gateway} does not let us in ({status}): {reason}")]
    Refused {
        /// Which gateway.
        gateway: String,
        /// 401 without a token, 403 with one that is not good, 426 for another version of the protocol, 503 when it is full.
        status: u16,
        /// For a person.
        reason: String,
    },
    /// It let us in, but told nothing of a world in time.
    #[error("{gateway} let us in but showed no world in time")]
    Silent {
        /// Which gateway.
        gateway: String,
    },
}

const TRUST_HELP: &str = "set `Options::trust` to the fingerprint that the gateway prints when it starts (`Trust::Pinned`), or \
    to the CA that made its certificate (`Trust::Ca`)";

impl ConnectError {
    /// True when the gateway answered that it will not have us, and asking again is of no use.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, ConnectError::Refused { status: 401 | 403, .. })
    }

    /// What went wrong with a gateway that nothing else is known of.
    pub(crate) fn unreachable(gateway: &str, problem: impl ToString) -> ConnectError {
        ConnectError::Unreachable { gateway: gateway.to_owned(), problem: problem.to_string() }
    }

    pub(crate) fn untrusted(gateway: &str, problem: impl ToString) -> ConnectError {
        ConnectError::Untrusted { gateway: gateway.to_owned(), problem: problem.to_string() }
    }

    pub(crate) fn refused(gateway: &str, status: u16, reason: &[u8]) -> ConnectError {
        ConnectError::Refused { gateway: gateway.to_owned(), status, reason: words(reason) }
    }
}

/// What a gateway says, for a person: not too long, and always text.
pub(crate) fn words(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().chars().take(REASON_CHARS_MAX).collect()
}
