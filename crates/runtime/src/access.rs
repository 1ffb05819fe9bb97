//! Whom a gateway lets in, and as what: connect tokens.
//!
//! A token is one line of text that whoever has the secret makes for one client, for one connection, for a short time:
//! `v1.ROLE.UNTIL.ID.MAC`. UNTIL is a second of the calendar, ID 32 hexadecimal digits that are never used again, and MAC the
//! HMAC-SHA256 of everything before its dot, in base64 for addresses without padding. Nothing else has to be kept anywhere,
//! so a game's own login service needs the secret and no connection to a gateway.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nimbus_wire::client::ClientRole;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Bytes of a secret, at least.
const SECRET_BYTES_MIN: usize = 32;
/// Longest file of a secret that is read.
const SECRET_FILE_BYTES_MAX: u64 = 4096;
/// Longest token that is looked at.
const TOKEN_BYTES_MAX: usize = 256;
/// A token is good for at most this long: what was written down somewhere should not open doors tomorrow.
pub const VALID_MAX: Duration = Duration::from_secs(60 * 60);
/// Used tokens that are remembered until they run out. When there are more, nobody with a token is let in for a while.
const USED_MAX: usize = 100_000;

type Id = [u8; 16];

/// What tokens are signed with.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read or written.
    #[error("the secret {path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The file does not hold one.
    #[error("{0} holds no secret: write at least 32 random bytes in base64, or make one with `nimbus token --new`")]
    NoSecret(String),
    /// The machine has no randomness to give.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// Why a client is not let in. The words are for the person at the other end, and tell nothing that helps to guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// It has none, and without one nobody is let in.
    #[error("this world lets nobody in without a token; ask whoever runs it for one")]
    Missing,
    /// It is no token, or was not signed with this secret.
    #[error("that token is not valid here")]
    Invalid,
    /// Its time is over.
    #[error("that token has run out; get a new one")]
    RunOut,
    /// It would be good for longer than any token may.
    #[error("that token is good for longer than an hour; get one for a shorter time")]
    TooLong,
    /// Somebody came with it before.
    #[error("that token was used before; get a new one for every connection")]
    Used,
    /// Too many came.
    #[error("too many clients came with tokens of late; try again in a while")]
    TooMany,
}

