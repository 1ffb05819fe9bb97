//! What a game keeps with a body. It belongs to the body and not to a server, so it goes wherever the body goes.

use serde::{Deserialize, Serialize};

use crate::{Mixer, Nid, Origin, Rng, Tick};

/// Most bytes that a game may keep with one body.
pub const GAME_STATE_BYTES_MAX: usize = 256;
/// Most bytes of a command to a game.
pub const GAME_COMMAND_BYTES_MAX: usize = 512;

/// Bytes that mean something to a game alone, at most [`GAME_STATE_BYTES_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct GameState(Vec<u8>);

/// More bytes than a game may keep with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} bytes; a game keeps at most {GAME_STATE_BYTES_MAX} with a body")]
pub struct TooLarge(pub usize);

impl GameState {
    /// The state of these bytes, if there are not too many.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<GameState, TooLarge> {
        let bytes = bytes.into();
        if bytes.len() > GAME_STATE_BYTES_MAX { Err(TooLarge(bytes.len())) } else { Ok(GameState(bytes)) }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<Vec<u8>> for GameState {
    type Error = TooLarge;

    fn try_from(bytes: Vec<u8>) -> Result<GameState, TooLarge> {
        GameState::new(bytes)
    }
}

impl From<GameState> for Vec<u8> {
    fn from(state: GameState) -> Vec<u8> {
        state.0
    }
}

/// Everything that a game keeps with one body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keepsake {
    /// How many bodies the game has made in this one's name; the next is named by it.
    pub children: u32,
    /// What the game wrote.
    pub state: GameState,
}

impl Nid {
    /// The id of the `ordinal`-th body that a game makes in the name of another, in an era.
    ///
    /// It depends on the parent alone and not on the server, so a game makes the same bodies on any number of servers. It is
    /// drawn from 48 bits: two of a hundred thousand bodies have the same id once in fifty thousand worlds.
    pub fn of_game(era: u16, parent: Nid, ordinal: u32) -> Nid {
        let mut mixer = Mixer::new();
        mixer.word(u64::from(era));
        mixer.word(parent.0);
        mixer.word(u64::from(ordinal));
        Nid::new(Origin::GAME, mixer.finish())
    }
}

impl Rng {
    /// The generator of a body at a tick: of the world's seed and the two, and so the same on whichever server the body is.
    pub fn of_body(seed: u64, nid: Nid, tick: Tick) -> Rng {
        let mut mixer = Mixer::new();
        mixer.word(nid.0);
        mixer.word(tick.0);
        Rng::stream(seed, mixer.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding;
    use std::collections::BTreeSet;

    #[test]
    fn a_state_is_bounded_also_when_it_comes_from_outside() {
        let largest = GameState::new([7; GAME_STATE_BYTES_MAX]).unwrap();
        assert_eq!(coding::read(&coding::write(&largest)), Ok(largest));
        assert_eq!(GameState::new([7; GAME_STATE_BYTES_MAX + 1]), Err(TooLarge(GAME_STATE_BYTES_MAX + 1)));
        let forged = coding::write(&vec![7u8; GAME_STATE_BYTES_MAX + 1]);
        assert!(coding::read::<GameState>(&forged).is_err());
    }

    #[test]
    fn children_of_all_parents_have_names_of_their_own() {
        let parents = (0..50).map(|index| Nid::of_world(1, index));
        let names: BTreeSet<Nid> =
            parents.flat_map(|parent| (0..50).map(move |ordinal| Nid::of_game(1, parent, ordinal))).collect();
        assert_eq!(names.len(), 2_500);
        assert!(names.iter().all(|nid| nid.origin() == Origin::GAME));
        assert_ne!(Nid::of_game(1, Nid(5), 0), Nid::of_game(2, Nid(5), 0), "another world, other bodies");
    }

    #[test]
    fn a_body_draws_other_numbers_at_every_tick_and_the_same_again() {
        let draw = |nid, tick| Rng::of_body(3, Nid(nid), Tick(tick)).next_u64();
        assert_eq!(draw(1, 1), draw(1, 1));
        let all: BTreeSet<u64> = (0..40).flat_map(|nid| (0..40).map(move |tick| draw(nid, tick))).collect();
        assert_eq!(all.len(), 1_600);
    }
}
