/* SPDX-License-Identifier: MIT */
/*
 * Compound TCP: Reno's window plus a delay window; the kernel's snd_cwnd is their sum.
 * crates/engine/congestion/src/compound.rs describes the model, its sources and its departures; tests
 * compare every decision with it.
 */
#include "kernel.h"

#define LOW_WINDOW 38u /* up to this window, packets, all of it is Reno's */
#define SHIFT 8        /* dwnd, gamma and backlogs are in 1/256 packet */
#define GAMMA_LOW (5u << SHIFT)
#define GAMMA_HIGH (30u << SHIFT)
#define WINDOW_MAX (1u << 23)
#define NONE 0xffffffffu /* no value yet */

struct compound {
    __u32 cwnd; /* Reno's part at the last update, packets */
    __u32 dwnd; /* the delay window, 1/256 packet */
    __u32 prior_dwnd;
    __u32 gamma;
    __u32 diff_reno; /* backlog of Reno's part at the end of the last round */
    __u32 base_rtt;  /* microseconds */
    __u32 left;      /* packets still to be acknowledged in this round */
};
FITS(struct compound);

INLINE __u32 delay_window(const struct compound *c)
{
    return c->dwnd >> SHIFT;
}

/* Adopts a window that other code has changed: a reduction is taken from dwnd first. */
INLINE void take_over(struct compound *c, __u32 window)
{
    __u32 room = window - min(c->cwnd, window);

    if (delay_window(c) > room)
        c->dwnd = room << SHIFT;
    c->cwnd = window - delay_window(c);
}

/* Makes the whole window Reno's. */
INLINE void fold(struct compound *c, __u32 window)
{
    c->cwnd = window;
    c->dwnd = 0;
}

/* Queued packets of the window, in 1/256. */
INLINE __u32 backlog(__u32 window, __u32 base, __u32 srtt)
{
    __u64 waiting = srtt > base ? srtt - base : 0;
    __u64 packets = (__u64)min(window, WINDOW_MAX) << SHIFT;

    return srtt ? packets * waiting / srtt : 0;
}

/*
 * The integer square root of `square` < 2^48, by Newton's method from above: each step at least halves
 * the distance, so 32 steps end at the root or one above it. No branch depends on a value, which keeps
 * the verifier's work small.
 */
INLINE __u64 root_of(__u64 square)
{
    __u64 root = 1ull << 24;
    int i;

    if (square == 0)
        return 0;
    for (i = 0; i < 32; i++)
        root = (root + square / root) / 2;
    return root * root > square ? root - 1 : root;
}

/* Growth per round without a queue: window^(3/4) / 8 - 1, in 1/256 packet. */
INLINE __u32 growth(__u32 window)
{
    __u64 size = min(window, WINDOW_MAX);
    __u32 power = root_of(4 * size * root_of(size << 16));

    return power > (1u << SHIFT) ? power - (1u << SHIFT) : 0;
}

INLINE void end_round(struct compound *c, struct tcp_sock *tp)
{
    __u32 srtt = tp->srtt_us >> 3, base = c->base_rtt, window = tp->snd_cwnd, diff;

    if (base == NONE || srtt == 0)
        return;
    c->diff_reno = backlog(c->cwnd, base, srtt);
    if (window <= LOW_WINDOW) {
        fold(c, window);
        return;
    }
    diff = backlog(window, base, srtt);
    if (diff < c->gamma)
        c->dwnd = min(c->dwnd + growth(window), WINDOW_MAX << SHIFT);
    else
        c->dwnd = c->dwnd > diff ? c->dwnd - diff : 0;
    window = min((__u64)c->cwnd + delay_window(c), (__u64)tp->snd_cwnd_clamp);
    tp->snd_cwnd = window;
    take_over(c, window);
}

INLINE void tune_gamma(struct compound *c)
{
    __u64 sample, gamma;

    if (c->diff_reno == NONE)
        return;
    sample = 3 * (__u64)c->diff_reno / 4;
    gamma = (3 * (__u64)c->gamma + sample) / 4;
    c->gamma = min(max(gamma, (__u64)GAMMA_LOW), (__u64)GAMMA_HIGH);
    c->diff_reno = NONE;
}

OPERATION(void, init)
{
    struct sock *sk = SOCK;
    struct compound *c = ca_priv(sk);

    fold(c, tcp_sk(sk)->snd_cwnd);
    c->prior_dwnd = 0;
    c->gamma = GAMMA_HIGH;
    c->diff_reno = NONE;
    c->base_rtt = NONE;
    c->left = tcp_sk(sk)->snd_cwnd;
}

OPERATION(__u32, ssthresh)
{
    struct sock *sk = SOCK;
    struct compound *c = ca_priv(sk);
    __u32 window = tcp_sk(sk)->snd_cwnd, half, dwnd;

    take_over(c, window);
    tune_gamma(c);
    c->prior_dwnd = c->dwnd;
    half = max(window / 2, 2u);
    dwnd = window / 2 - c->cwnd / 2;
    c->dwnd = dwnd << SHIFT;
    c->cwnd = half - dwnd;
    return half;
}

OPERATION(void, cong_avoid)
{
    struct sock *sk = SOCK;
    __u32 acked = ARGUMENT(__u32, 2);
    struct tcp_sock *tp = tcp_sk(sk);
    struct compound *c = ca_priv(sk);

    if (!tcp_is_cwnd_limited(tp))
        return;
    if (tcp_in_slow_start(tp)) {
        acked = tcp_slow_start(tp, acked);
        fold(c, tp->snd_cwnd);
        c->left = tp->snd_cwnd;
    } else {
        take_over(c, tp->snd_cwnd);
    }
    if (acked == 0)
        return;
    tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
    c->cwnd = tp->snd_cwnd - delay_window(c);
    if (ca_state(sk) >= TCP_CA_Recovery)
        return;
    if (acked < c->left) {
        c->left -= acked;
        return;
    }
    end_round(c, tp);
    c->left = tp->snd_cwnd;
}

OPERATION(__u32, undo_cwnd)
{
    struct sock *sk = SOCK;
    struct compound *c = ca_priv(sk);
    __u32 window = tcp_reno_undo_cwnd(sk);

    c->dwnd = c->prior_dwnd;
    c->cwnd = window > delay_window(c) ? window - delay_window(c) : 0;
    take_over(c, window);
    return window;
}

OPERATION(void, pkts_acked)
{
    struct sock *sk = SOCK;
    const struct ack_sample *sample = ARGUMENT(const struct ack_sample *, 1);
    struct compound *c = ca_priv(sk);
    __s32 rtt_us = sample->rtt_us;

    if (rtt_us > 0 && ca_state(sk) < TCP_CA_Recovery)
        c->base_rtt = min(c->base_rtt, (__u32)rtt_us);
}

OPERATION(void, set_state)
{
    struct sock *sk = SOCK;
    __u32 state = ARGUMENT(__u8, 1);
    struct compound *c = ca_priv(sk);

    if (state == TCP_CA_Loss) {
        fold(c, tcp_sk(sk)->snd_cwnd);
        c->base_rtt = NONE;
    } else if (state < TCP_CA_CWR && ca_state(sk) >= TCP_CA_CWR) {
        c->left = tcp_sk(sk)->snd_cwnd;
    }
}

CONGESTION_CONTROL = {
    .name = "compound",
    .init = (void *)init,
    .ssthresh = (void *)ssthresh,
    .cong_avoid = (void *)cong_avoid,
    .undo_cwnd = (void *)undo_cwnd,
    .pkts_acked = (void *)pkts_acked,
    .set_state = (void *)set_state,
};
