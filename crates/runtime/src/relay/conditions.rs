//! What becomes of a packet: a function of the seed, the way, the packet's number on it, and the time.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::mesh::ProcessName;

/// How much later than the others a packet comes that is overtaken. Longer than what QUIC waits for a straggler on a
/// fast network, so that it matters.
pub const HELD_BACK: Duration = Duration::from_millis(5);

/// Most cuts that are known at once; more are refused.
pub const CUTS_MAX: usize = 256;

/// What the network between processes is like while it works. The default is a perfect one.
#[derive(Clone, Debug, PartialEq)]
pub struct Impairment {
    /// Decides every random choice.
    pub seed: u64,
    /// Every packet takes at least this long.
    pub delay: Duration,
    /// And up to this much longer, without overtaking others.
    pub jitter: Duration,
    /// The share of packets that never arrive.
    pub loss: f64,
    /// The share of packets that arrive twice.
    pub duplicate: f64,
    /// The share of packets that come [`HELD_BACK`] later, after those that were sent after them.
    pub reorder: f64,
}

/// A process that neither hears others nor is heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The process.
    pub process: ProcessName,
    /// From this time of the relay on.
    pub from: Duration,
    /// Until this one.
    pub until: Duration,
}

/// One direction between two ends. An end that no process is known to have has its address as a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Who sends.
    pub from: String,
    /// Who should hear it.
    pub to: String,
}

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// One of the ends is cut off.
    Cut,
    /// It is lost.
    Lost,
    /// It arrives.
    Arrives {
        /// After this time.
        after: Duration,
        /// Those that were sent later may arrive sooner.
        overtaken: bool,
        /// And once more after this time, wherever that is among the others.
        again: Option<Duration>,
    },
}

/// What the network is like, and who is cut off when.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    impairment: Impairment,
    cuts: Vec<Cut>,
}

/// There are more cuts already than anybody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {CUTS_MAX} cuts already; heal first")]
pub struct TooManyCuts;

impl Default for Impairment {
    fn default() -> Impairment {
        Impairment { seed: 1, delay: Duration::ZERO, jitter: Duration::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 }
    }
}

impl Conditions {
    /// A network, and the cuts that are planned.
    pub fn new(impairment: Impairment, cuts: Vec<Cut>) -> Result<Conditions, TooManyCuts> {
        if cuts.len() > CUTS_MAX {
            return Err(TooManyCuts);
        }
        Ok(Conditions { impairment, cuts })
    }

    /// What becomes of the packet with this number on its way, if it is sent now.
    pub fn fate(&self, way: &Way, number: u64, now: Duration) -> Fate {
        let cut = |name: &String| self.cuts.iter().any(|cut| cut.process.as_str() == name && cut.holds(now));
        if cut(&way.from) || cut(&way.to) {
            return Fate::Cut;
        }
        let Impairment { seed, delay, jitter, loss, duplicate, reorder } = self.impairment;
        let mut draw = Draw::new(seed, way, number);
        // All are drawn, whatever becomes of the packet, so that one setting does not change what another one does.
        let [is_lost, is_doubled, is_overtaken] = [loss, duplicate, reorder].map(|share| draw.next() < share);
        let [first, second] = [(); 2].map(|()| delay + jitter.mul_f64(draw.next()));
        if is_lost {
            return Fate::Lost;
        }
        let after = if is_overtaken { first + HELD_BACK } else { first };
        Fate::Arrives { after, overtaken: is_overtaken, again: is_doubled.then_some(second) }
    }

    /// Cuts a process off from now on.
    pub fn cut(&mut self, process: ProcessName, now: Duration, time: Duration) -> Result<(), TooManyCuts> {
        self.cuts.retain(|cut| cut.until > now);
        if self.cuts.len() >= CUTS_MAX {
            return Err(TooManyCuts);
        }
        self.cuts.push(Cut { process, from: now, until: now.saturating_add(time) });
        Ok(())
    }

    /// Ends every cut that holds now. Those that are planned for later stay.
    pub fn heal(&mut self, now: Duration) {
        self.cuts.retain(|cut| cut.from > now);
    }

    /// Who is cut off.
    pub fn cut_off(&self, now: Duration) -> BTreeSet<ProcessName> {
        self.cuts.iter().filter(|cut| cut.holds(now)).map(|cut| cut.process.clone()).collect()
    }
}

impl Cut {
    fn holds(&self, now: Duration) -> bool {
        (self.from..self.until).contains(&now)
    }
}

/// Numbers between 0 and 1 that follow from the seed, the way and the packet (SplitMix64).
struct Draw(u64);

impl Draw {
    fn new(seed: u64, way: &Way, number: u64) -> Draw {
        // FNV-1a, with an end mark after each name.
        let names = way.from.bytes().chain([0xff]).chain(way.to.bytes()).chain([0xff]);
        let hash = names.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Draw(mixed(mixed(seed) ^ hash) ^ mixed(number))
    }

    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mixed(self.0) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const PACKETS: u64 = 100_000;

