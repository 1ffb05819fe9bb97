//! The binary from outside: exit codes and words.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn nimbus(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nimbus")).args(arguments).output().unwrap()
}

/// Runs a command, checks its exit code, and returns all it said.
fn check(code: i32, arguments: &[&str]) -> String {
    let output = nimbus(arguments);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn a_relay_that_makes_no_sense_is_refused() {
    let path = scratch("relay.toml");
    let with = |table: &str, relayed: &str| {
        let places = format!("[[coordinator]]\nname = \"c\"\naddress = \"127.0.0.1:1\"\n{relayed}\n");
        let node = "[[node]]\nname = \"n\"\naddress = \"127.0.0.1:2\"\n";
        std::fs::write(&path, format!("name = \"test\"\nscene = \"rain\"\nscale = 0.1\n{table}\n{places}{node}"))
            .unwrap();
        check(2, &["relay", "--config", path.to_str().unwrap()])
    };
    let relayed = "relayed = \"127.0.0.1:3\"";
    for (table, relayed, expected) in [
        ("", "", "has no [relay]"),
        ("", relayed, "`c` has `relayed`, but there is no [relay]"),
        ("[relay]", "", "[relay] has nothing to do"),
        ("[relay]\nloss = 2", relayed, "`loss` is 2; it must be a number from 0 to 1"),
        ("[relay]\ndelay_ms = nan", relayed, "`delay_ms` is NaN"),
        ("[relay]\nlost = 0.1", relayed, "unknown field `lost`"),
        ("[[relay.cut]]\nprocess = \"x\"\nfrom_s = 1\nuntil_s = 2", relayed, "there is no process called `x`"),
    ] {
        let said = with(table, relayed);
        assert!(said.contains(expected), "{expected}: {said}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_process_that_the_cluster_file_does_not_have_is_refused() {
    let file = examples().join("cluster.toml");
    let said = check(2, &["node", "--config", file.to_str().unwrap(), "--name", "node-9"]);
    assert!(said.contains("no node called `node-9`"), "{said}");
    let said = check(2, &["node", "--config", file.to_str().unwrap()]);
    assert!(said.contains("--name which node"), "{said}");
    let said = check(2, &["cluster", examples().join("hello.toml").to_str().unwrap()]);
    assert!(said.contains("is no cluster file"), "{said}");
}

#[test]
fn what_is_wrong_with_the_etcd_of_a_cluster_is_said() {
    let example = std::fs::read_to_string(examples().join("cluster.toml")).unwrap();
    let file = scratch("etcd.toml");
    let path = file.to_str().unwrap();
    let said = |etcd: &str, command: &[&str]| {
        // A table ends where the next one begins, so it goes before the first of them.
        let text = example.replace("store = \"cluster/roster\"\n", &format!("{etcd}\n"));
        std::fs::write(&file, text).unwrap();
        check(2, command)
    };
    let coordinator = ["coordinator", "--config", path, "--name", "coordinator-0"];
    for (etcd, part) in [
        ("[etcd]\nendpoints = [\"127.0.0.1:2379\"]", "write one like http://127.0.0.1:2379"),
        ("[etcd]\nendpoints = []", "list 1 to 16 endpoints"),
        ("[etcd]\nlease_s = 0", "1 to 60 seconds, not 0"),
        ("[etcd]\nendpoints = [\"https://a:1\"]", "https needs `ca`"),
        ("[etcd]\nuser = \"root\"", "`user` and `password_file` go together"),
        ("[etcd]\nuser = \"root\"\npassword_file = \"/does/not/exist\"", "/does/not/exist"),
        ("[etcd]\ncertificate = \"a.pem\"", "`certificate` and `key` go together"),
        ("[etcd]\nendpoint = \"http://a:1\"", "endpoint"),
        ("store = \"roster\"\n[etcd]", "either `store`, a file, or [etcd]"),
    ] {
        let said = said(etcd, &coordinator);
        assert!(said.contains(part), "{etcd}: {said}");
    }
    let own = ["cluster", path, "--etcd"];
    let elsewhere = said("[etcd]\nendpoints = [\"http://10.0.0.1:2379\"]\n", &own);
    assert!(elsewhere.contains("without --etcd"), "{elsewhere}");
    let second = said("store = \"roster\"", &["coordinator", "--config", path, "--name", "coordinator-1"]);
    assert!(second.contains("--etcd"), "{second}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let busy = said(&format!("[etcd]\nendpoints = [\"http://{address}\"]"), &own);
    assert!(busy.contains("end what listens there"), "{busy}");
    std::fs::remove_file(&file).unwrap();
    // `nimbus cluster` makes certificates before it starts anything.
    std::fs::remove_dir_all(file.with_file_name("cluster")).unwrap();
}

#[test]
fn certificates_are_made_once_and_added_to() {
    let dir = scratch("certs");
    let path = dir.to_str().unwrap();
    let first = check(0, &["certs", path]);
    for part in ["new CA", "coordinator-0.pem", "node-0.pem", "node-3.pem", "gateway-0.pem"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let second = check(0, &["certs", path, "--node", "node-0", "--node", "node-4"]);
    assert!(second.contains("CA kept") && second.contains("kept: ") && second.contains("node-4.pem"), "{second}");
    let role = check(2, &["certs", path, "--gateway", "node-0"]);
    assert!(role.contains("`node-0` is a node"), "{role}");
    assert!(check(2, &["certs", path, "--node", "Not/A/Name"]).contains("is not a name"));
    assert!(check(2, &["certs", path, "--host", "node-9.node.nimbus"]).contains("neither a host name"));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_world_file_is_checked() {
    for (file, name) in [("hello.toml", "`hello`"), ("playground.toml", "`playground`")] {
        let good = check(0, &["check", examples().join(file).to_str().unwrap()]);
        assert!(good.contains("good. ") && good.contains(name) && !good.contains("warning"), "{good}");
    }
    let broken = scratch("broken.toml");
    std::fs::write(&broken, "name = \"x\"\n\n[[bodies]]\nshape = { ball = { radius = -1 } }\ngravty = 3\n").unwrap();
    let path = broken.to_str().unwrap();
    for command in [vec!["check", path], vec!["run", path, "--port", "0"]] {
        let said = check(2, &command);
        assert!(said.contains("broken.toml") && said.contains('4'), "the line is named: {said}");
    }
    std::fs::remove_file(&broken).unwrap();
    assert!(check(2, &["check", "/does/not/exist.toml"]).contains("/does/not/exist.toml"));
}

#[test]
fn what_will_disappoint_in_a_world_is_said_before_it_runs() {
    let file = scratch("doubtful.toml");
    let body = "kind = \"dynamic\"\nshape = { cuboid = { half = [0.5, 0.5, 0.5] } }";
    let injection = "[[injections]]\nvolume = { min = [-9, 1, -9], max = [9, 9, 9] }\nper_second = 9000\ncount = 300000\n\
                     [[injections.choices]]\nshape = { ball = { radius = 0.5 } }";
    let joint = "[[joints]]\na = \"one\"\nb = \"two\"\nkind = \"spherical\"\ncontacts = true";
    let text = format!(
        "name = \"doubtful\"\ntick_hz = 30\n[[bodies]]\nname = \"one\"\n{body}\n[[bodies]]\nname = \"two\"\n{body}\n\
         position = [0.6, 0, 0]\n{joint}\n{injection}\n"
    );
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let said = check(0, &["check", path]);
    for part in [
        "doubtful.toml:1: warning: tolerances cannot hold: frame_ms is 28",
        "raise tolerances.frame_ms to 56",
        "doubtful.toml:3: warning: \"one\" and \"two\" start 0.40 m inside each other",
        "warning: joints[0] has anchors 0.600 m",
        "warning: injections bring the world to 300002 bodies",
        "good, with ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let promise = "warning: `doubtful`: tolerances cannot hold: frame_ms is 28";
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = check(2, &["run", path, "--port", &port]);
    assert!(said.contains(promise), "{said}");
    let cluster = scratch("doubtful-cluster.toml");
    let example = std::fs::read_to_string(examples().join("cluster.toml")).unwrap();
    std::fs::write(&cluster, example.replace("scene = \"showcase\"", &format!("world = \"{path}\""))).unwrap();
    let said = check(2, &["coordinator", "--config", cluster.to_str().unwrap(), "--name", "coordinator-9"]);
    assert!(said.contains(promise), "{said}");
    std::fs::remove_file(&cluster).unwrap();
    std::fs::remove_file(&file).unwrap();
    // The scene of the experiments is made for servers that wake more often than once a tick.
    let said = check(0, &["universe", "--scene", "rain", "--scale", "0.1", "--servers", "2", "--ticks", "5"]);
    assert!(said.contains("`rain`: tolerances cannot hold: frame_ms is 15"), "{said}");
    let said = check(0, &["universe", "--scene", "crossing", "--scale", "0.1", "--servers", "2", "--ticks", "5"]);
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn an_unknown_scene_is_answered_with_a_suggestion() {
    let out = scratch("never.mcap");
    let out = out.to_str().unwrap();
    for command in [
        vec!["demo", "--scene", "showcas", "--port", "0"],
        vec!["record", "--scene", "showcas", "--ticks", "5", "--out", out],
    ] {
        assert!(check(2, &command).contains("did you mean `showcase`"));
    }
    assert!(!Path::new(out).exists());
}

#[test]
fn bad_usage_is_two() {
    check(2, &["demo", "--servers", "0"]);
    check(2, &["no-such-command"]);
    check(2, &["record", "--out", "x"]);
    check(2, &["inspect", "x", "--body", "nonsense"]);
    check(2, &["replay", "/does/not/exist.mcap"]);
}

#[test]
fn a_run_is_recorded_replayed_and_inspected() {
    let file = scratch("run.mcap");
    let path = file.to_str().unwrap();
    let record = ["record", "--scene", "crossing", "--servers", "2", "--scale", "0.3", "--ticks", "150", "--out", path];
    let recorded = check(0, &record);
    let hash = recorded.lines().find(|line| line.starts_with("all: hash")).unwrap().to_owned();
    let replayed = check(0, &["replay", path]);
    assert!(replayed.contains(&hash) && replayed.contains("equals"), "{replayed}");

    let summary = check(0, &["inspect", path]);
    assert!(summary.contains("hand-overs") && summary.contains("r0 to r1"), "{summary}");
    let listed: serde_json::Value =
        serde_json::from_str(&check(0, &["inspect", path, "--hand-overs", "--json"])).unwrap();
    let body = listed["hand_overs"][0]["body"].as_str().unwrap().to_owned();
    let life = check(0, &["inspect", path, "--body", &body]);
    assert!(life.contains("born") && life.contains("given to"), "{life}");
    assert!(check(0, &["inspect", path, "--hand-overs"]).lines().count() > 1);
    assert!(check(2, &["inspect", path, "--body", "9.9"]).contains("9.9"));

    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() * 2 / 3]).unwrap();
    assert!(check(2, &["replay", path]).contains("run.mcap"));
    check(2, &["inspect", path]);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_taken_port_is_named_with_the_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = check(2, &["demo", "--scene", "head-on", "--servers", "2", "--port", &port]);
    assert!(said.contains(&port) && said.contains("--port"), "{said}");
}

#[test]
fn a_demo_ends_well_when_asked_to() {
    let file = scratch("demo.mcap");
    let mut child = Command::new(env!("CARGO_BIN_EXE_nimbus"))
        .args(["demo", "--scene", "head-on", "--servers", "2", "--port", "0", "--record"])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("http://127.0.0.1:") && !first.contains(":0/"), "{first}");
    interrupt(&child);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    check(0, &["replay", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
}

/// So many boxes in one heap that a tick takes seconds, and so does making the world.
#[test]
fn a_world_that_is_too_much_ends_soon_after_it_is_asked_to() {
    let file = scratch("heap.toml");
    let text = "name = \"heap\"\n[layout]\nkind = \"columns\"\ncount = 2\nwidth = 40.0\n[[bodies]]\n\
                shape = { cuboid = { half = [0.3, 0.3, 0.3] } }\nposition = [-15.0, 0.3, -15.0]\n\
                repeat = { count = [40, 60, 40], spacing = [0.6, 0.6, 0.6] }\n";
    std::fs::write(&file, text).unwrap();
    for wait_ms in [100, 6_000] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nimbus"))
            .args(["run", file.to_str().unwrap(), "--port", "0"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait_ms));
        let asked = Instant::now();
        interrupt(&child);
        child.wait().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?} after {wait_ms} ms", asked.elapsed());
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_world_beyond_its_budget_is_refused_in_the_same_words_everywhere() {
    let file = scratch("million.toml");
    let text = "name = \"million\"\n[[injections]]\nvolume = { min = [-9, 1, -9], max = [9, 9, 9] }\nper_second = 1\n\
                count = 1_000_000\nchoices = [{ shape = { ball = { radius = 0.5 } } }]\n";
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let said = check(2, &["check", path]);
    for part in ["million.toml:2: injections bring the world to 1000000 bodies", "the budget is 500000", "[budget]"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for arguments in
        [&["run", path][..], &["universe", "--world", path], &["record", "--world", path, "--out", "/dev/null"]]
    {
        assert_eq!(check(2, arguments), said, "{arguments:?}");
    }
    std::fs::write(&file, text.replacen("\n", "\n[budget]\nbodies = 1_000_000\nbodies_per_region = 9\n", 1)).unwrap();
    assert!(check(0, &["check", path]).contains("good"));
    std::fs::remove_file(&file).unwrap();
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn what_to_log_is_refused_where_it_makes_no_sense() {
    let world = examples().join("hello.toml");
    let said = check(2, &["check", world.to_str().unwrap(), "--log", "nimbus=loud"]);
    assert!(said.contains("`nimbus=loud`") && said.contains("nimbus::handover"), "{said}");
    check(0, &["--log", "nimbus::handover", "check", world.to_str().unwrap()]);
}
