//! Operation counts of the paper.

use super::*;

const FILTERS: [Filter; 5] = [
    Filter::Gaussian { sigma: 1.5 },
    Filter::Tent {
        peak: 4.0,
        slope: 1.0,
    },
    Filter::Tent2 {
        peak: 7.0,
        slope: 1.0,
    },
    Filter::Variance,
    Filter::Bilateral {
        space: 1.5,
        range: 0.1,
    },
];

const fn quad(exchange: Exchange) -> Walk {
    let coarse = false;
    Walk::Quad { exchange, coarse }
}

/// The text of the sums: what one invocation does.
fn sums_of(filter: Filter, radius: usize, walk: Walk) -> String {
    let source = shader::fragment(filter, radius, walk).source().to_owned();
    let at = source.find("fn sums(").unwrap();
    let length = source[at..].find("\n}\n").unwrap();
    source[at..at + length].to_owned()
}

#[test]
fn fragments_read_the_window_and_quads_a_quarter_of_it() {
    for filter in FILTERS {
        for radius in 1..=3 {
            let reads = |walk| sums_of(filter, radius, walk).matches("texel(").count();
            assert_eq!(reads(Walk::Fragment), (2 * radius + 1).pow(2), "{filter:?}");
            for exchange in [
                Exchange::Rows,
                Exchange::Sums,
                Exchange::Uniform,
                Exchange::Texels,
            ] {
                let count = reads(quad(exchange));
                assert_eq!(count, (radius + 1).pow(2), "{filter:?} {exchange:?}");
            }
        }
    }
}

#[test]
fn exchanges_are_as_few_as_the_paper_says() {
    for radius in 1..=3 {
        let swaps = |filter, exchange| {
            let text = sums_of(filter, radius, quad(exchange));
            text.matches("swap_x(").count() + text.matches("swap_y(").count()
        };
        let [gaussian, tent, tent2, variance, bilateral] = FILTERS;
        assert_eq!(swaps(gaussian, Exchange::Rows), radius + 2);
        assert_eq!(swaps(tent, Exchange::Rows), radius + 2);
        assert_eq!(swaps(tent2, Exchange::Rows), 2 * radius + 3);
        for filter in [gaussian, tent, tent2] {
            assert_eq!(swaps(filter, Exchange::Sums), 3);
        }
        for (filter, count) in [(gaussian, radius + 2), (tent2, 2 * radius + 3)] {
            assert_eq!(swaps(filter, Exchange::Uniform), count);
        }
        for filter in FILTERS {
            let naive = 3 * radius * radius + 2 * radius;
            assert_eq!(swaps(filter, Exchange::Texels), naive, "{filter:?}");
        }
        // Three for the mean, three for the squares.
        assert_eq!(swaps(variance, Exchange::Rows), 6);
        // Three for the sums, three for the centre texels; the paper has one more for odd radii above 1.
        assert_eq!(swaps(bilateral, Exchange::Rows), 6);
    }
}

#[test]
fn a_linear_sampler_halves_the_reads_of_an_axis() {
    for radius in 0..=3 {
        for vertical in [false, true] {
            let axis = WindowAxis {
                filter: FILTERS[0],
                radius,
                vertical,
                along: Along::Linear,
            };
            let source = shader::linear(&axis).source().to_owned();
            // One of the matches is the function's declaration.
            assert_eq!(source.matches("sampled(").count(), radius + 2);
        }
    }
}

#[test]
fn the_neighbours_factor_is_the_papers() {
    // Step 4 of section 3.1: exp((2·i·t_y - 1) / 2σ²), as the quotient of the two factors that are used here.
    let filter = FILTERS[0];
    for i in -3..=3i64 {
        let quotient = filter.side(i - 1).unwrap() / filter.side(i).unwrap();
        let paper = ((2 * i - 1) as f64 / (2.0 * 1.5f64.powi(2))).exp();
        assert!((quotient / paper - 1.0).abs() < 1e-12);
    }
}
