/* A path between two network namespaces that shares no code with longfat's own: it moves packets between two TUN
 * devices, and does this to each direction, in this order: drops packets above a size, drops at random, drops what
 * exceeds a token bucket (a policer), delays what exceeds a rate in a queue (a shaper, or a link if the bucket is one
 * packet), and delays all packets.
 *
 *     emulator NETNS_A DEVICE_A NETNS_B DEVICE_B A_TO_B B_TO_A
 *
 * A direction is a list of KEY=NUMBER with commas: delay (us), mtu (bytes), loss (share), seed, police (bit/s) and
 * bucket (bytes), rate (bit/s), burst (bytes), queue (bytes), fair (1: deficit round robin, RFC 8290 section 4.1,
 * without CoDel). It prints "ready" when the devices exist, and ends when its standard input does.
 *
 * Packets leave at their scheduled times: a late wake-up does not move the schedule of those that follow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { FLOWS = 64, QUANTUM = 1500, MAX_PACKET = 65536, ROUND = 64 };

typedef struct packet {
    struct packet *next;
    int64_t at; /* when it arrived, or when it leaves, ns */
    int size;
    unsigned char data[];
} packet;

typedef struct {
    packet *first, *last;
    int64_t bytes, deficit;
    int is_active;
} fifo;

typedef struct {
    double delay_us, mtu, loss, seed, police, bucket, rate, burst, queue, fair;
    double police_tokens, tokens;
    int64_t police_at, tokens_at;
    uint64_t random;
    fifo flows[FLOWS], delayed;
    int order[FLOWS], active; /* the flows with packets, in their turn */
    int64_t held;
    int to;
} direction;

