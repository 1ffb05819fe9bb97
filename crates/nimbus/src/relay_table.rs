//! The `[relay]` table of a cluster's file.

use anyhow::{Context, bail};
use nimbus::runtime::cluster::Place;
use nimbus::runtime::mesh::ProcessName;
use nimbus::runtime::relay::{Conditions, Cut, FrontConfig, Impairment, RelayConfig};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest delay and longest jitter. A connection is broken after less silence than this.
const DELAY_MS_MAX: f64 = 10_000.0;
/// The latest second of a planned cut.
const SECOND_MAX: f64 = 1e9;

/// The table as people write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelayEntry {
    #[serde(default = "default_seed")]
    seed: u64,
    #[serde(default)]
    delay_ms: f64,
    #[serde(default)]
    jitter_ms: f64,
    #[serde(default)]
    loss: f64,
    #[serde(default)]
    duplicate: f64,
    #[serde(default)]
    reorder: f64,
    #[serde(default)]
    cut: Vec<CutEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CutEntry {
    process: String,
    from_s: f64,
    until_s: f64,
}

fn default_seed() -> u64 {
    1
}

/// What the relay is to do for these processes; none when the file has no relay.
pub(crate) fn relay(
    entry: Option<RelayEntry>,
    places: &BTreeMap<ProcessName, Place>,
) -> anyhow::Result<Option<RelayConfig>> {
    let behind: Vec<(&ProcessName, &Place)> = places.iter().filter(|(_, place)| place.relayed.is_some()).collect();
    let entry = match (entry, behind.first()) {
        (None, None) => return Ok(None),
        (Some(entry), Some(_)) => entry,
        (None, Some((name, _))) => {
            bail!("`{name}` has `relayed`, but there is no [relay]; add the table, or leave `relayed` out")
        }
        (Some(_), None) => bail!("[relay] has nothing to do; give processes `relayed`, the address that others dial"),
    };
    let mut cuts = Vec::new();
    for CutEntry { process, from_s, until_s } in &entry.cut {
        let process = ProcessName::new(process)?;
        if !places.contains_key(&process) {
            bail!("[[relay.cut]]: there is no process called `{process}`");
        }
        let second = |key: &str, value: f64| number(key, value, SECOND_MAX).map(Duration::from_secs_f64);
        let (from, until) = (second("from_s", *from_s)?, second("until_s", *until_s)?);
        cuts.push(Cut { process, from, until });
    }
    let millis = |key: &str, value: f64| anyhow::Ok(Duration::from_secs_f64(number(key, value, DELAY_MS_MAX)? / 1e3));
    let impairment = Impairment {
        seed: entry.seed,
        delay: millis("delay_ms", entry.delay_ms)?,
        jitter: millis("jitter_ms", entry.jitter_ms)?,
        loss: number("loss", entry.loss, 1.0)?,
        duplicate: number("duplicate", entry.duplicate, 1.0)?,
        reorder: number("reorder", entry.reorder, 1.0)?,
    };
    let fronts = behind.iter().filter_map(|(name, place)| {
        Some(FrontConfig { name: (*name).clone(), listen: place.relayed?, process: place.address })
    });
    Ok(Some(RelayConfig {
        fronts: fronts.collect(),
        known: places.iter().map(|(name, place)| (place.address, name.clone())).collect(),
        conditions: Conditions::new(impairment, cuts).context("[[relay.cut]]")?,
    }))
}

fn number(key: &str, value: f64, most: f64) -> anyhow::Result<f64> {
    if (0.0..=most).contains(&value) {
        return Ok(value);
    }
    bail!("`{key}` is {value}; it must be a number from 0 to {most}")
}
