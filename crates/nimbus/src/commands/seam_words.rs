//! What a comparison with one server found, in words.

use nimbus::universe::{Comparison, Deviation, SeamFault};

/// How many of a kind are listed.
const LISTED_MAX: usize = 12;

/// Prints a comparison.
pub(crate) fn tell(comparison: &Comparison) {
    let Comparison { compared, late, missed, chaotic, deviations, orders, .. } = comparison;
    println!("against one server: {compared} first contacts compared");
    println!(
        "{} late, {} missed, {} of them silent; {chaotic} more differ on one server, too, in {orders} other orders",
        late.len(),
        missed.len(),
        comparison.silent().count()
    );
    for fault in late.iter().chain(missed).take(LISTED_MAX) {
        println!("  {}", fault_words(fault));
    }
    if !deviations.is_empty() {
        println!("{} bodies move on in another way than on one server", deviations.len());
    }
    for Deviation { nid, tick, place_m, velocity } in deviations.iter().take(LISTED_MAX) {
        println!("  {nid} after tick {tick}: {:.1} mm elsewhere, {velocity:.3} m/s off", 1e3 * place_m);
    }
    let breaches = &comparison.outcome.breaches;
    match breaches.first() {
        Some(first) => println!(
            "{} breaches, the first at tick {} by {}: {} {} against {}",
            breaches.len(),
            first.tick,
            first.region,
            first.factor,
            first.value,
            first.limit
        ),
        None => println!("no breach"),
    }
    let at_rest = match comparison.changes_at_rest {
        Some(changes) => format!("{changes} after ten seconds of rest"),
        None => "not ten seconds at rest".to_owned(),
    };
    println!(
        "owner changes {:.1} a second at the end, {at_rest}; {} bodies awake at the end",
        comparison.owner_changes_per_s, comparison.awake
    );
}

fn fault_words(fault: &SeamFault) -> String {
    let SeamFault { pair: (a, b), expected, seen, owners, announced } = fault;
    let owners =
        owners.each_ref().map(|regions| regions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" then "));
    let what = match seen {
        Some(seen) => format!("touch at tick {seen} instead of {expected}"),
        None => format!("never touch, on one server at tick {expected}"),
    };
    let said = match announced {
        Some(breach) => format!("announced: {} at tick {}", breach.factor, breach.tick),
        None => "silent".to_owned(),
    };
    format!("{a} ({}) and {b} ({}) {what}; {said}", owners[0], owners[1])
}
