//! A thousand clients on one gateway: what each costs, what each is sent, and whether rubbish and slow readers disturb them.

mod crowd;
mod flood;
mod scene;

use std::time::Duration;

use crate::cluster_run::{ClusterRun, is_possible, pause};
use crate::cluster_watch::Footprint;
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};
use crowd::{Crowd, Seen};
use flood::{Flood, Flooded};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "clients",
    about: "A thousand clients watch 4,000 bodies: CPU and memory of the gateway for each, and what floods and slow readers do.",
    run,
};

/// Most CPU time of the gateway for each time that a client is sent something, microseconds.
const SEND_US_MAX: f64 = 40.0;
/// Most memory of the gateway for a client, kilobytes.
const CLIENT_KB_MAX: f64 = 64.0;
/// Most that a client is sent, kbit/s on average.
const KBIT_MAX: f64 = 256.0;
/// By how much a flood may lengthen the time that 99 of 100 answers take at the most.
const SLOWER_MAX: f64 = 1.1;
/// Of the rubbish that is to be sent, this share must have been, or the run says nothing.
const FLOOD_SHARE_MIN: f64 = 0.95;
/// What a client is sent at the most, in `watch`; heads of messages and the figures come on top.
const KBIT_ASKED: u32 = 240;
const HZ: u32 = 20;
const VIEWS: usize = 16;
const NODES: usize = 2;

/// How much is run.
struct Setup {
    bodies: u32,
    clients: usize,
    /// Clients that stay when there is a flood, packets a second of it, and over how many connections.
    honest: usize,
    packets_per_s: u64,
    connections: u64,
    /// Clients that read nothing.
    slow: usize,
    /// Until costs are even, and measured then. Seconds.
    settle_s: u64,
    measure_s: u64,
}

impl Setup {
    fn of(options: &Options) -> Setup {
        let full = Setup {
            bodies: 4_000,
            clients: 1_000,
            honest: 200,
            packets_per_s: 20_000,
            connections: 12,
            slow: 20,
            settle_s: 10,
            measure_s: 20,
        };
        if !options.quick {
            return full;
        }
        Setup {
            bodies: 400,
            clients: 60,
            honest: 20,
            packets_per_s: 2_000,
            connections: 2,
            slow: 4,
            settle_s: 3,
            measure_s: 4,
        }
    }
}

/// What was measured.
struct Measured {
    idle_cpu_share: f64,
    crowd: Seen,
    connected: usize,
    send_us: f64,
    client_kb: f64,
    views: f64,
    bodies_seen: Vec<usize>,
    misunderstood: u64,
    calm: Seen,
    flooded: Seen,
    flood: Flooded,
    beside_slow: Seen,
    slow_let_go: usize,
    honest_left: usize,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    if !is_possible() {
        return Err(LabError::Failed("this experiment needs /proc to find processes".to_owned()));
    }
    let setup = Setup::of(options);
    let measured = measure(&setup, progress)?;
    Ok(report(&setup, &measured, options.quick))
}

