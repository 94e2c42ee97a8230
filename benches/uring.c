/* Cost of a proxy's data path with epoll and splice, and with io_uring: one thread, only bytes in both directions.
 *
 *   uring splice|copy|uring PORT UPSTREAM_PORT
 *
 * splice  as crates/machine/proxy/src/direction.rs: edge-triggered epoll; copies through a buffer of 8 kB, and splices through a
 *         pipe of 256 kB from a read that fills the buffer until a read finds nothing
 * copy    the same with a buffer of 64 kB and no pipe
 * uring   io_uring: a receive into the direction's buffer of 64 kB, then a send of all of it (MSG_WAITALL), then the next; one
 *         io_uring_enter for all that is ready (IORING_SETUP_COOP_TASKRUN, DEFER_TASKRUN, SINGLE_ISSUER). io_uring's splice
 *         is no alternative: it always runs in a worker thread (io_uring/splice.c, IOSQE_ASYNC)
 *
 * Differences from the proxy: it connects to the server at once, has no half-close, and ends a pair when one side ends. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SMALL = 8 << 10, LARGE = 64 << 10, PIPE = 256 << 10, MAX_PAIRS = 4096, MAX_BYTES_PER_TURN = 1 << 20 };

/* One direction: from one socket to the other. */
struct lane {
    int from, to, pipe[2];
    char *buffer;
    int size, held, at; /* bytes in the buffer, from `at` on */
    int piped;          /* bytes in the pipe */
    bool splices, readable, writable;
};

struct pair {
    struct lane lane[2];
    bool dead;
    int pending; /* uring: operations that have not completed */
};

static struct pair *pairs[MAX_PAIRS];
static int count;
static struct sockaddr_in upstream;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int open_socket(struct sockaddr_in at, bool listens) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (listens ? bind(fd, (void *)&at, sizeof at) || listen(fd, 1024) : connect(fd, (void *)&at, sizeof at))
        die("socket");
    return fd;
}

static struct pair *new_pair(int client, int size, bool blocking) {
    struct pair *p = calloc(1, sizeof *p);
    int server = open_socket(upstream, false), ends[2] = {client, server};
    for (int i = 0; i < 2; i++) {
        struct lane *l = &p->lane[i];
        *l = (struct lane){.from = ends[i], .to = ends[!i], .size = size, .writable = true, .readable = true};
        l->buffer = malloc(size);
        l->pipe[0] = -1;
        if (!blocking)
            fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    if (count == MAX_PAIRS)
        exit(1);
    return pairs[count++] = p;
}

/* Moves bytes. 1: there may be more to move, 0: waits for a socket, -1: the direction has ended. */
static int pump(struct lane *l, bool may_splice) {
    for (int moved = 0; moved < MAX_BYTES_PER_TURN;) {
        while (l->held || l->piped) {
            if (!l->writable)
                return 0;
            ssize_t n = l->piped ? splice(l->pipe[0], NULL, l->to, NULL, l->piped, SPLICE_F_NONBLOCK | SPLICE_F_MOVE)
                                 : send(l->to, l->buffer + l->at, l->held, MSG_NOSIGNAL);
            if (n < 0 && errno == EAGAIN) {
                l->writable = false;
                return 0;
            }
            if (n <= 0)
                return -1;
            moved += n;
            if (l->piped)
                l->piped -= n;
            else
                l->at += n, l->held -= n;
        }
        if (!l->readable)
            return 0;
        if (l->splices && l->pipe[0] < 0) {
            if (pipe2(l->pipe, O_NONBLOCK))
                die("pipe");
            fcntl(l->pipe[1], F_SETPIPE_SZ, PIPE);
        }
        ssize_t n = l->splices ? splice(l->from, NULL, l->pipe[1], NULL, PIPE, SPLICE_F_NONBLOCK | SPLICE_F_MOVE)
                               : recv(l->from, l->buffer, l->size, 0);
        if (n < 0 && errno == EAGAIN) {
            l->readable = l->splices = false;
            return 0;
        }
        if (n <= 0)
            return -1;
        if (l->splices) {
            l->piped = n;
            continue;
        }
        l->at = 0, l->held = n;
        if (n == l->size)
            l->splices = may_splice;
        else
            l->readable = false;
    }
    return 1;
}

static void by_epoll(int listener, bool may_splice) {
    int queue = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = ~0ull}, events[256];
    epoll_ctl(queue, EPOLL_CTL_ADD, listener, &e);
    bool more = false;
    for (;;) {
        int n = epoll_wait(queue, events, 256, more ? 0 : -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == ~0ull) {
                struct pair *p = new_pair(accept(listener, NULL, NULL), may_splice ? SMALL : LARGE, false);
                for (int s = 0; s < 2; s++) {
                    e = (struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP,
                                             .data.u64 = (count - 1) * 2ull + s};
                    epoll_ctl(queue, EPOLL_CTL_ADD, p->lane[s].from, &e);
                }
                continue;
            }
            struct pair *p = pairs[events[i].data.u64 / 2];
            int s = events[i].data.u64 & 1;
            p->lane[s].readable |= !!(events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP));
            p->lane[!s].writable |= !!(events[i].events & EPOLLOUT);
        }
        more = false;
        for (int i = 0; i < count; i++)
            for (int s = 0; s < 2 && !pairs[i]->dead; s++) {
                int state = pump(&pairs[i]->lane[s], may_splice);
                more |= state > 0;
                if (state < 0) {
                    pairs[i]->dead = true;
                    close(pairs[i]->lane[0].from), close(pairs[i]->lane[1].from);
                }
            }
    }
}

