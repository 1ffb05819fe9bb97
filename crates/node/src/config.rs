//! What a server is told once, at its start.

use nimbus_model::{Origin, RegionId};
use nimbus_wire::GatewayId;
use serde::{Deserialize, Serialize};

use crate::game::Rules;

/// Who should own what. How a body moves is one mechanism; this only decides when and where to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Scheme 1: a body moves when its box has left its owner's volume, and the sender forgets it at once. Loses bodies
    /// when frames are lost; kept as a reference.
    Forgetful,
    /// Scheme 1.b: the same, but the sender keeps the body until the receiver has acknowledged it.
    Exclusive,
    /// Aura projection: what may touch is brought together on one server before it can.
    #[default]
    Aura,
    /// What one would try first: a group moves as soon as its middle lies in another region. It moves back as readily,
    /// and whatever touches across a boundary does not touch at all. Kept to show why the others exist.
    Naive,
    /// Scheme 2: groups that share cells of a static grid form joins, and a join belongs to the least region among those
    /// whose cells it occupies. Kept as a reference.
    Cells,
    /// Scheme 2.b: the same joins, but loads choose the owner, and nobody owns what is deep inside a neighbour. Kept as a
    /// reference.
    Utility,
}

impl Policy {
    /// All of them, the reference schemes from the simplest to the most careful and then our own, with the name the
    /// command line knows each by.
    pub const ALL: [(&'static str, Policy); 6] = [
        ("naive", Policy::Naive),
        ("forgetful", Policy::Forgetful),
        ("exclusive", Policy::Exclusive),
        ("cells", Policy::Cells),
        ("utility", Policy::Utility),
        ("aura", Policy::Aura),
    ];

    /// The name the command line knows it by.
    pub fn name(self) -> &'static str {
        let known = Policy::ALL.iter().find(|(_, policy)| *policy == self);
        known.map_or("aura", |(name, _)| name)
    }

    /// True when servers tell their neighbours every tick what is near them.
    pub(crate) fn announces(self) -> bool {
        matches!(self, Policy::Aura | Policy::Cells | Policy::Utility)
    }
}

/// How the speed is judged with which a body may reach another one before it is known elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// The greatest speed found around the body, and what it can gain on the way.
    #[default]
    Neighbourhood,
    /// The greatest speed that the world promises, for every body: the original formula, kept as a reference.
    Tolerance,
}

/// The settings of the aura policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuraConfig {
    /// How a body's reach is judged.
    pub reach: Reach,
    /// Every reach is multiplied by this. One is right; less shows that the size matters.
    pub scale: f32,
    /// Frames between servers go out every so many ticks.
    pub send_every: u32,
    /// Greatest time from a wake-up until its frames are sent, milliseconds.
    pub compute_ms: f32,
    /// Greatest difference between two servers' clocks, milliseconds.
    pub skew_ms: f32,
    /// Greatest time that a backup takes to store what it is sent, milliseconds.
    pub store_ms: f32,
    /// What servers say takes effect only once the speaker's backup has it, and the way of that is part of a leg. A server
    /// sets it by [`NodeConfig::durable`].
    pub commits: bool,
    /// Copies sent of every frame that carries bodies, and of what backups are to keep. More than one where frames can be
    /// lost.
    pub copies: u8,
    /// A cluster of more bodies stays where it is, with a breach.
    pub cluster_max: usize,
}

impl Default for AuraConfig {
    fn default() -> Self {
        AuraConfig {
            reach: Reach::Neighbourhood,
            scale: 1.0,
            send_every: 1,
            compute_ms: 0.0,
            skew_ms: 0.0,
            store_ms: 0.0,
            commits: false,
            copies: 1,
            cluster_max: 4_096,
        }
    }
}

impl AuraConfig {
    /// What real processes are held to unless told otherwise: they take time to compute, their clocks differ, and backups
    /// take time to store.
    pub const PROCESSES: AuraConfig = AuraConfig {
        reach: Reach::Neighbourhood,
        scale: 1.0,
        send_every: 1,
        compute_ms: 4.0,
        skew_ms: 2.0,
        store_ms: 2.0,
        commits: false,
        copies: 1,
        cluster_max: 4_096,
    };

    /// The same where servers have backups, or have none.
    #[must_use]
    pub fn with_commits(self, commits: bool) -> AuraConfig {
        AuraConfig { commits, ..self }
    }
}

