//! Values as bytes and back, for everything that processes, files and logs carry.
//!
//! Bytes come from outside, and may have been made to hurt: a short list that claims to be long, many small entries that
//! become large ones in memory, lists in lists without end. [`read`] therefore keeps account of the memory that a value
//! takes while it is built, and refuses before it exceeds what the bytes entitle it to.

mod metered;
mod sealed;

use serde::Serialize;
use serde::de::DeserializeOwned;

use metered::{Ledger, Metered};
pub use sealed::{Broken, SEAL_LEN, read_sealed, write_sealed};

/// The memory that reading may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes that are accounted for every two bytes read. Together with what the account does not see (the boxes that some
    /// entries hold, which cost their own bytes) a value takes less than four bytes of memory for every byte read.
    per_two_bytes: usize,
    /// Bytes that any value may take, however few it was read from.
    pub room: usize,
}

impl Allowance {
    /// For messages. The largest list that is sent with short entries is that of a lane: 2,048 entries, each some two
    /// hundred bytes wide in memory even when it says little.
    pub const MESSAGE: Allowance = Allowance { per_two_bytes: 5, room: 1 << 20 };

    /// For a whole server. The engine keeps a place, some 700 bytes wide, for every body that it had at once, and a free one
    /// takes few bytes to write: this is room for a server that had 60,000 bodies and is empty now.
    pub const SNAPSHOT: Allowance = Allowance { per_two_bytes: 7, room: 64 << 20 };
}

/// Lists may lie in lists this deep. The deepest that exists are the points of parts of shapes of bodies of worlds.
const DEPTH_MAX: u32 = 16;

/// Why bytes are not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes do not parse")]
pub struct Unreadable;

/// A value as bytes.
pub fn write(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data always serialises")
}

/// Appends a value as bytes.
pub fn write_to(value: &(impl Serialize + ?Sized), out: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(value, out).expect("plain data always serialises")
}

/// The value that all of the bytes are, or nothing. Takes memory in proportion to the bytes, whatever they claim.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    read_within(bytes, Allowance::MESSAGE)
}

fn read_within<T: DeserializeOwned>(
    bytes: &[u8],
    Allowance { per_two_bytes, room }: Allowance,
) -> Result<T, Unreadable> {
    let ledger = Ledger::new(room.saturating_add(bytes.len().saturating_mul(per_two_bytes) / 2), DEPTH_MAX);
    let mut deserializer = postcard::Deserializer::from_bytes(bytes);
    let value = T::deserialize(Metered::new(&mut deserializer, &ledger)).map_err(|_| Unreadable)?;
    match deserializer.finalize() {
        Ok([]) => Ok(value),
        _ => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nid, Pose, Shape};
    use std::collections::BTreeMap;

    #[test]
    fn values_survive() {
        let map: BTreeMap<u16, Vec<String>> = [(1, vec!["a".to_owned(), String::new()]), (9, vec![])].into();
        assert_eq!(read(&write(&map)), Ok(map.clone()));
        let shape = Shape::Compound { parts: vec![(Pose::IDENTITY, Shape::ball(1.0)); 3] };
        assert_eq!(read(&write(&(Some(shape.clone()), -3i64, 'x', 1.5f32))), Ok((Some(shape), -3i64, 'x', 1.5f32)));
        assert_eq!(write_to(&7u8, vec![1, 2]), [1, 2, 7]);
        assert_eq!(read::<u8>(&[7, 0]), Err(Unreadable), "what follows a value makes it none");
    }

    #[test]
    fn a_list_that_lies_about_its_length_is_refused_unread() {
        let mut bytes = write(&u64::MAX);
        bytes.extend([0; 100]);
        assert_eq!(read::<Vec<Nid>>(&bytes), Err(Unreadable));
        assert_eq!(read::<BTreeMap<u8, u8>>(&bytes), Err(Unreadable));
        assert_eq!(read::<String>(&bytes), Err(Unreadable));
    }

    #[test]
    fn entries_that_swell_in_memory_are_refused_beyond_their_due() {
        type Wide = Option<[u64; 16]>;
        let few: Vec<Wide> = vec![None; 2_000];
        assert_eq!(read(&write(&few)), Ok(few));
        let many: Vec<Wide> = vec![None; 20_000];
        assert_eq!(read::<Vec<Wide>>(&write(&many)), Err(Unreadable));
        let nested: Vec<Vec<u8>> = vec![vec![]; 200_000];
        assert_eq!(read::<Vec<Vec<u8>>>(&write(&nested)), Err(Unreadable));
        let long: Vec<u64> = vec![u64::MAX; 400_000];
        assert_eq!(read(&write(&long)), Ok(long), "what is as wide in bytes as in memory may be as long as it likes");
    }

    #[test]
    fn lists_that_grow_one_after_the_other_do_not_pay_for_each_others_moves() {
        let list = vec![Some(u64::MAX); 100_000];
        let lists = vec![list; 8];
        assert_eq!(read(&write(&lists)), Ok(lists));
    }

    #[test]
    fn lists_in_lists_without_end_are_refused() {
        let nest = |depth: usize| {
            let shell = |inner| Shape::Compound { parts: vec![(Pose::IDENTITY, inner)] };
            (0..depth).fold(Shape::ball(1.0), |inner, _| shell(inner))
        };
        assert_eq!(read(&write(&nest(10))), Ok(nest(10)));
        assert_eq!(read::<Shape>(&write(&nest(40))), Err(Unreadable));
        // As bytes, far deeper than any stack: a list of one part, its pose, and the same again.
        let level = &write(&nest(1))[..30];
        assert_eq!(level[..2], [6, 1]);
        assert_eq!(read::<Shape>(&level.repeat(100_000)), Err(Unreadable));
    }
}
