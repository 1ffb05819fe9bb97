//! One point: two nodes, a relay between all processes, and a client that hears of contacts and breaches.

use nimbus_client::Client;
use nimbus_model::{Nid, RegionId};
use nimbus_node::Factor;
use nimbus_wire::client::{Overlay, TouchesOf};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tungstenite::Message;

use super::scene::{Pairs, TOLERANCES};
use crate::cluster_run::{ClusterRun, pause};
use crate::experiment::LabError;
use crate::web_client::{Got, WebClient};

/// What processes are held to beside what the world promises, milliseconds.
const COMPUTE_MS: f32 = 10.0;
const SKEW_MS: f32 = 4.0;
const STORE_MS: f32 = 10.0;
/// Copies of frames that carry bodies where frames are lost.
const COPIES: u8 = 3;
/// Contacts reach the client some time after they happened: when a backup has them, and over the relay.
const HEARD_AFTER_TICKS: u64 = 120;
/// Clocks of processes are compared for so long before anything is counted.
const SETTLE: Duration = Duration::from_secs(4);
/// A breach excuses what comes at most so many ticks after it.
pub(in crate::experiments) const EXCUSES_TICKS: u64 = 60;

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::experiments) struct Point {
    /// One-way delay of the relay, milliseconds.
    pub(in crate::experiments) latency_ms: f32,
    /// Share of packets that the relay loses.
    pub(in crate::experiments) loss: f32,
    pub(in crate::experiments) backups: bool,
}

impl Point {
    pub(in crate::experiments) fn is_within(&self) -> bool {
        self.latency_ms <= TOLERANCES.latency_ms
    }
}

/// What became of a point.
#[derive(Clone, Debug, Default)]
pub(in crate::experiments) struct Seen {
    pub(in crate::experiments) pairs: u32,
    pub(in crate::experiments) late: u32,
    pub(in crate::experiments) missed: u32,
    pub(in crate::experiments) early: u32,
    /// Pairs that are not judged, because a server had skipped ticks before.
    pub(in crate::experiments) void: u32,
    /// Of the late and missed ones, those that no breach came before.
    pub(in crate::experiments) silent: u32,
    pub(in crate::experiments) late_ticks_max: u64,
    /// Breaches by factor since the pairs began to fly.
    pub(in crate::experiments) breaches: BTreeMap<&'static str, u64>,
    /// Why the point could not be run, with the last words of its cluster; empty when it could.
    pub(in crate::experiments) failure: String,
}

