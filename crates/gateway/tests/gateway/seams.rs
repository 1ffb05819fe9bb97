//! What goes on at the seams, for clients who asked to see it, and who had a body before.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_wire::client::{FromClient, HandOver, Overlay};
use nimbus_wire::{AuraSize, Breach, Content, Factor, Frame, SeamReport, SeamTotals, Transit};

use crate::stage::{A, B, Stage, died, hosted, world};

/// More ticks than lie between two pictures.
const PICTURE: u32 = 7;

fn report(reach: f32) -> SeamReport {
    let breach = |tick| Breach {
        tick: Tick(tick),
        region: A,
        factor: Factor::Speed,
        value: 41.0,
        limit: 32.0,
        bodies: vec![Nid(1)],
    };
    SeamReport {
        auras: vec![AuraSize { nid: Nid(1), reach }, AuraSize { nid: Nid(99), reach }],
        clusters: vec![vec![Nid(1), Nid(2)], vec![Nid(2), Nid(98)]],
        in_transit: vec![Transit { nid: Nid(2), to: B }],
        breaches: vec![breach(90)],
        totals: SeamTotals { auras: 2, ghosts: 5, in_transit: 1, breaches: [4, 0, 0, 0, 0, 1, 0, 0, 0, 0] },
    }
}

fn tell(stage: &mut Stage, report: SeamReport) {
    let frame = stage.frame(A, Content::Seams(report));
    stage.gateway.handle(Frame::decode(&frame.encode()).expect("what was encoded decodes"));
}

fn steps(stage: &mut Stage, count: u32) {
    (0..count).for_each(|_| stage.step());
}

fn with_two_bodies() -> Stage {
    let mut stage = Stage::new();
    stage.say(A, hosted(1, 1, -1.0));
    stage.say(A, hosted(2, 1, -2.0));
    stage
}

#[test]
fn clients_see_what_they_asked_for_and_nothing_else() {
    let mut stage = with_two_bodies();
    let (curious, other) = (stage.join(1), stage.join(2));
    stage.step();
    tell(&mut stage, report(1.5));
    let ask = stage.client(curious).overlays(&[Overlay::Auras, Overlay::Clusters, Overlay::InTransit]);
    stage.gateway.client_text(curious, &ask);
    steps(&mut stage, PICTURE);
    let (first, second) = (stage.gateway.replica(Nid(1)).unwrap().slot, stage.gateway.replica(Nid(2)).unwrap().slot);
    let client = stage.client(curious);
    assert_eq!(client.auras().collect::<Vec<_>>(), [(Nid(1), 1.5)], "a body that nobody knows has no aura to see");
    assert_eq!(client.clusters(), [vec![first, second]], "half a cluster is nothing to see");
    assert_eq!(client.in_transit().collect::<Vec<_>>(), [(Nid(2), B)]);
    assert!(client.breaches().is_empty(), "not asked for");
    assert!(client.take_answers().iter().all(|answer| answer.outcome == Ok(None)));
    assert_eq!(stage.client(other).auras().count(), 0);

    let ask = stage.client(curious).overlays(&[Overlay::Breaches]);
    stage.gateway.client_text(curious, &ask);
    tell(&mut stage, report(9.0));
    steps(&mut stage, PICTURE);
    let client = stage.client(curious);
    assert_eq!(client.auras().next(), Some((Nid(1), 1.5)), "no longer told");
    let breach = &client.breaches()[0];
    assert_eq!((breach.factor, breach.value, breach.limit), (Factor::Speed, 41.0, 32.0));
    assert_eq!((breach.bodies.as_slice(), client.breaches_in_all()), ([Nid(1)].as_slice(), 5));
}

#[test]
fn a_picture_that_did_not_change_is_sent_to_newcomers_only() {
    let mut stage = with_two_bodies();
    let (early, late) = (stage.join(1), stage.join(2));
    stage.step();
    tell(&mut stage, report(1.0));
    let ask = FromClient::Overlays { on: vec![Overlay::Auras] }.to_text(None);
    let auras_sent = |stage: &mut Stage| {
        let mut sent = Vec::new();
        for _ in 0..PICTURE {
            let mut out = nimbus_gateway::Outputs::default();
            stage.now = stage.now.next();
            stage.gateway.tick(stage.now, &mut out);
            let is_auras = |message: &nimbus_gateway::Message| matches!(message, nimbus_gateway::Message::Binary(bytes) if bytes[0] == 5);
            sent.extend(out.messages.iter().filter(|(_, message)| is_auras(message)).map(|(client, _)| *client));
        }
        sent
    };
    stage.gateway.client_text(early, &ask);
    assert_eq!(auras_sent(&mut stage), [early]);
    assert_eq!(auras_sent(&mut stage), []);
    stage.gateway.client_text(late, &ask);
    assert_eq!(auras_sent(&mut stage), [late]);
    tell(&mut stage, report(2.0));
    assert_eq!(auras_sent(&mut stage), [early, late]);
}

#[test]
fn an_older_report_does_not_count() {
    let mut stage = with_two_bodies();
    stage.step();
    tell(&mut stage, report(1.0));
    let late = Frame { tick: Tick(3), ..stage.frame(A, Content::Seams(SeamReport::default())) };
    stage.gateway.handle(late);
    assert_eq!(stage.gateway.seam_totals()[&A].ghosts, 5);
    assert_eq!(stage.gateway.seam_totals()[&A].breaches_in_all(), 5);
}

#[test]
fn another_world_voids_the_picture_but_not_the_figures() {
    let mut stage = with_two_bodies();
    let client = stage.join(1);
    stage.step();
    tell(&mut stage, report(1.0));
    let ask = stage.client(client).overlays(&[Overlay::Auras]);
    stage.gateway.client_text(client, &ask);
    steps(&mut stage, PICTURE);
    assert_eq!(stage.client(client).auras().count(), 1);
    stage.gateway.load(world(), 2, crate::stage::map(), stage.now.next());
    stage.regions.clear();
    stage.era = 2;
    steps(&mut stage, PICTURE);
    assert_eq!(stage.client(client).auras().count(), 0);
    assert_eq!(stage.gateway.seam_totals()[&A].auras, 2);
}

#[test]
fn a_body_tells_its_owner_its_epoch_and_who_had_it_before() {
    let mut stage = with_two_bodies();
    let client = stage.join(1);
    stage.step();
    for (epoch, to) in [(2, B), (3, A), (4, B)] {
        stage.say(to, hosted(1, epoch, 0.5));
        stage.step();
    }
    let ask = stage.client(client).inspect(Nid(1));
    stage.gateway.client_text(client, &ask);
    stage.step();
    let card = stage.client(client).take_cards().pop().expect("the question was answered");
    assert_eq!((card.nid, card.region, card.epoch, card.hand_overs), (Nid(1), B, 4, 3));
    assert_eq!(card.desc, stage.gateway.replica(Nid(1)).unwrap().desc);
    let owners: Vec<(RegionId, RegionId, u32)> = card.history.iter().map(|h| (h.from, h.to, h.epoch)).collect();
    assert_eq!(owners, [(A, B, 2), (B, A, 3), (A, B, 4)]);
    assert!(card.history.is_sorted_by_key(|HandOver { tick, .. }| *tick));

    stage.say(B, died(1, 5));
    stage.step();
    let ask = stage.client(client).inspect(Nid(1));
    stage.gateway.client_text(client, &ask);
    stage.step();
    assert!(stage.client(client).take_cards().is_empty());
    let answers = stage.client(client).take_answers();
    assert!(answers.last().unwrap().outcome.as_ref().unwrap_err().contains("there is no body 0.1"), "{answers:?}");
}
