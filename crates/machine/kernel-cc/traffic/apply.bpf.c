/* SPDX-License-Identifier: MIT */
/*
 * The programs of `longfat apply`: they change the congestion control and the pacing cap of TCP sockets that
 * other programs own, and put both back.
 *
 *     longfat_list     lists the sockets of a network namespace with what sock_diag does not report
 *     longfat_change   changes the sockets in the map `wanted`
 *     longfat_new      changes each connection of a control group when it is established
 *     longfat_restore  puts the sockets in the map `changed` back
 *
 * The first, second and fourth are TCP iterators (iter/tcp): reading such a file runs the program once for each
 * socket of the reader's network namespace, with the socket locked. The third is attached to a control group
 * (sockops). What a socket had before is in the map `changed`, which outlives the process that filled it as
 * long as another holds its descriptor.
 *
 * A value is put back only if it is still the one that was set here: somebody else may have changed it.
 */
#include "select.h"

#define MAP(name) char name SEC("map." #name)
/* Sockets by cookie: those to change (no value), and those changed (struct change). */
MAP(wanted);
MAP(changed);

#define NAME 16 /* TCP_CA_NAME_MAX */

/* Set before loading. */
const volatile char control[NAME] = {};  /* empty: keep the congestion control */
const volatile char unpaced[NAME] = {};  /* a control that ends the pacing of a socket; empty: there is none */
PARAMETER(__u32, rate);                  /* pacing cap, bytes per second; zero: keep it */
PARAMETER(__u32, namespace_inode);       /* longfat_new: only connections of this namespace; zero: of any */

/* Flags of struct change: which values were changed, */
#define CONTROL 1
#define RATE 2
/* whether the connection was established after the change began, */
#define IS_NEW 4
/* and what became of it: longfat_restore was there; somebody else had changed a value, which was left; the kernel
 * refused it; it was not paced before, and is now. */
#define DONE 8
#define KEPT 16
#define FAILED 32
#define STAYS_PACED 64

struct change {
    char control[NAME];          /* before the change */
    __u64 rate;                  /* before the change; ~0 for none */
    __u32 pacing;                /* enum sk_pacing before the change */
    __u32 namespace_inode;
    __u32 flags;
    __u32 unused;
};

/* Written by longfat_list for each socket. */
struct listed {
    __u64 cookie;
    __u64 group;                 /* id of its control group */
    __u64 rate;                  /* pacing cap, bytes per second; ~0 for none */
    __u32 pacing;                /* enum sk_pacing */
    __u32 unused;
};

/* Read by longfat. */
struct counters {
    __u64 failed;                /* changes that the kernel refused */
    __u64 full;                  /* sockets that did not fit into `changed` */
};
struct counters counters SEC(".data.counters") = {};

/* The kernel's types, found in its BTF by name (CO-RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

struct ns_common {
    unsigned int inum;
};

struct net {
    struct ns_common ns;
};

typedef struct {
    struct net *net;
} possible_net_t;

struct sock_common {
    volatile __u8 skc_state;
    possible_net_t skc_net;
};

struct kernfs_node {
    __u64 id;
};

struct cgroup {
    struct kernfs_node *kn;
};

struct sock_cgroup_data {
    struct cgroup *cgroup;
};

struct sock {
    struct sock_common __sk_common;
    __u32 sk_pacing_status;
    unsigned long sk_max_pacing_rate;
    struct sock_cgroup_data sk_cgrp_data;
};

struct bpf_iter__tcp {
    struct bpf_iter_meta *meta;
    struct sock_common *sk_common;
};

#pragma clang attribute pop

struct tcp_sock;

/* The context of sockops programs (linux/bpf.h); its layout is part of the kernel's stable interface. */
struct bpf_sock;
struct bpf_sock_ops {
    __u32 op;
    __u32 args[4];
    __u32 family;
    __u32 remote_ip4;            /* addresses in network order */
    __u32 local_ip4;
    __u32 remote_ip6[4];
    __u32 local_ip6[4];
    __u32 remote_port;           /* network order, in the upper half */
    __u32 local_port;            /* host order */
    __u32 others[24];
    __u64 received_and_acked[2];
    struct bpf_sock *sk;
};

