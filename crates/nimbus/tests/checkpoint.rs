//! The checkpoint experiment, small: real processes write their world down and others go on from it, with every body.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use serde_json::Value;
use std::process::Command;

#[test]
fn a_checkpoint_of_a_running_cluster_has_every_body_and_gives_it_back_on_other_numbers_of_servers() {
    let output = Command::new(env!("CARGO_BIN_EXE_nimbus"))
        .args(["lab", "run", "checkpoint", "--quick", "--json", "-"])
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // What it cost is for the experiment to judge, on a machine that has nothing else to do.
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let rows = report["rows"].as_array().unwrap();
    let servers: Vec<u64> = rows.iter().map(|row| row["servers"].as_u64().unwrap()).collect();
    assert_eq!(servers, [4, 4, 2, 4, 8], "two checkpoints, and three clusters that go on: {report}");
    for row in rows {
        assert!(row["missing"] == 0 && row["bodies"].as_u64().unwrap() >= 1_000, "{row}");
    }
    for row in &rows[2..] {
        assert!(row["doubled"] == 0 && row["never_born"] == 0, "{row}");
    }
}
