/* SPDX-License-Identifier: MIT */
/* What the programs of this folder share: names of the kernel's interface, and the selection `--only`. */
#ifndef LONGFAT_SELECT_H
#define LONGFAT_SELECT_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef _Bool bool;
enum { false, true };

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define PARAMETER(type, name) const volatile type name = 0

/* Programs that read the kernel's structs must declare a licence that is compatible with the GPL; MIT is. */
char licence[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
PARAMETER(__u32, host_count);    /* zero: any host */
PARAMETER(__u32, port_count);    /* zero: any port */

#define MAX_TERMS 16
struct host {
    __u32 family;                /* 4 or 6 */
    __u32 address[4];
    __u32 mask[4];
};
const volatile struct host hosts[MAX_TERMS] = {};
const volatile __u16 ports[MAX_TERMS] = {}; /* network order */

INLINE bool is_listed_host(__u32 family, const __u32 *from, const __u32 *to)
{
    if (!host_count)
        return true;
    for (__u32 i = 0; i < MAX_TERMS; i++) {
        __u32 a = 0, b = 0;

        if (i >= host_count)
            break;
        if (hosts[i].family != family)
            continue;
        for (__u32 n = 0; n < 4; n++) {
            a |= (from[n] ^ hosts[i].address[n]) & hosts[i].mask[n];
            b |= (to[n] ^ hosts[i].address[n]) & hosts[i].mask[n];
        }
        if (!a || !b)
            return true;
    }
    return false;
}

/* Whether one of the ports, in network order, is listed. */
INLINE bool has_listed_port(__u16 from, __u16 to)
{
    if (!port_count)
        return true;
    for (__u32 i = 0; i < MAX_TERMS; i++) {
        if (i >= port_count)
            break;
        if (from == ports[i] || to == ports[i])
            return true;
    }
    return false;
}

#endif
