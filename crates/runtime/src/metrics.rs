//! `/metrics`: the figures in the text format that Prometheus reads.

use nimbus_control::Roster;
use nimbus_node::Durability;
use nimbus_wire::{Factor, SeamTotals};
use std::fmt::Write as _;

use crate::board::Board;
use crate::links::Links;
use crate::mesh::{MeshStats, PeerStats};
use crate::reading::{Reading, skews};

/// Everything on the board.
pub(crate) fn render(board: &Board) -> String {
    let mut text = Exposition::default();
    render_servers(&board.readings(), &mut text);
    render_gateway(board, &mut text);
    text.0
}

/// The servers of a node process, and what its network did.
pub(crate) fn render_node(readings: &[Reading], links: &Links, mesh: &MeshStats, misplaced: u64) -> String {
    let mut text = Exposition::default();
    render_servers(readings, &mut text);
    let regions = |value: fn(&Durability) -> f64| -> Vec<(String, f64)> {
        readings.iter().map(|r| (format!("node=\"{}\"", r.region.0), value(&r.durability))).collect()
    };
    text.family(
        "nimbus_node_protected",
        GAUGE,
        "1 while a backup has everything.",
        regions(|d| f64::from(u8::from(d.kept.is_some()))),
    );
    text.family(
        "nimbus_node_backup_lag_ticks",
        GAUGE,
        "Ticks that the backup is behind.",
        regions(|d| d.lag_ticks as f64),
    );
    text.family(
        "nimbus_node_uncertain_items",
        GAUGE,
        "Items that wait until they are certain.",
        regions(|d| d.commits_waiting as f64),
    );
    render_links(links, &mut text);
    render_mesh(mesh, misplaced, &mut text);
    text.0
}

/// What a coordinator has written last.
pub(crate) fn render_roster(roster: &Roster) -> String {
    let mut text = Exposition::default();
    let count = |value: usize| one(value as f64);
    text.family("nimbus_roster_revision", GAUGE, "Revision of the roster.", one(roster.revision as f64));
    text.family("nimbus_roster_term", GAUGE, "Term of the coordinator that leads.", one(roster.term as f64));
    text.family("nimbus_roster_members", GAUGE, "Processes that are members.", count(roster.members().count()));
    let regions = || roster.regions.values();
    text.family("nimbus_roster_regions", GAUGE, "Regions.", count(roster.regions.len()));
    let protected = regions().filter(|region| region.protected && region.lost.is_none()).count();
    text.family("nimbus_roster_protected_regions", GAUGE, "Regions whose backup has everything.", count(protected));
    let lost = regions().filter(|region| region.lost.is_some()).count();
    text.family("nimbus_roster_lost_regions", GAUGE, "Regions that nobody has any more.", count(lost));
    text.0
}

fn render_servers(readings: &[Reading], text: &mut Exposition) {
    let skews = skews(readings);
    let nodes = |value: fn(&Reading) -> f64| -> Vec<(String, f64)> {
        readings.iter().map(|reading| (format!("node=\"{}\"", reading.region.0), value(reading))).collect()
    };
    text.family("nimbus_node_up", GAUGE, "1 while the server is there.", nodes(|r| f64::from(u8::from(r.alive))));
    text.family("nimbus_node_tick", GAUGE, "Last tick the server completed.", nodes(|r| r.tick.0 as f64));
    text.family("nimbus_node_bodies", GAUGE, "Bodies the server owns.", nodes(|r| r.bodies as f64));
    text.family("nimbus_node_awake_bodies", GAUGE, "Bodies it owns that move.", nodes(|r| r.awake as f64));
    let mut steps = Vec::new();
    let mut lateness = Vec::new();
    for reading in readings {
        for share in [0.5, 0.99, 1.0] {
            let labels = format!("node=\"{}\",quantile=\"{share}\"", reading.region.0);
            steps.push((labels.clone(), reading.step_quantile(share).as_secs_f64()));
            lateness.push((labels, reading.late_quantile(share).as_secs_f64()));
        }
    }
    text.family("nimbus_node_step_seconds", GAUGE, "Duration of a tick over the last seconds.", steps);
    text.family("nimbus_node_late_seconds", GAUGE, "How late ticks began over the last seconds.", lateness);
    let skews = readings.iter().zip(&skews).map(|(r, skew)| (format!("node=\"{}\"", r.region.0), skew.as_secs_f64()));
    text.family("nimbus_node_skew_seconds", GAUGE, "How far the server is behind the foremost one.", skews.collect());
    text.family(
        "nimbus_node_effort_seconds",
        GAUGE,
        "Time for a tick, from waking up until its frames are sent; time dilation goes by it.",
        nodes(|r| f64::from(r.strain.tick_us) / 1e6),
    );
    let behind = nodes(|r| f64::from(r.strain.behind));
    text.family("nimbus_node_behind_ticks", GAUGE, "Ticks that are due and not run.", behind);
    for (name, help, value) in NODE_COUNTERS {
        text.family(name, COUNTER, help, nodes(value));
    }
    text.family(
        "nimbus_node_unacknowledged_items",
        GAUGE,
        "Items that wait for an acknowledgement.",
        nodes(|r| r.unacknowledged as f64),
    );
    text.family("nimbus_node_held_items", GAUGE, "Items that wait for their turn.", nodes(|r| r.held as f64));
}

