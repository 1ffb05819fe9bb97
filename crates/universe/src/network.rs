//! The network between actors: late, lossy, repeating, reordering, narrow, and at times cut.

use nimbus_model::Rng;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::actor::Actor;
use crate::faults::FaultCounts;

/// Virtual time, nanoseconds since the universe began.
pub type Nanos = u64;

/// One millisecond.
pub(crate) const MS: Nanos = 1_000_000;

/// How the links between servers and gateways behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkModel {
    /// Least one-way latency.
    pub latency_ns: Nanos,
    /// Most that chance adds to it, per frame.
    pub jitter_ns: Nanos,
    /// Probability that a frame is lost.
    pub loss: f32,
    /// Probability that a frame arrives twice.
    pub duplication: f32,
    /// Probability that a frame is held back long enough for later ones to overtake it.
    pub reordering: f32,
    /// Bytes a second, if limited.
    pub bandwidth: Option<NonZeroU64>,
}

impl Default for LinkModel {
    /// A quiet local network: half a millisecond, nothing lost.
    fn default() -> Self {
        LinkModel { latency_ns: MS / 2, jitter_ns: 0, loss: 0.0, duplication: 0.0, reordering: 0.0, bandwidth: None }
    }
}

impl LinkModel {
    /// A link somewhat better or worse than this one. What is zero stays zero.
    fn varied(&self, rng: &mut Rng) -> LinkModel {
        let mut factor = || rng.between(0.5, 1.5);
        LinkModel {
            latency_ns: (self.latency_ns as f32 * factor()) as Nanos,
            jitter_ns: (self.jitter_ns as f32 * factor()) as Nanos,
            loss: self.loss * factor(),
            duplication: self.duplication * factor(),
            reordering: self.reordering * factor(),
            bandwidth: self.bandwidth,
        }
    }
}

/// How much may wait for a narrow link, as time; what comes on top is lost, as in any router.
const BACKLOG_NS: Nanos = 200 * MS;
/// How long a frame that will be overtaken is held back.
const HELD_BACK_NS: Nanos = 60 * MS;

/// One direction between two actors. No two are alike: each is somewhat better or worse than the model.
#[derive(Clone, Copy, Debug)]
struct Link {
    model: LinkModel,
    /// When the line is free again.
    free_at: Nanos,
    /// The latest arrival so far.
    last_arrival: Nanos,
}

/// All links, and what became of the frames on them.
#[derive(Debug)]
pub struct Network {
    model: LinkModel,
    /// Whether every link is exactly like the model.
    exact: bool,
    rng: Rng,
    links: BTreeMap<(Actor, Actor), Link>,
    overrides: BTreeMap<(Actor, Actor), LinkModel>,
    /// Actors cut off from everybody else until a time.
    cut: BTreeMap<Actor, Nanos>,
    /// Pairs of actors that do not hear each other until a time.
    parted: BTreeMap<(Actor, Actor), Nanos>,
    /// Faults that happened.
    pub counts: FaultCounts,
    /// Frames sent.
    pub frames: u64,
    /// Bytes sent.
    pub bytes: u64,
}

impl Network {
    /// A network whose links vary around this model; `seed` decides the fate of every frame.
    pub fn new(model: LinkModel, seed: u64) -> Network {
        Network {
            model,
            exact: false,
            rng: Rng::stream(seed, 1),
            links: BTreeMap::new(),
            overrides: BTreeMap::new(),
            cut: BTreeMap::new(),
            parted: BTreeMap::new(),
            counts: FaultCounts::default(),
            frames: 0,
            bytes: 0,
        }
    }

    /// A network whose links are all exactly like this model.
    pub fn exact(model: LinkModel, seed: u64) -> Network {
        Network { exact: true, ..Network::new(model, seed) }
    }

    /// Gives one direction between two actors a model of its own.
    pub fn set_link(&mut self, from: Actor, to: Actor, model: LinkModel) {
        self.overrides.insert((from, to), model);
        self.links.remove(&(from, to));
    }

    /// Cuts an actor off from everybody until a time.
    pub fn cut_off(&mut self, actor: Actor, until: Nanos) {
        self.cut.insert(actor, until);
    }

    /// Keeps two actors from hearing each other until a time.
    pub fn part(&mut self, one: Actor, other: Actor, until: Nanos) {
        self.parted.insert((one, other), until);
        self.parted.insert((other, one), until);
    }

    /// Ends every fault: from now on frames only take their time.
    pub fn heal(&mut self) {
        self.cut.clear();
        self.parted.clear();
        let quiet = |model: LinkModel| LinkModel { latency_ns: model.latency_ns, ..LinkModel::default() };
        self.model = quiet(self.model);
        self.links.values_mut().for_each(|link| link.model = quiet(link.model));
        self.overrides.values_mut().for_each(|model| *model = quiet(*model));
    }

