//! The store and the election against a real etcd. Tests that need one have `with_etcd` in their names.

#![allow(clippy::disallowed_methods, reason = "a real etcd takes real time")]

use super::*;
use crate::certs::{CertFiles, CertsRequest, make_certs};
use crate::cluster::stage;
use crate::etcd::server::Server;
use crate::etcd::{EtcdLogin, EtcdTls};
use serde_json::{Value, json};
use std::time::Instant;

/// A machine with much else to do takes its time.
const PATIENCE: Duration = Duration::from_secs(30);

fn roster(revision: u64, leader: &str) -> Roster {
    Roster { revision, leader: leader.to_owned(), ..stage::roster() }
}

/// A swap that finds this roster instead.
fn found(revision: u64, leader: &str) -> Result<(), Option<Box<Roster>>> {
    Err(Some(Box::new(roster(revision, leader))))
}

/// A store, and what it said that nobody has waited for yet.
struct Teller {
    store: EtcdStore,
    said: Vec<Word>,
    requests: u64,
}

impl Teller {
    fn new(config: &EtcdConfig, name: &str) -> Teller {
        let store = EtcdStore::start(config, "test", name, 7, Duration::ZERO).unwrap();
        Teller { store, said: Vec::new(), requests: 0 }
    }

    fn listen(&mut self) {
        while let Some(word) = self.store.hear() {
            self.said.push(word);
        }
    }

