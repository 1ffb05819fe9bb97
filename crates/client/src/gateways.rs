//! Which gateway to try next, and after what pause.

use nimbus_model::Rng;
use std::time::Duration;

/// Pauses after each round in which no gateway let us in; the last is used from then on.
const BACKOFF: [Duration; 5] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(3),
    Duration::from_secs(5),
];
/// Longest pause before another gateway is tried. Clients that lose the same gateway should not all come at once.
const SPREAD: Duration = Duration::from_millis(100);
/// Only a connection that lasted this long counts as a success.
const LASTING: Duration = Duration::from_secs(3);

/// Gateways that are remembered, and the longest name of one: both may come from outside.
const ADDRESSES_MAX: usize = 64;
const PLACE_BYTES_MAX: usize = 255;

/// Gateways of one world, of which any will do.
#[derive(Clone, Debug)]
pub struct Gateways {
    addresses: Vec<String>,
    at: usize,
    failures: usize,
    rng: Rng,
}

impl Gateways {
    /// These, the first of them first. The seed spreads clients over time; give each its own.
    pub fn new(first: &str, others: &[String], seed: u64) -> Gateways {
        let addresses = std::iter::once(first.to_owned()).chain(others.iter().cloned()).collect();
        Gateways { addresses, at: 0, failures: 0, rng: Rng::new(seed) }
    }

    /// The one to use or to try now.
    pub fn current(&self) -> &str {
        &self.addresses[self.at]
    }

    /// The present gateway told where all of them are, each as `host:port`. It stays the present one. The others are
    /// reached the same way, and one that listens everywhere (`0.0.0.0`) by the same name.
    pub fn learn(&mut self, places: &[String]) {
        let Some((scheme, rest)) = self.current().split_once("://") else { return };
        // Over QUIC there are no paths.
        let usual_path = if scheme == "quic" { "" } else { "/ws" };
        let (own, path) = rest.find('/').map_or((rest, usual_path), |at| rest.split_at(at));
        let own_name = own.rsplit_once(':').map_or(own, |(name, _)| name);
        let reachable = |place: &String| match place.strip_prefix("0.0.0.0:").or(place.strip_prefix("[::]:")) {
            Some(port) => format!("{scheme}://{own_name}:{port}{path}"),
            None => format!("{scheme}://{place}{path}"),
        };
        let sound =
            places.iter().filter(|place| place.len() <= PLACE_BYTES_MAX && !place.contains(['/', '?', '#', '@']));
        let told: Vec<String> = sound.take(ADDRESSES_MAX).map(reachable).collect();
        for address in told {
            if self.addresses.len() < ADDRESSES_MAX && !self.addresses.contains(&address) {
                self.addresses.push(address);
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.addresses.len()
    }

    /// An attempt failed, or a connection ended that had lasted so long. Turns to the next gateway and says how long to
    /// wait before it is tried: hardly at all while there are others, longer and longer once all have failed.
    pub fn next(&mut self, lasted: Option<Duration>) -> Duration {
        if lasted.is_some_and(|lasted| lasted >= LASTING) {
            self.failures = 0;
        }
        self.failures += 1;
        self.at = (self.at + 1) % self.addresses.len();
        let spread = self.rng.unit();
        match (self.failures / self.addresses.len()).checked_sub(1) {
            None => SPREAD.mul_f32(spread),
            // Only the first of a round waits for long.
            Some(_) if !self.failures.is_multiple_of(self.addresses.len()) => SPREAD.mul_f32(spread),
            Some(round) => BACKOFF[round.min(BACKOFF.len() - 1)].mul_f32(0.5 + spread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(gateways: &mut Gateways, count: usize) -> Vec<(String, Duration)> {
        (0..count)
            .map(|_| {
                let pause = gateways.next(None);
                (gateways.current().to_owned(), pause)
            })
            .collect()
    }

    #[test]
    fn another_gateway_is_tried_at_once_and_a_whole_round_waits() {
        let mut gateways = Gateways::new("a", &["b".to_owned()], 1);
        assert_eq!((gateways.current(), gateways.count()), ("a", 2));
        let tried = pauses(&mut gateways, 20);
        assert!(tried[0].0 == "b" && tried[0].1 <= SPREAD, "{tried:?}");
        assert!(tried[1].0 == "a" && tried[1].1 >= BACKOFF[0] / 2, "{tried:?}");
        assert!(tried[2].1 <= SPREAD && tried[3].1 > tried[2].1, "{tried:?}");
        assert!(tried.iter().all(|(_, pause)| *pause <= BACKOFF[4].mul_f32(1.5)), "{tried:?}");
        assert!(tried[19].1 >= BACKOFF[4] / 2);
    }

    #[test]
    fn a_connection_that_lasted_starts_the_pauses_again_and_a_short_one_does_not() {
        let mut gateways = Gateways::new("a", &[], 7);
        pauses(&mut gateways, 6);
        let short = gateways.next(Some(Duration::from_secs(1)));
        assert!(short >= BACKOFF[4] / 2, "{short:?}");
        let lasting = gateways.next(Some(Duration::from_secs(60)));
        assert!(lasting <= BACKOFF[0].mul_f32(1.5), "{lasting:?}");
    }

    #[test]
    fn a_gateway_tells_where_the_others_are() {
        let mut gateways = Gateways::new("ws://one:7777/ws", &[], 1);
        let told = ["one:7777", "two:7777", "0.0.0.0:7778", "[::]:7779", "evil/?x=", "two:7777"].map(str::to_owned);
        gateways.learn(&told);
        assert_eq!(gateways.current(), "ws://one:7777/ws");
        let all = ["ws://one:7777/ws", "ws://two:7777/ws", "ws://one:7778/ws", "ws://one:7779/ws"];
        assert_eq!(gateways.addresses, all);
        let mut native = Gateways::new("ws://one:7777/ws", &["quic://one:7777".to_owned()], 1);
        native.next(None);
        native.learn(&told[..3]);
        let all = ["ws://one:7777/ws", "quic://one:7777", "quic://two:7777", "quic://one:7778"];
        assert_eq!(native.addresses, all, "who came over QUIC stays there");
        let many: Vec<String> = (0..500).map(|port| format!("far:{port}")).collect();
        gateways.learn(&many);
        assert_eq!(gateways.count(), ADDRESSES_MAX);
    }

    #[test]
    fn clients_do_not_come_back_all_at_once() {
        let of = |seed| Gateways::new("a", &[], seed).next(None);
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1));
    }
}
