//! When to believe that no gateway will ever let us in.

use std::collections::BTreeMap;

use crate::connect_error::ConnectError;

/// So many times a gateway refuses us before those that do not answer are given up. The pauses between come to about six
/// seconds, in which a gateway that is being started anew is there again.
const REFUSALS_MAX: u32 = 4;

/// Gateways that will not have us, since one did or said otherwise.
///
/// It is over at once when every gateway has refused us. Those that cannot be reached are waited for a while: each has its own
/// memory of which tokens were used, so one may take what another refuses. But not for ever, because the one gateway that lives
/// would be asked in vain from then on, and the program that could get a new token would not hear of it.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_gateway: BTreeMap<String, u32>,
}

impl Refusals {
    /// An attempt at one of so many gateways failed. True when no other will do better.
    pub(crate) fn are_final(&mut self, gateway: &str, error: &ConnectError, gateways: usize) -> bool {
        match error {
            ConnectError::Refused { .. } if error.is_final() => {
                let count = self.by_gateway.entry(gateway.to_owned()).or_default();
                *count += 1;
                *count >= REFUSALS_MAX || self.by_gateway.len() >= gateways
            }
            // Full, or of another version: that passes.
            ConnectError::Refused { .. } => {
                self.by_gateway.clear();
                false
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16) -> ConnectError {
        ConnectError::refused("any", status, b"no")
    }

    #[test]
    fn refused_by_all_is_refused() {
        let mut refusals = Refusals::default();
        assert!(!refusals.are_final("a", &refused(403), 2) && refusals.are_final("b", &refused(401), 2));
        assert!(Refusals::default().are_final("a", &refused(403), 1));
    }

    #[test]
    fn who_cannot_be_reached_is_waited_for_but_not_for_ever() {
        let mut refusals = Refusals::default();
        let away = ConnectError::unreachable("b", "nobody is there");
        let rounds = (1..100).find(|_| {
            let is_over = refusals.are_final("a", &refused(403), 2);
            assert!(!refusals.are_final("b", &away, 2));
            is_over
        });
        assert_eq!(rounds, Some(REFUSALS_MAX));
    }

    #[test]
    fn a_gateway_that_is_full_may_let_us_in_later() {
        let mut refusals = Refusals::default();
        for _ in 0..100 {
            assert!(!refusals.are_final("a", &refused(403), 2) && !refusals.are_final("b", &refused(503), 2));
        }
    }
}
