//! Being a member: joining, heartbeats, the newest roster, and the common time.

use nimbus_control::{
    Fence, FromCoordinator, Heartbeat, Incarnation, Join, LoadReport, Refusal, RegionReport, Role as Part, Roster,
    ToCoordinator,
};
use nimbus_model::{Nid, Tick};
use nimbus_wire::{Address, Frame, GatewayId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::asks::Ask;
use super::post::Post;
use super::setup::{ClusterError, ClusterSetup};
use crate::clock::Clock;
use crate::mesh::{Delivery, Mesh, PeerConfig, ProcessName, Received, Role};
use crate::offset::ClockOffset;
use crate::pace::RealTime;
use crate::reading::Shown;

/// How often a process says that it is there.
const BEAT_EVERY: Duration = Duration::from_millis(100);
/// How long the connection to a process is kept that is a member no more.
const LISTEN_TO_FORMER: Duration = Duration::from_secs(15);

/// What a message amounts to.
pub(super) enum Heard {
    /// A frame for somebody in this process, from somebody who lives where it came from.
    Frame(Address, Vec<u8>),
    /// There is a newer roster.
    Roster(Arc<Roster>),
    /// A server shows itself.
    Shown(Shown),
    /// A coordinator wants the part of a checkpoint of everything here after a tick.
    Contribute(String, Tick),
    /// The coordinator answers a wish.
    Answered(u64, Result<Option<Nid>, String>),
    /// It has left, as it wanted.
    Left,
    /// Nothing that concerns others.
    Nothing,
}

/// This process among the others.
pub(super) struct Member {
    pub(super) mesh: Arc<Mesh>,
    setup: ClusterSetup,
    wish: Join,
    process: Option<Incarnation>,
    roster: Option<Arc<Roster>>,
    /// The newest roster of which everything has been passed on.
    heeded: u64,
    offset: ClockOffset,
    clock: Clock,
    beat_at: Duration,
    /// It wants to leave.
    leaving: bool,
    /// Processes that are members no more, and until when they are still listened to.
    former: BTreeMap<ProcessName, (PeerConfig, Duration)>,
    /// Processes that are members.
    peers: BTreeMap<ProcessName, PeerConfig>,
    /// Frames that came from a process that does not house their sender: of former servers, or forged.
    pub(super) misplaced: u64,
}

impl Member {
    pub(super) fn new(
        setup: &ClusterSetup,
        name: &ProcessName,
        role: Role,
        token: u64,
    ) -> Result<Member, ClusterError> {
        let mesh = setup.connect(name, role)?;
        let part = if role == Role::Gateway { Part::Gateway } else { Part::Node };
        let address = setup.places.get(name).map_or_else(String::new, |place| place.dialled().to_string());
        Ok(Member {
            mesh,
            setup: setup.clone(),
            wish: Join { name: name.as_str().to_owned(), role: part, address, token },
            process: None,
            roster: None,
            heeded: 0,
            offset: ClockOffset::default(),
            clock: Clock::start(),
            beat_at: Duration::ZERO,
            leaving: false,
            former: BTreeMap::new(),
            peers: BTreeMap::new(),
            misplaced: 0,
        })
    }

    /// The number it has, once it is a member.
    pub(super) fn process(&self) -> Option<Incarnation> {
        self.process
    }

    /// The newest roster it has, while not everything of it has been passed on.
    pub(super) fn unheeded(&self) -> Option<Arc<Roster>> {
        self.roster.clone().filter(|roster| self.heeded < roster.revision)
    }

    /// Everything of a roster has been passed on to whom it concerns in this process. Heartbeats say so from now on, and no
    /// earlier: a change may be forgotten once every process has said it.
    pub(super) fn heed(&mut self, roster: &Roster) {
        self.heeded = roster.revision;
    }

    /// The revision of the newest roster it has; zero before the first.
    pub(super) fn revision(&self) -> u64 {
        self.roster.as_ref().map_or(0, |roster| roster.revision)
    }

    /// Asks, from the next heartbeat on, to be relieved of everything and let go.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
    }

    /// Takes what another process sent.
    pub(super) fn hear(&mut self, received: Received) -> Result<Heard, ClusterError> {
        let from_coordinator = received.role == Role::Coordinator;
        match Post::decode(received.bytes) {
            Some(Post::Frame(bytes)) => {
                let Ok((from, to)) = Frame::addresses(&bytes) else { return Ok(Heard::Nothing) };
                if self.house_of(from) == Some(received.from.as_str()) {
                    return Ok(Heard::Frame(to, bytes));
                }
                self.misplaced += 1;
            }
            Some(Post::Shown(shown))
                if self.house_of(Address::Region(shown.region)) == Some(received.from.as_str()) =>
            {
                return Ok(Heard::Shown(shown));
            }
            Some(Post::Contribute(name, tick)) if from_coordinator => return Ok(Heard::Contribute(name, tick)),
            Some(Post::Answered(number, outcome)) if from_coordinator => return Ok(Heard::Answered(number, outcome)),
            Some(Post::ClockTold(sent, clock)) if from_coordinator => {
                self.offset.note(sent, clock, self.clock.steady_us());
            }
            // A coordinator that has just begun to lead, and was told by no other one.
            Some(Post::ClockAsked(sent)) if from_coordinator => {
                if let Some(shown) = self.calendar_us() {
                    self.mesh.send(&received.from, Post::ClockTold(sent, shown).encode(), Delivery::Latest);
                }
            }
            Some(Post::FromCoordinator(message)) if from_coordinator => return self.obey(message),
            _ => {}
        }
        Ok(Heard::Nothing)
    }

    fn obey(&mut self, message: FromCoordinator) -> Result<Heard, ClusterError> {
        match message {
            FromCoordinator::Welcome { token, process, roster } if token == self.wish.token => {
                self.process = Some(process);
                Ok(self.learn(roster))
            }
            FromCoordinator::Roster(roster) => Ok(self.learn(roster)),
            FromCoordinator::Fenced { process, why: Fence::Left, .. }
                if self.leaving && self.process == Some(process) =>
            {
                Ok(Heard::Left)
            }
            FromCoordinator::Fenced { process, revision, why }
                if self.process == Some(process)
                    && self.roster.as_ref().is_none_or(|known| known.revision <= revision) =>
            {
                Err(ClusterError::Fenced(why.to_string()))
            }
            FromCoordinator::Refused { token, reason } if token == self.wish.token => match reason {
                // A name is taken until its former bearer is given up; asking again will help.
                Refusal::NameTaken(_) => Ok(Heard::Nothing),
                Refusal::Full | Refusal::Exhausted => Err(ClusterError::Refused(reason.to_string())),
            },
            FromCoordinator::Refused { .. }
            | FromCoordinator::Welcome { .. }
            | FromCoordinator::Fenced { .. }
            | FromCoordinator::NotLeading { .. } => Ok(Heard::Nothing),
        }
    }

    fn learn(&mut self, roster: Arc<Roster>) -> Heard {
        if self.process.is_none() || self.roster.as_ref().is_some_and(|known| known.revision >= roster.revision) {
            return Heard::Nothing;
        }
        let mut peers = self.setup.peers(|role| role == Role::Coordinator);
        for (_, member) in roster.members() {
            let role = if member.role == Part::Gateway { Role::Gateway } else { Role::Node };
            if let (Ok(name), Ok(address)) = (ProcessName::new(&member.name), member.address.parse()) {
                peers.insert(name, PeerConfig { role, address: Some(address) });
            }
        }
        self.listen_to_former(&mut peers);
        self.mesh.set_peers(peers);
        self.roster = Some(roster.clone());
        Heard::Roster(roster)
    }

    /// Keeps connections to processes that are members no more for a while. What they say comes to nothing, because they
    /// house nobody by the roster; but it is seen, and counted.
    fn listen_to_former(&mut self, peers: &mut BTreeMap<ProcessName, PeerConfig>) {
        let now = self.clock.now();
        for (name, config) in std::mem::replace(&mut self.peers, peers.clone()) {
            if !peers.contains_key(&name) {
                self.former.insert(name, (config, now + LISTEN_TO_FORMER));
            }
        }
        self.former.retain(|name, (_, until)| *until > now && !peers.contains_key(name));
        peers.extend(self.former.iter().map(|(name, (config, _))| (name.clone(), *config)));
    }

    /// Tells every gateway how a server does.
    pub(super) fn show(&self, shown: Shown) {
        let Some(roster) = &self.roster else { return };
        let bytes = Post::Shown(shown).encode();
        for (_, member) in roster.members().filter(|(_, member)| member.role == Part::Gateway) {
            if let Ok(name) = ProcessName::new(&member.name) {
                self.mesh.send(&name, bytes.clone(), Delivery::Ordered);
            }
        }
    }

    /// Tells coordinators what a server costs and where.
    pub(super) fn tell_load(&self, load: LoadReport) {
        self.tell_coordinators(&Post::Load(Box::new(load)));
    }

    /// Asks coordinators for a change of the clock or the world; the one that leads answers.
    pub(super) fn ask(&self, number: u64, ask: Ask) {
        self.tell_coordinators(&Post::Asked(number, ask));
    }

    fn tell_coordinators(&self, post: &Post) {
        tell_all(&self.mesh, self.setup.named(Role::Coordinator), post);
    }

    /// Says that it is there when that is due, and asks what time it is. True when it was due.
    pub(super) fn beat(&mut self, tick: Tick, regions: impl FnOnce() -> Vec<RegionReport>) -> bool {
        if self.clock.now() < self.beat_at {
            return false;
        }
        self.beat_at = self.clock.now() + BEAT_EVERY;
        let message = match (self.process, &self.roster) {
            (Some(process), Some(_)) => {
                ToCoordinator::Heartbeat(Heartbeat { process, revision: self.heeded, tick, regions: regions() })
            }
            _ => ToCoordinator::Join(self.wish.clone()),
        };
        let bytes = Post::ToCoordinator(message).encode();
        let wish =
            self.process.filter(|_| self.leaving).map(|process| Post::ToCoordinator(ToCoordinator::Drain(process)));
        for name in self.setup.peers(|role| role == Role::Coordinator).keys() {
            self.mesh.send(name, bytes.clone(), Delivery::Ordered);
            if let Some(wish) = &wish {
                self.mesh.send(name, wish.encode(), Delivery::Ordered);
            }
            self.mesh.send(name, Post::ClockAsked(self.clock.steady_us()).encode(), Delivery::Latest);
        }
        true
    }

    /// Brings a timeline into line with the roster's, by the coordinator's clock.
    pub(super) fn align(&self, time: &RealTime) {
        let timeline = self.roster.as_ref().and_then(|roster| roster.timeline.as_ref());
        if let Some((timeline, calendar_us)) = timeline.zip(self.calendar_us()) {
            time.follow(timeline, calendar_us);
        }
    }

    /// What the coordinator's calendar shows; none while no coordinator has told. What our own shows is no substitute: it
    /// may be far ahead, and no tick that was due is taken back.
    fn calendar_us(&self) -> Option<u64> {
        self.offset.ahead_us().map(|ahead_us| self.clock.steady_us().saturating_add_signed(ahead_us))
    }

    /// Where everybody is who does not live in this process.
    pub(super) fn routes(&self) -> BTreeMap<Address, ProcessName> {
        let Some(roster) = &self.roster else { return BTreeMap::new() };
        let regions = roster.held().map(|(id, _)| id);
        let gateways = self.gateways().into_iter().map(Address::Gateway);
        let addresses = regions.flat_map(|id| [Address::Region(id), Address::Backup(id)]).chain(gateways);
        let elsewhere = |address: Address| {
            let name = self.house_of(address).filter(|name| *name != self.wish.name)?;
            Some((address, ProcessName::new(name).ok()?))
        };
        addresses.filter_map(elsewhere).collect()
    }

    /// The process in which somebody lives, as the roster has it.
    fn house_of(&self, address: Address) -> Option<&str> {
        let roster = self.roster.as_ref()?;
        let name = |process| Some(roster.member(process)?.name.as_str());
        match address {
            Address::Region(id) => name(roster.regions.get(&id).filter(|region| region.lost.is_none())?.server),
            Address::Backup(id) => name(roster.regions.get(&id)?.backup?.process),
            Address::Gateway(GatewayId(number)) => {
                let member = roster.member(Incarnation(number))?;
                (member.role == Part::Gateway).then_some(member.name.as_str())
            }
        }
    }

    /// The gateways that there are. Each start of one has its own number.
    pub(super) fn gateways(&self) -> Vec<GatewayId> {
        let members = self.roster.iter().flat_map(|roster| roster.members());
        members.filter(|(_, member)| member.role == Part::Gateway).map(|(process, _)| GatewayId(process.0)).collect()
    }
}

