/* SPDX-License-Identifier: MIT */
/*
 * The programs of `longfat attach`: they lead the packets of one network device, the target, through two TAP
 * devices, where longfat's engine delays and drops them, and back to the same place.
 *
 *     target, egress  -> longfat_out -> TAP "out" -> engine -> TAP "out" -> back_out -> target, egress
 *     target, ingress -> longfat_in  -> TAP "in"  -> engine -> TAP "in"  -> back_in  -> target, ingress
 *
 * A packet that comes back meets longfat_out or longfat_in a second time and must then pass. It is recognised
 * by two fields of the kernel's own packet descriptor, which no packet on a wire carries: a random skb->mark,
 * and a random skb->tc_index, which sockets cannot set at all (only tc and eBPF programs can). On egress it
 * must also have been received by the TAP device (skb->skb_iif), which the kernel records itself. Both fields
 * are zero again afterwards. Packets that other programs send into a TAP device are dropped by guard.
 *
 * Everything passes untouched while longfat does not run its engine: the control block's time must be recent.
 */
#include "select.h"

/* The context of tc programs (linux/bpf.h); its layout is part of the kernel's stable interface. */
struct __sk_buff {
    __u32 len;
    __u32 pkt_type;
    __u32 mark;
    __u32 queue_mapping;
    __u32 protocol;
    __u32 vlan_present;
    __u32 vlan_tci;
    __u32 vlan_proto;
    __u32 priority;
    __u32 ingress_ifindex;
    __u32 ifindex;
    __u32 tc_index;
};

/* Helpers by number (linux/bpf.h). */
static __u64 (*const ktime_get_ns)(void) = (void *)5;
static long (*const skb_store_bytes)(struct __sk_buff *, __u32, const void *, __u32, __u64) = (void *)9;
static long (*const redirect)(__u32, __u64) = (void *)23;
static long (*const skb_load_bytes)(const struct __sk_buff *, __u32, void *, __u32) = (void *)26;

/* Verdicts of tcx programs, and the flag of redirect() for the receiving side (linux/bpf.h). */
#define NEXT (-1)
#define DROP 2
#define F_INGRESS 1

#define OUT 0
#define IN 1

/* Set before loading. */
PARAMETER(__u32, target);        /* number of the target device */
PARAMETER(__u32, device_out);    /* of the TAP devices */
PARAMETER(__u32, device_in);
PARAMETER(__u32, secret_mark);   /* not zero */
PARAMETER(__u32, secret_index);  /* not zero, 16 bits */
PARAMETER(__u64, secret_probe);
PARAMETER(__u32, directions);    /* bit 0: outgoing packets are led through a path; bit 1: incoming */

/* Written by longfat, read here. */
#define OFF 0
#define PROBING 1
#define ON 2
struct control {
    __u64 alive;                 /* when the engine last ran, CLOCK_MONOTONIC */
    __u64 mode;
};
volatile struct control control SEC(".data.control") = {};

/* Traffic passes untouched if the engine has not run for this long, ns. */
#define STALLED 1000000000ull

/* Written here, read by longfat; by direction. */
struct counters {
    __u64 led[2];                /* into the path */
    __u64 returned[2];
    __u64 stalled[2];            /* passed because the engine did not run */
    __u64 forged;                /* carried the mark, but did not come from the path */
    __u64 intruded;              /* sent into a TAP device by somebody else, dropped */
};
struct counters counters SEC(".data.counters") = {};

/* Times of the self-test's packets, by direction and number; zero for packets that were not seen. */
#define PROBES 16384
struct probes {
    __u64 sent[2][PROBES];
    __u64 arrived[2][PROBES];
};
struct probes probes;

#define ETHERNET 14
#define IPV4 0x0008              /* network order */
#define IPV6 0xdd86
#define TCP 6
#define UDP 17
#define ICMPV6 58
#define EXPERIMENT 253           /* RFC 3692 */

/* A packet of the self-test: after an IPv4 header of 20 bytes. */
struct probe {
    __u64 secret;
    __u32 number;
    __u32 enters;                /* not zero: to be handed to the target's ingress as a new packet */
};
#define PROBE_AT (ETHERNET + 20)

INLINE void count(__u64 *counter)
{
    __sync_fetch_and_add(counter, 1);
}

INLINE bool is_probe(struct __sk_buff *skb, struct probe *probe)
{
    __u8 protocol;

    if (skb->protocol != IPV4 || skb_load_bytes(skb, ETHERNET + 9, &protocol, 1) || protocol != EXPERIMENT)
        return false;
    return !skb_load_bytes(skb, PROBE_AT, probe, sizeof(*probe)) && probe->secret == secret_probe;
}

