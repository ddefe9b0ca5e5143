/* Exponentials and logarithms of many numbers, within one unit in the last place; bins and sums.

   The mathematical library of C answers for one number after the other. These are written without
   branches, so that one instruction works on two numbers, or on four where the processor can. No
   step depends on the processor, and so no result does. This is C and not Python because only here
   can a function be compiled for two kinds of processors. */

#ifndef TRUEODDS_ELEMENTARY_H
#define TRUEODDS_ELEMENTARY_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_TWO_KINDS __attribute__((unused, target_clones("avx2", "default")))
#else
#define FOR_TWO_KINDS
#endif

/* ln 2 in two parts. The first ends in zeros: times a whole number below 2^21 it is exact. */
#define LOG_2 0x1.62e42feep-1
#define LOG_2_REST 0x1.a39ef35793c76p-33
#define BIAS 1023 /* which is added to exponents; they stand in the bits from 52 on */
#define FEW 512   /* so many numbers stay in the nearest cache */

static inline uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double number_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* exp(x) = 2^k exp(r) for the whole number k that leaves |r| <= ln(2)/2. */
static inline double exp_of(double x) {
    /* What is added to this number is rounded to a whole one, which then is in its last bits. */
    const double rounding = 0x1.8p52;
    x = x < 708.0 ? x : 708.0;
    x = x > -708.0 ? x : -708.0;
    double shifted = x * 1.4426950408889634 + rounding;
    double k = shifted - rounding;
    double r = (x - k * LOG_2) - k * LOG_2_REST;
    /* Taylor's series to r^13, in groups of four that need not wait for each other. */
    double square = r * r, fourth = square * square;
    double a = (1 / 2.0 + r * (1 / 6.0)) + square * (1 / 24.0 + r * (1 / 120.0));
    double b = (1 / 720.0 + r * (1 / 5040.0)) + square * (1 / 40320.0 + r * (1 / 362880.0));
    double c = (1 / 3628800.0 + r * (1 / 39916800.0))
             + square * (1 / 479001600.0 + r * (1 / 6227020800.0));
    double series = 1.0 + (r + square * (a + fourth * (b + fourth * c)));
    return series * number_of((bits_of(shifted) + BIAS) << 52);
}

/* ln x = k ln 2 + ln(1 + f) for a normal x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).

   With s = f/(2 + f), ln(1 + f) = 2 artanh(s) = f - f^2/2 + s (f^2/2 + 2 s^2/3 + 2 s^4/5 + ...). */
static inline double log_of_normal(double x) {
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, bias = (uint64_t)BIAS << 52;
    uint64_t exponent = (bits_of(x) - sqrt_half + bias) >> 52;
    /* A small whole number in the last bits of 2^52 is that much above it. */
    double k = number_of(exponent + ((uint64_t)(BIAS + 52) << 52)) - (0x1p52 + BIAS);
    double f = number_of(bits_of(x) - (exponent << 52) + bias) - 1.0;
    double s = f / (2.0 + f);
    double z = s * s, square = z * z, fourth = square * square;
    double a = (2 / 3.0 + z * (2 / 5.0)) + square * (2 / 7.0 + z * (2 / 9.0));
    double b = (2 / 11.0 + z * (2 / 13.0)) + square * (2 / 15.0 + z * (2 / 17.0));
    double c = 2 / 19.0 + z * (2 / 21.0);
    double series = z * (a + fourth * (b + fourth * c));
    double half = 0.5 * f * f;
    return k * LOG_2 + (f - (half - (s * (half + series) + k * LOG_2_REST)));
}

static inline double log_of(double x) {
    if (!(x > 0.0)) return -INFINITY;
    if (x > DBL_MAX) return INFINITY;
    return x < DBL_MIN ? log_of_normal(x * 0x1p54) - 54 * (LOG_2 + LOG_2_REST) : log_of_normal(x);
}

FOR_TWO_KINDS
static void exp_of_each(double *x, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) x[i] = exp_of(x[i]);
}

