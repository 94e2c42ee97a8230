/* SPDX-License-Identifier: MIT */
/*
 * Westwood+: grows like Reno; after a loss the window is the measured bandwidth times the minimum RTT.
 * crates/engine/congestion/src/westwood.rs describes the model, its source and its departures; tests
 * compare every decision with it.
 *
 * | Linux's tcp_westwood.c | here |
 * |---|---|
 * | times in jiffies of 1 / CONFIG_HZ s | in ticks of 4 ms, HZ = 250, whatever the kernel was built with |
 * | get_info for ss(8) | struct_ops programs have none |
 */
#include "kernel.h"

#define TICK_US 4000
#define RTT_MIN 12u    /* 50 ms in whole ticks */
#define INIT_RTT 5000u /* 20 s */

struct westwood {
    __u32 bw_once; /* bytes per tick, after the first filter */
    __u32 bw;      /* bytes per tick, after both filters */
    __u32 begin;   /* tick at which the current sample started */
    __u32 bytes;   /* bytes counted in the current sample */
    __u32 una;     /* first unacknowledged byte at the last ACK */
    __u32 accounted; /* bytes counted for duplicate ACKs, not confirmed yet */
    __u32 rtt;     /* latest and minimum RTT, ticks */
    __u32 rtt_min;
    bool acked; /* una is known */
    bool reset_rtt_min;
};
FITS(struct westwood);

/* Low-pass filter with 7/8 of the old value. */
INLINE __u32 low_pass(__u32 old, __u32 new)
{
    return (7 * (__u64)old + new) >> 3;
}

INLINE void end_sample(struct westwood *w, __u32 now)
{
    __u32 elapsed = now - w->begin, sample;

    if (w->rtt == 0 || elapsed <= max(w->rtt, RTT_MIN))
        return;
    sample = w->bytes / elapsed;
    if (w->bw_once == 0 && w->bw == 0) {
        w->bw_once = sample;
        w->bw = sample;
    } else {
        w->bw_once = low_pass(w->bw_once, sample);
        w->bw = low_pass(w->bw, w->bw_once);
    }
    w->bytes = 0;
    w->begin = now;
}

/* Bytes that an ACK off the fast path acknowledges; a duplicate ACK counts one packet in advance. */
INLINE __u32 count_slowly(struct westwood *w, __u32 advance, __u32 mss)
{
    __u32 settled;

    if (advance == 0) {
        w->accounted += mss;
        return mss;
    }
    if (advance <= mss)
        return advance;
    if (w->accounted >= advance) {
        w->accounted -= advance;
        return mss;
    }
    settled = w->accounted;
    w->accounted = 0;
    return advance - settled;
}

/* Bandwidth times minimum RTT, packets. */
INLINE __u32 pipe_size(const struct westwood *w, const struct tcp_sock *tp)
{
    __u64 bytes = (__u64)w->bw * w->rtt_min;
    __u32 mss = tp->mss_cache;

    bytes = min(bytes, (__u64)0xffffffff);
    return max((__u32)bytes / max(mss, 1u), 2u);
}

OPERATION(void, init)
{
    struct sock *sk = SOCK;
    struct westwood *w = ca_priv(sk);

    w->bw_once = 0;
    w->bw = 0;
    w->begin = bpf_ktime_get_ns() / (1000 * TICK_US); /* tcp_mstamp may be outdated here */
    w->bytes = 0;
    w->una = 0;
    w->accounted = 0;
    w->rtt = INIT_RTT;
    w->rtt_min = INIT_RTT;
    w->acked = false;
    w->reset_rtt_min = true;
}

OPERATION(__u32, ssthresh)
{
    return tcp_reno_ssthresh(SOCK);
}

OPERATION(void, cong_avoid)
{
    tcp_reno_cong_avoid(SOCK, ARGUMENT(__u32, 1), ARGUMENT(__u32, 2));
}

OPERATION(__u32, undo_cwnd)
{
    return tcp_reno_undo_cwnd(SOCK);
}

OPERATION(void, pkts_acked)
{
    struct westwood *w = ca_priv(SOCK);
    const struct ack_sample *sample = ARGUMENT(const struct ack_sample *, 1);
    __s32 rtt_us = sample->rtt_us;

    if (rtt_us > 0)
        w->rtt = ((__u32)rtt_us + TICK_US - 1) / TICK_US;
}

OPERATION(void, in_ack_event)
{
    struct sock *sk = SOCK;
    __u32 flags = ARGUMENT(__u32, 1);
    struct tcp_sock *tp = tcp_sk(sk);
    struct westwood *w = ca_priv(sk);
    __u32 una = tp->snd_una, advance;

    if (!w->acked) {
        w->una = una;
        w->acked = true;
    }
    end_sample(w, tp->tcp_mstamp / TICK_US);
    advance = una - w->una;
    w->una = una;
    w->bytes += flags & CA_ACK_SLOWPATH ? count_slowly(w, advance, tp->mss_cache) : advance;
    w->rtt_min = w->reset_rtt_min ? w->rtt : min(w->rtt, w->rtt_min);
    w->reset_rtt_min = false;
}

OPERATION(void, cwnd_event)
{
    struct sock *sk = SOCK;
    __u32 event = ARGUMENT(__u32, 1);
    struct tcp_sock *tp = tcp_sk(sk);
    struct westwood *w = ca_priv(sk);
    __u32 size;

    if (event == CA_EVENT_COMPLETE_CWR) {
        size = pipe_size(w, tp);
        tp->snd_ssthresh = size;
        tp->snd_cwnd = min(size, tp->snd_cwnd_clamp);
    } else if (event == CA_EVENT_LOSS) {
        tp->snd_ssthresh = pipe_size(w, tp);
        w->reset_rtt_min = true; /* the path may have changed */
    }
}

CONGESTION_CONTROL = {
    .name = "westwood",
    .init = (void *)init,
    .ssthresh = (void *)ssthresh,
    .cong_avoid = (void *)cong_avoid,
    .undo_cwnd = (void *)undo_cwnd,
    .pkts_acked = (void *)pkts_acked,
    .in_ack_event = (void *)in_ack_event,
    .cwnd_event = (void *)cwnd_event,
};