fn one(value: f64) -> Vec<(String, f64)> {
    vec![(String::new(), value)]
}

fn render_links(links: &Links, text: &mut Exposition) {
    text.family(
        "nimbus_link_dropped_frames_total",
        COUNTER,
        "Frames that found a link full.",
        one(links.dropped() as f64),
    );
    text.family("nimbus_link_void_frames_total", COUNTER, "Frames nobody could read.", one(links.void() as f64));
}

fn render_mesh(mesh: &MeshStats, misplaced: u64, text: &mut Exposition) {
    let peers = |value: fn(&PeerStats) -> f64| -> Vec<(String, f64)> {
        mesh.peers.iter().map(|peer| (format!("peer=\"{}\"", peer.name), value(peer))).collect()
    };
    text.family(
        "nimbus_mesh_connected",
        GAUGE,
        "1 while the peer is connected.",
        peers(|p| f64::from(u8::from(p.connected))),
    );
    text.family(
        "nimbus_mesh_rtt_seconds",
        GAUGE,
        "Time there and back.",
        peers(|p| p.rtt.map_or(0.0, |rtt| rtt.as_secs_f64())),
    );
    text.family(
        "nimbus_mesh_connections_total",
        COUNTER,
        "Connections that there have been.",
        peers(|p| p.connections as f64),
    );
    text.family("nimbus_mesh_sent_bytes_total", COUNTER, "Bytes sent.", peers(|p| p.sent_bytes as f64));
    text.family("nimbus_mesh_received_bytes_total", COUNTER, "Bytes received.", peers(|p| p.received_bytes as f64));
    text.family(
        "nimbus_mesh_dropped_frames_total",
        COUNTER,
        "Frames never handed to a connection.",
        peers(|p| p.dropped as f64),
    );
    text.family(
        "nimbus_mesh_unread_frames_total",
        COUNTER,
        "Frames that found the inbox full.",
        peers(|p| p.unread as f64),
    );
    text.family("nimbus_mesh_refusals_total", COUNTER, "Connections refused.", one(mesh.refusals as f64));
    text.family(
        "nimbus_misplaced_frames_total",
        COUNTER,
        "Frames from a process that does not house their sender: of former servers, or forged.",
        one(misplaced as f64),
    );
}

