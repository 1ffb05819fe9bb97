//! Clients that watch a part of the world within a budget of bytes.

use nimbus_client::{Client, Watch};
use nimbus_model::{ClientId, Nid, Vec3};
use nimbus_wire::client::ClientRole;

use crate::stage::{A, B, Stage, died, hosted};

/// A row of bodies a metre apart, from x = 0 on, each of which moves to and fro.
pub(crate) struct Row {
    pub(crate) stage: Stage,
    pub(crate) count: u64,
    pub(crate) epoch: u32,
}

impl Row {
    pub(crate) fn new(count: u64) -> Row {
        let mut stage = Stage::new();
        for nid in 0..count {
            stage.say(A, hosted(nid, 1, nid as f32));
        }
        stage.step();
        stage.step();
        Row { stage, count, epoch: 1 }
    }

    pub(crate) fn watch(&mut self, client: u32, watch: Watch) -> ClientId {
        let id = ClientId(client);
        if !self.stage.clients.contains_key(&id) {
            self.stage.gateway.connect_watching(id, ClientRole::Viewer).expect("there is room");
            self.stage.clients.insert(id, Client::new());
        }
        let text = self.stage.client(id).watch(watch);
        self.stage.gateway.client_text(id, &text);
        id
    }

    /// Where a body is at a tick.
    fn place(nid: u64, tick: u64) -> f32 {
        nid as f32 + 0.4 * (tick as f32 * 0.05 + nid as f32).sin()
    }

    /// Lets ticks pass; the bodies move if they are told to.
    pub(crate) fn run(&mut self, ticks: u64, moving: bool) {
        for _ in 0..ticks {
            if moving {
                let tick = self.stage.now.0;
                let bodies: Vec<_> = (0..self.count).map(|nid| (nid, self.epoch, Row::place(nid, tick))).collect();
                self.stage.states(A, tick, &bodies);
            }
            self.stage.step();
        }
    }

    pub(crate) fn seen(&mut self, client: ClientId) -> Vec<u64> {
        self.stage.client(client).bodies().map(|body| body.nid.0).collect()
    }

    /// By how much a body is shown wrongly, metres.
    pub(crate) fn error(&mut self, client: ClientId, nid: u64) -> f32 {
        let truth = self.stage.gateway.replica(Nid(nid)).expect("it is there").pose.position;
        let shown = self.stage.client(client).body(Nid(nid)).expect("it is seen").pose.position;
        (truth - shown).length()
    }

    /// Everything that a client was told could be used.
    pub(crate) fn check(&mut self, client: ClientId) {
        let dropped = *self.stage.client(client).dropped();
        assert_eq!((dropped.messages, dropped.skipped, dropped.records, dropped.shapeless), (0, 0, 0, 0));
    }
}

pub(crate) fn around(x: f32, range: f32, packed: bool) -> Watch {
    Watch { packed, ..Watch::around(Vec3::new(x, 1.0, 0.0), range) }
}

#[test]
fn a_client_sees_what_is_near_and_nothing_else() {
    for packed in [false, true] {
        let mut row = Row::new(100);
        let near = row.watch(1, around(0.0, 20.5, packed));
        row.run(60, true);
        assert_eq!(row.seen(near), (0..=20).collect::<Vec<_>>());
        row.watch(1, around(50.0, 10.5, packed));
        row.run(60, true);
        assert_eq!(row.seen(near), (40..=60).collect::<Vec<_>>(), "it looks elsewhere");
        row.stage.say(B, hosted(60, 2, 95.0));
        row.run(30, false);
        assert!(!row.seen(near).contains(&60), "it changed hands and went away at once");
        row.stage.say(A, died(50, 1));
        row.run(30, false);
        assert!(!row.seen(near).contains(&50));
        row.stage.say(A, hosted(1_000, 1, 50.5));
        row.run(30, false);
        assert!(row.seen(near).contains(&1_000), "born in the slot of another");
        row.stage.say(B, hosted(51, 2, 51.0));
        row.run(30, false);
        assert_eq!(row.stage.client(near).body(Nid(51)).map(|body| body.region), Some(B));
        row.check(near);
    }
}

#[test]
fn what_it_sees_is_right_to_a_part_of_a_pixel() {
    for packed in [false, true] {
        let mut row = Row::new(200);
        let client = row.watch(1, Watch { hz: 60, kbit: 20_000, ..around(0.0, 150.0, packed) });
        row.run(240, true);
        for nid in 0..140 {
            let (error, distance) = (row.error(client, nid), (nid as f32).max(1.0));
            assert!(error <= 0.000_5 * distance + 0.002, "{nid} is {error} m off, packed {packed}");
        }
        row.check(client);
    }
}

