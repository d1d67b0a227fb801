// The pixel order of Dolp 2024 along one axis of n pixels, as `Phases` in Rust. LOCAL and MIRROR are constants.

fn phase_len(n: u32, first: u32, level: u32) -> u32 {
    return (n + (1u << level) - 1u - first) >> level;
}

fn phase_start(n: u32, first: u32, level: u32) -> u32 {
    if !LOCAL {
        return first * (n >> level) + min(first, n & ((1u << level) - 1u));
    }
    var start = 0u;
    var len = n;
    for (var bit = 0u; bit < level; bit++) {
        let even = (len + 1u) >> 1u;
        let odd = ((first >> bit) & 1u) == 1u;
        start += select(0u, even, odd);
        len = select(even, len - even, odd);
    }
    return start;
}

fn phase_first_at(n: u32, place: u32, level: u32) -> u32 {
    if !LOCAL {
        let short = n >> level;
        let longer = n & ((1u << level) - 1u);
        let border = longer * (short + 1u);
        if place < border {
            return place / (short + 1u);
        }
        return longer + (place - border) / max(short, 1u);
    }
    var start = 0u;
    var len = n;
    var first = 0u;
    for (var bit = 0u; bit < level; bit++) {
        let even = (len + 1u) >> 1u;
        let odd = place >= start + even;
        start += select(0u, even, odd);
        first |= select(0u, 1u << bit, odd);
        len = select(even, len - even, odd);
    }
    return first;
}

fn phase_flips(first: u32, level: u32) -> bool {
    return MIRROR && LOCAL && level > 0u && ((first >> (max(level, 1u) - 1u)) & 1u) == 1u;
}

// The position of pixel x.
fn phase_place(n: u32, pixel: u32, after: u32) -> u32 {
    if after == 0u {
        return pixel;
    }
    var x = pixel;
    var level = after;
    if MIRROR && !LOCAL {
        x = select(x >> 1u, n - 1u - (x >> 1u), (x & 1u) == 1u);
        level -= 1u;
    }
    let first = x & ((1u << level) - 1u);
    let start = phase_start(n, first, level);
    let index = x >> level;
    return start + select(index, phase_len(n, first, level) - 1u - index, phase_flips(first, level));
}

// The pixel at a position.
fn phase_pixel(n: u32, place: u32, after: u32) -> u32 {
    if after == 0u {
        return place;
    }
    let level = after - select(0u, 1u, MIRROR && !LOCAL);
    let first = phase_first_at(n, place, level);
    var index = place - phase_start(n, first, level);
    index = select(index, phase_len(n, first, level) - 1u - index, phase_flips(first, level));
    let x = first + (index << level);
    if MIRROR && !LOCAL {
        return select(2u * x, 2u * (n - 1u - x) + 1u, x >= ((n + 1u) >> 1u));
    }
    return x;
}
