//! One body in bits. The same function writes and reads, so what the one end keeps is what the other has.

use super::model::{Components, Model, miss, so_far};
use super::odds::Coder;
use super::prediction::{Sample, kept};
use super::rotation::{Turn, from_smallest_three, smallest_three, turn_between, turned, unit};
use super::scale::{PARTS, Scale};

/// The order in which axes are told: along the ground, then up, where least happens.
const AXES: [usize; 3] = [0, 2, 1];
/// About the vertical first: most turns of what lies on the ground are about it alone.
const TURN_AXES: [usize; 3] = [1, 0, 2];

/// What bits stand for no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

/// What is known before a body is coded.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// The body in the snapshot that the packet goes on from, and how many ticks ago that was.
    pub(super) before: Option<(&'a Sample, u32)>,
    /// The body before it in the packet.
    pub(super) neighbour: &'a Sample,
    /// Whether that one stayed where it was.
    pub(super) neighbour_stays: bool,
}

/// Codes a body: `truth` is what a writer wants to say; a reader has none. Gives what the client will have, and whether it
/// stays where it was.
pub(super) fn code(
    scale: &Scale,
    model: &mut Model,
    coder: &mut impl Coder,
    known: Known<'_>,
    truth: Option<&Sample>,
) -> Result<(Sample, bool), Nonsense> {
    let did = known.before.map_or(0, |(before, _)| habit(before));
    if scale.config.techniques.at_rest
        && let Some((before, _)) = known.before
    {
        let stays = truth.is_some_and(|truth| stays(scale, before, truth));
        if coder.bit(&mut model.stays[did][usize::from(known.neighbour_stays)], stays) {
            return Ok((before.stopped(), true));
        }
    }
    let at_rest = coder.bit(&mut model.at_rest[did], truth.is_some_and(|truth| truth.at_rest));
    let mut sample = Sample { at_rest, ..Sample::ORIGIN };
    if scale.config.techniques.relative() {
        difference(scale, model, coder, known, truth, &mut sample)?;
    } else {
        in_full(scale, coder, truth.unwrap_or(&Sample::ORIGIN), &mut sample)?;
    }
    if let Some((before, ticks)) = known.before
        && scale.config.techniques.prediction
        && !at_rest
    {
        sample.follow(before, ticks);
    }
    Ok((sample, false))
}

/// What a body did: nothing at all, nothing for now, something.
fn habit(before: &Sample) -> usize {
    if before.at_rest {
        0
    } else if before.velocity == [0; 3] && before.spin == [0.0; 3] {
        1
    } else {
        2
    }
}

/// Whether a body is where it was, as far as this stream can tell.
fn stays(scale: &Scale, before: &Sample, truth: &Sample) -> bool {
    if truth.at_rest != before.at_rest {
        return false;
    }
    if !scale.config.techniques.quantised {
        return truth.position == before.position && truth.rotation == before.rotation;
    }
    let near = truth.position.iter().zip(before.position).all(|(a, b)| 2 * a.abs_diff(b) <= PARTS as u32);
    near && turn_steps(scale, before.turn(), truth.turn()) == Some([0; 3])
}

fn turn_steps(scale: &Scale, from: Turn, to: Turn) -> Option<[i32; 3]> {
    Some(turn_between(from, to)?.map(|t| (t / scale.half_turn).round() as i32))
}