/// A mistake built in on purpose, so that a checker can prove that it would notice. Only tests and the simulator ask for
/// one; each names the rule that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Planted {
    /// The sender forgets a transfer as soon as it is sent.
    ForgetOnSend,
    /// The receiver takes an item again when it comes again.
    NoDedup,
    /// The sender goes on simulating what it gave away.
    KeepOnGrant,
    /// A hand-over does not raise the body's epoch.
    StaleEpoch,
    /// A transfer that cannot be taken is dropped instead of given back.
    DropRefused,
    /// Arrivals keep eight times their speed.
    FastArrival,
    /// Acknowledgements are ignored.
    DeafToAcks,
    /// Gateways are not told of deaths.
    SilentDeath,
    /// Gateways are not told of bodies that commands and injections make.
    SilentBirth,
    /// A world that is loaded anew is ignored.
    DeafToLoads,
    /// What injections add at skipped ticks is never made.
    SkippedBirths,
    /// The log has what took effect in another order than it did.
    UnloggedOrder,
    /// Auras pull in both directions, whatever the ranks.
    NoRanks,
    /// Auras of neighbours draw nothing.
    DeafToAuras,
    /// A group that arrives late is not caught up.
    NoCatchUp,
    /// What a neighbour says takes effect before its backup has it.
    AdoptWithoutCommit,
    /// What takes effect is acknowledged before the own backup has it.
    AckBeforeKept,
    /// A commit of one life of a region is taken for another life, too.
    CommitWithoutEpoch,
    /// A backup that takes over speaks as the same life of the region.
    SameEpochRestart,
    /// A new backup is given what a former one was given, instead of what is.
    StaleSeed,
    /// A backup takes what comes although something before it has not come.
    BackupReorders,
    /// A group that arrives has forgotten what it touched, and its touches begin a second time.
    ForgottenTouches,
    /// Questions for one tick are answered after the next one.
    LateAnswers,
    /// Questions for one tick are answered without the bodies that are under way.
    AnswersWithoutUnderWay,
    /// A body that arrives has forgotten what a game kept with it.
    ForgottenKeepsakes,
    /// What a game says is told at once, whatever the own backup has and a former process has told.
    EagerEvents,
    /// Statics that are put into the world are ignored.
    DeafToStatics,
    /// Gateways are not told of touches that bodies began or ended on their way to this server.
    LateTouches,
    /// A body that appears beside bodies of another server is made here all the same.
    BirthsStay,
    /// Impacts are not followed through the bodies that they run along.
    ImpactsEndAtOnce,
    /// Pushes of the world's script take neighbours by surprise.
    UnannouncedPushes,
    /// What is too large to move is announced as if it could.
    NoAnchors,
    /// A body asleep is drawn to what lies beside it and sent home again, for ever.
    SleepersTossed,
    /// The commit leg does not count: a server with a backup looks no further ahead than one without.
    NoCommitLeg,
    /// Times that the shell measures are ignored.
    DeafToTimes,
    /// A world that is heard of late is loaded as of the tick at which it is, not as of its own.
    LoadsAtNow,
    /// Births that do not fit into the budget are forgotten without a word.
    ForgottenBirths,
}

impl Planted {
    /// All that break a rule which every simulated run is held to, with the name the command line knows each by.
    pub const ALL: [(&'static str, Planted); 26] = [
        ("forget-on-send", Planted::ForgetOnSend),
        ("no-dedup", Planted::NoDedup),
        ("keep-on-grant", Planted::KeepOnGrant),
        ("stale-epoch", Planted::StaleEpoch),
        ("drop-refused", Planted::DropRefused),
        ("fast-arrival", Planted::FastArrival),
        ("deaf-to-acks", Planted::DeafToAcks),
        ("silent-death", Planted::SilentDeath),
        ("silent-birth", Planted::SilentBirth),
        ("deaf-to-loads", Planted::DeafToLoads),
        ("skipped-births", Planted::SkippedBirths),
        ("unlogged-order", Planted::UnloggedOrder),
        ("no-ranks", Planted::NoRanks),
        ("deaf-to-auras", Planted::DeafToAuras),
        ("no-catch-up", Planted::NoCatchUp),
        ("adopt-without-commit", Planted::AdoptWithoutCommit),
        ("ack-before-kept", Planted::AckBeforeKept),
        ("commit-without-epoch", Planted::CommitWithoutEpoch),
        ("same-epoch-restart", Planted::SameEpochRestart),
        ("stale-seed", Planted::StaleSeed),
        ("backup-reorders", Planted::BackupReorders),
        ("forgotten-touches", Planted::ForgottenTouches),
        ("deaf-to-statics", Planted::DeafToStatics),
        ("late-touches", Planted::LateTouches),
        ("loads-at-now", Planted::LoadsAtNow),
        ("forgotten-births", Planted::ForgottenBirths),
    ];
}

/// What a server is told once, at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeConfig {
    /// The region it serves.
    pub region: RegionId,
    /// The incarnation under which it names bodies.
    pub origin: Origin,
    /// The gateways it reports to.
    pub gateways: Vec<GatewayId>,
    /// Who should own what.
    pub policy: Policy,
    /// How the aura policy judges.
    pub aura: AuraConfig,
    /// Most bodies it hosts, unless the world's budget is less: births beyond are refused, transfers go back.
    pub bodies_max: usize,
    /// Most bodies it gives away in one tick, unless one group alone has more.
    pub grants_max: usize,
    /// It stops giving bodies to a neighbour whose acknowledgement is overdue by this many ticks.
    pub silence_ticks: u64,
    /// Keep what took effect at each tick, for recordings and replays.
    pub log: bool,
    /// Every region has a backup, and nothing between servers takes effect before the backups concerned have it.
    pub durable: bool,
    /// A durable server gives its backup a fresh snapshot every so many ticks.
    pub snapshot_ticks: u64,
    /// Keep touches that begin and end, for [`Node::take_contacts`](crate::Node::take_contacts).
    pub contacts: bool,
    /// A mistake on purpose.
    pub planted: Option<Planted>,
    /// Give bodies to the engine in another order while the world runs, drawn from this number: to see what the order alone
    /// does. Such a run cannot be replayed from its log.
    #[serde(skip)]
    pub reorder: Option<u64>,
    /// The game that is played. Not part of a snapshot, which has only what the game keeps with bodies.
    #[serde(skip)]
    pub game: Option<Rules>,
}

impl NodeConfig {
    /// The defaults for a region.
    pub fn new(region: RegionId) -> NodeConfig {
        NodeConfig {
            region,
            origin: Origin(region.0 + 1),
            gateways: Vec::new(),
            policy: Policy::default(),
            aura: AuraConfig::default(),
            bodies_max: 100_000,
            grants_max: 256,
            silence_ticks: 8,
            log: false,
            durable: false,
            snapshot_ticks: 240,
            contacts: false,
            planted: None,
            reorder: None,
            game: None,
        }
    }
}
