//! What is done to make a stream short. Each can be left out, so that each can be measured.

/// A choice of techniques. They build on each other: differences are taken between whole steps, so `delta` and
/// `prediction` do nothing without `quantised`, and `entropy` finds little to do in bits that are all equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Techniques {
    /// Whole steps of a [`Fidelity`](super::Fidelity) instead of floats.
    pub quantised: bool,
    /// Three components of a rotation instead of four, where it is sent in full.
    pub smallest_three: bool,
    /// One bit for a body that is where the acknowledged snapshot has it.
    pub at_rest: bool,
    /// The difference to the acknowledged snapshot, and to the body before where that has none.
    pub delta: bool,
    /// The difference to where the body would be had it moved on as it did up to the acknowledged snapshot.
    pub prediction: bool,
    /// Bits cost what they tell: an adaptive range coder.
    pub entropy: bool,
    /// The snapshot before once more, while packets get lost: it is then missing only where two packets in a row are.
    pub repeats: bool,
}

impl Techniques {
    /// Floats, all of them, every time.
    pub const NAIVE: Techniques = Techniques {
        quantised: false,
        smallest_three: false,
        at_rest: false,
        delta: false,
        prediction: false,
        entropy: false,
        repeats: false,
    };

    /// Everything.
    pub const ALL: Techniques = Techniques {
        quantised: true,
        smallest_three: true,
        at_rest: true,
        delta: true,
        prediction: true,
        entropy: true,
        repeats: true,
    };

    /// Whether bodies are sent as differences to something.
    pub(super) fn relative(self) -> bool {
        self.quantised && (self.delta || self.prediction)
    }
}

impl Default for Techniques {
    fn default() -> Self {
        Techniques::ALL
    }
}