    fn way(from: &str, to: &str) -> Way {
        Way { from: from.to_owned(), to: to.to_owned() }
    }

    fn bad() -> Impairment {
        Impairment { seed: 7, delay: 2 * MS, jitter: MS, loss: 0.01, duplicate: 0.02, reorder: 0.03 }
    }

    fn fates(impairment: Impairment, way: &Way) -> Vec<Fate> {
        let conditions = Conditions::new(impairment, Vec::new()).unwrap();
        (0..PACKETS).map(|number| conditions.fate(way, number, Duration::ZERO)).collect()
    }

    fn share(fates: &[Fate], is: impl Fn(&Fate) -> bool) -> f64 {
        fates.iter().filter(|fate| is(fate)).count() as f64 / fates.len() as f64
    }

    #[test]
    fn relay_fates_are_as_often_as_they_should_be() {
        let fates = fates(bad(), &way("node-0", "node-1"));
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.1 * wanted, "{found} for {wanted}");
        near(share(&fates, |fate| *fate == Fate::Lost), 0.01);
        near(share(&fates, |fate| matches!(fate, Fate::Arrives { again: Some(_), .. })), 0.02 * 0.99);
        near(share(&fates, |fate| matches!(fate, Fate::Arrives { overtaken: true, .. })), 0.03 * 0.99);
        let mut sum = Duration::ZERO;
        let mut in_order = 0;
        for fate in fates {
            if let Fate::Arrives { after, overtaken, again } = fate {
                let held_back = if overtaken { HELD_BACK } else { Duration::ZERO };
                assert!((2 * MS..3 * MS).contains(&(after - held_back)), "{after:?}");
                assert!(again.is_none_or(|again| (2 * MS..3 * MS).contains(&again)), "{again:?}");
                sum += after - held_back;
                in_order += 1;
            }
        }
        near((sum / in_order).as_secs_f64(), 0.0025);
    }

    #[test]
    fn relay_fates_follow_from_seed_way_and_number() {
        let there = way("node-0", "node-1");
        assert_eq!(fates(bad(), &there), fates(bad(), &there));
        assert_ne!(fates(bad(), &there), fates(Impairment { seed: 8, ..bad() }, &there));
        assert_ne!(fates(bad(), &there), fates(bad(), &way("node-1", "node-0")));
        assert_ne!(fates(bad(), &there), fates(bad(), &way("node-01", "node-")));
        // More loss loses more, and does to the others what was done to them before.
        let more = fates(Impairment { loss: 0.5, ..bad() }, &there);
        assert!(fates(bad(), &there).iter().zip(&more).all(|(less, more)| less == more || *more == Fate::Lost));
    }

    #[test]
    fn relay_at_rest_passes_everything_at_once() {
        let arrives = Fate::Arrives { after: Duration::ZERO, overtaken: false, again: None };
        assert!(fates(Impairment::default(), &way("a", "b")).iter().all(|fate| *fate == arrives));
    }

    #[test]
    fn relay_cuts_both_ways_for_as_long_as_told() {
        let name = |name: &str| ProcessName::new(name).unwrap();
        let planned = Cut { process: name("node-2"), from: 10 * MS, until: 20 * MS };
        let mut conditions = Conditions::new(Impairment::default(), vec![planned]).unwrap();
        let is_cut = |conditions: &Conditions, from: &str, to: &str, at: u32| {
            conditions.fate(&way(from, to), 0, at * MS) == Fate::Cut
        };
        for (at, cut) in [(9, false), (10, true), (19, true), (20, false)] {
            assert_eq!(is_cut(&conditions, "node-2", "node-0", at), cut, "{at}");
            assert_eq!(is_cut(&conditions, "node-0", "node-2", at), cut, "{at}");
            assert!(!is_cut(&conditions, "node-0", "node-1", at));
        }
        conditions.cut(name("node-0"), MS, 5 * MS).unwrap();
        assert!(is_cut(&conditions, "node-1", "node-0", 5) && !is_cut(&conditions, "node-1", "node-0", 6));
        assert_eq!(conditions.cut_off(5 * MS), BTreeSet::from([name("node-0")]));
        conditions.heal(2 * MS);
        assert!(!is_cut(&conditions, "node-1", "node-0", 5), "healed");
        assert!(is_cut(&conditions, "node-1", "node-2", 15), "what is planned stays");
    }

    #[test]
    fn relay_cuts_are_bounded() {
        let mut conditions = Conditions::new(Impairment::default(), Vec::new()).unwrap();
        let mut cut = |at: u32| conditions.cut(ProcessName::new("node-0").unwrap(), at * MS, 10 * MS);
        assert!((0..CUTS_MAX).all(|_| cut(0).is_ok()));
        assert_eq!(cut(0), Err(TooManyCuts));
        assert_eq!(cut(10), Ok(()), "those that are over make room");
    }
}
