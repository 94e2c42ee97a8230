/* SPDX-License-Identifier: MIT */
/*
 * A congestion control that no connection keeps: choosing it ends the pacing that BBR or a pacing cap has begun on
 * a socket, which no socket option ends. `longfat apply` chooses it for a moment when it puts a connection back that
 * was not paced before.
 */
#include "kernel.h"

OPERATION(void, init)
{
    struct sock *sk = SOCK;

    if (sk->sk_pacing_status == SK_PACING_NEEDED)
        sk->sk_pacing_status = SK_PACING_NONE;
}

OPERATION(__u32, ssthresh)
{
    return tcp_sk(SOCK)->snd_ssthresh;
}

OPERATION(__u32, undo_cwnd)
{
    return tcp_sk(SOCK)->snd_cwnd;
}

OPERATION(void, cong_control)
{
    (void)arguments;
}

CONGESTION_CONTROL = {
    .name = "unpace",
    .init = (void *)init,
    .ssthresh = (void *)ssthresh,
    .undo_cwnd = (void *)undo_cwnd,
    .cong_control = (void *)cong_control,
};
