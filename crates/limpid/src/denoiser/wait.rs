//! Waiting for a device: here, or asynchronously.
//!
//! What runs on both ways is written once, as asynchronous code. A call that waits here never suspends it.

use crate::{Frame, Result};
use limpid_core::memory::caught;
use limpid_exec::{Runner, Watch};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// How to wait for a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// The thread waits.
    Here,
    /// Where threads cannot wait, the task is woken.
    Asynchronously,
}

impl Wait {
    /// Runs a plan on a frame.
    pub(super) async fn run(
        self,
        runner: &mut dyn Runner,
        input: &Frame,
        output: &mut Frame,
        watch: &Watch,
    ) -> Result<()> {
        if self == Self::Here || !runner.begin(input, watch)? {
            return caught(|| runner.run(input, output, watch));
        }
        self.for_end(runner).await;
        // Another frame may follow a stopped one.
        watch.check().inspect_err(|_| runner.abandon())?;
        runner.end(output, watch)
    }

    /// Waits until the oldest started run has ended, if nobody can wait for it later.
    pub(super) async fn for_end(self, runner: &mut dyn Runner) {
        if self == Self::Asynchronously {
            poll_fn(|context| match runner.has_ended(context) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
    }
}

/// The result of a task that waits here, and so never suspends.
pub(super) fn now<T>(task: impl Future<Output = Result<T>>) -> Result<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(task).poll(&mut context) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(crate::Error::unsupported(
            "a device that cannot be waited for",
        )),
    }
}
