// The sub-image and tile of a workgroup. In mirrored orders the whole image is one sub-image.

struct SubImage {
    first: vec2<u32>,
    start: vec2<u32>,
    len: vec2<u32>,
    tile: vec2<u32>,
}

fn part_of(group: vec3<u32>) -> SubImage {
    let size = vec2(p.width, p.height);
    var part: SubImage;
    if MIRROR {
        part.first = vec2(0u);
        part.start = vec2(0u);
        part.len = size;
        part.tile = group.xy;
        return part;
    }
    // When row order is restored, workgroups alternate between sub-images, so that concurrent writes are close together.
    // Otherwise they process one sub-image tile by tile.
    let parts = 1u << p.level;
    let tiles = vec2(p.tiles_x, p.tiles_y);
    if RESTORE {
        part.first = group.xy & vec2(parts - 1u);
        part.tile = group.xy >> vec2(p.level);
    } else {
        part.first = group.xy / tiles;
        part.tile = group.xy % tiles;
    }
    part.start = vec2(
        phase_start(size.x, part.first.x, p.level),
        phase_start(size.y, part.first.y, p.level),
    );
    part.len = vec2(
        phase_len(size.x, part.first.x, p.level),
        phase_len(size.y, part.first.y, p.level),
    );
    return part;
}

// The output position of pixel `at` of a sub-image, along one axis.
fn moved(n: u32, first: u32, at: u32) -> u32 {
    if MIRROR {
        let pixel = phase_pixel(n, at, p.level);
        if RESTORE {
            return pixel;
        }
        return phase_place(n, pixel, p.level + p.splits);
    }
    if RESTORE {
        return first + (at << p.level);
    }
    let next = first + ((at & ((1u << p.splits) - 1u)) << p.level);
    return phase_start(n, next, p.level + p.splits) + (at >> p.splits);
}

fn index_of(part: SubImage, at: vec2<u32>) -> u32 {
    return (part.start.y + at.y) * p.width + part.start.x + at.x;
}

// The output position of pixel `at` of a sub-image.
fn place_of(part: SubImage, at: vec2<u32>) -> u32 {
    if STAYS {
        return index_of(part, at);
    }
    return moved(p.height, part.first.y, at.y) * p.width + moved(p.width, part.first.x, at.x);
}

// The start positions of the two halves that a sub-image is split into, along each axis: computed once per workgroup.
struct Places {
    x: vec2<u32>,
    y: vec2<u32>,
}

fn halves_of(part: SubImage) -> Places {
    let odd = part.first + (1u << p.level);
    return Places(
        vec2(phase_start(p.width, part.first.x, p.level + 1u), phase_start(p.width, odd.x, p.level + 1u)),
        vec2(phase_start(p.height, part.first.y, p.level + 1u), phase_start(p.height, odd.y, p.level + 1u)),
    );
}

fn place_in_halves(halves: Places, at: vec2<u32>) -> u32 {
    let x = select(halves.x.x, halves.x.y, (at.x & 1u) == 1u) + (at.x >> 1u);
    let y = select(halves.y.x, halves.y.y, (at.y & 1u) == 1u) + (at.y >> 1u);
    return y * p.width + x;
}

fn places_of(part: SubImage) -> Places {
    if MIRROR || RESTORE || STAYS {
        return Places(vec2(0u), vec2(0u));
    }
    return halves_of(part);
}

// `place_of` for one split.
fn place_in(part: SubImage, places: Places, at: vec2<u32>) -> u32 {
    if MIRROR || RESTORE || STAYS {
        return place_of(part, at);
    }
    return place_in_halves(places, at);
}
