//! Which frames are let in.

use crate::stage::{A, GATEWAY, Stage, hosted};
use nimbus_model::{Nid, Tick};
use nimbus_wire::{Address, Content, Frame, GatewayId, LaneFrame};

fn lane(stage: &Stage, nid: u64) -> Frame {
    let items = vec![(stage.now, hosted(nid, 1, 0.0))];
    stage.frame(A, Content::Lane(LaneFrame { ack: 0, first: 1, items }))
}

#[test]
fn frames_for_others_and_from_others_are_dropped() {
    let mut stage = Stage::new();
    let good = lane(&stage, 1);
    stage.gateway.handle(Frame { to: Address::Gateway(GatewayId(9)), ..good.clone() });
    stage.gateway.handle(Frame { to: Address::Region(A), ..good.clone() });
    stage.gateway.handle(Frame { from: GATEWAY, ..good.clone() });
    stage.gateway.handle(Frame { era: 2, ..good.clone() });
    stage.tick();
    assert_eq!(stage.gateway.bodies(), 0);
    assert_eq!(stage.gateway.counters().frames_misaddressed, 3);
    assert_eq!(stage.gateway.counters().frames_wrong_era, 1);
    stage.gateway.handle(good);
    stage.tick();
    assert_eq!(stage.gateway.bodies(), 1);
}

#[test]
fn a_former_life_of_a_region_is_not_heard() {
    let mut stage = Stage::new();
    let good = lane(&stage, 1);
    stage.gateway.handle(Frame { epoch: 5, ..good.clone() });
    stage.tick();
    let late = LaneFrame { ack: 0, first: 2, items: vec![(Tick(100), hosted(2, 1, 0.0))] };
    stage.gateway.handle(Frame { epoch: 4, content: Content::Lane(late.clone()), ..good.clone() });
    stage.tick();
    assert!(stage.gateway.replica(Nid(2)).is_none());
    assert_eq!(stage.gateway.counters().frames_old_epoch, 1);
    stage.gateway.handle(Frame { epoch: 6, content: Content::Lane(late), ..good });
    stage.tick();
    assert!(stage.gateway.replica(Nid(2)).is_some(), "sequence numbers outlive a restart");
}

#[test]
fn acknowledgements_go_back_once_each() {
    let mut stage = Stage::new();
    let frame = lane(&stage, 1);
    stage.gateway.handle(frame);
    let mut out = nimbus_gateway::Outputs::default();
    stage.gateway.tick(stage.now, &mut out);
    let lanes = |out: &nimbus_gateway::Outputs| {
        let lane = |frame: &Frame| match &frame.content {
            Content::Lane(lane) => Some((lane.ack, lane.items.len())),
            _ => None,
        };
        out.frames.iter().filter_map(lane).collect::<Vec<_>>()
    };
    assert_eq!(lanes(&out), [(1, 0)]);
    stage.gateway.tick(stage.now.next(), &mut out);
    assert_eq!(lanes(&out).len(), 1, "nothing is owed any more");
}
