//! Same ordered calls, same bits.
#![allow(missing_docs)]

mod scene;

use nimbus_physics::PhysicsWorld;

fn hashes(world: &mut PhysicsWorld, ticks: std::ops::Range<u64>) -> Vec<u64> {
    ticks
        .map(|tick| {
            scene::churn(world, tick);
            world.step();
            world.state_hash()
        })
        .collect()
}

#[test]
fn the_same_calls_give_the_same_state_at_every_tick() {
    let (mut one, mut two) = (scene::mixed(), scene::mixed());
    let first = hashes(&mut one, 0..300);
    assert_eq!(first, hashes(&mut two, 0..300));
    assert!(first.windows(2).all(|pair| pair[0] != pair[1]), "something moves at every tick");
    assert!(one.len() > 100, "the scene is still busy");
    assert_eq!(one.snapshot(), two.snapshot(), "equal histories give equal bytes");
}

#[test]
fn the_order_within_a_group_does_not_matter() {
    let mut straight = scene::empty();
    let mut turned = scene::empty();
    let mut group = scene::rain(0, 40, &mut nimbus_model::Rng::new(5));
    let chain = scene::chain(500);
    group.members.extend(chain.members);
    group.links.extend(chain.links);
    straight.insert(group.clone()).unwrap();
    group.members.reverse();
    group.links.rotate_left(3);
    turned.insert(group).unwrap();
    assert_eq!(hashes(&mut straight, 100..160), hashes(&mut turned, 100..160));
}

#[test]
fn a_restored_world_goes_on_as_the_saved_one() {
    let mut whole = scene::mixed();
    hashes(&mut whole, 0..100);
    // Saved with changes waiting: bodies and joints that came, went and broke since the last step.
    for tick in [0, 7, 13, 17, 35, 55] {
        scene::churn(&mut whole, 10_000 + tick);
    }
    let saved = whole.snapshot();
    let mut again = PhysicsWorld::restore(&saved).unwrap();
    assert_eq!(again.snapshot(), saved, "saving what was restored gives the same bytes");
    assert_eq!(again.state_hash(), whole.state_hash());
    for tick in 100..300 {
        for world in [&mut whole, &mut again] {
            scene::churn(world, tick);
            world.step();
        }
        assert_eq!(whole.state_hash(), again.state_hash(), "tick {tick}");
        assert_eq!(whole.last_report(), again.last_report(), "tick {tick}");
        assert!(whole.awake().eq(again.awake()), "tick {tick}");
        assert!(whole.link_keys().eq(again.link_keys()), "tick {tick}");
    }
}

#[test]
fn saving_at_any_tick_changes_nothing() {
    let mut plain = scene::mixed();
    let mut saved = scene::mixed();
    for tick in 0..120 {
        scene::churn(&mut plain, tick);
        scene::churn(&mut saved, tick);
        if tick % 10 == 3 {
            saved = PhysicsWorld::restore(&saved.snapshot()).unwrap();
        }
        plain.step();
        saved.step();
        assert_eq!(plain.state_hash(), saved.state_hash(), "tick {tick}");
    }
}
