use super::super::wavelet::Whole;
use super::{Decoder, Encoder, Place};
use proptest::prelude::*;

fn there_and_back<T: Whole + PartialEq + std::fmt::Debug>(samples: &[T], width: usize) -> usize {
    let mut data = Vec::new();
    let filled = Encoder::<T>::default().encode(samples, (width, width), &mut data);
    let mut back = vec![T::default(); samples.len()];
    if filled {
        let place = Place {
            width,
            stride: width,
            planes: 40,
            shift: 0,
        };
        Decoder::<T>::default()
            .decode(&data, &mut back, place)
            .unwrap();
        // No marker of the code-stream can appear inside.
        assert!(data.windows(2).all(|w| w[0] != 0xff || w[1] <= 0x8f));
        assert_ne!(data.last(), Some(&0xff));
    }
    assert_eq!(back, samples);
    data.len()
}

proptest! {
    #[test]
    fn blocks_come_back(
        width in 1_usize..40,
        height in 1_usize..9,
        planes in 0_u32..37,
        rare in 1_u64..40,
        seed in any::<u64>(),
    ) {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let samples: Vec<i64> = (0..width * height)
            .map(|_| {
                let size = (next() & ((1 << planes) - 1)) as i64;
                let size = if next() % 4 == 0 { size } else { size >> (next() % 37) };
                if next() % rare > 0 { 0 } else if next() % 2 == 0 { size } else { -size }
            })
            .collect();
        there_and_back(&samples, width);
        if planes < 31 {
            let small: Vec<i32> = samples.iter().map(|v| *v as i32).collect();
            there_and_back(&small, width);
        }
    }

    #[test]
    fn damaged_blocks_do_no_harm(data in prop::collection::vec(any::<u8>(), 0..200), width in 1_usize..70) {
        let place = Place { width, stride: width, planes: 19, shift: 0 };
        let mut rows = vec![0_i32; width * 33];
        let _ = Decoder::<i32>::default().decode(&data, &mut rows, place);
    }
}

/// Noise of eight bits takes nine bits per sample with its sign, and a tenth more at most.
#[test]
fn noise_takes_its_bits() {
    let mut state = 1_u32;
    let samples: Vec<i32> = (0..4096)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 23) as i32 - 256
        })
        .collect();
    let length = there_and_back(&samples, 64);
    assert!((4608..5100).contains(&length), "{length}");
}
