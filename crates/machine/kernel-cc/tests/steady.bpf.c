/* SPDX-License-Identifier: MIT */
/* For tests only: a constant window; also uses the other features of the header. */
#include "kernel.h"

PARAMETER(__u32, window, 10);
PARAMETER(__u64, pacing_rate, 0);

struct state {
    __u64 calls;
    __u32 least_rtt;
};
FITS(struct state);

OPERATION(void, init)
{
    struct sock *sk = SOCK;
    struct state *s = ca_priv(sk);
    s->calls = 0;
    s->least_rtt = ~0u;
    tcp_sk(sk)->snd_cwnd = window;
    if (pacing_rate && sk->sk_pacing_status == SK_PACING_NONE)
        sk->sk_pacing_status = SK_PACING_NEEDED;
}

OPERATION(__u32, ssthresh)
{
    return tcp_sk(SOCK)->snd_ssthresh;
}

OPERATION(__u32, undo_cwnd)
{
    return tcp_reno_undo_cwnd(SOCK);
}

OPERATION(void, cong_control)
{
    struct sock *sk = SOCK;
    const struct rate_sample *rs = ARGUMENT(const struct rate_sample *, 3);
    struct tcp_sock *tp = tcp_sk(sk);
    struct state *s = ca_priv(sk);
    s->calls++;
    if (rs->rtt_us > 0 && rs->rtt_us < s->least_rtt)
        s->least_rtt = rs->rtt_us;
    if (ca_state(sk) <= TCP_CA_CWR || tcp_is_cwnd_limited(tp))
        tp->snd_cwnd = window;
    if (pacing_rate)
        sk->sk_pacing_rate = pacing_rate;
}

CONGESTION_CONTROL = {
    .name = "steady",
    .init = (void *)init,
    .ssthresh = (void *)ssthresh,
    .undo_cwnd = (void *)undo_cwnd,
    .cong_control = (void *)cong_control,
};
