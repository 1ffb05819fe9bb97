//! Who leads: the coordinator whose key is the oldest. A key goes with a lease that must be kept alive, and whoever comes back
//! is the youngest, so the lead goes to one that was standing by. It is the usual way to elect with etcd.
//!
//! The lease only says who should try. What keeps two leaders apart is the compare-and-swap of the roster, by its term.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};

use super::etcd_store::{Keys, eldest, name_in};
use super::store::Word;
use crate::clock::Clock;
use crate::etcd::{Client, EtcdConfig, EtcdError};

/// A lease is kept alive so many times while it lasts.
const KEPT_TIMES: u32 = 4;
/// How long to wait after a failure before trying again.
const PAUSE: Duration = Duration::from_millis(100);

/// The coordinator is gone; so are those who work for it.
struct Gone;

/// Stands for election, over and over.
pub(super) struct Election {
    client: Client,
    keys: Arc<Keys>,
    name: String,
    token: u64,
    lease_s: u32,
    lease: Option<i64>,
    /// The lease with which our presence was written.
    present: Option<i64>,
    /// What was told last: that we lead, or who does.
    told: Option<Standing>,
    troubled: bool,
    words: Sender<Word>,
    vacancy: Arc<Notify>,
    clock: Clock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Leads,
    Follows(Option<String>),
}

impl Election {
    /// `vacancy` is notified when a coordinator is gone.
    pub(super) fn new(
        config: Arc<EtcdConfig>,
        keys: Arc<Keys>,
        name: &str,
        token: u64,
        words: Sender<Word>,
        vacancy: Arc<Notify>,
    ) -> Result<Election, EtcdError> {
        Ok(Election {
            name: name.to_owned(),
            token,
            lease_s: config.lease_s(),
            client: Client::new(config)?,
            keys,
            lease: None,
            present: None,
            told: None,
            troubled: false,
            words,
            vacancy,
            clock: Clock::start(),
        })
    }

    /// Ends when the coordinator does.
    pub(super) async fn run(&mut self) {
        while let Ok(()) = self.stand().await {
            sleep(PAUSE).await;
        }
    }

    /// Gives the lease back, if that is quick.
    pub(super) async fn resign(&mut self) {
        if let Some(lease) = self.lease.take() {
            // It runs out by itself otherwise.
            _ = self.client.revoke(lease).await;
        }
    }

    /// One lease, from its grant to its end.
    async fn stand(&mut self) -> Result<(), Gone> {
        let length = Duration::from_secs(u64::from(self.lease_s));
        let mut good_until = self.clock.now() + length;
        let lease = match self.client.grant(self.lease_s).await {
            Ok(lease) => lease,
            Err(problem) => return self.complain(problem).await,
        };
        self.lease = Some(lease);
        loop {
            let begun = self.clock.now();
            // Whoever cannot reach etcd stops leading when the lease runs out there, at the latest.
            let left = good_until.saturating_sub(begun);
            if left.is_zero() {
                break;
            }
            match timeout(left, self.keep(lease)).await {
                Ok(Ok(Some(standing))) => {
                    good_until = begun + length;
                    self.relieve().await?;
                    self.tell(standing).await?;
                    // A vacancy is an occasion at once; anything else can wait.
                    _ = timeout(length / KEPT_TIMES, self.vacancy.notified()).await;
                }
                Ok(Ok(None)) => break,
                Err(_) => {
                    let problem = self.client.unreachable(&"no answer before the lease ran out");
                    self.complain(problem).await?;
                    break;
                }
                Ok(Err(problem)) => {
                    self.complain(problem).await?;
                    sleep(PAUSE).await;
                }
            }
        }
        self.lease = None;
        self.tell(Standing::Follows(None)).await
    }

    /// Keeps the lease alive, is present, and looks who leads. None when the lease is gone.
    async fn keep(&mut self, lease: i64) -> Result<Option<Standing>, EtcdError> {
        if !self.client.keep_alive(lease).await? {
            return Ok(None);
        }
        if self.present != Some(lease) {
            let key = format!("{}{}-{lease:016x}", self.keys.coordinators, self.name);
            let value = format!("{} {:016x}", self.name, self.token);
            self.client.put(&key, value.as_bytes(), lease).await?;
            self.present = Some(lease);
        }
        let (present, _) = self.client.list(&self.keys.coordinators).await?;
        Ok(Some(match eldest(&present) {
            Some(leader) if leader.lease() == lease => Standing::Leads,
            leader => Standing::Follows(leader.map(name_in)),
        }))
    }

    async fn tell(&mut self, standing: Standing) -> Result<(), Gone> {
        if self.told.as_ref() == Some(&standing) {
            return Ok(());
        }
        let word = match &standing {
            Standing::Leads => Word::Lead,
            Standing::Follows(leader) => Word::Follow(leader.clone()),
        };
        self.told = Some(standing);
        self.words.send(word).await.map_err(|_| Gone)
    }

    async fn complain(&mut self, problem: EtcdError) -> Result<(), Gone> {
        if std::mem::replace(&mut self.troubled, true) {
            return Ok(());
        }
        self.words.send(Word::Trouble(Some(problem.to_string()))).await.map_err(|_| Gone)
    }

    async fn relieve(&mut self) -> Result<(), Gone> {
        if !std::mem::replace(&mut self.troubled, false) {
            return Ok(());
        }
        self.words.send(Word::Trouble(None)).await.map_err(|_| Gone)
    }
}
