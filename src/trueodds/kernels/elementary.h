/* Exponentials and logarithms of many numbers, within one unit in the last place; bins and sums.

   The functions have no branches, so that one instruction works on two numbers, or on four if the
   processor has AVX2. Results do not depend on the processor. This is C and not Python because only
   here can a function be compiled in two versions, with and without AVX2. */

#ifndef TRUEODDS_ELEMENTARY_H
#define TRUEODDS_ELEMENTARY_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MULTIVERSIONED __attribute__((unused, target_clones("avx2", "default")))
#else
#define MULTIVERSIONED
#endif

/* ln 2 in two parts. The first ends in zeros, so its product with an integer below 2^21 is exact. */
#define LN_2_HIGH 0x1.62e42feep-1
#define LN_2_LOW 0x1.a39ef35793c76p-33
#define EXPONENT_BIAS 1023 /* of float64; the exponent begins at bit 52 */
#define CACHE_BLOCK 512    /* numbers that fit into the first-level cache */

static inline uint64_t to_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* exp(x), x clipped to [-708, 708], as 2^k exp(r) for the integer k with |r| <= ln(2)/2. */
static inline double exp_clipped(double x) {
    /* Adding 1.5 * 2^52 rounds to an integer, which is then in the last bits. */
    const double round_shift = 0x1.8p52;
    x = x < 708.0 ? x : 708.0;
    x = x > -708.0 ? x : -708.0;
    double shifted = x * 1.4426950408889634 + round_shift;
    double k = shifted - round_shift;
    double r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    /* Taylor's series to r^13, in groups of four that are independent (Estrin's scheme). */
    double square = r * r, fourth = square * square;
    double a = (1 / 2.0 + r * (1 / 6.0)) + square * (1 / 24.0 + r * (1 / 120.0));
    double b = (1 / 720.0 + r * (1 / 5040.0)) + square * (1 / 40320.0 + r * (1 / 362880.0));
    double c = (1 / 3628800.0 + r * (1 / 39916800.0))
             + square * (1 / 479001600.0 + r * (1 / 6227020800.0));
    double series = 1.0 + (r + square * (a + fourth * (b + fourth * c)));
    return series * from_bits((to_bits(shifted) + EXPONENT_BIAS) << 52);
}

/* ln x = k ln 2 + ln(1 + f) for a normal x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).

   With s = f/(2 + f), ln(1 + f) = 2 artanh(s) = f - f^2/2 + s (f^2/2 + 2 s^2/3 + 2 s^4/5 + ...). */
static inline double log_of_normal(double x) {
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, bias = (uint64_t)EXPONENT_BIAS << 52;
    uint64_t exponent = (to_bits(x) - sqrt_half + bias) >> 52;
    /* The integer as a double: its bits below those of 2^52, minus 2^52. */
    const uint64_t two_to_52 = (uint64_t)(EXPONENT_BIAS + 52) << 52;
    double k = from_bits(exponent + two_to_52) - (0x1p52 + EXPONENT_BIAS);
    double f = from_bits(to_bits(x) - (exponent << 52) + bias) - 1.0;
    double s = f / (2.0 + f);
    double z = s * s, square = z * z, fourth = square * square;
    double a = (2 / 3.0 + z * (2 / 5.0)) + square * (2 / 7.0 + z * (2 / 9.0));
    double b = (2 / 11.0 + z * (2 / 13.0)) + square * (2 / 15.0 + z * (2 / 17.0));
    double c = 2 / 19.0 + z * (2 / 21.0);
    double series = z * (a + fourth * (b + fourth * c));
    double half = 0.5 * f * f;
    return k * LN_2_HIGH + (f - (half - (s * (half + series) + k * LN_2_LOW)));
}

/* ln x of 0, subnormal, normal and infinite x. */
static inline double log_of_any(double x) {
    if (!(x > 0.0)) return -INFINITY;
    if (x > DBL_MAX) return INFINITY;
    if (x < DBL_MIN) return log_of_normal(x * 0x1p54) - 54 * (LN_2_HIGH + LN_2_LOW);
    return log_of_normal(x);
}

