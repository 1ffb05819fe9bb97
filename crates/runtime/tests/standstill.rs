//! A client that reads nothing in a world that is so quiet that little waits for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use nimbus_runtime::{ClientEnd, EmbeddedCluster, EmbeddedConfig, Next, STANDSTILL_MAX};
use nimbus_scenes::SceneParams;
use nimbus_wire::client::ClientRole;
use std::time::Duration;

/// Takes everything until it is told to go.
async fn read(end: &mut ClientEnd) -> String {
    loop {
        match end.next().await {
            Next::Message(message) => end.sent(&message),
            Next::Close(reason) => return reason,
        }
    }
}

#[test]
fn who_takes_nothing_is_let_go_and_who_reads_stays() {
    let world = nimbus_scenes::build("tower", &SceneParams::on(1)).unwrap();
    let cluster = EmbeddedCluster::start(EmbeddedConfig::new(world)).unwrap();
    let handle = cluster.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let reason = runtime.block_on(async {
        let (_, mut idle) = handle.connect(ClientRole::Viewer, false).await.unwrap();
        let (_, mut busy) = handle.connect(ClientRole::Viewer, false).await.unwrap();
        tokio::select! {
            reason = idle.goodbye() => reason,
            reason = read(&mut busy) => panic!("who reads was let go: {reason}"),
            () = tokio::time::sleep(STANDSTILL_MAX + Duration::from_secs(20)) => panic!("nobody was let go"),
        }
    });
    assert!(reason.contains("nothing was taken"), "{reason}");
    assert_eq!(handle.board().gateway().clients_too_slow, 1);
    cluster.stop().unwrap();
}
