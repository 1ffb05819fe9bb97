//! What `nimbus certs` makes, keeps and will not make.

use nimbus_runtime::certs::{CertFiles, CertsError, make_certs};
use nimbus_runtime::mesh::{Hello, Identity, IdentityError, Mesh, MeshConfig, MeshError, Role};
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::cast::{HERE, certs, empty, hello, name, request};

#[test]
fn a_second_run_adds_what_is_missing() {
    let certs = empty("twice");
    let first = make_certs(&certs.0, &request(&["node-0", "gateway-0"])).unwrap();
    assert!(first.ca && first.kept.is_empty() && first.made == [name("gateway-0"), name("node-0")]);
    let files = CertFiles::new(&certs.0);
    let kept = [files.ca(), files.ca_key(), files.certificate(&name("node-0")), files.key(&name("node-0"))];
    let before: Vec<_> = kept.iter().map(|path| fs::read(path).unwrap()).collect();
    let second = make_certs(&certs.0, &request(&["node-1", "node-0"])).unwrap();
    assert!(!second.ca && second.kept == [name("node-0")] && second.made == [name("node-1")]);
    let after: Vec<_> = kept.iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(before, after);
    for who in ["node-0", "node-1", "gateway-0"] {
        let identity = Identity::load(&certs.0, &name(who)).unwrap();
        assert_eq!((identity.name(), identity.role()), (&name(who), crate::cast::role(who)));
        assert_eq!(fs::metadata(files.key(&name(who))).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(files.ca_key()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_dir(&certs.0).unwrap().all(|file| !file.unwrap().path().ends_with("draft")));
}

#[test]
fn nothing_secret_is_printed() {
    let certs = certs("secret", &["node-0"]);
    let identity = Identity::load(&certs.0, &name("node-0")).unwrap();
    assert_eq!(format!("{identity:?}"), "Identity(node-0.node.nimbus)");
    let hello = hello(&identity);
    let config = format!("{:?}", MeshConfig { listen: HERE, identity, hello });
    let key = fs::read_to_string(CertFiles::new(&certs.0).key(&name("node-0"))).unwrap();
    assert!(key.lines().all(|line| !config.contains(line)) && config.len() < 400, "{config}");
    // Not even a key in the wrong place is repeated.
    let files = CertFiles::new(&certs.0);
    fs::copy(files.key(&name("node-0")), files.certificate(&name("node-0"))).unwrap();
    let error = Identity::load(&certs.0, &name("node-0")).unwrap_err().to_string();
    assert!(key.lines().all(|line| !error.contains(line)), "{error}");
}

#[test]
fn a_name_has_one_role() {
    let certs = certs("roles", &["node-0"]);
    let mut other = request(&[]);
    other.processes = vec![(name("node-0"), Role::Gateway)];
    let error = make_certs(&certs.0, &other).unwrap_err();
    assert!(matches!(error, CertsError::OtherRole { has: Role::Node, wanted: Role::Gateway, .. }), "{error}");
    other.processes = vec![(name("x"), Role::Gateway), (name("x"), Role::Node)];
    assert!(matches!(make_certs(&certs.0, &other), Err(CertsError::OtherRole { .. })));
    other.processes = vec![(name("ca"), Role::Node)];
    assert!(matches!(make_certs(&certs.0, &other), Err(CertsError::Reserved)));
}

#[test]
fn a_host_cannot_look_like_a_process() {
    let certs = empty("hosts");
    for host in ["node-1.node.nimbus", "x.NIMBUS", "nimbus", "a b", "", "a..b", "*.example"] {
        let mut bad = request(&["gateway-0"]);
        bad.hosts = vec![host.to_owned()];
        assert!(matches!(make_certs(&certs.0, &bad), Err(CertsError::Host(_))), "{host}");
    }
    assert!(!certs.0.exists(), "nothing is made of a bad request");
    let mut good = request(&["gateway-0"]);
    good.hosts = vec!["game.example".to_owned(), "10.0.0.7".to_owned(), "::1".to_owned()];
    make_certs(&certs.0, &good).unwrap();
    assert!(Identity::load(&certs.0, &name("gateway-0")).is_ok());
}

#[test]
fn half_a_ca_and_mixed_files_are_named() {
    let (here, there) = (certs("mixed", &["node-0", "node-1"]), certs("mixed-too", &["node-0"]));
    let (files, other) = (CertFiles::new(&here.0), CertFiles::new(&there.0));
    let text = |error: IdentityError| error.to_string();

    fs::copy(files.key(&name("node-1")), files.key(&name("node-0"))).unwrap();
    let error = text(Identity::load(&here.0, &name("node-0")).unwrap_err());
    assert!(error.contains("node-0.key"), "{error}");
    fs::copy(files.certificate(&name("node-1")), files.certificate(&name("node-0"))).unwrap();
    let error = text(Identity::load(&here.0, &name("node-0")).unwrap_err());
    assert!(error.contains("`node-1`") && error.contains("`node-0`"), "{error}");
    let error = text(Identity::load(&here.0, &name("node-9")).unwrap_err());
    assert!(error.contains("node-9.pem") && error.contains("nimbus certs"), "{error}");

    fs::copy(other.ca(), files.ca()).unwrap();
    let error = text(Identity::load(&here.0, &name("node-1")).unwrap_err());
    assert!(error.contains("ca.pem") && error.contains("node-1.pem"), "{error}");
    let error = make_certs(&here.0, &request(&["node-5"])).unwrap_err();
    assert!(matches!(error, CertsError::CaKey { .. }), "{error}");
    fs::remove_file(files.ca_key()).unwrap();
    let error = make_certs(&here.0, &request(&["node-5"])).unwrap_err();
    assert!(matches!(error, CertsError::HalfCa { .. }) && error.to_string().contains("ca.key"), "{error}");
}

#[test]
fn a_process_cannot_start_as_somebody_else() {
    let certs = certs("pretend", &["gateway-0"]);
    let identity = Identity::load(&certs.0, &name("gateway-0")).unwrap();
    let hello = Hello { role: Role::Node, ..hello(&identity) };
    let started = Mesh::start(MeshConfig { listen: HERE, identity, hello });
    assert!(matches!(started.map(|_| ()), Err(MeshError::NotCertified { role: Role::Node, .. })));
}
