/* SPDX-License-Identifier: MIT */
/*
 * BBR-HSR: BBR v1 for high-speed mobile networks. What it does and why, its sources and departures:
 * crates/congestion/src/hsr/ (the extension) and src/bbr/ (all else); this is the same model, number
 * by number, for the live kernel. Bandwidths are packets per microsecond << 24, gains 1/256, times
 * microseconds where no other unit is named.
 *
 * | Rust | here |
 * |---|---|
 * | jiffies of 4 ms | ticks of 4 ms of tcp_mstamp, whatever the kernel's HZ |
 * | 64-bit counters of packets | the kernel's 32 bits, which wrap |
 * | phases drawn from a named stream | from the kernel's generator |
 */
#include "kernel.h"

PARAMETER(__u32, hsr_alpha, 128);        /* weight of the newest RTT, 1/1024 */
PARAMETER(__u32, hsr_T_us, 50000);       /* the most RTT_est may be; ~0: no bound */
PARAMETER(__u32, hsr_T1_us, 1000000);    /* an RTT above begins a handover; ~0: never */
PARAMETER(__u32, hsr_T2_us, 80000);      /* three RTTs below end it */
PARAMETER(__u64, hsr_bw_rec, 0);         /* bandwidth afterwards, bytes of payload per second; 0: that of before */

#define FRACTION 10 /* alpha and RTT_avg have 1/1024 */
#define CALM_SAMPLES 3

#define BW_SCALE 24
#define BW_UNIT (1ULL << BW_SCALE)
#define GAIN_SCALE 8
#define UNIT (1U << GAIN_SCALE)
#define HIGH_GAIN (UNIT * 2885 / 1000 + 1)
#define DRAIN_GAIN (UNIT * 1000 / 2885)
#define CWND_GAIN (UNIT * 2)
#define PHASES 8 /* of PROBE_BW: up, down, six times level */
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

