//! Where the messages of a client go that are no commands, until the gateway hears of them together.
//!
//! The gateway looks at what clients say once a tick, one thing after the other. Somebody who pours out rubbish would make
//! everybody behind wait; so it is recognised by the connection it came over, and counted there.

use nimbus_gateway::{BAD_MAX, RUBBISH_ANSWERED_PER_POLL};
use nimbus_model::ClientId;
use nimbus_wire::client::Reject;
use std::time::Duration;
use tokio::time::Instant;

use crate::embedded::ClusterHandle;

/// How long rubbish may lie before the gateway hears of it: about a tick.
const LIES_FOR: Duration = Duration::from_millis(15);

/// The bin of one client.
#[derive(Default)]
pub(crate) struct RubbishBin {
    count: u32,
    last: Option<Reject>,
    /// When this round began, and how many messages were passed on in it.
    round: Option<Instant>,
    passed_on: u32,
}

impl RubbishBin {
    /// Puts a message in. The first of a round, which are answered one by one, and the one that is too much go on at once.
    /// False when the process is ending.
    pub(crate) async fn put(&mut self, reject: Reject, cluster: &ClusterHandle, client: ClientId) -> bool {
        if self.round.is_none_or(|began| began.elapsed() >= LIES_FOR) {
            (self.round, self.passed_on) = (Some(Instant::now()), 0);
        }
        self.count += 1;
        self.last = Some(reject);
        if self.passed_on >= RUBBISH_ANSWERED_PER_POLL && self.count < BAD_MAX {
            return true;
        }
        self.passed_on += 1;
        self.empty(cluster, client).await
    }

    /// Tells the gateway what is in it. False when the process is ending.
    pub(crate) async fn empty(&mut self, cluster: &ClusterHandle, client: ClientId) -> bool {
        let Some(last) = self.last.take() else { return true };
        cluster.rubbish(client, std::mem::take(&mut self.count), last).await
    }

    /// Waits until it has to be emptied.
    pub(crate) async fn is_due(&self) {
        match self.round.filter(|_| self.last.is_some()) {
            Some(began) => tokio::time::sleep_until(began + LIES_FOR).await,
            None => std::future::pending().await,
        }
    }
}
