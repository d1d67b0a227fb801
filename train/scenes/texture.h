// Procedural textures.
#pragma once
#include "scene.h"
HD float sm(float t) { return t * t * (3 - 2 * t); }
HD V vnoise3(V p, uint32_t s) { // three value noises at once, each 0..1
    float X = floorf(p.x), Y = floorf(p.y), Z = floorf(p.z);
    int x = (int)X, y = (int)Y, z = (int)Z;
    float fx = sm(p.x - X), fy = sm(p.y - Y), fz = sm(p.z - Z);
    V r = mk1(0);
    for (int k = 0; k < 8; k++) {
        uint32_t h = h3(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2), s);
        float w = (k & 1 ? fx : 1 - fx) * (k & 2 ? fy : 1 - fy) * (k & 4 ? fz : 1 - fz);
        r = r + mk((float)(h & 1023), (float)(h >> 10 & 1023), (float)(h >> 20 & 1023)) * (w * (1 / 1023.f));
    }
    return r;
}
HD float fbm(V p, uint32_t s) {
    float a = 0, w = 0.5f;
    for (int i = 0; i < 4; i++) {
        a += w * vnoise3(p, s + i).x;
        p = p * 2.03f;
        w *= 0.5f;
    }
    return a * (1 / 0.9375f);
}
HD V hcol(uint32_t h) {
    return mk(0.04f + 0.9f * u01(hsh(h + 1)), 0.04f + 0.9f * u01(hsh(h + 2)), 0.04f + 0.9f * u01(hsh(h + 3)));
}
HD V texColor(const Mat& m, V lp, V wp, V n, float u, float v) {
    if (m.tex == 0 && m.dirt == 0) return m.c1;
    if (m.map == 1) {
        V a = mk(fabsf(n.x), fabsf(n.y), fabsf(n.z));
        if (a.y > a.x && a.y > a.z) {
            u = wp.x;
            v = wp.z;
        } else if (a.x > a.z) {
            u = wp.z;
            v = wp.y;
        } else {
            u = wp.x;
            v = wp.y;
        }
    } else if (m.map == 2) {
        u = wp.x + 0.31f * wp.z;
        v = wp.y + 0.23f * wp.z;
    }
    V p = (m.map == 0 ? lp : wp) * m.scale, c = m.c1;
    float a = (u * m.cs - v * m.sn) * m.scale, b = (u * m.sn + v * m.cs) * m.scale, A = floorf(a), B = floorf(b),
          fa = a - A, fb = b - B;
    int ia = (int)A, ib = (int)B;
    switch (m.tex) {
    case 1:
        if ((ia + ib) & 1) c = m.c2;
        break; // checker
    case 2: {
        float x = a * 0.5f + (ib & 1) * 0.5f, X = floorf(x);
        x -= X;
        float e = 0.02f + 0.06f * m.par; // bricks
        c = x < e || x > 1 - e || fb < 2 * e || fb > 1 - 2 * e
                ? m.c2
                : m.c1 * (0.6f + 0.4f * u01(h3((int)X, ib, 7, m.seed)));
        break;
    }
    case 3: {
        float t = a + m.par * 2 * vnoise3(p * 0.5f, m.seed).x;
        t -= floorf(t);
        c = m.par > 0.5f ? mixv(m.c1, m.c2, sm(t)) : (t < 0.2f + m.par ? m.c2 : m.c1);
        break;
    } // stripes, wood
    case 4: {
        float f = clampf(fbm(p, m.seed) * 1.6f - 0.3f, 0, 1);
        c = f < 0.5f ? mixv(m.c1, m.c2, 2 * f) : mixv(m.c2, m.c3, 2 * f - 1);
        break;
    }
    case 5: {
        uint32_t h = h3(ia, ib, 3, m.seed);
        float x = fa - 0.5f + m.par * 0.3f * (u01(h) - 0.5f), y = fb - 0.5f, r = 0.15f + 0.25f * u01(hsh(h)); // dots
        if (x * x + y * y < r * r) c = m.par > 0.6f ? hcol(h) : m.c2;
        break;
    }
    case 6: {
        float x = a * 1.6f, X = floorf(x);
        int col = (int)((x - X) * 6), row = (int)(fb * 10);
        uint32_t h = h3((int)X, ib, 11, m.seed); // glyphs
        if (h % 6 && col < 5 && row < 7 && u01(h3((int)floorf(X / 40), ib, 5, m.seed)) < 0.9f) {
            int k = row * 5 + col;
            uint32_t w = k < 32 ? hsh(h + 1) : hsh(h + 2);
            if (w >> (k & 31) & 1) c = m.c2;
        }
        break;
    }
    case 7:
        c = mixv(m.c1, hcol(h3(ia, ib, 1, m.seed)), 0.15f + 0.85f * m.par);
        if (m.par < 0.4f && (fa < 0.05f || fb < 0.05f)) c = m.c2;
        break; // mosaic
    case 8: {
        float bd = 9, b2 = 9;
        uint32_t bh = 0; // Voronoi stones
        for (int j = -1; j < 2; j++)
            for (int i = -1; i < 2; i++) {
                uint32_t h = h3(ia + i, ib + j, 2, m.seed);
                float x = i + u01(h) - fa, y = j + u01(hsh(h)) - fb, d = x * x + y * y;
                if (d < bd) {
                    b2 = bd;
                    bd = d;
                    bh = h;
                } else if (d < b2)
                    b2 = d;
            }
        c = sqrtf(b2) - sqrtf(bd) < 0.08f * m.par ? m.c2 : mixv(m.c1, hcol(bh), m.par);
        break;
    }
    case 9:
        if (fa < 0.02f + 0.1f * m.par || fb < 0.02f + 0.1f * m.par) c = m.c2;
        break; // grid lines
    case 10: {
        V q = vnoise3(p * 0.7f, m.seed + 9);
        float f = fbm(p + q * 2.f, m.seed) * (1 + 4 * m.par); // picture-like colours
        c = mk(0.5f + 0.45f * cosf(6.2832f * (f + m.c3.x)), 0.5f + 0.45f * cosf(6.2832f * (f * 0.9f + m.c3.y)),
               0.5f + 0.45f * cosf(6.2832f * (f * 1.1f + m.c3.z))) *
            mixv(mk1(1), m.c1, 0.5f);
        break;
    }
    }
    if (m.dirt > 0) c = c * (1 - m.dirt * fbm((m.map == 0 ? lp : wp) * (0.3f * m.scale + 1), m.seed + 77));
    return vclamp(c, 0.f, 1.f);
}