FOR_TWO_KINDS
static void log_of_each(double *x, ptrdiff_t n) {
    double rare = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) rare += x[i] >= DBL_MIN && x[i] <= DBL_MAX ? 0.0 : 1.0;
    if (rare > 0.0) {
        for (ptrdiff_t i = 0; i < n; i++) x[i] = log_of(x[i]);
    } else {
        for (ptrdiff_t i = 0; i < n; i++) x[i] = log_of_normal(x[i]);
    }
}

/* ln(p/(1 - p)): the ratio is exact to rounding for every p in [0, 1], so one logarithm is enough. */
FOR_TWO_KINDS
static void log_odds_of_each(const double *p, double *z, ptrdiff_t n) {
    for (ptrdiff_t begin = 0; begin < n; begin += FEW) {
        ptrdiff_t end = begin + FEW < n ? begin + FEW : n;
        double rare = 0.0;
        for (ptrdiff_t i = begin; i < end; i++) {
            double odds = p[i] < 1.0 ? p[i] / (1.0 - p[i]) : INFINITY;
            rare += odds >= DBL_MIN && odds <= DBL_MAX ? 0.0 : 1.0;
            z[i] = odds;
        }
        if (rare > 0.0) {
            for (ptrdiff_t i = begin; i < end; i++) z[i] = log_of(z[i]);
        } else {
            for (ptrdiff_t i = begin; i < end; i++) z[i] = log_of_normal(z[i]);
        }
    }
}

/* 1/(1 + exp(-z)), but never exactly 0 or 1. */
FOR_TWO_KINDS
static void sigmoid_of_each(double *z, ptrdiff_t n) {
    const double below_one = 1.0 - 0x1p-53;
    for (ptrdiff_t i = 0; i < n; i++) {
        double p = 1.0 / (1.0 + exp_of(-z[i]));
        z[i] = p < below_one ? p : below_one;
    }
}

/* The whole part of x times a number of bins, for x in [0, 1]; and whether rounding may have put
   some x on the wrong side of an edge. */
FOR_TWO_KINDS
static int bin_of_each(const double *x, double n_bins, int *bin, ptrdiff_t n) {
    const double near_edge = 1e-9;
    int near = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double scaled = x[i] * n_bins;
        bin[i] = (int)scaled;
        double rest = scaled - bin[i];
        near |= (rest < near_edge) | (rest > 1.0 - near_edge);
    }
    return near;
}

/* Four sums side by side, put together at the end: an order that every processor can keep. */
#define LANES 4

#if defined(__GNUC__)
typedef double lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
#define FOUR_AT(x) (*(const lanes *)(x))
#endif

