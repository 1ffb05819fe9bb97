//! What clients see is what is: once the network is quiet, every client shows exactly the bodies that exist, with their
//! owners, where they are.

use nimbus_model::Nid;
use nimbus_wire::stream::STREAM_BODIES_MAX;
use std::collections::BTreeMap;

use super::one_owner::OneOwner;
use super::{Broken, Scene};

const RULE: &str = "mirror";
/// What a client shows may be this old.
const AGE_S: f32 = 0.25;
/// The same in ticks, for news of births, deaths and changes of owner.
const AGE_TICKS: u64 = 15;
const TOLERANCE_M: f32 = 0.2;

pub(super) fn conclude(scene: &Scene<'_>, owners: &OneOwner, broken: &mut Vec<Broken>) {
    let settled = |nid: &Nid| scene.tick.since(owners.last_change(*nid)) > AGE_TICKS && !scene.unsettled.contains(nid);
    let mut truth = BTreeMap::new();
    for node in &scene.nodes {
        for (nid, _) in node.hosted() {
            if let Some(motion) = node.motion(nid) {
                truth.insert(nid, (node.region(), motion));
            }
        }
    }
    for (index, client) in scene.clients.iter().enumerate() {
        let seen: BTreeMap<Nid, _> = client.bodies().map(|body| (body.nid, body)).collect();
        // No view holds more.
        if seen.len() == STREAM_BODIES_MAX {
            continue;
        }
        let absent: Vec<Nid> = truth.keys().filter(|nid| !seen.contains_key(nid) && settled(nid)).copied().collect();
        let extra: Vec<Nid> = seen.keys().filter(|nid| !truth.contains_key(nid) && settled(nid)).copied().collect();
        if !absent.is_empty() || !extra.is_empty() {
            let what = format!("client {index} lacks {} bodies and shows {} dead ones", absent.len(), extra.len());
            broken.push(Broken(RULE, format!("{what}; the first is {:?}", absent.iter().chain(&extra).next())));
        }
        for (nid, body) in seen {
            let Some((region, motion)) = truth.get(&nid) else { continue };
            let off = (body.pose.position - motion.pose.position).length();
            let allowed = TOLERANCE_M + motion.velocity.linear.length() * AGE_S;
            if off > allowed || (body.region != *region && settled(&nid)) {
                let what = format!("client {index} shows {nid} {off} m off on {}, it is on {region}", body.region);
                broken.push(Broken(RULE, what));
            }
        }
    }
}
