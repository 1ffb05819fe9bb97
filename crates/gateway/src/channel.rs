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
use crate::interest::Eye;
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
/// What was not used may be saved up for so many sends.
const SAVED_SENDS: f32 = 3.0;
/// Most of the credit that goes into bodies that come into sight, so that the others do not stand still meanwhile.
const ENTER_SHARE: f32 = 0.5;
/// It is looked around for what comes into sight and goes out of it every so many sends, while nothing waits.
const LOOKS_EVERY: u32 = 5;
/// A body whose last word is older is taken to have stopped, ticks: its server is late, and guessing on would not help.
const GUESS_TICKS_MAX: u64 = 8;
/// A client that reads too slowly is sent this share of what it usually is at the least.
const SHARE_MIN: f32 = 1.0 / 16.0;
/// When it keeps up again, it gets this share of that more with every send.
const SHARE_STEP: f32 = 1.0 / 64.0;
/// Whatever clients are sent, it is taken to be worth so much, so that a quiet world does not make anybody seem slow. Nobody
/// is sent less for being slow either: with nothing sent, nothing would show that it keeps up again. Bytes a second.
const USUAL_MIN: f32 = 4096.0;
/// How much of what is usual is left after a send that took less, so that a moment of rest does not count for much.
const USUAL_LASTS: f32 = 0.99;

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
    credit: f32,
    body_bytes: f32,
    /// What a send costs lately, bytes.
    send_bytes: f32,
    /// What clients that keep up are sent, bytes a second.
    usual: f32,
    /// The share of that which the client can take, where it reads too slowly for all of it.
    share: f32,
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
            credit: 0.0,
            body_bytes: if watch.packed { PACKED_BYTES } else { STATE_BYTES },
            send_bytes: 0.0,
            usual: USUAL_MIN,
            share: 1.0,
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

    /// Bytes a second that its clients are sent, or would be if they kept up.
    pub(crate) fn bytes_per_s(&self) -> f32 {
        self.usual
    }

    /// The share of that which its client can take.
    pub(crate) fn share(&self) -> f32 {
        self.share
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

    /// Its client reads too slowly: it gets half as much. That is half of what there was to say, however much it asked for.
    pub(crate) fn slow_down(&mut self) {
        self.share = (0.5 * self.share).max(SHARE_MIN);
    }

    /// Its client keeps up.
    pub(crate) fn speed_up(&mut self) {
        self.share = (self.share + SHARE_STEP).min(1.0);
    }

    /// Another world was loaded: nothing that was shown is there any more, and clients know.
    pub(crate) fn clear(&mut self) {
        self.shown.clear();
        self.gone.clear();
        self.owners.clear();
        self.members.iter_mut().for_each(|member| member.synced = false);
        self.owes = true;
    }

    /// Takes note of what happened in a tick, whether or not something is sent in it: slots are used again.
    pub(crate) fn note(&mut self, destroyed: &[u32], owners: &[u32]) {
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

    /// Whether it is its turn: so many times a second, not all channels in the same tick, and at once for the first client.
    pub(crate) fn is_due(&self, number: u64, scenery: &Scenery<'_>) -> bool {
        let Scenery { now, tick_hz, paused, .. } = *scenery;
        let every = u64::from((tick_hz / self.watch.hz.max(1)).max(1));
        let begins = !self.joining.is_empty() && (self.sends == 0 || paused) || (paused && self.owes);
        begins || (!paused && (now.0 + number).is_multiple_of(every))
    }

    /// Sends what is due to every client of the channel. Gives who got a picture, and how many bytes that took.
    pub(crate) fn send(&mut self, scenery: &Scenery<'_>, out: &mut Vec<(ClientId, Message)>) -> Vec<(ClientId, usize)> {
        self.sends += 1;
        let hz = self.watch.hz.max(1) as f32;
        let asked = self.watch.kbit as f32 * 125.0;
        let per_send = if self.share < 1.0 { asked.min((self.share * self.usual).max(USUAL_MIN)) } else { asked } / hz;
        self.credit = (self.credit + per_send).min(SAVED_SENDS * per_send);
        let mut messages: Vec<Message> = Vec::new();
        self.tell_gone(&mut messages);
        if self.owes || self.sends >= self.looked + LOOKS_EVERY {
            self.look_around(scenery, &mut messages);
        }
        self.tell_owners(scenery.replicas, &mut messages);
        let credit = self.credit;
        let bytes: usize = messages.iter().map(Message::size).sum();
        self.credit -= bytes as f32 + HEAD_BYTES * messages.len() as f32;
        for member in &self.members {
            out.extend(messages.iter().map(|message| (member.client, message.clone())));
        }
        self.tell_states(scenery, out);
        self.send_bytes += LEARNS * (credit - self.credit - self.send_bytes);
        if self.share == 1.0 {
            self.usual = (self.send_bytes * hz).max(USUAL_LASTS * self.usual).max(USUAL_MIN);
        }
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
        let left: Vec<u32> = self.shown.extract_if(.., |shown| !stays(shown)).map(|shown| shown.state.slot).collect();
        if !left.is_empty() {
            messages.push(binary(|bytes| bodies::encode_leave(&left, bytes)));
        }
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
        let affordable = (ENTER_SHARE * self.credit / CREATE_BYTES).max(1.0) as usize;
        let room = affordable.min(STREAM_BODIES_MAX - self.shown.len());
        self.owes = entering.len() > room && room > 0;
        if entering.len() > room {
            entering.select_nth_unstable_by(room.saturating_sub(1), |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            entering.truncate(room);
        }
        if entering.is_empty() {
            return;
        }
        entering.sort_unstable_by_key(|(_, slot)| *slot);
        let replicas: Vec<&Replica> = entering.iter().filter_map(|(_, slot)| replicas.get(*slot)).collect();
        messages.push(binary(|bytes| {
            bodies::encode_create(replicas.iter().map(|replica| scenery.stream.create(replica)), bytes);
        }));
        self.shown.extend(replicas.iter().map(|replica| {
            let state = BodyState { slot: replica.slot, pose: replica.pose, at_rest: replica.sleeping };
            Shown { state, priority: 0.0 }
        }));
        self.shown.sort_unstable_by_key(|shown| shown.state.slot);
    }

    /// Tells where bodies are, those first that are shown most wrongly.
    fn tell_states(&mut self, scenery: &Scenery<'_>, out: &mut Vec<(ClientId, Message)>) {
        let synced = self.members.iter().filter(|member| member.synced).count();
        // Those who have one to go on from pay for those who have not, so it is not done at every turn.
        let restarts = self.watch.packed
            && synced < self.members.len()
            && (synced == 0 || self.sends - self.restarted >= self.watch.hz);
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
        let affordable = ((self.credit - HEAD_BYTES) / self.body_bytes).max(0.0) as usize;
        if wrong.len() > affordable {
            if affordable > 0 {
                wrong.select_nth_unstable_by(affordable - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            }
            wrong.truncate(affordable);
            wrong.sort_unstable_by_key(|(_, at)| *at);
        }
        if wrong.is_empty() && !restarts {
            return;
        }
        let ticks = wrong.iter().filter_map(|(_, at)| scenery.replicas.get(self.shown[*at as usize].state.slot));
        let tick = ticks.map(|replica| replica.stamp.tick).max().unwrap_or(scenery.now);
        for (_, at) in &wrong {
            let shown = &mut self.shown[*at as usize];
            let Some(replica) = scenery.replicas.get(shown.state.slot) else { continue };
            shown.state.pose = pose_at(replica, tick, scenery.tick_hz);
            shown.state.at_rest = rests(&self.eye, replica, shown);
            shown.priority = 0.0;
        }
        let message = if self.watch.packed { self.packed(tick, restarts) } else { Some(self.plain(tick, &wrong)) };
        let Some(message) = message else { return };
        let cost = message.size() as f32 + HEAD_BYTES;
        self.credit -= cost;
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
        let creates: Vec<_> = self
            .shown
            .iter()
            .filter_map(|shown| Some((shown, scenery.replicas.get(shown.state.slot)?)))
            .map(|(shown, replica)| bodies::Create { pose: shown.state.pose, ..scenery.stream.create(replica) })
            .collect();
        if !creates.is_empty() {
            messages.push(binary(|bytes| bodies::encode_create(creates.into_iter(), bytes)));
        }
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

fn binary(write: impl FnOnce(&mut Vec<u8>)) -> Message {
    let mut bytes = Vec::new();
    write(&mut bytes);
    Message::Binary(Arc::from(bytes))
}
