//! A stage: one gateway, regions that say what a test tells them to, and clients that listen.

use nimbus_client::Client;
use nimbus_gateway::{Gateway, GatewayConfig, Message, Outputs, Request, SceneInfo};
use nimbus_model::{
    BodyDesc, ClientId, Layout, Motion, Nid, Pose, Quat, RegionId, Rng, Shape, Tick, Vec3, Velocity, World,
};
use nimbus_space::PartitionMap;
use nimbus_wire::ask::Ask;
use nimbus_wire::client::ClientRole;
use nimbus_wire::lane::{Incoming, Outgoing};
use nimbus_wire::{Address, Content, Frame, GatewayId, Item, LaneFrame, Order, StateUpdate, Wish};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const A: RegionId = RegionId(0);
pub(crate) const B: RegionId = RegionId(1);
pub(crate) const GATEWAY: Address = Address::Gateway(GatewayId(3));

/// The far end of a region's lane.
#[derive(Default)]
pub(crate) struct Region {
    pub(crate) outgoing: Outgoing,
    incoming: Incoming,
    /// What the gateway asked for, in order.
    pub(crate) orders: Vec<Order>,
}

pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) regions: BTreeMap<RegionId, Region>,
    pub(crate) clients: BTreeMap<ClientId, Client>,
    pub(crate) now: Tick,
    pub(crate) era: u16,
    pub(crate) requests: Vec<(ClientId, Option<u64>, Request)>,
    pub(crate) closed: Vec<(ClientId, String)>,
    /// Bytes of bodies that each client was sent.
    pub(crate) sent: BTreeMap<ClientId, usize>,
    /// State frames on their way.
    pub(crate) states: Vec<Frame>,
    /// What the gateway asked of regions for one tick, in order.
    pub(crate) asks: Vec<(RegionId, Ask)>,
    /// What the gateway wants of each region, as it said last.
    pub(crate) wishes: BTreeMap<RegionId, Wish>,
    /// Decides which frames get lost, with what chance.
    pub(crate) loss: Option<(Rng, f32)>,
}

pub(crate) fn world() -> Arc<World> {
    let mut world = World::new("stage");
    world.add_ground(50.0, 50.0);
    Arc::new(world)
}

/// Two regions that meet at x = 0.
pub(crate) fn map() -> PartitionMap {
    PartitionMap::from_layout(&Layout::columns(2, 100.0)).expect("two columns are a layout")
}

pub(crate) fn at(x: f32) -> Motion {
    let rotation = Quat::from_rotation_y(x);
    Motion::new(Pose { position: Vec3::new(x, 1.0, 0.0), rotation }, Velocity::linear(Vec3::X))
}

pub(crate) fn hosted(nid: u64, body_epoch: u32, x: f32) -> Item {
    let desc = Arc::new(BodyDesc::dynamic(Shape::ball(0.25 * (1 + nid % 3) as f32)));
    Item::Hosted { nid: Nid(nid), body_epoch, desc, motion: at(x) }
}

