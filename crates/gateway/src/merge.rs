//! One answer of the parts that regions gave after the same tick.
//!
//! What a region owned counts. What it had given away counts unless the receiver's own marks say that it had arrived
//! there by then: then the receiver has answered for it, or for where it went from there. So every body counts once. Where
//! a receiver acknowledged after the tick what it had not got at the tick, the sender may have forgotten it already: then
//! it is in neither part, and that shows in the marks, too.

use nimbus_model::{Nid, RegionId};
use nimbus_wire::ask::{Lowest, Part, PartAnswer};
use nimbus_wire::client::{Hit, NearestBody, Overlapping, Query, QueryAnswer};
use std::collections::{BTreeMap, BTreeSet};

/// What the parts say together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merged {
    pub(crate) answers: Vec<QueryAnswer>,
    /// Regions of which bodies may be in no part although they gave theirs.
    pub(crate) torn: BTreeSet<RegionId>,
}

/// Makes one answer of the parts of several regions, each of which [`fits`] the questions.
pub(crate) fn merge(queries: &[Query], parts: &BTreeMap<RegionId, &Part>) -> Merged {
    let mut whole: Vec<PartAnswer> = queries.iter().map(nothing).collect();
    let mut torn = BTreeSet::new();
    let mark = |at: RegionId, from: RegionId| parts.get(&at).map(|part| part.lanes_with(from).mark);
    for (&region, part) in parts {
        for (whole, found) in whole.iter_mut().zip(&part.answers) {
            absorb(whole, found);
        }
        for group in &part.under_way {
            if mark(group.to, region).is_none_or(|mark| mark < group.sequence) {
                for (query, found) in &group.answers {
                    if let Some(whole) = whole.get_mut(usize::from(*query)) {
                        absorb(whole, found);
                    }
                }
            }
        }
        // A peer without a part is silent, which shows elsewhere, or was not asked because it has long had no place. A lane
        // to the latter stays for good, so that something was acknowledged there says nothing about bodies.
        if part.lanes.iter().any(|lanes| mark(lanes.peer, region).is_some_and(|mark| mark < lanes.acknowledged)) {
            torn.insert(region);
        }
        let unsaid = part.unsaid.iter().filter(|(to, last)| mark(*to, region).is_none_or(|mark| mark < *last));
        torn.extend(unsaid.map(|(to, _)| *to));
    }
    Merged { answers: whole.into_iter().map(finish).collect(), torn }
}

/// True when a part answers these questions.
pub(crate) fn fits(queries: &[Query], part: &Part) -> bool {
    let same =
        |query: &Query, answer: &PartAnswer| std::mem::discriminant(&nothing(query)) == std::mem::discriminant(answer);
    let mut under_way = part.under_way.iter().flat_map(|group| &group.answers);
    part.answers.len() == queries.len()
        && queries.iter().zip(&part.answers).all(|(query, answer)| same(query, answer))
        && under_way.all(|(i, answer)| queries.get(usize::from(*i)).is_some_and(|query| same(query, answer)))
}

fn nothing(query: &Query) -> PartAnswer {
    match query {
        Query::Ray { .. } => PartAnswer::Ray(None),
        Query::Cast { .. } => PartAnswer::Cast(None),
        Query::Overlap { .. } => PartAnswer::Overlap { bodies: Lowest::default(), statics: Lowest::default() },
        Query::Nearest { .. } => PartAnswer::Nearest(None),
    }
}

fn absorb(whole: &mut PartAnswer, found: &PartAnswer) {
    match (whole, found) {
        (PartAnswer::Ray(best), PartAnswer::Ray(found)) | (PartAnswer::Cast(best), PartAnswer::Cast(found)) => {
            *best = nearer(*best, *found, |Hit { distance, nid, .. }| (distance, nid));
        }
        (PartAnswer::Nearest(best), PartAnswer::Nearest(found)) => {
            *best = nearer(*best, *found, |NearestBody { distance, nid, .. }| (distance, nid));
        }
        (PartAnswer::Overlap { bodies, statics }, PartAnswer::Overlap { bodies: more, statics: same }) => {
            bodies.add(more);
            // Every region knows all of them.
            if statics.total == 0 {
                statics.clone_from(same);
            }
        }
        _ => {}
    }
}

/// Ties go to the lower id.
fn nearer<T: Copy>(one: Option<T>, two: Option<T>, rank: impl Fn(T) -> (f32, Nid)) -> Option<T> {
    let order = |a: &T, b: &T| {
        let (a, b) = (rank(*a), rank(*b));
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    };
    one.into_iter().chain(two).min_by(order)
}

