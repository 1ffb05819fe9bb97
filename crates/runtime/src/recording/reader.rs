//! Reads a recording from front to back. Memory is bounded by the largest record, and no record is larger than the file.

use mcap::records::Record;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};
use mcap::{McapError, records::op};
use nimbus_model::{World, coding};
use nimbus_node::{Change, Input, TickLog};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use super::{Entry, FORMAT, PROFILE, RecordingError, Start, StateMark, Topic, WrittenMark};
use crate::servers::SERVERS_MAX;

/// Largest record that is read, bytes.
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// Bytes that are read at once. A record that claims to be long takes memory only as its bytes arrive.
const PIECE_BYTES: usize = 64 << 10;

/// A recording, open at some place.
pub struct Recording {
    source: Source,
    start: Start,
}

impl Recording {
    /// Opens a recording and reads what the servers were started with.
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        Recording::begin(Source::open(path)?)
    }

    /// A recording that is in memory, for whoever has it from elsewhere than a file.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Recording, RecordingError> {
        let length = bytes.len() as u64;
        Recording::begin(Source::new(Path::new("the recording"), Box::new(Cursor::new(bytes)), length))
    }

    fn begin(mut source: Source) -> Result<Recording, RecordingError> {
        match source.next()? {
            Some(Found::Start(start)) => Ok(Recording { source, start: *start }),
            _ => Err(RecordingError::damaged(&source.path, "it does not say what the servers were started with")),
        }
    }

    /// What the servers were started with.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// The next thing recorded; none at the end. An error when the file is cut or damaged there.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, RecordingError> {
        match self.source.next()? {
            Some(Found::Entry(entry)) => Ok(Some(entry)),
            Some(Found::Start(_)) => Err(RecordingError::damaged(&self.source.path, "it starts twice")),
            None => Ok(None),
        }
    }

    /// How much of the file has been read, 0 to 1.
    pub fn progress(&self) -> f64 {
        self.source.taken as f64 / self.source.length.max(1) as f64
    }
}

enum Found {
    Start(Box<Start>),
    Entry(Entry),
}

struct Source {
    path: PathBuf,
    file: Box<dyn Read + Send>,
    length: u64,
    taken: u64,
    reader: LinearReader,
    contents: Contents,
}

impl Source {
    fn open(path: &Path) -> Result<Source, RecordingError> {
        let wrong = |source| RecordingError::io("open", path, source);
        let file = File::open(path).map_err(wrong)?;
        let about = file.metadata().map_err(wrong)?;
        if !about.is_file() {
            return Err(RecordingError::Foreign(path.to_owned()));
        }
        Ok(Source::new(path, Box::new(BufReader::new(file)), about.len()))
    }

    fn new(path: &Path, file: Box<dyn Read + Send>, length: u64) -> Source {
        let limit = usize::try_from(length.min(RECORD_BYTES_MAX)).unwrap_or(usize::MAX);
        let options = LinearReaderOptions::default()
            .with_prevalidate_chunk_crcs(true)
            .with_validate_data_section_crc(true)
            .with_validate_summary_section_crc(true)
            .with_check_finishes_after_end_magic(true)
            .with_record_length_limit(limit);
        Source {
            path: path.to_owned(),
            file,
            length,
            taken: 0,
            reader: LinearReader::new_with_options(options),
            contents: Contents { channels: BTreeMap::new(), knows_format: false },
        }
    }

    fn next(&mut self) -> Result<Option<Found>, RecordingError> {
        loop {
            let Some(event) = self.reader.next_event() else { return Ok(None) };
            match event.map_err(|error| self.contents.read_error(&self.path, error))? {
                LinearReadEvent::ReadRequest(wanted) => {
                    let buffer = self.reader.insert(wanted.min(PIECE_BYTES));
                    let got =
                        self.file.read(buffer).map_err(|source| RecordingError::io("read", &self.path, source))?;
                    self.reader.notify_read(got);
                    self.taken += got as u64;
                }
                LinearReadEvent::Record { opcode, data } => {
                    if let Some(found) = self.contents.take(&self.path, opcode, data)? {
                        return Ok(Some(found));
                    }
                }
            }
        }
    }
}

/// What the records so far have said about those to come.
struct Contents {
    channels: BTreeMap<u16, Topic>,
    knows_format: bool,
}

