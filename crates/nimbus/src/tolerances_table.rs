//! The `[tolerances]` table of a cluster's file: what processes are held to beside what the world promises.

use anyhow::{Context, bail};
use nimbus::node::AuraConfig;
use nimbus::runtime::SLOWEST_PERMILLE;
use serde::Deserialize;

/// Longest of each time. Regions would have to be far wider for more.
const MS_MAX: f32 = 1_000.0;
/// Least share of real time that the world may be told to slow down to.
const SLOWEST_MIN: f32 = 0.01;
/// Most copies of a frame.
const COPIES_MAX: u8 = 8;

/// A share of real time to which the world may slow down, in thousandths.
pub(crate) fn parse_slowest(share: f32) -> anyhow::Result<u32> {
    if !(SLOWEST_MIN..=1.0).contains(&share) {
        bail!("it is {share}; it must be a share of real time from {SLOWEST_MIN} to 1, and 1 forbids time dilation");
    }
    Ok((share * 1000.0).round() as u32)
}

/// The table as people write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TolerancesEntry {
    compute_ms: Option<f32>,
    skew_ms: Option<f32>,
    store_ms: Option<f32>,
    copies: Option<u8>,
    slowest: Option<f32>,
}

impl TolerancesEntry {
    /// Least share of real time to which the world may slow down, thousandths.
    pub(crate) fn slowest_permille(&self) -> anyhow::Result<u32> {
        self.slowest.map_or(Ok(SLOWEST_PERMILLE), |share| parse_slowest(share).context("`slowest`"))
    }

    /// What the table says of the aura policy.
    pub(crate) fn aura(&self) -> anyhow::Result<AuraConfig> {
        let usual = AuraConfig::PROCESSES;
        let ms = |key: &str, value: Option<f32>, usual: f32| match value {
            None => Ok(usual),
            Some(ms) if (0.0..=MS_MAX).contains(&ms) => Ok(ms),
            Some(ms) => bail!("`{key}` is {ms}; it must be a number from 0 to {MS_MAX} milliseconds"),
        };
        let copies = self.copies.unwrap_or(usual.copies);
        if !(1..=COPIES_MAX).contains(&copies) {
            bail!("`copies` is {copies}; it must be from 1 to {COPIES_MAX}");
        }
        Ok(AuraConfig {
            compute_ms: ms("compute_ms", self.compute_ms, usual.compute_ms)?,
            skew_ms: ms("skew_ms", self.skew_ms, usual.skew_ms)?,
            store_ms: ms("store_ms", self.store_ms, usual.store_ms)?,
            copies,
            ..usual
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aura(text: &str) -> anyhow::Result<AuraConfig> {
        toml::from_str::<TolerancesEntry>(text)?.aura()
    }

    #[test]
    fn what_is_not_said_is_as_usual() {
        assert_eq!(aura("").unwrap(), AuraConfig::PROCESSES);
        let said = AuraConfig { compute_ms: 9.5, skew_ms: 0.0, store_ms: 7.0, copies: 3, ..AuraConfig::PROCESSES };
        assert_eq!(aura("compute_ms = 9.5\nskew_ms = 0\nstore_ms = 7\ncopies = 3").unwrap(), said);
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_value_and_the_limit() {
        for (bad, parts) in [
            ("compute_ms = -1", ["`compute_ms` is -1", "0 to 1000"]),
            ("skew_ms = 1e9", ["`skew_ms` is 1000000000", "0 to 1000"]),
            ("store_ms = nan", ["`store_ms` is NaN", "0 to 1000"]),
            ("copies = 0", ["`copies` is 0", "1 to 8"]),
            ("copies = 9", ["`copies` is 9", "1 to 8"]),
        ] {
            let error = aura(bad).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{bad}: {error}");
        }
        assert!(aura("speed = 3").is_err(), "that is the world's to say");
    }
}
