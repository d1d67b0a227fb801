// Rays against primitives, and the threaded tree that holds them.
#pragma once
#include "shape.h"
HD V toLocal(const Prim& p, V a) { return mk(dot(a, p.u), dot(a, p.v), dot(a, p.w)); }
HD V toWorld(const Prim& p, V a) { return p.u * a.x + p.v * a.y + p.w * a.z; }
HD bool sphIv(V o, V d, float r, float& t0, float& t1) { // d unit
    float b = dot(o, d);
    V l = o - d * b;
    float q = r * r - dot(l, l);
    if (q < 0) return false;
    q = sqrtf(q);
    t0 = -b - q;
    t1 = -b + q;
    return true;
}
HD V safeInv(V d) {
    return mk(1.f / (fabsf(d.x) < 1e-9f ? copysignf(1e-9f, d.x) : d.x),
              1.f / (fabsf(d.y) < 1e-9f ? copysignf(1e-9f, d.y) : d.y),
              1.f / (fabsf(d.z) < 1e-9f ? copysignf(1e-9f, d.z) : d.z));
}
HD float hitPrim(const Prim& p, V ow, V dw, float tmin) {
    V o = toLocal(p, ow - p.c), d = toLocal(p, dw);
    float t0 = -BIG, t1 = BIG;
    if (p.type >= QUAD) {
        if (fabsf(d.z) < 1e-9f) return BIG;
        float t = -o.z / d.z, x = o.x + t * d.x, y = o.y + t * d.y;
        if (t < tmin) return BIG;
        if (p.type == QUAD) return fabsf(x) <= p.h.x && fabsf(y) <= p.h.y ? t : BIG;
        if (p.type == DISC) {
            x /= p.h.x;
            y /= p.h.y;
            return x * x + y * y <= 1 ? t : BIG;
        }
        return fabsf(y) <= p.h.y && fabsf(x) * 2 * p.h.y <= p.h.x * (p.h.y - y) ? t : BIG;
    }
    if (p.type == SPHERE) {
        if (!sphIv(o, d, p.h.x, t0, t1)) return BIG;
    } else if (p.type == BOX || p.type >= TORUS) {
        V id = safeInv(d), a = (-p.h - o) * id, b = (p.h - o) * id;
        t0 = fmaxf(fmaxf(fminf(a.x, b.x), fminf(a.y, b.y)), fminf(a.z, b.z));
        t1 = fminf(fminf(fmaxf(a.x, b.x), fmaxf(a.y, b.y)), fmaxf(a.z, b.z));
        if (p.type != BOX) return t0 <= t1 ? hitShape(p, o, d, fmaxf(t0, tmin), t1) : BIG;
    } else if (p.type == ELLIPSOID) {
        V ih = mk(1 / p.h.x, 1 / p.h.y, 1 / p.h.z), e = d * ih;
        float l = sqrtf(dot(e, e));
        if (!sphIv(o * ih, e * (1 / l), 1.f, t0, t1)) return BIG;
        t0 /= l;
        t1 /= l;
    } else { // cylinder along z; capsule adds two balls (convex: union of intervals)
        float a = d.x * d.x + d.y * d.y, r2 = p.h.x * p.h.x;
        bool ok = true;
        if (a > 1e-12f) {
            float il = 1.f / sqrtf(a), ex = d.x * il, ey = d.y * il, b = o.x * ex + o.y * ey, lx = o.x - b * ex,
                  ly = o.y - b * ey, q = r2 - lx * lx - ly * ly;
            if (q < 0) return BIG;
            q = sqrtf(q);
            t0 = (-b - q) * il;
            t1 = (-b + q) * il;
        } else if (o.x * o.x + o.y * o.y > r2)
            return BIG;
        float iz = 1.f / (fabsf(d.z) < 1e-9f ? copysignf(1e-9f, d.z) : d.z), z0 = (-p.h.z - o.z) * iz,
              z1 = (p.h.z - o.z) * iz;
        t0 = fmaxf(t0, fminf(z0, z1));
        t1 = fminf(t1, fmaxf(z0, z1));
        ok = t0 <= t1;
        if (p.type == CAPSULE) {
            if (!ok) {
                t0 = BIG;
                t1 = -BIG;
            }
            float s0, s1;
            V k = mk(0, 0, p.h.z);
            if (sphIv(o - k, d, p.h.x, s0, s1)) {
                t0 = fminf(t0, s0);
                t1 = fmaxf(t1, s1);
            }
            if (sphIv(o + k, d, p.h.x, s0, s1)) {
                t0 = fminf(t0, s0);
                t1 = fmaxf(t1, s1);
            }
        }
    }
    if (t0 > t1 || t1 < tmin) return BIG;
    return t0 >= tmin ? t0 : t1;
}
HD int trace(const Scene& s, V o, V d, float& tmax, int skip, bool any) {
    V id = safeInv(d);
    int best = -1, i = 0, n = s.nn;
    while (i < n) {
        const Node& b = s.nodes[i];
        V a = (b.lo - o) * id, c = (b.hi - o) * id;
        float t0 = fmaxf(fmaxf(fminf(a.x, c.x), fminf(a.y, c.y)), fmaxf(fminf(a.z, c.z), 0.f)),
              t1 = fminf(fminf(fmaxf(a.x, c.x), fmaxf(a.y, c.y)), fminf(fmaxf(a.z, c.z), tmax));
        if (t0 > t1) {
            i = b.skip;
            continue;
        }
        if (b.prim >= 0 && b.prim != skip) {
            float t = hitPrim(s.prims[b.prim], o, d, 1e-5f);
            if (t < tmax) {
                tmax = t;
                best = b.prim;
                if (any) return best;
            }
        }
        i++;
    }
    return best;
}
HD V localNormal(const Prim& p, V q, float& u, float& v) { // outward, and texture coordinates in world units
    V h = p.h;
    u = q.x;
    v = q.y;
    switch (p.type) {
    case SPHERE:
    case ELLIPSOID: {
        V e = mk(q.x / h.x, q.y / h.y, q.z / h.z);
        u = atan2f(e.y, e.x) * h.x;
        v = asinf(clampf(e.z, -1, 1)) * h.z;
        return unit(mk(e.x / h.x, e.y / h.y, e.z / h.z));
    }
    case BOX: {
        float a = h.x - fabsf(q.x), b = h.y - fabsf(q.y), c = h.z - fabsf(q.z);
        if (a < b && a < c) {
            u = q.z;
            v = q.y;
            return mk(copysignf(1, q.x), 0, 0);
        }
        if (b < c) {
            u = q.x;
            v = q.z;
            return mk(0, copysignf(1, q.y), 0);
        }
        return mk(0, 0, copysignf(1, q.z));
    }
    case CYL: {
        float r = sqrtf(q.x * q.x + q.y * q.y);
        if (fabsf(h.z - fabsf(q.z)) < fabsf(h.x - r)) return mk(0, 0, copysignf(1, q.z));
        u = atan2f(q.y, q.x) * h.x;
        v = q.z;
        return mk(q.x / r, q.y / r, 0);
    }
    case CAPSULE:
        u = atan2f(q.y, q.x) * h.x;
        v = q.z;
        return unit(mk(q.x, q.y, q.z - clampf(q.z, -h.z, h.z)));
    }
    if (p.type < QUAD) {
        u = atan2f(q.y, q.x) * h.x;
        v = q.z + len2(q.x, q.y);
        return shapeNormal(p, q);
    }
    return mk(0, 0, 1);
}
