//! The schedules of the à-trous filter.

use super::{Atrous, Border};
use crate::Error;
use crate::method::{Backend, Schedule};
use limpid_kernel_render::atrous::{Shape as Tile, Source};
use limpid_plan::Order;
use std::fmt;
use std::str::FromStr;

/// Where the taps of a level are, and how many levels a dispatch computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::method) enum AtrousSchedule {
    /// In rows, with a distance that grows from level to level.
    Dilated,
    /// Adjacent: pixels are reordered from level to level.
    Permuted {
        /// The order of sub-images.
        order: Order,
        /// Whether taps outside are mirrored; otherwise they have no weight.
        mirror: bool,
        /// Where a GPU reads taps.
        taps: Option<Source>,
    },
    /// Permuted in ascending order, with this many levels per dispatch.
    Fused(usize),
}

impl AtrousSchedule {
    /// A permuted order with borders as in `dilated`.
    pub(in crate::method) const fn exact(order: Order, taps: Option<Source>) -> Self {
        Self::Permuted {
            order,
            mirror: false,
            taps,
        }
    }
}

/// The schedules for a back end, the best first.
pub(super) fn schedules(method: &Atrous, on: Backend) -> Vec<Schedule> {
    let plain = method.border == Border::Zero;
    let stays = method.energy || !method.gains.is_empty();
    let mirror = !plain;
    let orders: &[Order] = match method.border {
        Border::Zero => &[Order::Ascending, Order::Local],
        Border::Mirror => &[Order::Ascending],
        Border::MirrorLocal => &[Order::Local],
    };
    let permuted = |order, taps| AtrousSchedule::Permuted {
        order,
        mirror,
        taps,
    };
    let mut all = Vec::new();
    match on {
        Backend::Cpu => {
            if plain {
                all.push(AtrousSchedule::Dilated);
            }
            // Reordering pixels does not pay off with large caches; mirrored borders require the order.
            if !stays && mirror {
                all.extend(orders.iter().map(|o| permuted(*o, None)));
            }
        }
        Backend::Gpu => {
            if !stays {
                for order in orders {
                    all.push(permuted(*order, Some(Source::Tile(None))));
                    // An explicit shape: smaller workgroups, and many steps even for small images.
                    if plain && *order == Order::Ascending {
                        let shape = Tile::new(32, 8, 2).steps(8);
                        all.push(permuted(*order, Some(Source::Tile(Some(shape)))));
                    }
                    all.push(permuted(*order, Some(Source::Global)));
                }
                // A tile with the halo of two wide levels would consist mostly of halo.
                let one = !method.is_local() && method.grid() == 1;
                if plain && one && method.taps().is_ok_and(|t| t.len() <= 5) {
                    all.push(AtrousSchedule::Fused(2));
                }
            }
            if plain {
                all.push(AtrousSchedule::Dilated);
            }
        }
    }
    Schedule::list(on, all)
}

impl fmt::Display for AtrousSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dilated => f.write_str("dilated"),
            Self::Fused(count) => write!(f, "fused:{count}"),
            Self::Permuted {
                order,
                mirror,
                taps,
            } => {
                let order = match order {
                    Order::Ascending => "ascending",
                    Order::Local => "local",
                };
                let border = if *mirror { "mirror" } else { "exact" };
                write!(f, "permuted:{order}:{border}")?;
                match taps {
                    None => Ok(()),
                    Some(Source::Global) => f.write_str(":global"),
                    Some(Source::Tile(None)) => f.write_str(":tile"),
                    Some(Source::Tile(Some(shape))) => write!(f, ":tile:{shape}"),
                }
            }
        }
    }
}

impl FromStr for AtrousSchedule {
    type Err = Error;

    fn from_str(text: &str) -> crate::Result<Self> {
        let wrong = || Error::input(format!("'{text}' is not a schedule of the à-trous filter"));
        let words: Vec<&str> = text.split(':').collect();
        let (order, border, taps) = match words[..] {
            ["dilated"] => return Ok(Self::Dilated),
            ["fused", count] => return count.parse().map(Self::Fused).map_err(|_| wrong()),
            ["permuted", order, border, ref taps @ ..] => (order, border, taps),
            _ => return Err(wrong()),
        };
        Ok(Self::Permuted {
            order: match order {
                "ascending" => Order::Ascending,
                "local" => Order::Local,
                _ => return Err(wrong()),
            },
            mirror: match border {
                "exact" => false,
                "mirror" => true,
                _ => return Err(wrong()),
            },
            taps: match taps {
                [] => None,
                ["global"] => Some(Source::Global),
                ["tile"] => Some(Source::Tile(None)),
                ["tile", shape] => Some(Source::Tile(Some(shape.parse().map_err(|()| wrong())?))),
                _ => return Err(wrong()),
            },
        })
    }
}
