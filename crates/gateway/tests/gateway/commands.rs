//! Commands from clients, their answers, and the limits.

use crate::stage::{A, B, Stage, hosted};
use nimbus_client::{Answer, Spawn};
use nimbus_gateway::{GatewayConfig, Outputs, Request};
use nimbus_model::{ClientId, Nid, Shape, Vec3};
use nimbus_wire::client::{ClientRole, Reject};
use nimbus_wire::{Command, GatewayId, Item, Outcome};

fn send(stage: &mut Stage, client: ClientId, text: &str) {
    stage.gateway.client_text(client, text);
}

fn ball(x: f32) -> Spawn {
    Spawn::new(Shape::ball(0.5), Vec3::new(x, 2.0, 0.0), Vec3::X)
}

#[test]
fn a_client_does_what_its_role_may_and_hears_why_not() {
    let mut stage = Stage::new();
    stage.say(A, hosted(5, 1, -4.0));
    stage.step();
    let commands = [
        (r#"{"type":"inspect","seq":1,"nid":"0.5"}"#, ClientRole::Viewer),
        (r#"{"type":"impulse","seq":2,"nid":"0.5","impulse":[0,1,0]}"#, ClientRole::Player),
        (r#"{"type":"despawn","seq":3,"nid":"0.5"}"#, ClientRole::Builder),
        (r#"{"type":"pause","seq":4,"paused":true}"#, ClientRole::Admin),
    ];
    for (number, role) in ClientRole::ALL.into_iter().enumerate() {
        let client = stage.join_as(number as u32, role);
        stage.step();
        let before = stage.gateway.counters().commands_forbidden;
        for (text, _) in commands {
            send(&mut stage, client, text);
        }
        stage.step();
        let forbidden = commands.iter().filter(|(_, needed)| role < *needed).count();
        assert_eq!(stage.gateway.counters().commands_forbidden - before, forbidden as u64, "{role}");
        let reasons: Vec<String> =
            stage.client(client).take_answers().into_iter().filter_map(|answer| answer.outcome.err()).collect();
        assert_eq!(reasons.len(), forbidden, "{role}: {reasons:?}");
        assert!(reasons.iter().all(|reason| reason.ends_with(&format!("you are here as {role}"))), "{reasons:?}");
        stage.requests.clear();
    }
    assert_eq!(stage.regions[&A].orders.len(), 3 + 2, "three may push, two may remove");
}

#[test]
fn a_client_may_not_fill_the_world() {
    let config = GatewayConfig { id: GatewayId(3), bodies_per_client: 2, ..GatewayConfig::default() };
    let mut stage = Stage::with(config);
    let (player, admin) = (stage.join_as(1, ClientRole::Player), stage.join_as(2, ClientRole::Admin));
    stage.step();
    for client in [player, admin] {
        for _ in 0..3 {
            let text = stage.client(client).spawn(ball(-3.0));
            send(&mut stage, client, &text);
        }
    }
    stage.step();
    assert_eq!(stage.regions[&A].orders.len(), 2 + 3, "an admin may");
    let refused = |stage: &mut Stage| {
        let answers = stage.client(player).take_answers();
        answers.into_iter().filter_map(|answer| answer.outcome.err()).collect::<Vec<String>>()
    };
    let reasons = refused(&mut stage);
    assert!(reasons.len() == 1 && reasons[0].contains("2 bodies that you made live"), "{reasons:?}");
    let by = stage.regions[&A].orders[0].by;
    stage.say(A, hosted(7, 1, -3.0));
    stage.say(A, Item::Outcome(by, Outcome::Done(Nid(7))));
    stage.say(A, crate::stage::died(7, 2));
    stage.step();
    for _ in 0..2 {
        let text = stage.client(player).spawn(ball(-3.0));
        send(&mut stage, player, &text);
    }
    stage.step();
    assert_eq!(refused(&mut stage).len(), 1, "one has died, so there is room for one");
}

#[test]
fn commands_go_where_they_can_be_carried_out_and_are_answered() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.say(A, hosted(5, 1, -4.0));
    stage.step();
    let texts = [
        stage.client(viewer).spawn(ball(30.0)),
        stage.client(viewer).impulse(Nid(5), Vec3::Y),
        stage.client(viewer).despawn(Nid(6)),
    ];
    for text in &texts {
        send(&mut stage, viewer, text);
    }
    stage.step();
    assert_eq!(
        stage.client(viewer).take_answers(),
        [Answer { seq: Some(3), outcome: Err("there is no body 0.6".to_owned()) }]
    );
    let spawn = stage.regions[&B].orders[0].clone();
    assert!(matches!(&spawn.command, Command::Spawn { desc, .. } if desc.shape == Shape::ball(0.5)));
    let push = stage.regions[&A].orders[0].clone();
    assert_eq!(push.command, Command::Push { nid: Nid(5), impulse: Vec3::Y });
    assert!(push.by.sequence > spawn.by.sequence);

    stage.say(B, hosted(77, 1, 30.0));
    stage.say(B, Item::Outcome(spawn.by, Outcome::Done(Nid(77))));
    stage.say(A, Item::Outcome(push.by, Outcome::Refused("too heavy".to_owned())));
    stage.say(A, Item::Outcome(push.by, Outcome::Done(Nid(5))));
    stage.step();
    let answers = stage.client(viewer).take_answers();
    assert_eq!(
        answers,
        [
            Answer { seq: Some(2), outcome: Err("too heavy".to_owned()) },
            Answer { seq: Some(1), outcome: Ok(Some(Nid(77))) },
        ]
    );
    assert_eq!(stage.gateway.counters().outcomes_unknown, 1, "a command is answered once");
    stage.step();
    assert_eq!(stage.regions[&A].orders.len(), 1, "an order is delivered once");
}

#[test]
fn what_is_for_the_game_goes_to_the_owner_of_its_body() {
    let mut stage = Stage::new();
    let (viewer, player) = (stage.join_as(1, ClientRole::Viewer), stage.join_as(2, ClientRole::Player));
    stage.say(A, hosted(5, 1, -4.0));
    stage.step();
    for client in [viewer, player] {
        let text = stage.client(client).game(Nid(5), &[1, 2, 255]);
        send(&mut stage, client, &text);
    }
    stage.step();
    assert!(matches!(&stage.client(viewer).take_answers()[..], [Answer { outcome: Err(_), .. }]));
    let [order] = &stage.regions[&A].orders[..] else { panic!("one of the two may") };
    assert_eq!(order.command, Command::Game { nid: Nid(5), payload: vec![1, 2, 255] });
    let (by, no) = (order.by, Outcome::Refused("not now".to_owned()));
    stage.say(A, Item::Outcome(by, no));
    stage.step();
    let answers = stage.client(player).take_answers();
    assert!(matches!(&answers[..], [Answer { outcome: Err(reason), .. }] if reason == "not now"), "{answers:?}");
}

#[test]
fn an_order_survives_a_lossy_way() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.loss = Some((nimbus_model::Rng::new(7), 0.5));
    for _ in 0..20 {
        let text = stage.client(viewer).spawn(ball(-30.0));
        send(&mut stage, viewer, &text);
        stage.step();
    }
    for _ in 0..200 {
        stage.step();
    }
    let sequences: Vec<u64> = stage.regions[&A].orders.iter().map(|order| order.by.sequence).collect();
    assert_eq!(sequences, (1..=20).collect::<Vec<_>>());
}

#[test]
fn spawns_that_do_not_fit_the_world_are_refused() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    let text = stage.client(viewer).spawn(Spawn { shape: Shape::ball(100.0), ..ball(0.0) });
    send(&mut stage, viewer, &text);
    stage.step();
    let answers = stage.client(viewer).take_answers();
    assert!(matches!(&answers[..], [Answer { seq: Some(1), outcome: Err(reason) }] if reason.contains("100 m")));
    assert!(stage.regions.values().all(|region| region.orders.is_empty()));
}

#[test]
fn the_shell_is_asked_for_what_only_it_can_do() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    let client = stage.client(viewer);
    let texts = [
        client.pause(true),
        client.step(5),
        client.speed(0.5),
        client.reset(),
        client.scene("rain"),
        client.scene("rian"),
    ];
    for text in &texts {
        send(&mut stage, viewer, text);
    }
    stage.tick();
    let requests = [
        Request::Pause(true),
        Request::Step(5),
        Request::Speed(0.5),
        Request::Reset,
        Request::Scene("rain".to_owned()),
    ];
    let expected: Vec<_> = requests.into_iter().zip(1..).map(|(request, seq)| (viewer, Some(seq), request)).collect();
    assert_eq!(stage.requests, expected);
    stage.gateway.answer(viewer, Some(1), Ok(None));
    stage.gateway.answer(viewer, Some(4), Err("not now".to_owned()));
    stage.tick();
    let answers = stage.client(viewer).take_answers();
    assert_eq!(answers[0].outcome, Err("there is no scene `rian`; did you mean `rain`?".to_owned()));
    assert_eq!(answers[1], Answer { seq: Some(1), outcome: Ok(None) });
    assert_eq!(answers[2], Answer { seq: Some(4), outcome: Err("not now".to_owned()) });
}

