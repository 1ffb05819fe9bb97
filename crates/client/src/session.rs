//! A client with a sense of time: what is known, where to show it now, what is awaited and what happened.

use nimbus_model::{Nid, Pose};
use nimbus_wire::client::bodies::{self, Bodies};
use nimbus_wire::client::{FromClient, Overlay, ToClient, TouchesOf, Watch};
use std::time::Duration;

use crate::bodies::Body;
use crate::client::Client;
use crate::event::{Event, Events};
use crate::pending::{Answered, AskError, Pending, Settled};
use crate::playback::{Playback, PlaybackConfig};
use crate::tickets::Tickets;
use crate::track::Sight;
use crate::wish::Wish;

/// Figures may be of a tick whose states are still on their way, by so many ticks.
const STATES_BEHIND_TICKS: u64 = 10;

/// Settings of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionConfig {
    /// How motion is shown.
    pub playback: PlaybackConfig,
    /// Events kept for whoever takes them; the oldest are dropped.
    pub events_max: usize,
    /// Commands and questions that may wait for answers at once.
    pub pending_max: usize,
    /// How long they wait.
    pub patience: Duration,
}

impl Default for SessionConfig {
    fn default() -> SessionConfig {
        SessionConfig {
            playback: PlaybackConfig::default(),
            events_max: 16_384,
            pending_max: 1024,
            patience: Duration::from_secs(10),
        }
    }
}

/// What one client knows of a world over time, whichever gateway it hears it from.
///
/// Whoever has the connection calls [`Session::handle_text`] and [`Session::handle_binary`] for what comes, in order,
/// sends the texts that [`Session::ask`] makes, and calls [`Session::lost`] when the connection ends. After
/// each of these, [`Session::take_settled`] and [`Session::next_event`] have the news. Every `now` is the time since any
/// fixed moment, and never goes back.
#[derive(Clone, Debug)]
pub struct Session {
    config: SessionConfig,
    client: Client,
    playback: Playback,
    pending: Pending,
    events: Events,
    overlays: Vec<Overlay>,
    /// Where it looks, once it has said so.
    watch: Wish<Watch>,
    /// Whose touches it wants to hear of.
    touches: Wish<TouchesOf>,
    is_live: bool,
}

impl Session {
    /// A session that knows nothing yet.
    pub fn new(config: SessionConfig) -> Session {
        Session {
            client: Client::new(),
            playback: Playback::new(config.playback.clone()),
            pending: Pending::default(),
            events: Events::new(config.events_max),
            overlays: Vec::new(),
            watch: Wish::new(),
            touches: Wish::new(),
            is_live: false,
            config,
        }
    }

    /// A text message came from the gateway.
    pub fn handle_text(&mut self, text: &str, now: Duration) {
        let Some(message) = self.client.parse(text) else { return };
        match &message {
            ToClient::Welcome { client, role, .. } => {
                self.is_live = true;
                self.watch.moved();
                self.touches.moved();
                // Whatever was granted elsewhere, this gateway has not been told of a view.
                self.playback.is_sparse = false;
                self.events.push(Event::Connected { client: *client, role: *role });
            }
            ToClient::World { era, name, gravity, .. } => {
                self.playback.restart(*gravity);
                self.events.push(Event::Loaded { era: *era, name: name.clone() });
            }
            &ToClient::Clock { paused, speed, dilation }
                if (self.client.clock(), self.client.dilation()) != (Some((paused, speed)), dilation) =>
            {
                self.events.push(Event::Clock { paused, speed, dilation });
            }
            ToClient::Breaches { recent, .. } => {
                let known = self.client.breaches();
                for breach in recent.iter().filter(|breach| !known.contains(breach)) {
                    self.events.push(Event::Breach(breach.clone()));
                }
            }
            ToClient::Stats(stats) => self.playback.heard(stats.tick - STATES_BEHIND_TICKS),
            _ => {}
        }
        self.client.take(message);
        let (paused, speed) = self.client.clock().unwrap_or((false, 1.0));
        let speed = f64::from(speed * self.client.dilation());
        self.playback.run_at(self.client.tick_hz().unwrap_or(60), speed, paused);
        let (touches, left_out) = self.client.take_touches();
        touches.into_iter().for_each(|touch| self.events.push(Event::Touched(touch)));
        if left_out > 0 {
            self.events.push(Event::TouchesLeftOut(left_out));
        }
        self.settle();
        self.pending.expire(now);
    }

