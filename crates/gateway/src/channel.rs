//! One view of the world, made once for all clients that share it: what comes into sight and goes out of it, and within a
//! budget of bytes where everything is.
//!
//! A channel remembers what its clients have been shown. What differs from that by more than an eye can tell gathers
//! priority until it is sent; what differs most is sent first. So near and fast things are sent often, far and slow ones
//! rarely, resting ones never, and nothing is forgotten.

use nimbus_model::{ClientId, Pose, Tick};
use nimbus_wire::client::Watch;
use nimbus_wire::client::bodies;
use nimbus_wire::stream::{BodyState, STREAM_BODIES_MAX, StreamConfig, StreamEncoder};
use std::sync::Arc;

use crate::Message;
use crate::budget::Budget;
use crate::interest::{Eye, LINGERS};
use crate::replicas::{Replica, Replicas};
use crate::stream::Stream;

/// Bytes of a body that comes into sight, and of one that moves in a plain message.
const CREATE_BYTES: f32 = 48.0;
const STATE_BYTES: f32 = 24.0;
/// What a packed body is taken to cost before any was sent, bytes.
const PACKED_BYTES: f32 = 8.0;
/// How fast that follows what is measured.
const LEARNS: f32 = 0.2;
/// Bytes around a message: its own head and that of the transport.
const HEAD_BYTES: f32 = 24.0;
/// Most of the credit that goes into bodies that come into sight, so that the others do not stand still meanwhile.
const ENTER_SHARE: f32 = 0.5;
/// It is looked around for what comes into sight and goes out of it every so many sends, while nothing waits.
const LOOKS_EVERY: u32 = 5;
/// A body whose last word is older is taken to have stopped, ticks: its server is late, and guessing on would not help.
const GUESS_TICKS_MAX: u64 = 8;
/// While time stands still, views whose picture is not complete are sent as often as the gateway looks in, at least. Hertz.
const PAUSED_HZ: u32 = 20;
/// Bodies that come into sight, per message: one that takes long on a slow line would look like silence.
pub(crate) const CREATES_PER_MESSAGE: usize = 1024;

/// A body that clients have been shown.
#[derive(Clone, Copy, Debug)]
struct Shown {
    state: BodyState,
    /// What has gathered since it was sent last.
    priority: f32,
}

/// A client of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) client: ClientId,
    /// It has a packet that the next one goes on from.
    synced: bool,
}

/// What the shell does not have to know of a view.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    watch: Watch,
    eye: Eye,
    members: Vec<Member>,
    /// Clients that get a picture with the next send.
    joining: Vec<ClientId>,
    /// In order of slot.
    shown: Vec<Shown>,
    /// Bodies that died and owners that changed since the last send.
    gone: Vec<u32>,
    owners: Vec<u32>,
    encoder: StreamEncoder,
    sends: u32,
    /// When the last packet was one to begin with.
    restarted: u32,
    looked: u32,
    /// Something that is in sight was not told of for want of credit.
    owes: bool,
    /// Something that may concern clients has happened since the last send, or was not told then.
    stale: bool,
    /// The turn of the last send.
    turn: u64,
    /// The newest tick of any message. Clients take nothing that is older than what they have.
    told: Tick,
    budget: Budget,
    body_bytes: f32,
}

/// What a send takes from the gateway.
pub(crate) struct Scenery<'a> {
    pub(crate) replicas: &'a Replicas,
    pub(crate) stream: &'a Stream,
    pub(crate) now: Tick,
    pub(crate) tick_hz: u32,
    /// The timeline stands still.
    pub(crate) paused: bool,
}