MULTIVERSIONED
static void exp_array(double *x, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) x[i] = exp_clipped(x[i]);
}

MULTIVERSIONED
static void log_array(double *x, ptrdiff_t n) {
    double n_special = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) n_special += x[i] >= DBL_MIN && x[i] <= DBL_MAX ? 0.0 : 1.0;
    if (n_special > 0.0) {
        for (ptrdiff_t i = 0; i < n; i++) x[i] = log_of_any(x[i]);
    } else {
        for (ptrdiff_t i = 0; i < n; i++) x[i] = log_of_normal(x[i]);
    }
}

/* ln(p/(1 - p)). The odds are exact to rounding for every p in [0, 1], so one logarithm suffices. */
MULTIVERSIONED
static void log_odds_array(const double *p, double *z, ptrdiff_t n) {
    for (ptrdiff_t begin = 0; begin < n; begin += CACHE_BLOCK) {
        ptrdiff_t end = begin + CACHE_BLOCK < n ? begin + CACHE_BLOCK : n;
        double n_special = 0.0;
        for (ptrdiff_t i = begin; i < end; i++) {
            double odds = p[i] < 1.0 ? p[i] / (1.0 - p[i]) : INFINITY;
            n_special += odds >= DBL_MIN && odds <= DBL_MAX ? 0.0 : 1.0;
            z[i] = odds;
        }
        if (n_special > 0.0) {
            for (ptrdiff_t i = begin; i < end; i++) z[i] = log_of_any(z[i]);
        } else {
            for (ptrdiff_t i = begin; i < end; i++) z[i] = log_of_normal(z[i]);
        }
    }
}

/* 1/(1 + exp(-z)), never exactly 0 or 1. */
MULTIVERSIONED
static void sigmoid_array(double *z, ptrdiff_t n) {
    const double below_one = 1.0 - 0x1p-53;
    for (ptrdiff_t i = 0; i < n; i++) {
        double p = 1.0 / (1.0 + exp_clipped(-z[i]));
        z[i] = p < below_one ? p : below_one;
    }
}

/* Writes floor(x n_bins) for x in [0, 1]. Returns whether some x is so near to an edge of a bin that
   rounding may have put it on the wrong side. */
MULTIVERSIONED
static int bin_array(const double *x, double n_bins, int *bin, ptrdiff_t n) {
    const double edge_tolerance = 1e-9;
    int is_near_edge = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double scaled = x[i] * n_bins;
        bin[i] = (int)scaled;
        double fraction = scaled - bin[i];
        is_near_edge |= (fraction < edge_tolerance) | (fraction > 1.0 - edge_tolerance);
    }
    return is_near_edge;
}

/* Sums are accumulated in four lanes and added at the end: the same order on every processor. */
#define LANES 4

#if defined(__GNUC__)
typedef double lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
#define LANES_AT(x) (*(const lanes *)(x))
#endif

