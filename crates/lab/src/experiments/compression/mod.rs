//! What each technique takes off the stream of a world to a client, what it costs, and what the client sees.

mod trace;
mod viewing;

use nimbus_wire::stream::{Fidelity, StreamConfig, Techniques, View};
use std::f64::consts::FRAC_PI_2;

use self::trace::Trace;
use self::viewing::{Errors, Link, Viewing, watch};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "compression",
    about: "Bits a second to show 901 cubes to a client, technique by technique, and how far off the picture is.",
    run,
};

const SCENE: &str = "cubes-901";
const HZ: usize = 60;

const KBIT_S_BAR: f64 = 200.0;
const KBIT_S_GOAL: f64 = 128.0;
const POSITION_MM_BAR: f64 = 2.0;
const ROTATION_DEG_BAR: f64 = 0.5;
/// Fewer moving cubes would make the rate easy to reach.
const MOVING_BAR: f64 = 100.0;

/// A tenth of a second to hear of a packet.
const ROUND_TRIP: u32 = 6;
const CLEAR: Link = Link { loss: 0.0, round_trip: ROUND_TRIP };
const LOSSY: Link = Link { loss: 0.1, round_trip: ROUND_TRIP };
/// Shorter and longer ways, everything on: what a baseline's age costs.
const OTHER_ROUND_TRIPS: [u32; 3] = [2, 3, 12];

/// Each technique by itself, with quantisation where it does nothing without; then one after the other, each with all
/// before it.
fn choices() -> [(&'static str, Techniques); 13] {
    let naive = Techniques::NAIVE;
    let quantised = Techniques { quantised: true, ..naive };
    let three = Techniques { smallest_three: true, ..quantised };
    let rest = Techniques { at_rest: true, ..three };
    let delta = Techniques { delta: true, ..rest };
    let prediction = Techniques { prediction: true, ..delta };
    [
        ("naive", naive),
        ("only smallest-three", Techniques { smallest_three: true, ..naive }),
        ("only at-rest", Techniques { at_rest: true, ..naive }),
        ("only delta, quantised", Techniques { delta: true, ..quantised }),
        ("only prediction, quantised", Techniques { prediction: true, ..quantised }),
        ("only entropy, quantised", Techniques { entropy: true, ..quantised }),
        ("quantised", quantised),
        ("+ smallest-three", three),
        ("+ at-rest", rest),
        ("+ delta", delta),
        ("+ prediction", prediction),
        ("+ entropy", Techniques { entropy: true, ..prediction }),
        ("all", Techniques::ALL),
    ]
}

/// What can be told apart at four metres on a screen of 1280 pixels, 90 degrees wide: a step of two millimetres, also on
/// the surface of a cube that turns. The ground is a sector of a kilometre.
fn fidelity() -> Result<Fidelity, LabError> {
    let view = View { distance_m: 4.0, field_rad: FRAC_PI_2, pixels: 1280.0 };
    let told_apart = Fidelity::of_view(&view, CUBE_RADIUS_M, 512);
    let finer = told_apart.and_then(|told_apart| Fidelity::new(POSITION_STEP_UM, told_apart.rotation_mdeg(), 512));
    finer.map_err(|error| LabError::Failed(error.to_string()))
}

/// Positions are a little finer than that, micrometres: what is guessed past a lost packet is off as well, and both have to
/// stay within the bar.
const POSITION_STEP_UM: u32 = 1_600;

/// Of a small cube: more than to the middle of a face, 0.2 m, less than to a corner, 0.35 m.
const CUBE_RADIUS_M: f64 = 0.25;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let ticks = if options.quick { 900 } else { 3600 };
    let fidelity = fidelity()?;
    let trace = Trace::record(SCENE, ticks, &mut |share| progress(0.5 * share))?;
    let mut cases = Vec::new();
    for link in [CLEAR, LOSSY] {
        cases.extend(choices().map(|(name, techniques)| (name, techniques, link)));
    }
    cases.extend(OTHER_ROUND_TRIPS.map(|round_trip| ("all", Techniques::ALL, Link { round_trip, ..CLEAR })));
    let mut measured = Vec::new();
    for (i, &(name, techniques, link)) in cases.iter().enumerate() {
        let viewing = watch(&trace, StreamConfig { techniques, fidelity }, link)?;
        measured.push(Measured::of(name, link, &viewing));
        progress(0.5 + 0.5 * (i + 1) as f32 / cases.len() as f32);
    }
    let naive = measured.first().map_or(0.0, |naive| naive.kbit_s);
    let (clear, lossy) = (find(&measured, CLEAR)?, find(&measured, LOSSY)?);
    let moving = trace.moving_mean();
    let passed = moving >= MOVING_BAR && clear.kbit_s <= KBIT_S_BAR && clear.exact() && lossy.exact();
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("scene", SCENE)
            .with("ticks", ticks)
            .with("bodies", trace.ticks.first().map_or(0, Vec::len))
            .with("moving_mean", moving)
            .with("moving_bar", MOVING_BAR)
            .with("position_step_mm", f64::from(fidelity.position_um()) / 1e3)
            .with("rotation_step_deg", f64::from(fidelity.rotation_mdeg()) / 1e3)
            .with("kbit_s_bar", KBIT_S_BAR)
            .with("kbit_s_goal", KBIT_S_GOAL)
            .with("position_error_mm_bar", POSITION_MM_BAR)
            .with("rotation_error_deg_bar", ROTATION_DEG_BAR),
        rows: measured.iter().map(|one| one.row(naive)).collect(),
        plots: plots(&measured, clear, lossy),
        summary: Summary {
            passed,
            sentence: format!(
                "{moving:.0} of 901 cubes move; they take {:.0} kbit/s (bar {KBIT_S_BAR:.0}, goal {KBIT_S_GOAL:.0}, naive \
                 {naive:.0}). 99 of 100 cubes that move are shown within {:.2} mm and {:.2} degrees (bars \
                 {POSITION_MM_BAR} and {ROTATION_DEG_BAR}), at 10 % loss within {:.2} mm and {:.2} degrees, for {:.0} kbit/s.",
                clear.kbit_s,
                clear.moving_position_mm,
                clear.moving_rotation_deg,
                lossy.moving_position_mm,
                lossy.moving_rotation_deg,
                lossy.kbit_s,
            ),
        },
    })
}

