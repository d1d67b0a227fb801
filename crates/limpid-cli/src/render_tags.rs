//! What a render shows and its camera, stored as text attributes that `limpid render` writes.

use limpid::io::Origin;
use limpid_scenes::glam::Vec3A;
use limpid_scenes::{Camera, Scene, World, builtin_world};

/// What was rendered, and its camera.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RenderTags {
    pub(crate) scene: String,
    pub(crate) frame: u32,
    pub(crate) bounces: usize,
    pub(crate) position: Vec3A,
    pub(crate) target: Vec3A,
    pub(crate) field_of_view: f32,
    /// Samples per pixel, if they are the same everywhere and known.
    pub(crate) samples: Option<u32>,
}

impl RenderTags {
    /// A scene as its camera shows it.
    pub(crate) fn new(scene: &str, frame: u32, bounces: usize, camera: &Camera) -> Self {
        Self {
            scene: scene.to_owned(),
            frame,
            bounces,
            position: camera.position,
            target: camera.target,
            field_of_view: camera.field_of_view,
            samples: None,
        }
    }

    /// Names and values of the attributes.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let point = |p: Vec3A| format!("{},{},{}", p.x, p.y, p.z);
        let mut all = vec![
            ("scene", self.scene.clone()),
            ("frame", self.frame.to_string()),
            ("bounces", self.bounces.to_string()),
            ("camera", point(self.position)),
            ("target", point(self.target)),
            ("field-of-view", self.field_of_view.to_string()),
        ];
        all.extend(self.samples.map(|n| ("samples", n.to_string())));
        let named = |(name, value)| (format!("limpid.{name}"), value);
        all.into_iter().map(named).collect()
    }

    /// The attributes of a file, if they are complete.
    pub(crate) fn read(origin: &Origin) -> Option<Self> {
        let text = |name: &str| origin.text(&format!("limpid.{name}"));
        Some(Self {
            scene: text("scene")?,
            frame: text("frame")?.parse().ok()?,
            bounces: text("bounces")?.parse().ok()?,
            position: point(&text("camera")?).ok()?,
            target: point(&text("target")?).ok()?,
            field_of_view: text("field-of-view")?.parse().ok()?,
            samples: text("samples").and_then(|n| n.parse().ok()),
        })
    }

    /// Moves the camera of a world to the stored one.
    fn aim(&self, world: &mut World) {
        let camera = &mut world.camera;
        camera.position = self.position;
        camera.target = self.target;
        camera.field_of_view = self.field_of_view;
    }

    /// The built-in scene with the stored camera.
    pub(crate) fn load(&self) -> limpid::Result<Scene> {
        let mut world = builtin_world(&self.scene, self.frame as f32)?;
        self.aim(&mut world);
        Scene::new(&world, None)
    }
}

/// Parses `1,2.5,-3`.
pub(crate) fn point(text: &str) -> Result<Vec3A, String> {
    let numbers: Vec<f32> = text
        .split(',')
        .filter_map(|v| v.trim().parse().ok())
        .collect();
    match numbers[..] {
        [x, y, z] if text.split(',').count() == 3 => Ok(Vec3A::new(x, y, z)),
        _ => Err(format!(
            "'{text}' is not a point; expected X,Y,Z, such as 1,2.5,-3"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_have_three_numbers() {
        assert_eq!(point("1,2.5,-3").unwrap(), Vec3A::new(1.0, 2.5, -3.0));
        assert!(point("1,2").is_err() && point("1,2,x").is_err());
    }
}
