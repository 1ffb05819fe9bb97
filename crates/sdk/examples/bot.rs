//! A bot without a picture: looks for the body nearest to the middle of the world, pushes it, and says what it sees.
//!
//!     cargo xtask demo
//!     cargo run -p nimbus-sdk --example bot -- ws://127.0.0.1:7777/ws
//!
//! `quic://127.0.0.1:7777 --sha256 FINGERPRINT` comes over QUIC instead; the demo prints the fingerprint.
//! More addresses are other gateways of the same world, to move to when one dies. A token, where one is needed, is taken
//! from NIMBUS_TOKEN. `--pushes N` ends after so many pushes; without it the bot goes on.

use nimbus_sdk::{
    AskError, BodyKind, Connection, Event, Nid, Options, Placed, Query, QueryAnswer, QueryFilter, Trust, Vec3,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// How far around a body the bot looks, metres.
const REACH: f32 = 60.0;
/// How hard it pushes for each kilogram, N s.
const PUSH: f32 = 4.0;
const PAUSE: Duration = Duration::from_millis(500);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut addresses, mut pins, mut pushes) = (Vec::new(), Vec::new(), u32::MAX);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--pushes" => pushes = arguments.next().ok_or("--pushes needs a number")?.parse()?,
            "--sha256" => pins.push(arguments.next().ok_or("--sha256 needs a fingerprint")?.parse()?),
            _ => addresses.push(argument),
        }
    }
    let first = if addresses.is_empty() { "ws://127.0.0.1:7777/ws".to_owned() } else { addresses.remove(0) };
    let token = std::env::var("NIMBUS_TOKEN").ok();
    let trust = if pins.is_empty() { Trust::default() } else { Trust::Pinned(pins) };
    let options = Options { token, trust, gateways: addresses, ..Options::default() };
    let connection = Connection::connect(&first, options).await?;
    println!("connected to {}", connection.gateway());
    println!("{}", connection.look(|client| format!("world `{}`", client.world().unwrap_or("?"))));

    let mut seen = Seen::default();
    let mut pushed = BTreeSet::new();
    let mut done = 0;
    while done < pushes {
        // Take what happened for a moment, then act.
        let moment = tokio::time::sleep(PAUSE);
        tokio::pin!(moment);
        loop {
            tokio::select! {
                () = &mut moment => break,
                event = connection.next_event() => match event {
                    Some(event) => seen.take(&event),
                    None => return Err("the connection is over".into()),
                },
            }
        }
        match push_nearest(&connection, &mut pushed).await {
            Ok(Some(words)) => {
                done += 1;
                println!("{words}");
            }
            Ok(None) => println!("nothing to push"),
            Err(problem) => println!("not pushed: {problem}"),
        }
        println!("  {seen:?}, shown {} ms behind", connection.delay().as_millis());
    }
    connection.close().await;
    Ok(())
}

/// Pushes the body that is nearest to the middle of the world, upwards and away, each only once, and asks what is next to it.
async fn push_nearest(connection: &Connection, pushed: &mut BTreeSet<Nid>) -> Result<Option<String>, AskError> {
    let poses = connection.poses_at(connection.now());
    let free =
        poses.iter().filter(|placed| placed.body.kind == BodyKind::Dynamic && !pushed.contains(&placed.body.nid));
    let away = |placed: &&Placed| placed.pose.position.length();
    let Some(target) = free.min_by(|a, b| away(a).total_cmp(&away(b))) else { return Ok(None) };
    let (nid, place) = (target.body.nid, target.pose.position);

    let card = connection.inspect(nid).await?;
    let outwards = Vec3::new(place.x, 0.0, place.z).try_normalize().unwrap_or(Vec3::X);
    // Half of the cube around it is about its volume: the push need not be exact.
    let mass = card.desc.density * 4.0 * card.desc.shape.bounding_radius().powi(3);
    connection.impulse(nid, (outwards + Vec3::Y) * PUSH * mass).await?;
    pushed.insert(nid);

    let filter = QueryFilter { statics: false, except: Some(nid), ..QueryFilter::default() };
    let hits = connection.query(vec![Query::Nearest { position: place, max: REACH }], filter).await?;
    let neighbour = match hits.answers.first() {
        Some(QueryAnswer::Nearest(Some(near))) => format!("{} is {:.2} m away", near.nid, near.distance),
        _ => format!("nothing is within {REACH} m"),
    };
    let (x, y, z) = (place.x, place.y, place.z);
    let owner = format!("region {} after {} hand-overs", card.region.0, card.hand_overs);
    Ok(Some(format!("pushed {nid} at {x:.1} {y:.1} {z:.1}, {owner}; {neighbour}")))
}

/// What happened, counted.
#[derive(Debug, Default)]
#[allow(dead_code, reason = "read by the Debug text")]
struct Seen {
    born: u64,
    died: u64,
    hand_overs: u64,
    gateways_lost: u64,
}

impl Seen {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Born { .. } => self.born += 1,
            Event::Died { .. } => self.died += 1,
            Event::HandedOver { .. } => self.hand_overs += 1,
            Event::Lost { reason } => {
                self.gateways_lost += 1;
                println!("lost the gateway: {reason}");
            }
            Event::Connected { role, .. } => println!("let in as {role}"),
            Event::Missed(count) => println!("{count} events were not taken in time"),
            _ => {}
        }
    }
}