fn find(measured: &[Measured], link: Link) -> Result<&Measured, LabError> {
    let found = measured
        .iter()
        .find(|one| one.technique == "all" && one.link.loss == link.loss && one.link.round_trip == link.round_trip);
    found.ok_or_else(|| LabError::Failed("nothing was measured".to_owned()))
}

/// One row.
struct Measured {
    technique: &'static str,
    link: Link,
    kbit_s: f64,
    /// Of whole seconds.
    kbit_s_by_second: Vec<f64>,
    packet_bytes_max: usize,
    encode_us: f64,
    decode_us: f64,
    /// 99 of 100 bodies are shown within these, at ticks or halfway, whichever is worse.
    position_mm: f64,
    rotation_deg: f64,
    /// The same of bodies that move.
    moving_position_mm: f64,
    moving_rotation_deg: f64,
}

impl Measured {
    fn of(technique: &'static str, link: Link, viewing: &Viewing) -> Measured {
        let kbit_s = |packets: &[usize]| {
            packets.iter().sum::<usize>() as f64 * 8.0 / 1e3 * HZ as f64 / packets.len().max(1) as f64
        };
        let worse = |of: fn(&Errors) -> &[f32]| p99(of(&viewing.at_ticks)).max(p99(of(&viewing.halfway)));
        let moving =
            |of: fn(&Errors) -> &[f32]| p99(of(&viewing.at_ticks_moving)).max(p99(of(&viewing.halfway_moving)));
        Measured {
            technique,
            link,
            kbit_s: kbit_s(&viewing.packets),
            kbit_s_by_second: viewing.packets.chunks_exact(HZ).map(kbit_s).collect(),
            packet_bytes_max: viewing.packets.iter().copied().max().unwrap_or(0),
            encode_us: viewing.encode_us,
            decode_us: viewing.decode_us,
            position_mm: worse(|errors| &errors.position_mm),
            rotation_deg: worse(|errors| &errors.rotation_deg),
            moving_position_mm: moving(|errors| &errors.position_mm),
            moving_rotation_deg: moving(|errors| &errors.rotation_deg),
        }
    }

