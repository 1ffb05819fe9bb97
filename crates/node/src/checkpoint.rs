//! A whole world at one tick: what each server contributes, how contributions make one world, and how servers begin from
//! it, on any number of them.
//!
//! A server contributes what it owns and what it has given away without an acknowledgement. How far the lanes had come is
//! part of it: with that, every body is found exactly once, also one that was under way; and where two contributions do
//! not fit together, because one server was ahead of the other, it shows, and another tick has to be tried.

use nimbus_model::{Group, Keepsake, Member, Nid, Placed, RegionId, Tick, World, coding};
use nimbus_physics::{Copied, Pressure};
use nimbus_space::PartitionMap;
use nimbus_wire::ask::LaneMarks;
use nimbus_wire::{
    Act, Address, BirthCause, Claim, Course, Deed, Item, PlannedBirth, Transfer, decode_group, encode_group,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::config::NodeConfig;
use crate::node::Node;
use crate::reigns::Reigns;

/// So long before its tick a contribution is begun. A server that is behind skips ticks, so there are three times as many as
/// it needs.
const DRAFT_TICKS: u64 = 24;

/// A group that has been given away and whose arrival is not acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct UnderWay {
    to: RegionId,
    sequence: u64,
    transfer: Transfer,
}

/// What one server contributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The region it serves.
    pub region: RegionId,
    /// After this tick.
    pub tick: Tick,
    /// How often a world had been loaded by then.
    pub era: u16,
    /// When this one was.
    pub loaded_at: Tick,
    bodies: Group,
    /// The epoch of each body, in their order.
    epochs: Vec<u32>,
    /// What a game keeps with some of them.
    keepsakes: Vec<(Nid, Keepsake)>,
    under_way: Vec<UnderWay>,
    lanes: Vec<LaneMarks>,
    /// Where kinematic bodies were on their way to.
    courses: Vec<(Nid, Course)>,
    /// What had been put into the world by then.
    placed: Placed,
}

/// What a server takes down for a contribution before the tick of it, a little every tick, so that none takes long.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pressure: Pressure,
}

/// What one server contributes, as the server wrote it down between two ticks.
#[derive(Clone, Debug)]
pub struct Contribution {
    region: RegionId,
    tick: Tick,
    era: u16,
    loaded_at: Tick,
    copied: Copied,
    hosted: Reigns,
    /// Bodies that a game has ordered and that are to appear here.
    unborn: Vec<Member>,
    keepsakes: BTreeMap<Nid, Keepsake>,
    under_way: Vec<UnderWay>,
    lanes: Vec<LaneMarks>,
    /// Where kinematic bodies were on their way to.
    courses: Vec<(Nid, Course)>,
    /// What had been put into the world by then.
    placed: Placed,
}

impl Contribution {
    /// Puts it in order. The server that wrote it has no time for that; any thread has.
    pub fn into_part(self) -> Part {
        let Contribution {
            region,
            tick,
            era,
            loaded_at,
            copied,
            hosted,
            unborn,
            keepsakes,
            under_way,
            lanes,
            courses,
            placed,
        } = self;
        let mut bodies = copied.into_group();
        bodies.members.retain(|member| hosted.contains(member.nid));
        bodies.members.extend(unborn.into_iter().filter(|member| !hosted.contains(member.nid)));
        bodies.sort();
        let epochs = bodies.members.iter().map(|member| hosted.get(member.nid).unwrap_or(1)).collect();
        let keepsakes = keepsakes.into_iter().collect();
        Part { region, tick, era, loaded_at, bodies, epochs, keepsakes, under_way, lanes, courses, placed }
    }
}

/// A part as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    region: RegionId,
    tick: Tick,
    era: u16,
    loaded_at: Tick,
    #[serde(with = "serde_bytes")]
    bodies: Vec<u8>,
    epochs: Vec<u32>,
    keepsakes: Vec<(Nid, Keepsake)>,
    under_way: Vec<UnderWay>,
    lanes: Vec<LaneMarks>,
    /// Where kinematic bodies were on their way to.
    courses: Vec<(Nid, Course)>,
    /// What had been put into the world by then.
    placed: Placed,
}

