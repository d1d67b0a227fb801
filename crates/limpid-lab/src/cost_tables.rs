//! The numbers of Kula 2021 as tests: tables 5.1, 8.2, 8.3, 8.4, 9.1, 11.1 and 11.2.
//!
//! Every number of the tables is here. Where a table contradicts itself or its text, the printed number is given beside
//! the one that follows from the scheme's matrices, with the reason.

use super::{ComputeCost, PassCost, Region};
use limpid::wavelet::{Direction, Form, Kind, Lifting, Scheme, SchemeName, Taps, Wavelet};

fn lifting(name: &str) -> Lifting {
    Wavelet::named(name).unwrap().lifting().unwrap().clone()
}

/// Two pairs of degree 3, to tell `K` from constants; no wavelet has these taps.
fn two_pairs_of_degree_three() -> Lifting {
    let mut twice = lifting("dd137");
    let mut second = twice.pairs[0].clone();
    second.predict = second.predict.scaled(0.7);
    second.update = second.update.scaled(-0.3);
    twice.pairs.push(second);
    twice
}

fn compute(lifting: &Lifting, name: &str) -> ComputeCost {
    super::compute(&Scheme::new(
        lifting,
        name.parse().unwrap(),
        Direction::Forward,
    ))
}

fn passes(lifting: &Lifting, name: &str) -> PassCost {
    super::passes(&Scheme::new(
        lifting,
        name.parse().unwrap(),
        Direction::Forward,
    ))
}

/// A cost `a + b·K` of table 11.1 or 11.2.
#[derive(Clone, Copy)]
struct Grows(i64, i64);

impl Grows {
    fn at(self, pairs: usize) -> usize {
        (self.0 + self.1 * pairs as i64) as usize
    }
}

const fn k(factor: i64) -> Grows {
    Grows(0, factor)
}

#[test]
fn table_5_1_overheads_of_regions() {
    #[rustfmt::skip]
    let rows = [
        // group, quads per thread, CDF 5/3, CDF 9/7, DD 13/7, kB per cell, threads, pixels per thread and group
        ((32, 32), (1, 1), 13.78, 30.61, 51.48, 4.0, 1024, 4, 4096),
        ((32, 16), (1, 1), 21.90, 52.38, 96.92, 2.0, 512, 4, 2048),
        ((32, 8), (1, 1), 42.22, 128.57, 392.31, 1.0, 256, 4, 1024),
        ((16, 16), (1, 1), 30.61, 77.78, 156.00, 1.0, 256, 4, 1024),
        ((16, 8), (1, 1), 52.38, 166.67, 540.00, 0.5, 128, 4, 512),
        ((32, 32), (1, 2), 10.11, 21.90, 35.81, 8.0, 1024, 8, 8192),
        ((32, 16), (1, 2), 13.78, 30.61, 51.48, 4.0, 512, 8, 4096),
        ((32, 8), (1, 2), 21.90, 52.38, 96.92, 2.0, 256, 8, 2048),
        ((16, 16), (1, 2), 21.90, 52.38, 96.92, 2.0, 256, 8, 2048),
        ((16, 8), (1, 2), 30.61, 77.78, 156.00, 1.0, 128, 8, 1024),
        ((32, 32), (1, 4), 8.36, 17.97, 29.13, 16.0, 1024, 16, 16384),
        ((32, 16), (1, 4), 10.11, 21.90, 35.81, 8.0, 512, 16, 8192),
        ((32, 8), (1, 4), 13.78, 30.61, 51.48, 4.0, 256, 16, 4096),
        ((16, 16), (1, 4), 17.97, 42.22, 76.55, 4.0, 256, 16, 4096),
        ((16, 8), (1, 4), 21.90, 52.38, 96.92, 2.0, 128, 16, 2048),
        ((32, 32), (2, 2), 6.56, 13.78, 21.76, 16.0, 1024, 16, 16384),
        ((32, 16), (2, 2), 10.11, 21.90, 35.81, 8.0, 512, 16, 8192),
        ((32, 8), (2, 2), 17.97, 42.22, 76.55, 4.0, 256, 16, 4096),
        ((16, 16), (2, 2), 13.78, 30.61, 51.48, 4.0, 256, 16, 4096),
        ((16, 8), (2, 2), 21.90, 52.38, 96.92, 2.0, 128, 16, 2048),
    ];
    for (group, quads, cdf53, cdf97, dd137, kilobytes, threads, per_thread, pixels) in rows {
        let region = Region { group, quads };
        for (name, printed) in [("cdf53", cdf53), ("cdf97", cdf97), ("dd137", dd137)] {
            let wavelet = lifting(name);
            let overhead = region
                .overhead(wavelet.degree(), wavelet.pairs.len())
                .unwrap();
            assert!(
                (overhead - printed).abs() < 0.0051,
                "{name} {region:?}: {overhead}"
            );
        }
        let (x, y) = region.pixels();
        assert_eq!((x * y, group.0 * group.1), (pixels, threads));
        assert_eq!(4 * quads.0 * quads.1, per_thread);
        assert_eq!(region.cell_bytes() as f64 / 1024.0, kilobytes);
    }
    let tiny = Region {
        group: (4, 4),
        quads: (1, 1),
    };
    assert_eq!(tiny.overhead(3, 1), None);
}

