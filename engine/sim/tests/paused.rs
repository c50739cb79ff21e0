//! The simulator on a paused clock of a runtime, where several attempts wait at the same time.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::Recorded;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;
use wfe_core::backend::{Backend, Clock, Context, Run};
use wfe_core::capability::step::Attempt;
use wfe_core::{Call, Millis};
use wfe_sim::{Faults, Sim};

struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Millis {
        (Instant::now() - self.0).as_millis() as Millis
    }

    fn sleep_until(&self, moment: Millis) -> BoxFuture<'static, ()> {
        tokio::time::sleep_until(self.0 + Duration::from_millis(moment)).boxed()
    }
}

async fn call(sim: &Sim, clock: &Paused, key: &str, name: &str, arguments: Value) -> Value {
    let call = Call::parse(name, &arguments).expect("a known name").expect("arguments that fit");
    let attempt = Attempt { run: "run".into(), workflow: "test".into(), step: "test".into(), number: 1 };
    let context = Context { attempt, number: 0, asked_at: clock.now(), key: key.into() };
    sim.call(&context, &call).await.unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[tokio::test(start_paused = true)]
async fn waits_share_one_clock() {
    let clock = Arc::new(Paused(Instant::now()));
    let sim = Sim::new(Faults::default());
    let run = Run {
        id: "run".into(),
        directory: "/nowhere".into(),
        seed: 1,
        clock: clock.clone(),
        intervals: Arc::new(Recorded::default()),
    };
    sim.open(run, &[]).await.expect("opens");
    let create = json!({"request": {"role": "db", "machine-type": "i4i.large", "count": 3, "racks": 3}});
    call(&sim, &clock, "a", "cloud/machines.create", create).await;
    let ids = json!(["i-0001", "i-0002", "i-0003"]);
    call(&sim, &clock, "b", "cloud/machines.wait-running", json!({"ids": ids, "timeout-ms": 600_000})).await;
    let booted = clock.now();
    let id =
        call(&sim, &clock, "c", "cluster/cluster.create", json!({"database": "scylla newest", "machines": ids})).await;
    let waiting = call(&sim, &clock, "d", "operation/operations.wait-any", json!({"ids": [id], "timeout-ms": 600_000}));
    let polling = async {
        for poll in 0..50 {
            call(&sim, &clock, &format!("poll-{poll}"), "cluster/cluster.nodes", json!({})).await;
            tokio::time::sleep(Duration::from_millis(333)).await;
        }
        clock.now()
    };
    let formed = async {
        let statuses = waiting.await;
        assert_eq!(statuses[0]["done"], json!(true));
        clock.now()
    };
    let (formed, polled) = tokio::join!(formed, polling);
    assert_eq!((formed - booted, polled - booted), (95_000, 50 * 333));
    sim.close().await.expect("closes");
}
