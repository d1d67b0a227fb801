//! The steps of shrinkage between the transforms: thresholds of bands, shifts.

mod roll;
mod thresholds;

pub use roll::Roll;
pub use thresholds::{BandSums, Find, Thresholds, sums_size};

use limpid_core::Size;
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Dispatch, PassSlots, WgslStruct};

params! {
    /// Size, planes, shift and one number.
    struct Params { width: u32, height: u32, planes: u32, dx: u32, dy: u32, number: f32 }
}

/// A band in the packed image, and the noise in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Left and top.
    pub at: (usize, usize),
    /// Width and height.
    pub size: Size,
    /// Standard deviation of the noise in each plane.
    pub sigma: [f32; 3],
}

/// The bands of a packed image, finest first: `HL`, `LH`, `HH` of each level.
///
/// `sigmas` are their standard deviations of noise.
pub fn bands(size: Size, sigmas: &[[[f32; 3]; 3]]) -> Vec<Band> {
    let mut found = Vec::new();
    let mut size = size;
    for sigmas in sigmas {
        let low = Size::new(size.width.div_ceil(2), size.height.div_ceil(2));
        let high = Size::new(size.width / 2, size.height / 2);
        let mut add = |at, width, height, sigma| {
            found.push(Band {
                at,
                size: Size::new(width, height),
                sigma,
            });
        };
        add((low.width, 0), high.width, low.height, sigmas[0]);
        add((0, low.height), low.width, high.height, sigmas[1]);
        add((low.width, low.height), high.width, high.height, sigmas[2]);
        size = low;
    }
    found
}

/// A shader that asks `area(band)` for left, top, right and bottom of a band: numbers after the parameters, behind the deviations.
fn over_bands(pass: &PassSlots<'_>, bands: &[Band], text: Wgsl, groups: [u32; 3]) -> Dispatch {
    let (size, planes) = (pass.reads[0].size, pass.reads[0].planes);
    let deviations = (0..planes).flat_map(|plane| bands.iter().map(move |b| b.sigma[plane.min(2)]));
    let corners = bands.iter().flat_map(|band| {
        let ((x, y), Size { width, height }) = (band.at, band.size);
        [x, y, x + width, y + height].map(|v| v as f32)
    });
    let numbers: Vec<f32> = deviations.chain(corners).collect();
    let source = Wgsl::default()
        .body(&Params::wgsl_with(numbers.len()))
        .constant("BANDS", "u32", bands.len())
        .constant("CORNERS", "u32", planes * bands.len())
        .body(include_str!("area.wgsl"))
        .body(&text.text());
    let params = params(size, planes, (0, 0), 0.0);
    Dispatch::compute(source.text(), &(), groups).with_params(params.bytes_with(&numbers))
}

fn params(size: Size, planes: usize, (dx, dy): (usize, usize), number: f32) -> Params {
    Params {
        width: size.width as u32,
        height: size.height as u32,
        planes: planes as u32,
        dx: dx as u32,
        dy: dy as u32,
        number,
    }
}