#[test]
fn table_8_2_operations_and_barriers() {
    #[rustfmt::skip]
    let rows = [
        ("sweldens", [(4, 16), (8, 32), (4, 32)]),
        ("iwahashi", [(3, 24), (6, 48), (3, 64)]),
        ("iwahashi*", [(3, 18), (6, 36), (3, 50)]),
        ("explosive", [(3, 24), (6, 48), (3, 64)]),
        ("explosive*", [(3, 18), (6, 36), (3, 50)]),
        ("monolithic", [(2, 24), (4, 48), (2, 64)]),
        ("monolithic*", [(2, 18), (4, 36), (2, 50)]),
        ("polyphase", [(1, 63), (2, 126), (1, 255)]),
        ("polyphase*", [(1, 23), (2, 46), (1, 203)]),
        // The table counts the unit that a single pair leaves in the convolution's diagonal (64 and 256 for one pair), and
        // not the same unit of the polyphase scheme (63 and 255), which is the same matrix. Units are not counted here.
        ("convolution", [(1, 64 - 1), (1, 256), (1, 256 - 1)]),
    ];
    for (scheme, printed) in rows {
        for (wavelet, (barriers, operations)) in
            ["cdf53", "cdf97", "dd137"].into_iter().zip(printed)
        {
            let cost = compute(&lifting(wavelet), scheme);
            assert_eq!(
                (cost.barriers, cost.operations),
                (barriers, operations),
                "{scheme} {wavelet}"
            );
        }
    }
}

#[test]
fn tables_8_3_and_8_4_memory_reads_and_writes() {
    #[rustfmt::skip]
    let rows = [
        // scheme, single, double, double of connected pairs, writes, reads of degree 1, of degree 3
        ("sweldens", 2, 3, 3, Grows(1, 4), k(8), k(24)),
        ("iwahashi", 3, 4, 4, Grows(2, 4), k(10), k(42)),
        ("iwahashi*", 3, 4, 6, k(6), k(10), k(42)),
        ("explosive", 2, 3, 3, k(4), k(10), k(42)),
        ("explosive*", 2, 3, 3, k(4), k(10), k(42)),
        ("monolithic", 3, 6, 6, k(6), k(10), k(42)),
        ("monolithic*", 3, 6, 6, k(6), k(10), k(42)),
        ("polyphase", 4, 4, 8, k(4), k(21), k(117)),
        ("polyphase*", 4, 4, 8, k(4), k(12), k(117)),
    ];
    for (scheme, single, double, connected, writes, degree1, degree3) in rows {
        for (wavelet, reads) in degrees(degree1, degree3) {
            let pairs = wavelet.pairs.len();
            let cost = compute(&wavelet, scheme);
            let cells = if pairs == 1 { double } else { connected };
            assert_eq!(
                (cost.single, cost.double),
                (single, cells),
                "{scheme} {pairs}"
            );
            assert_eq!(cost.writes, writes.at(pairs), "{scheme} {pairs}");
            assert_eq!(cost.reads, reads.at(pairs), "{scheme} {pairs}");
        }
    }
}

/// Wavelets of both degrees with one and two pairs, with a number for each degree.
fn degrees<T: Copy>(one: T, three: T) -> Vec<(Lifting, T)> {
    vec![
        (lifting("cdf53"), one),
        (lifting("cdf97"), one),
        (lifting("dd137"), three),
        (two_pairs_of_degree_three(), three),
    ]
}