fn render_gateway(board: &Board, text: &mut Exposition) {
    render_links(board.links(), text);
    let gateway = board.gateway();
    let regions = |value: fn(&SeamTotals) -> u64| -> Vec<(String, f64)> {
        gateway.seams.iter().map(|(region, seams)| (format!("region=\"{}\"", region.0), value(seams) as f64)).collect()
    };
    text.family("nimbus_auras", GAUGE, "Auras that the region projects.", regions(|s| s.auras));
    text.family("nimbus_ghosts", GAUGE, "Auras of other regions' bodies that it knows.", regions(|s| s.ghosts));
    text.family("nimbus_in_transit", GAUGE, "Bodies on their way out of the region.", regions(|s| s.in_transit));
    let mut breaches = Vec::new();
    for (region, seams) in &gateway.seams {
        for (factor, count) in Factor::ALL.iter().zip(seams.breaches) {
            breaches.push((format!("region=\"{}\",factor=\"{factor}\"", region.0), count as f64));
        }
    }
    text.family("nimbus_breaches_total", COUNTER, "Promises that were void, by what was exceeded.", breaches);
    let counters = &gateway.counters;
    let figures = [
        ("nimbus_gateway_up", GAUGE, "1 while the gateway's thread runs.", f64::from(u8::from(gateway.alive))),
        ("nimbus_gateway_tick", GAUGE, "The tick the gateway has reached.", gateway.tick.0 as f64),
        (
            "nimbus_time_dilation",
            GAUGE,
            "Share of the ordered speed at which the world runs; below 1 a region cannot keep up.",
            f64::from(gateway.dilation),
        ),
        ("nimbus_gateway_clients", GAUGE, "Clients that are connected.", gateway.clients as f64),
        ("nimbus_gateway_quic_clients", GAUGE, "Clients that came over QUIC.", gateway.quic_clients as f64),
        ("nimbus_gateway_views", GAUGE, "Different views that clients watch.", gateway.views.0 as f64),
        ("nimbus_gateway_shown_bodies", GAUGE, "Bodies that they show in all.", gateway.views.1 as f64),
        ("nimbus_gateway_replicas", GAUGE, "Bodies the gateway knows.", gateway.bodies as f64),
        ("nimbus_gateway_sent_bytes_total", COUNTER, "Bytes queued for clients.", gateway.bytes_sent as f64),
        ("nimbus_gateway_commands_total", COUNTER, "Commands taken from clients.", counters.commands as f64),
        (
            "nimbus_gateway_commands_refused_total",
            COUNTER,
            "Commands that the gateway refused.",
            counters.commands_refused as f64,
        ),
        (
            "nimbus_gateway_commands_forbidden_total",
            COUNTER,
            "Commands that the role of their client does not allow.",
            counters.commands_forbidden as f64,
        ),
        ("nimbus_gateway_queries_total", COUNTER, "Questions about what is where.", counters.queries as f64),
        ("nimbus_gateway_asks_total", COUNTER, "Batches of questions for the servers.", counters.asks as f64),
        (
            "nimbus_gateway_asks_again_total",
            COUNTER,
            "Batches tried again at a later tick.",
            counters.asks_again as f64,
        ),
        (
            "nimbus_gateway_asks_incomplete_total",
            COUNTER,
            "Batches answered without some regions.",
            counters.asks_incomplete as f64,
        ),
        ("nimbus_gateway_bad_messages_total", COUNTER, "Messages that were no commands.", counters.messages_bad as f64),
        ("nimbus_gateway_hand_overs_total", COUNTER, "Changes of owner that clients saw.", counters.hand_overs as f64),
        (
            "nimbus_gateway_dropped_frames_total",
            COUNTER,
            "Frames dropped because too many came at once.",
            counters.frames_overflow as f64,
        ),
        (
            "nimbus_gateway_slow_clients_total",
            COUNTER,
            "Clients let go because they did not keep up.",
            (gateway.clients_too_slow + counters.clients_hopeless) as f64,
        ),
    ];
    for (name, kind, help, value) in figures {
        text.family(name, kind, help, one(value));
    }
}

const GAUGE: &str = "gauge";
const COUNTER: &str = "counter";

type NodeCounter = (&'static str, &'static str, fn(&Reading) -> f64);

const NODE_COUNTERS: [NodeCounter; 21] = [
    ("nimbus_node_late_ticks_total", "Ticks that began more than a tick too late.", |r| r.late_ticks as f64),
    ("nimbus_node_lost_ticks_total", "Tick numbers skipped.", |r| r.counters.ticks_lost as f64),
    ("nimbus_node_arrived_bodies", "Bodies that arrived since the world was loaded.", |r| r.counters.arrived as f64),
    ("nimbus_node_left_bodies", "Bodies that left since the world was loaded.", |r| r.counters.left as f64),
    ("nimbus_node_refused_transfers_total", "Transfers refused.", |r| r.counters.refused as f64),
    ("nimbus_node_deferred_grants_total", "Hand-overs put off.", |r| r.counters.grants_deferred as f64),
    ("nimbus_node_void_frames_total", "Frames of another era or life.", |r| r.counters.frames_void as f64),
    ("nimbus_node_refused_orders_total", "Orders refused.", |r| r.counters.orders_refused as f64),
    ("nimbus_node_refused_births_total", "Bodies not made for want of budget.", |r| r.counters.births_refused as f64),
    ("nimbus_node_contacts_began_total", "Touches that began and were told.", |r| r.counters.contacts_began as f64),
    ("nimbus_node_contacts_ended_total", "Touches that ended and were told.", |r| r.counters.contacts_ended as f64),
    ("nimbus_node_contacts_left_out_total", "Touches not told, for want of room.", |r| {
        r.counters.contacts_left_out as f64
    }),
    ("nimbus_node_contacts_dropped_total", "Touches that nobody took in time.", |r| r.contacts_dropped as f64),
    ("nimbus_node_game_events_dropped_total", "Game events that nobody took in time.", |r| {
        r.game_events_dropped as f64
    }),
    ("nimbus_node_repeated_orders_total", "Orders that came again.", |r| r.counters.orders_repeated as f64),
    ("nimbus_node_linkages_total", "Joints asked for across servers.", |r| r.counters.linkages as f64),
    ("nimbus_node_states_told_total", "States of bodies sent to gateways.", |r| r.counters.states_told as f64),
    ("nimbus_node_dropped_news_total", "News dropped for a slow gateway.", |r| r.counters.feed_dropped as f64),
    ("nimbus_node_asks_answered_total", "Batches of questions answered.", |r| r.counters.asks_answered as f64),
    ("nimbus_node_asks_missed_total", "Batches whose tick was past or skipped.", |r| r.counters.asks_missed as f64),
    ("nimbus_node_asks_too_much_total", "Batches for which no time was left.", |r| r.counters.asks_too_much as f64),
];

