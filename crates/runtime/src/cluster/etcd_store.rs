//! The roster in etcd: compare-and-swap on the revision of its key, a watch, and an election by lease.
//!
//! All of it runs on a thread of its own; what is asked and answered goes through channels with limits, so a
//! coordinator never waits for etcd. Keys of a cluster begin with `/nimbus/<cluster>/`:
//!
//! - `roster`: the roster, without a lease.
//! - `coordinators/<name>-<lease>`: every coordinator that is there; goes with its lease. The oldest one leads.

use nimbus_control::{Input, Roster};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use super::etcd_election::Election;
use super::setup::{ClusterError, ClusterSetup};
use super::store::Word;
use crate::etcd::{Change, Client, EtcdConfig, EtcdError, Expect, KeyValue, Swap};
use crate::mesh::{ProcessName, Role};

/// Most questions that wait. The coordinator asks one at a time, and again if nobody answers.
const ASKS_MAX: usize = 16;
/// Most words that wait for the coordinator.
const WORDS_MAX: usize = 64;
/// How long to wait after a failure before trying again.
const PAUSE: Duration = Duration::from_millis(200);
/// A watch that is silent for so long is begun anew, in case it was cut without a sign.
const WATCH_QUIET_MAX: Duration = Duration::from_secs(5);
/// A coordinator stands for its first election this much later than the one before it in the file, so that the first
/// one leads a cluster that starts as a whole.
const COURTESY: Duration = Duration::from_millis(300);

/// What the coordinator asks.
enum Ask {
    Read { request: u64 },
    Swap { request: u64, expect: u64, bytes: Vec<u8> },
}

/// The coordinator's end of it.
pub(super) struct EtcdStore {
    asks: Sender<Ask>,
    words: Receiver<Word>,
    /// Questions without an answer so far; only a hint of when to look.
    open: u64,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Names of keys.
pub(super) struct Keys {
    pub(super) prefix: String,
    pub(super) roster: String,
    /// What the keys of coordinators begin with.
    pub(super) coordinators: String,
}

impl Keys {
    pub(super) fn of(cluster: &str) -> Keys {
        let prefix = format!("/nimbus/{cluster}/");
        Keys { roster: format!("{prefix}roster"), coordinators: format!("{prefix}coordinators/"), prefix }
    }
}

impl EtcdStore {
    /// Starts the thread. That etcd does not answer is no reason not to: it is told, and tried again.
    pub(super) fn open(
        config: &EtcdConfig,
        setup: &ClusterSetup,
        name: &ProcessName,
        token: u64,
    ) -> Result<EtcdStore, ClusterError> {
        let place = setup.named(Role::Coordinator).position(|known| known == name).unwrap_or(0);
        EtcdStore::start(config, setup.name.as_str(), name.as_str(), token, COURTESY * place as u32)
    }

    fn start(
        config: &EtcdConfig,
        cluster: &str,
        name: &str,
        token: u64,
        courtesy: Duration,
    ) -> Result<EtcdStore, ClusterError> {
        let config = Arc::new(config.clone());
        let keys = Arc::new(Keys::of(cluster));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| ClusterError::Io("etcd".to_owned(), error))?;
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        let (word, words) = mpsc::channel(WORDS_MAX);
        let (end, mut ended) = oneshot::channel();
        let vacancy = Arc::new(Notify::new());
        let clerk =
            Clerk { client: Client::new(config.clone())?, keys: keys.clone(), words: word.clone(), known: None };
        let watcher = watch(Client::new(config.clone())?, keys.clone(), word.clone(), vacancy.clone());
        let mut election = Election::new(config, keys, name, token, word, vacancy)?;
        let work = async move {
            {
                let standing = async {
                    sleep(courtesy).await;
                    election.run().await;
                };
                // Whoever ends first ends all: the coordinator is gone then.
                tokio::select! {
                    _ = &mut ended => {}
                    () = clerk.run(asked) => {}
                    () = watcher => {}
                    () = standing => {}
                }
            }
            // The others need not wait for the lease to run out.
            election.resign().await;
        };
        let spawned = std::thread::Builder::new().name("etcd".to_owned()).spawn(move || runtime.block_on(work));
        let thread = spawned.map_err(|error| ClusterError::Io("etcd".to_owned(), error))?;
        Ok(EtcdStore { asks, words, open: 0, end: Some(end), thread: Some(thread) })
    }

    /// Asks what is there.
    pub(super) fn read(&mut self, request: u64) {
        self.ask(Ask::Read { request });
    }

    /// Asks to write if the roster there still has the revision expected.
    pub(super) fn swap(&mut self, request: u64, expect: u64, bytes: Vec<u8>) {
        self.ask(Ask::Swap { request, expect, bytes });
    }

    fn ask(&mut self, ask: Ask) {
        // One that finds no room is not answered, and the core asks again.
        if self.asks.try_send(ask).is_ok() {
            self.open = 1;
        }
    }

    /// The next word, if there is one.
    pub(super) fn hear(&mut self) -> Option<Word> {
        let word = self.words.try_recv().ok()?;
        if matches!(word, Word::Answer(_) | Word::Trouble(Some(_))) {
            self.open = 0;
        }
        Some(word)
    }

    /// True while an answer may come any moment.
    pub(super) fn is_asked(&self) -> bool {
        self.open > 0
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        drop(self.end.take());
        self.words.close();
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so on its way.
            _ = thread.join();
        }
    }
}

