/* SPDX-License-Identifier: MIT */
/*
 * BBR v1's model of the path: numerically identical to crates/engine/congestion/src/bbr/, which explains it.
 * Bandwidths are packets per microsecond << 24, gains 1/256, times microseconds unless another
 * unit is named.
 *
 * | Rust | here |
 * |---|---|
 * | jiffies of 4 ms | ticks of 4 ms of tcp_mstamp, whatever the kernel's HZ |
 * | 64-bit counters of packets | the kernel's 32 bits, which wrap |
 * | phases drawn from a named stream | drawn from the kernel's generator |
 */
#ifndef LONGFAT_BBR_MODEL_H
#define LONGFAT_BBR_MODEL_H

#include "kernel.h"

#define BW_SCALE 24
#define BW_UNIT (1ULL << BW_SCALE)
#define GAIN_SCALE 8
#define UNIT (1U << GAIN_SCALE)
#define HIGH_GAIN (UNIT * 2885 / 1000 + 1)
#define DRAIN_GAIN (UNIT * 1000 / 2885)
#define CWND_GAIN (UNIT * 2)
#define PHASES 8 /* of PROBE_BW: up, down, then six at gain 1 */
#define CYCLE_RAND 7
#define BW_ROUNDS 10
#define PACING_MARGIN_PERCENT 1
#define MIN_TSO_RATE (1200000 / 8)
#define FULL_BW_THRESH (UNIT * 5 / 4)
#define FULL_BW_CNT 3
#define CWND_MIN 4
#define MAX_BURST (65536 - 1 - 192) /* bytes of payload in one burst */
#define MAX_BURST_SEGS 127

#define TICK 4000
#define MIN_RTT_WINDOW (10 * 250) /* ticks */
#define PROBE_RTT_TIME (250 / 5)

#define EXTRA_ROUNDS 5
#define EPOCH_ACKED_MAX 0xFFFFFU
#define EPOCH_RESET (1U << 20)
#define EXTRA_MAX_US 100000

#define LT_MIN_ROUNDS 4
#define LT_LOSS_THRESH 50
#define LT_BW_RATIO (UNIT / 8)
#define LT_BW_DIFF (4000 / 8)
#define LT_MAX_ROUNDS 48

enum mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

struct sample {
    __u32 at, value;
};

/* The state of a connection. 48-bit times overflow after nine years. */
struct state {
    __u64 cycle_start : 48, pacing_gain : 10, mode : 2, cycle : 3, round_start : 1;
    __u64 epoch : 48, lt_rounds : 6, lt_use_bw : 1, lt_sampling : 1, prev_state : 3, half : 1, half_rounds : 3,
        idle_restart : 1;
    __u64 average : 42 /* RTT_avg, 1/1024 µs */, has_average : 1, handover : 1, calm : 2, has_min_rtt : 1,
        probe_rtt_timed : 1, probe_rtt_round_done : 1, full_bw_reached : 1, full_rounds : 2, has_seen_rtt : 1,
        packet_conservation : 1;
    struct sample best[3]; /* BtlBw: the maximum and the next two candidates */
    __u32 rounds, next_rtt_delivered;
    __u32 lt_bw, lt_delivered, lt_lost, lt_stamp_ms;
    __u32 acked; /* packets acknowledged in the aggregation epoch */
    __u16 extra[2];
    __u32 min_rtt, min_rtt_stamp /* ticks */, probe_rtt_done /* ticks */;
    __u32 full_bw;
    __u32 prior_cwnd;
    __u32 held; /* BtlBw at the start of the handover */
};
FITS(struct state);

INLINE __u32 ticks(const struct tcp_sock *tp)
{
    return tp->tcp_mstamp / TICK;
}

INLINE __u32 max_bw(const struct state *s)
{
    return s->best[0].value;
}

/* The rate of a policer, if one was detected, otherwise BtlBw. */
INLINE __u32 bandwidth(const struct state *s)
{
    return s->lt_use_bw ? s->lt_bw : max_bw(s);
}

/* ---- BtlBw --------------------------------------------------------------------------------- */

INLINE void take_bw(struct state *s, __u32 value)
{
    struct sample new = { s->rounds, value }, *b = s->best;

    if (value >= b[0].value || new.at - b[2].at > BW_ROUNDS) {
        b[0] = b[1] = b[2] = new;
        return;
    }
    if (value >= b[1].value)
        b[1] = b[2] = new;
    else if (value >= b[2].value)
        b[2] = new;

    __u32 age = new.at - b[0].at;
    if (age > BW_ROUNDS) {
        b[0] = b[1];
        b[1] = b[2];
        b[2] = new;
        if (new.at - b[0].at > BW_ROUNDS) {
            b[0] = b[1];
            b[1] = b[2];
        }
    } else if (b[1].at == b[0].at && age > BW_ROUNDS / 4) {
        b[1] = b[2] = new;
    } else if (b[2].at == b[1].at && age > BW_ROUNDS / 2) {
        b[2] = new;
    }
}