fn finish(whole: PartAnswer) -> QueryAnswer {
    match whole {
        PartAnswer::Ray(hit) => QueryAnswer::Ray(hit),
        PartAnswer::Cast(hit) => QueryAnswer::Cast(hit),
        PartAnswer::Overlap { mut bodies, statics } => {
            bodies.add(&statics);
            QueryAnswer::Overlap(Overlapping { bodies: bodies.nids, total: bodies.total })
        }
        PartAnswer::Nearest(near) => QueryAnswer::Nearest(near),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Pose, Shape, Vec3};
    use nimbus_wire::ask::{LaneMarks, UnderWay};

    const A: RegionId = RegionId(0);
    const B: RegionId = RegionId(1);

    fn hit(nid: u64, distance: f32) -> PartAnswer {
        PartAnswer::Ray(Some(Hit { nid: Nid(nid), distance, point: Vec3::ZERO, normal: Vec3::Y }))
    }

    fn overlap(bodies: &[u64], statics: &[u64]) -> PartAnswer {
        let of = |nids: &[u64]| Lowest::of(nids.iter().copied().map(Nid).collect());
        PartAnswer::Overlap { bodies: of(bodies), statics: of(statics) }
    }

    fn queries() -> [Query; 2] {
        let ray = Query::Ray { origin: Vec3::ZERO, direction: Vec3::X, max: 9.0 };
        [ray, Query::Overlap { shape: Shape::ball(1.0), pose: Pose::IDENTITY }]
    }

    /// A part, what the region got from the other one, and what that has acknowledged.
    fn part(answers: [PartAnswer; 2], peer: RegionId, mark: u64, acknowledged: u64) -> Part {
        let lanes = vec![LaneMarks { peer, acknowledged, mark }];
        Part { answers: answers.to_vec(), lanes, ..Part::default() }
    }

    fn seen(merged: &Merged) -> (u64, Vec<u64>, u64) {
        match &merged.answers[..] {
            [QueryAnswer::Ray(Some(hit)), QueryAnswer::Overlap(found)] => {
                (hit.nid.0, found.bodies.iter().map(|nid| nid.0).collect(), found.total)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_nearest_wins_ties_go_to_the_lower_id_and_statics_count_once() {
        let a = part([hit(7, 3.0), overlap(&[9], &[1])], B, 0, 0);
        let b = part([hit(5, 3.0), overlap(&[4, 8], &[1])], A, 0, 0);
        let merged = merge(&queries(), &BTreeMap::from([(A, &a), (B, &b)]));
        assert_eq!(seen(&merged), (5, vec![1, 4, 8, 9], 4));
        assert!(merged.torn.is_empty());
    }

    #[test]
    fn a_body_under_way_counts_until_the_receiver_has_it() {
        let mut a = part([hit(7, 3.0), overlap(&[7], &[])], B, 0, 4);
        a.under_way = vec![UnderWay { to: B, sequence: 5, answers: vec![(0, hit(2, 1.0)), (1, overlap(&[2], &[]))] }];
        let on_lane = part([hit(9, 8.0), overlap(&[], &[])], A, 4, 0);
        let merged = merge(&queries(), &BTreeMap::from([(A, &a), (B, &on_lane)]));
        assert_eq!(seen(&merged), (2, vec![2, 7], 2));
        // The receiver has it, and it has come a little farther since.
        let adopted = part([hit(2, 1.5), overlap(&[2], &[])], A, 5, 0);
        let merged = merge(&queries(), &BTreeMap::from([(A, &a), (B, &adopted)]));
        assert_eq!(seen(&merged), (2, vec![2, 7], 2));
        assert!(matches!(&merged.answers[0], QueryAnswer::Ray(Some(hit)) if hit.distance == 1.5));
        // Nobody can say of a receiver that is missing, and the body is still somewhere.
        assert_eq!(seen(&merge(&queries(), &BTreeMap::from([(A, &a)]))).0, 2);
    }

    #[test]
    fn what_was_forgotten_before_it_arrived_shows() {
        let ahead = part([hit(7, 3.0), overlap(&[], &[])], B, 0, 5);
        let behind = part([hit(9, 8.0), overlap(&[], &[])], A, 4, 0);
        let merged = merge(&queries(), &BTreeMap::from([(A, &ahead), (B, &behind)]));
        assert_eq!(merged.torn, BTreeSet::from([A]));
    }

    #[test]
    fn what_a_sender_does_not_say_is_missing_unless_it_has_arrived() {
        let mut a = part([hit(7, 3.0), overlap(&[], &[])], B, 0, 0);
        a.unsaid = vec![(B, 6)];
        for (mark, torn) in [(5, vec![B]), (6, vec![])] {
            let b = part([hit(9, 8.0), overlap(&[], &[])], A, mark, 0);
            let merged = merge(&queries(), &BTreeMap::from([(A, &a), (B, &b)]));
            assert_eq!(merged.torn, torn.into_iter().collect());
        }
    }

    #[test]
    fn parts_that_answer_something_else_do_not_fit() {
        let good = part([hit(7, 3.0), overlap(&[], &[])], B, 0, 0);
        assert!(fits(&queries(), &good));
        let turned = part([overlap(&[], &[]), hit(7, 3.0)], B, 0, 0);
        let short = Part { answers: vec![hit(7, 3.0)], ..good.clone() };
        let beyond = UnderWay { to: B, sequence: 1, answers: vec![(2, hit(7, 3.0))] };
        let beyond = Part { under_way: vec![beyond], ..good.clone() };
        let other = UnderWay { to: B, sequence: 1, answers: vec![(1, hit(7, 3.0))] };
        let other = Part { under_way: vec![other], ..good };
        assert!(![turned, short, beyond, other].iter().any(|part| fits(&queries(), part)));
    }
}