#[test]
fn a_burst_is_taken_and_a_flood_is_refused() {
    let config = GatewayConfig { id: GatewayId(3), ..GatewayConfig::default() };
    let mut stage = Stage::with(config);
    let viewer = stage.join(1);
    let other = stage.join(2);
    stage.step();
    let text = stage.client(viewer).spawn(ball(1.0));
    for _ in 0..450 {
        send(&mut stage, viewer, &text);
    }
    send(&mut stage, other, &text);
    stage.step();
    assert_eq!(stage.regions[&B].orders.len(), 401, "the other client is not held back");
    let answers = stage.client(viewer).take_answers();
    assert_eq!(answers.len(), 50);
    assert!(matches!(&answers[0].outcome, Err(reason) if reason.contains("200 a second")));
    for _ in 0..60 {
        stage.step();
    }
    for _ in 0..300 {
        send(&mut stage, viewer, &text);
    }
    stage.step();
    let taken = stage.regions[&B].orders.len() - 401;
    assert!((200..=204).contains(&taken), "a second earns 200 commands, and {taken} were taken");
}

#[test]
fn a_client_that_floods_without_end_costs_little_and_is_disconnected() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    let text = stage.client(viewer).despawn(Nid(1));
    for _ in 0..10_400 {
        send(&mut stage, viewer, &text);
    }
    assert!(stage.gateway.clients() == 1);
    for _ in 0..200 {
        send(&mut stage, viewer, &text);
    }
    assert_eq!(stage.gateway.clients(), 0);
    let mut out = Outputs::default();
    stage.gateway.tick(stage.now, &mut out);
    assert!(out.messages.len() <= 500, "{} messages", out.messages.len());
    assert_eq!(out.closed.len(), 1);
}

