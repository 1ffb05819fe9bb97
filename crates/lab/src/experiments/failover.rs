//! Processes of a cluster are killed without warning, again and again; every body must be there once afterwards.

use nimbus_control::{Incarnation, Roster};
use nimbus_model::{Nid, RegionId, Rng, Tick};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::cluster_run::{ClusterPlan, ClusterRun, Count, is_possible, pause};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "failover",
    about: "Nodes of a real cluster are killed at random under rain: bodies lost, doubled, time to stepping, rollback.",
    run,
};

/// Longest time from a kill until every region of the node is stepped again, seconds.
const STEPPING_MAX_S: f64 = 1.0;
/// Most ticks that may be undone.
const ROLLBACK_MAX_TICKS: u64 = 6;
const NODES: usize = 4;
/// Births reach gateways once a backup has them; so much later everybody has heard of them.
const UNHEARD_TICKS: u64 = 30;
/// A node that stands still for so long must not lose its regions.
const SHORT_STALL: Duration = Duration::from_millis(200);
/// And after this it must have lost them, and be kept from doing harm.
const LONG_STALL: Duration = Duration::from_secs(5);

/// What one kill did.
struct Kill {
    node: String,
    regions: usize,
    stepping_s: f64,
    rollback_ticks: u64,
    bodies: usize,
    lost: usize,
    doubled: usize,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    if !is_possible() {
        return Err(LabError::Failed("this experiment needs /proc to find the processes that it kills".to_owned()));
    }
    let (kills, bodies, scale) = if options.quick { (5, 400, 0.2) } else { (50, 2_000, 1.0) };
    let plan =
        ClusterPlan { scene: "shower", scale, regions: NODES as u16, nodes: NODES, more: "balance = true".to_owned() };
    let cluster = ClusterRun::start(&plan)?;
    let mut rng = Rng::new(7);
    cluster.until_protected(NODES)?;
    loop {
        let count = cluster.until_counted()?;
        progress(0.2 * count.present.len() as f32 / bodies as f32);
        if count.present.len() >= bodies {
            break;
        }
    }
    let mut done = Vec::new();
    for i in 0..kills {
        done.push(kill_node(&cluster, &mut rng)?);
        progress(0.2 + 0.7 * (i + 1) as f32 / kills as f32);
    }
    let mut rows: Vec<Row> = done.iter().enumerate().map(|(i, kill)| row(i + 1, kill)).collect();
    let stalls = [stall(&cluster, &mut rng, SHORT_STALL)?, stall(&cluster, &mut rng, LONG_STALL)?];
    let calm = ["coordinator-0", "gateway-0"].map(|name| disturb(&cluster, name));
    let [coordinator, gateway] = calm;
    let (coordinator, gateway) = (coordinator?, gateway?);
    let stalls_pass = stalls.iter().all(Stall::passes);
    rows.extend(stalls.iter().map(Stall::row));
    rows.extend([coordinator.1, gateway.1]);
    let (roll_passes, rolled) = roll(&cluster)?;
    rows.extend(rolled);
    let (named, misnamed, loss) = lose(&cluster, &mut rng)?;
    rows.push(loss);
    progress(1.0);

