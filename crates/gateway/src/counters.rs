//! What a gateway counts: everything it did, and everything it dropped and why.

/// Running totals since the gateway started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that were not for this gateway or not from a region.
    pub frames_misaddressed: u64,
    /// Frames of another load of the world.
    pub frames_wrong_era: u64,
    /// Frames of a former life of a region.
    pub frames_old_epoch: u64,
    /// Frames dropped because too many arrived between two ticks.
    pub frames_overflow: u64,
    /// State updates that moved a replica.
    pub states_applied: u64,
    /// State updates older than what was known.
    pub states_stale: u64,
    /// State updates of bodies that are not known (any more, or yet).
    pub states_unknown: u64,
    /// State updates from a region that does not own the body.
    pub states_foreign: u64,
    /// Bodies that appeared.
    pub births: u64,
    /// Bodies that changed owner.
    pub hand_overs: u64,
    /// Bodies that died.
    pub deaths: u64,
    /// Items of lanes older than what was known.
    pub items_stale: u64,
    /// Items of lanes that a gateway has no use for, or whose numbers are none.
    pub items_bad: u64,
    /// Bodies that found no free slot.
    pub slots_exhausted: u64,
    /// Outcomes of commands that nobody waits for.
    pub outcomes_unknown: u64,
    /// Commands taken from clients.
    pub commands: u64,
    /// Questions about what is where that were taken.
    pub queries: u64,
    /// Views that clients asked for.
    pub watches: u64,
    /// Times that regions were told what is wanted of them.
    pub wishes: u64,
    /// Clients disconnected because they read far less than they asked for.
    pub clients_hopeless: u64,
    /// Batches of questions that were passed on to the servers.
    pub asks: u64,
    /// How often such a batch was tried again at a later tick.
    pub asks_again: u64,
    /// Such batches that were answered without some regions.
    pub asks_incomplete: u64,
    /// Answers of servers that nobody waits for, most of them repetitions.
    pub replies_unknown: u64,
    /// Bodies that the mirror for questions could not take.
    pub mirror_refused: u64,
    /// Commands refused by the gateway itself.
    pub commands_refused: u64,
    /// Commands that the client's role does not allow.
    pub commands_forbidden: u64,
    /// Commands dropped without an answer, because their client floods.
    pub commands_ignored: u64,
    /// Messages from clients that were no commands.
    pub messages_bad: u64,
    /// Messages from clients that are not connected.
    pub messages_unknown_client: u64,
    /// Clients disconnected for their conduct.
    pub clients_closed: u64,
}
