//! The files of `deploy/` have the form that their readers want. No container engine is asked: what is checked is that
//! they parse, that what they need is there, and that they agree with each other and with the command line.
#![allow(missing_docs, clippy::unwrap_used, reason = "a file that is not as it should be fails the test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use yaml_rust2::{Yaml, YamlLoader};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(deploy().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn yaml(name: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every object of the manifests, in the order in which they are applied.
fn objects() -> Vec<Yaml> {
    let mut names: Vec<String> = std::fs::read_dir(deploy().join("kubernetes"))
        .unwrap()
        .map(|entry| format!("kubernetes/{}", entry.unwrap().file_name().to_str().unwrap()))
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort_unstable();
    names.iter().flat_map(|name| yaml(name)).collect()
}

fn kind(object: &Yaml) -> &str {
    object["kind"].as_str().expect("an object says its kind")
}

fn name(object: &Yaml) -> &str {
    object["metadata"]["name"].as_str().expect("an object has a name")
}

/// Names of the processes of a role in a cluster's file.
fn processes(file: &str, role: &str) -> BTreeSet<String> {
    let file: toml::Table = file.parse().unwrap();
    file[role].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const ROLES: [(&str, &[&str]); 3] = [
    ("coordinator", &["coordinator-0", "coordinator-1"]),
    ("node", &["node-0", "node-1", "node-2", "node-3"]),
    ("gateway", &["gateway-0"]),
];

#[test]
fn compose_starts_every_process_of_its_file_at_its_address() {
    let cluster = text("cluster.toml");
    let compose = &yaml("compose.yaml")[0];
    let addresses: toml::Table = cluster.parse().unwrap();
    for (role, expected) in ROLES {
        assert_eq!(processes(&cluster, role), names(expected));
        for entry in addresses[role].as_array().unwrap() {
            let service = &compose["services"][entry["name"].as_str().unwrap()];
            let command: Vec<&str> = service["command"].as_vec().unwrap().iter().filter_map(Yaml::as_str).collect();
            assert_eq!(command[0], role);
            assert_eq!(
                command[1..],
                ["--config", "/etc/nimbus/cluster.toml", "--name", entry["name"].as_str().unwrap()]
            );
            let at = service["networks"]["mesh"]["ipv4_address"].as_str().unwrap();
            assert_eq!(entry["address"].as_str().unwrap(), format!("{at}:7800"));
        }
    }
    let scraped = &yaml("prometheus/prometheus.yaml")[0]["scrape_configs"][0]["static_configs"][0]["targets"][0];
    assert_eq!(scraped.as_str(), addresses["gateway"][0]["http"].as_str(), "figures are on the gateway");
    for service in ["etcd", "prometheus", "grafana", "certs"] {
        assert!(compose["services"][service]["image"].as_str().is_some(), "{service}");
    }
}

#[test]
fn manifests_have_what_their_kinds_need() {
    let objects = objects();
    let known =
        ["Namespace", "Service", "ConfigMap", "StatefulSet", "Deployment", "PodDisruptionBudget", "NetworkPolicy"];
    for object in &objects {
        let (kind, name) = (kind(object), name(object));
        assert!(known.contains(&kind) && object["apiVersion"].as_str().is_some(), "{kind} {name}");
        assert!(kind == "Namespace" || object["metadata"]["namespace"].as_str() == Some("nimbus"), "{kind} {name}");
        if !["StatefulSet", "Deployment"].contains(&kind) {
            continue;
        }
        let template = &object["spec"]["template"];
        for (key, value) in object["spec"]["selector"]["matchLabels"].as_hash().unwrap() {
            assert_eq!(template["metadata"]["labels"][key.as_str().unwrap()].as_str(), value.as_str(), "{name}");
        }
        let pod = &template["spec"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"].as_bool(), Some(true), "{name}");
        let volumes: BTreeSet<&str> = pod["volumes"]
            .as_vec()
            .into_iter()
            .flatten()
            .chain(object["spec"]["volumeClaimTemplates"].as_vec().into_iter().flatten())
            .map(|volume| volume["name"].as_str().or(volume["metadata"]["name"].as_str()).unwrap())
            .collect();
        for container in pod["containers"].as_vec().unwrap() {
            assert_eq!(container["securityContext"]["allowPrivilegeEscalation"].as_bool(), Some(false), "{name}");
            assert!(container["resources"]["limits"]["memory"].as_str().is_some(), "{name} has a limit of memory");
            for mount in container["volumeMounts"].as_vec().unwrap() {
                assert!(volumes.contains(mount["name"].as_str().unwrap()), "{name} mounts what it has");
            }
        }
        if name != "etcd" {
            assert!(pod["terminationGracePeriodSeconds"].as_i64().is_some_and(|s| s >= 10), "{name}");
            assert!(
                pod["volumes"].as_vec().unwrap().iter().any(|v| v["secret"]["secretName"].as_str().is_some()),
                "{name}"
            );
        }
    }
    let budgets = objects.iter().filter(|object| kind(object) == "PodDisruptionBudget").count();
    assert_eq!(budgets, 2, "nodes and coordinators are taken away one at a time");
}

#[test]
fn every_process_of_the_manifests_has_an_address_and_is_filled_in() {
    let objects = objects();
    let config = objects.iter().find(|object| kind(object) == "ConfigMap").unwrap();
    let (file, script) = (&config["data"]["cluster.toml"], config["data"]["fill-in.sh"].as_str().unwrap());
    let services: BTreeSet<&str> = objects.iter().filter(|object| kind(object) == "Service").map(name).collect();
    for (role, expected) in ROLES {
        assert_eq!(processes(file.as_str().unwrap(), role), names(expected));
        for process in expected {
            assert!(services.contains(process), "{process}");
            let variable = format!("{}_SERVICE_HOST", process.to_uppercase().replace('-', "_"));
            assert!(script.contains(&format!("s/@{process}@/${{{variable}}}/")), "{process}");
        }
    }
    let nodes = objects.iter().find(|object| kind(object) == "StatefulSet" && name(object) == "node").unwrap();
    assert_eq!(nodes["spec"]["replicas"].as_i64(), Some(4));
    let gateway = objects.iter().find(|object| name(object) == "gateway-0" && kind(object) == "Deployment").unwrap();
    let container = &gateway["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["readinessProbe"]["httpGet"]["path"].as_str(), Some("/api/world"));
    assert!(include_str!("../src/http.rs").contains("\"/api/world\""), "which the gateway serves");
}

#[test]
fn alerts_and_dashboard_have_what_their_readers_need() {
    for rule in yaml("prometheus/alerts.yaml")[0]["groups"][0]["rules"].as_vec().unwrap() {
        for key in ["alert", "expr", "for"] {
            assert!(rule[key].as_str().is_some_and(|value| !value.is_empty()), "{rule:?}");
        }
        assert!(rule["annotations"]["summary"].as_str().is_some(), "{rule:?}");
    }
    let dashboard: serde_json::Value = serde_json::from_str(&text("grafana/dashboards/nimbus.json")).unwrap();
    let source = yaml("grafana/provisioning/datasources/prometheus.yaml")[0]["datasources"][0]["uid"].clone();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 10);
    for panel in panels {
        assert_eq!(panel["datasource"]["uid"].as_str(), source.as_str(), "{}", panel["title"]);
        assert!(panel["targets"].as_array().unwrap().iter().all(|target| target["expr"].as_str().is_some()));
    }
}
