// Materials in the local frame (z = shading normal), sky and lights.
#pragma once
#include "texture.h"
#include "intersect.h"
HD float schlick(float f0, float c) {
    float k = 1 - clampf(c, 0, 1), k2 = k * k;
    return f0 + (1 - f0) * k2 * k2 * k;
}
HD float ggxS(float a2, float c) { return sqrtf(a2 + (1 - a2) * c * c); }
HD void ggx(float al, V wo, V wi, V h, float& val,
            float& pdf) { // val = D G2 / (4 cos_o) (cos_i included), pdf of visible-normal sampling
    float a2 = al * al, t = h.z * h.z * (a2 - 1) + 1, D = a2 / (PI * t * t), so = ggxS(a2, wo.z), si = ggxS(a2, wi.z);
    val = D * 2 * wo.z * wi.z / (wo.z * si + wi.z * so) / (4 * wo.z);
    pdf = D * 2 * wo.z / (wo.z + so) / (4 * wo.z);
}
HD V ggxSample(float al, V wo, float r1, float r2) {
    V v = unit(mk(al * wo.x, al * wo.y, wo.z));
    float l = v.x * v.x + v.y * v.y;
    V T1 = l > 1e-12f ? mk(-v.y, v.x, 0) * (1 / sqrtf(l)) : mk(1, 0, 0), T2 = cross(v, T1);
    float r = sqrtf(r1), ph = 2 * PI * r2, x = r * cosf(ph), y = r * sinf(ph), s = 0.5f * (1 + v.z);
    y = (1 - s) * sqrtf(fmaxf(0.f, 1 - x * x)) + s * y;
    V n = T1 * x + T2 * y + v * sqrtf(fmaxf(0.f, 1 - x * x - y * y));
    return unit(mk(al * n.x, al * n.y, fmaxf(1e-6f, n.z)));
}
HD float coatProb(const Mat& m, V alb, float fo) {
    return clampf(fo / (fo + (1 - fo) * maxc(alb) + 1e-4f), 0.05f, 0.95f);
}
HD V evalBsdf(const Mat& m, V alb, V wo, V wi, float& pdf) { // returns f * cos_i, non-delta lobes only
    pdf = 0;
    if (wi.z <= 1e-5f || wo.z <= 1e-5f) return mk1(0);
    if (m.type == DIFFUSE) {
        pdf = wi.z / PI;
        return alb * pdf;
    }
    V h = unit(wo + wi);
    float val, pg, c = dot(wo, h);
    if (m.type == METAL) {
        ggx(m.alpha, wo, wi, h, val, pdf);
        return (alb + (mk1(1) - alb) * schlick(0, c)) * val;
    }
    float f0 = (m.ior - 1) / (m.ior + 1);
    f0 *= f0;
    float fo = schlick(f0, wo.z), fi = schlick(f0, wi.z), ps = coatProb(m, alb, fo);
    V f = alb * ((1 - fo) * (1 - fi) * wi.z / PI);
    pdf = (1 - ps) * wi.z / PI;
    if (m.alpha > 0) {
        ggx(m.alpha, wo, wi, h, val, pg);
        f = f + mk1(schlick(f0, c) * val);
        pdf += ps * pg;
    }
    return f;
}
// ---------------------------------------------------------------- lights
HD V skyAt(const Scene& s, V d) {
    if (d.y < 0) return mixv(s.skyH, s.skyG, clampf(-d.y * 8, 0, 1));
    V c = mixv(s.skyH, s.skyZ, powf(d.y, s.skyPow));
    if (s.cloud > 0 && d.y > 0) {
        float f = fbm(mk(d.x / (d.y + 0.15f), 0.3f, d.z / (d.y + 0.15f)) * s.cloudScale, s.seed);
        c = mixv(c, mk1(lum(c) * 1.5f), s.cloud * sm(clampf((f - 0.42f) * 5, 0, 1)));
    }
    return c;
}
HD float lightPdf(const Scene& s, const Light& l, V o, V d, float t) { // solid angle, with the choice of the light
    if (l.kind == 2) return l.pick / (2 * PI * s.sun1mc);
    const Prim& p = s.prims[l.prim];
    if (l.kind == 0) return l.pick * t * t / (fabsf(dot(d, p.w)) * 4 * p.h.x * p.h.y + 1e-12f);
    V a = p.c - o;
    float d2 = dot(a, a), s2 = p.h.x * p.h.x / d2;
    if (s2 >= 0.9999f) return 0;
    return l.pick * (1 + sqrtf(1 - s2)) / (2 * PI * s2);
}
HD V coneDir(V w, float omc, float r1, float r2) {
    V t, b;
    basis(w, t, b);
    float z = 1 - r1 * omc, q = sqrtf(fmaxf(0.f, r1 * omc * (1 + z)));
    return unit(t * (q * cosf(2 * PI * r2)) + b * (q * sinf(2 * PI * r2)) + w * z);
}
HD V sampleLight(const Scene& s, V p, Rng& r, V& wi, float& dist, float& pdf, int& prim) {
    float x = rnd(r), r1 = rnd(r), r2 = rnd(r);
    int k = 0;
    pdf = 0;
    prim = -1;
    while (k < s.nl - 1 && x >= s.lights[k].pick) {
        x -= s.lights[k].pick;
        k++;
    }
    const Light& l = s.lights[k];
    if (l.kind == 2) {
        wi = coneDir(s.sunDir, s.sun1mc, r1, r2);
        dist = BIG;
        pdf = lightPdf(s, l, p, wi, 0);
        return s.sunL;
    }
    const Prim& q = s.prims[l.prim];
    const Mat& m = s.mats[q.mat];
    prim = l.prim;
    if (l.kind == 0) {
        V a = q.c + q.u * (q.h.x * (2 * r1 - 1)) + q.v * (q.h.y * (2 * r2 - 1)) - p;
        dist = sqrtf(dot(a, a));
        if (dist < 1e-6f) return mk1(0);
        wi = a * (1 / dist);
        if (!m.two && dot(wi, q.w) >= 0) return mk1(0);
        if (fabsf(dot(wi, q.w)) < 1e-6f) return mk1(0);
    } else {
        V a = q.c - p;
        float d2 = dot(a, a), s2 = q.h.x * q.h.x / d2;
        if (s2 >= 0.9999f) return mk1(0);
        float ct = sqrtf(1 - s2), t0, t1;
        wi = coneDir(a * (1 / sqrtf(d2)), s2 / (1 + ct), r1, r2);
        dist = sphIv(p - q.c, wi, q.h.x, t0, t1) ? t0 : sqrtf(d2) * ct;
    }
    pdf = lightPdf(s, l, p, wi, dist);
    return m.Le;
}
