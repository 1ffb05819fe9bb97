//! Thousands of runs, on as many threads as there are processors. Every run is decided by its setup alone, so the
//! threads change nothing but the time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::judge::{Verdict, judge};
use super::run::Setup;
use crate::experiment::{LabError, Progress};

/// How many of a number of runs went wrong, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) n: u32,
    pub(crate) late: u32,
    /// Of those, runs without thrashing.
    pub(crate) late_steady: u32,
    pub(crate) missed: u32,
    pub(crate) thrashing: u32,
    /// Runs that announced a breach.
    pub(crate) breaches: u32,
    pub(crate) wrong_tick: u32,
    pub(crate) wrong_velocity: u32,
    pub(crate) unannounced: u32,
    /// Bodies, not runs.
    pub(crate) lost: u32,
    /// Bodies, not runs.
    pub(crate) duplicated: u32,
}

impl Tally {
    fn count(&mut self, verdict: &Verdict) {
        self.n += 1;
        self.late += u32::from(verdict.late);
        self.late_steady += u32::from(verdict.late && !verdict.thrashing);
        self.missed += u32::from(verdict.missed);
        self.thrashing += u32::from(verdict.thrashing);
        self.breaches += u32::from(verdict.breach);
        self.wrong_tick += u32::from(verdict.wrong_tick);
        self.wrong_velocity += u32::from(verdict.wrong_velocity);
        self.unannounced += u32::from(verdict.unannounced);
        self.lost += verdict.lost;
        self.duplicated += verdict.duplicated;
    }

    /// Late collisions as the original document counts them, percent: runs with thrashing are left out altogether.
    pub(crate) fn late_percent_of_steady(&self) -> f64 {
        100.0 * f64::from(self.late_steady) / f64::from((self.n - self.thrashing).max(1))
    }

    /// True when every run was as on one server.
    pub(crate) fn is_clean(&self) -> bool {
        *self == Tally { n: self.n, ..Tally::default() }
    }
}

/// Judges every setup of every list and returns one tally per list.
pub(crate) fn run_all(lists: &[Vec<Setup>], progress: &mut Progress<'_>) -> Result<Vec<Tally>, LabError> {
    let jobs: Vec<(usize, &Setup)> =
        lists.iter().enumerate().flat_map(|(list, setups)| setups.iter().map(move |setup| (list, setup))).collect();
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut tallies = vec![Tally::default(); lists.len()];
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads {
            let (sender, next, jobs) = (sender.clone(), &next, &jobs);
            scope.spawn(move || {
                while let Some((list, setup)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Nobody listens any more once a run has failed.
                    if sender.send((*list, judge(setup))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (done, (list, verdict)) in results.iter().enumerate() {
            tallies[list].count(&verdict.map_err(|error| LabError::Failed(error.to_string()))?);
            progress((done + 1) as f32 / jobs.len() as f32);
        }
        Ok(tallies)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_thrashing_do_not_count_among_the_late_ones_of_the_original() {
        let mut tally = Tally::default();
        for (late, thrashing) in [(true, true), (true, false), (false, false), (false, false), (false, true)] {
            tally.count(&Verdict { late, thrashing, ..Verdict::default() });
        }
        assert_eq!((tally.n, tally.late, tally.thrashing), (5, 2, 2));
        assert!((tally.late_percent_of_steady() - 100.0 / 3.0).abs() < 1e-9);
    }
}
