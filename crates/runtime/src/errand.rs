//! What one server is asked to do apart from its work: whom to tell, when to stop, what it owns at a tick.

use cpu_time::ThreadTime;
use nimbus_model::{Nid, Pose, RegionId, Tick};
use nimbus_node::{Contribution, Draft, Node};
use nimbus_wire::GatewayId;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::ferry::Ferry;

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

/// Where everything was that a server owned after a tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Places {
    /// The region.
    pub region: RegionId,
    /// Which life of it answers.
    pub epoch: u32,
    /// After which tick.
    pub tick: Tick,
    /// What it owned, and where that was.
    pub owned: Vec<(Nid, Pose)>,
    /// What it had given away, as far as it knew not yet arrived.
    pub in_flight: Vec<Nid>,
}

/// An errand for a server.
pub(crate) enum Errand {
    /// These gateways watch, and no others.
    Gateways(Vec<GatewayId>),
    /// Run no tick after this one; none takes that back.
    StopAfter(Option<Tick>),
    /// What are you, as a part of a checkpoint, after this tick? Of a tick that is past, it answers for the last one.
    Contribute(Tick, SyncSender<Contribution>),
    /// End at once, without a word to anybody.
    Die,
    /// What do you own after this tick? Of a tick that is past, it answers for the last one.
    Census(Tick, SyncSender<Census>),
    /// Where is what you own after this tick? Of a tick that is past, it answers for the last one.
    Places(Tick, SyncSender<Places>),
    /// Give bodies away at every tick from now on; none ends that.
    Ferry(Option<Ferry>),
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
    questions: Vec<(Tick, Question)>,
    ferry: Option<Ferry>,
    /// The most time of its own that a look for a checkpoint took.
    pub(crate) longest_look: Duration,
}

/// Something that waits for its tick.
enum Question {
    Census(SyncSender<Census>),
    Places(SyncSender<Places>),
    Contribution(SyncSender<Contribution>, Draft),
}

impl Errands {
    /// A list, and where others put errands on it.
    pub(crate) fn open() -> (ErrandDesk, Errands) {
        let (desk, inbox) = sync_channel(ERRANDS_MAX);
        (ErrandDesk(desk), Errands { inbox: Some(inbox), ..Errands::default() })
    }

    /// Takes what has been handed in.
    pub(crate) fn take(&mut self, node: &mut Node) {
        let errands: Vec<Errand> = self.inbox.iter().flat_map(Receiver::try_iter).collect();
        for errand in errands {
            match errand {
                Errand::Gateways(gateways) => node.set_gateways(gateways),
                Errand::StopAfter(tick) => self.stop_after = tick,
                Errand::Die => self.killed = true,
                Errand::Census(at, answer) => self.note(at, Question::Census(answer)),
                Errand::Places(at, answer) => self.note(at, Question::Places(answer)),
                Errand::Contribute(at, answer) => self.note(at, Question::Contribution(answer, Draft::default())),
                Errand::Ferry(ferry) => self.ferry = ferry,
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

    /// The tick at which somebody wants to know what the server is, if it is among these. A server that is behind may skip
    /// others, not that one: the answers of all servers are of use only if they are of one tick.
    pub(crate) fn awaited(&self, ticks: RangeInclusive<Tick>) -> Option<Tick> {
        self.questions.iter().map(|(at, _)| *at).filter(|at| ticks.contains(at)).min()
    }

    /// Orders what the next tick is to give away.
    pub(crate) fn prepare(&mut self, node: &mut Node) {
        if let Some(ferry) = &mut self.ferry {
            ferry.load(node);
        }
    }

    /// Answers questions whose tick has come, and prepares for those whose tick is near.
    pub(crate) fn answer(&mut self, node: &Node) {
        self.questions.retain_mut(|(at, question)| {
            let due = node.now() >= *at;
            // Whoever asked may have lost patience.
            match question {
                Question::Census(answer) if due => _ = answer.try_send(census(node)),
                Question::Places(answer) if due => _ = answer.try_send(places(node)),
                Question::Census(_) | Question::Places(_) => {}
                Question::Contribution(answer, draft) => {
                    let began = ThreadTime::now();
                    let made = due.then(|| node.contribution(std::mem::take(draft)));
                    if !due {
                        node.draft(draft, *at);
                    }
                    self.longest_look = self.longest_look.max(began.elapsed());
                    made.into_iter().for_each(|made| _ = answer.try_send(made));
                }
            }
            !due
        });
    }

    fn note(&mut self, at: Tick, question: Question) {
        if self.questions.len() < QUESTIONS_MAX {
            self.questions.push((at, question));
        }
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

fn places(node: &Node) -> Places {
    let place = |nid: Nid| node.motion(nid).map(|motion| (nid, motion.pose));
    let Census { region, epoch, tick, owned, in_flight } = census(node);
    Places { region, epoch, tick, owned: owned.into_iter().filter_map(place).collect(), in_flight }
}
