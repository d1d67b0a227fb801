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

/// The bands as a WGSL table; their deviations are the numbers after the parameters.
fn with_bands(text: Wgsl, bands: &[Band]) -> Wgsl {
    let rows = bands.iter().map(|b| {
        let (x, y) = b.at;
        format!(
            "vec4<u32>({x}u, {y}u, {}u, {}u)",
            x + b.size.width,
            y + b.size.height
        )
    });
    let rows: Vec<String> = rows.collect();
    let table = format!("array<vec4<u32>, BANDS> = array({})", rows.join(", "));
    text.constant("BANDS", "u32", bands.len())
        .variable("private", "area", table)
}

/// A shader with the table of bands.
fn over_bands(pass: &PassSlots<'_>, bands: &[Band], text: Wgsl, groups: [u32; 3]) -> Dispatch {
    let (size, planes) = (pass.reads[0].size, pass.reads[0].planes);
    let sigmas: Vec<f32> = (0..planes)
        .flat_map(|plane| bands.iter().map(move |b| b.sigma[plane.min(2)]))
        .collect();
    let source = Wgsl::default().body(&Params::wgsl_with(sigmas.len()));
    let source = with_bands(source, bands).body(&text.text());
    let params = params(size, planes, (0, 0), 0.0);
    Dispatch::compute(source.text(), &(), groups).with_params(params.bytes_with(&sigmas))
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
