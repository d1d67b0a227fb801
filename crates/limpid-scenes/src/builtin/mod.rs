//! Built-in scenes that show what the papers show.

mod bookshelf;
mod columns;
mod cornell;
mod corridor;
mod glass;
mod glossy;
mod outdoor;
mod pattern;

use crate::{Scene, World};
use limpid::{Error, Result};

/// Names of the built-in scenes, with what each is for.
pub const BUILTIN: [(&str, &str); 7] = [
    (
        "cornell",
        "a box with two blocks: soft shadows, colour bleeding",
    ),
    ("columns", "a sunlit colonnade: textures, a pole's shadow"),
    (
        "glossy",
        "metal spheres of several roughnesses, small lights",
    ),
    (
        "bookshelf",
        "a shelf full of books: fine detail, a wide lens",
    ),
    (
        "glass",
        "glass and mirrors on a table: caustics, specular chains",
    ),
    ("outdoor", "a meadow with trees and a hut under the sky"),
    (
        "corridor",
        "a sequence: the camera walks, a ball and a crate move",
    ),
];

/// A built-in scene at a frame, ready to be rendered.
pub fn builtin(name: &str, frame: u32) -> Result<Scene> {
    let frame = frame as f32;
    let now = builtin_world(name, frame)?;
    let before = builtin_world(name, frame - 1.0)?;
    Scene::new(&now, Some(&before))
}

/// A built-in scene at a frame, also between frames, to be changed or added to.
pub fn builtin_world(name: &str, frame: f32) -> Result<World> {
    match name {
        "cornell" => Ok(cornell::world()),
        "columns" => Ok(columns::world()),
        "glossy" => Ok(glossy::world()),
        "bookshelf" => Ok(bookshelf::world()),
        "glass" => Ok(glass::world()),
        "outdoor" => Ok(outdoor::world()),
        "corridor" => Ok(corridor::world(frame)),
        _ => Err(Error::unknown(
            "scene",
            name,
            BUILTIN.iter().map(|(name, _)| *name),
        )),
    }
}
