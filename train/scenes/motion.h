// A scene in time: a camera that moves, things that are carried and turned, lights that change (host only).
#pragma once
#include "places.h"
#define AROUND 3 // frames on each side of the one with a reference
struct Motion {
    uint64_t st;
    struct Group {
        V pivot, axis, speed, more;
        float turn;
    } group[GROUPS];
    int groups = 1; // the first stands still
    V go = mk1(0), goMore = mk1(0);
    float yaw = 0, pitch = 0, shake = 0;
    int light = 0; // 0 steady, 1 grows or fades, 2 blinks, 3 the sun moves
    float change = 0;
    uint32_t chosen = 0;

    uint32_t N() {
        uint64_t z = (st += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return (uint32_t)((z ^ (z >> 31)) >> 32);
    }
    float U() { return u01(N()); }
    float U(float a, float b) { return a + (b - a) * U(); }
    float LU(float a, float b) { return a * powf(b / a, U()); }
    bool P(float p) { return U() < p; }
    V direction() {
        V p;
        do p = mk(U(-1, 1), U(-1, 1), U(-1, 1));
        while (dot(p, p) > 1 || dot(p, p) < 1e-3f);
        return unit(p);
    }

    // Chooses what moves in a scene, and gives the parts of each group their number.
    Motion(Scene& s, uint32_t seed) : st((uint64_t)seed * 0x9E3779B97F4A7C15ull + 77) {
        const Cam& c = s.cam;
        const float pixel = 2 * c.th / 256; // an angle
        float kind = U();
        if (kind > .3f) {
            float speed = LU(.3f, 9) * pixel * c.focus;
            V d = direction();
            d.y *= .4f;
            if (kind < .85f) go = d * speed, goMore = direction() * (speed * U(0, .15f));
            if (kind > .62f) yaw = (P(.5f) ? 1 : -1) * LU(.3f, 8) * pixel, pitch = yaw * U(-.4f, .4f);
        }
        if (P(.1f)) shake = LU(.3f, 3) * pixel;
        int wanted = P(.35f) ? 0 : P(.5f) ? 1 : 2 + P(.4f);
        for (int i = 0; i < wanted; i++) pick(s);
        float l = U();
        light = l < .52f ? 0 : l < .72f ? 1 : l < .84f ? 2 : s.sunLight >= 0 ? 3 : 1;
        change = light == 3 ? LU(.003f, .06f) : light == 2 ? LU(.1f, .8f) : LU(.02f, .4f);
        if (P(.5f) && light == 1) change = -change;
        chosen = N();
    }
    void pick(Scene& s) {
        const bool lamp = P(.45f) && s.nl > 0;
        for (int attempt = 0; attempt < 60; attempt++) {
            int i = N() % s.np;
            if (lamp) i = s.lights[N() % s.nl].prim;
            if (i < 0) continue;
            const Prim& p = s.prims[i];
            float size = p.type == SPHERE ? p.h.x : maxc(p.h);
            if (p.group || size > .8f || (!lamp && i < s.np / 8)) continue;
            float reach = std::max(1.5f * size, LU(.1f, .7f));
            Group& g = group[groups];
            g.pivot = p.c;
            const float pixels = 2 * s.cam.th / 256 * std::max(.3f, sqrtf(dot(p.c - s.cam.o, p.c - s.cam.o)));
            float k = U();
            g.axis = P(.6f) ? mk(0, 1, 0) : direction();
            g.turn = k < .3f ? 0 : (P(.5f) ? 1 : -1) * LU(.005f, .2f);
            g.speed = g.more = mk1(0);
            if (k < .6f) {
                V d = direction();
                if (P(.6f)) d.y = 0;
                float speed = LU(.3f, 12) * pixels;
                g.speed = d * speed;
                g.more = direction() * (speed * U(0, .3f));
            }
            for (int j = 0; j < s.np; j++) {
                Prim& q = s.prims[j];
                V d = q.c - g.pivot;
                if (!q.group && maxc(q.h) < reach && sqrtf(dot(d, d)) < reach) q.group = groups;
            }
            groups++;
            return;
        }
    }
    static V around(V axis, float angle, V x) {
        float c = cosf(angle), s = sinf(angle);
        return x * c + cross(axis, x) * s + axis * (dot(axis, x) * (1 - c));
    }
    Pose poseAt(int i, float t) const {
        const Group& g = group[i];
        Pose p;
        V e[3] = {mk(1, 0, 0), mk(0, 1, 0), mk(0, 0, 1)}, columns[3];
        for (int k = 0; k < 3; k++) columns[k] = around(g.axis, g.turn * t, e[k]);
        p.rows[0] = mk(columns[0].x, columns[1].x, columns[2].x);
        p.rows[1] = mk(columns[0].y, columns[1].y, columns[2].y);
        p.rows[2] = mk(columns[0].z, columns[1].z, columns[2].z);
        p.shift = mk1(0);
        p.shift = g.pivot - posed(p, g.pivot) + g.speed * t + g.more * (t * t * .5f);
        return p;
    }
    Cam camAt(const Cam& c, float t) const {
        Cam m = c;
        m.o = c.o + go * t + goMore * (t * t * .5f);
        uint32_t h = hsh(chosen + (uint32_t)(int)(t + 64));
        float y = yaw * t + (t == 0 ? 0 : shake * (2 * u01(h) - 1)),
              p = pitch * t + (t == 0 ? 0 : shake * (2 * u01(hsh(h)) - 1));
        m.f = around(c.u, y, c.f), m.r = around(c.u, y, c.r);
        m.f = around(m.r, p, m.f), m.u = around(m.r, p, c.u);
        return m;
    }
    float brightness(float t) const {
        if (light == 1) return expf(change * t);
        if (light == 2) return u01(hsh(chosen + 911 * (uint32_t)(int)(t + 64))) < .5f ? 1 : change;
        return 1;
    }
    // The scene at a time, from the one at time 0.
    void at(const Scene& base, Scene& s, float t) const {
        s = base;
        s.cam = camAt(base.cam, t);
        s.last = camAt(base.cam, t - 1);
        for (int i = 1; i < groups; i++) s.pose[i] = poseAt(i, t), s.before[i] = poseAt(i, t - 1);
        if (groups > 1 && t != 0) {
            for (int j = 0; j < s.np; j++) {
                Prim& q = s.prims[j];
                if (!q.group) continue;
                const Pose& p = s.pose[q.group];
                V still = p.shift;
                q.c = posed(p, q.c);
                q.u = posed(p, q.u) - still, q.v = posed(p, q.v) - still, q.w = posed(p, q.w) - still;
            }
            build(s);
        }
        float k = brightness(t);
        if (k != 1) {
            for (int i = 0; i < s.nm; i++)
                if (s.mats[i].type == EMIT && (chosen >> (i % 16) & 1)) s.mats[i].Le = s.mats[i].Le * k;
            if (chosen >> 16 & 1) s.sunL = s.sunL * k;
            if (chosen >> 17 & 1) s.skyH = s.skyH * k, s.skyZ = s.skyZ * k, s.skyG = s.skyG * k;
        }
        if (light == 3) s.sunDir = around(unit(mk(u01(chosen) - .5f, .5f, u01(hsh(chosen)) - .5f)), change * t, s.sunDir);
    }
};
