//! What processes said of hand-overs on standard error, and what it proves.

use std::collections::{BTreeMap, BTreeSet};

/// A line of `nimbus::handover`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) process: String,
    pub(crate) what: String,
    pub(crate) handover: String,
    pub(crate) region: String,
    pub(crate) epoch: u64,
    pub(crate) peer: String,
    pub(crate) tick: u64,
}

/// All whole lines about hand-overs in what processes said.
pub(crate) fn read(text: &str) -> Vec<Told> {
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).filter_map(line).collect()
}

fn line(line: &str) -> Option<Told> {
    let (head, said) = line.trim_end().split_once(" nimbus::handover: ")?;
    let said: BTreeMap<&str, &str> = said.split(' ').filter_map(|field| field.split_once('=')).collect();
    let field = |name| said.get(name).map(|value| (*value).to_owned());
    Some(Told {
        process: head.rsplit(' ').next()?.to_owned(),
        what: field("what")?,
        handover: field("handover")?,
        region: field("region")?,
        epoch: field("epoch")?.parse().ok()?,
        peer: field("peer")?,
        tick: field("tick")?.parse().ok()?,
    })
}

/// Hand-overs that one process granted, another one adopted and a gateway showed, all between the same two regions.
pub(crate) fn followed(told: &[Told]) -> BTreeSet<&str> {
    let same = |one: &Told, other: &Told| one.handover == other.handover && one.process != other.process;
    let adopted = told.iter().filter(|line| line.what == "adopted").filter(|line| {
        let from = |other: &Told| (&other.region, &other.peer) == (&line.peer, &line.region);
        let to = |other: &Told| (&other.region, &other.peer) == (&line.region, &line.peer);
        told.iter().any(|other| other.what == "granted" && same(other, line) && from(other))
            && told.iter().any(|other| other.what == "shown" && same(other, line) && to(other))
    });
    adopted.map(|line| line.handover.as_str()).collect()
}

/// A region that another server took over, in the next epoch.
pub(crate) struct TakenOver {
    pub(crate) region: String,
    /// The epoch of the former server.
    pub(crate) former: u64,
    /// The last tick of the former server that still counts.
    pub(crate) after: u64,
}

/// What a server granted after the last of its ticks that counts.
pub(crate) fn void_grants<'a>(told: &'a [Told], taken: &TakenOver) -> BTreeSet<&'a str> {
    let is_void = |line: &&Told| {
        line.what == "granted" && (&line.region, line.epoch) == (&taken.region, taken.former) && line.tick > taken.after
    };
    told.iter().filter(is_void).map(|line| line.handover.as_str()).collect()
}

/// Void grants that somebody adopted although whoever took over did not make them again.
pub(crate) fn stale_adopted<'a>(told: &'a [Told], taken: &TakenOver) -> BTreeSet<&'a str> {
    let again = |line: &&Told| line.what == "granted" && line.region == taken.region && line.epoch > taken.former;
    let again: BTreeSet<&str> = told.iter().filter(again).map(|line| line.handover.as_str()).collect();
    let adopted = told.iter().filter(|line| line.what == "adopted" && line.peer == taken.region);
    let adopted: BTreeSet<&str> = adopted.map(|line| line.handover.as_str()).collect();
    void_grants(told, taken).into_iter().filter(|id| adopted.contains(id) && !again.contains(id)).collect()
}

/// Hand-overs that two different regions adopted, or that somebody adopted and nobody granted.
pub(crate) fn impossible(told: &[Told]) -> BTreeSet<&str> {
    let of = |what: &'static str| told.iter().filter(move |line| line.what == what);
    let granted: BTreeSet<(&str, &str)> =
        of("granted").map(|line| (line.handover.as_str(), line.peer.as_str())).collect();
    let refused: BTreeSet<&str> = of("refused").map(|line| line.handover.as_str()).collect();
    // A refusal gives the body back under the next epoch, without a line of its own.
    let returned = |handover: &str| {
        let before = handover.split_once('@').and_then(|(nid, epoch)| Some((nid, epoch.parse::<u32>().ok()?)));
        before.is_some_and(|(nid, epoch)| refused.contains(format!("{nid}@{}", epoch.wrapping_sub(1)).as_str()))
    };
    let mut at: BTreeMap<&str, &str> = BTreeMap::new();
    let odd = of("adopted").filter(|line| {
        let first = at.entry(&line.handover).or_insert(&line.region);
        *first != line.region || !(granted.contains(&(&line.handover, &line.region)) || returned(&line.handover))
    });
    odd.map(|line| line.handover.as_str()).collect()
}
