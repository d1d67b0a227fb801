use super::*;
use ::exr::math::Vec2;
use ::exr::meta::attribute::SampleType;
use proptest::prelude::*;

fn channel(name: &str, kind: SampleType, (width, height): (usize, usize)) -> Channel {
    Channel::whole(name, kind, width, height)
}

fn bounds(width: usize, height: usize) -> IntegerBounds {
    IntegerBounds {
        position: Vec2(0, 0),
        size: Vec2(width, height),
    }
}

fn kind(number: u8) -> SampleType {
    [SampleType::F16, SampleType::F32, SampleType::U32][usize::from(number % 3)]
}

proptest! {
    /// Any bits come back: NaN, infinity and negative zero, too.
    #[test]
    fn pixels_come_back(
        width in 1_usize..150,
        height in 1_usize..70,
        kinds in prop::collection::vec((0_u8..3, "[RGBAZ]|[a-c]\\.[RGB]"), 1..6),
        smooth in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let size = (width, height);
        let channels: Vec<Channel> = kinds.iter().map(|(k, n)| channel(n, kind(*k), size)).collect();
        let mut state = seed;
        let mut raw = Vec::new();
        for y in 0..height {
            for c in &channels {
                for x in 0..width {
                    state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                    let value = if smooth { (x * y) as u32 * 40 + (state >> 28) } else { state ^ state << 13 };
                    match c.kind {
                        SampleType::F16 => raw.extend((value as u16).to_ne_bytes()),
                        _ => raw.extend(value.to_ne_bytes()),
                    }
                }
            }
        }
        let (bounds, pool) = (bounds(width, height), Pool::default());
        let packed = write(&channels, &raw, &bounds, &pool);
        prop_assert!(read(&channels, &packed, &bounds, &pool).unwrap() == raw);
    }

    #[test]
    fn damage_is_an_error_or_other_pixels(
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let channels = ["B", "G", "R", "Z"].map(|n| channel(n, SampleType::F16, (40, 33)));
        let raw: Vec<u8> = (0..40 * 33 * 8_u32).map(|i| ((i * i) >> 7) as u8).collect();
        let (bounds, pool) = (bounds(40, 33), Pool::default());
        let mut packed = write(&channels, &raw, &bounds, &pool);
        for (index, value) in at {
            let at = index.index(packed.len());
            packed[at] = value;
        }
        let _ = read(&channels, &packed, &bounds, &pool);
        packed.truncate(cut.index(packed.len()));
        let _ = read(&channels, &packed, &bounds, &pool);
    }
}

/// The largest differences that samples can have need no more bit planes than the header says.
#[test]
fn extremes_fit() {
    for kind in [SampleType::F16, SampleType::U32, SampleType::F32] {
        let (width, height) = (97, 65);
        let channels = ["R", "G", "B"].map(|n| channel(n, kind, (width, height)));
        let mut raw = Vec::new();
        for y in 0..height {
            for c in 0..3 {
                for x in 0..width {
                    let high = ((x ^ y ^ c) & 1 == 0) != (x / 8 % 2 == y / 16 % 2);
                    let bytes = if high {
                        [0xff, 0xff, 0xff, 0x7f]
                    } else {
                        [0xff; 4]
                    };
                    let bytes = if kind == SampleType::U32 && !high {
                        [0; 4]
                    } else {
                        bytes
                    };
                    raw.extend(&bytes[4 - kind.bytes_per_sample()..]);
                }
            }
        }
        let (bounds, pool) = (bounds(width, height), Pool::default());
        let packed = write(&channels, &raw, &bounds, &pool);
        assert!(read(&channels, &packed, &bounds, &pool).unwrap() == raw);
    }
}