#[test]
fn control_commands_are_bounded_even_when_no_tick_passes() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.tick();
    for round in 1..=3 {
        let text = stage.client(viewer).pause(true);
        for _ in 0..200 {
            send(&mut stage, viewer, &text);
        }
        let mut out = Outputs::default();
        stage.gateway.broadcast_stats(&mut out);
        stage.deliver(out);
        assert_eq!(stage.requests.len(), 20 * round);
    }
    assert!(stage.client(viewer).stats().is_some());
}

#[test]
fn rubbish_is_refused_and_then_ends_the_connection() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    for _ in 0..4 {
        send(&mut stage, viewer, r#"{"type":"spwan","seq":4}"#);
        stage.gateway.client_rubbish(viewer, 1, no_text());
        stage.step();
    }
    let answers = stage.client(viewer).take_answers();
    assert_eq!(answers.len(), 8, "each is answered");
    assert_eq!(answers[0].seq, Some(4));
    for _ in 0..41 {
        send(&mut stage, viewer, "rubbish");
    }
    stage.step();
    assert_eq!(stage.client(viewer).take_answers().len(), 4, "of a torrent some are");
    assert!(stage.closed.is_empty());
    send(&mut stage, viewer, "rubbish");
    stage.step();
    assert!(matches!(&stage.closed[..], [(client, reason)] if *client == viewer && reason.contains("not JSON")));
    assert_eq!((stage.gateway.clients(), stage.gateway.counters().messages_bad), (0, 50));
    send(&mut stage, viewer, "more");
    assert_eq!(stage.gateway.counters().messages_unknown_client, 1);
}