    let lost: usize = done.iter().map(|kill| kill.lost).sum();
    let doubled: usize = done.iter().map(|kill| kill.doubled).sum();
    let longest = done.iter().map(|kill| kill.stepping_s).fold(0.0, f64::max);
    let rollback = done.iter().map(|kill| kill.rollback_ticks).max().unwrap_or(0);
    let passed = lost == 0
        && doubled == 0
        && longest <= STEPPING_MAX_S
        && rollback <= ROLLBACK_MAX_TICKS
        && stalls_pass
        && roll_passes
        && misnamed == 0
        && coordinator.0
        && gateway.0;
    let undisturbed = |calm: bool| if calm { "disturbed no body" } else { "DISTURBED BODIES" };
    let points = |value: fn(&Kill) -> f64| done.iter().enumerate().map(|(i, k)| [(i + 1) as f64, value(k)]).collect();
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("kills", kills)
            .with("nodes", NODES)
            .with("bodies", bodies)
            .with("partitions", cluster.roster().map_or(0, |roster| roster.map.epoch()))
            .with("stepping_max_s", STEPPING_MAX_S)
            .with("rollback_max_ticks", ROLLBACK_MAX_TICKS),
        rows,
        plots: vec![
            Plot::lines("stepping", "From the kill to stepping again", "kill", "seconds")
                .with(Series::new("all regions of the node", points(|kill| kill.stepping_s)))
                .with_level("at most", STEPPING_MAX_S),
            Plot::lines("rollback", "Ticks undone", "kill", "ticks")
                .with(Series::new("worst region of the node", points(|kill| kill.rollback_ticks as f64)))
                .with_level("at most", ROLLBACK_MAX_TICKS as f64),
        ],
        summary: Summary {
            passed,
            sentence: format!(
                "{kills} kills with {} bodies at the end: {lost} lost, {doubled} doubled; stepping again after {longest:.3} s \
                 at most (bar {STEPPING_MAX_S} s), {rollback} ticks undone at most (bar {ROLLBACK_MAX_TICKS}). A node that \
                 stood still for {} ms: {} regions changed server; for {} ms: {} of {}, and {} frames of the former \
                 servers were turned away. Killing the coordinator {}, killing the gateway {}. \
                 Restarting every process in turn {}. When a server and its backup were killed together, {named} lost ids \
                 were named, {misnamed} wrongly or not at all.",
                done.last().map_or(0, |kill| kill.bodies),
                stalls[0].time.as_millis(),
                stalls[0].moved,
                stalls[1].time.as_millis(),
                stalls[1].moved,
                stalls[1].regions,
                stalls[1].rejected,
                undisturbed(coordinator.0),
                undisturbed(gateway.0),
                if roll_passes { "lost nothing" } else { "LOST OR DOUBLED BODIES" },
            ),
        },
    })
}

/// What every row has.
struct Found {
    regions: usize,
    moved: usize,
    bodies: usize,
    lost: usize,
    doubled: usize,
}

impl Found {
    fn row(&self, what: impl Into<Value>, process: &str) -> Row {
        Row::new()
            .with("what", what)
            .with("process", process)
            .with("its_regions", self.regions)
            .with("changed_server", self.moved)
            .with("bodies", self.bodies)
            .with("lost", self.lost)
            .with("doubled", self.doubled)
    }
}

fn row(number: usize, kill: &Kill) -> Row {
    let Kill { regions, bodies, lost, doubled, .. } = *kill;
    Found { regions, moved: regions, bodies, lost, doubled }
        .row(format!("kill {number}"), &kill.node)
        .with("rejected", Value::Null)
        .with("stepping_s", kill.stepping_s)
        .with("undone_ticks", kill.rollback_ticks)
}

/// Kills a random node that serves something, once everything is protected, and sees what becomes of it.
fn kill_node(cluster: &ClusterRun, rng: &mut Rng) -> Result<Kill, LabError> {
    let before = cluster.until_protected(NODES)?;
    let (victim, name) = pick(&before, rng);
    let its: Vec<(RegionId, u32)> =
        before.held().filter(|(_, r)| r.server == victim).map(|(id, region)| (id, region.epoch)).collect();
    let killed_us = cluster.signal(&name, "KILL")?;
    let last = before.timeline.as_ref().and_then(|timeline| timeline.tick_at(killed_us)).unwrap_or(Tick(0));
    let begun: Vec<(Tick, u64)> = cluster.until("the killed node's regions to be stepped again", || {
        let regions = cluster.regions();
        its.iter()
            .map(|(id, epoch)| {
                let next = regions.iter().find(|region| region.region == *id && region.epoch > *epoch)?;
                next.began_after.zip(next.began_us)
            })
            .collect()
    })?;
    let stepping_us = begun.iter().map(|(_, us)| us.saturating_sub(killed_us)).max().unwrap_or(0);
    let rollback_ticks = begun.iter().map(|(after, _)| last.since(*after)).max().unwrap_or(0);
    let (count, lost, doubled) = audit(cluster)?;
    Ok(Kill {
        node: name,
        regions: its.len(),
        stepping_s: stepping_us as f64 / 1e6,
        rollback_ticks,
        bodies: count.present.len(),
        lost,
        doubled,
    })
}

/// What happened while a node stood still.
struct Stall {
    node: String,
    time: Duration,
    regions: usize,
    /// Regions that changed server, once each.
    moved: usize,
    /// Regions that changed server although they were not this node's, or more than once.
    astray: usize,
    rejected: u64,
    bodies: usize,
    lost: usize,
    doubled: usize,
}