/* Helpers by number (linux/bpf.h). */
static void *(*const map_lookup_elem)(void *, const void *) = (void *)1;
static long (*const map_update_elem)(void *, const void *, const void *, __u64) = (void *)2;
static long (*const map_delete_elem)(void *, const void *) = (void *)3;
static __u64 (*const get_socket_cookie)(void *) = (void *)46;
static long (*const set_option)(void *, int, int, const void *, int) = (void *)49;
static long (*const get_option)(void *, int, int, void *, int) = (void *)57;
static long (*const seq_write)(struct seq_file *, const void *, __u32) = (void *)127;
static struct tcp_sock *(*const to_tcp_sock)(void *) = (void *)137;

#define NOEXIST 1
#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47
#define SOL_TCP 6
#define TCP_CONGESTION 13

#define PACING_NONE 0
#define PACING_NEEDED 1

#define AF_INET 2
#define AF_INET6 10
#define ACTIVE_ESTABLISHED 4
#define PASSIVE_ESTABLISHED 5

#define NO_RATE (~0ull)

INLINE void count(__u64 *counter)
{
    __sync_fetch_and_add(counter, 1);
}

INLINE bool is_same(const char *a, const volatile char *b)
{
    for (int i = 0; i < NAME; i++) {
        if (a[i] != b[i])
            return false;
        if (!a[i])
            break;
    }
    return true;
}

/* Chooses a congestion control by its name. */
INLINE long choose(void *where, const volatile char *name)
{
    char copy[NAME];

    for (int i = 0; i < NAME; i++)
        copy[i] = name[i];
    return set_option(where, SOL_TCP, TCP_CONGESTION, copy, NAME);
}

/* Sets the pacing cap. The option has 32 bits here, the largest number meaning none. */
INLINE long cap(void *where, __u64 to)
{
    __u32 value = to >= 0xffffffffull ? 0xffffffffu : (__u32)to;

    return set_option(where, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value));
}

/* Changes a connection and remembers what it had. `where` is what the helpers for options take. */
INLINE void change(void *where, struct sock *sk, __u64 cookie, __u32 flags)
{
    struct change c = {};

    if (map_lookup_elem(&changed, &cookie))
        return;
    if (get_option(where, SOL_TCP, TCP_CONGESTION, c.control, NAME))
        return count(&counters.failed);
    c.rate = sk->sk_max_pacing_rate;
    c.pacing = sk->sk_pacing_status;
    c.namespace_inode = sk->__sk_common.skc_net.net->ns.inum;
    c.flags = flags;
    if (control[0] && !is_same(c.control, control))
        c.flags |= CONTROL;
    if (rate && c.rate != rate)
        c.flags |= RATE;
    if (!(c.flags & (CONTROL | RATE)))
        return;
    /* First remember, then change: what is not remembered cannot be put back. */
    if (map_update_elem(&changed, &cookie, &c, NOEXIST))
        return count(&counters.full);
    if ((c.flags & CONTROL) && choose(where, control)) {
        count(&counters.failed);
        c.flags &= ~CONTROL;
    }
    if ((c.flags & RATE) && cap(where, rate)) {
        count(&counters.failed);
        c.flags &= ~RATE;
    }
    if (c.flags & (CONTROL | RATE))
        map_update_elem(&changed, &cookie, &c, 0);
    else
        map_delete_elem(&changed, &cookie);
}

SEC("iter/tcp") int longfat_list(struct bpf_iter__tcp *iteration)
{
    struct sock_common *common = iteration->sk_common;
    struct sock *sk = common ? (struct sock *)to_tcp_sock(common) : 0;
    struct listed row = {};

    if (!sk)
        return 0;
    row.cookie = get_socket_cookie(sk);
    row.group = sk->sk_cgrp_data.cgroup->kn->id;
    row.rate = sk->sk_max_pacing_rate;
    row.pacing = sk->sk_pacing_status;
    seq_write(iteration->meta->seq, &row, sizeof(row));
    return 0;
}

