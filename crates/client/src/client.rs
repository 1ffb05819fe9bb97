//! The client itself: messages in, knowledge and commands out.

use nimbus_model::{Aabb, ClientId, JointDesc, Nid, Pose, RegionBox, RegionId, Shape, Tick, Vec3};
use nimbus_wire::client::bodies::{self, Bodies};
use nimbus_wire::client::{
    Authority, BodyCard, BreachNews, ClientRole, FromClient, Hits, Overlay, Query, QueryFilter, SceneInfo, Spawn,
    StaticBody, StaticSpawn, ToClient, TouchNews, TouchesOf, Watch, WorldStats,
};
use nimbus_wire::stream::{Decoded, StreamConfig, StreamDecodeError, StreamDecoder};
use std::collections::{BTreeMap, VecDeque};

use crate::bodies::{Body, BodyStore};
use crate::seams::Seams;
use crate::tickets::Tickets;

/// Answers kept for whoever asked; older ones are forgotten.
const ANSWERS_MAX: usize = 4096;
/// Cards kept for whoever asked; older ones are forgotten.
const CARDS_MAX: usize = 256;
/// Answers to questions kept for whoever asked; older ones are forgotten.
const HITS_MAX: usize = 256;
/// Touches kept for whoever takes them; older ones are forgotten and count as left out.
const TOUCHES_MAX: usize = 65_536;

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number that the command went out with.
    pub seq: Option<u64>,
    /// The body it was about, if any; or why it was refused.
    pub outcome: Result<Option<Nid>, String>,
}

/// What a client did not believe or did not understand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Messages that were no messages.
    pub messages: u64,
    /// Messages of a type or kind that this version does not know.
    pub skipped: u64,
    /// Records about a body that is not known, or older than what is.
    pub records: u64,
    /// Bodies whose shape was not announced. They are kept.
    pub shapeless: u64,
}

/// The world that was loaded last.
#[derive(Clone, Debug, Default, PartialEq)]
struct Loaded {
    era: u16,
    name: String,
    tick_hz: u32,
    statics: Vec<StaticBody>,
}

/// What is known of a compressed stream; nothing is, until there is one.
#[derive(Clone, Debug, Default)]
struct Packed(Option<Box<StreamDecoder>>);

impl Packed {
    fn decode(&mut self, packet: &[u8]) -> Result<Decoded<'_>, StreamDecodeError> {
        self.0.get_or_insert_with(|| Box::new(StreamDecoder::new(StreamConfig::default()))).decode(packet)
    }
}

/// Everything one client knows. Feed it what the gateway sends, in order.
#[derive(Clone, Debug, Default)]
pub struct Client {
    id: Option<ClientId>,
    role: Option<ClientRole>,
    tickets: Tickets,
    gateways: Vec<String>,
    scenes: Vec<SceneInfo>,
    world: Option<Loaded>,
    map_epoch: Option<u64>,
    map: BTreeMap<RegionId, Vec<Aabb>>,
    clock: Option<(bool, f32)>,
    dilation: Option<f32>,
    stats: Option<WorldStats>,
    shapes: BTreeMap<u32, Shape>,
    bodies: BodyStore,
    packed: Packed,
    seams: Seams,
    tick: Option<Tick>,
    answers: VecDeque<Answer>,
    cards: VecDeque<BodyCard>,
    hits: VecDeque<Hits>,
    touches: VecDeque<TouchNews>,
    touches_left_out: u64,
    dropped: Dropped,
    seq: u64,
}

impl Client {
    /// A client that knows nothing yet.
    pub fn new() -> Client {
        Client::default()
    }

    /// A text message from the gateway.
    pub fn handle_text(&mut self, text: &str) {
        if let Some(message) = self.parse(text) {
            self.take(message);
        }
    }