/// Why parts do not make a world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// Bytes that are no part.
    #[error("the part of {0} is damaged")]
    Damaged(RegionId),
    /// Parts of different ticks or worlds, or of others than wanted.
    #[error("the part of {0} is not of the tick and world of the checkpoint")]
    OtherTick(RegionId),
    /// A region has no part, or two.
    #[error("there must be exactly one part of {0}")]
    NotOnce(RegionId),
    /// One server had heard from the future of another.
    #[error("{sender} was behind {receiver}: what was under way between them may be in neither part")]
    Torn {
        /// Who had heard too much.
        sender: RegionId,
        /// Who had answered already.
        receiver: RegionId,
    },
    /// Two parts have the same body.
    #[error("body {0} is there twice")]
    Doubled(Nid),
}

impl Part {
    /// How many bodies it owned.
    pub fn bodies(&self) -> usize {
        self.bodies.members.len()
    }

    /// What had been given away and was not known to have arrived: each group as it was after the tick at which it was stepped
    /// last, with the epochs that its bodies have from then on. What cannot be read is left out.
    pub fn given_away(&self) -> Vec<(Tick, Vec<u32>, Group)> {
        let group = |UnderWay { transfer, .. }: &UnderWay| {
            let epochs = transfer.claims.iter().map(|claim| claim.body_epoch).collect();
            decode_group(&transfer.payload).ok().map(|group| (transfer.tick, epochs, group))
        };
        self.under_way.iter().filter_map(group).collect()
    }

    /// The part as it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let Part { region, tick, era, loaded_at, ref bodies, .. } = *self;
        coding::write(&Stored {
            region,
            tick,
            era,
            loaded_at,
            bodies: encode_group(bodies),
            epochs: self.epochs.clone(),
            keepsakes: self.keepsakes.clone(),
            under_way: self.under_way.clone(),
            lanes: self.lanes.clone(),
            courses: self.courses.clone(),
            placed: self.placed.clone(),
        })
    }

    /// The part of a region from where it was stored.
    pub fn decode(of: RegionId, bytes: &[u8]) -> Result<Part, CheckpointError> {
        let stored: Stored = coding::read(bytes).map_err(|_| CheckpointError::Damaged(of))?;
        let Stored { region, tick, era, loaded_at, bodies, epochs, keepsakes, under_way, lanes, courses, placed } =
            stored;
        let bodies = decode_group(&bodies).map_err(|_| CheckpointError::Damaged(of))?;
        if region != of || bodies.members.len() != epochs.len() || placed.problem().is_some() {
            return Err(CheckpointError::Damaged(of));
        }
        Ok(Part { region, tick, era, loaded_at, bodies, epochs, keepsakes, under_way, lanes, courses, placed })
    }

    fn lane(&self, peer: RegionId) -> LaneMarks {
        let known = self.lanes.iter().find(|lanes| lanes.peer == peer).copied();
        known.unwrap_or(LaneMarks { peer, acknowledged: 0, mark: 0 })
    }
}

/// A whole world after one tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// What it is a world of.
    pub world: Arc<World>,
    /// How often a world had been loaded. Ids contain it.
    pub era: u16,
    /// After this tick.
    pub tick: Tick,
    /// When the world was loaded: its injections go on from there.
    pub loaded_at: Tick,
    bodies: Group,
    epochs: BTreeMap<Nid, u32>,
    keepsakes: BTreeMap<Nid, Keepsake>,
    courses: BTreeMap<Nid, Course>,
}

