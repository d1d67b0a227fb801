//! Weights in the library, as its build script stores them.

/// The file of what the build script stored: bytes with even numbers first, the others after them.
pub(super) fn file(apart: &[u8]) -> Vec<u8> {
    let (even, odd) = apart.split_at(apart.len().div_ceil(2));
    let mut bytes = Vec::with_capacity(apart.len());
    for (even, odd) in even.iter().zip(odd) {
        bytes.extend([*even, *odd]);
    }
    bytes.extend(&even[odd.len()..]);
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn files_are_put_together() {
        assert_eq!(super::file(b"acebd"), b"abcde");
        assert_eq!(super::file(b"acbd"), b"abcd");
        assert_eq!(super::file(b""), b"");
    }

    #[test]
    fn bundled_weights_are_those_of_the_repository() {
        let stored = include_bytes!(concat!(env!("OUT_DIR"), "/guides.apart"));
        assert!(super::file(stored) == include_bytes!("../../weights/guides.safetensors"));
    }
}
