//! Runs a decoder on mutated messages and says what happened.

use nimbus_model::Rng;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::allocation::{Usage, measure};
use crate::mutation::mutate;
use crate::{Target, Verdict};

/// Inputs that are kept to be changed further.
const POOL_MAX: usize = 1_024;

/// Longer inputs are not kept: a pool of long ones would make every input long, and the run slow.
const KEPT_BYTES_MAX: usize = 8 << 10;

/// What a decoder did that none may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It panicked, with these words.
    Panic(String),
    /// It held more memory than it may.
    Memory {
        /// Bytes held at once.
        held: usize,
        /// Bytes that it may hold for this input.
        limit: usize,
    },
}

/// An input that shows a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The bytes.
    pub input: Vec<u8>,
    /// What they do.
    pub fault: Fault,
}

/// What became of all inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Inputs tried.
    pub executions: u64,
    /// Those that were messages.
    pub accepted: u64,
    /// Greatest share of its limit that any input took, 0 to 1.
    pub worst_share: f64,
    /// Bytes held at once for that input.
    pub worst_bytes: usize,
    /// Its length.
    pub worst_input: usize,
    /// Different ways through the decoder, as far as requests for memory tell them apart.
    pub ways: usize,
    /// The first fault; nothing is tried after it.
    pub finding: Option<Finding>,
}

/// Decodes one input under watch.
pub fn check(target: &Target, input: &[u8]) -> Result<(Verdict, Usage), Fault> {
    let (outcome, usage) = measure(|| catch_unwind(AssertUnwindSafe(|| (target.decode)(input))));
    let verdict = outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Fault::Panic(text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned())
    })?;
    let limit = target.limit.bytes(input.len());
    if usage.peak > limit {
        return Err(Fault::Memory { held: usage.peak, limit });
    }
    Ok((verdict, usage))
}

/// Tries messages from the corpus as they are, then changed ones and freshly made ones, until the count is reached or a
/// fault is found. The same arguments give the same inputs.
pub fn run(target: &Target, corpus: &[Vec<u8>], executions: u64, seed: u64) -> Summary {
    run_told(target, corpus, executions, seed, |_| {})
}

/// The same, and tells of every input before it is tried: for faults that end the process, such as a stack that overflows.
pub fn run_told(
    target: &Target,
    corpus: &[Vec<u8>],
    executions: u64,
    seed: u64,
    mut tell: impl FnMut(&[u8]),
) -> Summary {
    let mut rng = Rng::stream(
        seed,
        target.name.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte))),
    );
    let mut pool: Vec<Vec<u8>> = corpus.to_vec();
    let (mut summary, mut seen) = (Summary::default(), BTreeSet::new());
    while summary.executions < executions {
        let input = match corpus.get(summary.executions as usize) {
            Some(input) => input.clone(),
            None => next(&mut rng, target, &pool),
        };
        summary.executions += 1;
        tell(&input);
        match check(target, &input) {
            Ok((verdict, usage)) => {
                summary.accepted += u64::from(verdict == Verdict::Accepted);
                let share = usage.peak as f64 / target.limit.bytes(input.len()) as f64;
                if share > summary.worst_share {
                    (summary.worst_share, summary.worst_input) = (share, input.len());
                    summary.worst_bytes = usage.peak;
                }
                // What asks for memory in a way not seen before went through the decoder in a way not seen before.
                if seen.insert((
                    verdict == Verdict::Accepted,
                    usage.requests.min(4_096),
                    usage.peak.checked_ilog2().unwrap_or(0),
                )) {
                    keep(&mut rng, &mut pool, input);
                }
            }
            Err(fault) => {
                summary.finding = Some(Finding { input, fault });
                break;
            }
        }
    }
    summary.ways = seen.len();
    summary
}

/// One in sixteen is a message that was never seen; the others are damaged ones.
fn next(rng: &mut Rng, target: &Target, pool: &[Vec<u8>]) -> Vec<u8> {
    let mut input = match rng.below(16) {
        0 => (target.make)(rng),
        _ if pool.is_empty() => Vec::new(),
        _ => pool[rng.below(pool.len() as u64) as usize].clone(),
    };
    if rng.below(64) != 0 {
        mutate(rng, &mut input, pool);
    }
    input
}

fn keep(rng: &mut Rng, pool: &mut Vec<Vec<u8>>, input: Vec<u8>) {
    if input.len() > KEPT_BYTES_MAX {
        return;
    }
    if pool.len() < POOL_MAX {
        pool.push(input);
    } else {
        let at = rng.below(POOL_MAX as u64) as usize;
        pool[at] = input;
    }
}
