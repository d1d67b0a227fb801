//! What devices hold.

use limpid_plan::{Backend, Backing, Plan, Role, Target};

/// Bytes of transient slots above which the CPU uses tiles.
const CPU_TRANSIENT: u64 = 1 << 30;
/// The same of plans with history, which tiles do not have: a frame of 1920×1080 pixels with those around it has to fit.
const CPU_WITH_HISTORY: u64 = 4 << 30;

/// The limits of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceLimits {
    /// A CPU: limited only to keep memory use reasonable.
    Cpu,
    /// The limits of a GPU.
    Gpu(Target),
}

impl DeviceLimits {
    /// The back end.
    pub fn backend(self) -> Backend {
        match self {
            Self::Cpu => Backend::Cpu,
            Self::Gpu(_) => Backend::Gpu,
        }
    }

    /// Whether the slots of a plan fit.
    #[doc(hidden)]
    pub fn holds(self, plan: &Plan) -> bool {
        match self {
            Self::Cpu => {
                let history = plan.slots().iter().any(|s| s.role == Role::History);
                let most = if history {
                    CPU_WITH_HISTORY
                } else {
                    CPU_TRANSIENT
                };
                plan.memory().transient_bytes() as u64 <= most
            }
            Self::Gpu(target) => plan.slots().iter().all(|s| {
                let side = s.size.width.max(s.size.height);
                s.bytes() as u64 <= target.binding_bytes
                    && (s.backing == Backing::Buffer || side <= target.texture_side as usize)
            }),
        }
    }
}
