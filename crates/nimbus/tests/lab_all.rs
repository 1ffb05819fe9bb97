//! `nimbus lab run all` from outside: what is finished is kept, what is not is run, and what fails holds nothing up.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The experiment that is run for real, since it takes least time.
const SHORT: &str = "authority-swap";

struct Reports(PathBuf);

impl Reports {
    /// A directory in which every experiment but the short one is finished, in its quick form.
    fn all_but_one(name: &str) -> Reports {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let reports = Reports(directory);
        let (_, list) = nimbus(&["lab", "list"]);
        let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(names.contains(&SHORT), "{list}");
        names.iter().filter(|name| **name != SHORT).for_each(|name| reports.finish(name, "met"));
        reports
    }

    fn finish(&self, name: &str, outcome: &str) {
        let record = format!(
            r#"{{ "experiment": "{name}", "about": "", "options": {{ "quick": true, "minutes": null, "repeat": null }},
                "commit": "0000", "started_unix_s": 0, "seconds": 1.0, "outcome": "{outcome}", "not_judged": null, "sentence": "Said.",
                "table": [], "pictures": [] }}"#
        );
        fs::write(self.0.join(format!("{name}.result.json")), record).unwrap();
    }

    fn run(&self, more: &[&str]) -> (i32, String) {
        let mut arguments = vec!["lab", "run", "all", "--quick", "--report", self.0.to_str().unwrap()];
        arguments.extend(more);
        nimbus(&arguments)
    }

    fn page(&self) -> String {
        fs::read_to_string(self.0.join("index.html")).unwrap()
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn nimbus(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nimbus")).args(arguments).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("panicked"), "{said}");
    (output.status.code().unwrap(), said)
}

#[test]
fn only_what_is_not_finished_is_run_and_then_all_is_kept() {
    let reports = Reports::all_but_one("resumed");
    let (code, said) = reports.run(&[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("finished before") && said.contains(&format!("{SHORT:18} passed (")), "{said}");
    let page = reports.page();
    for part in [format!("{SHORT}.html"), format!("{SHORT}.csv"), "(other commit)".to_owned()] {
        assert!(page.contains(&part), "{part} is missing: {page}");
    }
    assert!(reports.0.join(format!("{SHORT}.html")).exists() && reports.0.join(format!("{SHORT}.log")).exists());
    let (code, said) = reports.run(&[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("{SHORT:18} passed; finished before")), "{said}");
}

#[test]
fn a_bar_that_is_not_met_decides_the_exit_code_also_when_it_was_missed_before() {
    let reports = Reports::all_but_one("unmet");
    reports.finish(SHORT, "met");
    reports.finish("packet-loss", "not-met");
    let (code, said) = reports.run(&[]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("packet-loss        the bar is not met; finished before"), "{said}");
}

#[test]
fn an_experiment_that_fails_is_noted_and_the_others_go_on() {
    let reports = Reports::all_but_one("failing");
    // A directory where a file of its report should go.
    let in_the_way = reports.0.join(format!("{SHORT}.csv"));
    fs::create_dir_all(&in_the_way).unwrap();
    let (code, said) = reports.run(&[]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&format!("{SHORT:18} did not run to its end")), "{said}");
    assert!(said.contains("cannot write the report"), "{said}");
    let (_, list) = nimbus(&["lab", "list"]);
    let last = list.lines().last().unwrap().split_whitespace().next().unwrap();
    assert!(said.contains(&format!("{last:18} passed; finished before")), "{said}");
    fs::remove_dir_all(&in_the_way).unwrap();
    let (code, said) = reports.run(&[]);
    assert_eq!(code, 0, "what failed is run again: {said}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for (arguments, part) in [
        (&["all", "--json", "-"][..], "--json goes with one experiment"),
        (&["all", "--again", "nothing"], "there is no experiment `nothing`"),
        (&["packet-loss", "--again", "soak"], "--again goes with `all`"),
        (&["packet-loss", "--repeat", "3"], "`packet-loss` knows no --repeat"),
        (&["aura-scalability", "--repeat", "0"], "--repeat is 0; it must be from 1 to 1000"),
        (&["all", "--repeat", "0"], "--repeat is 0; it must be from 1 to 1000"),
    ] {
        let (code, said) = nimbus(&[&["lab", "run"], arguments].concat());
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(part), "{part}: {said}");
    }
}