/// Tells several processes the same.
pub(super) fn tell_all<'a>(mesh: &Mesh, names: impl Iterator<Item = &'a ProcessName>, post: &Post) {
    let bytes = post.encode();
    for name in names {
        mesh.send(name, bytes.clone(), Delivery::Ordered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::stage::{self, Stage};
    use nimbus_control::Timeline;

    const HOUR_US: i64 = 3_600_000_000;

    /// A member that knows a timeline of 10 ticks a second.
    fn member(stage: &Stage) -> Member {
        let mut member = Member::new(&stage.setup, &"n".parse().unwrap(), Role::Node, 7).unwrap();
        let roster = Roster { timeline: Some(Timeline::new(0, 10)), ..stage::roster() };
        member.roster = Some(Arc::new(roster));
        member
    }

    /// The coordinator, whose calendar is at a tick now, answers what was asked just now.
    fn told(member: &mut Member, tick: u64) {
        let bytes = Post::ClockTold(member.clock.steady_us(), tick * 100_000).encode();
        let received = Received { from: "c".parse().unwrap(), role: Role::Coordinator, incarnation: 1, bytes };
        member.hear(received).unwrap();
    }

    fn due(member: &Member, time: &RealTime) -> Tick {
        member.align(time);
        time.wait_briefly(Tick(u64::MAX), Duration::ZERO).unwrap()
    }

    #[test]
    fn a_calendar_that_somebody_sets_moves_no_tick() {
        let stage = Stage::new("member-steps");
        let (mut member, time) = (member(&stage), RealTime::common(50));
        told(&mut member, 1_000);
        // A test may take a minute, not an hour.
        let now = Tick(1_000)..Tick(1_600);
        assert!(now.contains(&due(&member, &time)));
        for by_us in [HOUR_US, -HOUR_US] {
            Clock::set_calendar_ahead(by_us);
            let soon = due(&member, &time);
            assert!(now.contains(&soon), "{soon}");
            told(&mut member, 1_050);
            let later = due(&member, &time);
            assert!(now.contains(&later) && later >= soon, "{later}");
        }
    }

    #[test]
    fn nothing_is_due_before_a_coordinator_has_told_the_time() {
        let stage = Stage::new("member-waits");
        let (mut member, time) = (member(&stage), RealTime::common(50));
        assert_eq!(due(&member, &time), Tick(0));
        told(&mut member, 50);
        assert!((Tick(50)..Tick(650)).contains(&due(&member, &time)));
    }
}
