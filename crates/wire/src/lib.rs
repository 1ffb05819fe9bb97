//! Frames between servers, gateways and clients.
//!
//! Bytes from outside become values that cannot be wrong, or they are dropped and counted: [`Frame::decode`] is the only
//! way in. [`lane`] holds the one mechanism by which anything is delivered exactly once.

pub mod ask;
mod aura;
mod breach;
pub mod client;
mod command;
mod deed;
mod frame;
mod item;
pub mod lane;
mod payload;
mod records;
pub mod seams;
mod states;
pub mod stream;
mod touch;
mod wish;

pub use aura::{AURAS_PER_FRAME, Aura, AuraFrame, Strike};
pub use breach::{Breach, Factor};
pub use command::{ANCHOR_M_MAX, Command, CommandRef, Course, Linkage, Order, Outcome, Sighting, join_problem};
pub use deed::{Act, BirthCause, Deed, PlannedBirth};
pub use frame::{Address, Content, DecodeError, FRAME_BYTES_MAX, Frame, GatewayId, LaneFrame};
pub use item::{Claim, Item, Refusal, Transfer};
pub use nimbus_model::StateUpdate;
pub use payload::{PayloadError, decode_group, encode_group};
pub use records::{AWAITING_MAX, Commit, Commits, Kept, PIECE_BYTES_MAX, PIECES_MAX, Piece, PieceKind, Records};
pub use seams::{AuraSize, SeamReport, SeamTotals, Transit};
pub use states::STATES_PER_FRAME;
pub use touch::{TOUCHES_MAX, Touch, Touches};
pub use wish::{Places, WISH_BODIES_MAX, WISH_BOXES_MAX, WantedTouches, Wish};

/// Version of the frames between servers and gateways; peers of different versions do not talk.
///
/// Raise it with every change after which an older process would misread a newer one or the other way round: the layout of
/// a frame, of another message between processes, or of anything in them, what a field means, which content travels how,
/// and what follows the magic and the version in the mesh's hello.
pub const PROTOCOL_VERSION: u8 = 9;
