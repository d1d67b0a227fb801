// Grass, leaves, needles and hair: thousands of thin things (host only).
#pragma once
#include "furniture.h"
struct Flora : Furniture {
    using Furniture::Furniture;
    int leafMat() {
        int m = mat(3);
        Mat& q = s.mats[m];
        V c = P(.65f)   ? mk(U(.02f, .3f), U(.12f, .5f), U(.01f, .12f))
              : P(.5f) ? mk(U(.25f, .6f), U(.1f, .45f), U(.02f, .15f))
                       : rawColor();
        q.c1 = c;
        q.c2 = mixv(c, rawColor(), U(.1f, .6f));
        if (P(.7f)) q.tex = 0;
        if (P(.4f)) {
            q.type = PLASTIC;
            q.alpha = LU(.08f, .5f);
        }
        return m;
    }
    int some(const int* of, int n) { return of[I(n)]; }
    Frame along(V v) { // v up the blade, its flat side turned at random
        Frame f = fdir(v, U(0, 6.28f)), g;
        g.v = f.w;
        g.u = f.u;
        g.w = cross(g.u, g.v);
        return g;
    }
    void blade(V root, V lean, float tall, float wide, int m) {
        V up = unit(mk(0, 1, 0) + lean);
        if (P(.5f)) {
            Frame f = along(up);
            add(TRI, root + up * (.5f * tall), f, mk(wide, .5f * tall, 0), m);
            return;
        }
        float low = tall * U(.4f, .6f), high = tall - low;
        Frame f = along(up), g = f;
        add(QUAD, root + up * (.5f * low), f, mk(wide, .5f * low, 0), m);
        g.v = unit(up + f.w * U(-.9f, .9f) + lean);
        g.u = unit(f.u - g.v * dot(f.u, g.v));
        g.w = cross(g.u, g.v);
        add(TRI, root + up * low + g.v * (.5f * high), g, mk(wide, .5f * high, 0), m);
    }
    void grass(V b, float R, int n, float tall) {
        int m[4] = {leafMat(), leafMat(), leafMat(), leafMat()};
        float wide = tall * LU(.008f, .05f), wild = U(.05f, .8f);
        V wind = inBall() * U(0, .4f);
        wind.y = 0;
        for (int i = 0; i < n && room(2); i++) {
            float a = U(0, 6.28f), r = R * sqrtf(U());
            V lean = inBall() * wild + wind;
            lean.y = 0;
            blade(b + mk(r * cosf(a), 0, r * sinf(a)), lean, tall * U(.4f, 1.2f), wide * U(.6f, 1.3f), some(m, 4));
        }
    }
    void leaf(V c, Frame f, float z, float slim, int type, int m) { add(type, c, f, mk(z * slim, z, 0), m); }
    void crown(V b, float R, int n, float height) { // a tree or bush
        int m[3] = {leafMat(), leafMat(), leafMat()}, type = P(.4f) ? DISC : P(.5f) ? TRI : QUAD, bark = mat(3);
        float z = R * LU(.03f, .2f), slim = U(.2f, .7f), hang = U(0, 1.5f), hollow = U(.2f, .6f);
        V c = b + mk(0, height, 0);
        if (height > R * .5f) seg(CYL, b, c, R * U(.03f, .1f), bark);
        for (int i = 4 + I(16); i > 0 && room(1); i--) {
            V e = inBall() * R;
            seg(CAPSULE, c - mk(0, R * U(0, .8f), 0), c + e, R * LU(.005f, .03f), bark);
        }
        for (int i = 0; i < n && room(1); i++) {
            V d = unit(inBall()) * (R * powf(U(), hollow));
            d.y *= U(.6f, 1.1f);
            Frame f = P(.5f) ? frand() : along(unit(inBall() - mk(0, hang, 0)));
            leaf(c + d, f, z * U(.5f, 1.3f), slim, type, some(m, 3));
        }
    }
    void ivy(V b, Frame f, float W, float H, int n) { // leaves on a wall, or a hedge when deep
        int m[3] = {leafMat(), leafMat(), leafMat()}, type = P(.5f) ? DISC : TRI;
        float z = fminf(W, H) * LU(.02f, .1f), deep = P(.5f) ? z : W * U(.1f, .3f);
        add(BOX, b + mk(0, H, 0), f, mk(W, H, fmaxf(deep * .4f, .01f)), mat(2));
        for (int i = 0; i < n && room(1); i++) {
            V c = b + f.u * (W * U(-1, 1)) + f.v * (H * U(0, 2)) + f.w * (deep * U(-1, 1));
            leaf(c, fdir(f.w + inBall() * .8f, U(0, 6.28f)), z * U(.5f, 1.2f), U(.4f, .9f), type, some(m, 3));
        }
    }
    void hair(V b, float R, int n) { // strands on a ball
        int m[2] = {mat(1), leafMat()};
        float r = R * LU(.002f, .015f), l = R * LU(.1f, .7f), curl = U(0, .9f);
        V c = b + mk(0, R, 0), comb = inBall() * U(0, .8f);
        add(SPHERE, c, frand(), mk1(R * .97f), m[P(.5f)]);
        for (int i = 0; i < n && room(2); i++) {
            V d = unit(inBall()), p = c + d * R, e = unit(d + comb + inBall() * .3f), q = p + e * (l * .5f);
            int k = m[P(.3f)];
            seg(CAPSULE, p, q, r, k);
            seg(CAPSULE, q, q + unit(e + inBall() * curl - mk(0, .4f, 0)) * (l * .5f), r * .8f, k);
        }
    }
    void needles(V b, float R, int n) { // straw, twigs, needles in a heap
        int m[3] = {leafMat(), mat(3), leafMat()};
        float r = R * LU(.003f, .02f), l = R * LU(.08f, .5f), flat = U(.1f, 1);
        for (int i = 0; i < n && room(1); i++) {
            V p = inBall() * R, d = unit(mk(U(-1, 1), U(-1, 1) * flat, U(-1, 1))) * l;
            p.y = fabsf(p.y) * flat;
            seg(CAPSULE, b + p, b + p + d, r, some(m, 3));
        }
    }
    void flora(V b, float z, int n) { // one of them, of n parts
        switch (I(7)) {
        case 0:
        case 1: grass(b, z * U(.5f, 2), n, z * U(.1f, .6f)); break;
        case 2:
        case 3: crown(b, z * U(.3f, .8f), n, z * U(.3f, 1.2f)); break;
        case 4: ivy(b, fy(U(0, 6.28f)), z * U(.4f, 1.2f), z * U(.2f, .6f), n); break;
        case 5: hair(b, z * U(.15f, .4f), n / 2); break;
        case 6: needles(b, z * U(.3f, .8f), n); break;
        }
    }
};
