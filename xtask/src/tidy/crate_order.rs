//! Crates build on each other in one order, so that a reader can start at the top and never meet what comes later.

use super::Problem;
use super::manifest::{self, Use};
use super::tree::Tree;

/// A crate may depend only on those before it.
const ORDER: [&str; 18] = [
    "model",
    "scenes",
    "wire",
    "space",
    "physics",
    "node",
    "harvest",
    "control",
    "gateway",
    "client",
    "peer",
    "sdk",
    "runtime",
    "universe",
    "lab",
    "nimbus",
    "transfer-model",
    "fuzz",
];

/// The two shells around the same cores; neither may see the other, not even in tests.
const SHELLS: [&str; 2] = ["runtime", "universe"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in tree.crates() {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(own) = place(name) else {
            let what = format!("`{name}` has no place in the order of xtask/src/tidy/crate_order.rs");
            problems.push(Problem::new(&path, 0, what));
            continue;
        };
        for dependency in manifest::dependencies(tree.text(&path).unwrap_or_default()) {
            let Some(other) = crate_of(&dependency.package) else { continue };
            let what = if SHELLS.contains(&name) && SHELLS.contains(&other) && name != other {
                format!("{name} and {other} are two shells of the same cores and may not see each other")
            } else if dependency.used == Use::Product && place(other).is_none_or(|other| other >= own) {
                format!("{name} may not depend on {other}, which does not come before it")
            } else {
                continue;
            };
            problems.push(Problem::new(&path, dependency.line, what));
        }
    }
    problems
}

fn place(name: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == name)
}

/// The folder of one of our packages; nothing for packages of others.
fn crate_of(package: &str) -> Option<&str> {
    if package == "nimbus" { Some(package) } else { package.strip_prefix("nimbus-") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn dependencies_point_upwards() {
        let good = "[dependencies]\nnimbus-model.workspace = true\nserde = \"1\"\n";
        assert_eq!(found(check, &[("crates/wire/Cargo.toml", good)]), [""; 0]);
        let bad = "[dependencies]\nnimbus-node.workspace = true\n";
        assert_eq!(
            found(check, &[("crates/wire/Cargo.toml", bad)]),
            ["crates/wire/Cargo.toml:2: wire may not depend on node, which does not come before it"]
        );
        assert_eq!(found(check, &[("crates/lab/Cargo.toml", "[dependencies]\nnimbus = \"1\"\n")]).len(), 1);
        let only_tests = "[dev-dependencies]\nnimbus-scenes.workspace = true\n";
        assert_eq!(found(check, &[("crates/model/Cargo.toml", only_tests)]), [""; 0]);
    }

    #[test]
    fn the_shells_do_not_see_each_other_even_in_tests() {
        for table in ["dependencies", "dev-dependencies"] {
            let universe = format!("[{table}]\nnimbus-runtime.workspace = true\n");
            assert_eq!(found(check, &[("crates/universe/Cargo.toml", &universe)]).len(), 1, "{table}");
            let runtime = format!("[{table}]\nnimbus-universe.workspace = true\n");
            assert_eq!(found(check, &[("crates/runtime/Cargo.toml", &runtime)]).len(), 1, "{table}");
        }
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        assert_eq!(found(check, &[("crates/extra/Cargo.toml", "")]).len(), 1);
    }
}
