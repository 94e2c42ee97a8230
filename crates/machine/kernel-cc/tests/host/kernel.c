/* SPDX-License-Identifier: MIT */
/*
 * Replaces the kernel around one control compiled for this machine (-DHOST): a socket, the kernel
 * functions that controls call, and one entry point for the operations. The functions follow RFC 5681,
 * in whole packets as in the kernel; crates/engine/congestion/src/reno.rs explains what that means.
 *
 * Linked with one NAME.bpf.c into a shared object; native/mod.rs opens it.
 */
#define licence host_licence /* the control defines its own */
#include "kernel.h"

extern void *calloc(unsigned long count, unsigned long size);
extern struct tcp_congestion_ops control;

/* Time and random draws, set before each call, and the number of draws used. */
static __u64 now_ns;
__u32 host_draws[16];
__u32 host_drawn;

__u64 bpf_ktime_get_ns(void)
{
    return now_ns;
}

__u64 bpf_jiffies64(void)
{
    return now_ns / 4000000;
}

__u32 bpf_get_prandom_u32(void)
{
    return host_draws[host_drawn++ % 16];
}

__u32 tcp_reno_ssthresh(struct sock *sk)
{
    return max(tcp_sk(sk)->snd_cwnd / 2, 2u);
}

__u32 tcp_reno_undo_cwnd(struct sock *sk)
{
    return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/* RFC 5681 section 3.1, equation 2. */
__u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked)
{
    __u64 grown = (__u64)tp->snd_cwnd + acked;
    __u32 target = min(grown, (__u64)tp->snd_ssthresh);

    acked -= target - tp->snd_cwnd;
    tp->snd_cwnd = min(target, tp->snd_cwnd_clamp);
    return acked;
}

/* RFC 5681 section 3.1, equation 3: a packet for each `w` acknowledged; the remainder is kept. */
void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked)
{
    __u64 grown = tp->snd_cwnd;

    w = max(w, 1u);
    if (tp->snd_cwnd_cnt >= w) {
        tp->snd_cwnd_cnt = 0;
        grown++;
    }
    tp->snd_cwnd_cnt += acked;
    grown += tp->snd_cwnd_cnt / w;
    tp->snd_cwnd_cnt %= w;
    tp->snd_cwnd = min(grown, (__u64)tp->snd_cwnd_clamp);
}

void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);

    (void)ack;
    if (!tcp_is_cwnd_limited(tp))
        return;
    if (tcp_in_slow_start(tp))
        acked = tcp_slow_start(tp, acked);
    if (acked)
        tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* Inputs and outputs of a call, as in native/mod.rs. */
struct view {
    __u64 now_ns;
    __u64 delivered_us;
    __u64 departure_ns;
    __u64 pacing_rate;
    __u64 max_pacing_rate;
    __u32 cwnd;
    __u32 cwnd_cnt;
    __u32 cwnd_clamp;
    __u32 ssthresh;
    __u32 prior_cwnd;
    __u32 snd_una;
    __u32 snd_nxt;
    __u32 mss;
    __u32 inflight;
    __u32 delivered;
    __u32 lost;
    __u32 app_limited;
    __u32 srtt_eighths;
    __u32 min_rtt_us;
    __u32 last_sent; /* jiffies */
    __u32 state;
    __u32 limited;
    __u32 pacing_status;
    __u32 pacing_shift;
    __u32 ece;
    /* Properties of an ACK. */
    __s32 rtt_us;
    __u32 acked;
    __u32 losses;
    __u32 prior_delivered;
    __s32 rate_delivered;
    __s32 rate_interval_us;
    __u32 prior_in_flight;
    __u32 rate_flags; /* 1 app-limited, 2 retransmission, 4 delayed */
};

enum operation {
    INIT,
    SSTHRESH,
    CONG_AVOID,
    SET_STATE,
    CWND_EVENT,
    IN_ACK_EVENT,
    PKTS_ACKED,
    CONG_CONTROL,
    UNDO_CWND,
    MIN_TSO_SEGS,
    SNDBUF_EXPAND,
};

struct tcp_sock *host_socket(void)
{
    return calloc(1, sizeof(struct tcp_sock));
}

