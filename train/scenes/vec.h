// Vectors, hashes and random numbers, for host and device.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#ifdef HOST
#define HD static inline
#else
#include <cuda_runtime.h>
#define HD static __host__ __device__ inline
#endif
#define PI 3.14159265358979f
#define BIG 1e30f
struct V {
    float x, y, z;
};
HD V mk(float x, float y, float z) {
    V r;
    r.x = x;
    r.y = y;
    r.z = z;
    return r;
}
HD V mk1(float x) { return mk(x, x, x); }
HD V operator+(V a, V b) { return mk(a.x + b.x, a.y + b.y, a.z + b.z); }
HD V operator-(V a, V b) { return mk(a.x - b.x, a.y - b.y, a.z - b.z); }
HD V operator*(V a, V b) { return mk(a.x * b.x, a.y * b.y, a.z * b.z); }
HD V operator*(V a, float s) { return mk(a.x * s, a.y * s, a.z * s); }
HD V operator-(V a) { return mk(-a.x, -a.y, -a.z); }
HD float dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD V cross(V a, V b) { return mk(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
HD V unit(V a) { return a * (1.f / sqrtf(fmaxf(dot(a, a), 1e-30f))); }
HD V mixv(V a, V b, float t) { return a + (b - a) * t; }
HD float lum(V a) { return 0.2126f * a.x + 0.7152f * a.y + 0.0722f * a.z; }
HD float maxc(V a) { return fmaxf(a.x, fmaxf(a.y, a.z)); }
HD float clampf(float x, float a, float b) { return fminf(fmaxf(x, a), b); }
HD V vclamp(V a, float lo, float hi) { return mk(clampf(a.x, lo, hi), clampf(a.y, lo, hi), clampf(a.z, lo, hi)); }
HD void basis(V n, V& t, V& b) {
    float s = n.z >= 0 ? 1.f : -1.f, a = -1.f / (s + n.z), c = n.x * n.y * a;
    t = mk(1 + s * n.x * n.x * a, s * c, -s * n.x);
    b = mk(c, s + n.y * n.y * a, -n.y);
}
HD uint32_t hsh(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}
HD uint32_t h3(int x, int y, int z, uint32_t s) {
    return hsh(((uint32_t)x * 73856093u) ^ ((uint32_t)y * 19349663u) ^ ((uint32_t)z * 83492791u) ^ s);
}
HD float u01(uint32_t h) { return (h >> 8) * (1.f / 16777216.f); }
struct Rng {
    uint32_t a, b;
}; // xoroshiro64*
HD Rng seedRng(uint32_t seed, uint32_t pix, uint32_t stream) {
    Rng r;
    r.a = hsh(hsh(hsh(seed) + pix) + stream * 0x9e3779b9u);
    r.b = hsh(hsh(hsh(pix ^ 0x5bd1e995u) ^ seed) + stream * 0x85ebca6bu) | 1u;
    return r;
}
HD float rnd(Rng& r) {
    uint32_t o = r.a * 0x9E3779BBu;
    r.b ^= r.a;
    r.a = ((r.a << 26) | (r.a >> 6)) ^ r.b ^ (r.b << 9);
    r.b = (r.b << 13) | (r.b >> 19);
    return u01(o);
}
