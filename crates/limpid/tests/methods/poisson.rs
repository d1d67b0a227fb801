//! Poisson reconstruction beyond the shared tests: exact data, a direct solve, the objective, threads.

use limpid::definition::poisson::Problem;
use limpid::method::poisson::Norm;
use limpid::method::{Backend, Method, Poisson};
use limpid::{Denoiser, Device, Frame, Image, Kind, Options, Size};

/// Squares of two brightnesses and a ramp.
fn picture(size: Size) -> Image {
    Image::from_fn(size.width, size.height, 3, |x, y, c| {
        let square = f32::from(u8::from((x / 5 + y / 4) % 2 == 0));
        0.2 + 0.7 * square + 0.01 * x as f32 + 0.1 * c as f32
    })
}

/// The image's differences, and a base image with an error at every pixel.
fn frame(size: Size, noise: f32) -> Frame {
    let clean = picture(size);
    let (w, h) = (size.width, size.height);
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut frame = Frame::new(clean.map(|v| v + noise * random())).unwrap();
    let step = |dx: usize, dy: usize| {
        Image::from_fn(w, h, 3, |x, y, c| {
            // The last column and row are undefined.
            if x + dx < w && y + dy < h {
                clean.get(x + dx, y + dy, c) - clean.get(x, y, c)
            } else {
                17.0
            }
        })
    };
    let mut noisy = |image: Image| image.map(|v| v + 0.1 * noise * random());
    frame.insert(Kind::Dx, noisy(step(1, 0))).unwrap();
    frame.insert(Kind::Dy, noisy(step(0, 1))).unwrap();
    frame
}

fn run(device: &Device, frame: &Frame, norm: Norm, schedule: &str) -> Image {
    let mut options = Options::new(Poisson::with(|m| m.norm = norm));
    options.schedule = schedule.into();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &options).unwrap();
    denoiser.run(frame).unwrap().color().unwrap().clone()
}

