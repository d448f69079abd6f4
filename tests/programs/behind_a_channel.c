/* What a thread does behind a message races with a third one: through a pipe, a counter, and pairs of sockets; and what a
 * thread does behind a message that it has sent, or to an object that it has sent, races with who received it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIPE, COUNTER, STREAM, DATAGRAMS, PACKETS, KINDS };

struct object {
    long number, state;
};

static int ends[2], by_pipe, by_counter, by_stream, by_datagram, by_packet, behind[KINDS];

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *sends(void *unused)
{
    uint64_t one = 1;
    must(write(ends[1], &one, sizeof one) == sizeof one);
    return unused;
}

static void *receives(void *kind)
{
    uint64_t one;
    must(read(ends[0], &one, sizeof one) == sizeof one);
    switch ((intptr_t)kind) {
    case PIPE: by_pipe = 1; break;          /* @pipe */
    case COUNTER: by_counter = 1; break;    /* @counter */
    case STREAM: by_stream = 1; break;      /* @stream */
    case DATAGRAMS: by_datagram = 1; break; /* @datagram */
    case PACKETS: by_packet = 1; break;     /* @packet */
    }
    return NULL;
}

static void *stands_beside(void *kind)
{
    switch ((intptr_t)kind) {
    case PIPE: by_pipe = 2; break;          /* @beside_pipe */
    case COUNTER: by_counter = 2; break;    /* @beside_counter */
    case STREAM: by_stream = 2; break;      /* @beside_stream */
    case DATAGRAMS: by_datagram = 2; break; /* @beside_datagram */
    case PACKETS: by_packet = 2; break;     /* @beside_packet */
    }
    return NULL;
}

/* Twice, and something in between that the second message hands over, and something behind both that nothing does. */
static void *sends_twice(void *kind)
{
    sends(NULL);
    behind[(intptr_t)kind] = 1; /* @between */
    sends(NULL);
    behind[(intptr_t)kind] = 2; /* @behind_both */
    return NULL;
}

static void *receives_twice(void *kind)
{
    uint64_t one;
    must(read(ends[0], &one, sizeof one) == sizeof one);
    int early = behind[(intptr_t)kind]; /* @early */
    must(read(ends[0], &one, sizeof one) == sizeof one);
    return early && behind[(intptr_t)kind] ? kind : NULL; /* @handed_over */
}

static void *sends_objects(void *number)
{
    for (int i = 0; i < 2; i++) {
        struct object *object = malloc(sizeof *object);
        object->number = (intptr_t)number; /* @fill */
        must(write(ends[1], &object, sizeof object) == sizeof object);
        if (i == 1)
            object->state = 1; /* @sent */
    }
    return NULL;
}

static void *receives_objects(void *unused)
{
    for (int i = 0; i < 2; i++) {
        struct object *object;
        must(read(ends[0], &object, sizeof object) == sizeof object);
        must(object->number > 0); /* @use */
        object->state = 2;        /* @received */
    }
    return unused;
}

static void open_ends(int kind)
{
    switch (kind) {
    case PIPE: must(pipe(ends) == 0); break;
    case COUNTER: ends[0] = ends[1] = eventfd(0, 0); break;
    case PACKETS: must(pipe2(ends, O_DIRECT) == 0); break;
    default: must(socketpair(AF_UNIX, kind == STREAM ? SOCK_STREAM : SOCK_DGRAM, 0, ends) == 0);
    }
}

int main(void)
{
    pthread_t threads[4];
    for (intptr_t kind = 0; kind < KINDS; kind++) {
        open_ends(kind);
        pthread_create(&threads[0], NULL, receives, (void *)kind);
        pthread_create(&threads[1], NULL, stands_beside, (void *)kind);
        pthread_create(&threads[2], NULL, sends, NULL);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
    }
    for (intptr_t kind = 0; kind < KINDS; kind++) {
        if (kind == COUNTER)
            continue;
        open_ends(kind);
        pthread_create(&threads[0], NULL, receives_twice, (void *)kind);
        pthread_create(&threads[1], NULL, sends_twice, (void *)kind);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
    }
    open_ends(PIPE);
    for (intptr_t i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, sends_objects, (void *)(i + 1));
        pthread_create(&threads[2 + i], NULL, receives_objects, NULL);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
