//! The protocol keeps every rule, and the check is not empty.

use std::collections::BTreeSet;

use nimbus_transfer_model::{ALWAYS, Bounds, SOMETIMES, TransferModel};
use stateright::{Checker, Model};

#[test]
fn the_protocol_is_sound_and_every_situation_comes_up() {
    let mut reached = BTreeSet::new();
    for bounds in Bounds::quick() {
        let name = bounds.name;
        let checker = TransferModel::sound(bounds).checker().threads(2).spawn_bfs().join();
        assert!(checker.is_done(), "{name}: the search stopped early");
        for (rule, _) in ALWAYS {
            let steps = checker.discovery(rule).map(|path| path.into_actions());
            assert_eq!(steps, None, "{name}: not \"{rule}\"");
        }
        reached.extend(SOMETIMES.into_iter().map(|(rule, _)| rule).filter(|rule| checker.discovery(rule).is_some()));
        println!("{name}: {} states, depth {}", checker.unique_state_count(), checker.max_depth());
    }
    let wanted: BTreeSet<_> = SOMETIMES.into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(reached, wanted);
}