    /// A binary message came from the gateway.
    pub fn handle_binary(&mut self, bytes: &[u8], now: Duration) {
        let Session { client, playback, events, .. } = self;
        match bodies::decode(bytes) {
            Ok(Some(Bodies::Create(records))) => {
                for create in bodies::creates(records) {
                    // A slot that is used again without a word: whoever had it is gone.
                    if let Some(former) = client.body_in(create.slot).filter(|former| former.nid != create.nid) {
                        playback.destroy(former.nid);
                        events.push(Event::Died { nid: former.nid });
                    }
                    playback.create(create.nid, create.pose);
                    events.push(Event::Born { nid: create.nid });
                }
            }
            Ok(Some(Bodies::Destroy(records))) => {
                for body in bodies::slots(records).filter_map(|slot| client.body_in(slot)) {
                    playback.destroy(body.nid);
                    events.push(Event::Died { nid: body.nid });
                }
            }
            Ok(Some(Bodies::Owner(records))) => {
                for (slot, to) in bodies::owners(records) {
                    if let Some(body) = client.body_in(slot).filter(|body| body.region != to) {
                        events.push(Event::HandedOver { nid: body.nid, from: body.region, to });
                    }
                }
            }
            Ok(Some(Bodies::State(tick, columns))) => {
                playback.arrived(tick, now);
                for (slot, pose) in bodies::states(columns) {
                    if let Some(body) = client.body_in(slot) {
                        playback.place(body.nid, tick, Sight { pose, at_rest: false });
                    }
                }
            }
            Ok(Some(Bodies::Leave(records))) => {
                for body in bodies::slots(records).filter_map(|slot| client.body_in(slot)) {
                    playback.destroy(body.nid);
                    events.push(Event::OutOfSight { nid: body.nid });
                }
            }
            Ok(Some(Bodies::Packed(tick, _))) => {
                playback.arrived(tick, now);
                client.handle_binary(bytes);
                for body in client.bodies().filter(|body| body.tick == Some(tick)) {
                    playback.place(body.nid, tick, Sight { pose: body.pose, at_rest: body.at_rest });
                }
                return;
            }
            _ => {}
        }
        client.handle_binary(bytes);
    }

    /// The connection ended. What waits for an answer is settled as lost; bodies are kept as they were seen last.
    pub fn lost(&mut self, reason: &str) {
        self.end(Event::Lost { reason: reason.to_owned() });
    }

    /// The connection ended, and there will be no other.
    pub fn closed(&mut self, reason: &str) {
        self.end(Event::Closed { reason: reason.to_owned() });
    }

    /// True between the welcome of a gateway and the end of its connection.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Makes the text of a command or question and waits for its answer from now on. The number is that of its
    /// [`Settled`].
    ///
    /// What is watched, and whose touches are told, is part of [`Session::subscription`] from then on: also after an error, so
    /// that the next gateway is asked for it, but not once it was refused. Then it is what was granted last again.
    pub fn ask(&mut self, command: &FromClient, now: Duration) -> Result<(u64, String), AskError> {
        match command {
            FromClient::Watch(watch) => self.watch.say(Some(*watch)),
            FromClient::Touches { of } => self.touches.say((*of != TouchesOf::NONE).then(|| of.clone())),
            _ => {}
        }
        if !self.is_live {
            return Err(AskError::Lost);
        }
        if self.pending.len() >= self.config.pending_max {
            return Err(AskError::TooMany);
        }
        let text = self.client.command(command);
        let seq = self.client.last_seq();
        match command {
            FromClient::Watch(_) => self.watch.ask(seq),
            FromClient::Touches { .. } => self.touches.ask(seq),
            _ => {}
        }
        self.pending.wait(seq, now + self.config.patience);
        Ok((seq, text))
    }

