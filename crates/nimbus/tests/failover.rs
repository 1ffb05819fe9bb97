//! The failover experiment, small: real processes are killed, stopped and restarted, and every body is there once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use serde_json::Value;
use std::process::Command;

#[test]
fn nothing_is_lost_whichever_process_is_killed_stopped_or_restarted() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_nimbus")).args(["lab", "run", "failover", "--quick", "--json", "-"]).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // How quick everything was is for the experiment to judge, on a machine that has nothing else to do.
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.len() >= 16, "five kills, two stalls, two more kills, six restarts and a loss: {report}");
    let (loss, rows) = rows.split_last().unwrap();
    assert!(loss["what"] == "kill both" && loss["lost"].as_u64() > Some(0), "{loss}");
    assert_eq!(loss["misnamed"], 0, "what is lost is not named: {loss}");
    for row in rows {
        assert!(row["lost"] == 0 && row["doubled"] == 0, "{row}");
        assert!(row["bodies"].as_u64().unwrap() >= 400, "{row}");
    }
    let stalled = rows.iter().find(|row| row["what"] == "stop 5000 ms").unwrap();
    assert_eq!(stalled["changed_server"], stalled["its_regions"], "{stalled}");
    assert!(stalled["rejected"].as_u64().unwrap() > 0, "nobody heard the former server: {stalled}");
}
