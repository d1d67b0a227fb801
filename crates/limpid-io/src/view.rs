//! Views: how scene-linear light is shown on a display.

use std::str::FromStr;

/// How scene-linear light becomes display values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum View {
    /// The sRGB curve; light above 1 is clipped. Blender calls it Standard.
    #[default]
    Srgb,
    /// Blender's AgX: highlights roll off and lose colour. Its table is approximated by two matrices and a curve: within 1.3 of 255
    /// (root mean square) for usual colours, within 0.5 for greys; single colours, mostly blue and saturated ones, differ by up to 24.
    Agx,
    /// Blender's Filmic: highlights roll off. Within 0.6 of 255 for usual colours.
    Filmic,
    /// Values as they are.
    None,
}

/// The names of the views.
const NAMES: [(&str, View); 4] = [
    ("srgb", View::Srgb),
    ("agx", View::Agx),
    ("filmic", View::Filmic),
    ("none", View::None),
];

impl FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        let wrong = || format!("'{text}' is not a view; expected srgb, agx, filmic or none");
        found.map(|(_, view)| *view).ok_or_else(wrong)
    }
}

/// The logarithm of the darkest and of the brightest light of a curve.
const RANGE: (f32, f32) = (-12.473_931, 4.026_069);

/// Display values of grey light, at even steps of its logarithm.
type Curve = [f32; 33];

/// The response of AgX to grey, sampled.
const AGX: Curve = [
    0.0, 0.00004, 0.00026, 0.00079, 0.00181, 0.00359, 0.00651, 0.01115, 0.01838, 0.02942, 0.04581,
    0.06587, 0.08933, 0.11701, 0.15034, 0.18993, 0.23694, 0.29245, 0.35713, 0.43059, 0.50862,
    0.5824, 0.64932, 0.70889, 0.76134, 0.80725, 0.84719, 0.8816, 0.91172, 0.93812, 0.96134,
    0.98183, 0.99942,
];

/// The response of Filmic.
const FILMIC: Curve = [
    0.00001, 0.00197, 0.00448, 0.00769, 0.0118, 0.01703, 0.02368, 0.03211, 0.04277, 0.05618,
    0.07296, 0.09378, 0.11941, 0.1506, 0.18803, 0.23221, 0.28332, 0.3411, 0.40471, 0.47267, 0.5424,
    0.61175, 0.67869, 0.74109, 0.79727, 0.84618, 0.88742, 0.9211, 0.94775, 0.96811, 0.98303,
    0.9934, 1.0,
];

/// What AgX mixes of red, green and blue before its curve, and after it.
const MIXED: [[f32; 3]; 3] = [
    [0.72847, 0.20415, 0.06738],
    [0.08773, 0.80421, 0.10806],
    [0.06516, 0.11695, 0.81789],
];
const PARTED: [[f32; 3]; 3] = [
    [1.34849, -0.25427, -0.09422],
    [-0.12773, 1.14512, -0.01739],
    [-0.12797, -0.15637, 1.28434],
];

fn mixed(by: &[[f32; 3]; 3], [r, g, b]: [f32; 3]) -> [f32; 3] {
    by.map(|row| row[0] * r + row[1] * g + row[2] * b)
}

fn along(curve: &Curve, light: f32) -> f32 {
    let (low, high) = RANGE;
    // NaN is black.
    let log = light.max(1e-6).log2().clamp(low, high);
    let at = (log - low) / (high - low) * (curve.len() - 1) as f32;
    let k = (at as usize).min(curve.len() - 2);
    let part = at - k as f32;
    curve[k] + part * (curve[k + 1] - curve[k])
}

impl View {
    /// The display values of a pixel of red, green and blue light, 0 … 1.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
    /// use limpid::io::View;
    /// // Middle grey; light that clips with the sRGB curve is not yet white.
    /// assert!((View::Srgb.shown([0.18; 3])[1] - 0.461).abs() < 0.001);
    /// assert!(View::Agx.shown([2.0; 3])[0] < 0.9 && View::Srgb.shown([2.0; 3])[0] == 1.0);
    /// ```
    #[must_use]
    pub fn shown(self, light: [f32; 3]) -> [f32; 3] {
        let shown = match self {
            Self::None => light,
            Self::Srgb => light.map(limpid_core::linear_to_srgb),
            Self::Filmic => light.map(|v| along(&FILMIC, v)),
            Self::Agx => {
                let inside = mixed(&MIXED, light).map(|v| along(&AGX, v));
                mixed(&PARTED, inside)
            }
        };
        shown.map(|v| v.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What OpenColorIO 2.6 gives with the configuration of Blender 5.0: light, AgX, Filmic.
    const WANTED: [([f32; 3], [f32; 3], [f32; 3]); 6] = [
        ([0.18; 3], [0.4613; 3], [0.5002; 3]),
        ([1.0; 3], [0.771; 3], [0.8072; 3]),
        (
            [0.8, 0.3, 0.1],
            [0.7691, 0.5567, 0.4026],
            [0.7738, 0.5996, 0.3883],
        ),
        (
            [0.05, 0.2, 0.4],
            [0.2585, 0.4952, 0.6367],
            [0.2731, 0.5207, 0.6542],
        ),
        (
            [4.0, 3.0, 1.5],
            [0.9175, 0.8849, 0.8339],
            [0.9494, 0.9288, 0.8605],
        ),
        (
            [12.0, 10.0, 9.0],
            [0.9845, 0.9744, 0.9691],
            [0.9946, 0.9901, 0.987],
        ),
    ];

    #[test]
    fn views_are_those_of_blender() {
        for (light, agx, filmic) in WANTED {
            for (view, wanted, within) in [(View::Agx, agx, 8.0), (View::Filmic, filmic, 1.0)] {
                let shown = view.shown(light);
                for c in 0..3 {
                    let off = 255.0 * (shown[c] - wanted[c]).abs();
                    assert!(off < within, "{view:?} {light:?}: {shown:?} {wanted:?}");
                }
            }
        }
        assert_eq!("agx".parse(), Ok(View::Agx));
        assert!("log".parse::<View>().is_err());
        assert_eq!(View::None.shown([0.5, 2.0, -1.0]), [0.5, 1.0, 0.0]);
    }
}