static void fail(const char *what) {
    fprintf(stderr, "emulator: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void push(fifo *f, packet *p) {
    p->next = NULL;
    if (f->last) f->last->next = p; else f->first = p;
    f->last = p;
    f->bytes += p->size;
}

static packet *pop(fifo *f) {
    packet *p = f->first;
    f->first = p->next;
    if (!f->first) f->last = NULL;
    f->bytes -= p->size;
    return p;
}

/* xorshift64* (Vigna, 2016), 0 to 1. */
static double uniform(direction *d) {
    d->random ^= d->random >> 12;
    d->random ^= d->random << 25;
    d->random ^= d->random >> 27;
    return (double)((d->random * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

static void refill(double *tokens, int64_t *at, double rate, double most, int64_t now) {
    if (now <= *at) return;
    *tokens += (double)(now - *at) * rate / 8e9;
    if (*tokens > most) *tokens = most;
    *at = now;
}

/* The flow of an IPv4 packet: its addresses and ports. */
static unsigned flow_of(const direction *d, const packet *p) {
    if (!d->fair || p->size < 24 || p->data[0] >> 4 != 4) return 0;
    uint32_t hash = p->data[9];
    for (int i = 12; i < 24; i++) hash = hash * 31 + p->data[i];
    return hash % FLOWS;
}

static void depart(direction *d, packet *p, int64_t at) {
    p->at = at + (int64_t)(d->delay_us * 1e3);
    push(&d->delayed, p);
}

static void arrive(direction *d, packet *p, int64_t now) {
    if ((d->mtu > 0 && p->size > d->mtu) || (d->loss > 0 && uniform(d) < d->loss)) {
        free(p);
        return;
    }
    if (d->police > 0) {
        refill(&d->police_tokens, &d->police_at, d->police, d->bucket, now);
        if (d->police_tokens < p->size) {
            free(p);
            return;
        }
        d->police_tokens -= p->size;
    }
    if (d->rate <= 0) {
        depart(d, p, now);
        return;
    }
    unsigned n = flow_of(d, p);
    if (d->held + p->size > d->queue) {
        /* A fair queue drops from the longest flow, a FIFO what arrives. */
        unsigned longest = n;
        for (unsigned i = 0; d->fair && i < FLOWS; i++)
            if (d->flows[i].bytes > d->flows[longest].bytes) longest = i;
        if (!d->fair || !d->flows[longest].first) {
            free(p);
            return;
        }
        packet *dropped = pop(&d->flows[longest]);
        d->held -= dropped->size;
        free(dropped);
    }
    p->at = now;
    push(&d->flows[n], p);
    d->held += p->size;
    if (!d->flows[n].is_active) {
        d->flows[n].is_active = 1;
        d->flows[n].deficit = QUANTUM;
        d->order[d->active++] = (int)n;
    }
}

/* The flow whose packet leaves next; -1 without one. */
static int next_flow(direction *d) {
    while (d->active) {
        fifo *f = &d->flows[d->order[0]];
        int n = d->order[0];
        if (f->first && f->deficit >= f->first->size) return n;
        memmove(d->order, d->order + 1, sizeof(int) * (size_t)--d->active);
        if (!f->first) {
            f->is_active = 0;
            continue;
        }
        f->deficit += QUANTUM;
        d->order[d->active++] = n;
    }
    return -1;
}

/* Serves the queue up to now; returns when it must be served next, or -1. */
static int64_t serve(direction *d, int64_t now) {
    for (int n; (n = next_flow(d)) >= 0;) {
        fifo *f = &d->flows[n];
        packet *p = f->first;
        int64_t from = p->at > d->tokens_at ? p->at : d->tokens_at;
        double most = d->burst > p->size ? d->burst : p->size;
        double have = d->tokens + (double)(from - d->tokens_at) * d->rate / 8e9;
        if (have > most) have = most;
        int64_t due = from + (have >= p->size ? 0 : (int64_t)((p->size - have) * 8e9 / d->rate));
        if (due > now) return due;
        refill(&d->tokens, &d->tokens_at, d->rate, most, due);
        d->tokens -= p->size;
        pop(f);
        f->deficit -= p->size;
        d->held -= p->size;
        depart(d, p, due);
    }
    return -1;
}

static int64_t deliver(direction *d, int64_t now) {
    while (d->delayed.first) {
        if (d->delayed.first->at > now) return d->delayed.first->at;
        packet *p = pop(&d->delayed);
        if (write(d->to, p->data, (size_t)p->size) < 0 && errno != EAGAIN && errno != EIO) fail("write");
        free(p);
    }
    return -1;
}

static void parse(direction *d, char *text) {
    struct { const char *key; double *value; } keys[] = {
        {"delay", &d->delay_us}, {"mtu", &d->mtu}, {"loss", &d->loss}, {"seed", &d->seed},
        {"police", &d->police}, {"bucket", &d->bucket}, {"rate", &d->rate}, {"burst", &d->burst},
        {"queue", &d->queue}, {"fair", &d->fair},
    };
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        char *value = strchr(word, '=');
        size_t i = 0, count = sizeof keys / sizeof *keys;
        while (value && i < count && strncmp(word, keys[i].key, (size_t)(value - word))) i++;
        if (!value || i == count) {
            fprintf(stderr, "emulator: %s: not a KEY=NUMBER that is known\n", word);
            exit(2);
        }
        *keys[i].value = atof(value + 1);
    }
    d->police_tokens = d->bucket;
    d->tokens = d->burst;
    d->random = (uint64_t)d->seed * 2654435761u + 88172645463325252ULL;
    d->police_at = d->tokens_at = now_ns();
}

static int open_tun(const char *netns, const char *device) {
    int ns = open(netns, O_RDONLY | O_CLOEXEC);
    if (ns < 0 || setns(ns, CLONE_NEWNET) < 0) fail(netns);
    close(ns);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) fail("/dev/net/tun");
    struct ifreq request = {0};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    if (ioctl(fd, TUNSETIFF, &request) < 0) fail(device);
    return fd;
}

static int64_t earlier(int64_t a, int64_t b) { return a < 0 ? b : b < 0 || a < b ? a : b; }

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: emulator NETNS_A DEVICE_A NETNS_B DEVICE_B A_TO_B B_TO_A\n");
        return 2;
    }
    static direction both[2];
    static unsigned char buffer[MAX_PACKET];
    int tun[2] = {open_tun(argv[1], argv[2]), open_tun(argv[3], argv[4])};
    for (int i = 0; i < 2; i++) {
        parse(&both[i], argv[5 + i]);
        both[i].to = tun[1 - i];
    }
    prctl(PR_SET_TIMERSLACK, 1);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t now = now_ns(), due = -1;
        for (int i = 0; i < 2; i++) {
            int64_t served = serve(&both[i], now);
            due = earlier(due, earlier(served, deliver(&both[i], now)));
        }
        int64_t wait = due < 0 ? 1000000000 : due - now_ns();
        if (wait < 0) wait = 0;
        struct timespec timeout = {wait / 1000000000, wait % 1000000000};
        struct pollfd fds[3] = {{tun[0], POLLIN, 0}, {tun[1], POLLIN, 0}, {0, POLLIN, 0}};
        if (ppoll(fds, 3, &timeout, NULL) < 0 && errno != EINTR) fail("ppoll");
        if (fds[2].revents) return 0;
        for (int i = 0; i < 2; i++) {
            for (int n = 0; n < ROUND && fds[i].revents; n++) {
                ssize_t size = read(tun[i], buffer, sizeof buffer);
                if (size <= 0) break;
                packet *p = malloc(sizeof *p + (size_t)size);
                if (!p) fail("malloc");
                p->size = (int)size;
                memcpy(p->data, buffer, (size_t)size);
                arrive(&both[i], p, now_ns());
            }
        }
    }
}
