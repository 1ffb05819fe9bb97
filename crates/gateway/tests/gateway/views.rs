//! Views in times that are not as usual: time stands still, ticks are skipped, servers are late, the view is full, everybody
//! joins at once.

use nimbus_client::Watch;
use nimbus_model::{ClientId, Nid, Tick};

use crate::stage::{A, B, died, hosted};
use crate::watching::{Row, around};

#[test]
fn steps_are_shown_while_time_stands_still() {
    for packed in [false, true] {
        let mut row = Row::new(20);
        let client = row.watch(1, Watch { hz: 20, ..around(0.0, 50.0, packed) });
        row.run(121, true);
        row.stage.gateway.set_clock(true, 1.0, 1.0);
        for _ in 0..5 {
            row.run(1, true);
            row.stage.tick();
            let off = (0..20).map(|nid| row.error(client, nid)).fold(0.0, f32::max);
            assert!(off < 0.02, "{off} m, packed {packed}");
        }
        row.stage.say(A, hosted(50, 1, 5.5));
        row.stage.say(A, died(3, 1));
        row.run(2, false);
        assert!(row.seen(client).contains(&50) && !row.seen(client).contains(&3), "packed {packed}");
        let late = row.watch(2, Watch { hz: 20, ..around(0.0, 50.0, packed) });
        row.run(2, false);
        assert_eq!(row.seen(late), row.seen(client), "who comes while time stands still");
        row.stage.sent.clear();
        row.run(60, false);
        assert_eq!(row.stage.sent.len(), 0, "nothing happens, and nothing is sent");
        row.check(client);
    }
}

#[test]
fn a_world_that_is_loaded_while_time_stands_still_is_shown() {
    let mut row = Row::new(20);
    let client = row.watch(1, around(0.0, 50.0, true));
    row.run(60, true);
    row.stage.gateway.set_clock(true, 1.0, 1.0);
    let (world, map) = (crate::stage::world(), crate::stage::map());
    let at = row.stage.now + 1;
    row.stage.gateway.load(world, 2, map, at);
    row.run(1, false);
    row.stage.era = 2;
    row.stage.regions.clear();
    // The servers are a moment later than the gateway.
    row.stage.tick();
    assert!(row.seen(client).is_empty());
    (0..5).for_each(|nid| row.stage.say(A, hosted(nid, 1, nid as f32)));
    row.run(1, false);
    assert_eq!(row.seen(client), [0, 1, 2, 3, 4]);
    row.check(client);
}

#[test]
fn what_is_nearest_is_shown_however_much_there_is() {
    for packed in [false, true] {
        let mut row = Row::new(6_000);
        let view = |x: f32| Watch { kbit: 100_000, ..around(x, 10_000.0, packed) };
        let client = row.watch(1, view(0.0));
        row.run(60, false);
        assert_eq!(row.seen(client).len(), 4_096);
        row.watch(1, view(5_500.0));
        row.run(60, false);
        let seen = row.seen(client);
        assert_eq!(seen.len(), 4_096);
        assert!((5_000..6_000).all(|nid| seen.contains(&nid)), "what is around it, packed {packed}");
        assert!(!seen.contains(&0), "what is far behind makes room");
        row.stage.say(A, hosted(9_000, 1, 5_500.5));
        row.run(60, false);
        assert!(row.seen(client).contains(&9_000), "something thrown in before its nose");
        row.stage.sent.clear();
        row.run(60, false);
        assert_eq!(row.stage.sent.len(), 0, "nothing comes and goes for ever");
        row.check(client);
    }
}

#[test]
fn who_joins_does_not_stop_the_others_motion() {
    let mut row = Row::new(3_000);
    let watch = Watch { kbit: 128, hz: 20, ..around(0.0, 5_000.0, true) };
    let stays = row.watch(1, watch);
    row.run(60 * 20, true);
    let mut worst: f32 = 0.0;
    for guest in 0..30 {
        let guest = row.watch(100 + guest, watch);
        for _ in 0..60 {
            row.run(1, true);
            worst = worst.max((0..5).map(|nid| row.error(stays, nid)).fold(0.0, f32::max));
        }
        row.stage.gateway.disconnect(guest);
        row.stage.clients.remove(&guest);
    }
    assert!(worst < 0.1, "near bodies move by 0.8 m and are shown {worst} m off");
    row.check(stays);
}

#[test]
fn a_gateway_that_skips_ticks_shows_every_view() {
    for skipped in [2, 3, 5] {
        let mut row = Row::new(10);
        let views: Vec<ClientId> =
            (0..6).map(|i| row.watch(i, Watch { hz: 20, ..around(2.0 * i as f32, 50.0, false) })).collect();
        row.run(60, true);
        for _ in 0..60 {
            row.stage.now = Tick(row.stage.now.0 + skipped - 1);
            row.run(1, true);
            row.stage.sent.retain(|client, _| views.contains(client));
        }
        row.stage.sent.clear();
        for _ in 0..3 {
            row.stage.now = Tick(row.stage.now.0 + skipped - 1);
            row.run(1, true);
        }
        assert_eq!(row.stage.sent.len(), views.len(), "every {skipped} ticks");
    }
}

#[test]
fn what_a_late_server_says_is_not_older_than_what_was_shown() {
    for packed in [false, true] {
        let mut row = Row::new(2);
        row.stage.say(B, hosted(7, 1, 5.0));
        let client = row.watch(1, Watch { hz: 60, kbit: 20_000, ..around(0.0, 50.0, packed) });
        row.run(10, false);
        let now = row.stage.now.0;
        row.stage.states(A, now, &[(0, 1, 0.2)]);
        row.stage.states(B, now - 6, &[(7, 1, 5.2)]);
        row.run(1, false);
        row.stage.states(B, now - 4, &[(7, 1, 5.0)]);
        row.run(10, false);
        // It is taken to go on at a metre a second for the ticks that its server is late.
        let shown = row.stage.client(client).body(Nid(7)).expect("it is seen").pose.position.x;
        assert!((shown - 5.0 - 4.0 / 60.0).abs() < 0.01, "{shown}, packed {packed}");
        row.check(client);
    }
}
