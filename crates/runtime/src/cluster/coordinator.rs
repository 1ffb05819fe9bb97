//! The coordinator as a process: its core, a store, and the mesh.

use nimbus_control::{Config, Coordinator, Genesis, Input, Link, Note, Output, Role as Part, Roster, ToCoordinator};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::file_store::FileStore;
use super::post::Post;
use super::setup::{ClusterError, ClusterSetup};
use crate::clock::Clock;
use crate::mesh::{Delivery, Mesh, ProcessName, Received, Role};
use crate::metrics;
use crate::operator::{Facts, Operator, Page};

/// How often the core is told that time passes, at least.
const POLL: Duration = Duration::from_millis(20);

/// Runs a coordinator until `ends` says so. `tell` gets what people should know.
pub fn run_coordinator(
    setup: &ClusterSetup,
    name: &ProcessName,
    token: u64,
    mut ends: impl FnMut() -> bool,
    mut tell: impl FnMut(&Note),
) -> Result<(), ClusterError> {
    let clock = Clock::start();
    let genesis = Genesis {
        cluster: setup.name.as_str().to_owned(),
        world: setup.world.name.clone(),
        map: Arc::new(setup.map.clone()),
        tick_hz: setup.world.tick_hz,
    };
    let config = Config {
        unix_us_at_zero: Clock::unix_us().saturating_sub(clock.now().as_micros() as u64),
        nodes_wanted: setup.count(Role::Node),
        ..Config::new(name.as_str(), token, genesis)
    };
    let core = Coordinator::new(config).map_err(|invalid| ClusterError::Coordinator(invalid.to_string()))?;
    let store =
        FileStore::open(&setup.store).map_err(|error| ClusterError::Io(setup.store.display().to_string(), error))?;
    let mesh = setup.connect(name, Role::Coordinator)?;
    let links: BTreeMap<ProcessName, Link> = setup.places.keys().cloned().zip((0..).map(Link)).collect();
    let mut process = Desk { core, store, mesh, links, clock };
    let shown: Arc<Mutex<Option<Arc<Roster>>>> = Arc::default();
    let _operator = setup.operators.get(name).map(|at| Operator::start(*at, facts(&shown))).transpose()?;
    process.act(Input::Lead, &mut tell);
    while !ends() {
        process.mesh.clone().wait(POLL);
        process.mesh.clone().drain(|received| process.hear(received, &mut tell));
        process.act(Input::Time, &mut tell);
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = process.core.roster().cloned();
    }
    Ok(())
}

struct Desk {
    core: Coordinator,
    store: FileStore,
    mesh: Arc<Mesh>,
    links: BTreeMap<ProcessName, Link>,
    clock: Clock,
}

impl Desk {
    fn hear(&mut self, received: Received, tell: &mut impl FnMut(&Note)) {
        let Some(&link) = self.links.get(&received.from) else { return };
        match Post::decode(received.bytes) {
            Some(Post::ClockAsked(sent)) => {
                self.mesh.send(&received.from, Post::ClockTold(sent, Clock::unix_us()).encode(), Delivery::Latest);
            }
            Some(Post::ToCoordinator(message))
                if speaks_for_itself(self.core.roster(), &received.from, received.role, &message) =>
            {
                self.act(Input::Message { link, message }, tell);
            }
            _ => {}
        }
    }

    /// Gives the core an input and does what it says, until it says nothing more.
    fn act(&mut self, input: Input, tell: &mut impl FnMut(&Note)) {
        let mut inputs = vec![input];
        let mut outputs = Vec::new();
        while let Some(input) = inputs.pop() {
            self.core.handle(input, self.clock.now().as_millis() as u64, &mut outputs);
            for output in outputs.drain(..) {
                match output {
                    Output::Read { request } => inputs.push(Input::Contents { request, bytes: self.store.contents() }),
                    Output::Store { request, expect_revision, bytes } => {
                        match self.store.swap(expect_revision, bytes) {
                            Ok(true) => inputs.push(Input::Stored { request }),
                            Ok(false) => inputs.push(Input::Conflict { request, bytes: self.store.contents() }),
                            // The core asks again.
                            Err(_) => {}
                        }
                    }
                    Output::Tell { link, message } => {
                        if let Some((to, _)) = self.links.iter().find(|(_, known)| **known == link) {
                            self.mesh.send(to, Post::FromCoordinator(message).encode(), Delivery::Ordered);
                        }
                    }
                    Output::Note(note) => tell(&note),
                    Output::Answer { .. } => {}
                }
            }
        }
    }
}

/// True when a process speaks of itself and not of another one.
fn speaks_for_itself(roster: Option<&Arc<Roster>>, from: &ProcessName, role: Role, message: &ToCoordinator) -> bool {
    let is_named = |process| {
        let known = roster.and_then(|roster| roster.processes.get(process));
        known.is_none_or(|known| known.name == from.as_str())
    };
    match message {
        ToCoordinator::Join(join) => {
            let part = if role == Role::Gateway { Part::Gateway } else { Part::Node };
            join.name == from.as_str() && join.role == part && role != Role::Coordinator
        }
        ToCoordinator::Heartbeat(beat) => is_named(&beat.process),
        ToCoordinator::Drain(process) => is_named(process),
    }
}

/// What operators may ask of a coordinator: the roster, which says who serves what, who is protected, and what is lost.
fn facts(shown: &Arc<Mutex<Option<Arc<Roster>>>>) -> Facts {
    let read = |shown: &Mutex<Option<Arc<Roster>>>| shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (ready, figures, page) = (shown.clone(), shown.clone(), shown.clone());
    let page: Page = Box::new(move |_| {
        let roster = read(&page).ok_or("it has read no roster yet")?;
        serde_json::to_value(&*roster).map_err(|error| error.to_string())
    });
    Facts {
        unready: Box::new(move || read(&ready).is_none().then(|| "it has read no roster yet".to_owned())),
        metrics: Box::new(move || read(&figures).map_or_else(String::new, |roster| metrics::render_roster(&roster))),
        pages: BTreeMap::from([("/api/roster", page)]),
    }
}