#[test]
fn a_budget_is_kept_and_what_is_near_comes_first() {
    for packed in [false, true] {
        let mut row = Row::new(1_000);
        let watch = Watch { kbit: 100, hz: 20, ..around(0.0, 990.0, packed) };
        let client = row.watch(1, watch);
        row.run(60 * 60, true);
        row.stage.sent.clear();
        let (mut near, mut far) = (0.0, 0.0);
        for _ in 0..20 {
            row.run(30, true);
            near += (0..20).map(|nid| row.error(client, nid)).sum::<f32>();
            far += (500..520).map(|nid| row.error(client, nid)).sum::<f32>();
        }
        let kbit = row.stage.sent[&client] as f32 * 8.0 / 1e3 / 10.0;
        assert!(kbit <= 100.0, "{kbit} kbit/s, packed {packed}");
        assert!(kbit > 70.0, "{kbit} kbit/s: there is more to say, packed {packed}");
        assert!(near < 0.3 * far, "near bodies are off by {near}, far ones by {far}");
        assert_eq!(row.seen(client).len(), 991);
        row.check(client);
    }
}

#[test]
fn nobody_is_forgotten_and_what_rests_costs_nothing() {
    let mut row = Row::new(300);
    let client = row.watch(1, Watch { kbit: 64, hz: 20, ..around(0.0, 400.0, true) });
    row.run(600, true);
    row.run(60 * 60, false);
    let off = (0..300).map(|nid| row.error(client, nid) / (nid as f32).max(1.0)).fold(0.0, f32::max);
    assert!(off < 0.002, "when all stands still, all is shown where it is: {off}");
    row.stage.sent.clear();
    row.run(600, false);
    assert_eq!(row.stage.sent.get(&client), None);
    row.check(client);
}

#[test]
fn clients_with_the_same_view_share_it_until_one_looks_elsewhere() {
    let mut row = Row::new(100);
    let watch = around(0.0, 50.5, true);
    let clients: Vec<ClientId> = (1..=10).map(|i| row.watch(i, watch)).collect();
    row.run(120, true);
    assert_eq!(row.stage.gateway.views(), (1, 51));
    let late = row.watch(11, watch);
    row.run(120, true);
    assert_eq!(row.stage.gateway.views(), (1, 51), "who comes later joins");
    for client in clients.iter().chain([&late]) {
        assert!(row.error(*client, 5) < 0.02, "{client:?}");
        row.check(*client);
    }
    row.stage.sent.clear();
    row.watch(3, Watch { eye: watch.eye + Vec3::X, ..watch });
    row.run(12, true);
    assert_eq!(row.stage.gateway.views(), (2, 103));
    let (moved, stayed) = (row.stage.sent[&clients[2]], row.stage.sent[&clients[3]]);
    assert!(moved < stayed + 200, "what it has seen is not sent again: {moved} bytes against {stayed}");
    for client in &clients {
        row.stage.gateway.disconnect(*client);
    }
    row.stage.gateway.disconnect(late);
    assert_eq!(row.stage.gateway.views(), (0, 0));
}

#[test]
fn who_reads_slowly_is_sent_less_and_disturbs_nobody() {
    let mut row = Row::new(400);
    let watch = Watch { kbit: 800, hz: 20, ..around(0.0, 500.0, false) };
    let (quick, slow) = (row.watch(1, watch), row.watch(2, watch));
    row.run(600, true);
    let rate = |row: &mut Row, waiting: usize| {
        row.stage.sent.clear();
        for _ in 0..600 {
            row.stage.gateway.waits(slow, waiting);
            row.stage.gateway.waits(quick, 0);
            row.run(1, true);
        }
        (row.stage.sent[&quick], row.stage.sent.get(&slow).copied().unwrap_or(0))
    };
    let (to_quick, to_slow) = rate(&mut row, 130_000);
    assert!(to_slow < to_quick / 4, "{to_slow} of {to_quick} bytes");
    rate(&mut row, 0);
    let (to_quick, to_slow) = rate(&mut row, 0);
    assert!(to_slow > to_quick * 9 / 10, "it keeps up again: {to_slow} of {to_quick} bytes");
    row.stage.gateway.waits(slow, 10_000_000);
    row.run(1, true);
    assert!(row.stage.closed.iter().any(|(client, reason)| *client == slow && reason.contains("fewer kbit")));
    assert_eq!(row.stage.gateway.counters().clients_hopeless, 1);
    assert_eq!(row.stage.gateway.views().0, 1, "nothing is made for it any more");
    row.check(quick);
}

