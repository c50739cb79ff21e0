//! Operations in flight: a place for each, and a deadline that is swept rather than timed one by one.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::task::{Poll, Waker};

use scylla::errors::ExecutionError;

use crate::load::errors;
use crate::load::schedule::Ns;

/// Why an operation failed: its class, and what was said.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The class.
    pub class: &'static str,
    /// The error's own words; none for a timeout.
    pub said: Option<ExecutionError>,
}

#[derive(Default)]
struct Place {
    /// When the operation was sent; none while the place is free.
    sent: Cell<Option<Ns>>,
    expired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// Places for operations in flight.
pub struct Flight {
    places: Vec<Place>,
    free: RefCell<Vec<usize>>,
}

impl Flight {
    /// So many places.
    pub fn new(places: usize) -> Self {
        let free = RefCell::new((0..places).rev().collect());
        Self { places: std::iter::repeat_with(Place::default).take(places).collect(), free }
    }

    /// Takes a free place.
    pub fn board(&self) -> Option<usize> {
        self.free.borrow_mut().pop()
    }

    /// Waits for the answer of the operation in that place, but not beyond its deadline; then the place is free.
    pub async fn fly(
        &self,
        place: usize,
        sent: Ns,
        answer: impl Future<Output = Result<(), ExecutionError>>,
    ) -> Result<(), Failure> {
        let mut answer = pin!(answer);
        let here = &self.places[place];
        here.sent.set(Some(sent));
        let result = std::future::poll_fn(|context| {
            if here.expired.get() {
                return Poll::Ready(Err(Failure { class: errors::TIMEOUT, said: None }));
            }
            let polled = answer.as_mut().poll(context);
            if polled.is_pending() {
                let mut waker = here.waker.borrow_mut();
                if !waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
                    *waker = Some(context.waker().clone());
                }
            }
            polled.map_err(|error| Failure { class: errors::class(&error), said: Some(error) })
        })
        .await;
        here.sent.set(None);
        here.expired.set(false);
        self.free.borrow_mut().push(place);
        result
    }

    /// Ends all operations that were sent before that moment.
    pub fn expire(&self, before: Ns) {
        for place in &self.places {
            if place.sent.get().is_some_and(|sent| sent < before) && !place.expired.replace(true) {
                let waker = place.waker.borrow_mut().take();
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Context;

    use super::*;

    #[test]
    fn an_operation_without_an_answer_ends_at_its_deadline_and_frees_its_place() {
        let flight = Flight::new(1);
        let place = flight.board().unwrap();
        assert_eq!(flight.board(), None);
        let mut context = Context::from_waker(Waker::noop());
        let mut flying = pin!(flight.fly(place, 100, std::future::pending()));
        assert!(flying.as_mut().poll(&mut context).is_pending());
        flight.expire(100);
        assert!(flying.as_mut().poll(&mut context).is_pending());
        flight.expire(101);
        let Poll::Ready(Err(failure)) = flying.as_mut().poll(&mut context) else { panic!("still pending") };
        assert_eq!(failure.class, "timeout");
        assert_eq!(flight.board(), Some(place));
    }
}