/* All that is remembered of a connection. Times of 48 bits last for nine years. */
struct state {
    __u64 cycle_start : 48, pacing_gain : 10, mode : 2, cycle : 3, round_start : 1;
    __u64 epoch : 48, lt_rounds : 6, lt_use_bw : 1, lt_sampling : 1, prev_state : 3, half : 1, half_rounds : 3,
        idle_restart : 1;
    __u64 average : 42 /* RTT_avg, 1/1024 µs */, has_average : 1, handover : 1, calm : 2, has_min_rtt : 1,
        probe_rtt_timed : 1, probe_rtt_round_done : 1, full_bw_reached : 1, full_rounds : 2, has_seen_rtt : 1,
        packet_conservation : 1;
    struct sample best[3]; /* BtlBw: the maximum and two that may succeed it */
    __u32 rounds, next_rtt_delivered;
    __u32 lt_bw, lt_delivered, lt_lost, lt_stamp_ms;
    __u32 acked; /* packets of the epoch of aggregation */
    __u16 extra[2];
    __u32 min_rtt, min_rtt_stamp /* ticks */, probe_rtt_done /* ticks */;
    __u32 full_bw;
    __u32 prior_cwnd;
    __u32 held; /* BtlBw when the handover began */
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

/* A policer's rate, if one was found. */
INLINE __u32 bandwidth(const struct state *s)
{
    return s->lt_use_bw ? s->lt_bw : max_bw(s);
}

/* ---- RTT_est, and the return to the old bandwidth ------------------------------------------- */

INLINE __u32 window_rtt(const struct state *s)
{
    __u64 average = s->has_average ? s->average >> FRACTION : 0;
    return max((__u32)min(average, (__u64)hsr_T_us), s->min_rtt);
}

/* Takes in an RTT; `btl_bw` was in force before its ACK. True when a handover is over. */
INLINE bool handover_ends(struct state *s, __u32 rtt, __u32 btl_bw)
{
    __u64 newest = (__u64)rtt << FRACTION, alpha = hsr_alpha;

    s->average = s->has_average ? (((1 << FRACTION) - alpha) * s->average + alpha * newest) >> FRACTION : newest;
    s->has_average = 1;
    if (rtt > hsr_T1_us) {
        if (!s->handover)
            s->held = btl_bw;
        s->handover = 1;
        s->calm = 0;
        return false;
    }
    if (!s->handover)
        return false;
    s->calm = rtt < hsr_T2_us ? s->calm + 1 : 0;
    if (s->calm < CALM_SAMPLES)
        return false;
    s->handover = 0;
    return true;
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

INLINE void return_to_bw(struct state *s, const struct tcp_sock *tp, long rtt_us, __u32 btl_bw)
{
    if (rtt_us < 0 || !handover_ends(s, min((__u64)rtt_us, 0xFFFFFFFFULL), btl_bw))
        return;
    __u64 bw = s->held;
    if (hsr_bw_rec)
        bw = min((hsr_bw_rec << BW_SCALE) / (max(tp->mss_cache, 1U) * 1000000ULL), 0xFFFFFFFFULL);
    if (bw > max_bw(s))
        take_bw(s, bw);
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

/* ---- what may be in flight ----------------------------------------------------------------- */

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

/* DRAIN and PROBE_BW's phases compare with RTprop's BDP. */
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

/* ---- PROBE_BW ------------------------------------------------------------------------------ */

INLINE void next_phase(struct state *s, const struct tcp_sock *tp)
{
    s->cycle = (s->cycle + 1) % PHASES;
    s->cycle_start = tp->delivered_mstamp;
}

INLINE void enter_probe_bw(struct state *s, const struct tcp_sock *tp)
{
    s->mode = PROBE_BW;
    s->cycle = PHASES - 1 - bpf_get_prandom_u32() % CYCLE_RAND;
    next_phase(s, tp);
}

INLINE bool phase_is_over(const struct sock *sk, const struct state *s, const struct rate_sample *rs)
{
    const struct tcp_sock *tp = tcp_sk(sk);
    __u64 start = s->cycle_start, end = tp->delivered_mstamp;
    __u32 min_rtt = s->has_min_rtt ? s->min_rtt : ~0U;
    bool full_length = end > start && end - start > min_rtt;

    if (s->pacing_gain == UNIT)
        return full_length;
    __u32 inflight = in_net_at_departure(sk, s, rs->prior_in_flight);
    if (s->pacing_gain > UNIT)
        return full_length && (rs->losses > 0 || inflight >= inflight_target(sk, s, s->pacing_gain));
    return full_length || inflight <= inflight_target(sk, s, UNIT);
}

INLINE __u32 cycle_gain(const struct state *s)
{
    if (s->lt_use_bw || s->cycle > 1)
        return UNIT;
    return s->cycle == 0 ? UNIT * 5 / 4 : UNIT * 3 / 4;
}

/* ---- a policer's rate ---------------------------------------------------------------------- */

INLINE __u32 delivered_ms(const struct tcp_sock *tp)
{
    return tp->delivered_mstamp / 1000;
}

INLINE void lt_start_interval(struct state *s, const struct tcp_sock *tp)
{
    s->lt_stamp_ms = delivered_ms(tp);
    s->lt_delivered = tp->delivered;
    s->lt_lost = tp->lost;
    s->lt_rounds = 0;
}

INLINE void lt_reset(struct state *s, const struct tcp_sock *tp)
{
    s->lt_bw = 0;
    s->lt_use_bw = 0;
    s->lt_sampling = 0;
    lt_start_interval(s, tp);
}

INLINE void lt_end_interval(struct state *s, const struct tcp_sock *tp, __u32 bw)
{
    __u32 last = s->lt_bw;

    if (last) {
        __u32 diff = (__s32)(bw - last) < 0 ? last - bw : bw - last;
        if (diff * UNIT <= LT_BW_RATIO * last || bytes_per_sec(tp, diff, UNIT) <= LT_BW_DIFF) {
            s->lt_bw = (bw + last) >> 1;
            s->lt_use_bw = 1;
            s->lt_rounds = 0;
            s->pacing_gain = UNIT;
            return;
        }
    }
    s->lt_bw = bw;
    lt_start_interval(s, tp);
}

static __attribute__((noinline)) void lt_sample(struct state *s, const struct tcp_sock *tp, int losses, bool app_limited)
{
    if (s->lt_use_bw) {
        if (s->mode == PROBE_BW && s->round_start && s->lt_rounds++ + 1 >= LT_MAX_ROUNDS) {
            lt_reset(s, tp);
            enter_probe_bw(s, tp);
        }
        return;
    }
    if (!s->lt_sampling) {
        if (losses <= 0)
            return;
        lt_start_interval(s, tp);
        s->lt_sampling = 1;
    }
    if (app_limited) {
        lt_reset(s, tp);
        return;
    }
    s->lt_rounds += s->round_start;
    if (s->lt_rounds < LT_MIN_ROUNDS)
        return;
    if (s->lt_rounds > 4 * LT_MIN_ROUNDS) {
        lt_reset(s, tp);
        return;
    }
    if (losses <= 0)
        return;
    __u32 lost = tp->lost - s->lt_lost, delivered = tp->delivered - s->lt_delivered;
    if (!delivered || lost << GAIN_SCALE < LT_LOSS_THRESH * delivered)
        return;
    __u32 ms = delivered_ms(tp) - s->lt_stamp_ms;
    if ((__s32)ms < 1)
        return;
    if (ms >= ~0U / 1000) {
        lt_reset(s, tp);
        return;
    }
    lt_end_interval(s, tp, delivered * BW_UNIT / (ms * 1000ULL));
}

/* ---- the model, ACK by ACK ----------------------------------------------------------------- */

INLINE bool valid(const struct rate_sample *rs)
{
    return rs->delivered >= 0 && rs->interval_us > 0;
}

INLINE void update_bw(struct state *s, const struct tcp_sock *tp, const struct rate_sample *rs)
{
    s->round_start = 0;
    if (!valid(rs))
        return;
    if (!before(rs->prior_delivered, s->next_rtt_delivered)) {
        s->next_rtt_delivered = tp->delivered;
        s->rounds++;
        s->round_start = 1;
        s->packet_conservation = 0;
    }
    lt_sample(s, tp, rs->losses, rs->is_app_limited);
    __u64 bw = (__u64)rs->delivered * BW_UNIT / (__u64)rs->interval_us;
    if (!rs->is_app_limited || bw >= max_bw(s))
        take_bw(s, bw);
}

/* Packets acknowledged at once beyond what the bandwidth explains. */
INLINE void update_aggregation(struct state *s, const struct tcp_sock *tp, const struct rate_sample *rs)
{
    __u64 now = tp->delivered_mstamp, epoch = s->epoch;

    if (!rs->acked_sacked || !valid(rs))
        return;
    if (s->round_start) {
        s->half_rounds++;
        if (s->half_rounds >= EXTRA_ROUNDS) {
            s->half_rounds = 0;
            s->half = !s->half;
            if (s->half)
                s->extra[1] = 0;
            else
                s->extra[0] = 0;
        }
    }
    __u32 expected = (__u64)bandwidth(s) * (now > epoch ? now - epoch : 0) / BW_UNIT;
    __u64 acked = (__u64)s->acked + rs->acked_sacked;
    if (s->acked <= expected || acked >= EPOCH_RESET) {
        s->epoch = now;
        acked = rs->acked_sacked;
        expected = 0;
    }
    s->acked = min(acked, (__u64)EPOCH_ACKED_MAX);
    __u32 extra = min(s->acked - expected, tp->snd_cwnd);
    if (s->half) {
        if (extra > s->extra[1])
            s->extra[1] = extra;
    } else if (extra > s->extra[0]) {
        s->extra[0] = extra;
    }
}

INLINE __u32 aggregation_cwnd(const struct state *s)
{
    if (!s->full_bw_reached)
        return 0;
    __u32 most = (__u64)bandwidth(s) * EXTRA_MAX_US / BW_UNIT;
    return min((__u32)max(s->extra[0], s->extra[1]), most);
}

INLINE void check_full_pipe(struct state *s, const struct rate_sample *rs)
{
    if (s->full_bw_reached || !s->round_start || rs->is_app_limited)
        return;
    if (max_bw(s) >= (__u32)(((__u64)s->full_bw * FULL_BW_THRESH) >> GAIN_SCALE)) {
        s->full_bw = max_bw(s);
        s->full_rounds = 0;
        return;
    }
    s->full_rounds++;
    s->full_bw_reached = s->full_rounds >= FULL_BW_CNT;
}

INLINE void check_drain(struct sock *sk, struct state *s)
{
    struct tcp_sock *tp = tcp_sk(sk);

    if (s->mode == STARTUP && s->full_bw_reached) {
        s->mode = DRAIN;
        tp->snd_ssthresh = inflight_target(sk, s, UNIT);
    }
    if (s->mode == DRAIN
        && in_net_at_departure(sk, s, tcp_packets_in_flight(tp)) <= inflight_target(sk, s, UNIT))
        enter_probe_bw(s, tp);
}

INLINE void save_cwnd(struct state *s, const struct tcp_sock *tp)
{
    bool whole = s->prev_state < TCP_CA_Recovery && s->mode != PROBE_RTT;
    s->prior_cwnd = whole ? tp->snd_cwnd : max(s->prior_cwnd, tp->snd_cwnd);
}

INLINE void check_probe_rtt_done(struct state *s, struct tcp_sock *tp)
{
    if (!s->probe_rtt_timed || !before(s->probe_rtt_done, ticks(tp)))
        return;
    s->min_rtt_stamp = ticks(tp);
    tp->snd_cwnd = max(tp->snd_cwnd, s->prior_cwnd);
    if (s->full_bw_reached)
        enter_probe_bw(s, tp);
    else
        s->mode = STARTUP;
}

INLINE void count_as_app_limited(struct tcp_sock *tp)
{
    tp->app_limited = max(tp->delivered + tcp_packets_in_flight(tp), 1U);
}

INLINE void hold_probe_rtt(struct state *s, struct tcp_sock *tp)
{
    count_as_app_limited(tp);
    if (!s->probe_rtt_timed) {
        if (tcp_packets_in_flight(tp) <= CWND_MIN) {
            s->probe_rtt_timed = 1;
            s->probe_rtt_done = ticks(tp) + PROBE_RTT_TIME;
            s->probe_rtt_round_done = 0;
            s->next_rtt_delivered = tp->delivered;
        }
        return;
    }
    s->probe_rtt_round_done |= s->round_start;
    if (s->probe_rtt_round_done)
        check_probe_rtt_done(s, tp);
}

INLINE void update_min_rtt(struct state *s, struct tcp_sock *tp, const struct rate_sample *rs)
{
    __u32 now = ticks(tp);
    bool expired = before(s->min_rtt_stamp + MIN_RTT_WINDOW, now);

    if (rs->rtt_us >= 0) {
        __u32 rtt = min((__u64)rs->rtt_us, 0xFFFFFFFFULL);
        if (!s->has_min_rtt || rtt < s->min_rtt || (expired && !rs->is_ack_delayed)) {
            s->has_min_rtt = 1;
            s->min_rtt = rtt;
            s->min_rtt_stamp = now;
        }
    }
    if (expired && !s->idle_restart && s->mode != PROBE_RTT) {
        s->mode = PROBE_RTT;
        save_cwnd(s, tp);
        s->probe_rtt_timed = 0;
    }
    if (s->mode == PROBE_RTT)
        hold_probe_rtt(s, tp);
    if (rs->delivered > 0)
        s->idle_restart = 0;
}

/* Recovery's part of the window; `*conserving`: packet conservation decides alone. */
INLINE __u32 recover_or_restore(const struct sock *sk, struct state *s, const struct rate_sample *rs, bool *conserving)
{
    const struct tcp_sock *tp = tcp_sk(sk);
    __u32 cwnd = tp->snd_cwnd, state = ca_state(sk);
    __u32 conserved = min((__u64)tcp_packets_in_flight(tp) + rs->acked_sacked, 0xFFFFFFFFULL);

    if (rs->losses > 0)
        cwnd = cwnd > (__u32)rs->losses ? cwnd - (__u32)rs->losses : 1;
    if (state == TCP_CA_Recovery && s->prev_state != TCP_CA_Recovery) {
        s->packet_conservation = 1;
        s->next_rtt_delivered = tp->delivered;
        cwnd = conserved;
    } else if (s->prev_state >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
        cwnd = max(cwnd, s->prior_cwnd);
        s->packet_conservation = 0;
    }
    s->prev_state = state;
    *conserving = s->packet_conservation;
    return *conserving ? max(cwnd, conserved) : cwnd;
}

INLINE void set_cwnd(struct sock *sk, struct state *s, const struct rate_sample *rs, __u32 bw, __u32 gain)
{
    struct tcp_sock *tp = tcp_sk(sk);
    __u64 cwnd = tp->snd_cwnd;
    bool conserving;

    if (rs->acked_sacked) {
        cwnd = recover_or_restore(sk, s, rs, &conserving);
        if (!conserving) {
            __u32 target = with_bursts(sk, s, bdp(s, bw, window_rtt(s), gain) + aggregation_cwnd(s));
            if (s->full_bw_reached)
                cwnd = min(cwnd + rs->acked_sacked, (__u64)target);
            else if (cwnd < target || tp->delivered < TCP_INIT_CWND)
                cwnd += rs->acked_sacked;
            cwnd = max(cwnd, (__u64)CWND_MIN);
        }
    }
    cwnd = min(cwnd, (__u64)tp->snd_cwnd_clamp);
    tp->snd_cwnd = s->mode == PROBE_RTT ? min(cwnd, (__u64)CWND_MIN) : cwnd;
}

/* ---- the kernel's calls -------------------------------------------------------------------- */

OPERATION(void, init)
{
    struct sock *sk = SOCK;
    struct tcp_sock *tp = tcp_sk(sk);
    struct state *s = ca_priv(sk);
    __u32 min_rtt = tcp_min_rtt(tp);

    __builtin_memset(s, 0, sizeof(*s));
    s->pacing_gain = HIGH_GAIN;
    s->next_rtt_delivered = tp->delivered;
    s->has_min_rtt = min_rtt != ~0U;
    s->min_rtt = s->has_min_rtt ? min_rtt : 0;
    s->min_rtt_stamp = ticks(tp);
    lt_reset(s, tp);
    s->epoch = tp->tcp_mstamp;
    count_as_app_limited(tp);
    tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
    if (sk->sk_pacing_status == SK_PACING_NONE)
        sk->sk_pacing_status = SK_PACING_NEEDED;
    init_pacing_rate(sk, s);
}

OPERATION(void, cong_control)
{
    struct sock *sk = SOCK;
    const struct rate_sample *rs = ARGUMENT(const struct rate_sample *, 3);
    struct tcp_sock *tp = tcp_sk(sk);
    struct state *s = ca_priv(sk);
    __u32 before_ack = max_bw(s), cwnd_gain = HIGH_GAIN;

    update_bw(s, tp, rs);
    return_to_bw(s, tp, rs->rtt_us, before_ack);
    update_aggregation(s, tp, rs);
    if (s->mode == PROBE_BW && phase_is_over(sk, s, rs))
        next_phase(s, tp);
    check_full_pipe(s, rs);
    check_drain(sk, s);
    update_min_rtt(s, tp, rs);
    if (s->mode == STARTUP) {
        s->pacing_gain = HIGH_GAIN;
    } else if (s->mode == DRAIN) {
        s->pacing_gain = DRAIN_GAIN;
    } else if (s->mode == PROBE_BW) {
        s->pacing_gain = cycle_gain(s);
        cwnd_gain = CWND_GAIN;
    } else {
        s->pacing_gain = UNIT;
        cwnd_gain = UNIT;
    }
    __u32 bw = bandwidth(s);
    set_pacing_rate(sk, s, bw, s->pacing_gain);
    set_cwnd(sk, s, rs, bw, cwnd_gain);
}

/* Loss is no reason to slow down; the window is remembered for the end of recovery. */
OPERATION(__u32, ssthresh)
{
    const struct tcp_sock *tp = tcp_sk(SOCK);

    save_cwnd(ca_priv(SOCK), tp);
    return tp->snd_ssthresh;
}

OPERATION(__u32, undo_cwnd)
{
    const struct tcp_sock *tp = tcp_sk(SOCK);
    struct state *s = ca_priv(SOCK);

    s->full_bw = 0;
    s->full_rounds = 0;
    lt_reset(s, tp);
    return tp->snd_cwnd;
}

OPERATION(void, set_state)
{
    struct state *s = ca_priv(SOCK);

    if (ARGUMENT(__u8, 1) != TCP_CA_Loss)
        return;
    s->prev_state = TCP_CA_Loss;
    s->full_bw = 0;
    s->round_start = 1;
    lt_sample(s, tcp_sk(SOCK), 1, false);
}

OPERATION(void, cwnd_event)
{
    struct sock *sk = SOCK;
    struct tcp_sock *tp = tcp_sk(sk);
    struct state *s = ca_priv(sk);

    if (ARGUMENT(int, 1) != CA_EVENT_TX_START || !tp->app_limited)
        return;
    s->idle_restart = 1;
    s->epoch = tp->tcp_mstamp;
    s->acked = 0;
    if (s->mode == PROBE_BW)
        set_pacing_rate(sk, s, bandwidth(s), UNIT);
    else if (s->mode == PROBE_RTT)
        check_probe_rtt_done(s, tp);
}

OPERATION(__u32, min_tso_segs)
{
    return min_burst_segs(SOCK);
}

OPERATION(__u32, sndbuf_expand)
{
    (void)arguments;
    return 3;
}

CONGESTION_CONTROL = {
    .name = "bbr_hsr",
    .init = (void *)init,
    .ssthresh = (void *)ssthresh,
    .cong_control = (void *)cong_control,
    .undo_cwnd = (void *)undo_cwnd,
    .set_state = (void *)set_state,
    .cwnd_event = (void *)cwnd_event,
    .min_tso_segs = (void *)min_tso_segs,
    .sndbuf_expand = (void *)sndbuf_expand,
};