/// What a client has heard.
#[derive(Default)]
struct Heard {
    began: BTreeMap<(Nid, Nid), u64>,
    left_out: u64,
    /// When who said that what was exceeded.
    breaches: BTreeSet<(u64, RegionId, &'static str)>,
}

/// Runs a point. `expected` is when every pair meets on one server.
pub(in crate::experiments) fn run(point: &Point, pairs: &Pairs, expected: &[u64]) -> Result<Seen, LabError> {
    let copies = if point.loss > 0.0 { COPIES } else { 1 };
    let more = format!(
        "durable = {}\n[tolerances]\ncompute_ms = {COMPUTE_MS:?}\nskew_ms = {SKEW_MS:?}\nstore_ms = {STORE_MS:?}\n\
         copies = {copies}",
        point.backups
    );
    let relay = format!("seed = 1\ndelay_ms = {:?}\nloss = {:?}", point.latency_ms, point.loss);
    let cluster = ClusterRun::start_world_relayed(pairs.world.clone(), 2, &more, &relay)?;
    cluster.until_running(2)?;
    if point.backups {
        cluster.until_protected(2)?;
    }
    pause(SETTLE);
    let mut viewer = Viewer::connect(&cluster, "")?;
    viewer.until(&cluster, "the world", |viewer| viewer.client.era() == Some(1))?;
    viewer.say(|client| client.overlays(&[Overlay::Breaches]))?;
    viewer.say(|client| client.touches(TouchesOf::Everything))?;
    // Begun anew, every pair is still to meet.
    viewer.say(|client| client.reset())?;
    viewer.until(&cluster, "the pairs to begin anew", |viewer| viewer.client.era() == Some(2))?;
    let before = counts(&cluster);
    let began = |viewer: &Viewer| viewer.began_at(pairs, 2, expected);
    viewer.until(&cluster, "the first pair inside a region to meet", |viewer| began(viewer).is_some())?;
    let began = began(&viewer).unwrap_or_default();
    let end = began + pairs.last + HEARD_AFTER_TICKS;
    viewer.until(&cluster, "all pairs to meet", |viewer| viewer.client.tick().is_some_and(|tick| tick.0 >= end))?;
    if viewer.heard.left_out > 0 {
        return Err(LabError::Failed(format!("{} contacts were left out", viewer.heard.left_out)));
    }
    let mut seen = viewer.judged(pairs, 2, expected).unwrap_or_default();
    seen.breaches = counts(&cluster);
    seen.breaches.iter_mut().for_each(|(factor, count)| *count -= before.get(factor).copied().unwrap_or(0).min(*count));
    Ok(seen)
}

/// Pairs that meet inside a region and when, by the tick of the world.
fn yardstick(pairs: &Pairs, era: u16, expected: &[u64]) -> Vec<((Nid, Nid), u64)> {
    let all = pairs.of(era).zip(expected);
    all.filter(|((_, inside), _)| *inside).map(|((pair, _), tick)| (pair, *tick)).collect()
}

/// The tick from which on ticks mean nothing here, if a server has skipped any: it says so, or its pairs inside a region meet
/// at other ticks than they should.
fn skipped_from(heard: &Heard, inside: &[((Nid, Nid), u64)], began: u64) -> Option<u64> {
    let time_lost = Factor::TimeLost.name();
    let said = heard.breaches.iter().filter(|(_, _, factor)| *factor == time_lost).map(|(tick, ..)| *tick);
    let off = inside.iter().filter(|(pair, expected)| heard.began.get(pair) != Some(&(began + expected)));
    said.filter(|tick| *tick >= began).chain(off.map(|(_, expected)| began + expected)).min()
}

fn judge(heard: &Heard, pairs: &Pairs, era: u16, expected: &[u64], began: u64, skipped_from: Option<u64>) -> Seen {
    let mut seen = Seen::default();
    for ((pair, _), tick) in pairs.of(era).zip(expected).filter(|((_, inside), _)| !*inside) {
        let expected = began + tick;
        seen.pairs += 1;
        if skipped_from.is_some_and(|from| expected >= from) {
            seen.void += 1;
            continue;
        }
        let met = heard.began.get(&pair).copied();
        match met {
            Some(met) if met == expected => continue,
            Some(met) if met < expected => {
                seen.early += 1;
                continue;
            }
            Some(met) => {
                seen.late += 1;
                seen.late_ticks_max = seen.late_ticks_max.max(met - expected);
            }
            None => seen.missed += 1,
        }
        let by = met.unwrap_or(expected);
        let excused =
            heard.breaches.iter().any(|(said, ..)| (expected.saturating_sub(EXCUSES_TICKS)..=by).contains(said));
        seen.silent += u32::from(!excused);
    }
    seen
}

/// How often each factor was exceeded, as the gateway tells.
fn counts(cluster: &ClusterRun) -> BTreeMap<&'static str, u64> {
    let count = |factor: &Factor| {
        let labels = format!("factor=\"{}\"", factor.name());
        (factor.name(), cluster.metric("gateway-0", "nimbus_breaches_total", &labels) as u64)
    };
    Factor::ALL.iter().map(count).collect()
}

/// A client of the gateway that hears of contacts and breaches.
pub(in crate::experiments) struct Viewer {
    socket: WebClient,
    pub(in crate::experiments) client: Client,
    heard: Heard,
}

impl Viewer {
    /// Connects to the gateway of a cluster. `asks` is what comes after the `?` of the address.
    pub(in crate::experiments) fn connect(cluster: &ClusterRun, asks: &str) -> Result<Viewer, LabError> {
        let http = cluster.http.ok_or_else(|| LabError::Failed("there is no gateway".to_owned()))?;
        Ok(Viewer { socket: WebClient::connect(http, asks)?, client: Client::new(), heard: Heard::default() })
    }

    /// Says what a command is.
    pub(in crate::experiments) fn say(&mut self, command: impl FnOnce(&mut Client) -> String) -> Result<(), LabError> {
        let text = command(&mut self.client);
        if self.socket.say(&text) {
            return Ok(());
        }
        Err(LabError::Failed("the gateway does not listen".to_owned()))
    }