impl Channel {
    pub(crate) fn new(watch: Watch) -> Channel {
        Channel {
            watch,
            eye: Eye::new(&watch),
            members: Vec::new(),
            joining: Vec::new(),
            shown: Vec::new(),
            gone: Vec::new(),
            owners: Vec::new(),
            encoder: StreamEncoder::reliable(StreamConfig::default()),
            sends: 0,
            restarted: 0,
            looked: 0,
            owes: true,
            stale: true,
            turn: 0,
            told: Tick(0),
            budget: Budget::new(),
            body_bytes: if watch.packed { PACKED_BYTES } else { STATE_BYTES },
        }
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = ClientId> {
        self.members.iter().map(|member| member.client).chain(self.joining.iter().copied())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members().next().is_none()
    }

    /// True for a channel of one client, whose view may be changed without asking anybody.
    pub(crate) fn is_own(&self) -> bool {
        self.members().nth(1).is_none()
    }

    pub(crate) fn bodies(&self) -> usize {
        self.shown.len()
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    pub(crate) fn budget_mut(&mut self) -> &mut Budget {
        &mut self.budget
    }

    pub(crate) fn join(&mut self, client: ClientId) {
        self.joining.push(client);
    }

    pub(crate) fn leave(&mut self, client: ClientId) {
        self.members.retain(|member| member.client != client);
        self.joining.retain(|joining| *joining != client);
    }

    /// The same for one of its clients alone, who has seen all that was shown here; it is no longer one of this channel.
    pub(crate) fn fork(&mut self, client: ClientId) -> Channel {
        let mut own = self.clone();
        own.members.retain(|member| member.client == client);
        own.joining.retain(|joining| *joining == client);
        self.leave(client);
        own
    }

    /// Looks elsewhere from now on.
    pub(crate) fn aim(&mut self, watch: Watch) {
        if watch.packed && !self.watch.packed {
            self.members.iter_mut().for_each(|member| member.synced = false);
        }
        (self.watch, self.eye, self.owes) = (watch, Eye::new(&watch), true);
    }

    /// Another world was loaded: nothing that was shown is there any more, and clients know.
    pub(crate) fn clear(&mut self) {
        self.shown.clear();
        self.gone.clear();
        self.owners.clear();
        self.members.iter_mut().for_each(|member| member.synced = false);
        (self.owes, self.stale, self.told) = (true, true, Tick(0));
    }

    /// Takes note of what happened in a tick, whether or not something is sent in it: slots are used again.
    pub(crate) fn note(&mut self, destroyed: &[u32], owners: &[u32]) {
        self.stale = true;
        for slot in destroyed {
            if let Ok(at) = self.shown.binary_search_by_key(slot, |shown| shown.state.slot) {
                self.shown.remove(at);
                self.gone.push(*slot);
            }
        }
        for slot in owners {
            if self.shown.binary_search_by_key(slot, |shown| shown.state.slot).is_ok() {
                self.owners.push(*slot);
            }
        }
    }

    /// Whether it is its turn: so many times a second, not all channels in the same tick, and at once for the first client. A
    /// gateway that is late skips ticks, so it is not asked which tick it is, but how many turns have passed. While time stands
    /// still there are no turns, and everybody sees what has not been told yet.
    pub(crate) fn is_due(&self, number: u64, scenery: &Scenery<'_>) -> bool {
        if scenery.paused {
            return self.owes || self.stale || !self.joining.is_empty();
        }
        (!self.joining.is_empty() && self.sends == 0) || self.turn_at(number, scenery) != self.turn
    }

    fn turn_at(&self, number: u64, scenery: &Scenery<'_>) -> u64 {
        (scenery.now.0 + number) / u64::from((scenery.tick_hz / self.watch.hz.max(1)).max(1))
    }

    /// Sends what is due to every client of the channel. Gives who got a picture, and how many bytes that took.
    pub(crate) fn send(
        &mut self,
        number: u64,
        scenery: &Scenery<'_>,
        out: &mut Vec<(ClientId, Message)>,
    ) -> Vec<(ClientId, usize)> {
        self.sends += 1;
        let turn = self.turn_at(number, scenery);
        let turns = turn.saturating_sub(std::mem::replace(&mut self.turn, turn));
        let hz = self.watch.hz.max(if scenery.paused { PAUSED_HZ } else { 1 }) as f32;
        self.budget.earn(&self.watch, hz, turns as f32);
        let credit = self.budget.credit();
        let looks = self.owes || (scenery.paused && self.stale) || self.sends >= self.looked + LOOKS_EVERY;
        let mut messages: Vec<Message> = Vec::new();
        self.tell_gone(&mut messages);
        if looks {
            self.look_around(scenery, &mut messages);
        }
        self.tell_owners(scenery.replicas, &mut messages);
        let bytes: usize = messages.iter().map(Message::size).sum();
        self.budget.spend(bytes as f32 + HEAD_BYTES * messages.len() as f32);
        for member in &self.members {
            out.extend(messages.iter().map(|message| (member.client, message.clone())));
        }
        self.stale = !self.tell_states(scenery, out);
        self.budget.sent(credit, hz);
        let joining = std::mem::take(&mut self.joining);
        joining.into_iter().map(|client| (client, self.let_in(client, scenery, out))).collect()
    }

    /// Shows everything to a client that has seen nothing. Gives how many bytes that takes.
    fn let_in(&mut self, client: ClientId, scenery: &Scenery<'_>, out: &mut Vec<(ClientId, Message)>) -> usize {
        let mut picture: Vec<Message> = scenery.stream.shapes().collect();
        self.picture(scenery, &mut picture);
        let bytes = picture.iter().map(Message::size).sum();
        out.extend(picture.into_iter().map(|message| (client, message)));
        self.members.push(Member { client, synced: false });
        bytes
    }

    fn tell_gone(&mut self, messages: &mut Vec<Message>) {
        if !self.gone.is_empty() {
            messages.push(binary(|bytes| bodies::encode_destroy(&self.gone, bytes)));
            self.gone.clear();
        }
    }

    fn tell_owners(&mut self, replicas: &Replicas, messages: &mut Vec<Message>) {
        self.owners.sort_unstable();
        self.owners.dedup();
        // What went out of sight meanwhile is nobody's business any more.
        let shown = &self.shown;
        let is_shown = |slot: &u32| shown.binary_search_by_key(slot, |shown| shown.state.slot).is_ok();
        let owners: Vec<_> = self
            .owners
            .drain(..)
            .filter(is_shown)
            .filter_map(|slot| Some((slot, replicas.get(slot)?.region)))
            .collect();
        if !owners.is_empty() {
            messages.push(binary(|bytes| bodies::encode_owner(owners.into_iter(), bytes)));
        }
    }

    /// Tells what came into sight, nearest first, and what went out of it.
    fn look_around(&mut self, scenery: &Scenery<'_>, messages: &mut Vec<Message>) {
        self.looked = self.sends;
        let (eye, replicas) = (self.eye, scenery.replicas);
        let stays = |shown: &Shown| {
            replicas.get(shown.state.slot).is_some_and(|replica| eye.sees(replica.pose.position, true).is_some())
        };
        let mut left: Vec<u32> =
            self.shown.extract_if(.., |shown| !stays(shown)).map(|shown| shown.state.slot).collect();
        let mut entering: Vec<(f32, u32)> = Vec::new();
        let mut known = self.shown.iter().map(|shown| shown.state.slot).peekable();
        for replica in replicas.in_slots() {
            while known.next_if(|slot| *slot < replica.slot).is_some() {}
            if known.peek() == Some(&replica.slot) {
                continue;
            }
            if let Some(distance) = eye.sees(replica.pose.position, false) {
                entering.push((distance, replica.slot));
            }
        }
        let affordable = (ENTER_SHARE * self.budget.credit() / CREATE_BYTES).max(1.0) as usize;
        let too_dear = entering.len() > affordable;
        if too_dear || entering.len() > STREAM_BODIES_MAX - self.shown.len() {
            entering.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            entering.truncate(affordable);
            left.extend(self.make_room(replicas, &mut entering));
        }
        // What there is no room for is not owed: it would be looked for at every send, in vain.
        self.owes = too_dear && entering.len() == affordable;
        if !left.is_empty() {
            left.sort_unstable();
            messages.push(binary(|bytes| bodies::encode_leave(&left, bytes)));
        }
        if entering.is_empty() {
            return;
        }
        entering.sort_unstable_by_key(|(_, slot)| *slot);
        let replicas: Vec<&Replica> = entering.iter().filter_map(|(_, slot)| replicas.get(*slot)).collect();
        messages.extend(creates(replicas.iter().map(|replica| scenery.stream.create(replica)).collect()));
        self.shown.extend(replicas.iter().map(|replica| {
            let state = BodyState { slot: replica.slot, pose: replica.pose, at_rest: replica.sleeping };
            Shown { state, priority: 0.0 }
        }));
        self.shown.sort_unstable_by_key(|shown| shown.state.slot);
    }

    /// Makes room for what comes into sight, nearest first, where the view is full: what is much farther away goes. Gives what
    /// does, and leaves what there is room for.
    fn make_room(&mut self, replicas: &Replicas, entering: &mut Vec<(f32, u32)>) -> Vec<u32> {
        let free = STREAM_BODIES_MAX - self.shown.len();
        let Some(beyond) = entering.get(free..).filter(|beyond| !beyond.is_empty()) else { return Vec::new() };
        let distance = |slot: u32| Some(self.eye.sees(replicas.get(slot)?.pose.position, true).unwrap_or(f32::MAX));
        let mut far: Vec<(f32, u32)> =
            self.shown.iter().filter_map(|shown| Some((distance(shown.state.slot)?, shown.state.slot))).collect();
        far.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let goes = beyond.iter().zip(&far).take_while(|(near, far)| LINGERS * near.0 < far.0).count();
        entering.truncate(free + goes);
        let mut gone: Vec<u32> = far[..goes].iter().map(|(_, slot)| *slot).collect();
        gone.sort_unstable();
        self.shown.retain(|shown| gone.binary_search(&shown.state.slot).is_err());
        gone
    }

    /// Tells where bodies are, those first that are shown most wrongly. False when something had to wait.
    fn tell_states(&mut self, scenery: &Scenery<'_>, out: &mut Vec<(ClientId, Message)>) -> bool {
        let synced = self.members.iter().filter(|member| member.synced).count();
        // Those who have one to go on from pay for those who have not, so it is not done at every turn.
        let every = if scenery.paused { 1 } else { self.watch.hz };
        let restarts = self.watch.packed
            && synced < self.members.len()
            && (synced == 0 || (self.sends - self.restarted >= every && !self.budget.has_debt()));
        let mut wrong: Vec<(f32, u32)> = Vec::new();
        for (at, shown) in self.shown.iter_mut().enumerate() {
            let Some(replica) = scenery.replicas.get(shown.state.slot) else { continue };
            let error = self.eye.error(&shown.state.pose, &replica.pose);
            let rests = rests(&self.eye, replica, shown);
            let settles = rests && !shown.state.at_rest;
            if error >= 1.0 || (settles && error > 0.0) {
                shown.priority += error;
                wrong.push((shown.priority, at as u32));
            } else if settles || (shown.state.at_rest && !rests && error > 0.0) {
                wrong.push((1.0, at as u32));
            }
        }
        let affordable = ((self.budget.credit() - HEAD_BYTES) / self.body_bytes).max(0.0) as usize;
        // A packet to begin with has all bodies in full anyway.
        let all = restarts || wrong.len() <= affordable;
        if !all {
            if affordable > 0 {
                wrong.select_nth_unstable_by(affordable - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            }
            wrong.truncate(affordable);
            wrong.sort_unstable_by_key(|(_, at)| *at);
        }
        if wrong.is_empty() && !restarts {
            return all;
        }
        let stamp = |shown: &Shown| scenery.replicas.get(shown.state.slot).map(|replica| replica.stamp.tick);
        let tick = wrong.iter().filter_map(|(_, at)| stamp(&self.shown[*at as usize])).max();
        let newest = || self.shown.iter().filter_map(stamp).max().unwrap_or(scenery.now);
        let tick = tick.unwrap_or_else(newest).max(self.told);
        self.told = tick;
        for (_, at) in &wrong {
            let shown = &mut self.shown[*at as usize];
            let Some(replica) = scenery.replicas.get(shown.state.slot) else { continue };
            shown.state.pose = pose_at(replica, tick, scenery.tick_hz);
            shown.state.at_rest = rests(&self.eye, replica, shown);
            shown.priority = 0.0;
        }
        let message = if self.watch.packed { self.packed(tick, restarts) } else { Some(self.plain(tick, &wrong)) };
        let Some(message) = message else { return all };
        let cost = message.size() as f32 + HEAD_BYTES;
        if restarts {
            self.budget.borrow(cost)
        } else {
            self.budget.spend(cost)
        }
        if !wrong.is_empty() && !restarts && self.watch.packed {
            let measured = cost / wrong.len() as f32;
            self.body_bytes += LEARNS * (measured.clamp(1.0, 2.0 * CREATE_BYTES) - self.body_bytes);
        }
        for member in &mut self.members {
            member.synced |= restarts;
            if member.synced || !self.watch.packed {
                out.push((member.client, message.clone()));
            }
        }
        all
    }

    fn plain(&self, tick: Tick, told: &[(f32, u32)]) -> Message {
        let states = told.iter().map(|(_, at)| self.shown[*at as usize].state);
        binary(|bytes| bodies::encode_state(tick, states.map(|state| (state.slot, state.pose)), bytes))
    }

    /// Everything that is shown; what is as it was costs next to nothing.
    fn packed(&mut self, tick: Tick, restarts: bool) -> Option<Message> {
        if restarts {
            self.encoder.restart();
            self.restarted = self.sends;
        }
        let states: Vec<BodyState> = self.shown.iter().map(|shown| shown.state).collect();
        let mut bytes = Vec::new();
        let encoder = &mut self.encoder;
        // Slots are in order and poses are those of replicas, so nothing can be wrong with them.
        let encoded = bodies::encode_packed(tick, &mut bytes, |bytes| encoder.encode_next(&states, bytes));
        encoded.ok().map(|()| Message::Binary(Arc::from(bytes)))
    }

    /// Everything that is shown, for a client that has seen nothing.
    fn picture(&self, scenery: &Scenery<'_>, messages: &mut Vec<Message>) {
        let known: Vec<_> = self
            .shown
            .iter()
            .filter_map(|shown| Some((shown, scenery.replicas.get(shown.state.slot)?)))
            .map(|(shown, replica)| bodies::Create { pose: shown.state.pose, ..scenery.stream.create(replica) })
            .collect();
        messages.extend(creates(known));
    }
}

/// Whether clients are to be told that a body is at rest, as far as they can tell.
fn rests(eye: &Eye, replica: &Replica, shown: &Shown) -> bool {
    replica.sleeping || eye.rests(replica.pose.position, &replica.velocity, shown.state.at_rest)
}

/// Where a body is at a tick that its server may not have told of yet.
fn pose_at(replica: &Replica, tick: Tick, tick_hz: u32) -> Pose {
    let late = tick.since(replica.stamp.tick);
    if late == 0 || late > GUESS_TICKS_MAX || replica.sleeping {
        return replica.pose;
    }
    let position = replica.pose.position + replica.velocity.linear * (late as f32 / tick_hz.max(1) as f32);
    Pose { position, ..replica.pose }
}

/// What a client must know of bodies that it has not seen.
fn creates(bodies: Vec<bodies::Create>) -> Vec<Message> {
    let message = |part: &[bodies::Create]| binary(|bytes| bodies::encode_create(part.iter().copied(), bytes));
    bodies.chunks(CREATES_PER_MESSAGE).map(message).collect()
}

fn binary(write: impl FnOnce(&mut Vec<u8>)) -> Message {
    let mut bytes = Vec::new();
    write(&mut bytes);
    Message::Binary(Arc::from(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use crate::replicas::Voice;
    use nimbus_model::{BodyDesc, Motion, Nid, RegionId, Shape, Vec3, Velocity};

    #[test]
    fn a_view_that_is_full_comes_to_rest() {
        let (mut replicas, mut stream) = (Replicas::default(), Stream::default());
        let desc = Arc::new(BodyDesc::dynamic(Shape::ball(0.5)));
        let voice = Voice { region: RegionId(0), epoch: 1, tick: Tick(1) };
        for nid in 0..STREAM_BODIES_MAX as u64 + 500 {
            let motion = Motion { sleeping: true, ..Motion::new(Pose::at(Vec3::X * nid as f32), Velocity::ZERO) };
            replicas.hosted(voice, (Nid(nid), 1), &desc, &motion, &mut Counters::default());
        }
        replicas.settle();
        stream.changes(&replicas, false, &mut Vec::new(), &mut Vec::new());
        replicas.end_tick(Tick(1));
        // Far fewer fit into a send than lie beyond those that are shown.
        let mut channel = Channel::new(Watch { kbit: 1_000, ..Watch::around(Vec3::ZERO, 9_000.0) });
        channel.join(ClientId(1));
        let scenery = Scenery { replicas: &replicas, stream: &stream, now: Tick(1), tick_hz: 60, paused: true };
        let sends = (0..1_000).take_while(|_| {
            let due = channel.is_due(0, &scenery);
            if due {
                channel.send(0, &scenery, &mut Vec::new());
            }
            due
        });
        let sends = sends.count();
        assert!((20..1_000).contains(&sends), "it looks around for ever, or showed all at once: {sends} sends");
        assert_eq!(channel.bodies(), STREAM_BODIES_MAX);
    }
}