fn worst(a: &Image, b: &Image) -> f32 {
    let pairs = a.data().iter().zip(b.data());
    pairs.fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn ways(device: &Device) -> Vec<(Norm, String)> {
    let mut ways = Vec::new();
    for norm in [Norm::L1, Norm::L2] {
        let method = Poisson::with(|m| m.norm = norm);
        for schedule in method.schedules(device.backend()) {
            ways.push((norm, schedule.to_string()));
        }
    }
    ways
}

#[test]
fn exact_differences_give_the_picture_back() {
    let size = Size::new(61, 47);
    let frame = frame(size, 0.0);
    for device in Device::all_for_tests().unwrap() {
        for (norm, schedule) in ways(&device) {
            let off = worst(&run(&device, &frame, norm, &schedule), &picture(size));
            assert!(off < 1e-5, "{norm:?} {schedule} {}: {off}", device.name());
        }
    }
}

#[test]
fn least_squares_agree_with_a_direct_solve() {
    let size = Size::new(53, 38);
    let frame = frame(size, 0.5);
    let expected = direct(&frame, 0.2);
    let largest = worst(&expected, &Image::new(size.width, size.height, 3));
    for device in Device::all_for_tests().unwrap() {
        for (norm, schedule) in ways(&device) {
            if norm == Norm::L2 {
                let off = worst(&run(&device, &frame, norm, &schedule), &expected) / largest;
                assert!(off < 1e-5, "{schedule} {}: {off}", device.name());
            }
        }
    }
}

/// Solves the normal equations by Cholesky decomposition: the band is as wide as a row of the image.
fn direct(frame: &Frame, alpha: f64) -> Image {
    let (base, dx, dy) = (
        frame.color().unwrap(),
        frame.get(Kind::Dx).unwrap(),
        frame.get(Kind::Dy).unwrap(),
    );
    let (w, h) = (base.width(), base.height());
    // Row `i` has the matrix's columns `i - w ..= i`, the diagonal last.
    let mut band = vec![vec![0.0; w + 1]; w * h];
    let mut right = vec![[0.0; 3]; w * h];
    for i in 0..w * h {
        let (x, y) = (i % w, i / w);
        band[i][w] += alpha * alpha;
        for c in 0..3 {
            right[i][c] += alpha * alpha * f64::from(base.get(x, y, c));
        }
        let neighbours = [(x + 1 < w, 1, dx), (y + 1 < h, w, dy)];
        for (_, ahead, step) in neighbours.into_iter().filter(|n| n.0) {
            band[i][w] += 1.0;
            band[i + ahead][w] += 1.0;
            band[i + ahead][w - ahead] -= 1.0;
            for c in 0..3 {
                right[i][c] -= f64::from(step.get(x, y, c));
                right[i + ahead][c] += f64::from(step.get(x, y, c));
            }
        }
    }
    factor(&mut band, w);
    solve(&band, w, &mut right);
    Image::from_fn(w, h, 3, |x, y, c| right[y * w + x][c] as f32)
}

/// Replaces the lower band of a symmetric matrix by its Cholesky factor.
fn factor(band: &mut [Vec<f64>], w: usize) {
    for i in 0..band.len() {
        for j in i.saturating_sub(w)..=i {
            let known = i.saturating_sub(w)..j;
            let sum: f64 = known.map(|k| band[i][k + w - i] * band[j][k + w - j]).sum();
            let rest = band[i][j + w - i] - sum;
            band[i][j + w - i] = if j < i {
                rest / band[j][w]
            } else {
                rest.sqrt()
            };
        }
    }
}

/// Solves with a factor and then with its transpose.
fn solve(band: &[Vec<f64>], w: usize, right: &mut [[f64; 3]]) {
    for c in 0..3 {
        for i in 0..band.len() {
            for k in i.saturating_sub(w)..i {
                right[i][c] -= band[i][k + w - i] * right[k][c];
            }
            right[i][c] /= band[i][w];
        }
        for i in (0..band.len()).rev() {
            right[i][c] /= band[i][w];
            for k in i.saturating_sub(w)..i {
                right[k][c] -= band[i][k + w - i] * right[i][c];
            }
        }
    }
}

#[test]
fn the_sum_of_absolute_errors_falls_every_round() {
    let frame = frame(Size::new(17, 13), 0.6);
    let problem = Problem {
        base: frame.color().unwrap(),
        dx: frame.get(Kind::Dx).unwrap(),
        dy: frame.get(Kind::Dy).unwrap(),
        alpha: 0.2,
    };
    let rounds = problem.l1_rounds();
    assert_eq!(rounds.len(), 7);
    let sums: Vec<f64> = rounds.iter().map(|x| problem.objective(x)).collect();
    for pair in sums.windows(2) {
        assert!(pair[1] < pair[0], "{sums:?}");
    }
}

#[test]
fn solves_end_by_their_residual_in_a_few_tens_of_steps() {
    let frame = frame(Size::new(129, 97), 0.5);
    for device in Device::all_for_tests().unwrap() {
        for norm in [Norm::L1, Norm::L2] {
            let mut options = Options::new(Poisson::with(|m| m.norm = norm));
            options.schedule = "multigrid".into();
            let mut denoiser = Denoiser::new(&device, &frame.shape(), &options).unwrap();
            denoiser.run(&frame).unwrap();
            let rounds = if norm == Norm::L1 { 7 } else { 1 };
            assert_eq!(denoiser.residuals().len(), rounds);
            for residuals in denoiser.residuals() {
                // The squared residual; a GPU checks after every second step.
                assert!(
                    residuals.last().is_some_and(|v| *v <= 1e-12),
                    "{residuals:?}"
                );
                assert!(residuals.len() <= 20, "{} steps", residuals.len());
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let frame = frame(Size::new(70, 53), 0.5);
    let devices = Device::all_for_tests().unwrap();
    let cpus = devices.iter().filter(|d| d.backend() == Backend::Cpu);
    let made: Vec<Image> = cpus
        .map(|device| run(device, &frame, Norm::L1, "multigrid"))
        .collect();
    for other in &made[1..] {
        assert_eq!(&made[0], other);
    }
}