    /// What the pairs of an era did, given when each meets on one server; none before one has met inside a region.
    pub(in crate::experiments) fn judged(&self, pairs: &Pairs, era: u16, expected: &[u64]) -> Option<Seen> {
        let inside = yardstick(pairs, era, expected);
        let began = self.began(&inside)?;
        Some(judge(&self.heard, pairs, era, expected, began, skipped_from(&self.heard, &inside, began)))
    }

    /// The tick at which the world of an era began, by the pairs that have met inside a region.
    pub(in crate::experiments) fn began_at(&self, pairs: &Pairs, era: u16, expected: &[u64]) -> Option<u64> {
        self.began(&yardstick(pairs, era, expected))
    }

    /// Takes what has come.
    pub(in crate::experiments) fn listen(&mut self) {
        while let Got::Message(message) = self.socket.read() {
            self.take(&message);
        }
    }

    /// Takes what comes until something is so.
    pub(in crate::experiments) fn until(
        &mut self,
        cluster: &ClusterRun,
        what: &str,
        is: impl Fn(&Viewer) -> bool,
    ) -> Result<(), LabError> {
        cluster.until(what, || {
            self.listen();
            is(self).then_some(())
        })
    }

    fn take(&mut self, message: &Message) {
        match message {
            Message::Text(text) => self.client.handle_text(text),
            Message::Binary(bytes) => self.client.handle_binary(bytes),
            _ => return,
        }
        let (touches, left_out) = self.client.take_touches();
        self.heard.left_out += left_out;
        for touch in touches.iter().filter(|touch| touch.began) {
            self.heard.began.entry((touch.one, touch.two)).or_insert(touch.tick.0);
        }
        let breaches = self.client.breaches().iter();
        self.heard.breaches.extend(breaches.map(|breach| (breach.tick.0, breach.region, breach.factor.name())));
    }

    /// The tick at which the world began, by the pairs inside a region that have met. Those that met after their server skipped
    /// ticks would say that it was later.
    fn began(&self, inside: &[((Nid, Nid), u64)]) -> Option<u64> {
        let told = inside.iter().filter_map(|(pair, expected)| self.heard.began.get(pair)?.checked_sub(*expected));
        told.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_and_missed_pairs_are_counted_and_excused_only_by_a_breach_before_them() {
        let pairs = Pairs::new(4, 60.0, 1);
        let expected: Vec<u64> = vec![300; 12];
        let nids: Vec<(Nid, Nid)> = pairs.of(2).map(|(pair, _)| pair).collect();
        let mut heard = Heard::default();
        heard.began.extend([(nids[0], 1_300), (nids[1], 1_303), (nids[2], 1_299)]);
        let seen = judge(&heard, &pairs, 2, &expected, 1_000, None);
        assert_eq!((seen.pairs, seen.late, seen.early, seen.missed, seen.silent), (4, 1, 1, 1, 2));
        assert_eq!(seen.late_ticks_max, 3);
        for (said, silent) in [(1_239, 2), (1_240, 0), (1_302, 1), (1_304, 2)] {
            heard.breaches = BTreeSet::from([(said, RegionId(0), "latency")]);
            assert_eq!(judge(&heard, &pairs, 2, &expected, 1_000, None).silent, silent, "a breach at {said}");
        }
    }

    #[test]
    fn servers_that_skip_ticks_are_found_and_what_comes_after_is_not_judged() {
        let inside = [((Nid(1), Nid(2)), 50), ((Nid(3), Nid(4)), 70)];
        let mut heard = Heard::default();
        heard.began.extend([((Nid(1), Nid(2)), 150), ((Nid(3), Nid(4)), 170)]);
        assert_eq!(skipped_from(&heard, &inside, 100), None);
        heard.began.insert((Nid(3), Nid(4)), 171);
        assert_eq!(skipped_from(&heard, &inside, 100), Some(170));
        heard.breaches.extend([(90, RegionId(0), "time_lost"), (130, RegionId(0), "time_lost")]);
        heard.breaches.insert((110, RegionId(0), "latency"));
        assert_eq!(skipped_from(&heard, &inside, 100), Some(130));
        let (pairs, expected) = (Pairs::new(4, 60.0, 1), vec![300; 12]);
        let seen = judge(&heard, &pairs, 2, &expected, 1_000, Some(1_300));
        assert_eq!((seen.pairs, seen.void, seen.missed), (4, 4, 0));
        assert_eq!(judge(&heard, &pairs, 2, &expected, 1_000, Some(1_301)).void, 0);
    }
}
