//! Worlds from OBJ files.

use crate::{Camera, Material, Mesh, Object, Sky, Sun, Texture, World};
use glam::{Vec2, Vec3A};
use limpid::{Error, Image, Result};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Reads an OBJ file with its materials, places a camera in front of it and, if nothing in it emits light, adds a sky.
///
/// Materials are taken as: `Ke` a light; `d` below 0.9 or a refractive `illum` glass of index `Ni`; `illum` 3 or 5 a mirror of
/// colour `Ks`; `Ks` without `Kd` metal and `Ks` with `Kd` a clear coat, of a roughness that fits `Ns`; all else diffuse `Kd`,
/// or `map_Kd`. Texture files are given to `texture`, which must return linear sRGB.
pub fn read_obj(path: &Path, texture: impl Fn(&Path) -> Result<Image>) -> Result<World> {
    let fault = |what: String| Error::input(format!("{}: {what}", path.display()));
    let options = tobj::LoadOptions {
        triangulate: true,
        single_index: true,
        ignore_points: true,
        ignore_lines: true,
    };
    // tobj panics on some broken materials, such as a colour of two numbers.
    let loaded = std::panic::catch_unwind(|| tobj::load_obj(path, &options));
    let loaded = loaded.map_err(|_| fault("the file or its materials are corrupt".to_owned()))?;
    let (models, materials) = loaded.map_err(|e| fault(e.to_string()))?;
    let materials = materials.map_err(|e| fault(format!("materials: {e}")))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut textures: HashMap<String, Arc<Image>> = HashMap::new();
    let mut world = World::new(Camera::pinhole([0.0; 3], [0.0, 0.0, -1.0], 40.0));
    for model in models {
        let mesh = mesh(&model.mesh);
        if mesh.triangles.is_empty() {
            continue;
        }
        let source = model.mesh.material_id.and_then(|i| materials.get(i));
        let mut color = Texture::Solid(Vec3A::splat(0.7));
        if let Some(m) = source {
            if let Some(kd) = m.diffuse {
                color = kd.into();
            }
            if let Some(name) = &m.diffuse_texture {
                let image = match textures.get(name) {
                    Some(image) => image.clone(),
                    None => Arc::new(texture(&folder.join(name.replace('\\', "/")))?),
                };
                textures.insert(name.clone(), image.clone());
                color = Texture::Image(image);
            }
        }
        let emission = source
            .and_then(|m| m.emissive)
            .map_or(Vec3A::ZERO, Vec3A::from);
        let material = match source {
            Some(m) if emission.max_element() <= 0.0 => material(m, color),
            _ => Material::Diffuse(color),
        };
        world.objects.push(Object {
            mesh,
            material,
            emission,
        });
    }
    if world.objects.is_empty() {
        return Err(fault("there are no triangles in it".to_owned()));
    }
    frame_it(&mut world);
    Ok(world)
}

fn mesh(source: &tobj::Mesh) -> Mesh {
    let three = |v: &[f32]| -> Vec<Vec3A> {
        v.chunks_exact(3)
            .map(|c| Vec3A::new(c[0], c[1], c[2]))
            .collect()
    };
    let mut mesh = Mesh {
        positions: three(&source.positions),
        normals: three(&source.normals)
            .into_iter()
            .map(|n| n.normalize_or(Vec3A::Y))
            .collect(),
        uvs: source
            .texcoords
            .chunks_exact(2)
            .map(|c| Vec2::new(c[0], c[1]))
            .collect(),
        triangles: source
            .indices
            .chunks_exact(3)
            .map(|c| [c[0], c[1], c[2]])
            .collect(),
    };
    // Files may give normals or coordinates to a part of the corners; then they are dropped for all.
    if mesh.normals.len() != mesh.positions.len() {
        mesh.normals.clear();
    }
    if mesh.uvs.len() != mesh.positions.len() {
        mesh.uvs.clear();
    }
    mesh
}

fn material(m: &tobj::Material, color: Texture) -> Material {
    let specular = m
        .specular
        .map_or(Vec3A::ZERO, Vec3A::from)
        .clamp(Vec3A::ZERO, Vec3A::ONE);
    let kd = m.diffuse.map_or(0.7, |d| d.into_iter().fold(0.0, f32::max));
    // Blinn's exponent to GGX width.
    let alpha = (2.0 / (m.shininess.unwrap_or(10.0).max(0.0) + 2.0)).sqrt();
    let model = m.illumination_model.unwrap_or(2);
    if m.dissolve.is_some_and(|d| d < 0.9) || matches!(model, 4 | 6 | 7) {
        Material::Glass {
            color: Vec3A::ONE,
            ior: m
                .optical_density
                .filter(|n| (1.01..5.0).contains(n))
                .unwrap_or(1.5),
        }
    } else if matches!(model, 3 | 5) && specular.max_element() > 0.0 {
        Material::Mirror(specular)
    } else if specular.max_element() > 0.0 && kd <= 0.0 && m.diffuse_texture.is_none() {
        Material::Rough {
            color: Texture::Solid(specular),
            alpha,
        }
    } else if specular.max_element() > 0.02 {
        Material::Coated { color, alpha }
    } else {
        Material::Diffuse(color)
    }
}

/// A camera that sees everything, and light if there is none.
fn frame_it(world: &mut World) {
    let points = || world.objects.iter().flat_map(|o| &o.mesh.positions);
    let low = points().copied().fold(Vec3A::INFINITY, Vec3A::min);
    let high = points().copied().fold(Vec3A::NEG_INFINITY, Vec3A::max);
    let centre = (low + high) * 0.5;
    let radius = ((high - low).length() * 0.5).max(1e-3);
    let camera = &mut world.camera;
    camera.target = centre;
    camera.position = centre
        + Vec3A::new(0.45, 0.35, 1.0).normalize() * radius
            / (camera.field_of_view.to_radians() * 0.5).sin();
    if world
        .objects
        .iter()
        .all(|o| o.emission.max_element() <= 0.0)
    {
        world.sky = Some(Sky {
            zenith: Vec3A::new(0.5, 0.7, 1.0),
            horizon: Vec3A::new(1.0, 1.0, 1.0),
            ground: Vec3A::new(0.35, 0.32, 0.3),
            sun: Some(Sun::new([0.4, 0.8, 0.6], 2.0, [700.0, 650.0, 560.0])),
        });
    }
}
