//! Options that several methods share.

/// Declares a method's own options, with σ of colour and features beside them; the method says how many `levels_used` it has.
macro_rules! guided_options {
    ($(#[$meta:meta])* $name:ident { $($own:tt)* }) => {
        limpid::options! {
            $(#[$meta])*
            pub struct $name {
                $($own)*
                /// Differences of colour above this count as edges; halved at each level. By the image when no sigma is given.
                pub sigma_color: Option<f32> = None,
                /// Differences of the normal above this count as edges; grows with the step.
                pub sigma_normal: Option<f32> = None,
                /// Differences of position above this count as edges, in scene units.
                pub sigma_position: Option<f32> = None,
                /// Differences of albedo above this count as edges.
                pub sigma_albedo: Option<f32> = None,
                /// Differences of depth above this count as edges, in scene units; grows with the step.
                pub sigma_depth: Option<f32> = None,
                /// Do not divide by albedo before and multiply after.
                pub no_demodulate: bool = false,
                /// Do not dim pixels that are far brighter than all around them.
                pub no_firefly_guard: bool = false,
            }
        }

        impl $name {
            /// The à-trous filter with these options.
            fn atrous(&self) -> Atrous {
                Atrous::with(|m| { m.levels = self.levels_used(); m.sigma_color = self.sigma_color; m.sigma_normal = self.sigma_normal; m.sigma_position = self.sigma_position; m.sigma_albedo = self.sigma_albedo; m.sigma_depth = self.sigma_depth; m.no_demodulate = self.no_demodulate; m.no_firefly_guard = self.no_firefly_guard; })
            }

            /// Where no σ is given, those that suit the frame; that of colour is multiplied by a `share`.
            fn find_sigmas(&mut self, frame: &Frame, share: f32) -> Result<()> {
                let mut found = self.atrous();
                Around::find_sigmas(&mut found, frame)?;
                if found != self.atrous() {
                    self.sigma_color = found.sigma_color.map(|s| s * share);
                    self.sigma_normal = found.sigma_normal;
                    self.sigma_position = found.sigma_position;
                    self.sigma_albedo = found.sigma_albedo;
                    self.sigma_depth = found.sigma_depth;
                }
                Ok(())
            }
        }
    };
}
pub(super) use guided_options;