    /// Remembers what to be told on top of the bodies; see [`Session::subscription`].
    pub fn subscribe(&mut self, overlays: &[Overlay]) {
        self.overlays = overlays.to_vec();
    }

    /// The commands that choose what to be told on top of the bodies, and of which bodies and touches. To be asked in this order
    /// whenever the former changes, and whenever another gateway has let us in.
    pub fn subscription(&self) -> impl Iterator<Item = FromClient> + use<> {
        let overlays = (!self.overlays.is_empty()).then(|| FromClient::Overlays { on: self.overlays.clone() });
        let watch = self.watch.wanted().into_iter().map(FromClient::Watch);
        let touches = self.touches.wanted().into_iter().map(|of| FromClient::Touches { of });
        overlays.into_iter().chain(watch).chain(touches)
    }

    /// True when another gateway need not tell of bodies before it is asked for a view, because it will be asked for a good one.
    pub fn is_watching(&self) -> bool {
        self.watch.granted().is_some()
    }

    /// What opens the door of the next gateway, where tokens are asked for.
    pub fn tickets(&mut self) -> &mut Tickets {
        self.client.tickets()
    }

    /// What was settled since the last call.
    pub fn take_settled(&mut self) -> Vec<Settled> {
        self.pending.take()
    }

    /// The oldest event that was not taken yet.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Moves what is shown on to this moment, and gives up what has waited too long for an answer.
    pub fn advance(&mut self, now: Duration) {
        self.playback.advance(now);
        self.expire(now);
    }

    /// Gives up what has waited too long for an answer.
    pub fn expire(&mut self, now: Duration) {
        self.pending.expire(now);
    }

    /// Every body in order of id, and where to show it at this moment.
    pub fn poses_at(&mut self, now: Duration) -> impl Iterator<Item = (&Body, Pose)> {
        self.advance(now);
        let Session { client, playback, .. } = self;
        client.bodies().map(move |body| (body, playback.pose(body.nid).unwrap_or(body.pose)))
    }

    /// Where to show a body at this moment.
    pub fn pose_at(&mut self, nid: Nid, now: Duration) -> Option<Pose> {
        self.advance(now);
        self.playback.pose(nid)
    }

    /// Everything that is known, as it came.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The tick that is shown, with a fraction; none before anything moved.
    pub fn head(&self) -> Option<f64> {
        self.playback.head()
    }

    /// How far what is shown keeps behind the newest states.
    pub fn delay(&self) -> Duration {
        self.playback.delay()
    }

    /// How late all but a few states come, against the earliest.
    pub fn jitter(&self) -> Duration {
        self.playback.jitter()
    }

    fn end(&mut self, event: Event) {
        self.is_live = false;
        self.pending.lose();
        self.events.push(event);
    }

    /// The gateway has carried out what it was asked under a number, or refused it.
    fn grant(&mut self, seq: u64, is_granted: bool) {
        self.touches.answered(seq, is_granted);
        // A gateway answers before it leaves anything out.
        if self.watch.answered(seq, is_granted) && is_granted {
            self.playback.is_sparse = true;
        }
    }

    fn settle(&mut self) {
        for answer in self.client.take_answers() {
            if let Some(seq) = answer.seq {
                self.grant(seq, answer.outcome.is_ok());
            }
            let outcome = answer.outcome.map(Answered::Done).map_err(AskError::Refused);
            self.pending.settle(answer.seq, outcome);
        }
        for hits in self.client.take_hits() {
            self.pending.settle(hits.seq, Ok(Answered::Hits(hits)));
        }
        for card in self.client.take_cards() {
            self.pending.settle(card.seq, Ok(Answered::Card(card)));
        }
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
