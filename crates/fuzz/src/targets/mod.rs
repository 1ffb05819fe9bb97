//! Every decoder of bytes that come from outside.

mod clients;
mod control;
mod files;
mod frames;
mod parts;
mod servers;
mod streams;

use nimbus_model::coding::Allowance;
use nimbus_wire::client::{ClientHello, FromClient, ToClient, bodies};
use nimbus_wire::{Frame, decode_group};

use crate::{Limit, Target, Verdict};

/// What every decoder is held to: four bytes of memory for each byte read.
const FACTOR: usize = 4;

/// Room of decoders that know before they allocate how much there is: some names, addresses and an error message.
const SMALL: Limit = Limit { factor: FACTOR, room: 4 << 10 };

/// Room of what [`nimbus_model::coding`] reads: a list of the longest lane, whose entries are wide in memory even when they
/// say little.
const CODED: Limit = Limit { factor: FACTOR, room: Allowance::MESSAGE.room };

/// A message of a client becomes a tree of JSON values before anything is known about it. Its length, its values and the
/// objects among them are limited, so this is a constant: 8,192 values, some of them with lists or objects of their own.
const JSON: Limit = Limit { factor: FACTOR, room: 2 << 20 };

/// Text that a gateway sends is read by whoever chose that gateway, and world files by whoever wrote them. A number of two
/// characters takes up to a hundred bytes while it is read; the length of a world file is limited.
const TRUSTED_TEXT: Limit = Limit { factor: 160, room: 64 << 10 };

/// A world file may say `repeat`, and a short one stands for up to two hundred thousand bodies.
const WORLD: Limit = Limit { factor: 160, room: 128 << 20 };

/// Room of a whole server: places that the engine keeps for bodies that are gone.
const SNAPSHOT: Limit = Limit { factor: FACTOR, room: Allowance::SNAPSHOT.room };

/// A packet of a stream may say in no bits at all that the bodies of the one before are still there, so memory follows the
/// most bodies of a snapshot (4,096 at 64 bytes, and half of that while the list grows) and what the decoder remembers.
const STREAM: Limit = Limit { factor: FACTOR, room: 2 << 20 };

const fn target(
    name: &'static str,
    limit: Limit,
    decode: fn(&[u8]) -> Verdict,
    make: fn(&mut nimbus_model::Rng) -> Vec<u8>,
) -> Target {
    Target { name, decode, make, limit }
}

/// A frame whose kind is one of these; each kind is a decoder of its own, under its own limit.
fn frame(bytes: &[u8], kinds: &[u8]) -> Verdict {
    if bytes.get(1).is_some_and(|kind| !kinds.contains(kind)) {
        return Verdict::Refused;
    }
    // The mesh looks at the addresses first, and at the rest only when they are allowed.
    let addresses = Frame::addresses(bytes).is_ok();
    let frame = Frame::decode(bytes).is_ok();
    assert!(addresses || !frame, "a frame without addresses");
    Verdict::of(frame)
}

fn text(bytes: &[u8], parse: impl Fn(&str) -> bool) -> Verdict {
    Verdict::of(std::str::from_utf8(bytes).is_ok_and(parse))
}

static ALL: [Target; 27] = [
    target("frame-lane", CODED, |bytes| frame(bytes, &[0]), frames::lane),
    target("frame-states", SMALL, |bytes| frame(bytes, &[1]), frames::states),
    target("frame-auras", SMALL, |bytes| frame(bytes, &[2]), frames::auras),
    target("frame-seams", CODED, |bytes| frame(bytes, &[3]), frames::seams),
    target("frame-records", CODED, |bytes| frame(bytes, &[8, 9, 10]), frames::records),
    target("frame-asks", CODED, |bytes| frame(bytes, &[11, 12, 13]), frames::asks),
    target("group", CODED, |bytes| Verdict::of(decode_group(&frames::sealed(bytes)).is_ok()), frames::group),
    target("to-coordinator", CODED, control::to_coordinator, control::make_to_coordinator),
    target("from-coordinator", CODED, control::from_coordinator, control::make_from_coordinator),
    target("roster", CODED, control::roster, control::make_roster),
    target("post", CODED, control::post, control::make_post),
    target("checkpoint-part", CODED, servers::part, servers::make_part),
    target("hello", SMALL, control::hello, control::make_hello),
    target("process-name", SMALL, control::name, control::make_name),
    target("from-client", JSON, |bytes| text(bytes, |text| FromClient::parse(text).is_ok()), clients::from_client),
    target("to-client", TRUSTED_TEXT, |bytes| text(bytes, |text| ToClient::parse(text).is_ok()), clients::to_client),
    target("client-hello", SMALL, |bytes| Verdict::of(ClientHello::decode(bytes).is_ok()), clients::hello),
    target("client-frames", SMALL, |bytes| Verdict::of(clients::read_frames(bytes)), clients::frames),
    target("client-bodies", SMALL, |bytes| Verdict::of(clients::walk(bodies::decode(bytes))), clients::bodies),
    target("body-stream", STREAM, streams::decode, streams::make),
    target("body-id", SMALL, |bytes| text(bytes, |text| text.parse::<nimbus_model::Nid>().is_ok()), clients::nid),
    target("tick-log", CODED, servers::tick_log, servers::make_tick_log),
    target("partition-map", CODED, servers::map, servers::make_map),
    target("node-snapshot", SNAPSHOT, servers::node, servers::make_node),
    target("physics-snapshot", SNAPSHOT, servers::physics, servers::make_physics),
    target("recording", CODED, files::recording, files::make_recording),
    target("world-file", WORLD, files::world, files::make_world),
];

/// All of them.
pub fn all() -> &'static [Target] {
    &ALL
}
