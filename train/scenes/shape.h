// Shapes without a closed form, each a lower bound of the distance to its surface (negative inside), met by marching.
#pragma once
#include "scene.h"
// One of the numbers, 0..1, that a shape was drawn with.
HD float drawn(const Prim& p, int i) { return u01(hsh((uint32_t)p.seed + 7919u * i)); }
HD float len2(float x, float y) { return sqrtf(x * x + y * y); }
HD float boxDistance(V q, V h) {
    V a = mk(fabsf(q.x) - h.x, fabsf(q.y) - h.y, fabsf(q.z) - h.z), b = mk(fmaxf(a.x, 0.f), fmaxf(a.y, 0.f), fmaxf(a.z, 0.f));
    return sqrtf(dot(b, b)) + fminf(maxc(a), 0.f);
}
HD float shapeDistance(const Prim& p, V q) {
    V h = p.h;
    switch (p.type) {
    case TORUS: return len2(len2(q.x, q.y) - (h.x - h.z), q.z) - h.z;
    case KNOT: { // strands wound around a ring: ropes, wreaths and, where the turns are no multiple of the strands, knots
        int strands = 1 + (int)(4 * drawn(p, 0)), turns = 1 + (int)(7 * drawn(p, 1));
        float tube = h.z * (.2f + .4f * drawn(p, 2)), wound = h.z - tube, R = h.x - h.z, best = BIG;
        float slope = turns * wound / (strands * fmaxf(R - h.z, .2f * h.x)), x = len2(q.x, q.y) - R,
              turn = atan2f(q.y, q.x) * turns;
        for (int k = 0; k < strands; k++) {
            float a = (turn + 2 * PI * k) / strands;
            best = fminf(best, len2(x - wound * cosf(a), q.z - wound * sinf(a)));
        }
        float around = len2(x, q.z) - h.z;
        if (around > .05f * h.z) return around;
        return (best - tube) / sqrtf(1 + slope * slope);
    }
    case ROUNDED: { // a box with round edges
        float r = fminf(h.x, fminf(h.y, h.z)) * powf(drawn(p, 0), 2.5f) * .95f;
        return boxDistance(q, h - mk1(r)) - r;
    }
    case BUMPY: { // a ball with bumps
        float amp = .01f + .2f * drawn(p, 0) * drawn(p, 0), k = 1.5f + 9 * drawn(p, 1), a = k / h.x;
        V s = mk(sinf(a * q.x + 6 * drawn(p, 2)), sinf(a * q.y + 6 * drawn(p, 3)), sinf(a * q.z));
        return (sqrtf(dot(q, q)) - h.x * (1 - amp + amp * s.x * s.y * s.z)) / (1 + 1.2f * amp * k);
    }
    case BLOB: { // balls that melt into each other
        int n = 3 + (int)(4 * drawn(p, 0));
        float least = fminf(h.x, fminf(h.y, h.z)), soft = least * (.05f + .4f * drawn(p, 1)), d = BIG;
        for (int i = 0; i < n; i++) {
            float r = (least - .4f * soft) * (.35f + .55f * drawn(p, 4 * i + 5));
            V room = h - mk1(r + .4f * soft);
            V c = room * mk(2 * drawn(p, 4 * i + 2) - 1, 2 * drawn(p, 4 * i + 3) - 1, 2 * drawn(p, 4 * i + 4) - 1) - q;
            float e = sqrtf(dot(c, c)) - r, m = fmaxf(soft - fabsf(d - e), 0.f);
            d = fminf(d, e) - .25f * m * m / soft;
        }
        return d;
    }
    }
    // VASE: a turned profile, solid or a shell with a floor
    float a = .45f * drawn(p, 0), k = (.5f + 5 * drawn(p, 1)) / h.z, wide = h.x * (1 - a + a * sinf(k * q.z + 6 * drawn(p, 2))),
          slope = h.x * a * k, rho = len2(q.x, q.y), side = (rho - wide) / sqrtf(1 + slope * slope);
    float d = fmaxf(side, fabsf(q.z) - h.z);
    if (drawn(p, 3) < .6f) {
        float t = h.x * (.03f + .1f * drawn(p, 4));
        d = fmaxf(d, -fmaxf(side + t, -h.z + 2 * t - q.z));
    }
    return d;
}
HD float hitShape(const Prim& p, V o, V d, float t, float end) {
    float side = shapeDistance(p, o + d * t) < 0 ? -1.f : 1.f;
    for (int i = 0; i < 200 && t < end; i++) {
        float e = side * shapeDistance(p, o + d * t);
        if (e < 1e-5f) return t;
        t += fmaxf(e, 2e-5f);
    }
    return BIG;
}
HD V shapeNormal(const Prim& p, V q) {
    const float e = 5e-4f * maxc(p.h);
    V n = mk1(0);
    for (int i = 0; i < 4; i++) { // the corners of a tetrahedron
        V k = mk(i == 0 || i == 3 ? 1 : -1, i == 0 || i == 2 ? 1 : -1, i == 0 || i == 1 ? 1 : -1);
        n = n + k * shapeDistance(p, q + k * e);
    }
    return unit(n);
}
