//! A stream of body states under loss, delay and damage.

mod moving_bodies;

use moving_bodies::Bodies;
use nimbus_model::{Pose, Rng, Vec3};
use nimbus_wire::stream::{
    BodyState, Fidelity, SNAPSHOTS_KEPT, StreamConfig, StreamDecodeError, StreamDecoder, StreamEncodeError,
    StreamEncoder, Techniques,
};
use proptest::prelude::*;
use std::collections::VecDeque;

fn any_techniques() -> impl Strategy<Value = Techniques> {
    any::<[bool; 7]>().prop_map(|[quantised, smallest_three, at_rest, delta, prediction, entropy, repeats]| {
        Techniques { quantised, smallest_three, at_rest, delta, prediction, entropy, repeats }
    })
}

/// Half a step along each axis; about each axis a little more, since the three smallest stand for the fourth.
fn check_close(config: StreamConfig, shown: &BodyState, truth: &BodyState) {
    assert_eq!((shown.slot, shown.at_rest), (truth.slot, truth.at_rest));
    let exact = !config.techniques.quantised;
    let step_m = if exact { 1e-9 } else { config.fidelity.position_um() as f32 * 1e-6 };
    let off = (shown.pose.position - truth.pose.position).abs().max_element();
    assert!(off <= step_m * 0.56, "{off} m off, steps of {step_m}");
    let step_deg = if exact { 0.05 } else { config.fidelity.rotation_mdeg() as f32 * 1e-3 };
    let way = shown.pose.rotation * truth.pose.rotation.inverse();
    let off = 2.0 * way.xyz().length().atan2(way.w.abs()).to_degrees();
    assert!(off <= step_deg * 1.8, "{off} degrees off, steps of {step_deg}");
    assert!(shown.pose.is_valid());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever is lost in either direction: every packet that arrives is understood, and is what was sent.
    #[test]
    fn loss_never_brings_the_two_ends_out_of_step(
        seed in any::<u64>(),
        techniques in any_techniques(),
        position_um in 200u32..5_000,
        rotation_mdeg in 50u32..2_000,
        loss in 0.0..0.7f32,
        delay in 0usize..40,
    ) {
        let fidelity = Fidelity::new(position_um, rotation_mdeg, 512).unwrap();
        let config = StreamConfig { techniques, fidelity };
        let (mut encoder, mut decoder) = (StreamEncoder::new(config), StreamDecoder::new(config));
        let mut bodies = Bodies::new(seed, 24);
        let mut rng = Rng::stream(seed, 1);
        let mut answers = VecDeque::from(vec![None; delay]);
        for tick in 0..120 {
            bodies.step();
            let truth = bodies.seen(tick);
            let mut packet = Vec::new();
            encoder.encode(tick, &truth, &mut packet).unwrap();
            let mut answer = None;
            if !rng.chance(loss) {
                let decoded = decoder.decode(&packet).unwrap();
                let shown: Vec<BodyState> = decoded.bodies().collect();
                prop_assert_eq!(shown.len(), truth.len());
                shown.iter().zip(&truth).for_each(|(shown, truth)| check_close(config, shown, truth));
                answer = Some(decoded.sequence).filter(|_| !rng.chance(loss));
                prop_assert_eq!(decoder.decode(&packet).unwrap_err(), StreamDecodeError::Late);
            }
            answers.push_back(answer);
            if let Some(Some(sequence)) = answers.pop_front() {
                encoder.acknowledge(sequence);
            }
        }
    }

    /// Damaged and random packets are refused or become some valid snapshot; neither end falls over.
    #[test]
    fn damage_never_panics(seed in any::<u64>(), techniques in any_techniques(), noise in any::<Vec<u8>>()) {
        let config = StreamConfig { techniques, fidelity: Fidelity::default() };
        let (mut encoder, mut decoder) = (StreamEncoder::new(config), StreamDecoder::new(config));
        let mut bodies = Bodies::new(seed, 12);
        let mut rng = Rng::stream(seed, 2);
        for tick in 0..20 {
            bodies.step();
            let mut packet = Vec::new();
            encoder.encode(tick, &bodies.seen(tick), &mut packet).unwrap();
            let mut damaged = packet.clone();
            let at = rng.below(damaged.len() as u64) as usize;
            match rng.below(3) {
                0 => damaged[at] ^= 1 << rng.below(8),
                1 => damaged.truncate(at),
                _ => damaged.splice(at.., noise.iter().copied()).for_each(drop),
            }
            for bytes in [&damaged, &noise] {
                if let Ok(decoded) = StreamDecoder::clone(&decoder).decode(bytes) {
                    prop_assert!(decoded.bodies().all(|body| body.pose.is_valid()));
                }
            }
            decoder.decode(&packet).unwrap();
            encoder.acknowledge(tick);
        }
    }
}

#[test]
fn a_world_at_rest_costs_next_to_nothing() {
    let config = StreamConfig::default();
    let (mut encoder, mut decoder) = (StreamEncoder::new(config), StreamDecoder::new(config));
    let bodies = Bodies::new(3, 900).all.iter().map(|body| body.0).collect::<Vec<_>>();
    let mut packet = Vec::new();
    for tick in 0..100 {
        packet.clear();
        encoder.encode(tick, &bodies, &mut packet).unwrap();
        encoder.acknowledge(decoder.decode(&packet).unwrap().sequence);
    }
    assert!(packet.len() <= 9, "{} bytes", packet.len());
}

#[test]
fn an_acknowledgement_that_is_too_old_or_invented_is_not_built_upon() {
    let config = StreamConfig::default();
    let mut encoder = StreamEncoder::new(config);
    let bodies = Bodies::new(4, 5).seen(0);
    let mut packet = Vec::new();
    encoder.encode(0, &bodies, &mut packet).unwrap();
    encoder.acknowledge(0);
    encoder.acknowledge(77);
    for tick in 1..=SNAPSHOTS_KEPT {
        packet.clear();
        encoder.encode(tick, &bodies, &mut packet).unwrap();
        let in_full = StreamDecoder::new(config).decode(&packet).is_ok();
        assert_eq!(in_full, tick == SNAPSHOTS_KEPT, "tick {tick}");
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    let mut encoder = StreamEncoder::new(StreamConfig::default());
    let body = |slot, x| BodyState { slot, pose: Pose::at(Vec3::X * x), at_rest: false };
    let mut encode = |sequence, bodies: &[BodyState]| encoder.encode(sequence, bodies, &mut Vec::new());
    assert_eq!(encode(5, &[body(1, 0.0), body(1, 0.0)]), Err(StreamEncodeError::Slots));
    assert_eq!(encode(5, &[body(u32::MAX, 0.0)]), Err(StreamEncodeError::Slots));
    assert_eq!(encode(5, &[body(1, f32::NAN)]), Err(StreamEncodeError::Pose));
    assert_eq!(encode(5, &(0..5000).map(|slot| body(slot, 0.0)).collect::<Vec<_>>()), Err(StreamEncodeError::Bodies));
    assert_eq!(encode(5, &[body(1, 1e30)]), Ok(()));
    assert_eq!(encode(5, &[]), Err(StreamEncodeError::Sequence));
}