impl Secret {
    /// From bytes that nobody can guess; none when they are too few.
    pub fn new(bytes: &[u8]) -> Option<Secret> {
        (bytes.len() >= SECRET_BYTES_MIN).then(|| Secret(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// From a file that holds it in base64.
    pub fn read(path: &Path) -> Result<Secret, SecretError> {
        let file = |source| SecretError::File { path: path.display().to_string(), source };
        if std::fs::metadata(path).map_err(file)?.len() > SECRET_FILE_BYTES_MAX {
            return Err(SecretError::NoSecret(path.display().to_string()));
        }
        let text = std::fs::read_to_string(path).map_err(file)?;
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok();
        bytes.and_then(|bytes| Secret::new(&bytes)).ok_or_else(|| SecretError::NoSecret(path.display().to_string()))
    }

    /// Makes a new one in a file that only its owner can read. A file that is there stays as it is, and that is an error.
    pub fn make(path: &Path) -> Result<(), SecretError> {
        let mut bytes = [0; SECRET_BYTES_MIN];
        SystemRandom::new().fill(&mut bytes).map_err(|_| SecretError::NoRandomness)?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        let written = file.and_then(|mut file| writeln!(file, "{}", URL_SAFE_NO_PAD.encode(bytes)));
        written.map_err(|source| SecretError::File { path: path.display().to_string(), source })
    }

    /// A token for one connection as `role` that is good for `valid` from the second `now_s` of the calendar on.
    pub fn issue(&self, role: ClientRole, valid: Duration, now_s: u64) -> Result<String, SecretError> {
        let mut id: Id = [0; 16];
        SystemRandom::new().fill(&mut id).map_err(|_| SecretError::NoRandomness)?;
        let until = now_s.saturating_add(valid.min(VALID_MAX).as_secs());
        let said = format!("v1.{role}.{until}.{:032x}", u128::from_be_bytes(id));
        let mac = hmac::sign(&self.0, said.as_bytes());
        Ok(format!("{said}.{}", URL_SAFE_NO_PAD.encode(mac)))
    }

    /// What a token says, if this secret signed it.
    fn verify(&self, token: &str) -> Option<(ClientRole, u64, Id)> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (said, mac) = token.rsplit_once('.')?;
        hmac::verify(&self.0, said.as_bytes(), &URL_SAFE_NO_PAD.decode(mac).ok()?).ok()?;
        let mut words = said.split('.');
        let mut word = || words.next();
        if word()? != "v1" {
            return None;
        }
        let (role, until, id) = (word()?.parse().ok()?, word()?.parse().ok()?, word()?);
        let id = u128::from_str_radix(id, 16).ok().filter(|_| id.len() == 32)?;
        word().is_none().then_some((role, until, id.to_be_bytes()))
    }
}

/// Who is let in.
#[derive(Debug)]
pub enum Access {
    /// Everybody, and may do everything: a world on one's own machine.
    Open,
    /// Whoever has a token, once.
    Guarded(Guard),
}

/// What a door that asks for tokens knows.
#[derive(Debug)]
pub struct Guard {
    secret: Secret,
    /// What those may do who come without a token; none are let in if there is nothing.
    anonymous: Option<ClientRole>,
    /// Until when a token is good, and its number.
    used: Mutex<BTreeSet<(u64, Id)>>,
}

impl Access {
    /// Asks for tokens signed with this secret.
    pub fn guarded(secret: Secret, anonymous: Option<ClientRole>) -> Access {
        Access::Guarded(Guard { secret, anonymous, used: Mutex::default() })
    }

    /// A token for a client that is here already, with which it can come again: to another gateway, or after a break. None
    /// where nobody needs one.
    pub fn renew(&self, role: ClientRole, now_s: u64) -> Option<String> {
        let Access::Guarded(guard) = self else { return None };
        guard.secret.issue(role, VALID_MAX, now_s).ok()
    }

    /// As what a client is let in that comes at the second `now_s` of the calendar. A token that was good is used up.
    pub fn admit(&self, token: Option<&str>, now_s: u64) -> Result<ClientRole, AccessError> {
        let Access::Guarded(guard) = self else { return Ok(ClientRole::Admin) };
        let Some(token) = token else { return guard.anonymous.ok_or(AccessError::Missing) };
        let (role, until, id) = guard.secret.verify(token).ok_or(AccessError::Invalid)?;
        if until < now_s {
            return Err(AccessError::RunOut);
        }
        if until - now_s > VALID_MAX.as_secs() {
            return Err(AccessError::TooLong);
        }
        let mut used = guard.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.split_off(&(now_s, [0; 16]));
        if used.len() >= USED_MAX {
            return Err(AccessError::TooMany);
        }
        if used.insert((until, id)) { Ok(role) } else { Err(AccessError::Used) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn secret(byte: u8) -> Secret {
        Secret::new(&[byte; 32]).unwrap()
    }

    #[test]
    fn a_token_opens_the_door_once_and_while_it_is_fresh() {
        let access = Access::guarded(secret(1), None);
        let token = secret(1).issue(ClientRole::Player, MINUTE, 1_000).unwrap();
        assert_eq!(access.admit(Some(&token), 1_061), Err(AccessError::RunOut));
        assert_eq!(access.admit(Some(&token), 1_060), Ok(ClientRole::Player));
        assert_eq!(access.admit(Some(&token), 1_060), Err(AccessError::Used));
        let again = access.renew(ClientRole::Player, 1_060).unwrap();
        assert_eq!(access.admit(Some(&again), 4_660), Ok(ClientRole::Player));
        assert_eq!(Access::Open.renew(ClientRole::Admin, 0), None);
        let long = "v1.admin.99999999.00000000000000000000000000000001";
        let mac = URL_SAFE_NO_PAD.encode(hmac::sign(&secret(1).0, long.as_bytes()));
        assert_eq!(access.admit(Some(&format!("{long}.{mac}")), 1_000), Err(AccessError::TooLong));
    }

    #[test]
    fn nobody_makes_a_token_without_the_secret() {
        let access = Access::guarded(secret(1), Some(ClientRole::Viewer));
        let foreign = secret(2).issue(ClientRole::Admin, MINUTE, 1_000).unwrap();
        assert_eq!(access.admit(Some(&foreign), 1_000), Err(AccessError::Invalid));
        let own = secret(1).issue(ClientRole::Player, MINUTE, 1_000).unwrap();
        let promoted = own.replace("player", "admin");
        for bad in [promoted.as_str(), "", "v1", "v1.admin.1.2.3", &own[1..], &"x".repeat(10_000)] {
            assert_eq!(access.admit(Some(bad), 1_000), Err(AccessError::Invalid), "{bad}");
        }
        for i in 0..own.len() {
            let mut bytes = own.clone().into_bytes();
            bytes[i] ^= 1;
            let damaged = String::from_utf8(bytes).unwrap();
            assert!(access.admit(Some(&damaged), 1_000).is_err(), "{damaged}");
        }
        assert_eq!(access.admit(None, 1_000), Ok(ClientRole::Viewer));
        assert_eq!(Access::guarded(secret(1), None).admit(None, 1_000), Err(AccessError::Missing));
        assert_eq!(Access::Open.admit(None, 0), Ok(ClientRole::Admin));
    }

    #[test]
    fn a_secret_is_made_once_is_read_again_and_is_never_shown() {
        let path = std::env::temp_dir().join(format!("nimbus-secret-{}", std::process::id()));
        Secret::make(&path).unwrap();
        assert!(matches!(Secret::make(&path), Err(SecretError::File { .. })), "it is not written over");
        let made = Secret::read(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!format!("{made:?}{:?}", Access::guarded(made.clone(), None)).contains(text.trim()));
        let token = made.issue(ClientRole::Builder, MINUTE, 5).unwrap();
        assert_eq!(Access::guarded(Secret::read(&path).unwrap(), None).admit(Some(&token), 5), Ok(ClientRole::Builder));
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(Secret::read(&path), Err(SecretError::NoSecret(_))));
        std::fs::remove_file(&path).unwrap();
    }
}
