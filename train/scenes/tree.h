// The threaded bounding-volume tree of a scene (host only).
#pragma once
#include <algorithm>
#include <vector>
#include "intersect.h"
static int buildNode(Scene& s, std::vector<int>& id, int a, int b, const std::vector<V>& lo,
                     const std::vector<V>& hi) {
    int me = s.nn++;
    V l = mk1(BIG), h = mk1(-BIG);
    for (int k = a; k < b; k++) {
        V p = lo[id[k]], q = hi[id[k]];
        l = mk(std::min(l.x, p.x), std::min(l.y, p.y), std::min(l.z, p.z));
        h = mk(std::max(h.x, q.x), std::max(h.y, q.y), std::max(h.z, q.z));
    }
    Node n;
    n.lo = l;
    n.hi = h;
    n.prim = b - a == 1 ? id[a] : -1;
    if (b - a > 1) { // full-sweep SAH
        auto grow = [](V& l, V& h, V p, V q) {
            l = mk(std::min(l.x, p.x), std::min(l.y, p.y), std::min(l.z, p.z));
            h = mk(std::max(h.x, q.x), std::max(h.y, q.y), std::max(h.z, q.z));
        };
        auto area = [](V l, V h) {
            V e = h - l;
            return e.x * e.y + e.y * e.z + e.z * e.x;
        };
        std::vector<int> w(id.begin() + a, id.begin() + b), bw;
        int n2 = b - a, bm = n2 / 2;
        float best = BIG;
        std::vector<float> ar(n2);
        for (int ax = 0; ax < 3; ax++) {
            auto key = [&](int i) {
                V c = lo[i] + hi[i];
                return ax == 0 ? c.x : ax == 1 ? c.y : c.z;
            };
            std::sort(w.begin(), w.end(), [&](int x, int y) {
                float p = key(x), q = key(y);
                return p < q || (p == q && x < y);
            });
            V L = mk1(BIG), H = mk1(-BIG);
            for (int k = n2 - 1; k > 0; k--) {
                grow(L, H, lo[w[k]], hi[w[k]]);
                ar[k] = area(L, H) * (n2 - k);
            }
            L = mk1(BIG);
            H = mk1(-BIG);
            for (int k = 1; k < n2; k++) {
                grow(L, H, lo[w[k - 1]], hi[w[k - 1]]);
                float c = area(L, H) * k + ar[k];
                if (c < best) {
                    best = c;
                    bm = k;
                    bw = w;
                }
            }
        }
        if (!bw.empty()) std::copy(bw.begin(), bw.end(), id.begin() + a);
        // The half nearer to the camera first: its hits spare camera rays the other.
        auto distance = [&](int from, int to) {
            V c = mk1(0);
            for (int k = from; k < to; k++) c = c + lo[id[k]] + hi[id[k]];
            c = c * (.5f / (to - from)) - s.cam.o;
            return dot(c, c);
        };
        if (distance(a, a + bm) > distance(a + bm, b)) {
            std::rotate(id.begin() + a, id.begin() + a + bm, id.begin() + b);
            bm = n2 - bm;
        }
        buildNode(s, id, a, a + bm, lo, hi);
        buildNode(s, id, a + bm, b, lo, hi);
    }
    n.skip = s.nn;
    s.nodes[me] = n;
    return me;
}
static void build(Scene& s) { // threaded BVH, and the list of lights' choice is already there
    std::vector<V> lo(s.np), hi(s.np);
    std::vector<int> id(s.np);
    s.nn = 0;
    for (int i = 0; i < s.np; i++) {
        Prim& p = s.prims[i];
        V h = p.h;
        if (p.type == SPHERE) h = mk1(h.x);
        if (p.type == CYL || p.type == CAPSULE) h = mk(h.x, h.x, h.z + (p.type == CAPSULE ? h.x : 0));
        if (p.type >= QUAD) h.z = 0;
        V e = p.type == SPHERE ? h
                               : mk(fabsf(p.u.x) * h.x + fabsf(p.v.x) * h.y + fabsf(p.w.x) * h.z,
                                    fabsf(p.u.y) * h.x + fabsf(p.v.y) * h.y + fabsf(p.w.y) * h.z,
                                    fabsf(p.u.z) * h.x + fabsf(p.v.z) * h.y + fabsf(p.w.z) * h.z);
        e = e * 1.0001f + mk1(1e-4f);
        lo[i] = p.c - e;
        hi[i] = p.c + e;
        id[i] = i;
    }
    if (s.np) buildNode(s, id, 0, s.np, lo, hi);
}