/* ---- pacing -------------------------------------------------------------------------------- */

INLINE __u64 bytes_per_sec(const struct tcp_sock *tp, __u32 bw, __u32 gain)
{
    __u64 rate = ((__u64)bw * tp->mss_cache * gain) >> GAIN_SCALE;
    return (rate * (1000000 / 100 * (100 - PACING_MARGIN_PERCENT))) >> BW_SCALE;
}

INLINE __u64 pacing_rate(const struct sock *sk, __u32 bw, __u32 gain)
{
    return min(bytes_per_sec(tcp_sk(sk), bw, gain), (__u64)sk->sk_max_pacing_rate);
}

INLINE void init_pacing_rate(struct sock *sk, struct state *s)
{
    const struct tcp_sock *tp = tcp_sk(sk);
    __u32 rtt = 1000;

    if (tp->srtt_us) {
        rtt = max(tp->srtt_us >> 3, 1U);
        s->has_seen_rtt = 1;
    }
    sk->sk_pacing_rate = pacing_rate(sk, tp->snd_cwnd * BW_UNIT / rtt, HIGH_GAIN);
}

INLINE void set_pacing_rate(struct sock *sk, struct state *s, __u32 bw, __u32 gain)
{
    __u64 rate = pacing_rate(sk, bw, gain);

    if (!s->has_seen_rtt && tcp_sk(sk)->srtt_us)
        init_pacing_rate(sk, s);
    if (s->full_bw_reached || rate > sk->sk_pacing_rate)
        sk->sk_pacing_rate = rate;
}

INLINE __u32 min_burst_segs(const struct sock *sk)
{
    return sk->sk_pacing_rate < MIN_TSO_RATE ? 1 : 2;
}

INLINE __u32 burst_segs(const struct sock *sk)
{
    __u8 shift = sk->sk_pacing_shift;
    __u64 bytes = shift < 64 ? sk->sk_pacing_rate >> shift : 0;
    __u64 segs = min(bytes, (__u64)MAX_BURST) / max(tcp_sk(sk)->mss_cache, 1U);

    return min(max(segs, (__u64)min_burst_segs(sk)), (__u64)MAX_BURST_SEGS);
}

/* ---- inflight targets ---------------------------------------------------------------------- */

INLINE __u32 bdp(const struct state *s, __u32 bw, __u32 rtt, __u32 gain)
{
    if (!s->has_min_rtt)
        return TCP_INIT_CWND;
    return ((((__u64)bw * rtt * gain) >> GAIN_SCALE) + BW_UNIT - 1) / BW_UNIT;
}

INLINE __u32 with_bursts(const struct sock *sk, const struct state *s, __u32 packets)
{
    packets = (packets + 3 * burst_segs(sk) + 1) & ~1U;
    return s->mode == PROBE_BW && s->cycle == 0 ? packets + 2 : packets;
}

/* DRAIN and the phases of PROBE_BW compare inflight with the BDP at RTprop. */
INLINE __u32 inflight_target(const struct sock *sk, const struct state *s, __u32 gain)
{
    return with_bursts(sk, s, bdp(s, max_bw(s), s->min_rtt, gain));
}

/* Packets in the network when the next one departs. */
INLINE __u32 in_net_at_departure(const struct sock *sk, const struct state *s, __u32 inflight)
{
    const struct tcp_sock *tp = tcp_sk(sk);
    __u64 now = tp->tcp_clock_cache, departure = tp->tcp_wstamp_ns;
    __u64 wait_us = departure > now ? (departure - now) / 1000 : 0;
    __u32 delivered = (bandwidth(s) * wait_us) >> BW_SCALE;

    if (s->pacing_gain > UNIT)
        inflight += burst_segs(sk);
    return inflight > delivered ? inflight - delivered : 0;
}

#ifdef HOST
void host_probe(const struct sock *sk, struct host_probe *p)
{
    static const char *const states[] = { "STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT" };
    const struct state *s = ca_priv(sk);

    *p = (struct host_probe){
        .state = states[s->mode],
        .btl_bw = ((__u64)bandwidth(s) * tcp_sk(sk)->mss_cache * 1000000) >> BW_SCALE,
        .rt_prop_us = s->has_min_rtt ? s->min_rtt : ~0ULL,
        .pacing_gain = s->pacing_gain,
        .round = s->rounds,
    };
}
#endif

#endif
