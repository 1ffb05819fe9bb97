//! Every decoder against its corpus, former findings and some thousand damaged inputs; and decoders that are wrong on
//! purpose, which must be found out.
#![allow(missing_docs)]

use nimbus_fuzz::runner::{Fault, check, run};
use nimbus_fuzz::{Limit, Target, Verdict, corpus, targets};
use nimbus_model::Rng;

/// Few enough that the whole suite takes seconds; `cargo run --release -p nimbus-fuzz` does a million.
const EXECUTIONS: u64 = 10_000;

#[test]
fn the_corpus_is_accepted() {
    for target in targets::all() {
        let messages = corpus::load(&corpus::folder(), target).unwrap();
        assert!(messages.len() >= 4, "{} has no corpus; cargo run -p nimbus-fuzz -- --make-corpus", target.name);
        for (number, message) in messages.iter().enumerate() {
            let verdict = check(target, message).map(|(verdict, _)| verdict);
            assert_eq!(verdict, Ok(Verdict::Accepted), "{} {number}", target.name);
        }
    }
}

#[test]
fn former_findings_stay_fixed() {
    for target in targets::all() {
        for input in corpus::load(&corpus::regressions(), target).unwrap() {
            let outcome = check(target, &input);
            assert!(outcome.is_ok(), "{}: {} bytes: {outcome:?}", target.name, input.len());
        }
    }
}

#[test]
fn damaged_and_forged_inputs_do_no_harm() {
    for target in targets::all() {
        let corpus = corpus::load(&corpus::folder(), target).unwrap();
        // Snapshots are the only inputs that take long.
        let executions = if target.name.ends_with("snapshot") { EXECUTIONS / 10 } else { EXECUTIONS };
        let summary = run(target, &corpus, executions, 7);
        assert_eq!(summary.finding, None, "{}", target.name);
        assert!(summary.accepted > 0 && summary.accepted < summary.executions, "{}: {summary:?}", target.name);
    }
}

fn planted(name: &'static str, decode: fn(&[u8]) -> Verdict) -> Target {
    let make = |rng: &mut Rng| (0..20).map(|_| rng.below(200) as u8).collect();
    Target { name, decode, make, limit: Limit { factor: 4, room: 4096 } }
}

#[test]
fn a_decoder_that_trusts_a_length_is_found_out_by_its_memory() {
    let target = planted("trusting", |bytes| {
        let claimed = bytes.first_chunk().map_or(0, |head| u32::from_le_bytes(*head));
        let list = Vec::<u8>::with_capacity(claimed.min(1 << 24) as usize);
        Verdict::of(list.capacity() < bytes.len())
    });
    let finding = run(&target, &[], EXECUTIONS, 1).finding.expect("its mistake is found");
    assert!(matches!(finding.fault, Fault::Memory { held, limit } if held > limit), "{:?}", finding.fault);
    assert_eq!(check(&target, &finding.input).unwrap_err(), finding.fault, "and shows again");
}

#[test]
fn a_decoder_that_does_not_look_where_it_reads_is_found_out_by_its_panic() {
    let target = planted("careless", |bytes| {
        let length = bytes.first().copied().unwrap_or_default() as usize;
        Verdict::of(length == 0 || bytes.len() < 2 || bytes[1..][length - 1] == 0)
    });
    let summary = run(&target, &[], EXECUTIONS, 1);
    let finding = summary.finding.clone().expect("its mistake is found");
    assert!(matches!(&finding.fault, Fault::Panic(words) if words.contains("out of bounds")), "{:?}", finding.fault);
    assert_eq!(run(&target, &[], EXECUTIONS, 1), summary, "the same seed finds the same");
}