    /// Waits for a word, and takes it and all before it.
    fn until<T>(&mut self, what: &str, is: impl Fn(&Word) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            self.listen();
            if let Some((at, found)) = self.said.iter().enumerate().find_map(|(at, word)| Some((at, is(word)?))) {
                self.said.drain(..=at);
                return found;
            }
            assert!(Instant::now() < end, "waited for: {what}; heard {:?}", self.said);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn until_elected(&mut self) {
        self.until("elected", |word| matches!(word, Word::Lead).then_some(()));
    }

    /// As the core would do it: one that gets no answer is asked again.
    fn read(&mut self) -> Option<Roster> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            self.requests += 1;
            self.store.read(self.requests);
            if let Some(Input::Contents { bytes, .. }) = self.answer() {
                return bytes.map(|bytes| Roster::decode(&bytes).unwrap());
            }
        }
        panic!("etcd never answered; heard {:?}", self.said);
    }

    /// Stored, or what is there instead. Asked once.
    fn swap(&mut self, expect: u64, leader: &str) -> Result<(), Option<Box<Roster>>> {
        self.requests += 1;
        self.store.swap(self.requests, expect, roster(expect + 1, leader).encode());
        match self.answer() {
            Some(Input::Stored { .. }) => Ok(()),
            Some(Input::Conflict { bytes, .. }) => Err(bytes.map(|bytes| Box::new(Roster::decode(&bytes).unwrap()))),
            other => panic!("{other:?}"),
        }
    }

    /// The answer to the last question; none when it was lost.
    fn answer(&mut self) -> Option<Input> {
        let asked = self.requests;
        let end = Instant::now() + Duration::from_secs(4);
        while Instant::now() < end {
            self.listen();
            let found = self.said.iter().position(|word| matches!(word,
                Word::Answer(Input::Contents { request, .. } | Input::Stored { request } | Input::Conflict { request, .. })
                    if *request == asked));
            if let Some(Word::Answer(input)) = found.map(|at| self.said.remove(at)) {
                return Some(input);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Asks until etcd is there.
fn ask_until_there(config: &EtcdConfig, call: &'static str, question: &Value) {
    let mut client = Client::new(Arc::new(config.clone())).unwrap();
    let end = Instant::now() + PATIENCE;
    in_runtime(async {
        while let Err(problem) = client.ask::<serde::de::IgnoredAny>(call, question).await {
            assert!(Instant::now() < end, "{problem}");
            sleep(Duration::from_millis(50)).await;
        }
    });
}

#[test]
fn with_etcd_a_swap_needs_the_revision_that_is_there() {
    let server = Server::started();
    let config = server.config(None, None);
    let (mut zero, mut one) = (Teller::new(&config, "zero"), Teller::new(&config, "one"));
    assert_eq!(zero.read(), None);
    assert_eq!(zero.swap(0, "zero"), Ok(()));
    assert_eq!(one.swap(0, "one"), found(1, "zero"), "it is there already");
    assert_eq!(one.swap(1, "one"), Ok(()), "what a conflict has shown is known");
    assert_eq!(zero.swap(1, "zero"), found(2, "one"), "another one was quicker");
    assert_eq!(zero.swap(7, "zero"), found(2, "one"), "nobody ever wrote that");
    assert_eq!(zero.swap(2, "zero"), Ok(()));
    assert_eq!(one.read(), Some(roster(3, "zero")));
    // Both at once, over and over: each success is one revision, and none is lost.
    let race = |teller: &mut Teller, name: &str| {
        (0..20)
            .filter(|_| {
                let revision = teller.read().unwrap().revision;
                teller.swap(revision, name).is_ok()
            })
            .count() as u64
    };
    let (won_zero, won_one) = std::thread::scope(|scope| {
        let other = scope.spawn(|| race(&mut one, "one"));
        (race(&mut zero, "zero"), other.join().unwrap())
    });
    assert_eq!(zero.read().unwrap().revision, 3 + won_zero + won_one);
    assert!(won_zero + won_one >= 20, "of two that race one wins");
    println!("of 2 x 20 swaps {won_zero} and {won_one} succeeded");
}

#[test]
fn with_etcd_a_watch_tells_what_others_write() {
    let server = Server::started();
    let config = server.config(None, None);
    let (mut zero, mut one) = (Teller::new(&config, "zero"), Teller::new(&config, "one"));
    let revision = |wanted: u64| {
        move |word: &Word| match word {
            Word::Written(roster) if roster.revision == wanted => Some(()),
            _ => None,
        }
    };
    assert_eq!(zero.read(), None);
    assert_eq!(zero.swap(0, "zero"), Ok(()));
    one.until("the first", revision(1));
    assert_eq!(zero.swap(1, "zero"), Ok(()));
    let written = Instant::now();
    one.until("the second", revision(2));
    println!("heard {} ms after the writer did", written.elapsed().as_millis());
    let mut late = Teller::new(&config, "late");
    late.until("what was there before it came", revision(2));
}

#[test]
fn with_etcd_one_leads_and_the_next_takes_over() {
    let server = Server::started();
    let config = server.config(None, None);
    let mut zero = Teller::new(&config, "zero");
    zero.until_elected();
    let mut one = Teller::new(&config, "one");
    one.until("told who leads", |word| matches!(word, Word::Follow(Some(name)) if name == "zero").then_some(()));
    // A lease that is taken away is noticed.
    let mut client = Client::new(Arc::new(config.clone())).unwrap();
    let keys = Keys::of("test");
    let (present, _) = in_runtime(client.list(&keys.coordinators)).unwrap();
    let lease = eldest(&present).unwrap().lease();
    let mut client = Client::new(Arc::new(config.clone())).unwrap();
    in_runtime(client.revoke(lease)).unwrap();
    one.until_elected();
    zero.until("told that it leads no more", |word| matches!(word, Word::Follow(_)).then_some(()));
    zero.until("told who leads", |word| matches!(word, Word::Follow(Some(name)) if name == "one").then_some(()));
    let mut client = Client::new(Arc::new(config.clone())).unwrap();
    let (present, _) = in_runtime(client.list(&keys.coordinators)).unwrap();
    assert_eq!(present.len(), 2, "both are there: {present:?}");
    // One that ends in good order does not have anybody wait.
    let ended = Instant::now();
    drop(one);
    zero.until_elected();
    println!("took over {} ms after the other began to end", ended.elapsed().as_millis());
}

#[test]
fn with_etcd_restarted_everything_goes_on() {
    let mut server = Server::started();
    let config = server.config(None, None);
    let mut zero = Teller::new(&config, "zero");
    zero.until_elected();
    assert_eq!(zero.read(), None);
    assert_eq!(zero.swap(0, "zero"), Ok(()));
    server.kill();
    zero.until("told of it", |word| {
        matches!(word, Word::Trouble(Some(problem)) if problem.contains("127.0.0.1")).then_some(())
    });
    zero.until("leads no more", |word| matches!(word, Word::Follow(None)).then_some(()));
    server.start();
    zero.until("told that it is over", |word| matches!(word, Word::Trouble(None)).then_some(()));
    zero.until_elected();
    assert_eq!(zero.read(), Some(roster(1, "zero")), "nothing is forgotten");
    assert_eq!(zero.swap(1, "zero"), Ok(()));
    zero.until("the watch goes on", |word| matches!(word, Word::Written(roster) if roster.revision == 2).then_some(()));
}

#[test]
fn with_etcd_out_of_reach_nobody_waits_for_it() {
    let server = Server::started();
    let config = server.config(None, None);
    let mut zero = Teller::new(&config, "zero");
    zero.until_elected();
    assert_eq!(zero.read(), None);
    server.signal("STOP");
    let asked = Instant::now();
    for request in 1000..2000 {
        zero.store.swap(request, 0, roster(1, "zero").encode());
        zero.listen();
    }
    assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
    zero.until("told of it", |word| matches!(word, Word::Trouble(Some(_))).then_some(()));
    zero.until("the lease ran out", |word| matches!(word, Word::Follow(None)).then_some(()));
    assert!(asked.elapsed() > Duration::from_millis(300), "not before it does");
    server.signal("CONT");
    zero.until("told that it is over", |word| matches!(word, Word::Trouble(None)).then_some(()));
    zero.until_elected();
    let found = zero.read();
    assert!(found.is_none() || found == Some(roster(1, "zero")), "written once or not at all: {found:?}");
}

#[test]
fn with_etcd_a_user_and_a_password_are_needed_and_never_shown() {
    // It forgets tokens that nobody used for a second.
    let mut server = Server::prepared().with(&["--auth-token-ttl".to_owned(), "1".to_owned()]);
    server.start();
    let open = server.config(None, None);
    ask_until_there(&open, "/v3/auth/user/add", &json!({ "name": "root", "password": "open sesame" }));
    ask_until_there(&open, "/v3/auth/role/add", &json!({ "name": "root" }));
    ask_until_there(&open, "/v3/auth/user/grant", &json!({ "user": "root", "role": "root" }));
    ask_until_there(&open, "/v3/auth/enable", &json!({}));
    let login = |password: &str| {
        let password_file = server.dir.join("password");
        std::fs::write(&password_file, format!("{password}\n")).unwrap();
        Some(EtcdLogin { user: "root".to_owned(), password_file })
    };
    let trouble = |word: &Word| match word {
        Word::Trouble(Some(problem)) => Some(problem.clone()),
        _ => None,
    };
    Teller::new(&open, "anybody").until("refused without a name", trouble);
    let problem = Teller::new(&server.config(login("sesame street"), None), "wrong").until("refused", trouble);
    assert!(problem.contains("invalid user ID or password") && !problem.contains("street"), "{problem}");
    let mut right = Teller::new(&server.config(login("open sesame"), None), "right");
    right.until_elected();
    assert_eq!(right.read(), None);
    assert_eq!(right.swap(0, "right"), Ok(()));
    right.until("the watch, too", |word| matches!(word, Word::Written(roster) if roster.revision == 1).then_some(()));
    // It is a while until the next one is written, and nobody notices.
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(right.swap(1, "right"), Ok(()), "asked once");
    right.listen();
    let troubled = right.said.iter().filter_map(trouble).collect::<Vec<_>>();
    assert_eq!(troubled, Vec::<String>::new());
}

#[test]
fn with_etcd_over_tls_both_ends_show_certificates() {
    let server = Server::prepared();
    let certs = server.dir.join("certs");
    let (etcd, own) = (ProcessName::new("etcd-0").unwrap(), ProcessName::new("coordinator-0").unwrap());
    let request = CertsRequest {
        processes: vec![(etcd.clone(), Role::Coordinator), (own.clone(), Role::Coordinator)],
        hosts: vec!["127.0.0.1".to_owned()],
    };
    make_certs(&certs, &request).unwrap();
    let files = CertFiles::new(&certs);
    let shown = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let mut server = server.secured(&[
        "--cert-file".to_owned(),
        shown(files.certificate(&etcd)),
        "--key-file".to_owned(),
        shown(files.key(&etcd)),
        "--trusted-ca-file".to_owned(),
        shown(files.ca()),
        "--client-cert-auth".to_owned(),
    ]);
    server.start();
    let identity = Some((files.certificate(&own), files.key(&own)));
    let mut good = Teller::new(&server.config(None, Some(EtcdTls { ca: files.ca(), identity })), "good");
    good.until_elected();
    assert_eq!(good.read(), None);
    assert_eq!(good.swap(0, "good"), Ok(()));
    good.until("the watch, too", |word| matches!(word, Word::Written(_)).then_some(()));
    let trouble = |word: &Word| matches!(word, Word::Trouble(Some(_))).then_some(());
    let nameless = Some(EtcdTls { ca: files.ca(), identity: None });
    Teller::new(&server.config(None, nameless), "nameless").until("refused by etcd", trouble);
    // A CA that did not make etcd's certificate.
    let strange = server.dir.join("strange");
    make_certs(&strange, &request).unwrap();
    let tls = Some(EtcdTls { ca: CertFiles::new(&strange).ca(), identity: None });
    Teller::new(&server.config(None, tls), "fooled").until("refused by us", trouble);
    let missing = EtcdTls { ca: server.dir.join("none.pem"), identity: None };
    let problem = EtcdStore::start(&server.config(None, Some(missing)), "test", "x", 7, Duration::ZERO).err().unwrap();
    assert!(problem.to_string().contains("none.pem"), "{problem}");
}

#[test]
fn with_etcd_a_former_roster_is_forgotten_unless_somebody_leads() {
    let server = Server::started();
    let config = server.config(None, None);
    let mut zero = Teller::new(&config, "zero");
    zero.until_elected();
    assert_eq!(zero.swap(0, "zero"), Ok(()));
    assert_eq!(forget_roster(&config, "test"), Err(EtcdError::Led("zero".to_owned())));
    assert_eq!(zero.read(), Some(roster(1, "zero")));
    drop(zero);
    assert_eq!(forget_roster(&config, "test"), Ok(()));
    assert_eq!(Teller::new(&config, "one").read(), None);
}

#[test]
fn an_etcd_that_is_not_there_is_told_of() {
    let server = Server::prepared();
    let mut zero = Teller::new(&server.config(None, None), "zero");
    zero.until("told of it", |word| matches!(word, Word::Trouble(Some(_))).then_some(()));
    let begun = Instant::now();
    drop(zero);
    assert!(begun.elapsed() < Duration::from_secs(3), "it ends all the same");
}