    /// Text as a message; what is none, or not known, is counted.
    pub(crate) fn parse(&mut self, text: &str) -> Option<ToClient> {
        let parsed = ToClient::parse(text);
        match parsed {
            Ok(None) => self.dropped.skipped += 1,
            Err(_) => self.dropped.messages += 1,
            Ok(Some(_)) => {}
        }
        parsed.ok().flatten()
    }

    pub(crate) fn take(&mut self, message: ToClient) {
        match message {
            ToClient::Welcome { client, role, scenes, .. } => {
                (self.id, self.role, self.scenes) = (Some(client), Some(role), scenes);
            }
            ToClient::Ticket { token } => self.tickets.add(token),
            ToClient::Gateways { at } => self.gateways = at,
            ToClient::World { era, name, tick_hz, statics, .. } => {
                self.world = Some(Loaded { era, name, tick_hz, statics });
                self.shapes.clear();
                self.bodies = BodyStore::default();
                self.packed = Packed::default();
                self.seams = Seams::default();
                self.tick = None;
            }
            ToClient::Map { epoch, regions } => {
                self.map_epoch = Some(epoch);
                let boxes = |bounds: &[nimbus_wire::client::Bounds]| bounds.iter().map(Aabb::from).collect();
                self.map = regions.iter().map(|region| (region.id, boxes(&region.boxes))).collect();
            }
            ToClient::Shape { id, shape } => {
                self.shapes.insert(id, shape);
            }
            ToClient::Clock { paused, speed, dilation } => {
                (self.clock, self.dilation) = (Some((paused, speed)), Some(dilation));
            }
            ToClient::Stats(stats) => self.stats = Some(stats),
            ToClient::Body(card) => {
                if self.cards.len() == CARDS_MAX {
                    self.cards.pop_front();
                }
                self.cards.push_back(card);
            }
            ToClient::Hits(hits) => {
                if self.hits.len() == HITS_MAX {
                    self.hits.pop_front();
                }
                self.hits.push_back(hits);
            }
            ToClient::Breaches { total, recent } => (self.seams.total, self.seams.breaches) = (total, recent),
            ToClient::Done { seq, nid } => self.answered(Answer { seq, outcome: Ok(nid) }),
            ToClient::Refused { seq, reason } => self.answered(Answer { seq, outcome: Err(reason) }),
            ToClient::Touches { touches, left_out } => {
                self.touches.extend(touches);
                let beyond = self.touches.len().saturating_sub(TOUCHES_MAX);
                self.touches.drain(..beyond);
                self.touches_left_out += left_out + beyond as u64;
            }
            ToClient::Statics { added, removed } => {
                if let Some(world) = &mut self.world {
                    world.statics.retain(|known| !removed.contains(&known.nid));
                    world.statics.extend(added);
                }
            }
        }
    }

    /// A binary message from the gateway.
    pub fn handle_binary(&mut self, bytes: &[u8]) {
        let store = &mut self.bodies;
        let ignored = match bodies::decode(bytes) {
            Ok(Some(Bodies::Create(records))) => {
                for create in bodies::creates(records) {
                    self.dropped.shapeless += u64::from(!self.shapes.contains_key(&create.shape));
                    store.create(create);
                }
                0
            }
            Ok(Some(Bodies::Leave(records))) => bodies::slots(records).filter(|slot| !store.destroy(*slot)).count(),
            Ok(Some(Bodies::Packed(tick, packet))) => match self.packed.decode(packet) {
                Ok(snapshot) => {
                    self.tick = self.tick.max(Some(tick));
                    snapshot.bodies().filter(|body| !store.show(tick, body)).count()
                }
                Err(_) => {
                    self.dropped.messages += 1;
                    0
                }
            },
            Ok(Some(Bodies::Destroy(records))) => bodies::slots(records).filter(|slot| !store.destroy(*slot)).count(),
            Ok(Some(Bodies::Owner(records))) => {
                bodies::owners(records).filter(|(slot, region)| !store.own(*slot, *region)).count()
            }
            Ok(Some(Bodies::State(tick, columns))) => {
                self.tick = self.tick.max(Some(tick));
                bodies::states(columns).filter(|(slot, pose)| !store.place(*slot, tick, *pose)).count()
            }
            Ok(Some(Bodies::Auras(records))) => {
                self.seams.auras = bodies::auras(records).collect();
                0
            }
            Ok(Some(Bodies::Clusters(records))) => {
                self.seams.take_clusters(bodies::clusters(records));
                0
            }
            Ok(Some(Bodies::InTransit(records))) => {
                self.seams.in_transit = bodies::owners(records).collect();
                0
            }
            Ok(None) => {
                self.dropped.skipped += 1;
                0
            }
            Err(_) => {
                self.dropped.messages += 1;
                0
            }
        };
        self.dropped.records += ignored as u64;
    }