fn difference(
    scale: &Scale,
    model: &mut Model,
    coder: &mut impl Coder,
    known: Known<'_>,
    truth: Option<&Sample>,
    sample: &mut Sample,
) -> Result<(), Nonsense> {
    let limit = scale.limit();
    let (from, place, turn) = match known.before {
        Some((before, ticks)) if scale.config.techniques.prediction => {
            (before, before.place_after(ticks, limit), before.turn_after(ticks))
        }
        Some((before, _)) => (before, before.position, before.turn()),
        None => (known.neighbour, known.neighbour.position, known.neighbour.turn()),
    };
    let off = truth.map_or([0; 3], |truth| std::array::from_fn(|i| nearest_step(truth.position[i] - place[i])));
    let steps = match known.before {
        Some(_) => components(&mut model.position, coder, AXES, off, from.velocity, from.position_miss, None),
        None => AXES_IN_ORDER.map(|i| model.fresh_position[i].code(coder, off[i], 0)),
    };
    for i in 0..3 {
        let moved = i64::from(place[i]) + i64::from(steps[i]) * i64::from(PARTS);
        // Half a step beyond the limit is what rounding may come to.
        if moved.abs() > i64::from(limit) + i64::from(PARTS) {
            return Err(Nonsense);
        }
        sample.position[i] = moved as i32;
    }
    sample.position_miss = miss(greatest(steps));

    let wanted = truth.map_or(Some([0; 3]), |truth| turn_steps(scale, turn, truth.turn()));
    if coder.bit(&mut model.leap, wanted.is_none()) {
        sample.rotation = rotation_in_full(scale, coder, truth.unwrap_or(&Sample::ORIGIN))?;
        return Ok(());
    }
    let wanted = wanted.unwrap_or_default();
    let steps = match known.before {
        Some(_) => {
            let spin = from.spin.map(|s| s.partial_cmp(&0.0).map_or(0, |order| order as i32));
            let so_far = Some(greatest(steps));
            components(&mut model.rotation, coder, TURN_AXES, wanted, spin, from.rotation_miss, so_far)
        }
        None => AXES_IN_ORDER.map(|i| model.fresh_rotation[i].code(coder, wanted[i], 0)),
    };
    sample.rotation = kept(turned(turn, steps.map(|k| f64::from(k) * scale.half_turn)));
    sample.rotation_miss = miss(greatest(steps));
    Ok(())
}

const AXES_IN_ORDER: [usize; 3] = [0, 1, 2];

/// Three components, each in the light of those before it.
fn components(
    odds: &mut Components,
    coder: &mut impl Coder,
    axes: [usize; 3],
    values: [i32; 3],
    leans: [i32; 3],
    miss: u8,
    before: Option<u32>,
) -> [i32; 3] {
    let mut coded = [0; 3];
    for (place, axis) in axes.into_iter().enumerate() {
        let seen = if place == 0 { before.unwrap_or(0) } else { greatest(coded) };
        let number = &mut odds[axis][usize::from(miss)][so_far(seen)];
        coded[axis] = number.code(coder, values[axis], leans[axis]);
    }
    coded
}

fn greatest(steps: [i32; 3]) -> u32 {
    steps.iter().map(|s| s.unsigned_abs()).max().unwrap_or(0)
}

/// Whole steps of a difference in parts.
fn nearest_step(parts: i32) -> i32 {
    (parts + PARTS / 2).div_euclid(PARTS)
}

/// A body by itself.
fn in_full(scale: &Scale, coder: &mut impl Coder, truth: &Sample, sample: &mut Sample) -> Result<(), Nonsense> {
    for i in 0..3 {
        sample.position[i] = if scale.config.techniques.quantised {
            let step = (nearest_step(truth.position[i]) + scale.reach as i32).clamp(0, 2 * scale.reach as i32);
            let step = coder.plain(scale.width(), step as u32);
            if step > 2 * scale.reach {
                return Err(Nonsense);
            }
            (step as i32 - scale.reach as i32) * PARTS
        } else {
            let bits = coder.plain(32, truth.position[i] as u32);
            if !f32::from_bits(bits).is_finite() {
                return Err(Nonsense);
            }
            bits as i32
        };
    }
    sample.rotation = rotation_in_full(scale, coder, truth)?;
    Ok(())
}

fn rotation_in_full(scale: &Scale, coder: &mut impl Coder, truth: &Sample) -> Result<[f32; 4], Nonsense> {
    let techniques = scale.config.techniques;
    let mut component = |value: f64| {
        if techniques.quantised {
            let grid = if techniques.smallest_three { &scale.three } else { &scale.four };
            return grid.component(coder.plain(grid.width(), grid.step(value))).ok_or(Nonsense);
        }
        let read = f32::from_bits(coder.plain(32, (value as f32).to_bits()));
        if read.abs() <= 1.001 { Ok(f64::from(read)) } else { Err(Nonsense) }
    };
    if techniques.smallest_three {
        let (largest, three) = smallest_three(truth.turn());
        let three = [component(three[0])?, component(three[1])?, component(three[2])?];
        let largest = coder.plain(2, largest as u32);
        return Ok(kept(from_smallest_three(largest as usize, three)));
    }
    let [x, y, z, w] = truth.turn();
    Ok(kept(unit([component(x)?, component(y)?, component(z)?, component(w)?])))
}
