//! scratch
use limpid::*;
use limpid_scenes::*;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let name = &a[1];
    let spp: u32 = a[2].parse().unwrap();
    let size: Size = a[3].parse().unwrap();
    let frame: u32 = a.get(4).map_or(0, |v| v.parse().unwrap());
    let grad = a.get(5).is_some();
    let scene = builtin(name, frame).unwrap();
    let o = RenderOptions {
        size,
        samples: spp,
        gradients: grad,
        ..RenderOptions::default()
    };
    let t = Instant::now();
    let f = render(&scene, &o).unwrap();
    let s = t.elapsed().as_secs_f64();
    println!(
        "{name} {} tris {:.2}s  {:.0}k paths/s total",
        scene.triangles(),
        s,
        (size.pixels() as f64 * spp as f64) / s / 1e3
    );
    for (l, img) in f.layers() {
        if l.part != Part::Mean {
            continue;
        }
        let k = match l.kind {
            Kind::Color => 0,
            Kind::Normal => 1,
            Kind::Dx | Kind::Dy => 2,
            Kind::Albedo | Kind::Visibility => 0,
            Kind::Motion => 2,
            _ => 3,
        };
        let m = img
            .data()
            .iter()
            .fold(0f32, |a, b| a.max(b.abs()))
            .max(1e-9);
        let c = img.channels();
        let mut buf = vec![0u8; size.pixels() * 3];
        for i in 0..size.pixels() {
            for ch in 0..3 {
                let v = if ch < c {
                    img.plane(ch)[i]
                } else if c == 1 {
                    img.plane(0)[i]
                } else {
                    0.
                };
                let v = match k {
                    0 => linear_to_srgb(v),
                    1 => v * 0.5 + 0.5,
                    2 => v * 0.5 + 0.5,
                    _ => v.abs() / m,
                };
                buf[i * 3 + ch] = (v.clamp(0., 1.) * 255.) as u8;
            }
        }
        let mut ppm = format!("P6\n{} {}\n255\n", size.width, size.height).into_bytes();
        ppm.extend(buf);
        std::fs::write(format!("/tmp/scn/{name}-{}.ppm", l), ppm).unwrap();
    }
}