    /// All bodies in order of id.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.bodies.iter()
    }

    /// How many bodies are known.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// True when no body is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The body of this id.
    pub fn body(&self, nid: Nid) -> Option<&Body> {
        self.bodies.by_nid(nid)
    }

    /// The body in this slot.
    pub fn body_in(&self, slot: u32) -> Option<&Body> {
        self.bodies.by_slot(slot)
    }

    /// The shape of this number.
    pub fn shape(&self, id: u32) -> Option<&Shape> {
        self.shapes.get(&id)
    }

    /// The gateway's number for this client; none before the welcome.
    pub fn id(&self) -> Option<ClientId> {
        self.id
    }

    /// What this client may do; none before the welcome.
    pub fn role(&self) -> Option<ClientRole> {
        self.role
    }

    /// What opens the door the next time, where the gateway asks for tokens.
    pub fn tickets(&mut self) -> &mut Tickets {
        &mut self.tickets
    }

    /// Where the gateways of this world are, each as `host:port`, as far as the one we hear from told.
    pub fn gateways(&self) -> &[String] {
        &self.gateways
    }

    /// Worlds that may be asked for.
    pub fn scenes(&self) -> &[SceneInfo] {
        &self.scenes
    }

    /// Name of the world; none before one is known.
    pub fn world(&self) -> Option<&str> {
        self.world.as_ref().map(|world| world.name.as_str())
    }

    /// How often a world was loaded; none before one is known.
    pub fn era(&self) -> Option<u16> {
        self.world.as_ref().map(|world| world.era)
    }

    /// Ticks a second; none before a world is known.
    pub fn tick_hz(&self) -> Option<u32> {
        self.world.as_ref().map(|world| world.tick_hz)
    }

    /// What never moves.
    pub fn statics(&self) -> &[StaticBody] {
        self.world.as_ref().map_or(&[], |world| &world.statics)
    }

    /// Which region has which boxes.
    pub fn map(&self) -> &BTreeMap<RegionId, Vec<Aabb>> {
        &self.map
    }

    /// Epoch of the map; none before one is known.
    pub fn map_epoch(&self) -> Option<u64> {
        self.map_epoch
    }

    /// Whether the timeline stands still, and the speed that was asked for; none before they are known.
    pub fn clock(&self) -> Option<(bool, f32)> {
        self.clock
    }

    /// The share of that speed at which time passes: less than 1 while the world slows down because a region cannot keep up.
    pub fn dilation(&self) -> f32 {
        self.dilation.unwrap_or(1.0)
    }

    /// The latest figures.
    pub fn stats(&self) -> Option<&WorldStats> {
        self.stats.as_ref()
    }

    /// The latest tick that a body was seen at, since the world was loaded.
    pub fn tick(&self) -> Option<Tick> {
        self.tick
    }

    /// The auras that the gateway told of last, as body and reach. Choose them with [`Client::overlays`].
    pub fn auras(&self) -> impl Iterator<Item = (Nid, f32)> {
        self.seams.auras.iter().filter_map(|(slot, reach)| Some((self.body_in(*slot)?.nid, *reach)))
    }

    /// The clusters that the gateway told of last, as slots.
    pub fn clusters(&self) -> &[Vec<u32>] {
        &self.seams.clusters
    }

    /// Bodies on their way between servers as the gateway told of them last, and where to.
    pub fn in_transit(&self) -> impl Iterator<Item = (Nid, RegionId)> {
        self.seams.in_transit.iter().filter_map(|(slot, to)| Some((self.body_in(*slot)?.nid, *to)))
    }

    /// Promises that are void, in force or recent, oldest first.
    pub fn breaches(&self) -> &[BreachNews] {
        &self.seams.breaches
    }

    /// How many promises became void since the servers started, as far as this client was told.
    pub fn breaches_in_all(&self) -> u64 {
        self.seams.total
    }

    /// What became known of bodies since the last call, oldest first. Ask with [`Client::inspect`].
    pub fn take_cards(&mut self) -> Vec<BodyCard> {
        self.cards.drain(..).collect()
    }

    /// What is where, as it was answered since the last call, oldest first. Ask with [`Client::query`].
    pub fn take_hits(&mut self) -> Vec<Hits> {
        self.hits.drain(..).collect()
    }

    /// Touches that began and ended and were told of since the last call, and how many more there were. Choose them with
    /// [`Client::touches`].
    pub fn take_touches(&mut self) -> (Vec<TouchNews>, u64) {
        (self.touches.drain(..).collect(), std::mem::take(&mut self.touches_left_out))
    }

    /// What was not believed or not understood.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Answers that came since the last call, oldest first.
    pub fn take_answers(&mut self) -> Vec<Answer> {
        self.answers.drain(..).collect()
    }

    /// The number of the command that was made last.
    pub fn last_seq(&self) -> u64 {
        self.seq
    }

    /// Asks for a body.
    pub fn spawn(&mut self, spawn: Spawn) -> String {
        self.command(&FromClient::Spawn(spawn))
    }

    /// Pushes a body, N s.
    pub fn impulse(&mut self, nid: Nid, impulse: Vec3) -> String {
        self.command(&FromClient::Impulse { nid, impulse })
    }

    /// Removes a body.
    pub fn despawn(&mut self, nid: Nid) -> String {
        self.command(&FromClient::Despawn { nid })
    }

    /// Holds two bodies together from now on; the anchors of the joint are in the order of the bodies.
    pub fn join(&mut self, one: Nid, two: Nid, joint: JointDesc) -> String {
        self.command(&FromClient::Join { one, two, joint })
    }

    /// Tells the game of the world something about a body.
    pub fn game(&mut self, nid: Nid, payload: &[u8]) -> String {
        self.command(&FromClient::Game { nid, payload: payload.to_vec() })
    }

    /// Gives a body another velocity; what is `None` stays.
    pub fn velocity(&mut self, nid: Nid, linear: Option<Vec3>, angular: Option<Vec3>) -> String {
        self.command(&FromClient::Velocity { nid, linear, angular })
    }

    /// Moves a kinematic body to a place within some ticks.
    pub fn target(&mut self, nid: Nid, pose: Pose, ticks: u32) -> String {
        self.command(&FromClient::Target { nid, pose, ticks })
    }

    /// Puts a static into the world. [`Client::despawn`] takes it out again.
    pub fn place_static(&mut self, fixed: StaticSpawn) -> String {
        self.command(&FromClient::Static(fixed))
    }

    /// Draws the regions anew; the first box that holds a place wins, and `rest` has what none holds.
    pub fn draw_regions(&mut self, boxes: Vec<RegionBox>, rest: RegionId) -> String {
        self.command(&FromClient::Regions { boxes, rest })
    }

    /// Loads the present world again.
    pub fn reset(&mut self) -> String {
        self.command(&FromClient::Reset)
    }

    /// Loads another world.
    pub fn scene(&mut self, name: &str) -> String {
        self.command(&FromClient::Scene { name: name.to_owned() })
    }

    /// Stops or resumes the timeline.
    pub fn pause(&mut self, paused: bool) -> String {
        self.command(&FromClient::Pause { paused })
    }

    /// Runs some ticks while paused.
    pub fn step(&mut self, ticks: u32) -> String {
        self.command(&FromClient::Step { ticks })
    }

    /// Ends a server at once, where that is allowed.
    pub fn kill(&mut self, server: u16) -> String {
        self.command(&FromClient::Kill { server })
    }

    /// Sets the speed of the timeline.
    pub fn speed(&mut self, factor: f32) -> String {
        self.command(&FromClient::Speed { factor })
    }

    /// Chooses what the gateway tells on top of the bodies.
    pub fn overlays(&mut self, on: &[Overlay]) -> String {
        self.command(&FromClient::Overlays { on: on.to_vec() })
    }

    /// Chooses whose touches the gateway tells of; see [`Client::take_touches`].
    pub fn touches(&mut self, of: TouchesOf) -> String {
        self.command(&FromClient::Touches { of })
    }

    /// Asks what is known of a body; see [`Client::take_cards`].
    pub fn inspect(&mut self, nid: Nid) -> String {
        self.command(&FromClient::Inspect { nid })
    }

    /// Asks what is where, of the bodies that the filter admits; see [`Client::take_hits`]. The gateway answers from
    /// what it heard last, and says how old that is.
    pub fn query(&mut self, queries: Vec<Query>, filter: QueryFilter) -> String {
        self.command(&FromClient::Query { queries, filter, authority: Authority::Gateway })
    }

    /// The same of every server, after one tick that is to come soon: the answers are those that one world with all
    /// bodies at that tick would give, or say which regions are missing.
    pub fn query_servers(&mut self, queries: Vec<Query>, filter: QueryFilter) -> String {
        self.command(&FromClient::Query { queries, filter, authority: Authority::Servers { at: None } })
    }

    /// The same, after this tick.
    pub fn query_servers_at(&mut self, at: Tick, queries: Vec<Query>, filter: QueryFilter) -> String {
        self.command(&FromClient::Query { queries, filter, authority: Authority::Servers { at: Some(at) } })
    }

    /// Sees what a view shows from now on, within a budget of bytes, and nothing else.
    pub fn watch(&mut self, watch: Watch) -> String {
        self.command(&FromClient::Watch(watch))
    }

    /// Gives a command the next number, which is [`Client::last_seq`] from then on.
    pub fn command(&mut self, command: &FromClient) -> String {
        self.seq += 1;
        command.to_text(Some(self.seq))
    }

    fn answered(&mut self, answer: Answer) {
        if self.answers.len() == ANSWERS_MAX {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyKind, Pose};
    use nimbus_wire::client::bodies::Create;
    use nimbus_wire::client::{Bounds, Parsed, RegionShape};
    use proptest::prelude::*;

    fn create(slot: u32, nid: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (region, kind, pose) = (RegionId(1), BodyKind::Dynamic, Pose::IDENTITY);
        let body = Create { slot, nid: Nid(nid), shape: 7, region, kind, sensor: false, pose };
        bodies::encode_create([body].into_iter(), &mut bytes);
        bytes
    }

    #[test]
    fn a_loaded_world_voids_what_was_known() {
        let mut client = Client::new();
        client.handle_text(&ToClient::Shape { id: 7, shape: Shape::ball(1.0) }.to_text());
        client.handle_binary(&create(3, 9));
        assert_eq!((client.len(), client.dropped().shapeless), (1, 0));
        client.handle_text(&ToClient::world(&nimbus_model::World::new("next"), 2).to_text());
        assert!(client.is_empty() && client.shape(7).is_none());
        assert_eq!((client.era(), client.world()), (Some(2), Some("next")));
        client.handle_binary(&create(3, 9));
        assert_eq!(client.dropped().shapeless, 1, "its shape must be announced again");
    }

    #[test]
    fn infinite_bounds_come_back() {
        let mut client = Client::new();
        let regions = vec![RegionShape { id: RegionId(4), boxes: vec![Bounds::from(&Aabb::EVERYTHING)] }];
        client.handle_text(&ToClient::Map { epoch: 2, regions }.to_text());
        assert_eq!(client.map()[&RegionId(4)], [Aabb::EVERYTHING]);
        assert_eq!(client.map_epoch(), Some(2));
    }

    #[test]
    fn unknown_messages_are_skipped_and_rubbish_is_dropped() {
        let mut client = Client::new();
        client.handle_text(r#"{"type":"weather"}"#);
        client.handle_binary(&[99, 0, 0, 0, 0, 0, 0, 0]);
        client.handle_text("what?");
        client.handle_binary(&[1, 2, 3]);
        let mut bytes = Vec::new();
        bodies::encode_destroy(&[1, 2], &mut bytes);
        client.handle_binary(&bytes);
        assert_eq!(*client.dropped(), Dropped { messages: 2, skipped: 2, records: 2, shapeless: 0 });
    }

    #[test]
    fn commands_are_numbered_and_answers_find_them() {
        let mut client = Client::new();
        let command = FromClient::Despawn { nid: Nid(3) };
        assert_eq!(FromClient::parse(&client.despawn(Nid(3))), Ok(Parsed { seq: Some(1), command }));
        assert_eq!(FromClient::parse(&client.reset()), Ok(Parsed { seq: Some(2), command: FromClient::Reset }));
        client.handle_text(&ToClient::Done { seq: Some(client.last_seq()), nid: None }.to_text());
        assert_eq!(client.take_answers(), [Answer { seq: Some(2), outcome: Ok(None) }]);
        assert!(client.take_answers().is_empty());
    }

    #[test]
    fn hits_are_kept_for_whoever_asked() {
        let mut client = Client::new();
        let queries = vec![Query::Nearest { position: Vec3::Y, max: 2.0 }];
        for (seq, authority) in [
            (1, Authority::Gateway),
            (2, Authority::Servers { at: None }),
            (3, Authority::Servers { at: Some(Tick(7)) }),
        ] {
            let (queries, filter) = (queries.clone(), QueryFilter::default());
            let command = FromClient::Query { queries: queries.clone(), filter: filter.clone(), authority };
            let text = match authority {
                Authority::Gateway => client.query(queries, filter),
                Authority::Servers { at: None } => client.query_servers(queries, filter),
                Authority::Servers { at: Some(at) } => client.query_servers_at(at, queries, filter),
            };
            assert_eq!(FromClient::parse(&text), Ok(Parsed { seq: Some(seq), command }));
        }
        for seq in 0..=HITS_MAX as u64 {
            let hits = Hits { seq: Some(seq), tick: Tick(9), age: 1, answers: Vec::new(), missing: None };
            client.handle_text(&ToClient::Hits(hits).to_text());
        }
        let kept = client.take_hits();
        assert_eq!((kept.len(), kept[0].seq), (HITS_MAX, Some(1)), "the oldest is forgotten");
        assert!(client.take_hits().is_empty());
    }

    proptest! {
        #[test]
        fn rubbish_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0u8..9, count in 0u8..8) {
            let mut client = Client::new();
            let mut framed = vec![kind, 0, 0, 0, count, 0, 0, 0];
            framed.extend(&bytes);
            client.handle_binary(&framed);
            client.handle_binary(&bytes);
            client.handle_text(&String::from_utf8_lossy(&bytes));
            prop_assert_eq!(client.bodies().count(), client.len());
            prop_assert!(client.auras().count() <= client.len() && client.clusters().len() <= bytes.len());
        }
    }
}