pub(crate) fn died(nid: u64, body_epoch: u32) -> Item {
    Item::Died { nid: Nid(nid), body_epoch }
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage::with(GatewayConfig { id: GatewayId(3), ..GatewayConfig::default() })
    }

    pub(crate) fn with(config: GatewayConfig) -> Stage {
        let scene = |name: &str| SceneInfo { name: name.to_owned(), about: String::new() };
        let scenes = vec![scene("rain"), scene("dominoes")];
        Stage {
            gateway: Gateway::new(config, scenes, world(), 1, map()),
            regions: BTreeMap::new(),
            clients: BTreeMap::new(),
            now: Tick(100),
            era: 1,
            requests: Vec::new(),
            closed: Vec::new(),
            sent: BTreeMap::new(),
            states: Vec::new(),
            asks: Vec::new(),
            wishes: BTreeMap::new(),
            loss: None,
        }
    }

    pub(crate) fn join(&mut self, client: u32) -> ClientId {
        self.join_as(client, ClientRole::Admin)
    }

    pub(crate) fn join_as(&mut self, client: u32, role: ClientRole) -> ClientId {
        self.gateway.connect(ClientId(client), role).expect("there is room");
        self.clients.insert(ClientId(client), Client::new());
        ClientId(client)
    }

    pub(crate) fn client(&mut self, client: ClientId) -> &mut Client {
        self.clients.get_mut(&client).expect("the client joined")
    }

    pub(crate) fn say(&mut self, region: RegionId, item: Item) {
        let now = self.now;
        self.regions.entry(region).or_default().outgoing.push(now, item);
    }

    /// A state frame of a region at some tick; goes out with the next step.
    pub(crate) fn states(&mut self, region: RegionId, tick: u64, bodies: &[(u64, u32, f32)]) {
        let update = |&(nid, body_epoch, x): &(u64, u32, f32)| StateUpdate {
            nid: Nid(nid),
            body_epoch,
            pose: at(x).pose,
            velocity: at(x).velocity,
        };
        let content = Content::States(bodies.iter().map(update).collect());
        let frame = Frame { tick: Tick(tick), ..self.frame(region, content) };
        self.states.push(frame);
    }

    pub(crate) fn frame(&self, region: RegionId, content: Content) -> Frame {
        Frame { from: Address::Region(region), to: GATEWAY, era: self.era, epoch: 1, tick: self.now, content }
    }

    /// One tick of everybody.
    pub(crate) fn step(&mut self) {
        self.now = self.now.next();
        let mut frames = std::mem::take(&mut self.states);
        for region in self.regions.keys().copied().collect::<Vec<_>>() {
            let end = self.regions.get_mut(&region).expect("the key was just listed");
            let ack = end.incoming.mark();
            let owed = end.incoming.take_owed_ack();
            let lane = end.outgoing.poll(self.now, ack, nimbus_wire::lane::RESEND_TICKS);
            if let Some(lane) = lane.or_else(|| owed.then(|| LaneFrame { ack, ..LaneFrame::default() })) {
                frames.push(self.frame(region, Content::Lane(lane)));
            }
        }
        for frame in frames {
            if !self.lost() {
                self.gateway.handle(Frame::decode(&frame.encode()).expect("what was encoded decodes"));
            }
        }
        self.tick();
    }

    /// A tick of the gateway alone.
    pub(crate) fn tick(&mut self) {
        let mut out = Outputs::default();
        self.gateway.tick(self.now, &mut out);
        self.deliver(out);
    }

    pub(crate) fn deliver(&mut self, out: Outputs) {
        for frame in out.frames {
            assert_eq!((frame.from, frame.era), (GATEWAY, self.gateway.era()));
            if self.lost() {
                continue;
            }
            let (Address::Region(region), content) = (frame.to, frame.content) else {
                panic!("a gateway only speaks to regions")
            };
            let lane = match content {
                Content::Lane(lane) => lane,
                Content::Ask(ask) => {
                    self.asks.push((region, ask));
                    continue;
                }
                Content::Wish(wish) => {
                    self.wishes.insert(region, wish);
                    continue;
                }
                other => panic!("a gateway does not say {other:?}"),
            };
            let end = self.regions.entry(region).or_default();
            end.outgoing.acknowledge(lane.ack);
            end.incoming.receive(1, lane.first, lane.items);
            while let Some((_, _, item)) = end.incoming.next_due(Tick(u64::MAX), |_, _| true) {
                let Item::Order(order) = item else { panic!("a gateway only sends orders") };
                end.orders.push(order);
            }
        }
        for (id, message) in out.messages {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            match message {
                Message::Text(text) => client.handle_text(&text),
                Message::Binary(bytes) => {
                    *self.sent.entry(id).or_default() += bytes.len();
                    client.handle_binary(&bytes);
                }
            }
        }
        self.requests.extend(out.requests);
        self.closed.extend(out.closed);
    }

    /// What a client sees must be what the gateway knows.
    pub(crate) fn check_sight(&self, client: ClientId) {
        let client = &self.clients[&client];
        let seen: Vec<_> = client.bodies().map(|b| (b.nid, b.slot, b.region, b.pose.position)).collect();
        let known: Vec<_> = self.gateway.replicas().map(|r| (r.nid, r.slot, r.region, r.pose.position)).collect();
        assert_eq!(seen, known);
        for (body, replica) in client.bodies().zip(self.gateway.replicas()) {
            assert_eq!(client.shape(body.shape), Some(&replica.desc.shape));
            let turned = body.pose.rotation.dot(replica.pose.rotation).abs();
            assert!(turned > 1.0 - 1e-4, "rotations differ: {turned}");
        }
        assert_eq!((client.dropped().messages, client.dropped().shapeless), (0, 0));
    }

    fn lost(&mut self) -> bool {
        self.loss.as_mut().is_some_and(|(rng, chance)| rng.chance(*chance))
    }
}
