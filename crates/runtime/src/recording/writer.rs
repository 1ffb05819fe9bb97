//! Writes a run to a file, on a thread of its own so that no server waits for a disk.

use mcap::records::{MessageHeader, Metadata};
use mcap::{McapError, WriteOptions, Writer};
use nimbus_model::{RegionId, Tick, coding};
use nimbus_node::{Event, TickLog};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::{FORMAT, PROFILE, RecordingError, Start, StateMark, Topic, WrittenMark};

/// Most notes that wait for the disk; then servers wait too, because a recording with a hole is worth nothing.
const NOTES_MAX: usize = 1024;

/// What a server hands in.
pub enum Note {
    /// What took effect at some ticks.
    Log(RegionId, Vec<TickLog>),
    /// The state after a tick; everything up to that tick was handed in before.
    Mark(RegionId, StateMark),
    /// What happened to bodies.
    Events(RegionId, Vec<Event>),
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Size of the file.
    pub bytes: u64,
    /// Last tick in it.
    pub last: Tick,
}

/// A recording under way.
pub struct Recorder {
    notes: SyncSender<Note>,
    thread: JoinHandle<Result<Written, RecordingError>>,
}

/// Where a server hands in its notes.
#[derive(Clone)]
pub struct RecorderHandle {
    notes: SyncSender<Note>,
}

impl RecorderHandle {
    /// Hands in a note; waits when the disk is behind. False when the recording has failed, which
    /// [`Recorder::finish`] will explain.
    pub fn note(&self, note: Note) -> bool {
        self.notes.send(note).is_ok()
    }
}

impl Recorder {
    /// Creates the file and writes down what the servers start with.
    pub fn create(path: &Path, start: &Start) -> Result<Recorder, RecordingError> {
        let mut sink = Sink::create(path, start)?;
        let (notes, inbox) = sync_channel(NOTES_MAX);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                sink.write_all(&inbox)?;
                sink.finish()
            })
            .map_err(|source| RecordingError::io("start a thread to write", path, source))?;
        Ok(Recorder { notes, thread })
    }

    /// A place to hand in notes.
    pub fn handle(&self) -> RecorderHandle {
        RecorderHandle { notes: self.notes.clone() }
    }

    /// Completes the file. Every handle must be gone, else this waits for it.
    pub fn finish(self) -> Result<Written, RecordingError> {
        drop(self.notes);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Sink {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    channels: BTreeMap<Topic, (u16, u32)>,
    nanos_per_tick: u64,
    last: Tick,
}

impl Sink {
    fn create(path: &Path, start: &Start) -> Result<Sink, RecordingError> {
        let file = File::create(path).map_err(|source| RecordingError::io("create", path, source))?;
        let library = concat!("nimbus ", env!("CARGO_PKG_VERSION"));
        // Without seeking, chunks follow each other and none is changed later. A process that is killed leaves whole
        // chunks and at most the last one in part, so that tools for MCAP can still rescue the rest.
        let options = WriteOptions::new().profile(PROFILE).library(library).disable_seeking(true);
        let writer = options.create(BufWriter::new(file));
        let writer = writer.map_err(|error| write_error(path, error))?;
        let nanos_per_tick = 1_000_000_000 / u64::from(start.world.tick_hz.max(1));
        let mut sink =
            Sink { path: path.to_owned(), writer, channels: BTreeMap::new(), nanos_per_tick, last: start.at };
        let facts = [
            ("format", FORMAT.to_string()),
            ("release", env!("CARGO_PKG_VERSION").to_owned()),
            ("world", start.world.name.clone()),
            ("servers", start.nodes.len().to_string()),
            ("tick_hz", start.world.tick_hz.to_string()),
        ];
        let metadata = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let metadata = Metadata { name: PROFILE.to_owned(), metadata };
        sink.writer.write_metadata(&metadata).map_err(|error| write_error(path, error))?;
        sink.put(Topic::Start, start.at, &coding::write(start))?;
        Ok(sink)
    }

    fn write_all(&mut self, notes: &Receiver<Note>) -> Result<(), RecordingError> {
        for note in notes {
            match note {
                Note::Log(region, entries) => {
                    for entry in entries {
                        self.put(Topic::Log(region), entry.tick, &entry.encode())?;
                    }
                }
                Note::Mark(region, mark) => {
                    let written = WrittenMark { tick: mark.tick, hash: format!("{:016x}", mark.hash) };
                    let bytes = serde_json::to_vec(&written).expect("plain data always serialises");
                    self.put(Topic::Mark(region), mark.tick, &bytes)?;
                }
                Note::Events(region, events) => {
                    for event in events {
                        let bytes = serde_json::to_vec(&event).expect("plain data always serialises");
                        self.put(Topic::Event(region), event.tick, &bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, topic: Topic, tick: Tick, bytes: &[u8]) -> Result<(), RecordingError> {
        self.last = self.last.max(tick);
        let wrong = |error| write_error(&self.path, error);
        if !self.channels.contains_key(&topic) {
            let id = self.writer.add_channel(0, &topic.name(), topic.encoding(), &BTreeMap::new()).map_err(wrong)?;
            self.channels.insert(topic, (id, 0));
        }
        let (channel_id, sequence) = self.channels.get_mut(&topic).expect("just put there");
        *sequence = sequence.wrapping_add(1);
        let time = tick.0.saturating_mul(self.nanos_per_tick);
        let header = MessageHeader { channel_id: *channel_id, sequence: *sequence, log_time: time, publish_time: time };
        self.writer.write_to_known_channel(&header, bytes).map_err(wrong)
    }

    fn finish(mut self) -> Result<Written, RecordingError> {
        self.writer.finish().map_err(|error| write_error(&self.path, error))?;
        let buffered = self.writer.into_inner();
        let file =
            buffered.into_inner().map_err(|error| RecordingError::io("write", &self.path, error.into_error()))?;
        file.sync_all().map_err(|source| RecordingError::io("write", &self.path, source))?;
        let bytes = file.metadata().map_err(|source| RecordingError::io("look at", &self.path, source))?.len();
        Ok(Written { bytes, last: self.last })
    }
}

fn write_error(path: &Path, error: McapError) -> RecordingError {
    let source = match error {
        McapError::Io(source) => source,
        other => std::io::Error::other(other),
    };
    RecordingError::io("write", path, source)
}
