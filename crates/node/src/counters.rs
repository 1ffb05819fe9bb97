//! What a server counts, for metrics and for people.

use nimbus_wire::Factor;
use serde::{Deserialize, Serialize};

/// Running totals since the server started; a new world does not reset them, except where noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Bodies that arrived since the present world was loaded.
    pub arrived: u64,
    /// Bodies that left since the present world was loaded.
    pub left: u64,
    /// Transfers refused and given back.
    pub refused: u64,
    /// Transfers that came back.
    pub returned: u64,
    /// Ticks that arrivals were not simulated on their way.
    pub ticks_in_transit: u64,
    /// Bodies that arrived, by the ticks from the decision to give them away to their first step here; the last counts
    /// all that took longer.
    pub arrival_ticks: [u64; 8],
    /// Steps of bodies: one for each body and tick.
    pub body_ticks: u64,
    /// Frames dropped because they were of another era, an older life, or not for this region.
    pub frames_void: u64,
    /// Orders passed on to where a body went.
    pub orders_forwarded: u64,
    /// Orders that waited until the neighbours knew of them.
    pub orders_delayed: u64,
    /// Orders that came again and were not carried out again.
    pub orders_repeated: u64,
    /// Orders refused.
    pub orders_refused: u64,
    /// Joints asked for between bodies of two servers.
    pub linkages: u64,
    /// Joints made by command.
    pub joints: u64,
    /// Grants put off because the neighbour was silent or the lane full.
    pub grants_deferred: u64,
    /// Tick numbers skipped because the server had fallen behind.
    pub ticks_lost: u64,
    /// Bodies removed because their state was no longer a number.
    pub quarantined: u64,
    /// Groups that the engine would not have; their bodies are reported dead.
    pub unplaceable: u64,
    /// Bodies given away because they might touch another server's, or to go home.
    pub pulls: u64,
    /// Offers of islands to servers of higher rank.
    pub offers: u64,
    /// Times that an island stayed because the server where it lies is nearly full.
    pub islands_kept: u64,
    /// Auras sent to neighbours.
    pub aura_updates: u64,
    /// Bodies announced to neighbours at the last tick.
    pub auras: u64,
    /// Bodies of neighbours known at the last tick.
    pub ghosts: u64,
    /// Groups that were caught up, and the ticks they were caught up by.
    pub catch_ups: u64,
    /// Ticks that groups were caught up by.
    pub catch_up_ticks: u64,
    /// Promises that became void, by [`Factor`](crate::Factor).
    pub breaches: [u64; Factor::ALL.len()],
    /// Touches that began, as far as they are kept for the shell.
    pub contacts_began: u64,
    /// Touches that ended.
    pub contacts_ended: u64,
    /// Touches that began or ended and were left out, because there were too many in one tick or in all.
    pub contacts_left_out: u64,
    /// Things that a game said.
    pub game_events: u64,
    /// Things that a game wanted to do or say beyond its limits.
    pub game_refused: u64,
    /// Acts of a game that came to nothing: no room for a body, or a body that could not be found.
    pub deeds_lost: u64,
    /// States of bodies sent to gateways.
    pub states_told: u64,
    /// News for a gateway dropped because it did not keep up.
    pub feed_dropped: u64,
    /// Batches of questions answered after the tick they were for.
    pub asks_answered: u64,
    /// Batches of questions whose tick had been run or skipped when it was their turn.
    pub asks_missed: u64,
    /// Births that another server was left to make, because it has what they would touch.
    pub births_passed_on: u64,
    /// Bodies that were due or asked for and not made, because the server's budget was used up.
    pub births_refused: u64,
    /// Batches of questions that would have taken too long, or found too many others waiting.
    pub asks_too_much: u64,
    /// Statics put into the running world.
    pub statics_placed: u64,
    /// Statics taken out of it again.
    pub statics_removed: u64,
}