#[test]
fn table_9_1_steps_and_operations() {
    #[rustfmt::skip]
    let rows = [
        ("cdf53", "separable-convolution", 2, 20, 22),
        ("cdf53", "separable-lifting", 4, 16, 16),
        ("cdf53", "convolution", 1, 23, 39),
        ("cdf53", "lifting", 2, 18, 18),
        ("cdf97", "separable-convolution", 2, 56, 58),
        // The table prints 56 operations for shaders, those of the scheme that is not optimised; table 11.2 says 2 + 20K.
        ("cdf97", "separable-polyconvolution", 4, 40, 42),
        ("cdf97", "separable-lifting", 8, 32, 32),
        ("cdf97", "convolution", 1, 152, 200),
        ("cdf97", "polyconvolution", 2, 46, 62),
        ("cdf97", "lifting", 4, 36, 36),
        ("dd137", "separable-convolution", 2, 60, 60),
        ("dd137", "separable-lifting", 4, 32, 32),
        ("dd137", "convolution", 1, 203, 228),
        ("dd137", "lifting", 2, 50, 50),
    ];
    for (wavelet, scheme, steps, opencl, shaders) in rows {
        let name: SchemeName = scheme.parse().unwrap();
        let form = |f| {
            if name.kind.has_forms() {
                SchemeName::new(name.kind, f).to_string()
            } else {
                name.to_string()
            }
        };
        let star = compute(&lifting(wavelet), &form(Form::Star));
        let sharp = passes(&lifting(wavelet), &form(Form::Sharp));
        assert_eq!(
            (star.barriers, sharp.steps),
            (steps, steps),
            "{wavelet} {scheme}"
        );
        assert_eq!(
            (star.operations, sharp.operations),
            (opencl, shaders),
            "{wavelet} {scheme}"
        );
    }
}

#[test]
fn table_11_1_compute() {
    #[rustfmt::skip]
    let rows = [
        // scheme, writes, reads of degree 1 and 3, barriers, single, double of one and of more pairs, operations of degree 1 and 3
        ("separable-polyconvolution", k(8), [k(12), k(36)], k(2), 4, [8, 8], [k(28), k(60)]),
        ("separable-polyconvolution*", k(8), [k(8), k(36)], k(2), 4, [8, 8], [k(20), k(60)]),
        // For both schemes with one lifted axis the table prints 8K writes and 8 cells, those of polyconvolution. By the
        // rule of section 5.5 samples that the last step left unchanged stay in memory, and a lifting step reads two.
        ("separable-polyconvolution-x", Grows(2, 6), [k(10), k(30)], k(3), 4, [6, 6], [k(22), k(46)]),
        ("separable-polyconvolution-x*", Grows(1, 7), [k(8), k(30)], k(3), 4, [6, 6], [k(18), k(46)]),
        ("separable-polyconvolution-y", k(6), [k(10), k(30)], k(3), 4, [4, 6], [k(22), k(46)]),
        ("separable-polyconvolution-y*", k(7), [k(8), k(30)], k(3), 4, [5, 6], [k(18), k(46)]),
        ("separable-lifting", Grows(1, 6), [k(8), k(24)], k(4), 2, [4, 4], [k(16), k(32)]),
        ("separable-lifting+", Grows(1, 4), [k(8), k(24)], k(4), 2, [3, 3], [k(16), k(32)]),
        ("implosion", Grows(2, 4), [k(10), k(42)], k(3), 3, [4, 4], [k(24), k(64)]),
        ("implosion*", k(6), [k(10), k(42)], k(3), 3, [4, 6], [k(18), k(50)]),
        ("explosion", k(4), [k(10), k(42)], k(3), 2, [3, 3], [k(24), k(64)]),
        ("explosion*", k(4), [k(10), k(42)], k(3), 2, [3, 3], [k(18), k(50)]),
        ("lifting", k(6), [k(10), k(42)], k(2), 3, [6, 6], [k(24), k(64)]),
        ("lifting*", k(6), [k(10), k(42)], k(2), 3, [6, 6], [k(18), k(50)]),
        ("polyconvolution", k(4), [k(21), k(117)], k(1), 4, [4, 8], [k(63), k(255)]),
        ("polyconvolution*", k(4), [k(12), k(117)], k(1), 4, [4, 8], [k(23), k(203)]),
    ];
    for (scheme, writes, reads, barriers, single, double, operations) in rows {
        for (wavelet, (reads, operations)) in
            degrees((reads[0], operations[0]), (reads[1], operations[1]))
        {
            let pairs = wavelet.pairs.len();
            let expected = ComputeCost {
                operations: operations.at(pairs),
                barriers: barriers.at(pairs),
                reads: reads.at(pairs),
                writes: writes.at(pairs),
                single,
                double: double[usize::from(pairs > 1)],
            };
            assert_eq!(compute(&wavelet, scheme), expected, "{scheme} {pairs}");
        }
    }
    #[rustfmt::skip]
    let two_pairs = [
        // The table gives these rows for K = 2 and degree 1 only.
        ("separable-convolution", 8, 28, 2, 4, 8, 64),
        ("separable-convolution*", 8, 24, 2, 4, 8, 56),
        ("convolution", 4, 77, 1, 4, 4, 256),
        ("convolution*", 4, 60, 1, 4, 4, 152),
    ];
    for (scheme, writes, reads, barriers, single, double, operations) in two_pairs {
        let expected = ComputeCost {
            operations,
            barriers,
            reads,
            writes,
            single,
            double,
        };
        assert_eq!(compute(&lifting("cdf97"), scheme), expected, "{scheme}");
    }
}