    /// When a frame arrives: not at all, once, or twice.
    pub fn send(&mut self, now: Nanos, from: Actor, to: Actor, bytes: usize) -> [Option<Nanos>; 2] {
        self.frames += 1;
        self.bytes += bytes as u64;
        if self.is_stream(from, to) {
            return [Some(self.arrival_in_order(now, from, to)), None];
        }
        let cut = |actor: &Actor| self.cut.get(actor).is_some_and(|until| now < *until);
        let parted = self.parted.get(&(from, to)).is_some_and(|until| now < *until);
        if parted || [from, to].iter().any(cut) {
            self.counts.partition += 1;
            return [None, None];
        }
        let LinkModel { loss, duplication, .. } = self.link(from, to).model;
        if self.rng.chance(loss) {
            self.counts.loss += 1;
            return [None, None];
        }
        let Some(first) = self.arrival(now, from, to, bytes) else { return [None, None] };
        let second = self.rng.chance(duplication).then(|| {
            self.counts.duplication += 1;
            first + self.rng.below(20 * MS)
        });
        [Some(first), second]
    }

    /// Clients sit at the far end of a stream that keeps order and loses nothing, as a WebSocket does.
    fn is_stream(&self, from: Actor, to: Actor) -> bool {
        matches!(from, Actor::Client(_)) || matches!(to, Actor::Client(_))
    }

    fn arrival_in_order(&mut self, now: Nanos, from: Actor, to: Actor) -> Nanos {
        let LinkModel { latency_ns, jitter_ns, .. } = self.link(from, to).model;
        let jitter = if jitter_ns > 0 { self.rng.below(jitter_ns) } else { 0 };
        let link = self.link(from, to);
        link.last_arrival = link.last_arrival.max(now + latency_ns + jitter);
        link.last_arrival
    }

    fn link(&mut self, from: Actor, to: Actor) -> &mut Link {
        let (model, exact, overrides, rng) = (&self.model, self.exact, &self.overrides, &mut self.rng);
        self.links.entry((from, to)).or_insert_with(|| {
            let usual = || if exact { *model } else { model.varied(rng) };
            let model = overrides.get(&(from, to)).copied().unwrap_or_else(usual);
            Link { model, free_at: 0, last_arrival: 0 }
        })
    }

    fn arrival(&mut self, now: Nanos, from: Actor, to: Actor, bytes: usize) -> Option<Nanos> {
        let model = self.link(from, to).model;
        let mut delay = model.latency_ns;
        if model.jitter_ns > 0 {
            delay += self.rng.below(model.jitter_ns);
        }
        if self.rng.chance(model.reordering) {
            delay += HELD_BACK_NS;
        }
        let link = self.links.get_mut(&(from, to))?;
        if let Some(bandwidth) = model.bandwidth {
            let start = link.free_at.max(now);
            if start > now + BACKLOG_NS {
                self.counts.bandwidth += 1;
                return None;
            }
            self.counts.bandwidth += u64::from(start > now);
            link.free_at = start + bytes as u64 * 1_000_000_000 / bandwidth;
            delay += link.free_at - now;
        }
        let at = now + delay;
        self.counts.reordering += u64::from(at < link.last_arrival);
        self.counts.jitter += u64::from(model.jitter_ns > 0);
        link.last_arrival = link.last_arrival.max(at);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Actor = Actor::Node(0);
    const B: Actor = Actor::Node(1);

    #[test]
    fn loss_and_duplication_happen_as_often_as_asked() {
        let model = LinkModel { loss: 0.1, duplication: 0.2, ..LinkModel::default() };
        let mut network = Network::new(LinkModel::default(), 7);
        network.set_link(A, B, model);
        let arrivals: usize = (0..10_000).map(|i| network.send(i, A, B, 100).iter().flatten().count()).sum();
        assert!((900..1100).contains(&network.counts.loss), "{:?}", network.counts);
        assert_eq!(arrivals as u64, 10_000 - network.counts.loss + network.counts.duplication);
        assert!((1600..2000).contains(&network.counts.duplication));
    }

    #[test]
    fn links_differ_and_one_can_be_set_apart() {
        let mut network = Network::new(LinkModel { latency_ns: 10 * MS, ..LinkModel::default() }, 3);
        let there = network.send(0, A, B, 1)[0].unwrap();
        let back = network.send(0, B, A, 1)[0].unwrap();
        assert_ne!(there, back);
        network.set_link(A, B, LinkModel { loss: 1.0, ..LinkModel::default() });
        assert_eq!(network.send(0, A, B, 1), [None, None]);
        assert!(network.send(0, B, A, 1)[0].is_some());
        network.heal();
        assert!(network.send(0, A, B, 1)[0].is_some());
    }

    #[test]
    fn a_cut_loses_everything_until_it_ends() {
        let mut network = Network::new(LinkModel::default(), 1);
        network.cut_off(B, 50);
        assert_eq!(network.send(10, A, B, 1), [None, None]);
        assert_eq!(network.send(10, B, A, 1), [None, None]);
        assert!(network.send(50, A, B, 1)[0].is_some());
    }

    #[test]
    fn a_narrow_link_delays_and_finally_drops() {
        let model = LinkModel { bandwidth: NonZeroU64::new(1_000_000), ..LinkModel::default() };
        let mut network = Network::new(model, 1);
        let first = network.send(0, A, B, 100_000)[0].unwrap();
        let second = network.send(0, A, B, 100_000)[0].unwrap();
        assert_eq!(second - first, 100 * MS);
        network.send(0, A, B, 100_000);
        assert_eq!(network.send(0, A, B, 1)[0], None);
    }
}
