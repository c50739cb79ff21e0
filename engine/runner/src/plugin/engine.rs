//! The one configuration of wasmtime, and the ticks that end guests which compute without end.

use std::sync::OnceLock;
use std::time::Duration;

use wasmtime::{Config, Engine, EngineWeak};

/// How often the engine's epoch moves.
const TICK: Duration = Duration::from_millis(50);
/// A guest that computes through so many ticks without one call is ended: five seconds.
pub const TICKS_WITHOUT_CALL: u64 = 100;
/// Memory of one attempt, bytes.
pub const MEMORY_LIMIT: usize = 64 << 20;

/// The engine of this process. Its configuration is a constant: compiled components depend on it.
pub fn shared() -> Result<Engine, String> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    ENGINE
        .get_or_init(|| {
            let engine = Engine::new(&config()).map_err(|e| format!("the WebAssembly engine does not start: {e}"))?;
            tick(engine.weak());
            Ok(engine)
        })
        .clone()
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .max_wasm_stack(1 << 20)
        .async_stack_size(2 << 20);
    config
}

/// Moves the epoch on in a thread of its own: the guest occupies the run's thread.
fn tick(engine: EngineWeak) {
    let _detached = std::thread::Builder::new().name("wfe-epoch".into()).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            #[allow(clippy::disallowed_methods, reason = "a kill switch counts real time, not the run's time")]
            std::thread::sleep(TICK);
        }
    });
}