#[test]
fn table_11_2_graphics() {
    #[rustfmt::skip]
    let rows = [
        // scheme, writes, reads of degree 1 and 3, steps, memory of one and of more pairs, operations of degree 1 and 3
        ("separable-polyconvolution", k(8), [k(20), k(44)], k(2), [8, 8], [k(28), k(60)]),
        ("separable-polyconvolution#", k(8), [Grows(2, 16), k(44)], k(2), [8, 8], [Grows(2, 20), k(60)]),
        ("separable-polyconvolution-x", k(8), [k(22), k(42)], k(3), [8, 8], [k(22), k(46)]),
        // The optimised forms print 8K writes. A next pair's horizontal predict inside the quad changes HH too (-1 + 9K);
        // a vertical one inside the quad, before the fused vertical step, changes HH in every pair (9K).
        ("separable-polyconvolution-x#", Grows(-1, 9), [Grows(2, 20), k(42)], k(3), [8, 8], [Grows(2, 18), k(46)]),
        ("separable-polyconvolution-y", k(8), [k(22), k(42)], k(3), [8, 8], [k(22), k(46)]),
        ("separable-polyconvolution-y#", k(9), [k(20), k(42)], k(3), [8, 8], [k(18), k(46)]),
        ("separable-lifting", k(8), [k(24), k(40)], k(4), [4, 4], [k(16), k(32)]),
        ("separable-lifting+", k(8), [k(24), k(40)], k(4), [4, 4], [k(16), k(32)]),
        // Reads print as 22K and 54K, those of the explosion. HH alone reads 9 samples in the first step: 26K and 66K.
        ("implosion", k(4), [k(26), k(66)], k(3), [4, 4], [k(24), k(64)]),
        // Reads print as 4 + 17K and 1 + 53K; by the matrices it is 6 + 17K and 10 + 49K.
        ("implosion#", Grows(-1, 7), [Grows(6, 17), Grows(10, 49)], k(3), [6, 7], [Grows(3, 18), Grows(7, 50)]),
        ("explosion", k(8), [k(22), k(54)], k(3), [4, 4], [k(24), k(64)]),
        // Reads print as 3 + 19K and 1 + 53K: those of a first pair whose predict stays whole, which would cost 3 + 18K
        // operations. With the printed operations it is 1 + 19K and 1 + 51K.
        ("explosion#", Grows(-1, 9), [Grows(1, 19), Grows(1, 51)], k(3), [4, 5], [Grows(1, 18), Grows(1, 50)]),
        ("lifting", k(6), [k(18), k(50)], k(2), [6, 6], [k(24), k(64)]),
        // Writes print as 6K, but the seventh cell of connected pairs is there because HH is written too.
        ("lifting#", Grows(-1, 7), [Grows(1, 17), Grows(1, 49)], k(2), [6, 7], [k(18), k(50)]),
        // Memory prints as 8; a single step needs no copy of what it reads, as the table has it for convolution.
        ("polyconvolution", k(4), [k(25), k(121)], k(1), [4, 8], [k(63), k(255)]),
        // Reads of degree 1 print as 25K, while the operations say that further pairs are optimised: 9 + 16K.
        ("polyconvolution#", k(4), [Grows(9, 16), k(121)], k(1), [4, 8], [Grows(16, 23), Grows(25, 203)]),
    ];
    for (scheme, writes, reads, steps, memory, operations) in rows {
        for (wavelet, (reads, operations)) in
            degrees((reads[0], operations[0]), (reads[1], operations[1]))
        {
            let pairs = wavelet.pairs.len();
            let expected = PassCost {
                operations: operations.at(pairs),
                steps: steps.at(pairs),
                reads: reads.at(pairs),
                writes: writes.at(pairs),
                memory: memory[usize::from(pairs > 1)],
            };
            assert_eq!(passes(&wavelet, scheme), expected, "{scheme} {pairs}");
        }
    }
    #[rustfmt::skip]
    let two_pairs = [
        ("separable-convolution", 8, 36, 2, 8, 64),
        ("separable-convolution#", 8, 34, 2, 8, 58),
        ("convolution", 4, 81, 1, 4, 256),
        ("convolution#", 4, 81, 1, 4, 200),
    ];
    for (scheme, writes, reads, steps, memory, operations) in two_pairs {
        let expected = PassCost {
            operations,
            steps,
            reads,
            writes,
            memory,
        };
        assert_eq!(passes(&lifting("cdf97"), scheme), expected, "{scheme}");
    }
}

