/* SPDX-License-Identifier: MIT */
/*
 * The Linux kernel's types that congestion controls use, for CO-RE ("compile once, run everywhere").
 *
 * Only members that a control uses are declared. Their names are the kernel's (linux/tcp.h,
 * net/tcp.h, net/sock.h, net/inet_connection_sock.h); their order and offsets are not: the loader
 * finds them in the running kernel's BTF. To use another member, add a line. A member that the running
 * kernel lacks is an error when the program is loaded, unless the program checks with HAS() first.
 *
 * A control is one file, NAME.bpf.c, with underscores for the hyphens of its name:
 *
 *     #include "kernel.h"
 *
 *     PARAMETER(__u32, beta, 717);                  // set by the loader; read as a variable
 *
 *     struct state { __u32 acked; };                // at most 104 bytes, zero in init
 *     FITS(struct state);
 *
 *     OPERATION(__u32, ssthresh)                    // implements this member of tcp_congestion_ops
 *     {
 *         struct sock *sk = SOCK;                   // argument 0; ARGUMENT(type, n) for the others
 *         struct tcp_sock *tp = tcp_sk(sk);
 *         struct state *s = ca_priv(sk);
 *         ...
 *     }
 *
 *     CONGESTION_CONTROL = {
 *         .name = "name",
 *         .ssthresh = (void *)ssthresh, ...
 *     };
 *
 * Members that the kernel lets a program write (net/ipv4/bpf_tcp_ca.c): icsk_ca_priv, snd_cwnd,
 * snd_cwnd_cnt, snd_cwnd_stamp, snd_ssthresh, app_limited, ecn_flags, sk_pacing_rate,
 * sk_pacing_status. All others are read-only, prior_cwnd and snd_cwnd_clamp included. There is no get_info.
 * ssthresh, undo_cwnd and one of cong_avoid and cong_control are mandatory. init and release run
 * in process context, the others in softirq; none may sleep.
 *
 * This instruction set (v3) has no signed division: divide unsigned. Loops need a bound that the
 * verifier can see. Division by zero yields zero; check for it nevertheless. A program cannot know
 * the length of a jiffy: use microseconds (tcp_mstamp) instead.
 *
 * With HOST defined a control is compiled for this machine, with tests/host/kernel.c in place of
 * the kernel, and tested against its model (tests/vectors.rs).
 */
#ifndef LONGFAT_KERNEL_H
#define LONGFAT_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef _Bool bool;
enum { false, true };

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((section(".ksyms")))
#define INLINE static inline __attribute__((always_inline))

/* struct_ops programs must declare a licence that is compatible with the GPL; MIT is. */
char licence[] SEC("license") = "Dual MIT/GPL";

/* A parameter: the loader may replace its value before loading; constant afterwards. */
#ifdef HOST
#define PARAMETER(type, name, value) volatile type name = value
#else
#define PARAMETER(type, name, value) const volatile type name = value
#endif

/* An operation of the control. All arguments arrive as 64-bit words. */
#define OPERATION(type, name) SEC("struct_ops/" #name) type name(__u64 *arguments)
#define ARGUMENT(type, n) ((type)arguments[n])
#define SOCK ARGUMENT(struct sock *, 0)

/* The control itself, exactly one per file; the loader sets the name that it is registered under. */
#define CONGESTION_CONTROL SEC(".struct_ops.link") struct tcp_congestion_ops control

#ifndef HOST
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct sock_common {
    __u16 skc_family;
    volatile __u8 skc_state;
};

struct sock {
    struct sock_common __sk_common;
    __u32 sk_pacing_status;           /* enum sk_pacing */
    unsigned long sk_pacing_rate;     /* bytes per second */
    unsigned long sk_max_pacing_rate; /* bytes per second; ~0 for none */
    __u8 sk_pacing_shift;
    int sk_sndbuf;
    int sk_wmem_queued;
};

struct inet_sock {
    struct sock sk;
};

struct inet_connection_sock {
    struct inet_sock icsk_inet;
    __u8 icsk_ca_state : 5; /* read it with ca_state() */
    __u8 icsk_retransmits;
    __u32 icsk_rto; /* jiffies */
    __u64 icsk_ca_priv[13];
};

/* The minimum of a time window, and the next two candidates (linux/win_minmax.h). */
struct minmax_sample {
    __u32 t;
    __u32 v;
};

struct minmax {
    struct minmax_sample s[3];
};

struct tcp_rack {
    __u64 mstamp;
    __u32 rtt_us;
};

