//! How long the spectra of one window of the dual-domain filter take, by the size of the window, on one thread.
//!
//! Matrix: the folded planes of as many windows as a vector has lanes, multiplied with cosines and sines: what the CPU
//! body does. FFT: `rustfft` on the rows and columns of the complex window that has the guide as its real and the noisy
//! image as its imaginary part, so that one transform gives both spectra.
//!
//! ```sh
//! cargo run --release -p limpid --example window_dft
//! ```

use fearless_simd::{Level, Simd, SimdBase, dispatch};
use limpid::measured::panel::{Matrix, Panel, transform};
use limpid::measured::table;
use rustfft::{FftPlanner, num_complex::Complex};
use std::hint::black_box;
use std::time::Instant;

const RADII: [usize; 8] = [3, 4, 6, 8, 10, 15, 16, 26];

fn main() {
    let level = Level::new();
    println!("one thread, {level:?}");
    println!("window  matrix µs  rustfft µs");
    for radius in RADII {
        let matrix = dispatch!(level, simd => by_matrix(simd, radius));
        let side = 2 * radius + 1;
        println!("{side:4}²  {matrix:9.2}  {:10.2}", by_fft(side));
    }
}

/// Rounds of which the fastest counts: others on the machine disturb it least.
const ROUNDS: usize = 9;

/// Microseconds per call.
fn micros(start: Instant, calls: usize) -> f64 {
    1e6 * start.elapsed().as_secs_f64() / calls as f64
}

/// Four planes of the guide and the two of the noisy image that its real part needs.
#[inline(always)]
fn by_matrix<S: Simd>(simd: S, radius: usize) -> f64 {
    let lanes = S::f32s::LEN;
    let cos = Matrix::new(&table::cosines(radius), radius + 1);
    let sin = Matrix::new(&table::sines(radius), radius);
    let mut plane = vec![0.5; Panel::new(radius + 1).entries() * lanes];
    let mut between = plane.clone();
    let orders = [
        (&cos, &cos),
        (&sin, &sin),
        (&sin, &cos),
        (&cos, &sin),
        (&cos, &cos),
        (&sin, &sin),
    ];
    let calls = 200_000 / (radius * radius * radius) + 1;
    let mut least = f64::MAX;
    // Not a closure: vector instructions do not reach into it.
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..calls {
            for (along_x, along_y) in orders {
                plane.fill(0.5);
                black_box(&mut plane);
                for (along, other) in [(along_x, along_y), (along_y, along_x)] {
                    transform(simd, along, other.count(), &plane, &mut between);
                    std::mem::swap(&mut plane, &mut between);
                }
            }
        }
        least = least.min(micros(start, calls));
    }
    least / lanes as f64
}

fn by_fft(side: usize) -> f64 {
    let line = FftPlanner::<f32>::new().plan_fft_forward(side);
    let mut window = vec![Complex::ZERO; side * side];
    let mut turned = window.clone();
    let mut scratch = vec![Complex::ZERO; line.get_inplace_scratch_len()];
    let calls = 200_000 / (side * side) + 1;
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..calls {
            let window = black_box(&mut window);
            window.fill(Complex::new(0.5, 0.25));
            line.process_with_scratch(window, &mut scratch);
            for y in 0..side {
                for x in 0..side {
                    turned[x * side + y] = window[y * side + x];
                }
            }
            line.process_with_scratch(&mut turned, &mut scratch);
            black_box(&mut turned);
        }
        least = least.min(micros(start, calls));
    }
    least
}