impl Stall {
    /// A short one moves nothing; after a long one every region has moved once, and the former servers were heard in vain.
    fn passes(&self) -> bool {
        let moved =
            if self.time < LONG_STALL { self.moved == 0 } else { self.moved == self.regions && self.rejected > 0 };
        moved && self.astray == 0 && self.lost == 0 && self.doubled == 0
    }

    fn row(&self) -> Row {
        let what = format!("stop {} ms", self.time.as_millis());
        let found = Found {
            regions: self.regions,
            moved: self.moved,
            bodies: self.bodies,
            lost: self.lost,
            doubled: self.doubled,
        };
        found.row(what, &self.node).with("rejected", self.rejected)
    }
}

/// Lets a node stand still for a while, and go on.
fn stall(cluster: &ClusterRun, rng: &mut Rng, time: Duration) -> Result<Stall, LabError> {
    let before = cluster.until_protected(NODES)?;
    let (victim, node) = pick(&before, rng);
    let rejected = |cluster: &ClusterRun| -> u64 {
        let others = before.members().filter(|(number, member)| *number != victim && member.name.starts_with("node"));
        others
            .filter_map(|(_, member)| cluster.node(&member.name))
            .map(|facts| facts.misplaced_frames + facts.refused_connections)
            .sum()
    };
    let rejected_before = rejected(cluster);
    cluster.signal(&node, "STOP")?;
    pause(time);
    cluster.signal(&node, "CONT")?;
    // Long enough for a failure to be noticed that was none, and for what was said too late to arrive.
    pause(Duration::from_secs(2));
    let after = cluster.until_protected(NODES)?;
    let (count, lost, doubled) = audit(cluster)?;
    let mut stall = Stall {
        node,
        time,
        regions: before.held().filter(|(_, region)| region.server == victim).count(),
        moved: 0,
        astray: 0,
        rejected: rejected(cluster).saturating_sub(rejected_before),
        bodies: count.present.len(),
        lost,
        doubled,
    };
    for (id, region) in after.held() {
        let former = before.regions.get(&id).map(|former| (former.server, former.epoch));
        match former {
            Some((_, epoch)) if epoch == region.epoch => {}
            Some((server, epoch)) if server == victim && region.epoch == epoch + 1 => stall.moved += 1,
            _ => stall.astray += 1,
        }
    }
    Ok(stall)
}

/// A random node that serves something.
fn pick(roster: &Roster, rng: &mut Rng) -> (Incarnation, String) {
    let serving: BTreeSet<Incarnation> = roster.held().map(|(_, region)| region.server).collect();
    let serving: Vec<Incarnation> = serving.into_iter().collect();
    let victim = serving[rng.below(serving.len() as u64) as usize];
    (victim, roster.member(victim).map(|member| member.name.clone()).unwrap_or_default())
}

/// Counts all bodies at one tick: how many of those that were born are missing, and how many are there twice.
fn audit(cluster: &ClusterRun) -> Result<(Count, usize, usize), LabError> {
    let count = cluster.until_counted()?;
    let lost = cluster.born(count.tick).difference(&count.present).count();
    let doubled = count.doubled.len();
    Ok((count, lost, doubled))
}

/// Asks every process in turn to end, as one does to change the release: each is started again.
fn roll(cluster: &ClusterRun) -> Result<(bool, Vec<Row>), LabError> {
    let mut rows = Vec::new();
    let mut passes = true;
    let mut names: Vec<String> = (0..NODES).map(|i| format!("node-{i}")).collect();
    names.extend(["gateway-0".to_owned(), "coordinator-0".to_owned()]);
    for name in names {
        let before = cluster.until_protected(NODES)?;
        let lost_ticks = lost_ticks(cluster);
        cluster.signal(&name, "TERM")?;
        wait_for_successor(cluster, &name, &before)?;
        cluster.until_protected(NODES)?;
        let (count, lost, doubled) = audit(cluster)?;
        let skipped = lost_ticks_since(cluster, &lost_ticks);
        passes &= lost == 0 && doubled == 0;
        let its =
            before.held().filter(|(_, region)| before.member(region.server).is_some_and(|m| m.name == name)).count();
        let found = Found { regions: its, moved: its, bodies: count.present.len(), lost, doubled };
        rows.push(found.row("restart", &name).with("skipped_ticks", skipped));
    }
    Ok((passes, rows))
}

/// Ticks that each life of a region has skipped.
fn lost_ticks(cluster: &ClusterRun) -> BTreeMap<(RegionId, u32), u64> {
    cluster.regions().iter().map(|region| ((region.region, region.epoch), region.lost_ticks)).collect()
}

