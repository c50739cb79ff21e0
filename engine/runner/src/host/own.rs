//! The calls that the engine itself answers: the step's own affairs, time, random numbers, histograms, windows.

use futures_util::future::{Either, select};
use serde_json::Value;
use sha2::{Digest, Sha256};
use wfe_core::backend::{Context, answer};
use wfe_core::capability::step::Window;
use wfe_core::hlog;
use wfe_core::measure::{Histogram, histogram};
use wfe_core::{Call, CallError};

use super::attempt::Attempt;

impl Attempt {
    /// Answers a call that is the engine's own; none when it is the backend's.
    pub(super) async fn own_answer(&mut self, context: &Context, call: &Call) -> Option<Result<Value, CallError>> {
        Some(match call {
            Call::StepInfo(_) => answer(&self.info),
            Call::StepWindow(_) => answer(self.window.map(|(from_ms, to_ms)| Window { from_ms, to_ms })),
            Call::StepPhase(_) | Call::StepProgress(_) | Call::StepReady(_) | Call::LogWrite(_) => Ok(Value::Null),
            Call::ReportPublish(publish) => published(&publish.sections),
            Call::StepWaitStop(wait) => answer(self.wait_stop(context.asked_at.saturating_add(wait.timeout_ms)).await),
            Call::ClockNow(_) => answer(context.asked_at),
            Call::ClockSleep(sleep) => {
                self.services.clock.sleep_until(context.asked_at.saturating_add(sleep.ms)).await;
                Ok(Value::Null)
            }
            Call::RandomNext(_) => answer(random(self.services.seed, context)),
            Call::Measure(window) => self.measure(window.from_ms, window.to_ms).await,
            _ => return None,
        })
    }

    async fn wait_stop(&mut self, until: u64) -> bool {
        let timer = self.services.clock.sleep_until(until);
        let stopped = std::pin::pin!(self.stop.wait_for(Option::is_some));
        matches!(select(stopped, timer).await, Either::Left((Ok(_), _)))
    }

    async fn measure(&self, from_ms: u64, to_ms: u64) -> Result<Value, CallError> {
        if from_ms >= to_ms || to_ms > self.services.clock.now() {
            let message = format!("the window from {from_ms} ms to {to_ms} ms is empty or lies in the future");
            return Err(CallError::request("window", message));
        }
        self.services.backend.recorded_until(to_ms).await;
        let measurement = self.services.recording.measure(from_ms, to_ms);
        let text = serde_json::to_string(&measurement);
        text.map(Value::String).map_err(|e| CallError::infrastructure("encoding", e.to_string()))
    }
}

fn published(sections: &str) -> Result<Value, CallError> {
    match serde_json::from_str::<Vec<serde_json::Map<String, Value>>>(sections) {
        Ok(_) => Ok(Value::Null),
        Err(e) => Err(CallError::request("sections", format!("the sections are no JSON array of objects: {e}"))),
    }
}

/// The same number for the same seed, step, attempt and call, whatever was called before.
fn random(seed: u64, context: &Context) -> u64 {
    let place = format!("{seed}/{}/{}/{}", context.attempt.step, context.attempt.number, context.number);
    let digest = Sha256::digest(place);
    u64::from_le_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}

/// Answers the calls that are arithmetic; none when it is another call.
pub(super) fn pure_answer(call: &Call) -> Option<Result<Value, CallError>> {
    Some(match call {
        Call::HistogramEncode(encode) => {
            let mut all = histogram();
            encode.values.iter().for_each(|value| all.saturating_record(*value));
            encoded(&all)
        }
        Call::HistogramMerge(merge) => merged(&merge.encoded),
        Call::HistogramQuantiles(ask) => decoded(&ask.encoded).and_then(|histogram| {
            answer(ask.quantiles.iter().map(|q| histogram.value_at_quantile(q.clamp(0.0, 1.0))).collect::<Vec<_>>())
        }),
        _ => return None,
    })
}

fn merged(parts: &[Vec<u8>]) -> Result<Value, CallError> {
    let mut all = histogram();
    for part in parts {
        all.add(decoded(part)?).map_err(|e| bad_histogram(&e.to_string()))?;
    }
    encoded(&all)
}

fn encoded(histogram: &Histogram) -> Result<Value, CallError> {
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).map_err(|e| bad_histogram(&e.to_string()))?;
    answer(bytes)
}

fn decoded(encoded: &[u8]) -> Result<Histogram, CallError> {
    hlog::decode_v2(encoded).map_err(|e| bad_histogram(&e))
}

fn bad_histogram(message: &str) -> CallError {
    CallError::request("histogram", format!("no HDR histogram in the V2 compressed encoding: {message}"))
}
