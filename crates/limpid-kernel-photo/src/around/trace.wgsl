// Follows the motion from each pixel of the output frame to the frames around.

struct Place {
    at: vec2<f32>,
    found: bool,
}

fn inside(v: vec2<f32>) -> bool {
    let last = vec2<f32>(vec2<u32>(p.width, p.height)) - 0.5;
    return v.x > -0.5 && v.y > -0.5 && v.x < last.x && v.y < last.y;
}

// The index of a pixel; places outside take the nearest one.
fn index(v: vec2<f32>) -> u32 {
    let last = vec2<f32>(vec2<u32>(p.width, p.height) - 1u);
    let q = vec2<u32>(clamp(v, vec2<f32>(0.0), last));
    return min(q.y, p.height - 1u) * p.width + min(q.x, p.width - 1u);
}

fn motion(frame: u32, v: vec2<f32>) -> vec2<f32> {
    let pixels = p.width * p.height;
    let at = 2u * frame * pixels + index(floor(v + 0.5));
    return vec2<f32>(read0[at], read0[at + pixels]);
}

// Where a place in a frame was in the one before.
fn earlier(frame: u32, v: vec2<f32>) -> Place {
    if !inside(v) {
        return Place(v, false);
    }
    let to = v + motion(frame, v);
    return Place(to, inside(to));
}

// Where a place in the frame before is in this one.
fn later(frame: u32, v: vec2<f32>) -> Place {
    var next = v;
    for (var i = 0u; i < STEPS; i++) {
        if !inside(next) {
            return Place(v, false);
        }
        next = v - motion(frame, next);
    }
    if !inside(next) {
        return Place(v, false);
    }
    let missed = abs(next + motion(frame, next) - v);
    return Place(next, missed.x < MISSED && missed.y < MISSED);
}

fn pixel(x: u32, y: u32) {
    let pixels = p.width * p.height;
    let at = y * p.width + x;
    let here = vec2<f32>(vec2<u32>(x, y));
    var places = array<Place, 2>(Place(here, true), Place(here, true));
    for (var k = 0u; k < RADIUS; k++) {
        let away = i32(k) + 1;
        // The motion to the frame before is that of the frame after it.
        if places[0].found {
            places[0] = earlier(place(centre() - away + 1), places[0].at);
        }
        places[0].found = places[0].found && there(-away);
        if places[1].found && there(away) {
            places[1] = later(place(centre() + away), places[1].at);
        } else {
            places[1].found = false;
        }
        for (var side = 0u; side < 2u; side++) {
            let first = (PLACES * k + 3u * side) * pixels + at;
            let to = select(here, places[side].at, places[side].found);
            write0[first] = to.x;
            write0[first + pixels] = to.y;
            write0[first + 2u * pixels] = select(0.0, 1.0, places[side].found);
        }
    }
}