/* Whether one of a packet's ports is listed. Later fragments and protocols without ports pass. */
INLINE bool is_listed_port(struct __sk_buff *skb, __u8 protocol, __u32 at)
{
    __u16 ends[2];

    if (!port_count || (protocol != TCP && protocol != UDP))
        return true;
    if (skb_load_bytes(skb, at, ends, sizeof(ends)))
        return false;
    return has_listed_port(ends[0], ends[1]);
}

INLINE bool is_wanted(struct __sk_buff *skb)
{
    __u8 first, head[40];
    __u32 from[4] = {}, to[4] = {};

    /* Broadcast and multicast, ARP and other protocols than IP are for neighbours, not for a path. */
    if (skb_load_bytes(skb, 0, &first, 1) || first & 1)
        return false;
    if (skb->protocol == IPV4) {
        if (skb_load_bytes(skb, ETHERNET, head, 20))
            return false;
        __builtin_memcpy(from, head + 12, 4);
        __builtin_memcpy(to, head + 16, 4);
        if (!is_listed_host(4, from, to))
            return false;
        if (head[6] & 0x1f || head[7])
            return true;
        return is_listed_port(skb, head[9], ETHERNET + (head[0] & 15) * 4);
    }
    if (skb->protocol != IPV6 || skb_load_bytes(skb, ETHERNET, head, 40))
        return false;
    /* Neighbour discovery (RFC 4861) and other link-scope messages. */
    if (head[6] == ICMPV6) {
        __u8 type;

        if (skb_load_bytes(skb, ETHERNET + 40, &type, 1) || (type >= 130 && type <= 137))
            return false;
    }
    __builtin_memcpy(from, head + 8, 16);
    __builtin_memcpy(to, head + 24, 16);
    return is_listed_host(6, from, to) && is_listed_port(skb, head[6], ETHERNET + 40);
}

/* Leads a packet into the path, or lets it pass: a new one that nobody wants, or one that comes back. */
INLINE int lead(struct __sk_buff *skb, __u32 way, __u32 device)
{
    __u64 mode = control.mode;
    struct probe probe;

    if (skb->mark == secret_mark) {
        if (skb->tc_index == secret_index && (way == IN || skb->ingress_ifindex == device)) {
            skb->mark = 0;
            skb->tc_index = 0;
            if (mode == PROBING && is_probe(skb, &probe)) {
                probes.arrived[way][probe.number & (PROBES - 1)] = ktime_get_ns();
                return DROP;
            }
            count(&counters.returned[way]);
            return NEXT;
        }
        count(&counters.forged);
    }
    if (mode == OFF || !(directions & 1u << way))
        return NEXT;
    if (mode == PROBING) {
        if (!is_probe(skb, &probe))
            return NEXT;
        probes.sent[way][probe.number & (PROBES - 1)] = ktime_get_ns();
    } else {
        if (!is_wanted(skb))
            return NEXT;
        if ((__s64)(ktime_get_ns() - control.alive) > (__s64)STALLED) {
            count(&counters.stalled[way]);
            return NEXT;
        }
        count(&counters.led[way]);
    }
    skb->mark = secret_mark;
    skb->tc_index = secret_index;
    return redirect(device, 0);
}

SEC("tc") int longfat_out(struct __sk_buff *skb)
{
    return lead(skb, OUT, device_out);
}

SEC("tc") int longfat_in(struct __sk_buff *skb)
{
    return lead(skb, IN, device_in);
}

/* On a TAP device's egress: only packets that lead() sends may reach the engine. */
SEC("tc") int longfat_guard(struct __sk_buff *skb)
{
    if (skb->mark == secret_mark && skb->tc_index == secret_index)
        return NEXT;
    count(&counters.intruded);
    return DROP;
}

/* On a TAP device's ingress: packets that the engine delivers. */
SEC("tc") int longfat_back_out(struct __sk_buff *skb)
{
    skb->mark = secret_mark;
    skb->tc_index = secret_index;
    return redirect(target, 0);
}

SEC("tc") int longfat_back_in(struct __sk_buff *skb)
{
    struct probe probe;

    if (control.mode == PROBING && is_probe(skb, &probe) && probe.enters) {
        probe.enters = 0;
        if (skb_store_bytes(skb, PROBE_AT, &probe, sizeof(probe), 0))
            return DROP;
        return redirect(target, F_INGRESS);
    }
    skb->mark = secret_mark;
    skb->tc_index = secret_index;
    return redirect(target, F_INGRESS);
}
