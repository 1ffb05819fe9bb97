//! What one server is asked to do apart from its work: whom to tell, when to stop, what it owns at a tick.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::Node;
use nimbus_wire::GatewayId;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Most errands that wait at one server.
const ERRANDS_MAX: usize = 64;
/// Most questions that wait for their tick.
const QUESTIONS_MAX: usize = 16;

/// What a server owned after a tick. Those of all regions at one tick tell whether every body is there once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// The region.
    pub region: RegionId,
    /// Which life of it answers.
    pub epoch: u32,
    /// After which tick.
    pub tick: Tick,
    /// What it owned.
    pub owned: Vec<Nid>,
    /// What it had given away, as far as it knew not yet arrived.
    pub in_flight: Vec<Nid>,
}

/// An errand for a server.
pub(crate) enum Errand {
    /// These gateways watch, and no others.
    Gateways(Vec<GatewayId>),
    /// Run no tick after this one; none takes that back.
    StopAfter(Option<Tick>),
    /// End at once, without a word to anybody.
    Die,
    /// What do you own after this tick? Of a tick that is past, it answers for the last one.
    Census(Tick, SyncSender<Census>),
}

/// Where errands are handed in.
#[derive(Clone)]
pub(crate) struct ErrandDesk(SyncSender<Errand>);

impl ErrandDesk {
    /// Hands one in; false when the server is gone or too much waits.
    pub(crate) fn hand_in(&self, errand: Errand) -> bool {
        self.0.try_send(errand).is_ok()
    }
}

/// A server's list of errands.
#[derive(Default)]
pub(crate) struct Errands {
    inbox: Option<Receiver<Errand>>,
    stop_after: Option<Tick>,
    killed: bool,
    questions: Vec<(Tick, SyncSender<Census>)>,
}

impl Errands {
    /// A list, and where others put errands on it.
    pub(crate) fn open() -> (ErrandDesk, Errands) {
        let (desk, inbox) = sync_channel(ERRANDS_MAX);
        (ErrandDesk(desk), Errands { inbox: Some(inbox), ..Errands::default() })
    }

    /// Takes what has been handed in.
    pub(crate) fn take(&mut self, node: &mut Node) {
        for errand in self.inbox.iter().flat_map(Receiver::try_iter) {
            match errand {
                Errand::Gateways(gateways) => node.set_gateways(gateways),
                Errand::StopAfter(tick) => self.stop_after = tick,
                Errand::Die => self.killed = true,
                Errand::Census(at, answer) if self.questions.len() < QUESTIONS_MAX => self.questions.push((at, answer)),
                Errand::Census(..) => {}
            }
        }
        self.answer(node);
    }

    /// True when it was told to end at once.
    pub(crate) fn is_killed(&self) -> bool {
        self.killed
    }

    /// The last tick to run when ticks up to `due` are.
    pub(crate) fn cap(&self, due: Tick) -> Tick {
        self.stop_after.map_or(due, |last| due.min(last))
    }

    /// Answers questions whose tick has come.
    pub(crate) fn answer(&mut self, node: &Node) {
        self.questions.retain(|(at, answer)| {
            let due = node.now() >= *at;
            if due {
                // Whoever asked may have lost patience.
                _ = answer.try_send(census(node));
            }
            !due
        });
    }
}

fn census(node: &Node) -> Census {
    Census {
        region: node.region(),
        epoch: node.epoch(),
        tick: node.now(),
        owned: node.hosted().map(|(nid, _)| nid).collect(),
        in_flight: node.in_flight().map(|(nid, _)| nid).collect(),
    }
}
