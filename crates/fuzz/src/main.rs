//! `cargo run --release -p nimbus-fuzz`: runs every decoder on a million damaged and forged inputs.

use clap::Parser;
use nimbus_fuzz::runner::{self, Fault};
use nimbus_fuzz::{corpus, targets};
use std::process::ExitCode;

/// Feed damaged and forged bytes to every decoder
///
/// Ends with 1 when a decoder panics or takes more memory than it may; the input is written to the folder of regressions,
/// where the tests replay it.
#[derive(Parser)]
struct Arguments {
    /// Only this decoder
    #[arg(long)]
    target: Option<String>,
    /// Inputs per decoder
    #[arg(long, default_value_t = 1_000_000)]
    executions: u64,
    /// Everything follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write every input to this file before it is tried: slow, and the only trace of a stack that overflows
    #[arg(long, value_name = "FILE")]
    last: Option<std::path::PathBuf>,
    /// Make the messages of the corpus anew, and run nothing
    #[arg(long)]
    make_corpus: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let chosen: Vec<_> =
        targets::all().iter().filter(|t| arguments.target.as_deref().is_none_or(|name| name == t.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = targets::all().iter().map(|target| target.name).collect();
        anyhow::bail!("there is no such target; there are {}", names.join(", "));
    }
    if arguments.make_corpus {
        for target in chosen {
            corpus::make(&corpus::folder(), target)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    // A panic is a finding that is told below; its own words would only be in the way.
    std::panic::set_hook(Box::new(|_| {}));
    let mut is_clean = true;
    println!(
        "{:<18} {:>10} {:>9} {:>9} {:>6} {:>11} {:>10} {:>6}  limit",
        "target", "executions", "accepted", "refused", "ways", "worst input", "held", "share"
    );
    for target in chosen {
        let corpus = corpus::load(&corpus::folder(), target)?;
        let tell = |input: &[u8]| {
            // The run goes on without a trace; it is the run that counts.
            _ = arguments.last.as_ref().map(|path| std::fs::write(path, input));
        };
        let summary = runner::run_told(target, &corpus, arguments.executions, arguments.seed, tell);
        println!(
            "{:<18} {:>10} {:>9} {:>9} {:>6} {:>11} {:>10} {:>5.1}%  {} x input + {}",
            target.name,
            summary.executions,
            summary.accepted,
            summary.executions - summary.accepted,
            summary.ways,
            summary.worst_input,
            summary.worst_bytes,
            100.0 * summary.worst_share,
            target.limit.factor,
            target.limit.room
        );
        if let Some(finding) = summary.finding {
            is_clean = false;
            let path = corpus::store(&corpus::regressions(), target, &finding)?;
            match finding.fault {
                Fault::Panic(words) => println!("  panics: {words}"),
                Fault::Memory { held, limit } => println!("  holds {held} bytes; {limit} are allowed"),
            }
            println!("  {} bytes, in {}", finding.input.len(), path.display());
        }
    }
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