fn measure(setup: &Setup, progress: &mut Progress<'_>) -> Result<Measured, LabError> {
    let cluster = ClusterRun::start_world(scene::world(setup.bodies), NODES, "durable = false")?;
    let gateway = cluster.http.ok_or_else(|| LabError::Failed("there is no gateway".to_owned()))?;
    cluster.until("the gateway to know every body", || {
        (cluster.bodies().ok()?.len() >= setup.bodies as usize).then_some(())
    })?;
    let some_body = cluster.bodies()?.into_iter().next();
    let footprint =
        || -> Result<Footprint, LabError> { cluster.until("the gateway", || cluster.footprint("gateway-0")) };
    let (before, settle, time) =
        (footprint()?, Duration::from_secs(setup.settle_s), Duration::from_secs(setup.measure_s));
    pause(settle);
    let idle = footprint()?;
    let idle_cpu_share = (idle.cpu - before.cpu).as_secs_f64() / settle.as_secs_f64();
    progress(0.1);
    let view = |i: usize| scene::view(i, VIEWS, KBIT_ASKED, HZ);
    let mut crowd = Crowd::connect(gateway, setup.clients, view, &mut |share| progress(0.1 + 0.1 * share))?;
    crowd.watch(settle, None, &mut |_| {});
    let from = footprint()?;
    let seen = crowd.watch(time, None, &mut |share| progress(0.2 + 0.3 * share));
    let to = footprint()?;
    let connected = crowd.len();
    let (bodies_seen, misunderstood) = crowd.understood();
    let views = cluster.metric("gateway-0", "nimbus_gateway_views", "");
    crowd.keep(setup.honest);
    crowd.watch(settle, some_body, &mut |_| {});
    let calm = crowd.watch(time, some_body, &mut |share| progress(0.5 + 0.15 * share));
    let flood = Flood::start(gateway, setup.packets_per_s, setup.connections);
    let flooded = crowd.watch(time, some_body, &mut |share| progress(0.65 + 0.15 * share));
    let flood = flood.stop();
    crowd.watch(settle, some_body, &mut |_| {});
    let mut beside_slow = Seen::default();
    let much = |i: usize| scene::view(i, VIEWS, 20_000, 60);
    let slow_let_go = flood::slow_readers(gateway, setup.slow, much, 2 * time, |time| {
        beside_slow = crowd.watch(time, some_body, &mut |share| progress(0.8 + 0.2 * share));
    })?;
    Ok(Measured {
        idle_cpu_share,
        send_us: (to.cpu - from.cpu).as_secs_f64() * 1e6 / seen.states.max(1) as f64,
        client_kb: to.resident_kb.saturating_sub(idle.resident_kb) as f64 / setup.clients as f64,
        crowd: seen,
        connected,
        views,
        bodies_seen,
        misunderstood,
        calm,
        flooded,
        flood,
        beside_slow,
        slow_let_go,
        honest_left: crowd.len(),
    })
}

fn report(setup: &Setup, measured: &Measured, quick: bool) -> Report {
    let (mean_kbit, most_kbit) = measured.crowd.kbit();
    let sends_per_s = measured.crowd.states as f64 / measured.crowd.seconds / measured.connected.max(1) as f64;
    let slower = measured.flooded.latency_ms(0.99) / measured.calm.latency_ms(0.99);
    let row = |what: &str, value: f64, bar: Option<f64>| {
        let row = Row::new().with("what", what).with("value", value);
        if let Some(bar) = bar { row.with("at_most", bar) } else { row }
    };
    let rows = vec![
        row("clients connected", measured.connected as f64, None),
        row("different views", measured.views, None),
        row("bodies in a view, mean", mean(&measured.bodies_seen), None),
        row("states sent to a client a second", sends_per_s, None),
        row("gateway CPU for a send, us", measured.send_us, Some(SEND_US_MAX)),
        row("gateway memory for a client, KB", measured.client_kb, Some(CLIENT_KB_MAX)),
        row("sent to a client, mean kbit/s", mean_kbit, None),
        row("sent to the client that got most, kbit/s", most_kbit, Some(KBIT_MAX)),
        row("messages and records not understood", measured.misunderstood as f64, Some(0.0)),
        row("share of a core that the gateway takes without clients", measured.idle_cpu_share, None),
        row("answer, p50, ms", measured.calm.latency_ms(0.5), None),
        row("answer, p99, ms", measured.calm.latency_ms(0.99), None),
        row("answer beside a flood, p50, ms", measured.flooded.latency_ms(0.5), None),
        row("answer beside a flood, p99, ms", measured.flooded.latency_ms(0.99), None),
        row("p99 beside a flood over p99", slower, Some(SLOWER_MAX)),
        row("packets of rubbish a second", measured.flood.packets_per_s, None),
        row("connections with rubbish cut off", measured.flood.cut_off as f64, None),
        row("answer beside slow readers, p99, ms", measured.beside_slow.latency_ms(0.99), None),
        row("slow readers let go", measured.slow_let_go as f64, None),
        row("honest clients at the end", measured.honest_left as f64, None),
    ];
    let points = |seen: &Seen| (1..100).map(|k| [f64::from(k), seen.latency_ms(f64::from(k) / 100.0)]).collect();
    Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("quick", quick)
            .with("bodies", setup.bodies)
            .with("clients", setup.clients)
            .with("hz", HZ)
            .with("kbit_asked", KBIT_ASKED)
            .with("seconds", setup.measure_s)
            .not_judging("times, memory and slow readers", quick),
        rows,
        plots: vec![
            Plot::lines("latency", "How long answers take", "of 100 answers", "ms")
                .with(Series::new("calm", points(&measured.calm)))
                .with(Series::new("beside a flood", points(&measured.flooded)))
                .with(Series::new("beside slow readers", points(&measured.beside_slow))),
        ],
        summary: judge(setup, measured, quick),
    }
}

