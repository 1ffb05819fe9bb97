//! The encoded group inside a transfer.

use nimbus_model::{Group, Mixer, coding};

/// Why a payload is not a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// The bytes were damaged on the way.
    #[error("checksum does not match")]
    Damaged,
    /// The bytes do not parse.
    #[error("malformed group")]
    Malformed,
}

/// A group as bytes, with a checksum in front.
pub fn encode_group(group: &Group) -> Vec<u8> {
    let body = coding::write(group);
    let mut bytes = checksum(&body).to_le_bytes().to_vec();
    bytes.extend_from_slice(&body);
    bytes
}

/// Bytes as a group. Only the form is checked; whether its bodies make sense is for the receiver to say.
pub fn decode_group(bytes: &[u8]) -> Result<Group, PayloadError> {
    let (head, body) = bytes.split_at_checked(8).ok_or(PayloadError::Malformed)?;
    let expected = u64::from_le_bytes(head.try_into().map_err(|_| PayloadError::Malformed)?);
    if checksum(body) != expected {
        return Err(PayloadError::Damaged);
    }
    coding::read(body).map_err(|_| PayloadError::Malformed)
}

/// Guards against damage and mistakes, not against forgery.
fn checksum(bytes: &[u8]) -> u64 {
    let mut mixer = Mixer::new();
    mixer.bytes(bytes);
    mixer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, Member, Motion, Nid, Shape};
    use std::sync::Arc;

    #[test]
    fn a_group_survives_and_damage_is_noticed() {
        let desc = Arc::new(BodyDesc::dynamic(Shape::ball(0.5)));
        let member = Member { nid: Nid(7), desc, motion: Motion::default() };
        let group = Group::of(vec![member]);
        let mut bytes = encode_group(&group);
        assert_eq!(decode_group(&bytes), Ok(group));
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(decode_group(&bytes), Err(PayloadError::Damaged));
        assert_eq!(decode_group(&bytes[..3]), Err(PayloadError::Malformed));
    }
}