/// What waits for a client whose line takes so many bytes a tick.
struct Line {
    client: ClientId,
    per_tick: usize,
    waiting: usize,
}

impl Line {
    fn new(client: ClientId, kbit: usize) -> Line {
        Line { client, per_tick: kbit * 1000 / 8 / 60, waiting: 0 }
    }

    /// Lets ticks pass; gives what waited for the client at the most.
    fn run(&mut self, row: &mut Row, ticks: u64, moving: bool) -> usize {
        let mut most = 0;
        for _ in 0..ticks {
            row.stage.sent.remove(&self.client);
            row.run(1, moving);
            if let Some(bytes) = row.stage.sent.get(&self.client) {
                self.waiting += bytes;
                row.stage.gateway.waits(self.client, self.waiting);
            }
            most = most.max(self.waiting);
            self.waiting = self.waiting.saturating_sub(self.per_tick);
        }
        most
    }
}

#[test]
fn a_picture_may_take_its_time() {
    let mut row = Row::new(4_000);
    let watch = Watch { kbit: 5_000, ..around(0.0, 5_000.0, true) };
    row.watch(1, watch);
    row.run(600, false);
    let late = row.watch(2, watch);
    let mut line = Line::new(late, 1_000);
    let most = line.run(&mut row, 600, false);
    assert!(most > 150_000, "all comes at once to who joins a view: {most} bytes");
    assert_eq!(row.stage.closed, []);
    assert_eq!(row.seen(late).len(), 4_000);
    assert_eq!(row.stage.gateway.views().0, 1, "it keeps up, so it shares the view");
}

#[test]
fn who_asks_for_far_more_than_there_is_to_say_is_sent_less_too() {
    let mut row = Row::new(400);
    let client = row.watch(1, Watch { kbit: 100_000, hz: 60, ..around(0.0, 500.0, false) });
    row.run(600, true);
    row.stage.sent.clear();
    row.run(60, true);
    let kbit = row.stage.sent[&client] * 8 / 1000;
    // Half of what there is to say passes through the line, and a two-hundredth of what was asked for.
    let mut line = Line::new(client, kbit / 2);
    line.run(&mut row, 1_200, true);
    assert_eq!(row.stage.closed, []);
    let waited = line.run(&mut row, 1_200, true);
    let seconds = (waited * 8) as f32 / 1000.0 / (kbit / 2) as f32;
    assert!(seconds < 3.0, "the picture is {seconds} s late over {} kbit/s", kbit / 2);
    line.per_tick = usize::MAX;
    line.run(&mut row, 600, true);
    row.stage.sent.clear();
    row.run(60, true);
    assert!(row.stage.sent[&client] * 8 / 1000 > kbit * 9 / 10, "it keeps up again");
    row.check(client);
}

#[test]
fn who_is_thrown_out_is_shown_nothing_more() {
    let mut row = Row::new(20);
    let client = row.watch(1, around(0.0, 50.0, true));
    row.run(6, true);
    assert_eq!(row.stage.gateway.views().0, 1);
    (0..50).for_each(|_| row.stage.gateway.client_text(client, "rubbish"));
    row.run(1, true);
    assert_eq!((row.stage.closed.len(), row.stage.gateway.views()), (1, (0, 0)));
}

#[test]
fn who_saw_everything_may_look_closer() {
    let mut row = Row::new(100);
    let client = row.stage.join(7);
    row.run(3, true);
    assert_eq!(row.seen(client).len(), 100);
    row.watch(7, around(0.0, 10.5, true));
    row.run(60, true);
    assert_eq!(row.seen(client).len(), 11);
    row.stage.join(8);
    row.run(3, true);
    row.stage.check_sight(ClientId(8));
    row.check(client);
}

#[test]
fn a_loaded_world_is_shown_anew() {
    let mut row = Row::new(50);
    let client = row.watch(1, around(0.0, 100.0, true));
    row.run(60, true);
    let (world, map) = (crate::stage::world(), crate::stage::map());
    let at = row.stage.now + 2;
    row.stage.gateway.load(world, 2, map, at);
    row.run(3, false);
    row.stage.era = 2;
    row.stage.regions.clear();
    for nid in 0..5 {
        row.stage.say(A, hosted(nid, 1, nid as f32));
    }
    (row.count, row.epoch) = (5, 1);
    row.run(90, true);
    assert_eq!(row.seen(client), [0, 1, 2, 3, 4]);
    assert!(row.error(client, 2) < 0.02);
    row.check(client);
}