fn lost_ticks_since(cluster: &ClusterRun, before: &BTreeMap<(RegionId, u32), u64>) -> u64 {
    let former: BTreeMap<RegionId, u64> = before.iter().map(|((region, _), ticks)| (*region, *ticks)).collect();
    let now = lost_ticks(cluster);
    now.iter()
        .map(|((region, _), ticks)| ticks.saturating_sub(former.get(region).copied().unwrap_or(0)))
        .max()
        .unwrap_or(0)
}

/// Kills the server and the backup of a region together. What is lost then, the gateway's knowledge and a census of the
/// living must name exactly: as many as named, as many that were named wrongly or not at all.
fn lose(cluster: &ClusterRun, rng: &mut Rng) -> Result<(usize, usize, Row), LabError> {
    let before = cluster.until_protected(NODES)?;
    // Everybody has been told of everybody.
    cluster.until_counted()?;
    let (victim, name) = pick(&before, rng);
    let backup = before.held().find(|(_, region)| region.server == victim).and_then(|(_, region)| region.backup);
    let other = backup.and_then(|seat| before.member(seat.process)).map(|member| member.name.clone());
    let other = other.ok_or_else(|| LabError::Failed("a region had no backup".to_owned()))?;
    let killed_us = cluster.signal(&name, "KILL")?;
    cluster.signal(&other, "KILL")?;
    let lost = cluster.until("the coordinator to say what is lost", || {
        let roster = cluster.roster()?;
        roster.regions.values().any(|region| region.lost.is_some()).then_some(roster)
    })?;
    let known = cluster.bodies()?;
    let count = cluster.until_counted()?;
    let still_known = cluster.bodies()?;
    let named: BTreeSet<Nid> =
        known.intersection(&still_known).filter(|nid| !count.present.contains(nid)).copied().collect();
    // A region that is lost bears nobody any more, so what was born before counts.
    let last = before.timeline.as_ref().and_then(|timeline| timeline.tick_at(killed_us)).unwrap_or(Tick(0));
    let gone: BTreeSet<Nid> = cluster.born(last).difference(&count.present).copied().collect();
    // Who came into being just before, and of whom nobody else had heard, cannot be named by anybody.
    let newborn: BTreeSet<Nid> = cluster.born(last).difference(&cluster.born(last - UNHEARD_TICKS)).copied().collect();
    let unheard = gone.difference(&named).filter(|nid| newborn.contains(nid)).count();
    let misnamed = named.symmetric_difference(&gone).count() - unheard;
    let regions = lost.regions.values().filter(|region| region.lost.is_some()).count();
    let found =
        Found { regions, moved: 0, bodies: count.present.len(), lost: gone.len(), doubled: count.doubled.len() };
    let row = found
        .row("kill both", &format!("{name}, {other}"))
        .with("named", named.len())
        .with("misnamed", misnamed)
        .with("unheard", unheard);
    Ok((named.len(), misnamed, row))
}

/// Waits until a process that was ended is back.
fn wait_for_successor(cluster: &ClusterRun, name: &str, before: &Roster) -> Result<Roster, LabError> {
    cluster.until("the process to be back", || {
        let roster = cluster.roster()?;
        let back = roster.members().any(|(number, member)| member.name == name && before.member(number).is_none());
        (back || name.starts_with("coordinator") && roster.term > before.term).then_some(roster)
    })
}

/// Kills a process that serves no region: no region may change its server, and no body its place.
fn disturb(cluster: &ClusterRun, name: &str) -> Result<(bool, Row), LabError> {
    let before = cluster.until_protected(NODES)?;
    let former = cluster.until_counted()?;
    let skipped = |cluster: &ClusterRun| cluster.regions().iter().map(|region| region.epoch).sum::<u32>();
    let epochs = skipped(cluster);
    cluster.signal(name, "KILL")?;
    let after = wait_for_successor(cluster, name, &before)?;
    let (count, lost, doubled) = audit(cluster)?;
    let same = epochs_of(&before) == epochs_of(&after) && skipped(cluster) == epochs;
    let calm = same && lost == 0 && doubled == 0 && count.tick > former.tick;
    let moved = usize::from(!same);
    let row = Found { regions: 0, moved, bodies: count.present.len(), lost, doubled }.row("kill", name);
    Ok((calm, row))
}

fn epochs_of(roster: &Roster) -> Vec<(RegionId, u32)> {
    roster.held().map(|(id, region)| (id, region.epoch)).collect()
}