/// A quick run shares the machine with other tests, so it does not judge times.
fn judge(setup: &Setup, measured: &Measured, quick: bool) -> Summary {
    let (mean_kbit, most_kbit) = measured.crowd.kbit();
    let slower = measured.flooded.latency_ms(0.99) / measured.calm.latency_ms(0.99);
    let mut short: Vec<String> = Vec::new();
    let mut bar = |holds: bool, what: String| {
        if !holds {
            short.push(what);
        }
    };
    bar(measured.connected == setup.clients, format!("{} of {} clients stayed", measured.connected, setup.clients));
    bar(measured.misunderstood == 0, format!("{} records were not understood", measured.misunderstood));
    bar(
        !measured.bodies_seen.is_empty() && measured.bodies_seen.iter().all(|seen| *seen > 0),
        "somebody saw no body".to_owned(),
    );
    bar(most_kbit <= KBIT_MAX, format!("somebody was sent {most_kbit:.0} kbit/s"));
    bar(
        measured.honest_left == setup.honest,
        format!("{} of {} honest clients stayed", measured.honest_left, setup.honest),
    );
    bar(measured.flood.cut_off > 0, "nobody who sent rubbish was cut off".to_owned());
    bar(
        measured.slow_let_go == setup.slow || quick,
        format!("{} of {} slow readers were let go", measured.slow_let_go, setup.slow),
    );
    if !quick {
        let poured = measured.flood.packets_per_s;
        bar(
            poured >= FLOOD_SHARE_MIN * setup.packets_per_s as f64,
            format!("only {poured:.0} packets of rubbish a second"),
        );
        bar(measured.send_us <= SEND_US_MAX, format!("{:.1} us for a send", measured.send_us));
        bar(measured.client_kb <= CLIENT_KB_MAX, format!("{:.0} KB for a client", measured.client_kb));
        bar(slower <= SLOWER_MAX, format!("answers take {slower:.2} times as long beside a flood"));
    }
    let verdict = match (short.is_empty(), quick) {
        (true, false) => "Every bar is met.".to_owned(),
        (true, true) => "Nothing went wrong; a quick run does not judge times.".to_owned(),
        (false, _) => format!("Short of: {}.", short.join("; ")),
    };
    Summary {
        passed: short.is_empty(),
        sentence: format!(
            "{} clients with {:.0} views of {} bodies: {:.1} us of gateway CPU for a send (bar {SEND_US_MAX}), {:.1} KB for a \
             client (bar {CLIENT_KB_MAX}), {mean_kbit:.0} kbit/s on average. Beside {:.0} packets of rubbish a second p99 of \
             answers is {slower:.2} times as long (bar {SLOWER_MAX}). {verdict}",
            measured.connected,
            measured.views,
            setup.bodies,
            measured.send_us,
            measured.client_kb,
            measured.flood.packets_per_s,
        ),
    }
}

fn mean(values: &[usize]) -> f64 {
    values.iter().sum::<usize>() as f64 / values.len().max(1) as f64
}
