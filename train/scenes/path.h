// Path tracing: one thread renders one pixel of one slice and starts the next path where the last one ended.
#pragma once
#include "material.h"
struct Args {
    const Scene* s;
    int S, spp, stream, slices, feat;
    float* out;
};
// out: sums of colour, 3 planes per slice; with feat means of colour 3, albedo 3, normal 3, depth 1; with 2 also of motion 2
HD V posed(const Pose& p, V x) { return mk(dot(p.rows[0], x), dot(p.rows[1], x), dot(p.rows[2], x)) + p.shift; }
HD V turnedBack(const Pose& p, V x) { return p.rows[0] * x.x + p.rows[1] * x.y + p.rows[2] * x.z; }
// Where a camera sees a point, -1..1, y down.
HD void seenAt(const Cam& c, V x, float& px, float& py) {
    V v = x - c.o;
    float z = dot(v, c.f), k = 1 / (c.th * (fabsf(z) < 1e-4f ? 1e-4f : z));
    px = dot(v, c.r) * k;
    py = -dot(v, c.u) * k;
}
// The previous minus the present position of a point, in pixels.
HD void moved(const Scene& s, V now, V before, int S, float& mx, float& my) {
    float ax, ay, bx, by;
    seenAt(s.cam, now, ax, ay);
    seenAt(s.last, before, bx, by);
    mx = clampf((bx - ax) * .5f * S, -999.f, 999.f);
    my = clampf((by - ay) * .5f * S, -999.f, 999.f);
}
HD void camRay(const Cam& c, float px, float py, float l1, float l2, V& o, V& d) { // px, py in -1..1, y down
    d = c.f + c.r * (px * c.th) - c.u * (py * c.th);
    o = c.o;
    if (c.lens > 0) {
        float r = c.lens * sqrtf(l1);
        V q = c.r * (r * cosf(2 * PI * l2)) + c.u * (r * sinf(2 * PI * l2));
        d = d * c.focus - q;
        o = o + q;
    }
    d = unit(d);
}
// What the renderer of this scene would write as albedo where a path first meets a material.
HD V writtenAlbedo(const Scene& s, const Mat& m, V albedo) {
    if (m.type == MIRROR || m.type == GLASS) return s.albedoDelta == 0 ? mk1(1) : s.albedoDelta == 1 ? m.c1 : mk1(0);
    if (m.type == METAL) return s.albedoMetal == 0 ? albedo : s.albedoMetal == 1 ? mk1(0) : mk1(1);
    if (m.type == EMIT) return s.albedoEmitter == 0 ? mk1(0) : s.albedoEmitter == 1 ? mk1(1) : vclamp(m.Le, 0, 1e4f);
    return albedo;
}
// Where a path crosses a pixel, 0..1, and beyond it where the filter is wider. The sum of four numbers has nearly the form of Blackman-Harris.
HD float across(const Scene& s, Rng& r) {
    float first = rnd(r);
    if (s.filter <= 0) return first;
    return .5f + .24f * s.filter * (first + rnd(r) + rnd(r) + rnd(r) - 2);
}
HD void renderThread(int i, const Args& A) {
    const Scene& s = *A.s;
    int S = A.S, NP = S * S, slice = i / NP, j = i % NP, tile = j / 32, lane = j % 32, tx = S / 8;
    int X = (tile % tx) * 8 + lane % 8, Y = (tile / tx) * 4 + lane / 8;
    Rng r = seedRng(s.seed, Y * S + X, A.stream * 64 + slice);
    V sum = mk1(0), falb = mk1(0), fnor = mk1(0), o, d, beta, L, ftp;
    float fdep = 0, pdfB = -1, plen = 0, fmx = 0, fmy = 0;
    int done = 0, depth = 0;
    bool alive = false, fdone = true;
    while (true) {
        if (!alive) {
            if (done == A.spp) break;
            float a = across(s, r), b = across(s, r), c = rnd(r), e = rnd(r);
            camRay(s.cam, 2 * (X + a) / S - 1, 2 * (Y + b) / S - 1, c, e, o, d);
            beta = mk1(1);
            ftp = mk1(1);
            L = mk1(0);
            depth = 0;
            pdfB = -1;
            plen = 0;
            alive = true;
            fdone = !A.feat;
        }
        float t = BIG;
        int pi = trace(s, o, d, t, -1, false);
        bool end = false;
        if (pi < 0) {
            L = L + beta * skyAt(s, d);
            end = true;
            if (A.feat == 2 && depth == 0) {
                float mx, my;
                moved(s, s.cam.o + d * 1e4f, s.last.o + d * 1e4f, S, mx, my);
                fmx += mx;
                fmy += my;
            }
            if (!fdone && s.albedoSky) falb = falb + ftp;
            if (s.sunLight >= 0 && dot(d, s.sunDir) > s.sunCos) {
                float w = 1;
                if (pdfB >= 0 && s.mode == 0) {
                    float q = lightPdf(s, s.lights[s.sunLight], o, d, 0);
                    w = pdfB * pdfB / (pdfB * pdfB + q * q);
                }
                L = L + beta * s.sunL * w;
            }
        } else {
            const Prim& p = s.prims[pi];
            const Mat& m = s.mats[p.mat];
            float u, v;
            V x = o + d * t, lp = toLocal(p, x - p.c), ng = toWorld(p, localNormal(p, lp, u, v));
            bool back = dot(ng, d) > 0;
            V nf = back ? -ng : ng;
            plen += t;
            V rest = x, nrest = ng; // where the surface was built: textures and earlier places follow from it
            if (p.group) {
                rest = turnedBack(s.pose[p.group], x - s.pose[p.group].shift);
                nrest = turnedBack(s.pose[p.group], ng);
            }
            if (A.feat == 2 && depth == 0) {
                float mx, my;
                moved(s, x, p.group ? posed(s.before[p.group], rest) : x, S, mx, my);
                fmx += mx;
                fmy += my;
            }
            V alb = mk1(0), ns = nf;
            if (m.type == EMIT) {
                if (!back || m.two || p.type < QUAD) {
                    float w = 1;
                    if (pdfB >= 0 && p.light >= 0 && s.mode == 0) {
                        float q = lightPdf(s, s.lights[p.light], o, d, t);
                        w = pdfB * pdfB / (pdfB * pdfB + q * q);
                    }
                    L = L + beta * m.Le * w;
                }
                end = true;
            } else {
                if (m.type == MIRROR || m.type == GLASS)
                    alb = m.c1;
                else
                    alb = texColor(m, lp, rest, nrest, u, v);
                if (m.bump && m.type != GLASS) {
                    V g;
                    if (m.bump == 1)
                        g = vnoise3(lp * m.bscale, m.seed + 31);
                    else {
                        uint32_t h = h3((int)floorf(u * m.bscale), (int)floorf(v * m.bscale), 0, m.seed);
                        g = mk(u01(h), u01(hsh(h + 1)), u01(hsh(h + 2)));
                    }
                    ns = unit(nf + toWorld(p, g * 2 - mk1(1)) * m.bamp);
                    if (dot(ns, d) > -0.02f) ns = nf;
                }
            }
            bool delta = m.type == MIRROR || m.type == GLASS;
            if (!fdone && !(delta && s.follow)) {
                falb = falb + writtenAlbedo(s, m, alb) * ftp;
                fnor = fnor + (s.normalRaw && back && p.type >= QUAD ? -ns : ns);
                fdep += plen;
                fdone = true;
            }
            if (depth >= s.maxd) end = true;
            if (!end) {
                float eps = 1e-4f * fmaxf(1.f, fmaxf(maxc(mk(fabsf(x.x), fabsf(x.y), fabsf(x.z))), t) * 0.2f);
                V off = nf * eps;
                V T, B;
                basis(ns, T, B);
                V wo = mk(-dot(d, T), -dot(d, B), -dot(d, ns)), wi;
                bool dl = false;
                if (m.type == MIRROR) {
                    d = d - ns * (2 * dot(d, ns));
                    if (dot(d, nf) <= 0) end = true;
                    beta = beta * alb;
                    ftp = ftp * alb;
                    o = x + off;
                    dl = true;
                } else if (m.type == GLASS) {
                    bool pane = p.type >= QUAD;
                    float c = wo.z, eta = back && !pane ? m.ior : 1 / m.ior, k = 1 - eta * eta * (1 - c * c),
                          F = 1; // eta = n_in / n_trans
                    if (k > 0) {
                        float ct = sqrtf(k), rs = (eta * c - ct) / (eta * c + ct),
                              rp = (c - eta * ct) / (c + eta * ct);
                        F = 0.5f * (rs * rs + rp * rp);
                    }
                    if (pane) F = 2 * F / (1 + F);
                    if (rnd(r) < F) {
                        d = d - nf * (2 * dot(d, nf));
                        o = x + off;
                    } else {
                        if (!pane) d = unit(d * eta + nf * (eta * c - sqrtf(fmaxf(k, 0.f))));
                        o = x - off;
                        beta = beta * alb;
                        ftp = ftp * alb;
                    }
                    dl = true;
                } else {
                    V xo = x + off;
                    if (s.nl > 0 && s.mode == 0) {
                        V wl;
                        float dist, pl, pb;
                        int lp2;
                        V Le = sampleLight(s, xo, r, wl, dist, pl, lp2);
                        if (pl > 0 && dot(wl, nf) > 0 && maxc(Le) > 0) {
                            V f = evalBsdf(m, alb, wo, mk(dot(wl, T), dot(wl, B), dot(wl, ns)), pb);
                            if (maxc(f) > 0) {
                                float tm = dist < BIG ? dist * 0.99999f : BIG;
                                if (trace(s, xo, wl, tm, lp2, true) < 0)
                                    L = L + beta * Le * f * (pl / (pl * pl + pb * pb));
                            }
                        }
                    }
                    float q = rnd(r), r1 = rnd(r), r2 = rnd(r), ps = m.type == METAL ? 1.f : 0.f, f0 = 0;
                    if (m.type == PLASTIC) {
                        f0 = (m.ior - 1) / (m.ior + 1);
                        f0 = schlick(f0 * f0, wo.z);
                        ps = coatProb(m, alb, f0);
                    }
                    if (q < ps) {
                        V h = m.alpha > 0 ? ggxSample(m.alpha, wo, r1, r2) : mk(0, 0, 1);
                        wi = h * (2 * dot(wo, h)) - wo;
                        if (m.alpha <= 0) {
                            dl = true;
                            beta = beta * (f0 / ps);
                        }
                    } else {
                        float rr = sqrtf(r1);
                        wi = mk(rr * cosf(2 * PI * r2), rr * sinf(2 * PI * r2), sqrtf(fmaxf(0.f, 1 - r1)));
                    }
                    d = unit(T * wi.x + B * wi.y + ns * wi.z);
                    o = xo;
                    if (dot(d, nf) <= 0) end = true;
                    if (!dl && !end) {
                        float pb;
                        V f = evalBsdf(m, alb, wo, wi, pb);
                        if (pb > 0) {
                            beta = beta * f * (1 / pb);
                            pdfB = pb;
                        } else
                            end = true;
                    }
                }
                if (dl) pdfB = -1;
                depth++;
                if (depth > 3 && !end) {
                    float q = fminf(0.98f, maxc(beta));
                    if (rnd(r) >= q)
                        end = true;
                    else
                        beta = beta * (1 / q);
                }
                if (!(maxc(beta) > 0)) end = true;
            }
        }
        if (end) {
            L = L * s.exposure;
            if (!(L.x >= 0 && L.y >= 0 && L.z >= 0 && maxc(L) < 1e20f)) L = mk1(0);
            sum = sum + L;
            done++;
            alive = false;
        }
    }
    int px = Y * S + X;
    float* O = A.out + (size_t)slice * 3 * NP;
    O[px] += sum.x;
    O[px + NP] += sum.y;
    O[px + 2 * NP] += sum.z;
    if (A.feat) {
        float k = 1.f / A.spp;
        O[px] *= k;
        O[px + NP] *= k;
        O[px + 2 * NP] *= k;
        float f[9] = {falb.x, falb.y, falb.z, fnor.x, fnor.y, fnor.z, fdep, fmx, fmy};
        for (int c = 0; c < (A.feat == 2 ? 9 : 7); c++) O[px + (3 + c) * NP] = f[c] * k;
    }
}
