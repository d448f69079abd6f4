// CVE-2016-8655, net/packet/af_packet.c of Linux: PACKET_VERSION could be set while a ring was being set up, since it
// looked for a ring without the socket's lock. A version 3 ring has a timer inside, which is not stopped where the
// version has changed when the ring goes: it fires in freed memory. The fix looks and sets under the lock.
#include <pthread.h>
#include <stdlib.h>

struct ring {
    int timer;
};

static struct {
    pthread_mutex_t lock;
    int version;
    struct ring *ring;
} sock = {PTHREAD_MUTEX_INITIALIZER, 3, NULL};

static pthread_t timer;
static int timer_started;

static void *fires(void *argument)
{
    struct ring *ring = argument;
    pthread_mutex_lock(&sock.lock);
    ring->timer++; /* @use */
    pthread_mutex_unlock(&sock.lock);
    return NULL;
}

static void *sets_ring(void *argument)
{
    pthread_mutex_lock(&sock.lock);
    sock.ring = calloc(1, sizeof *sock.ring);
    if (sock.version == 3) {
        pthread_create(&timer, NULL, fires, sock.ring);
        timer_started = 1;
    }
    pthread_mutex_unlock(&sock.lock);

    // And takes it down again.
    pthread_mutex_lock(&sock.lock);
    struct ring *ring = sock.ring;
    sock.ring = NULL;
    int stops = sock.version == 3;
    pthread_mutex_unlock(&sock.lock);
    if (stops && timer_started) {
        pthread_join(timer, NULL);
        timer_started = 0;
    }
    pthread_mutex_lock(&sock.lock);
    free(ring); /* @free */
    pthread_mutex_unlock(&sock.lock);
    return argument;
}

static void *sets_version(void *argument)
{
    pthread_mutex_lock(&sock.lock);
    int busy = sock.ring != NULL;
#ifndef FIXED
    pthread_mutex_unlock(&sock.lock);
    pthread_mutex_lock(&sock.lock);
#endif
    if (!busy)
        sock.version = 1;
    pthread_mutex_unlock(&sock.lock);
    return argument;
}

int main(void)
{
    pthread_t ring, version;
    pthread_create(&ring, NULL, sets_ring, NULL);
    pthread_create(&version, NULL, sets_version, NULL);
    pthread_join(ring, NULL);
    pthread_join(version, NULL);
    if (timer_started)
        pthread_join(timer, NULL);
    return 0;
}