impl Checkpoint {
    /// Makes a world of the parts of all regions.
    pub fn assemble(
        mut world: Arc<World>,
        regions: &[RegionId],
        parts: &[Part],
    ) -> Result<Checkpoint, CheckpointError> {
        let mut by_region = BTreeMap::new();
        for part in parts {
            if by_region.insert(part.region, part).is_some() {
                return Err(CheckpointError::NotOnce(part.region));
            }
        }
        if let Some(odd) = regions.iter().find(|region| !by_region.contains_key(region)) {
            return Err(CheckpointError::NotOnce(*odd));
        }
        let first = parts.first().ok_or(CheckpointError::NotOnce(RegionId(0)))?;
        let moment = |part: &Part| (part.tick, part.era, part.loaded_at);
        if let Some(odd) = parts.iter().find(|part| moment(part) != moment(first)) {
            return Err(CheckpointError::OtherTick(odd.region));
        }
        let (tick, era, loaded_at) = moment(first);
        // One that heard of a static late has it a moment later; the world goes on with all of them.
        let newest = parts.iter().map(|part| &part.placed).max_by_key(|placed| placed.revision);
        if let Some(placed) = newest.filter(|placed| **placed != world.placed) {
            Arc::make_mut(&mut world).placed = placed.clone();
        }
        let (bodies, epochs) = (Group::default(), BTreeMap::new());
        let (keepsakes, courses) = (BTreeMap::new(), BTreeMap::new());
        let mut whole = Checkpoint { world, era, tick, loaded_at, bodies, epochs, keepsakes, courses };
        for part in parts {
            whole.keepsakes.extend(part.keepsakes.iter().cloned());
            whole.courses.extend(part.courses.iter().copied());
            whole.add(part.bodies.clone(), part.epochs.iter().copied())?;
            for lanes in &part.lanes {
                let mark = by_region.get(&lanes.peer).map_or(0, |peer| peer.lane(part.region).mark);
                if mark < lanes.acknowledged {
                    return Err(CheckpointError::Torn { sender: part.region, receiver: lanes.peer });
                }
            }
        }
        for part in parts {
            for UnderWay { to, sequence, transfer } in &part.under_way {
                let arrived = by_region.get(to).map_or(0, |peer| peer.lane(part.region).mark);
                if *sequence > arrived {
                    let group = decode_group(&transfer.payload).map_err(|_| CheckpointError::Damaged(part.region))?;
                    if group.members.len() != transfer.claims.len() {
                        return Err(CheckpointError::Damaged(part.region));
                    }
                    whole.keepsakes.extend(transfer.keepsakes.iter().cloned());
                    whole.courses.extend(transfer.courses.iter().copied());
                    whole.add(group, transfer.claims.iter().map(|claim| claim.body_epoch))?;
                }
            }
        }
        whole.bodies.sort();
        Ok(whole)
    }

    fn add(&mut self, group: Group, epochs: impl Iterator<Item = u32>) -> Result<(), CheckpointError> {
        for (member, epoch) in group.members.iter().zip(epochs) {
            if self.epochs.insert(member.nid, epoch).is_some() {
                return Err(CheckpointError::Doubled(member.nid));
            }
        }
        self.bodies.members.extend(group.members);
        self.bodies.links.extend(group.links);
        self.bodies.contacts.extend(group.contacts);
        Ok(())
    }

    /// Every body of it, in order of id.
    pub fn nids(&self) -> impl ExactSizeIterator<Item = Nid> {
        self.epochs.keys().copied()
    }

    /// What a game kept with a body; empty when nothing.
    pub fn game_state(&self, nid: Nid) -> &[u8] {
        self.keepsakes.get(&nid).map_or(&[], |kept| kept.state.bytes())
    }

    /// Every body with what it was doing, in order of id.
    pub fn members(&self) -> &[Member] {
        &self.bodies.members
    }
}

impl Node {
    /// Takes down some of what can be taken down before the tick of a contribution. To be called after every tick.
    pub fn draft(&self, draft: &mut Draft, due: Tick) {
        if (1..=DRAFT_TICKS).contains(&due.0.saturating_sub(self.now.0)) {
            self.physics.note_pressure(&mut draft.pressure);
        }
    }

    /// Takes all of it down at once, for whoever has the time.
    pub fn whole_draft(&self) -> Draft {
        Draft { pressure: self.physics.pressure() }
    }

