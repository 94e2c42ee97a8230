/* SPDX-License-Identifier: MIT */
/*
 * BBR-HSR: BBR v1 for high-speed mobile networks, for the live kernel. Numerically identical to
 * crates/engine/congestion/src/hsr/ (the extension) and src/bbr/ (the rest), which describe the model, its
 * sources and departures. The two headers contain BBR's model and phases; this file the extension, the
 * window, and the operations that the kernel calls.
 */
#include "bbr_phases.h"

PARAMETER(__u64, hsr_alpha, 128);      /* weight of the newest RTT, 1/1024 */
PARAMETER(__u64, hsr_T_us, 50000);     /* upper bound of RTT_est; 2^32 - 1: none */
PARAMETER(__u64, hsr_T1_us, 1000000);  /* an RTT above this starts a handover; 2^32 - 1: never */
PARAMETER(__u64, hsr_T2_us, 80000);    /* three RTTs below this end it */
PARAMETER(__u64, hsr_bw_rec, 0);       /* bandwidth after a handover, bytes per second; 0: that before it */

#define FRACTION 10 /* alpha and RTT_avg are in 1/1024 */
#define CALM_SAMPLES 3

/* ---- RTT_est, and the return to the old bandwidth ------------------------------------------- */

INLINE __u32 window_rtt(const struct state *s)
{
    __u64 average = s->has_average ? s->average >> FRACTION : 0;
    return max((__u32)min(average, hsr_T_us), s->min_rtt);
}

/* Updates the average RTT; `btl_bw` is BtlBw before this ACK. Returns whether a handover has ended. */
INLINE bool handover_ends(struct state *s, __u32 rtt, __u32 btl_bw)
{
    __u64 newest = (__u64)rtt << FRACTION, alpha = hsr_alpha;

    if (s->has_average)
        newest = (((1 << FRACTION) - alpha) * s->average + alpha * newest) >> FRACTION;
    s->average = newest;
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

/* ---- the window ------------------------------------------------------------------------------ */

/* The window during and after recovery; `*conserving`: packet conservation alone decides. */
INLINE __u32 recover_or_restore(const struct sock *sk, struct state *s, const struct rate_sample *rs,
                                bool *conserving)
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

/* ---- operations ---------------------------------------------------------------------------- */

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

/* Loss does not reduce the window; it is saved for the end of recovery. */
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