#[derive(Default)]
struct Exposition(String);

impl Exposition {
    /// One metric with all its samples; labels come without braces.
    fn family(&mut self, name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>) {
        // Writing to a string cannot fail.
        _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            _ = match labels.as_str() {
                "" => writeln!(self.0, "{name} {value}"),
                labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::GatewayReading;
    use crate::links::Links;
    use crate::reading::{Gauge, Sample};
    use crate::servers::GATEWAY;
    use nimbus_control::Strain;
    use nimbus_model::{RegionId, Tick};
    use std::time::Duration;

    #[test]
    fn a_gateway_in_another_process_has_the_same_figures() {
        let mut own = Gauge::new(RegionId(1)).read();
        (own.tick, own.epoch) = (Tick(99), 2);
        (own.bodies, own.awake, own.unacknowledged, own.held) = (11, 12, 13, 14);
        (own.late_ticks, own.contacts_dropped, own.game_events_dropped) = (15, 16, 17);
        own.strain = Strain { tick_us: 18, behind: 19 };
        let c = &mut own.counters;
        (c.ticks_lost, c.arrived, c.left, c.refused, c.grants_deferred) = (21, 22, 23, 24, 25);
        (c.frames_void, c.orders_refused, c.orders_repeated, c.linkages) = (26, 27, 28, 29);
        (c.contacts_began, c.contacts_ended, c.contacts_left_out) = (30, 31, 32);
        (c.states_told, c.feed_dropped, c.births_refused) = (33, 34, 38);
        (c.asks_answered, c.asks_missed, c.asks_too_much) = (35, 36, 37);
        own.add_sample(Sample { tick: Tick(99), late: Duration::from_millis(3), step: Duration::from_millis(4) });
        let mut elsewhere = Gauge::new(RegionId(1)).read();
        elsewhere.alive = false;
        assert!(elsewhere.see(own.shown(Tick(0))));
        let figures = |reading: Reading| {
            let mut text = Exposition::default();
            render_servers(&[reading], &mut text);
            text.0
        };
        let figures = [figures(own), figures(elsewhere)];
        assert_eq!(figures[0], figures[1]);
        let zeros = figures[0].lines().filter(|line| line.ends_with(" 0") && !line.starts_with("nimbus_node_skew"));
        assert_eq!(zeros.collect::<Vec<_>>(), Vec::<&str>::new(), "a figure that says nothing here");
    }

    #[test]
    fn every_line_is_a_comment_or_a_sample() {
        let regions = [RegionId(0), RegionId(1)];
        let gauges: Vec<Gauge> = regions.map(Gauge::new).to_vec();
        gauges[1].write(|reading| reading.bodies = 42);
        let board = Board::new(gauges, Links::new(&regions, GATEWAY).0, GatewayReading::default());
        let seams = SeamTotals { auras: 3, ghosts: 5, in_transit: 1, breaches: [0, 0, 8, 0, 0, 0, 0, 0, 0, 0] };
        board.write_gateway(|reading| _ = reading.seams.insert(RegionId(1), seams));
        let text = render(&board);
        assert!(text.contains("\nnimbus_breaches_total{region=\"1\",factor=\"frame_time\"} 8\n"), "{text}");
        assert!(text.contains("\nnimbus_ghosts{region=\"1\"} 5\n"), "{text}");
        assert!(text.contains("\nnimbus_node_bodies{node=\"1\"} 42\n"), "{text}");
        assert!(text.contains("nimbus_node_step_seconds{node=\"0\",quantile=\"0.99\"} 0\n"), "{text}");
        for line in text.lines() {
            let is_comment = line.starts_with("# HELP nimbus_") || line.starts_with("# TYPE nimbus_");
            let value = line.rsplit_once(' ').map(|(_, value)| value.parse::<f64>());
            assert!(is_comment || line.starts_with("nimbus_") && matches!(value, Some(Ok(_))), "{line}");
        }
    }
}