    /// What this server contributes to a checkpoint after the tick that it has run last. A look: nothing changes, and
    /// whatever can wait is left to [`Contribution::into_part`]. Touches that the draft lacks are not in it: bodies go on
    /// without them, and may twitch.
    pub fn contribution(&self, draft: Draft) -> Contribution {
        let under_way = self.outbox.numbered().filter_map(|(to, sequence, item)| match (to, item) {
            (Address::Region(to), Item::Transfer(transfer)) => {
                Some(UnderWay { to, sequence, transfer: transfer.clone() })
            }
            (Address::Region(to), item @ (Item::Deed(_) | Item::Birth(_))) => {
                let (member, keepsake) = self.born(item)?;
                let claims = vec![Claim { nid: member.nid, body_epoch: 1, restless: 0 }];
                let keepsakes = keepsake.into_iter().map(|kept| (member.nid, kept)).collect();
                let payload = encode_group(&Group::of(vec![member]));
                let transfer = Transfer {
                    tick: self.now,
                    claims,
                    payload,
                    obeyed: Vec::new(),
                    returned: None,
                    keepsakes,
                    courses: Vec::new(),
                };
                Some(UnderWay { to, sequence, transfer })
            }
            _ => None,
        });
        let mut unborn = Vec::new();
        let mut keepsakes = self.keepsakes.clone();
        for birth in self.pending.births() {
            if let BirthCause::Game(keepsake) = birth.cause {
                keepsakes.insert(birth.nid, keepsake);
                unborn.push(Member { nid: birth.nid, desc: birth.desc, motion: birth.motion });
            }
        }
        Contribution {
            region: self.region(),
            tick: self.now,
            era: self.era,
            loaded_at: self.loaded_at,
            copied: self.physics.copy(draft.pressure),
            hosted: self.hosted.clone(),
            unborn,
            keepsakes,
            under_way: under_way.collect(),
            lanes: self.lane_marks(),
            courses: self.courses.iter().map(|(nid, course)| (*nid, *course)).collect(),
            placed: self.world.placed.clone(),
        }
    }

    /// How far the lanes to and from every neighbour have come.
    pub(crate) fn lane_marks(&self) -> Vec<LaneMarks> {
        let mut lanes: BTreeMap<RegionId, LaneMarks> = BTreeMap::new();
        let fresh = |peer| LaneMarks { peer, acknowledged: 0, mark: 0 };
        for (peer, acknowledged) in self.outbox.acknowledged() {
            if let Address::Region(peer) = peer {
                lanes.entry(peer).or_insert(fresh(peer)).acknowledged = acknowledged;
            }
        }
        for (peer, mark) in self.inbox.marks() {
            if let Address::Region(peer) = peer {
                lanes.entry(peer).or_insert(fresh(peer)).mark = mark;
            }
        }
        lanes.into_values().collect()
    }

    /// A server for a region of a world that goes on from a checkpoint, under any partition; its first tick will be the
    /// one after that of the checkpoint. Every server comes to the same verdict about what belongs where without asking.
    pub fn resume(config: NodeConfig, from: &Checkpoint, map: PartitionMap) -> Node {
        let mut node = Node::empty(config, from.world.clone(), from.era, map, from.tick);
        node.loaded_at = from.loaded_at;
        let everyone = Group { contacts: Vec::new(), ..from.bodies.clone() };
        let mut here = node.start(everyone.linkages(), from.tick);
        let ours: BTreeSet<Nid> = here.members.iter().map(|member| member.nid).collect();
        let stays = |nid: Nid| ours.contains(&nid) || !from.epochs.contains_key(&nid);
        here.contacts.extend(from.bodies.contacts.iter().filter(|touch| stays(touch.a) && stays(touch.b)).cloned());
        node.bear(here, |nid| from.epochs.get(&nid).copied().unwrap_or(1));
        let kept = from.keepsakes.iter().filter(|(nid, _)| node.hosted.contains(**nid));
        node.keepsakes = kept.map(|(nid, kept)| (*nid, kept.clone())).collect();
        let courses = from.courses.iter().filter(|(nid, course)| ours.contains(nid) && course.pose.is_valid());
        node.courses.extend(courses.map(|(nid, course)| (*nid, *course)));
        node
    }

    /// The body that an item on a lane brings into being, if the checkpoint has to have it: what injections have yet to
    /// add is added when the world goes on.
    fn born(&self, item: &Item) -> Option<(Member, Option<Keepsake>)> {
        match item {
            Item::Deed(Deed { act: Act::Birth { nid, desc, motion, keepsake }, .. }) => {
                Some((Member { nid: *nid, desc: desc.clone(), motion: *motion }, Some(keepsake.clone())))
            }
            Item::Birth(PlannedBirth { at, nid, desc, motion, cause }) => {
                let keepsake = match cause {
                    BirthCause::World if *at <= self.now => None,
                    BirthCause::Game(keepsake) => Some(keepsake.clone()),
                    BirthCause::World | BirthCause::Command(_) => return None,
                };
                Some((Member { nid: *nid, desc: desc.clone(), motion: *motion }, keepsake))
            }
            _ => None,
        }
    }
}
