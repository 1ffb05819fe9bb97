//! Whatever the network does, what clients see becomes the truth.

use crate::stage::{Stage, at, died, hosted};
use nimbus_model::{Nid, RegionId, Rng};
use nimbus_wire::Item;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What is true of a body.
#[derive(Clone, Copy)]
struct Truth {
    region: RegionId,
    epoch: u32,
    x: f32,
}

/// One random thing that happens to the world.
fn happen(stage: &mut Stage, truth: &mut BTreeMap<u64, Truth>, born: &mut u64, rng: &mut Rng) {
    let region = RegionId(rng.below(3) as u16);
    let picked = truth.keys().nth(rng.below(truth.len().max(1) as u64) as usize).copied();
    match (rng.below(4), picked) {
        (0, Some(nid)) => {
            let Truth { region, epoch, .. } = truth[&nid];
            truth.remove(&nid);
            stage.say(region, died(nid, epoch + 1));
        }
        (1 | 2, Some(nid)) => {
            let body = truth.get_mut(&nid).expect("it was picked from there");
            (body.region, body.epoch, body.x) = (region, body.epoch + 1, body.x + 1.0);
            stage.say(region, hosted(nid, body.epoch, body.x));
        }
        _ => {
            *born += 1;
            truth.insert(*born, Truth { region, epoch: 1, x: *born as f32 });
            stage.say(region, hosted(*born, 1, *born as f32));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn clients_come_to_see_the_truth(seed in any::<u64>(), loss in 0.0f32..0.6) {
        let mut rng = Rng::new(seed);
        let mut stage = Stage::new();
        stage.loss = Some((Rng::new(seed ^ 1), loss));
        let first = stage.join(1);
        let mut second = None;
        let mut truth: BTreeMap<u64, Truth> = BTreeMap::new();
        let mut born = 0;
        let mut late = Vec::new();
        for round in 0..120u64 {
            for _ in 0..rng.below(3) {
                happen(&mut stage, &mut truth, &mut born, &mut rng);
            }
            for body in truth.values_mut() {
                body.x += 0.25;
            }
            for region in (0..3).map(RegionId) {
                let own = truth.iter().filter(|(_, body)| body.region == region);
                let bodies: Vec<_> = own.map(|(nid, body)| (*nid, body.epoch, body.x)).collect();
                stage.states(region, stage.now.0, &bodies);
            }
            // Some state frames are late, and some come twice.
            let sent = stage.states.clone();
            late.extend(sent.into_iter().filter(|_| rng.chance(0.3)));
            while !late.is_empty() && rng.chance(0.5) {
                stage.states.push(late.swap_remove(rng.below(late.len() as u64) as usize));
            }
            if round == 60 {
                second = Some(stage.join(2));
            }
            stage.step();
            stage.check_sight(first);
        }
        for (nid, body) in &truth {
            stage.say(body.region, Item::Rested { nid: Nid(*nid), body_epoch: body.epoch, motion: at(body.x) });
        }
        for _ in 0..400 {
            stage.step();
        }
        for viewer in [Some(first), second].into_iter().flatten() {
            stage.check_sight(viewer);
            let seen: Vec<_> = stage.clients[&viewer].bodies().map(|b| (b.nid.0, b.region, b.pose.position.x)).collect();
            let told: Vec<_> = truth.iter().map(|(nid, body)| (*nid, body.region, body.x)).collect();
            prop_assert_eq!(seen, told);
            prop_assert_eq!(stage.clients[&viewer].dropped().records, 0);
        }
        prop_assert!(stage.regions.values().all(|region| region.outgoing.waiting().len() == 0));
    }
}