#[test]
fn all_schemes_compute_the_same() {
    let mut wavelets: Vec<Lifting> = ["haar", "cdf53", "cdf97", "dd137", "b3", "db4"]
        .map(lifting)
        .into();
    wavelets.push(two_pairs_of_degree_three());
    for wavelet in &wavelets {
        for direction in [Direction::Forward, Direction::Inverse, Direction::Adjoint] {
            let plain = SchemeName::new(Kind::SeparableLifting, Form::Basic);
            let wanted = Scheme::new(wavelet, plain, direction).product();
            for name in SchemeName::all(Form::Star)
                .into_iter()
                .chain(SchemeName::all(Form::Sharp))
                .chain([SchemeName::new(Kind::LiftingY, Form::Basic)])
            {
                let scheme = Scheme::new(wavelet, name, direction);
                assert!(near(&scheme.product(), &wanted), "{name} {direction:?}");
                let local = |m: &super::Matrix| !m.reaches_out();
                assert!(scheme.stages[0].iter().all(local), "{name}");
                assert!(
                    scheme
                        .stages
                        .iter()
                        .skip(1)
                        .all(|s| s.iter().skip(1).all(local)),
                    "{name}"
                );
            }
        }
        let forward =
            Scheme::new(wavelet, "lifting*".parse().unwrap(), Direction::Forward).product();
        let inverse =
            Scheme::new(wavelet, "explosion*".parse().unwrap(), Direction::Inverse).product();
        assert!(near(&(&inverse * &forward), &super::Matrix::identity()));
    }
    assert_eq!(SchemeName::all(Form::Star).len(), 20);
}

/// Chapter 7: 20 operations where there were 24; chapter 8 brings them to 18. As many barriers.
#[test]
fn the_scheme_of_2016_has_twenty_operations() {
    for (wavelet, pairs) in [("cdf53", 1), ("cdf97", 2)] {
        let cost = |name: &str| compute(&lifting(wavelet), name);
        let [plain, half, best] = ["lifting", "kula2016", "lifting*"].map(cost);
        let operations = [plain.operations, half.operations, best.operations];
        assert_eq!(operations, [24, 20, 18].map(|n| n * pairs), "{wavelet}");
        assert_eq!(half.barriers, plain.barriers);
    }
}

/// Whether two matrices agree except for rounding.
fn near(a: &super::Matrix, b: &super::Matrix) -> bool {
    (0..16).all(|i| {
        let difference = a.entry(i / 4, i % 4) + &-b.entry(i / 4, i % 4);
        difference.terms().all(|(_, c)| c.abs() < 1e-9)
    })
}

#[test]
fn adjoint_is_the_transpose() {
    let wavelet = lifting("cdf97");
    let name = "convolution".parse().unwrap();
    let forward = Scheme::new(&wavelet, name, Direction::Forward).product();
    let adjoint = Scheme::new(&wavelet, name, Direction::Adjoint).product();
    let transposed = super::Matrix::with(
        (0..16).map(|i| (i / 4, i % 4, forward.entry(i % 4, i / 4).reversed())),
    );
    assert!(near(&adjoint, &transposed));
}

#[test]
fn taps_of_a_row_come_back() {
    let taps = Taps::new(-1, [0.5, 0.0, 2.0]);
    assert_eq!(Taps::from(&taps.polynomial()), taps);
}