static struct io_uring ring;

static struct io_uring_sqe *next_entry(void) {
    struct io_uring_sqe *q;
    while (!(q = io_uring_get_sqe(&ring)))
        io_uring_submit(&ring);
    return q;
}

/* Submits a lane's next operation: a send of what its buffer holds, or else a receive. */
static void submit_next(int pair, int side) {
    struct pair *p = pairs[pair];
    struct lane *l = &p->lane[side];
    struct io_uring_sqe *q = next_entry();
    if (l->held)
        io_uring_prep_send(q, l->to, l->buffer, l->held, MSG_WAITALL | MSG_NOSIGNAL);
    else
        io_uring_prep_recv(q, l->from, l->buffer, l->size, 0);
    q->user_data = pair * 2ull + side;
    p->pending++;
}

static void by_uring(int listener) {
    struct io_uring_params params = {.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER};
    if (io_uring_queue_init_params(1024, &ring, &params))
        die("io_uring");
    struct io_uring_sqe *accepts = next_entry();
    io_uring_prep_multishot_accept(accepts, listener, NULL, NULL, 0);
    accepts->user_data = ~0ull;
    for (;;) {
        io_uring_submit_and_wait(&ring, 1);
        struct io_uring_cqe *c;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&ring, head, c) {
            seen++;
            if (c->user_data == ~0ull) {
                new_pair(c->res, LARGE, true);
                submit_next(count - 1, 0), submit_next(count - 1, 1);
                continue;
            }
            int pair = c->user_data / 2, side = c->user_data & 1;
            struct pair *p = pairs[pair];
            struct lane *l = &p->lane[side];
            p->pending--;
            if (c->res <= 0 || p->dead) {
                if (!p->dead)
                    shutdown(l->from, SHUT_RDWR), shutdown(l->to, SHUT_RDWR);
                p->dead = true;
                if (!p->pending)
                    close(l->from), close(l->to);
                continue;
            }
            l->held = l->held ? 0 : c->res;
            submit_next(pair, side);
        }
        io_uring_cq_advance(&ring, seen);
    }
}

int main(int argc, char **argv) {
    if (argc != 4)
        return fprintf(stderr, "usage: uring splice|copy|uring PORT UPSTREAM_PORT\n"), 2;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    upstream = at, upstream.sin_port = htons(atoi(argv[3]));
    int listener = open_socket(at, true);
    if (!strcmp(argv[1], "uring"))
        by_uring(listener);
    else
        by_epoll(listener, !strcmp(argv[1], "splice"));
}