static void *operation(__u32 which)
{
    switch (which) {
    case INIT: return (void *)control.init;
    case SSTHRESH: return (void *)control.ssthresh;
    case CONG_AVOID: return (void *)control.cong_avoid;
    case SET_STATE: return (void *)control.set_state;
    case CWND_EVENT: return (void *)control.cwnd_event;
    case IN_ACK_EVENT: return (void *)control.in_ack_event;
    case PKTS_ACKED: return (void *)control.pkts_acked;
    case CONG_CONTROL: return (void *)control.cong_control;
    case UNDO_CWND: return (void *)control.undo_cwnd;
    case MIN_TSO_SEGS: return (void *)control.min_tso_segs;
    case SNDBUF_EXPAND: return (void *)control.sndbuf_expand;
    default: return (void *)0;
    }
}

bool host_has(__u32 which)
{
    return operation(which) != (void *)0;
}

static void load_view(struct tcp_sock *tp, const struct view *v)
{
    struct sock *sk = (struct sock *)tp;

    now_ns = v->now_ns;
    tp->tcp_mstamp = v->now_ns / 1000;
    tp->tcp_clock_cache = v->now_ns;
    tp->tcp_wstamp_ns = v->departure_ns;
    tp->delivered_mstamp = v->delivered_us;
    sk->sk_pacing_rate = v->pacing_rate;
    sk->sk_max_pacing_rate = v->max_pacing_rate;
    sk->sk_pacing_status = v->pacing_status;
    sk->sk_pacing_shift = v->pacing_shift;
    tp->snd_cwnd = v->cwnd;
    tp->snd_cwnd_cnt = v->cwnd_cnt;
    tp->snd_cwnd_clamp = v->cwnd_clamp;
    tp->snd_ssthresh = v->ssthresh;
    tp->prior_cwnd = v->prior_cwnd;
    tp->snd_una = v->snd_una;
    tp->snd_nxt = v->snd_nxt;
    tp->mss_cache = v->mss;
    tp->packets_out = v->inflight;
    tp->delivered = v->delivered;
    tp->lost = v->lost;
    tp->app_limited = v->app_limited;
    tp->srtt_us = v->srtt_eighths;
    tp->rtt_min.s[0].v = v->min_rtt_us;
    tp->lsndtime = v->last_sent;
    tp->is_cwnd_limited = v->limited;
    inet_csk(sk)->icsk_ca_state = v->state;
}

static void store_view(const struct tcp_sock *tp, struct view *v)
{
    const struct sock *sk = (const struct sock *)tp;

    v->pacing_rate = sk->sk_pacing_rate;
    v->pacing_status = sk->sk_pacing_status;
    v->cwnd = tp->snd_cwnd;
    v->cwnd_cnt = tp->snd_cwnd_cnt;
    v->ssthresh = tp->snd_ssthresh;
    v->app_limited = tp->app_limited;
}

/* Calls an operation; `argument` is its second argument if that is a number. */
__u32 host_call(struct tcp_sock *tp, __u32 which, struct view *v, __u32 argument)
{
    __u32 (*call)(__u64 *) = (__u32 (*)(__u64 *))operation(which);
    struct ack_sample sample = { .pkts_acked = v->acked, .rtt_us = v->rtt_us, .in_flight = v->inflight };
    struct rate_sample rate = {
        .prior_mstamp = v->rate_delivered >= 0,
        .prior_delivered = v->prior_delivered,
        .delivered = v->rate_delivered,
        .interval_us = v->rate_interval_us,
        .rtt_us = v->rtt_us,
        .losses = v->losses,
        .acked_sacked = v->acked,
        .prior_in_flight = v->prior_in_flight,
        .is_app_limited = v->rate_flags & 1,
        .is_retrans = v->rate_flags >> 1 & 1,
        .is_ack_delayed = v->rate_flags >> 2 & 1,
    };
    __u64 arguments[4] = { (unsigned long)tp, argument, 0, 0 };
    __u32 result;

    if (which == CONG_AVOID) {
        arguments[1] = v->snd_una;
        arguments[2] = argument;
    } else if (which == PKTS_ACKED) {
        arguments[1] = (unsigned long)&sample;
    } else if (which == CONG_CONTROL) {
        arguments[1] = v->snd_una;
        arguments[2] = v->ece ? 0x40 : 0; /* FLAG_ECE */
        arguments[3] = (unsigned long)&rate;
    }
    load_view(tp, v);
    result = call(arguments);
    store_view(tp, v);
    return result;
}