static inline double together(const double *lane) {
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

/* Adds the sums of u and of v to two numbers. */
FOR_TWO_KINDS
static void add_totals(const double *u, const double *v, ptrdiff_t n, double *totals) {
    double of_u[LANES] = {0.0}, of_v[LANES] = {0.0};
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    lanes four_u = {0.0}, four_v = {0.0};
    for (; i + LANES <= n; i += LANES) {
        four_u += FOUR_AT(u + i);
        four_v += FOUR_AT(v + i);
    }
    memcpy(of_u, &four_u, sizeof of_u);
    memcpy(of_v, &four_v, sizeof of_v);
#endif
    for (; i < n; i++) {
        of_u[i % LANES] += u[i];
        of_v[i % LANES] += v[i];
    }
    totals[0] += together(of_u);
    totals[1] += together(of_v);
}

/* Adds the sums of u d, u d^2 and v d, where d = x - origin, to three numbers. */
FOR_TWO_KINDS
static void add_moments(const double *x, double origin, const double *u, const double *v,
                        ptrdiff_t n, double *moments) {
    double first[LANES] = {0.0}, second[LANES] = {0.0}, product[LANES] = {0.0};
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    const lanes origins = {origin, origin, origin, origin};
    lanes four_first = {0.0}, four_second = {0.0}, four_product = {0.0};
    for (; i + LANES <= n; i += LANES) {
        lanes d = FOUR_AT(x + i) - origins, ud = FOUR_AT(u + i) * d;
        four_first += ud;
        four_second += ud * d;
        four_product += FOUR_AT(v + i) * d;
    }
    memcpy(first, &four_first, sizeof first);
    memcpy(second, &four_second, sizeof second);
    memcpy(product, &four_product, sizeof product);
#endif
    for (; i < n; i++) {
        double d = x[i] - origin, ud = u[i] * d;
        first[i % LANES] += ud;
        second[i % LANES] += ud * d;
        product[i % LANES] += v[i] * d;
    }
    moments[0] += together(first);
    moments[1] += together(second);
    moments[2] += together(product);
}

/* Adds t_0 x_0 + t_1 x_1 + ... to y, where x_k are rows of n numbers, each ``stride`` after the last.

   Four rows at a time, so that y is seldom read and written. Every matrix product of the default's
   fits is made of these: forecasts, gradients, Hessians and triangular systems. */
FOR_TWO_KINDS
static void add_weighted_rows(const double *restrict x, ptrdiff_t stride, const double *restrict t,
                              ptrdiff_t count, double *restrict y, ptrdiff_t n) {
    ptrdiff_t k = 0;
    for (; k + 4 <= count; k += 4) {
        const double *a = x + k * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        for (ptrdiff_t j = 0; j < n; j++)
            y[j] += (t[k] * a[j] + t[k + 1] * b[j]) + (t[k + 2] * c[j] + t[k + 3] * d[j]);
    }
    for (; k < count; k++)
        for (ptrdiff_t j = 0; j < n; j++) y[j] += t[k] * x[k * stride + j];
}

/* sigmoid(z) and ln(1 + exp(z)), each exact to rounding for z of any size. */
FOR_TWO_KINDS
static void sigmoid_and_softplus(const double *restrict z, double *restrict p,
                                 double *restrict softplus, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        double power = exp_of(z[i] < 0.0 ? z[i] : -z[i]);
        p[i] = (z[i] < 0.0 ? power : 1.0) / (1.0 + power);
        softplus[i] = (z[i] < 0.0 ? 0.0 : z[i]) + log_of_normal(1.0 + power);
    }
}

/* Stirling's series of ln Gamma(x), without its term (x - 1/2) ln x - x, for x >= 8. */
static inline double stirling_rest(double x) {
    double z = 1.0 / (x * x);
    double series = 1 / 1680.0 - z * (1 / 1188.0 - z * (691 / 360360.0 - z * (1 / 156.0)));
    return (1 / 12.0 - z * (1 / 360.0 - z * (1 / 1260.0 - z * series))) / x;
}

/* x (x + 1) ... (x + 7). */
static inline double rise_by_eight(double x) {
    double a = x * (x + 7.0); /* (x + k)(x + 7 - k) = a + k (7 - k) */
    return (a * (a + 6.0)) * ((a + 10.0) * (a + 12.0));
}

/* ln B(x, y) of positive numbers below 1e30: Gamma(x) = Gamma(x + 8) / (x (x + 1) ... (x + 7)).

   The error is at most about 1e-15 of x + y, or of the result. */
FOR_TWO_KINDS
static void log_beta_of_each(const double *restrict x, const double *restrict y,
                             double *restrict log_beta, ptrdiff_t n) {
    const double half_log_2_pi = 0.9189385332046727;
    for (ptrdiff_t i = 0; i < n; i++) {
        double sum = x[i] + y[i], a = x[i] + 8.0, b = y[i] + 8.0, c = sum + 8.0;
        double rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(c) - 8.0;
        double shifted = (a - 0.5) * log_of_normal(a / c) + (b - 0.5) * log_of_normal(b / c);
        shifted += 7.5 * log_of_normal(c);
        double back = log_of_normal(rise_by_eight(sum) / rise_by_eight(x[i]) / rise_by_eight(y[i]));
        log_beta[i] = shifted + half_log_2_pi + rest + back;
    }
}

#endif
