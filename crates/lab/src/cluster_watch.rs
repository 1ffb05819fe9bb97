//! What an experiment reads off a cluster while it runs: how long every tick took, totals of its metrics, what its
//! processes take of the machine.

use nimbus_model::{RegionId, Tick};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::cluster_run::{ClusterRun, pause};
use crate::experiment::LabError;

/// Nodes remember five seconds of ticks; asking this often misses none.
const ASK_EVERY: Duration = Duration::from_millis(1_000);

#[derive(Deserialize)]
struct TicksOf {
    region: RegionId,
    ticks: Vec<[u64; 3]>,
}

/// Every tick of some seconds, by region.
#[derive(Clone, Debug, Default)]
pub(crate) struct TickTimes(BTreeMap<RegionId, BTreeMap<Tick, Duration>>);

impl TickTimes {
    /// The time that a share of the ticks of the slowest region did not exceed, milliseconds.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        self.0.values().map(|ticks| quantile_ms(ticks.values().copied().collect(), share)).fold(0.0, f64::max)
    }

    /// Ticks of the region that ran fewest.
    pub(crate) fn ticks(&self) -> usize {
        self.0.values().map(BTreeMap::len).min().unwrap_or(0)
    }
}

/// The value that a share of times did not exceed, milliseconds.
pub(crate) fn quantile_ms(mut times: Vec<Duration>, share: f64) -> f64 {
    times.sort_unstable();
    let at = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len().max(1)) - 1;
    times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

impl ClusterRun {
    /// Lets some seconds pass and keeps how long every tick of every region took. `passed` is told how far it is.
    pub(crate) fn watch_ticks(&self, seconds: u64, mut passed: impl FnMut(f32)) -> TickTimes {
        let mut times = TickTimes::default();
        let mut newest: BTreeMap<String, u64> = BTreeMap::new();
        for second in 0..=seconds {
            for name in self.nodes() {
                let known = newest.get(name).copied();
                let path = format!("/api/ticks?after={}", known.unwrap_or(0));
                let Some(answer) = self.ask::<Vec<TicksOf>>(name, &path) else { continue };
                let last = answer.iter().flat_map(|of| of.ticks.iter().map(|[tick, ..]| *tick)).max();
                newest.insert(name.to_owned(), last.or(known).unwrap_or(0));
                // What comes with the first answer was before.
                if known.is_some() {
                    for of in answer {
                        let known = times.0.entry(of.region).or_default();
                        known.extend(of.ticks.iter().map(|[tick, _, us]| (Tick(*tick), Duration::from_micros(*us))));
                    }
                }
            }
            passed(second as f32 / seconds as f32);
            if second < seconds {
                pause(ASK_EVERY);
            }
        }
        times
    }

    /// By how much a tick took longer than half of those around it, at the server where that was most, milliseconds.
    pub(crate) fn longest_tick_above_median(&self, at: Tick) -> f64 {
        let path = format!("/api/ticks?after={}", at.0.saturating_sub(30));
        let answers = self.nodes().filter_map(|name| self.ask::<Vec<TicksOf>>(name, &path)).flatten();
        let above = answers.map(|of| {
            let times = of.ticks.iter().map(|[_, _, us]| Duration::from_micros(*us)).collect();
            let its = of.ticks.iter().find(|[tick, ..]| *tick == at.0).map_or(0, |[_, _, us]| *us);
            its as f64 / 1e3 - quantile_ms(times, 0.5)
        });
        above.fold(0.0, f64::max)
    }

    /// The sum of a metric of a process over the samples whose labels contain some text.
    pub(crate) fn metric(&self, process: &str, name: &str, labels: &str) -> f64 {
        let text = self.text(process, "/metrics").unwrap_or_default();
        sum_of(&text, name, labels)
    }

    /// Has a node give bodies of a region to another at every tick; none ends it.
    pub(crate) fn ferry(&self, node: &str, region: u16, to: u16, bodies: u16) -> Result<(), LabError> {
        let path = format!("/api/ferry?region={region}&to={to}&bodies={bodies}");
        let taken = self.ask::<bool>(node, &path) == Some(true);
        taken.then_some(()).ok_or_else(|| LabError::Failed(format!("{node} does not give bodies away")))
    }

    /// Waits until every region runs, whether or not it has a backup.
    pub(crate) fn until_running(&self, regions: usize) -> Result<(), LabError> {
        self.until("every region to run", || {
            let running = self.regions();
            (running.len() == regions && running.iter().all(|region| region.tick > Tick(30))).then_some(())
        })
    }
}

/// Processes that wanted to run on this machine in the last minute, as the system says; zero where it says nothing.
pub(crate) fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

/// What a process takes of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Memory that is really there, kilobytes.
    pub(crate) resident_kb: u64,
    /// Files and sockets that it has open.
    pub(crate) files: u64,
    /// CPU time that it has used, in itself and in the kernel.
    pub(crate) cpu: Duration,
}

impl ClusterRun {
    /// What a process takes; none when it is not there.
    pub(crate) fn footprint(&self, name: &str) -> Option<Footprint> {
        let pid = self.pid(name)?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let resident_kb =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok())?;
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
        // Ahead of the numbers is a name in brackets, in which there may be anything.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut numbers = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut hundredths = || numbers.next()?.parse::<u64>().ok();
        let cpu = Duration::from_millis(10 * (hundredths()? + hundredths()?));
        Some(Footprint { resident_kb, files, cpu })
    }
}

fn sum_of(text: &str, name: &str, labels: &str) -> f64 {
    let samples = text.lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
    let wanted = samples.filter(|(of, _)| (of.is_empty() || of.starts_with('{')) && of.contains(labels));
    wanted.filter_map(|(_, value)| value.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_summed_by_name_and_label() {
        let text = "# HELP a_total x\na_total{peer=\"one\"} 3\na_total{peer=\"two\"} 4\na_total_more 9\na 1\n";
        assert_eq!(sum_of(text, "a_total", ""), 7.0);
        assert_eq!(sum_of(text, "a_total", "two"), 4.0);
        assert_eq!(sum_of(text, "a", ""), 1.0);
        assert_eq!(sum_of(text, "b", ""), 0.0);
    }

    #[test]
    fn the_slowest_region_counts() {
        let ticks =
            |ms: u64| (1..=200).map(|t| (Tick(t), Duration::from_millis(if t > 196 { ms } else { 1 }))).collect();
        let times = TickTimes(BTreeMap::from([(RegionId(0), ticks(5)), (RegionId(1), ticks(9))]));
        assert_eq!((times.quantile_ms(0.99), times.quantile_ms(0.98), times.ticks()), (9.0, 1.0, 200));
        assert_eq!(TickTimes::default().quantile_ms(0.99), 0.0);
    }
}
