// Random rooms, outdoor places and studios, their light and camera (host only).
#pragma once
#include "flora.h"
#include "path.h"
#include <cstdio>
#include <cstdlib>
struct Gen : Flora {
    using Flora::Flora;
    void sphereLight(V c, float L) { add(SPHERE, c, frand(), mk1(LU(.01f, .3f)), lmat(L, false)); }
    void things(int n, float R, float zmax) {
        for (int i = 0; i < n; i++) {
            float a = U(0, 6.28f), r = R * sqrtf(U());
            thing(mk(r * cosf(a), 0, r * sinf(a)), LU(.25f, zmax));
        }
    }
    void sky(float L, bool sun) {
        V t = P(.7f) ? mk(.35f, .6f, 1) : rawColor();
        s.skyZ = mixv(mk1(1), t, U(0, 1)) * L * U(.4f, 1);
        s.skyH = mixv(mk1(1), P(.4f) ? mk(1, .6f, .3f) : t, U(0, .6f)) * L;
        s.skyG = color() * L * .3f;
        s.skyPow = U(.3f, 1.2f);
        s.cloud = P(.4f) ? U(.3f, 1) : 0;
        s.cloudScale = LU(.5f, 4);
        if (sun) {
            float an = LU(.005f, .06f), el = U(.08f, 1.4f), az = U(0, 6.28f);
            s.sunDir = mk(cosf(el) * cosf(az), sinf(el), cosf(el) * sinf(az));
            s.sunCos = cosf(an);
            s.sun1mc = sinf(an) * sinf(an) / (1 + cosf(an));
            V c = mixv(mk(1, .45f, .15f), mk(1, .95f, .85f), clampf(el * 2, 0, 1));
            s.sunL = c * (L * LU(.5f, 8) * PI / (PI * sinf(an) * sinf(an)));
            s.sunLight = s.nl;
            Light l;
            l.kind = 2;
            l.prim = -1;
            l.pick = 0;
            l.pad = 0;
            s.lights[s.nl++] = l;
        }
    }
    void wall(V c, V n, V up, float hx, float hy, int m) {
        Frame f;
        f.w = n;
        f.v = up;
        f.u = cross(up, n);
        add(QUAD, c, f, mk(hx, hy, 0), m);
    }
    void indoor() {
        float W = U(1.5f, 5), H = U(1.1f, 2), D = U(1.5f, 5);
        int same = P(.5f) ? mat(2) : -1, open = P(.25f) ? I(4) : -1, win = P(.35f) ? I(4) : -1;
        V Y = mk(0, 1, 0);
        wall(mk(0, 0, 0), Y, mk(0, 0, 1), W, D, mat(2));
        wall(mk(0, 2 * H, 0), -Y, mk(0, 0, 1), W, D, mat(2));
        for (int i = 0; i < 4; i++) {
            V n = i == 0 ? mk(1, 0, 0) : i == 1 ? mk(-1, 0, 0) : i == 2 ? mk(0, 0, 1) : mk(0, 0, -1);
            float d = i < 2 ? W : D, h = i < 2 ? D : W;
            V c = n * -d + mk(0, H, 0), u = cross(Y, n);
            int m = same >= 0 && P(.8f) ? same : mat(2);
            if (i == open) continue;
            if (i != win) {
                wall(c, n, Y, h, H, m);
                continue;
            }
            float a = h * U(.2f, .6f), b = H * U(.25f, .6f);
            wall(c + Y * ((H + b) * .5f), n, Y, h, (H - b) * .5f, m);
            wall(c - Y * ((H + b) * .5f), n, Y, h, (H - b) * .5f, m);
            wall(c + u * ((h + a) * .5f), n, Y, (h - a) * .5f, b, m);
            wall(c - u * ((h + a) * .5f), n, Y, (h - a) * .5f, b, m);
            int fm = mat(3);
            for (int k = I(4); k >= 0; k--) {
                V q = c + u * (a * U(-1, 1));
                seg(CYL, q - Y * b, q + Y * b, .02f, fm);
            }
            if (P(.2f)) {
                int g = s.nm++;
                memset(&s.mats[g], 0, sizeof(Mat));
                s.mats[g].type = GLASS;
                s.mats[g].c1 = mk1(1);
                s.mats[g].ior = 1.5f;
                wall(c, n, Y, a, b, g);
            }
        }
        bool out = open >= 0 || win >= 0;
        if (out) sky(LU(.5f, 6), P(.5f));
        int nl = out && P(open >= 0 ? .35f : .1f) ? 0 : 1 + I(4), hidden = P(.25f);
        for (int i = 0; i < nl; i++) {
            V c = mk(W * U(-.8f, .8f), 2 * H, D * U(-.8f, .8f));
            if (hidden) {
                float y = 2 * H * U(.75f, .9f), a = U(.1f, .5f), b = U(.1f, .5f);
                c.y = y;
                Frame f;
                f.w = Y;
                f.u = mk(1, 0, 0);
                f.v = mk(0, 0, -1);
                add(QUAD, c + Y * .03f, f, mk(a, b, 0), lmat(LU(5, 60), false));
                add(BOX, c, fy(0), mk(a * 1.3f, .02f, b * 1.3f), mat(3));
                continue;
            }
            float t = U();
            if (t < .5f) {
                Frame f;
                f.w = -Y;
                f.u = mk(1, 0, 0);
                f.v = mk(0, 0, 1);
                add(QUAD, c - Y * .01f, f, mk(LU(.05f, .45f) * W, LU(.05f, .45f) * D, 0), lmat(LU(2, 40), false));
            } else if (t < .85f) {
                c.y = H * U(.4f, 1.9f);
                sphereLight(c, LU(8, 200));
                if (P(.6f)) seg(CAPSULE, c + Y * .31f, mk(c.x, 2 * H, c.z), .008f, mat(3));
            } else {
                c.y = H * U(.5f, 1.5f);
                add(QUAD, c, fface(inBall()), mk(U(.02f, .3f), U(.1f, .6f), 0), lmat(LU(2, 40), P(.5f)));
            }
        }
        if (P(.12f)) { // a string of small lamps
            V a = mk(W * U(-.9f, .9f), H * U(.5f, 1.9f), D * U(-.9f, .9f)),
              b = mk(W * U(-.9f, .9f), H * U(.5f, 1.9f), D * U(-.9f, .9f));
            int n = 5 + I(8), l = lmat(LU(10, 150), false);
            for (int i = 0; i < n && s.nl < 15; i++)
                add(SPHERE, mixv(a, b, (i + .5f) / n) + inBall() * .08f, frand(), mk1(LU(.01f, .05f)),
                    P(.3f) ? lmat(LU(10, 150), false) : l);
        }
        for (int i = I(6); i > 0; i--) { // pictures on the walls
            int k = I(4);
            if (k == open || k == win) continue;
            V n = k == 0 ? mk(1, 0, 0) : k == 1 ? mk(-1, 0, 0) : k == 2 ? mk(0, 0, 1) : mk(0, 0, -1), u = cross(Y, n);
            float d = k < 2 ? W : D, h = k < 2 ? D : W, a = U(.1f, .6f), b = U(.1f, .5f);
            V c = n * -d + u * (h * U(-.7f, .7f)) + Y * (H * U(.7f, 1.4f));
            int m = mat(2);
            if (s.mats[m].type <= DIFFUSE || P(.3f)) {
                Mat& q = s.mats[m];
                q.tex = P(.5f) ? 10 : 4 + I(7);
                q.map = 0;
                q.scale = LU(3, 40);
            }
            wall(c + n * .03f, n, Y, a, b, m);
            add(BOX, c + n * .012f, fface(n), mk(a * 1.08f, b * 1.08f, .012f), mat(1));
        }
        nStruct = s.np;
        things(4 + I(10), std::min(W, D) * .8f, 1.8f);
        if (P(.15f)) {
            limit = 2400;
            flora(mk(W * U(-.6f, .6f), 0, D * U(-.6f, .6f)), U(.5f, 1.6f), (int)LU(200, 1500));
        }
        if (P(.3f)) {
            int m = mat(1);
            for (int i = 2 + I(6); i > 0; i--)
                seg(CAPSULE, mk(-W, H * U(.8f, 2), D * U(-1, 1)), mk(W, H * U(.8f, 2), D * U(-1, 1)), LU(.003f, .03f),
                    m);
        } // wires
        V fr = mk(W * U(-.9f, .9f), H * U(.2f, 1.7f), D * U(-.9f, .9f));
        camera(fr, aim());
    }
    int nStruct = 0; // walls, lights and backdrop come first
    V aim() {
        for (int k = 0; k < 40 && s.np > nStruct; k++) {
            const Prim& p = s.prims[nStruct + I(s.np - nStruct)];
            if (s.mats[p.mat].type != EMIT && dot(p.h, p.h) < 9) return p.c + inBall() * .25f;
        }
        return mk(0, .5f, 0);
    }
    void camera(V fr, V to) {
        V d = to - fr;
        float l = sqrtf(dot(d, d));
        if (P(.25f)) {
            fr = to - d * U(.25f, .6f);
            l = sqrtf(dot(to - fr, to - fr));
        }
        Cam& c = s.cam;
        c.o = fr;
        c.f = unit(to - fr);
        c.r = unit(cross(c.f, mk(0, 1, 0)));
        c.u = cross(c.r, c.f);
        float ro = P(.2f) ? U(-.4f, .4f) : 0;
        V r = c.r * cosf(ro) + c.u * sinf(ro);
        c.u = cross(r, c.f);
        c.r = r;
        c.th = tanf(.5f * U(25, 85) * PI / 180);
        c.focus = l * U(.7f, 1.3f);
    }
    void orbit(float dmin, float dmax) {
        float a = U(0, 6.28f), d = LU(dmin, dmax), e = U(.04f, .9f);
        camera(mk(d * cosf(a) * cosf(e), .15f + d * sinf(e), d * sinf(a) * cosf(e)), aim());
    }
    void outdoor() {
        bool night = P(.15f);
        sky(night ? LU(.005f, .05f) : LU(.5f, 2), !night && P(.6f));
        wall(mk(0, 0, 0), mk(0, 1, 0), mk(0, 0, 1), 150, 150, mat(2));
        s.mats[s.nm - 1].map = 1;
        for (int i = night ? 1 + I(4) : P(.25f) ? 1 + I(2) : 0; i > 0; i--)
            sphereLight(mk(U(-2, 2), U(.2f, 2.5f), U(-2, 2)), LU(10, 200));
        if (P(.5f))
            for (int i = 1 + I(8); i > 0; i--) {
                float a = U(0, 6.28f), d = U(4, 25);
                V h = mk(U(.5f, 4), U(.5f, 6), U(.5f, 4));
                add(BOX, mk(d * cosf(a), h.y, d * sinf(a)), fy(U(0, 6)), h, mat(2));
            }
        nStruct = s.np;
        things(5 + I(12), U(1, 3.5f), 2.2f);
        orbit(1.5f, 9);
    }
    void studio() {
        int m = mat(2);
        wall(mk(0, 0, 0), mk(0, 1, 0), mk(0, 0, 1), 30, 30, m);
        float L = P(.5f) ? LU(.02f, 1) : 0;
        s.skyH = s.skyZ = s.skyG = mk1(L);
        s.skyPow = 1;
        nStruct = s.np;
        things(2 + I(6), U(.3f, 1.5f), 2);
        orbit(1.5f, 6);
        s.nobj1 = s.np;
        V b = s.cam.f;
        b.y = 0;
        b = unit(b);
        wall(b * U(2, 5), -b, mk(0, 1, 0), 30, 30, P(.7f) ? m : mat(2));
        for (int i = 1 + I(3); i > 0; i--) {
            V c = unit(mk(U(-1, 1), U(.3f, 1), U(-1, 1)) - b * .5f) * U(2.5f, 5);
            if (P(.75f))
                add(QUAD, c, fface(mk(0, .4f, 0) - c), mk(LU(.1f, 1.5f), LU(.1f, 1.5f), 0), lmat(LU(2, 60), false));
            else
                sphereLight(c, LU(20, 200));
        }
    }
    void garden() { // plants, grass and hair of thousands of parts, under a sky or in a studio's light
        bool night = P(.1f);
        sky(night ? LU(.01f, .05f) : LU(.3f, 2), !night && P(.65f));
        wall(mk(0, 0, 0), mk(0, 1, 0), mk(0, 0, 1), 80, 80, mat(P(.5f) ? 3 : 2));
        s.mats[s.nm - 1].map = 1;
        for (int i = night ? 1 + I(4) : P(.2f) ? 1 + I(2) : 0; i > 0; i--)
            sphereLight(mk(U(-2, 2), U(.3f, 2.5f), U(-2, 2)), LU(10, 200));
        if (P(.3f)) {
            float a = U(0, 6.28f), d = U(3, 8);
            V h = mk(U(.5f, 3), U(.5f, 3), U(.5f, 3));
            add(BOX, mk(d * cosf(a), h.y, d * sinf(a)), fy(U(0, 6)), h, mat(2));
        }
        things(I(4), U(1, 3), 1.5f);
        nStruct = s.np;
        limit = MAXP;
        int parts = (int)LU(900, 5800), kinds = 1 + I(5);
        if (P(.5f)) {
            int n = (int)(parts * U(.3f, .8f));
            grass(mk1(0), U(.7f, 3), n, LU(.1f, .8f));
            parts -= n;
        }
        for (int i = 0; i < kinds; i++) {
            float a = U(0, 6.28f), r = 2.2f * sqrtf(U());
            flora(mk(r * cosf(a), 0, r * sinf(a)), LU(.5f, 2.2f), parts / kinds);
        }
        limit = 768;
        orbit(1.2f, 6);
    }
    void picks() { // probabilities of choosing each light
        float w[16], t = 0, mix = P(.5f) ? 1 : .3f;
        for (int i = 0; i < s.nl; i++) {
            Light& l = s.lights[i];
            if (l.kind == 2)
                w[i] = lum(s.sunL) * PI * 2 * s.sun1mc * 20;
            else {
                Prim& p = s.prims[l.prim];
                w[i] = lum(s.mats[p.mat].Le) *
                       (l.kind ? 4 * PI * p.h.x * p.h.x : 4 * p.h.x * p.h.y * (s.mats[p.mat].two ? 2 : 1));
            }
            t += w[i];
        }
        for (int i = 0; i < s.nl; i++) s.lights[i].pick = mix / s.nl + (1 - mix) * w[i] / t;
    }
};
static bool makeScene(Scene& s, uint32_t seed, int attempt) { // false: rejected by looking at first hits
    memset(&s, 0, sizeof s);
    s.seed = hsh(seed * 7919u + 13) ^ hsh(attempt + 101);
    s.sunLight = -1;
    s.exposure = 1;
    s.maxd = 8;
    s.skyPow = 1;
    uint32_t k = hsh(seed ^ 0xabcdef01u);
    s.kind = k % 24 < 10 ? 0 : k % 24 < 16 ? 1 : k % 24 < 19 ? 2 : 3;
    s.follow = u01(hsh(k + 1)) < .3f;
    bool lens = u01(hsh(k + 2)) < .4f;
    float f = u01(hsh(k + 5));
    s.filter = f < .55f ? 0 : f < .85f ? 1.5f : 1 + 10 * (f - .85f);
    Gen g(s, ((uint64_t)seed << 20) + attempt);
    if (s.kind == 0)
        g.indoor();
    else if (s.kind == 1)
        g.outdoor();
    else if (s.kind == 2)
        g.studio();
    else
        g.garden();
    if (s.np > MAXP || s.nm > MAXM || s.nl > 16) {
        fprintf(stderr, "overflow %d %d %d\n", s.np, s.nm, s.nl);
        exit(1);
    }
    if (!s.nobj1) s.nobj1 = s.np;
    g.picks();
    build(s);
    s.albedoDelta = g.I(3);
    s.albedoMetal = g.P(.6f) ? 0 : 1 + g.I(2);
    s.albedoEmitter = g.I(3);
    s.albedoSky = g.P(.25f);
    s.normalRaw = g.P(.4f);
    if (lens && (s.kind != 3 || g.P(.6f))) s.cam.lens = s.cam.focus * g.LU(.004f, .06f);
    const int G = 24;
    int emp = 0, near = 0, obj = 0;
    std::vector<int> cnt(s.np, 0);
    for (int i = 0; i < G * G; i++) {
        V o, d;
        camRay(s.cam, 2 * (i % G + .5f) / G - 1, 2 * (i / G + .5f) / G - 1, 0, 0, o, d);
        float t = BIG;
        int p = trace(s, o, d, t, -1, false);
        if (p < 0 || s.mats[s.prims[p].mat].type == EMIT) emp++;
        if (p < 0) continue;
        const Prim& q = s.prims[p];
        float u, v;
        V x = o + d * t;
        obj += p >= g.nStruct && p < s.nobj1;
        cnt[p]++;
        if (t < .15f) near++;
        if (q.type < QUAD && dot(toWorld(q, localNormal(q, toLocal(q, x - q.c), u, v)), d) > 1e-3f)
            return false; // inside a solid
    }
    int top = *std::max_element(cnt.begin(), cnt.end()), seen = 0;
    for (int c : cnt) seen += c > 0;
    return emp <= .6f * G * G && near <= .2f * G * G && top <= .8f * G * G && seen >= 5 &&
           obj >= (g.P(.1f) ? .05f : .2f) * G * G;
}
