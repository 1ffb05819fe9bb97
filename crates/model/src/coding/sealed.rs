//! What is kept or sent whole: a name of its form and a checksum in front, so that damage is found before anything is read.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Allowance, read_within, write_to};
use crate::Mixer;

/// Bytes in front of the value: the name of its form and a checksum of what follows.
pub const SEAL_LEN: usize = 16;

/// Why sealed bytes are not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// They do not begin with the name.
    #[error("it is not one, or of another version")]
    Format,
    /// They have been cut or changed since they were written.
    #[error("it is damaged")]
    Checksum,
    /// They are whole, but not such a value.
    #[error("its content does not fit together")]
    Content,
}

/// A value as bytes behind a name and a checksum.
pub fn write_sealed(name: &[u8; 8], value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SEAL_LEN);
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&[0; 8]);
    let mut bytes = write_to(value, bytes);
    let sum = checksum(&bytes[SEAL_LEN..]);
    bytes[8..SEAL_LEN].copy_from_slice(&sum);
    bytes
}

/// The value that [`write_sealed`] wrote under that name. The checksum is no defence against forgery; the allowance is one
/// against forged sizes.
pub fn read_sealed<T: DeserializeOwned>(name: &[u8; 8], bytes: &[u8], allowance: Allowance) -> Result<T, Broken> {
    let (written_name, rest) = bytes.split_first_chunk::<8>().ok_or(Broken::Format)?;
    let (sum, state) = rest.split_first_chunk::<8>().ok_or(Broken::Format)?;
    if written_name != name {
        return Err(Broken::Format);
    }
    if *sum != checksum(state) {
        return Err(Broken::Checksum);
    }
    read_within(state, allowance).map_err(|_| Broken::Content)
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut mixer = Mixer::new();
    mixer.bytes(bytes);
    mixer.finish().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &[u8; 8] = b"test\0\0\0\x01";

    fn read(bytes: &[u8]) -> Result<Vec<u32>, Broken> {
        read_sealed(NAME, bytes, Allowance::MESSAGE)
    }

    #[test]
    fn damage_is_told_from_another_form_and_from_nonsense() {
        let whole = write_sealed(NAME, &vec![1u32, 2, 3]);
        assert_eq!(read(&whole), Ok(vec![1, 2, 3]));
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 4;
            let broken = if place < 8 { Broken::Format } else { Broken::Checksum };
            assert_eq!(read(&changed), Err(broken), "at {place}");
        }
        assert_eq!(read(&whole[..10]), Err(Broken::Format));
        assert_eq!(read(&write_sealed(NAME, &5u8)), Err(Broken::Content));
    }
}