/// Removes the roster of a former run, whose processes are all gone. Waits for the lease of a coordinator that was there
/// a moment ago to run out, and refuses when one is there still.
pub fn forget_roster(config: &EtcdConfig, cluster: &str) -> Result<(), EtcdError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime =
        runtime.map_err(|error| EtcdError::Unreachable { endpoint: String::new(), problem: error.to_string() })?;
    let keys = Keys::of(cluster);
    let patience = Duration::from_secs(u64::from(config.lease_s()) + 3);
    let mut client = Client::new(Arc::new(config.clone()))?;
    runtime.block_on(async {
        let mut last = Err(EtcdError::Nonsense("/v3/kv/range"));
        let forgotten = timeout(patience, async {
            loop {
                last = match client.list(&keys.coordinators).await {
                    Ok((present, _)) => match eldest(&present) {
                        None => client.delete(&keys.roster).await,
                        Some(leader) => Err(EtcdError::Led(name_in(leader))),
                    },
                    Err(problem) => Err(problem),
                };
                if last.is_ok() {
                    return;
                }
                sleep(PAUSE).await;
            }
        });
        // What happened last says more than that time is over.
        _ = forgotten.await;
        last
    })
}

/// The coordinator that leads: the one that has been there for longest.
pub(super) fn eldest(present: &[KeyValue]) -> Option<&KeyValue> {
    present.iter().min_by_key(|coordinator| coordinator.created())
}

/// The name of a coordinator. In its key's value the token of the process follows.
pub(super) fn name_in(coordinator: &KeyValue) -> String {
    let value = String::from_utf8_lossy(coordinator.value());
    value.split(' ').next().unwrap_or_default().chars().take(64).collect()
}

/// Reads and writes for the coordinator.
struct Clerk {
    client: Client,
    keys: Arc<Keys>,
    words: Sender<Word>,
    /// The latest roster seen in etcd: its own revision, and that of its key.
    known: Option<(u64, i64)>,
}

impl Clerk {
    /// Ends when the coordinator does.
    async fn run(mut self, mut asked: Receiver<Ask>) {
        while let Some(ask) = asked.recv().await {
            let answer = match ask {
                Ask::Read { request } => self.read().await.map(|bytes| Input::Contents { request, bytes }),
                Ask::Swap { request, expect, bytes } => self.swap(request, expect, &bytes).await,
            };
            // Without an answer, the core looks again whether it was written.
            let word = answer.map_or_else(|problem| Word::Trouble(Some(problem.to_string())), Word::Answer);
            if self.words.send(word).await.is_err() {
                return;
            }
        }
    }

    async fn read(&mut self) -> Result<Option<Vec<u8>>, EtcdError> {
        let found = self.client.get(&self.keys.roster).await?;
        Ok(self.note(found))
    }

    async fn swap(&mut self, request: u64, expect: u64, bytes: &[u8]) -> Result<Input, EtcdError> {
        let expected = match self.known {
            _ if expect == 0 => Expect::Absent,
            Some((revision, key)) if revision == expect => Expect::Revision(key),
            _ => {
                let found = self.read().await?;
                match self.known {
                    Some((revision, key)) if revision == expect => Expect::Revision(key),
                    _ => return Ok(Input::Conflict { request, bytes: found }),
                }
            }
        };
        match self.client.swap(&self.keys.roster, expected, bytes).await? {
            Swap::Done(key) => {
                self.known = Some((expect + 1, key));
                Ok(Input::Stored { request })
            }
            Swap::Other(found) => Ok(Input::Conflict { request, bytes: self.note(found) }),
        }
    }

    fn note(&mut self, found: Option<KeyValue>) -> Option<Vec<u8>> {
        // What is no roster is the core's to complain about; it never writes over it.
        let revision = |kv: &KeyValue| Roster::decode(kv.value()).map_or(u64::MAX, |roster| roster.revision);
        self.known = found.as_ref().map(|kv| (revision(kv), kv.revision()));
        found.map(KeyValue::into_value)
    }
}

/// Tells what is written by whomever, and when a coordinator is gone. Ends when the coordinator does.
async fn watch(mut client: Client, keys: Arc<Keys>, words: Sender<Word>, vacancy: Arc<Notify>) {
    loop {
        let Ok((found, revision)) = client.list(&keys.prefix).await else {
            // The election says why.
            sleep(PAUSE).await;
            continue;
        };
        let mut changes: Vec<Change> = found.into_iter().map(Change::Written).collect();
        let Ok(mut stream) = client.watch(&keys.prefix, revision + 1).await else {
            sleep(PAUSE).await;
            continue;
        };
        loop {
            for change in changes.drain(..) {
                match change {
                    Change::Gone(kv) if kv.key().starts_with(keys.coordinators.as_bytes()) => vacancy.notify_one(),
                    Change::Written(kv) if kv.key() == keys.roster.as_bytes() => {
                        let Ok(roster) = Roster::decode(kv.value()) else { continue };
                        if words.send(Word::Written(Box::new(roster))).await.is_err() {
                            return;
                        }
                    }
                    _ => {}
                }
            }
            match timeout(WATCH_QUIET_MAX, stream.next()).await {
                Ok(Some(change)) => changes.push(change),
                Ok(None) => {
                    sleep(PAUSE).await;
                    break;
                }
                Err(_) => break,
            }
        }
    }
}

#[cfg(test)]
#[path = "etcd_store_tests.rs"]
mod tests;