static inline double sum_lanes(const double *lane) {
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

/* Adds sum(u) and sum(v) to totals[0] and totals[1]. */
MULTIVERSIONED
static void add_totals(const double *u, const double *v, ptrdiff_t n, double *totals) {
    double sum_u[LANES] = {0.0}, sum_v[LANES] = {0.0};
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    lanes lanes_u = {0.0}, lanes_v = {0.0};
    for (; i + LANES <= n; i += LANES) {
        lanes_u += LANES_AT(u + i);
        lanes_v += LANES_AT(v + i);
    }
    memcpy(sum_u, &lanes_u, sizeof sum_u);
    memcpy(sum_v, &lanes_v, sizeof sum_v);
#endif
    for (; i < n; i++) {
        sum_u[i % LANES] += u[i];
        sum_v[i % LANES] += v[i];
    }
    totals[0] += sum_lanes(sum_u);
    totals[1] += sum_lanes(sum_v);
}

/* Adds sum(u d), sum(u d^2) and sum(v d), where d = x - origin, to moments[0], [1] and [2]. */
MULTIVERSIONED
static void add_moments(const double *x, double origin, const double *u, const double *v,
                        ptrdiff_t n, double *moments) {
    double first[LANES] = {0.0}, second[LANES] = {0.0}, product[LANES] = {0.0};
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    const lanes origins = {origin, origin, origin, origin};
    lanes lanes_first = {0.0}, lanes_second = {0.0}, lanes_product = {0.0};
    for (; i + LANES <= n; i += LANES) {
        lanes d = LANES_AT(x + i) - origins, ud = LANES_AT(u + i) * d;
        lanes_first += ud;
        lanes_second += ud * d;
        lanes_product += LANES_AT(v + i) * d;
    }
    memcpy(first, &lanes_first, sizeof first);
    memcpy(second, &lanes_second, sizeof second);
    memcpy(product, &lanes_product, sizeof product);
#endif
    for (; i < n; i++) {
        double d = x[i] - origin, ud = u[i] * d;
        first[i % LANES] += ud;
        second[i % LANES] += ud * d;
        product[i % LANES] += v[i] * d;
    }
    moments[0] += sum_lanes(first);
    moments[1] += sum_lanes(second);
    moments[2] += sum_lanes(product);
}

/* y += t_0 x_0 + t_1 x_1 + ..., where x_k is a row of n numbers that begins at x + k stride.

   Four rows are added at a time, so that y is read and written less often. All matrix products of
   the default's fits use it: linear predictors, gradients, Hessians and triangular systems. */
MULTIVERSIONED
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
MULTIVERSIONED
static void sigmoid_and_softplus(const double *restrict z, double *restrict p,
                                 double *restrict softplus, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        double exp_minus_abs = exp_clipped(z[i] < 0.0 ? z[i] : -z[i]);
        p[i] = (z[i] < 0.0 ? exp_minus_abs : 1.0) / (1.0 + exp_minus_abs);
        softplus[i] = (z[i] < 0.0 ? 0.0 : z[i]) + log_of_normal(1.0 + exp_minus_abs);
    }
}

/* Stirling's series, ln Gamma(x) - ((x - 1/2) ln x - x + ln(2 pi)/2), for x >= 8. */
static inline double stirling_series(double x) {
    double z = 1.0 / (x * x);
    double series = 1 / 1680.0 - z * (1 / 1188.0 - z * (691 / 360360.0 - z * (1 / 156.0)));
    return (1 / 12.0 - z * (1 / 360.0 - z * (1 / 1260.0 - z * series))) / x;
}

/* x (x + 1) ... (x + 7). */
static inline double rising_factorial_8(double x) {
    double a = x * (x + 7.0); /* (x + k)(x + 7 - k) = a + k (7 - k) */
    return (a * (a + 6.0)) * ((a + 10.0) * (a + 12.0));
}

/* ln B(x, y) of positive numbers below 1e30, from Gamma(x) = Gamma(x + 8) / (x (x + 1) ... (x + 7)).

   The error is at most about 1e-15 times x + y, or times the result. */
MULTIVERSIONED
static void log_beta_array(const double *restrict x, const double *restrict y,
                             double *restrict log_beta, ptrdiff_t n) {
    const double half_log_2_pi = 0.9189385332046727;
    for (ptrdiff_t i = 0; i < n; i++) {
        double sum = x[i] + y[i], a = x[i] + 8.0, b = y[i] + 8.0, c = sum + 8.0;
        double series = stirling_series(a) + stirling_series(b) - stirling_series(c) - 8.0;
        double shifted = (a - 0.5) * log_of_normal(a / c) + (b - 0.5) * log_of_normal(b / c);
        shifted += 7.5 * log_of_normal(c);
        double ratio = rising_factorial_8(sum) / rising_factorial_8(x[i]) / rising_factorial_8(y[i]);
        log_beta[i] = shifted + half_log_2_pi + series + log_of_normal(ratio);
    }
}

#endif
