/* SPDX-License-Identifier: MIT */
/*
 * BBR v1's phases and the estimates that they use, per ACK: the counterparts of probe_bw.rs,
 * longterm.rs, aggregation.rs, startup.rs and probe_rtt.rs in crates/engine/congestion/src/bbr/.
 */
#ifndef LONGFAT_BBR_PHASES_H
#define LONGFAT_BBR_PHASES_H

#include "bbr_model.h"

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

static __attribute__((noinline)) void lt_sample(struct state *s, const struct tcp_sock *tp, int losses,
                                                bool app_limited)
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

/* ---- the model, per ACK -------------------------------------------------------------------- */

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

/* ACK aggregation: packets acknowledged at once beyond what the bandwidth explains. */
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

#endif
