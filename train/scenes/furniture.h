// Random materials and things to fill a scene with (host only).
#pragma once
#include "tree.h"
struct Frame {
    V u, v, w;
};
struct Furniture {
    Scene& s;
    uint64_t st;
    float wD, wM, wG, wC, wP, pTex, pBump;
    V pal[6];
    float sat;
    Furniture(Scene& sc, uint64_t seed) : s(sc), st(seed * 0x9E3779B97F4A7C15ull + 0x1234567) {
        for (int i = 0; i < 4; i++) U();
        sat = U();
        wD = U(0.5f, 3);
        wM = P(.5f) ? U(0, .9f) : 0;
        wG = P(.6f) ? U(0, 1.5f) : 0;
        wC = P(.7f) ? U(0, 1.8f) : 0;
        wP = U(0, 2);
        pTex = U(0.2f, 0.95f);
        pBump = P(.5f) ? U(0, .4f) : 0;
        for (auto& c : pal) c = rawColor();
    }
    uint32_t N() {
        uint64_t z = (st += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return (uint32_t)((z ^ (z >> 31)) >> 32);
    }
    float U() { return u01(N()); }
    float U(float a, float b) { return a + (b - a) * U(); }
    float LU(float a, float b) { return a * powf(b / a, U()); }
    int I(int n) { return (int)(N() % (uint32_t)n); }
    bool P(float p) { return U() < p; }
    V rawColor() {
        float h = U() * 6, sa = powf(U(), 1.5f - sat), v = P(.15f) ? U(.01f, .1f) : U(.12f, .95f);
        auto f = [&](float k) {
            float x = fmodf(h + k, 6.f);
            return v * (1 - sa * clampf(fminf(x, 4 - x), 0, 1));
        };
        V c;
        c.x = f(5);
        c.y = f(3);
        c.z = f(1);
        return vclamp(c, .01f, .95f);
    }
    V color() { return P(.6f) ? vclamp(pal[I(6)] * U(.7f, 1.2f), .01f, .95f) : rawColor(); }
    V inBall() {
        V p;
        do p = mk(U(-1, 1), U(-1, 1), U(-1, 1));
        while (dot(p, p) > 1 || dot(p, p) < 1e-4f);
        return p;
    }
    int mat(int cls = 0) { // 0 any, 1 no glass, 2 wall-like, 3 diffuse
        if (s.nm >= MAXM - 12) {
            for (int k = 0; k < 60; k++) {
                int i = I(s.nm), t = s.mats[i].type;
                if (t != EMIT && !(cls && t == GLASS) && !(cls >= 2 && t != DIFFUSE && t != PLASTIC)) return i;
            }
            return 0;
        }
        Mat m;
        memset(&m, 0, sizeof m);
        float w[5] = {wD, wM, wG, wC, wP};
        if (cls == 1) w[2] = 0;
        if (cls == 2) {
            w[0] = 6;
            w[1] = .1f;
            w[2] = 0;
            w[3] *= .2f;
        }
        if (cls == 3) w[1] = w[2] = w[3] = w[4] = 0, w[0] = 1;
        float x = U() * (w[0] + w[1] + w[2] + w[3] + w[4]);
        m.type = 0;
        while (m.type < 4 && x >= w[m.type]) x -= w[m.type++];
        m.c1 = color();
        m.c2 = P(.5f) ? color() : rawColor();
        m.c3 = rawColor();
        m.seed = N();
        m.par = U();
        m.ior = U(1.3f, 1.8f);
        if (cls == 2 && P(.5f)) m.c1 = mixv(m.c1, mk1(U(.5f, .9f)), .7f);
        if (P(pTex)) {
            m.tex = 1 + I(10);
            if (m.tex == 6 && P(.6f)) {
                m.c1 = mk1(U(.7f, .95f));
                m.c2 = mk1(U(.01f, .2f));
            }
        }
        m.dirt = P(.3f) ? U(.1f, .9f) : 0;
        m.map = I(3);
        m.scale = P(.15f) ? LU(20, 250) : LU(.8f, 30);
        float an = P(.6f) ? 0 : U(0, 6.28f);
        m.cs = cosf(an);
        m.sn = sinf(an);
        if (P(pBump)) {
            m.bump = 1 + I(2);
            m.bamp = LU(.02f, .5f);
            m.bscale = LU(1, 80);
        }
        if (m.type == MIRROR) {
            m.c1 = P(.6f) ? mk1(U(.75f, 1)) : mixv(m.c1, mk1(.95f), .5f);
            if (m.bump) m.bamp *= .3f;
        }
        if (m.type == GLASS) m.c1 = P(.6f) ? mk1(1) : mixv(m.c1, mk1(1), U(.3f, .9f));
        if (m.type == METAL) {
            m.alpha = LU(.05f, .6f);
            if (P(.7f)) m.tex = 0;
            if (P(.8f)) m.c1 = mixv(m.c1, mk1(.9f), U(.2f, .8f));
            m.dirt = 0;
        }
        if (m.type == PLASTIC) m.alpha = P(.5f) ? 0 : LU(.04f, .5f);
        s.mats[s.nm] = m;
        return s.nm++;
    }
    int metal() { // as a rule without texture or bumps
        int m = mat(1);
        Mat& q = s.mats[m];
        if (q.type != METAL) {
            q.type = METAL;
            q.alpha = LU(.03f, .6f);
            q.c1 = mixv(q.c1, mk1(.9f), U(.2f, .9f));
            q.dirt = 0;
            if (P(.8f)) q.bump = 0;
            if (P(.7f)) q.tex = 0;
        }
        return m;
    }
    V lightColor() {
        float t = U();
        V c = t < .4f   ? mk(1, U(.65f, .95f), U(.3f, .85f))
              : t < .7f ? mk(U(.7f, 1), U(.85f, 1), 1)
              : t < .9f ? mk1(1)
                        : mixv(rawColor(), mk1(1), .3f);
        return c * (1 / fmaxf(lum(c), .05f));
    }
    int lmat(float L, bool two) {
        Mat m;
        memset(&m, 0, sizeof m);
        m.type = EMIT;
        m.Le = lightColor() * L;
        m.two = two;
        s.mats[s.nm] = m;
        return s.nm++;
    }
    Frame fy(float a) {
        Frame f;
        f.u = mk(cosf(a), 0, -sinf(a));
        f.v = mk(0, 1, 0);
        f.w = mk(sinf(a), 0, cosf(a));
        return f;
    }
    Frame fdir(V w, float roll = 0) {
        Frame f;
        V t, b;
        w = unit(w);
        basis(w, t, b);
        f.u = t * cosf(roll) + b * sinf(roll);
        f.v = cross(w, f.u);
        f.w = w;
        return f;
    }
    Frame frand() { return fdir(inBall(), U(0, 6.28f)); }
    Frame fface(V w) {
        Frame f;
        f.w = unit(w);
        f.u = unit(cross(mk(0, 1, 0), f.w));
        f.v = cross(f.w, f.u);
        return f;
    } // upright panel facing w
    int limit = 768; // primitives that furniture may fill; plants of many parts raise it
    bool room(int n) { return s.np + n <= limit - 24; }
    int add(int type, V c, Frame f, V h, int m) {
        if (s.np >= MAXP) return -1;
        Prim p;
        memset(&p, 0, sizeof p);
        p.type = type;
        p.c = c;
        p.u = f.u;
        p.v = f.v;
        p.w = f.w;
        p.h = h;
        p.mat = m;
        p.light = -1;
        if (type >= TORUS && type < QUAD) p.seed = (int)N();
        if (s.mats[m].type == EMIT && s.nl < 15 && (type == QUAD || type == SPHERE)) {
            p.light = s.nl;
            Light l;
            l.kind = type == SPHERE;
            l.prim = s.np;
            l.pick = 0;
            l.pad = 0;
            s.lights[s.nl++] = l;
        }
        s.prims[s.np] = p;
        return s.np++;
    }
    int seg(int type, V a, V b, float r, int m) {
        V d = b - a;
        return add(type, (a + b) * .5f, fdir(d), mk(r, r, .5f * sqrtf(dot(d, d))), m);
    }
    void shape(V b, float z, int m) { // a smooth solid standing on b
        int type = TORUS + I(QUAD - TORUS);
        float r = z * U(.25f, .6f);
        V h = mk1(r);
        if (type == TORUS) h = mk(r, r, r * LU(.05f, .45f));
        if (type == KNOT) h = mk(r, r, r * U(.12f, .4f));
        if (type == ROUNDED || type == BLOB) h = mk(z * U(.15f, .5f), z * U(.15f, .5f), z * U(.15f, .5f));
        if (type == VASE) h = mk(r * .6f, r * .6f, z * U(.15f, .5f));
        Frame f = type == VASE ? fdir(mk(0, 1, 0)) : P(.5f) ? fy(U(0, 6.28f)) : frand();
        add(type, b + mk(0, fabsf(f.u.y) * h.x + fabsf(f.v.y) * h.y + fabsf(f.w.y) * h.z, 0), f, h, m);
    }
    void prim(V b, float z, int m) { // a single solid standing on b
        float r = z * U(.25f, .6f), a = U(0, 6.28f);
        switch (I(9)) {
        case 6:
        case 7:
        case 8: shape(b, z, m); break;
        case 0:
        case 1: add(SPHERE, b + mk(0, r, 0), frand(), mk1(r), m); break;
        case 2: {
            V h = mk(z * U(.1f, .5f), z * U(.1f, .8f), z * U(.1f, .5f));
            add(BOX, b + mk(0, h.y, 0), fy(a), h, m);
            break;
        }
        case 3: {
            float h = z * U(.1f, .8f);
            add(CYL, b + mk(0, h, 0), fdir(mk(0, 1, 0)), mk(r * .7f, r * .7f, h), m);
            break;
        }
        case 4: {
            Frame f = frand();
            V h = mk(z * U(.1f, .5f), z * U(.1f, .5f), z * U(.1f, .5f));
            V e = mk(f.u.y * h.x, f.v.y * h.y, f.w.y * h.z);
            add(ELLIPSOID, b + mk(0, sqrtf(dot(e, e)), 0), f, h, m);
            break;
        }
        case 5: {
            V d = inBall();
            d.y = fabsf(d.y) + .2f;
            d = unit(d);
            float l = z * U(.2f, .7f);
            r *= .5f;
            add(CAPSULE, b + mk(0, r + d.y * l, 0), fdir(d), mk(r, r, l), m);
            break;
        }
        }
    }
    void thing(V b, float z, int depth = 0) { // z = size
        float a = U(0, 6.28f);
        Frame f = fy(a);
        int k = I(24), m = P(.2f) ? metal() : mat();
        if (P(.22f)) k = 24;
        if (k < 6) {
            prim(b, z, m);
            return;
        }
        switch (k) {
        case 24: shape(b, z * U(.5f, 1.3f), m); break;
        case 6:
            if (room(12)) { // table with things on it
                float H = z * U(.3f, .7f), w = z * U(.4f, .9f), d = z * U(.3f, .6f), th = z * U(.015f, .05f),
                      lr = z * U(.01f, .05f);
                int t = mat(1), l = mat(1);
                add(BOX, b + mk(0, H, 0), f, mk(w, th, d), t);
                for (int i = 0; i < 4; i++) {
                    V q = b + f.u * (w * .9f * (i & 1 ? 1 : -1)) + f.w * (d * .9f * (i & 2 ? 1 : -1));
                    seg(CYL, q, q + mk(0, H - th, 0), lr, l);
                }
                for (int i = I(5); i >= 0; i--) {
                    V q = b + mk(0, H + th, 0) + f.u * (w * U(-.8f, .8f)) + f.w * (d * U(-.8f, .8f));
                    if (depth < 1 && P(.3f))
                        thing(q, z * U(.15f, .4f), depth + 1);
                    else
                        prim(q, z * U(.1f, .35f), mat());
                }
            }
            break;
        case 7:
            if (room(26)) { // fence
                int n = 6 + I(18);
                float H = z * U(.4f, 1), dx = z * U(.06f, .2f), t = dx * U(.08f, .35f);
                m = mat(1);
                for (int i = 0; i < n; i++)
                    add(BOX, b + mk(0, H * .5f, 0) + f.u * ((i - n * .5f) * dx), f,
                        mk(t, H * .5f * U(.92f, 1), t * .5f), m);
                for (int i = 0; i < 2; i++)
                    add(BOX, b + mk(0, H * (.25f + .5f * i), 0) - f.u * (dx * .5f), f, mk(n * dx * .5f, t, t * .4f),
                        m);
            }
            break;
        case 8:
        case 9:
            if (room(34)) { // plant: stems and leaves
                int n = (8 + I(24)) * (room(140) && P(.4f) ? 4 : 1), ml[2] = {mat(3), mat(1)};
                float H = z * U(.5f, 1.2f), R = z * U(.2f, .6f);
                seg(CYL, b, b + mk(0, H, 0), z * U(.01f, .05f), mat(3));
                int ty = P(.5f) ? DISC : P(.5f) ? TRI : QUAD;
                for (int i = 0; i < n; i++) {
                    V d = inBall() * R, c = b + mk(d.x, H + d.y * .8f, d.z);
                    float q = z * U(.03f, .14f);
                    add(ty, c, frand(), mk(q * U(.2f, .6f), q, 0), ml[i & 1]);
                    if (P(.2f) && room(2)) seg(CAPSULE, b + mk(0, H * U(.5f, 1), 0), c, z * .006f, ml[1]);
                }
            }
            break;
        case 10:
        case 11:
            if (room(40)) { // cluster of small ones
                int n = (10 + I(28)) * (room(160) && P(.4f) ? 4 : 1), ty = I(5), one = P(.4f), g = P(.4f), q = 0;
                float r = z * U(.02f, .09f), R = z * U(.3f, .8f);
                int side = 3 + I(4);
                for (int i = 0; i < n; i++) {
                    int mm = one ? m : mat();
                    float rr = r * U(.5f, 1.3f);
                    V c = inBall() * R;
                    c = b + mk(c.x, P(.5f) ? rr : fabsf(c.y) + rr, c.z);
                    if (g) {
                        c = b + mk((q % side - side / 2) * r * 2.6f, rr + (q / side / side) * r * 2.6f,
                                   (q / side % side - side / 2) * r * 2.6f);
                        q++;
                    }
                    add(ty == 4 ? I(5) : ty, c, ty == BOX && g ? fy(0) : frand(),
                        ty == 0 ? mk1(rr) : mk(rr * U(.3f, 1), rr * U(.3f, 1), rr * U(.3f, 1)), mm);
                }
            }
            break;
        case 12:
            if (room(20)) { // ring of capsules
                int n = 10 + I(9);
                float R = z * U(.2f, .6f), r = R * LU(.02f, .25f);
                Frame q = frand();
                V c = b + mk(0, R + r, 0);
                m = mat(1);
                for (int i = 0; i < n; i++) {
                    float x = 6.28319f * i / n, y = 6.28319f * (i + 1) / n;
                    seg(CAPSULE, c + (q.u * cosf(x) + q.v * sinf(x)) * R, c + (q.u * cosf(y) + q.v * sinf(y)) * R, r,
                        m);
                }
            }
            break;
        case 13:
            if (room(24)) { // shelf of books
                int n = 5 + I(14);
                float x = 0, T = z * U(.01f, .04f);
                add(BOX, b + mk(0, T, 0) + f.u * (z * .5f), f, mk(z * .7f, T, z * .15f), mat(1));
                for (int i = 0; i < n && x < z; i++) {
                    float w = z * U(.015f, .06f), h = z * U(.12f, .25f);
                    add(BOX, b + f.u * (x + w) + mk(0, h + 2 * T, 0), f, mk(w * .97f, h, z * U(.08f, .14f)),
                        mat(P(.8f) ? 2 : 1));
                    x += 2 * w;
                }
            }
            break;
        case 14:
            if (room(10)) {
                int n = 3 + I(6);
                float h = z * U(.04f, .12f), d = z * U(.06f, .2f), w = z * U(.2f, .6f);
                m = mat(2);
                for (int i = 0; i < n; i++)
                    add(BOX, b + mk(0, h * (i + .5f), 0) + f.w * (d * i), f, mk(w, h * .5f, d), m);
            }
            break; // stairs
        case 15: {
            V h = mk(z * U(.1f, .4f), z * U(.1f, .4f), z * U(.1f, .4f));
            float r = sqrtf(dot(h, h));
            add(I(4) + 1, b + mk(0, r * U(1, 2.5f), 0), frand(), h, m);
            break;
        } // floating
        case 16: {
            float y = 0, r = z * U(.2f, .4f);
            for (int i = 0; i < 3; i++) {
                if (P(.6f))
                    add(SPHERE, b + mk(0, y + r, 0), frand(), mk1(r), mat());
                else
                    add(BOX, b + mk(0, y + r, 0), fy(U(0, 6)), mk(r * .8f, r, r * .8f), mat());
                y += 2 * r;
                r *= U(.5f, .8f);
            }
            break;
        }
        case 17:
            if (room(24)) { // lattice of wires
                int n = 4 + I(8);
                float H = z * U(.5f, 1), W = z * U(.4f, 1), r = z * LU(.002f, .02f);
                m = mat(1);
                for (int i = 0; i < n; i++) {
                    float t = i / (n - 1.f);
                    seg(CAPSULE, b + f.u * (W * (t - .5f)), b + f.u * (W * (t - .5f)) + mk(0, H, 0), r, m);
                    seg(CAPSULE, b + f.u * (W * -.5f) + mk(0, H * t, 0), b + f.u * (W * .5f) + mk(0, H * t, 0), r, m);
                }
            }
            break;
        case 18: {
            float w = z * U(.2f, .7f), h = z * U(.2f, .6f);
            add(P(.7f) ? QUAD : BOX, b + mk(0, h, 0), f, mk(w, h, z * .01f), m);
            break;
        } // standing panel
        case 19:
            if (room(5)) {
                float w = z * U(.2f, .5f), H = z * U(.3f, 1), sl = sqrtf(H * H + w * w);
                m = mat(1);
                for (int i = 0; i < 4; i++) {
                    Frame q = fy(a + i * PI * .5f), e;
                    e.u = q.u;
                    e.v = unit(mk(0, H, 0) - q.w * w);
                    e.w = cross(e.u, e.v);
                    add(TRI, b + q.w * (w * .5f) + mk(0, H * .5f, 0), e, mk(w, sl * .5f, 0), m);
                }
            }
            break; // pyramid
        case 20:
            if (room(12)) {
                m = mat(1);
                float r = z * LU(.003f, .02f);
                for (int i = 4 + I(7); i > 0; i--) {
                    V p = inBall() * z, q = inBall() * z;
                    p.y = fabsf(p.y);
                    q.y = fabsf(q.y);
                    seg(CAPSULE, b + p, b + q, r, m);
                }
            }
            break; // sticks
        case 22:
            if (room(40)) { // curtain: a wavy sheet of panels
                int n = 16 + I(24);
                float H = z * U(.6f, 1.4f), W = z * U(.4f, 1.2f), amp = z * LU(.01f, .08f), fr = U(3, 14),
                      ph = U(0, 6.28f);
                m = mat(1);
                for (int i = 0; i < n; i++) {
                    float x = (i + 0.f) / n, y = (i + 1.f) / n;
                    V p = b + f.u * (W * (x - .5f)) + f.w * (amp * sinf(fr * x * 6.28f + ph)),
                      q = b + f.u * (W * (y - .5f)) + f.w * (amp * sinf(fr * y * 6.28f + ph)), e = q - p;
                    Frame g;
                    g.u = unit(e);
                    g.v = mk(0, 1, 0);
                    g.w = cross(g.u, g.v);
                    add(QUAD, (p + q) * .5f + mk(0, H * .5f, 0), g, mk(.5f * sqrtf(dot(e, e)), H * .5f, 0), m);
                }
            }
            break;
        case 23:
            if (room(9)) { // a group of smooth ones, often of one material
                bool one = P(.5f);
                for (int i = 2 + I(6); i > 0; i--) {
                    float x = U(0, 6.28f), R = z * U(.2f, .8f);
                    shape(b + mk(R * cosf(x), 0, R * sinf(x)), z * U(.2f, .6f), one ? m : mat());
                }
            }
            break;
        case 21: {
            float H = z * U(.2f, 1), r = z * U(.05f, .2f);
            seg(CYL, b, b + mk(0, H, 0), r, mat(1));
            prim(b + mk(0, H, 0), z * U(.2f, .5f), m);
            break;
        } // pedestal
        }
    }
};