SEC("iter/tcp") int longfat_change(struct bpf_iter__tcp *iteration)
{
    struct sock_common *common = iteration->sk_common;
    struct sock *sk = common ? (struct sock *)to_tcp_sock(common) : 0;
    __u64 cookie;

    if (!sk)
        return 0;
    cookie = get_socket_cookie(sk);
    if (map_lookup_elem(&wanted, &cookie))
        change(sk, sk, cookie, 0);
    return 0;
}

/* The kernel may run an iterator twice for a socket, so the outcome is in the map and not written. */
SEC("iter/tcp") int longfat_restore(struct bpf_iter__tcp *iteration)
{
    struct sock_common *common = iteration->sk_common;
    struct sock *sk = common ? (struct sock *)to_tcp_sock(common) : 0;
    struct change *c;
    char now[NAME] = {}, before[NAME];
    __u64 cookie;
    __u32 flags, chooses;

    if (!sk)
        return 0;
    cookie = get_socket_cookie(sk);
    c = map_lookup_elem(&changed, &cookie);
    if (!c || (c->flags & DONE))
        return 0;
    flags = c->flags | DONE;
    __builtin_memcpy(before, c->control, NAME);
    if (get_option(sk, SOL_TCP, TCP_CONGESTION, now, NAME))
        flags |= FAILED;
    if ((flags & RATE) && sk->sk_max_pacing_rate != rate)
        flags |= KEPT;
    else if ((flags & RATE) && cap(sk, c->rate))
        flags |= FAILED;
    chooses = flags & CONTROL;
    if (chooses && !is_same(now, control)) {
        flags |= KEPT;
        chooses = 0;
    }
    /* BBR and a pacing cap make a socket paced for good; only a congestion control can end that. */
    if (c->pacing == PACING_NONE && sk->sk_pacing_status == PACING_NEEDED && !(flags & (KEPT | FAILED))) {
        if (unpaced[0] && !choose(sk, unpaced))
            chooses = 1;
        else
            flags |= STAYS_PACED;
    }
    if (chooses && choose(sk, before))
        flags |= FAILED;
    c->flags = flags;
    return 0;
}

/* Context fields are read one at a time, as the verifier wants. */
#define FIELD(context, field) (*(volatile __typeof__((context)->field) *)&(context)->field)

INLINE bool is_selected(struct bpf_sock_ops *ops)
{
    __u32 from[4] = {}, to[4] = {}, family = 4;
    __u16 remote = FIELD(ops, remote_port) >> 16, local = __builtin_bswap16(FIELD(ops, local_port));

    if (!has_listed_port(local, remote))
        return false;
    if (FIELD(ops, family) == AF_INET6) {
        for (int i = 0; i < 4; i++) {
            from[i] = FIELD(ops, local_ip6[i]);
            to[i] = FIELD(ops, remote_ip6[i]);
        }
        family = 6;
        /* IPv4 over an IPv6 socket (::ffff:a.b.c.d). */
        if (!to[0] && !to[1] && to[2] == __builtin_bswap32(0xffff)) {
            from[0] = from[3];
            to[0] = to[3];
            from[2] = from[3] = to[2] = to[3] = 0;
            family = 4;
        }
    } else {
        from[0] = FIELD(ops, local_ip4);
        to[0] = FIELD(ops, remote_ip4);
    }
    return is_listed_host(family, from, to);
}

SEC("sockops") int longfat_new(struct bpf_sock_ops *ops)
{
    __u32 op = FIELD(ops, op);
    struct bpf_sock *socket;
    struct sock *sk;

    if (op != ACTIVE_ESTABLISHED && op != PASSIVE_ESTABLISHED)
        return 1;
    socket = ops->sk;
    sk = socket ? (struct sock *)to_tcp_sock(socket) : 0;
    if (!sk || (namespace_inode && sk->__sk_common.skc_net.net->ns.inum != namespace_inode))
        return 1;
    if (is_selected(ops))
        change(ops, sk, get_socket_cookie(ops), IS_NEW);
    return 1;
}