impl Contents {
    fn take(&mut self, path: &Path, opcode: u8, data: &[u8]) -> Result<Option<Found>, RecordingError> {
        // Other records are indices and statistics for other tools. They are not parsed at all.
        if ![op::HEADER, op::METADATA, op::CHANNEL, op::MESSAGE].contains(&opcode) {
            return Ok(None);
        }
        if !texts_fit(opcode, data) {
            return Err(RecordingError::damaged(path, "a text is longer than the record that holds it"));
        }
        match mcap::parse_record(opcode, data).map_err(|error| self.read_error(path, error))? {
            Record::Header(header) if header.profile != PROFILE => Err(RecordingError::Foreign(path.to_owned())),
            Record::Metadata(metadata) if metadata.name == PROFILE => {
                let found = metadata.metadata.get("format").cloned().unwrap_or_default();
                if found != FORMAT.to_string() {
                    return Err(RecordingError::Format { path: path.to_owned(), found });
                }
                self.knows_format = true;
                Ok(None)
            }
            Record::Channel(channel) => {
                if let Some(topic) = Topic::parse(&channel.topic) {
                    self.channels.insert(channel.id, topic);
                }
                Ok(None)
            }
            Record::Message { header, data } => {
                if !self.knows_format {
                    return Err(RecordingError::damaged(path, "it does not say its format"));
                }
                match self.channels.get(&header.channel_id) {
                    Some(topic) => found(path, *topic, &data).map(Some),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn read_error(&self, path: &Path, error: McapError) -> RecordingError {
        match error {
            McapError::BadMagic if !self.knows_format => RecordingError::Foreign(path.to_owned()),
            McapError::UnexpectedEof | McapError::UnexpectedEoc => RecordingError::Cut(path.to_owned()),
            McapError::Io(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
                RecordingError::Cut(path.to_owned())
            }
            McapError::RecordTooLarge { .. } | McapError::ChunkTooLarge(_) => RecordingError::Cut(path.to_owned()),
            other => RecordingError::damaged(path, other.to_string()),
        }
    }
}

/// True when no text of a record claims to be longer than the record. The library takes memory for what a text claims
/// before it looks whether there is so much.
fn texts_fit(opcode: u8, data: &[u8]) -> bool {
    let (skipped, texts, has_map) = match opcode {
        op::HEADER => (0, 2, false),
        op::METADATA => (0, 1, true),
        op::CHANNEL => (4, 2, true),
        _ => return true,
    };
    let after_text = |data: &mut &[u8]| {
        let (head, rest) = data.split_first_chunk::<4>()?;
        *data = rest.get(u32::from_le_bytes(*head) as usize..)?;
        Some(())
    };
    let Some(mut rest) = data.get(skipped..) else { return false };
    if (0..texts).any(|_| after_text(&mut rest).is_none()) {
        return false;
    }
    if has_map {
        // A map begins with its length in bytes, and is nothing but texts.
        rest = rest.get(4..).unwrap_or_default();
        while !rest.is_empty() {
            if after_text(&mut rest).is_none() {
                return false;
            }
        }
    }
    true
}

fn found(path: &Path, topic: Topic, bytes: &[u8]) -> Result<Found, RecordingError> {
    let wrong = |what: String| RecordingError::damaged(path, format!("{} does not parse: {what}", topic.name()));
    Ok(match topic {
        Topic::Start => {
            let start: Start = coding::read(bytes).map_err(|error| wrong(error.to_string()))?;
            if start.nodes.len() > SERVERS_MAX {
                return Err(wrong(format!("{} servers are too many", start.nodes.len())));
            }
            check_world(&start.world).map_err(wrong)?;
            Found::Start(Box::new(start))
        }
        Topic::Log(region) => {
            let log = TickLog::decode(bytes).ok_or_else(|| wrong(coding::Unreadable.to_string()))?;
            for input in &log.inputs {
                if let Input::Change(Change::Load { world, .. }) = input {
                    check_world(world).map_err(wrong)?;
                }
            }
            Found::Entry(Entry::Log(region, log))
        }
        Topic::Mark(region) => {
            let mark: WrittenMark = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
            let hash = u64::from_str_radix(&mark.hash, 16).map_err(|error| wrong(error.to_string()))?;
            Found::Entry(Entry::Mark(region, StateMark { tick: mark.tick, hash }))
        }
        Topic::Event(_) => {
            Found::Entry(Entry::Event(serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?))
        }
    })
}

/// Checks what a server relies on when it builds a world.
fn check_world(world: &World) -> Result<(), String> {
    let bodies = world.bodies.len();
    let is_body = |index: u32| (index as usize) < bodies;
    if world.tick_hz == 0 {
        return Err("a world without ticks".to_owned());
    }
    if !world.joints.iter().all(|joint| is_body(joint.a) && is_body(joint.b)) {
        return Err("a joint holds a body that does not exist".to_owned());
    }
    if !world.script.iter().all(|push| is_body(push.body)) {
        return Err("a push is for a body that does not exist".to_owned());
    }
    if !world.script.is_sorted_by_key(|push| push.tick) {
        return Err("its pushes are not in order".to_owned());
    }
    if world.injections.iter().any(|injection| injection.choices.is_empty()) {
        return Err("an injection has nothing to inject".to_owned());
    }
    Ok(())
}
