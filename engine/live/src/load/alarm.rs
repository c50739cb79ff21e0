//! An alarm that is exact to some microseconds: the runtime's own timer rounds up to a millisecond, which would be seen in
//! every response time of a load that is slower than that.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::load::schedule::Ns;

/// One alarm of the kernel.
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
    set_for: Option<Ns>,
}

impl Alarm {
    /// An alarm that is not set. Must be made inside a runtime.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed; the result is checked before it is used.
        let raw = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nothing else knows it.
        let owned = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: the descriptor stays the same and open for as long as it is registered: nothing replaces it.
        let timer = unsafe { AsyncFd::register_with_interest(owned, Interest::READABLE) }?;
        Ok(Self { timer, set_for: None })
    }

    /// Waits until `at`, or a little less when an earlier wait was given up; it is `now`.
    pub async fn until(&mut self, now: Ns, at: Ns) -> io::Result<()> {
        if self.set_for != Some(at) {
            self.set(at.saturating_sub(now).max(1))?;
            self.set_for = Some(at);
        }
        let mut ready = self.timer.readable().await?;
        // How often it rang does not matter, only that the next wait does not see it.
        let _ = rustix::io::read(ready.get_inner(), &mut [0; 8]);
        ready.clear_ready();
        self.set_for = None;
        Ok(())
    }

    fn set(&self, delay: Ns) -> io::Result<()> {
        let (seconds, rest) = (delay / 1_000_000_000, delay % 1_000_000_000);
        let value = libc::timespec { tv_sec: seconds as libc::time_t, tv_nsec: rest as libc::c_long };
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = libc::itimerspec { it_interval: never, it_value: value };
        // SAFETY: `spec` lives through the call, and no old value is asked for.
        let result = unsafe { libc::timerfd_settime(self.timer.as_raw_fd(), 0, &spec, ptr::null_mut()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