#[test]
fn rubbish_that_was_collected_counts_in_full() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    stage.gateway.client_rubbish(viewer, 49, no_text());
    stage.step();
    assert_eq!(stage.client(viewer).take_answers().len(), 1, "the last is answered");
    assert!(stage.closed.is_empty());
    let counters = stage.gateway.counters();
    assert_eq!((counters.messages_bad, counters.commands_refused), (49, 49));
    stage.gateway.client_rubbish(viewer, 9, no_text());
    stage.step();
    assert!(matches!(&stage.closed[..], [(client, reason)] if *client == viewer && reason.contains("no text")));
    assert_eq!((stage.gateway.clients(), stage.gateway.counters().messages_bad), (0, 58));
    stage.gateway.client_rubbish(viewer, 7, no_text());
    assert_eq!(stage.gateway.counters().messages_unknown_client, 7);
}

fn no_text() -> Reject {
    Reject { seq: None, reason: "it is no text".to_owned() }
}

#[test]
fn a_full_gateway_says_so() {
    let mut stage = Stage::with(GatewayConfig { clients_max: 1, ..GatewayConfig::default() });
    stage.join(1);
    assert!(stage.gateway.connect(ClientId(1), ClientRole::Admin).unwrap_err().contains("already"));
    assert!(stage.gateway.connect(ClientId(2), ClientRole::Admin).unwrap_err().contains("serves 1 clients"));
    stage.gateway.disconnect(ClientId(1));
    assert!(stage.gateway.connect(ClientId(2), ClientRole::Admin).is_ok());
}

#[test]
fn commands_that_nobody_answers_are_given_up() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    let text = stage.client(viewer).spawn(ball(1.0));
    send(&mut stage, viewer, &text);
    for _ in 0..1800 {
        stage.step();
    }
    assert!(stage.client(viewer).take_answers().is_empty());
    stage.step();
    stage.step();
    let answers = stage.client(viewer).take_answers();
    assert!(matches!(&answers[..], [Answer { seq: Some(1), outcome: Err(reason) }] if reason.contains("no server")));
}

/// Gives spawns at a place as one client until one is refused, at most 200 a second; says how many were taken, and why the
/// last was not.
fn until_refused(stage: &mut Stage, client: ClientId, x: f32) -> (usize, String) {
    let mut given = 0;
    for _ in 0..1_700 {
        for _ in 0..3 {
            let text = stage.client(client).spawn(ball(x));
            send(stage, client, &text);
        }
        given += 3;
        // Only the gateway runs: nobody answers.
        stage.now = stage.now.next();
        stage.tick();
        let answers = stage.client(client).take_answers();
        if let Some(Answer { outcome: Err(reason), .. }) = answers.last() {
            return (given - answers.len(), reason.clone());
        }
    }
    panic!("{given} commands were taken")
}

#[test]
fn a_region_that_is_dead_takes_no_room_from_others() {
    let mut stage = Stage::new();
    let clients = [1, 2].map(|number| stage.join(number));
    stage.step();
    let (first, reason) = until_refused(&mut stage, clients[0], -30.0);
    assert!(reason.contains("region r0") && reason.contains("wait"), "{reason}");
    let (second, reason) = until_refused(&mut stage, clients[1], -30.0);
    assert!(reason.contains("region r0") && reason.contains("try again"), "{reason}");
    assert!(second > 0, "one client does not take all the room");
    assert!(first + second <= 1_024, "{first} and {second}");
    for client in clients {
        let text = stage.client(client).spawn(ball(30.0));
        send(&mut stage, client, &text);
    }
    stage.tick();
    assert_eq!(stage.regions[&B].orders.len(), 2, "who is alive gets its orders");
}
