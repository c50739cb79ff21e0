//! Real Cassandra on this machine.

mod support;

use support::*;
use tempfile::tempdir;
use wfe_core::backend::Backend;
use wfe_live::{Local, LocalOptions};

#[tokio::test]
async fn three_nodes_start_and_stop() {
    let directory = tempdir().unwrap();
    let id = format!("start-{}", std::process::id());
    let _guard = Guard(id.clone());
    let (run, _) = run(&id, directory.path());
    let local = Local::new(LocalOptions::default());
    local.open(run.clone(), &[]).await.unwrap();
    let machines = machines(&local, &run, "i4i.large", 3).await.unwrap();
    let status = form(&local, &run, &machines).await.unwrap();
    eprintln!("{} ms {status:?}", run.clock.now());
    let nodes = nodes(&local, &run).await;
    eprintln!("{nodes:#?}");
    assert_eq!(processes_of(&id).len(), 3);
    terminate(&local, &run, &machines).await;
    eprintln!("{} ms", run.clock.now());
    assert_eq!(processes_of(&id).len(), 0);
    eprintln!(
        "{:?}",
        std::process::Command::new("find")
            .arg(directory.path())
            .output()
            .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
    );
}
