//! A sequence: a striped wall that moves, with grain, denoised by SVGF. `cargo run --release -p limpid --example sequence`
//!
//! Prints how much noise is left in each frame. The first is filtered in space alone; from the second on noise falls as frames are
//! gathered along the motion vectors.

use limpid::method::Svgf;
use limpid::{Device, Frame, Image, Kind, Options, Sequence, Watch};

const WIDTH: usize = 160;
const HEIGHT: usize = 96;
/// Pixels that the wall moves to the right from frame to frame.
const SPEED: usize = 2;

/// The wall without noise.
fn light(x: usize, frame: usize) -> f32 {
    let stripe = (x + 1000 - SPEED * frame) / 20 % 2;
    0.3 + 0.4 * stripe as f32
}

/// A frame with grain and the features that SVGF needs.
fn render(number: usize, seed: &mut u32) -> limpid::Result<Frame> {
    let mut grain = || {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*seed >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let color = Image::from_fn(WIDTH, HEIGHT, 3, |x, _, _| {
        light(x, number) * (1.0 + grain())
    });
    let mut frame = Frame::new(color)?;
    frame.insert(
        Kind::Albedo,
        Image::from_fn(WIDTH, HEIGHT, 3, |x, _, _| light(x, number)),
    )?;
    frame.insert(
        Kind::Normal,
        Image::from_fn(WIDTH, HEIGHT, 3, |_, _, c| [0.0, 0.0, 1.0][c]),
    )?;
    frame.insert(Kind::Depth, Image::from_fn(WIDTH, HEIGHT, 1, |_, _, _| 5.0))?;
    // Where each point was in the frame before, minus where it is now, in pixels.
    let motion = |c: usize| if c == 0 { -(SPEED as f32) } else { 0.0 };
    frame.insert(
        Kind::Motion,
        Image::from_fn(WIDTH, HEIGHT, 2, |_, _, c| motion(c)),
    )?;
    Ok(frame)
}

fn error(image: &Image, number: usize) -> f32 {
    let square = |x: usize, y: usize| (image.get(x, y, 0) - light(x, number)).powi(2);
    let sum: f32 = (0..HEIGHT)
        .flat_map(|y| (0..WIDTH).map(move |x| (x, y)))
        .map(|(x, y)| square(x, y))
        .sum();
    (sum / (WIDTH * HEIGHT) as f32).sqrt()
}

fn main() -> limpid::Result<()> {
    let mut sequence = Sequence::new(&Device::open("auto")?, &Options::new(Svgf::default()));
    let mut seed = 1;
    for number in 0..8 {
        let frame = render(number, &mut seed)?;
        // After a cut, make a new `Sequence`: its history belongs to another picture.
        let clean = sequence.run(&frame, &Watch::default())?;
        println!(
            "frame {number}: error {:.4}, noisy {:.4}",
            error(clean.color()?, number),
            error(frame.color()?, number)
        );
    }
    Ok(())
}
