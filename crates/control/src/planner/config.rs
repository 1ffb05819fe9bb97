//! What a planner is told once.

/// How eagerly boundaries follow the load. Times are in ticks, so that the simulator and a real cluster mean the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannerConfig {
    /// No leaf may get narrower, metres: two of the largest auras.
    pub width_min: f32,
    /// Bodies so near to a plane are disturbed by it, metres. Of places that are about equally good, the planner takes
    /// the one with the fewest of them.
    pub reach_m: f32,
    /// Planning begins when the cheapest region costs so much less than the dearest, thousandths of the dearest.
    pub start_permille: u32,
    /// It ends when the two sides of every plane differ by no more, thousandths. Below `start_permille`, so that noise
    /// does not begin what was just ended.
    pub stop_permille: u32,
    /// Nothing is done for less, microseconds a tick, however uneven it is.
    pub gain_us_min: u32,
    /// No plane moves twice within this time.
    pub settle_ticks: u64,
    /// What is reported within this time after a partition took effect does not count: bodies are still on their way.
    pub drain_ticks: u64,
    /// Reports of each region that must have come since then.
    pub reports_min: u32,
    /// A region whose last report is older is silent, and nothing is planned.
    pub stale_ticks: u64,
    /// A new partition takes effect so long after it is announced.
    pub lead_ticks: u64,
    /// No plane moves further at once, metres.
    pub step_m: f32,
    /// No plane passes more bodies at once, about; they all have to change server. The way through empty space costs
    /// nothing.
    pub bodies_max: u32,
    /// Planes go to where the load will be. Otherwise to where it was, which is always behind.
    pub looks_ahead: bool,
    /// A region that costs more, microseconds a tick, shares its place with an idle one if moving planes is not enough, and
    /// neighbours that cost less than half of it together become one. Nothing: the number of regions stays.
    pub budget_us: Option<u32>,
    /// A mistake on purpose.
    pub planted: Option<Misplan>,
}

impl PlannerConfig {
    /// The defaults, for a world that needs leaves of this width.
    pub fn new(width_min: f32) -> PlannerConfig {
        PlannerConfig {
            width_min,
            reach_m: 2.0,
            start_permille: 100,
            stop_permille: 30,
            gain_us_min: 50,
            settle_ticks: 40,
            drain_ticks: 15,
            reports_min: 2,
            stale_ticks: 60,
            lead_ticks: 20,
            step_m: 200.0,
            bodies_max: 600,
            looks_ahead: true,
            budget_us: None,
            planted: None,
        }
    }

    /// How long from now the partition that is planned now will be in the middle of the time that it is in force, ticks: it
    /// begins after the lead, the next one cannot be planned before it has settled, and takes as long to begin.
    pub(super) fn life_middle_ticks(&self) -> f32 {
        self.lead_ticks as f32 + 0.5 * (self.settle_ticks + self.lead_ticks) as f32
    }
}

/// Mistakes that a planner can be told to make. A check that does not notice them proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misplan {
    /// Leaves may get as narrow as they like.
    Narrow,
    /// Any difference is reason enough, whenever the last move was, and however often a plane went to and fro.
    Restless,
    /// A plane goes all the way at once.
    Leaping,
    /// A new partition takes effect at once, and some servers hear of it too late.
    Hasty,
}

impl Misplan {
    /// All of them, with the name the command line knows each by.
    pub const ALL: [(&'static str, Misplan); 4] = [
        ("narrow", Misplan::Narrow),
        ("restless", Misplan::Restless),
        ("leaping", Misplan::Leaping),
        ("hasty", Misplan::Hasty),
    ];
}