struct tcp_options_received {
    __u16 mss_clamp;
    __u32 rcv_tsval;
    __u32 rcv_tsecr;
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    /* Window, packets. */
    __u32 snd_cwnd;
    __u32 snd_cwnd_cnt;
    __u32 snd_cwnd_clamp;
    __u32 snd_cwnd_used;
    __u32 snd_cwnd_stamp; /* jiffies, 32 bits */
    __u32 snd_ssthresh;
    __u32 prior_cwnd;
    __u32 prior_ssthresh;
    __u32 max_packets_out;
    __u32 cwnd_usage_seq;
    __u8 is_cwnd_limited : 1; /* read it with BITS() */
    /* Sequence numbers, bytes. */
    __u32 snd_una;
    __u32 snd_nxt;
    __u32 snd_wnd;
    __u32 high_seq;
    __u32 write_seq;
    __u32 undo_marker;
    __u32 mss_cache;
    /* Packets. */
    __u32 packets_out;
    __u32 sacked_out;
    __u32 lost_out;
    __u32 retrans_out;
    __u32 delivered;
    __u32 delivered_ce;
    __u32 lost;
    __u32 app_limited;
    __u32 total_retrans;
    __u32 data_segs_out;
    __u32 reordering;
    __u64 bytes_acked;
    __u64 bytes_sent;
    /* Times. */
    __u32 srtt_us; /* smoothed RTT, eighths of a microsecond */
    __u32 mdev_us;
    __u32 rttvar_us;
    struct minmax rtt_min;  /* RTTs, microseconds; times, jiffies; see tcp_min_rtt() */
    struct tcp_rack rack;
    __u64 tcp_mstamp;       /* microseconds: arrival of this ACK */
    __u64 tcp_clock_cache;  /* nanoseconds */
    __u64 tcp_wstamp_ns;    /* nanoseconds: departure of the last packet */
    __u64 delivered_mstamp; /* microseconds */
    __u64 first_tx_mstamp;
    __u32 lsndtime; /* jiffies, 32 bits */
    __u32 rate_delivered;
    __u32 rate_interval_us;
    __u8 rate_app_limited : 1; /* read it with BITS() */
    __u8 ecn_flags;
    struct tcp_options_received rx_opt;
};

/* The delivery rate sample of an ACK (net/tcp.h). */
struct rate_sample {
    __u64 prior_mstamp;
    __u32 prior_delivered;
    __u32 prior_delivered_ce;
    __s32 delivered; /* packets over interval_us; negative: no valid sample */
    __s32 delivered_ce;
    long interval_us; /* negative: no valid sample */
    __u32 snd_interval_us;
    __u32 rcv_interval_us;
    long rtt_us; /* negative: none */
    int losses;
    __u32 acked_sacked;
    __u32 prior_in_flight;
    __u32 last_end_seq;
    bool is_app_limited;
    bool is_retrans;
    bool is_ack_delayed;
};

struct ack_sample {
    __u32 pkts_acked;
    __s32 rtt_us; /* negative: none */
    __u32 in_flight;
};

#ifndef HOST
#pragma clang attribute pop
#endif

/*
 * Arguments after the socket, by number:
 *
 *   cong_avoid    1 ack, 2 packets acked
 *   set_state     1 new enum tcp_ca_state
 *   cwnd_event    1 enum tcp_ca_event
 *   in_ack_event  1 flags, enum tcp_ca_ack_event_flags
 *   pkts_acked    1 const struct ack_sample *
 *   cong_control  1 ack, 2 flag, 3 const struct rate_sample * (Linux 6.10 and later)
 *
 * The loader writes name and flags. It finds members by name.
 */
struct sock;
struct tcp_congestion_ops {
    char name[16];
    __u32 flags;
    __u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
    void (*set_state)(struct sock *sk, __u8 new_state);
    void (*cwnd_event)(struct sock *sk, int event);
    void (*in_ack_event)(struct sock *sk, __u32 flags);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    __u32 (*min_tso_segs)(struct sock *sk);
    void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
    __u32 (*undo_cwnd)(struct sock *sk);
    __u32 (*sndbuf_expand)(struct sock *sk);
    void (*init)(struct sock *sk);
    void (*release)(struct sock *sk);
};

enum tcp_ca_state {
    TCP_CA_Open = 0,
    TCP_CA_Disorder = 1,
    TCP_CA_CWR = 2,
    TCP_CA_Recovery = 3,
    TCP_CA_Loss = 4,
};

enum tcp_ca_event {
    CA_EVENT_TX_START = 0,
    CA_EVENT_CWND_RESTART = 1,
    CA_EVENT_COMPLETE_CWR = 2,
    CA_EVENT_LOSS = 3,
    CA_EVENT_ECN_NO_CE = 4,
    CA_EVENT_ECN_IS_CE = 5,
};