    /// Cubes that move are judged: with those that lie still among them, any picture looks good.
    fn exact(&self) -> bool {
        self.moving_position_mm <= POSITION_MM_BAR && self.moving_rotation_deg <= ROTATION_DEG_BAR
    }

    /// Standard deviation of the rate from second to second.
    fn deviation(&self) -> f64 {
        let seconds = self.kbit_s_by_second.len().max(1) as f64;
        let mean = self.kbit_s_by_second.iter().sum::<f64>() / seconds;
        let squares = self.kbit_s_by_second.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>();
        (squares / seconds).sqrt()
    }

    fn row(&self, naive: f64) -> Row {
        Row::new()
            .with("technique", self.technique)
            .with("loss", (f64::from(self.link.loss) * 100.0).round() / 100.0)
            .with("round_trip_ticks", self.link.round_trip)
            .with("kbit_s_mean", self.kbit_s)
            .with("kbit_s_deviation", self.deviation())
            .with("kbit_s_naive", naive)
            .with("reduction", naive / self.kbit_s)
            .with("packet_bytes_max", self.packet_bytes_max)
            .with("encode_us", self.encode_us)
            .with("decode_us", self.decode_us)
            .with("position_error_mm_p99", self.position_mm)
            .with("rotation_error_deg_p99", self.rotation_deg)
            .with("moving_position_error_mm_p99", self.moving_position_mm)
            .with("moving_rotation_error_deg_p99", self.moving_rotation_deg)
    }
}

/// The value that 99 of 100 do not exceed.
fn p99(values: &[f32]) -> f64 {
    if values.is_empty() {
        return f64::INFINITY;
    }
    let mut values = values.to_vec();
    let rank = (values.len() * 99).div_ceil(100) - 1;
    f64::from(*values.select_nth_unstable_by(rank, f32::total_cmp).1)
}

fn plots(measured: &[Measured], clear: &Measured, lossy: &Measured) -> Vec<Plot> {
    let steps: Vec<&Measured> =
        measured.iter().filter(|one| one.link.loss == 0.0 && one.link.round_trip == ROUND_TRIP).skip(8).collect();
    let categories = steps.iter().map(|one| one.technique.to_owned()).collect();
    let rates = (0..).map(f64::from).zip(&steps).map(|(i, one)| [i, one.kbit_s]).collect();
    let seconds = |one: &Measured| (0..).map(f64::from).zip(&one.kbit_s_by_second).map(|(i, &r)| [i, r]).collect();
    vec![
        Plot::bars("rate", "What each technique leaves of the stream", "one after the other", "kbit/s", categories)
            .with(Series::new("cubes-901", rates))
            .with_level("bar", KBIT_S_BAR),
        Plot::lines("seconds", "The stream from second to second, everything on", "seconds", "kbit/s")
            .with(Series::new("no loss", seconds(clear)))
            .with(Series::new("10 % loss", seconds(lossy)))
            .with_level("bar", KBIT_S_BAR)
            .with_level("goal", KBIT_S_GOAL),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hundredth_is_left_out_and_nothing_is_no_result() {
        let values: Vec<f32> = (1..=200).map(|i| i as f32).collect();
        assert_eq!(p99(&values), 198.0);
        assert_eq!(p99(&[]), f64::INFINITY);
    }

    #[test]
    fn the_picture_is_within_the_bars_and_loss_is_survived() {
        let trace = Trace::record(SCENE, 150, &mut |_| {}).unwrap();
        let config = StreamConfig { techniques: Techniques::ALL, fidelity: fidelity().unwrap() };
        let all = Measured::of("all", CLEAR, &watch(&trace, config, CLEAR).unwrap());
        assert!(all.exact(), "{} mm, {} degrees", all.moving_position_mm, all.moving_rotation_deg);
        let naive = StreamConfig { techniques: Techniques::NAIVE, ..config };
        let naive = Measured::of("naive", LOSSY, &watch(&trace, naive, LOSSY).unwrap());
        let lossy = Measured::of("all", LOSSY, &watch(&trace, config, LOSSY).unwrap());
        assert!(lossy.kbit_s * 20.0 < naive.kbit_s, "{} of {} kbit/s", lossy.kbit_s, naive.kbit_s);
    }
}
