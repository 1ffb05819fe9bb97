//! What one server is asked to do apart from its work: whom to tell, when to stop, what it owns at a tick.

use cpu_time::ThreadTime;
use nimbus_model::{Nid, Pose, RegionId, Tick};
use nimbus_node::{Contribution, Draft, Node};
use nimbus_wire::GatewayId;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::ferry::Ferry;

/// Most errands that wait at one server.
const ERRANDS_MAX: usize = 64;
/// Most questions that wait for their tick, and as many for checkpoints, which are to be had whatever else is asked.
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
    Contribute(Tick, Reply<Contribution>),
    /// End at once, without a word to anybody.
    Die,
    /// What do you own after this tick? Of a tick that is past, it answers for the last one.
    Census(Tick, Reply<Census>),
    /// Where is what you own after this tick? Of a tick that is past, it answers for the last one.
    Places(Tick, Reply<Places>),
    /// Give bodies away at every tick from now on; none ends that.
    Ferry(Option<Ferry>),
}

/// Somebody who waits for answers. Questions are forgotten when their asker is gone.
pub(crate) struct Asker<T> {
    pub(crate) answers: Receiver<T>,
    _waits: Arc<()>,
}

/// Where an answer goes.
pub(crate) struct Reply<T> {
    to: SyncSender<T>,
    asker: Weak<()>,
}

impl<T> Clone for Reply<T> {
    fn clone(&self) -> Reply<T> {
        Reply { to: self.to.clone(), asker: self.asker.clone() }
    }
}

impl<T> Asker<T> {
    /// An asker of so many servers, and where each of them answers.
    pub(crate) fn new(servers: usize) -> (Asker<T>, Reply<T>) {
        let ((to, answers), waits) = (sync_channel(servers), Arc::new(()));
        let asker = Arc::downgrade(&waits);
        (Asker { answers, _waits: waits }, Reply { to, asker })
    }
}

impl<T> Reply<T> {
    fn give(&self, answer: T) {
        // Whoever asked may have lost patience.
        _ = self.to.try_send(answer);
    }

    fn is_awaited(&self) -> bool {
        self.asker.strong_count() > 0
    }
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
    Census(Reply<Census>),
    Places(Reply<Places>),
    Contribution(Reply<Contribution>, Draft),
}

impl Question {
    fn is_awaited(&self) -> bool {
        match self {
            Question::Census(reply) => reply.is_awaited(),
            Question::Places(reply) => reply.is_awaited(),
            Question::Contribution(reply, _) => reply.is_awaited(),
        }
    }
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
                Errand::Contribute(at, answer) => {
                    // While time stands still there are no ticks over which to spread the work, but there is time.
                    let draft = if node.now() >= at { node.whole_draft() } else { Draft::default() };
                    self.note(at, Question::Contribution(answer, draft));
                }
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
            if !question.is_awaited() {
                return false;
            }
            match question {
                Question::Census(reply) if due => reply.give(census(node)),
                Question::Places(reply) if due => reply.give(places(node)),
                Question::Census(_) | Question::Places(_) => {}
                Question::Contribution(reply, draft) => {
                    let began = ThreadTime::now();
                    let made = due.then(|| node.contribution(std::mem::take(draft)));
                    if !due {
                        node.draft(draft, *at);
                    }
                    self.longest_look = self.longest_look.max(began.elapsed());
                    made.into_iter().for_each(|made| reply.give(made));
                }
            }
            !due
        });
    }

    /// Notes a question. One for which there is no room is dropped, and with it where its answer would go.
    fn note(&mut self, at: Tick, question: Question) {
        self.questions.retain(|(_, question)| question.is_awaited());
        let for_checkpoint = |question: &Question| matches!(question, Question::Contribution(..));
        let alike = |(_, other): &&(Tick, Question)| for_checkpoint(other) == for_checkpoint(&question);
        if self.questions.iter().filter(alike).count() < QUESTIONS_MAX {
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

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::World;
    use nimbus_node::NodeConfig;

    /// A server that stands at tick 40.
    fn node() -> Node {
        let world = Arc::new(World::new("test"));
        let (map, _) = crate::first_map(&world, 1).unwrap();
        Node::new(NodeConfig::new(RegionId(0)), world, 1, map, Tick(40))
    }

    #[test]
    fn a_question_goes_with_its_asker() {
        let (desk, mut errands) = Errands::open();
        let mut node = node();
        for round in 0..5 * QUESTIONS_MAX {
            let (asker, reply) = Asker::new(1);
            assert!(desk.hand_in(Errand::Census(Tick(99_999_999_999), reply)));
            errands.take(&mut node);
            assert_eq!(errands.questions.len(), 1, "in round {round}");
            drop(asker);
        }
        let (asker, reply) = Asker::new(1);
        assert!(desk.hand_in(Errand::Census(Tick(0), reply)));
        errands.take(&mut node);
        assert_eq!(asker.answers.try_recv().map(|census| census.tick), Ok(Tick(40)), "of a tick that is past");
        assert!(errands.questions.is_empty());
    }

    #[test]
    fn checkpoints_find_room_beside_questions_that_wait() {
        let (desk, mut errands) = Errands::open();
        let mut node = node();
        let (_patient, reply) = Asker::new(1);
        for _ in 0..2 * QUESTIONS_MAX {
            assert!(desk.hand_in(Errand::Census(Tick(50), reply.clone())));
        }
        let (asker, reply) = Asker::new(1);
        assert!(desk.hand_in(Errand::Contribute(Tick(40), reply)));
        errands.take(&mut node);
        assert_eq!(errands.questions.len(), QUESTIONS_MAX);
        assert_eq!(asker.answers.try_recv().map(|made| made.into_part().tick), Ok(Tick(40)));
    }
}