enum tcp_ca_ack_event_flags {
    CA_ACK_SLOWPATH = 1,
    CA_ACK_WIN_UPDATE = 2,
    CA_ACK_ECE = 4,
};

enum sk_pacing {
    SK_PACING_NONE = 0,
    SK_PACING_NEEDED = 1,
    SK_PACING_FQ = 2,
};

/* No slow-start threshold yet (net/tcp.h). */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10

/* Kernel functions that a congestion control may call. */
extern __u32 tcp_reno_ssthresh(struct sock *sk) KERNEL;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) KERNEL;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) KERNEL;
/* Slow start; returns how many of `acked` remain for congestion avoidance. */
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) KERNEL;
/* Congestion avoidance: one packet for every `w` acked. */
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) KERNEL;

#ifdef HOST
extern __u64 bpf_ktime_get_ns(void);
extern __u32 bpf_get_prandom_u32(void);
extern __u64 bpf_jiffies64(void);
#define HAS(object, member) true
#define BITS(object, member) ((__u32)(object)->member)
#else

/* Helpers, by their numbers in linux/bpf.h. */
static __u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static __u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static __u64 (*bpf_jiffies64)(void) = (void *)118;

/* Whether the running kernel has this member, e.g. HAS(tp, snd_cwnd). */
#define HAS(object, member) __builtin_preserve_field_info((object)->member, 2)

/* Reads a bit field of at most eight bits at its position in the running kernel. */
#define BITS(object, member)                                                                       \
    ({                                                                                             \
        const __u8 *byte = (const __u8 *)(object) + __builtin_preserve_field_info((object)->member, 0); \
        __u64 bits;                                                                                \
        asm volatile("" : "+r"(byte));                                                             \
        bits = *byte;                                                                              \
        bits <<= __builtin_preserve_field_info((object)->member, 4);                               \
        bits >>= __builtin_preserve_field_info((object)->member, 5);                               \
        (__u32) bits;                                                                              \
    })
#endif

INLINE struct tcp_sock *tcp_sk(const struct sock *sk)
{
    return (struct tcp_sock *)sk;
}

INLINE struct inet_connection_sock *inet_csk(const struct sock *sk)
{
    return (struct inet_connection_sock *)sk;
}

/* The control's private 104 bytes of a socket. Before init they may contain another control's data. */
INLINE void *ca_priv(const struct sock *sk)
{
    return inet_csk(sk)->icsk_ca_priv;
}

#define FITS(type) _Static_assert(sizeof(type) <= 104, #type " is larger than icsk_ca_priv")

INLINE __u32 ca_state(const struct sock *sk)
{
    return BITS(inet_csk(sk), icsk_ca_state);
}

/* The kernel's minimum RTT, microseconds; ~0 before the first sample. */
INLINE __u32 tcp_min_rtt(const struct tcp_sock *tp)
{
    return tp->rtt_min.s[0].v;
}

/* Packets in flight: sent, neither acknowledged nor lost. */
INLINE __u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
    return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

INLINE bool tcp_in_slow_start(const struct tcp_sock *tp)
{
    return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Whether the window limits, not the application (the kernel's tcp_is_cwnd_limited). */
INLINE bool tcp_is_cwnd_limited(const struct tcp_sock *tp)
{
    if (BITS(tp, is_cwnd_limited))
        return true;
    return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Whether a is before b, for wrapping sequence numbers and 32-bit times. */
INLINE bool before(__u32 a, __u32 b)
{
    return (__s32)(a - b) < 0;
}

INLINE __u32 tcp_jiffies32(void)
{
    return (__u32)bpf_jiffies64();
}

#ifdef HOST
/* State that a program reports to tests by host_probe(), see tests/native. */
struct host_probe {
    const char *state;
    __u64 btl_bw; /* bytes per second */
    __u64 rt_prop_us;
    __u64 pacing_gain; /* 1/256 */
    __u64 round;
};
#endif

#define min(a, b)                                                                                  \
    ({                                                                                             \
        __typeof__(a) a_ = (a);                                                                    \
        __typeof__(b) b_ = (b);                                                                    \
        a_ < b_ ? a_ : b_;                                                                         \
    })

#define max(a, b)                                                                                  \
    ({                                                                                             \
        __typeof__(a) a_ = (a);                                                                    \
        __typeof__(b) b_ = (b);                                                                    \
        a_ > b_ ? a_ : b_;                                                                         \
    })

#endif
