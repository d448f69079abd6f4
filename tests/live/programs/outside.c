/* What the program does depends on what comes from outside of it: random bytes, the time, a device.
 *
 * A live run comes to the race only if it gets what the recorded run got. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data, seen, odd;

static void *writer(void *arg) {
    data = 1; /* @write */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *reader(void *arg) {
    unsigned long device = 0;
    int file = open("/dev/urandom", O_RDONLY);
    if (read(file, &device, sizeof device) == sizeof device && device % 2)
        odd++;
    close(file);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    seen = data; /* @read */
    return arg;
}

int main(void) {
    pthread_t threads[2];
    unsigned long bytes[2];
    struct timespec now;
    struct timeval wall;
    time_t seconds;
    if (getrandom(bytes, sizeof bytes, 0) == sizeof bytes && bytes[0] % 2 && bytes[1] % 3)
        odd++;
    /* As programs ask that were written before the C library had the function. */
    if (syscall(SYS_getrandom, bytes, sizeof bytes, 0) == sizeof bytes && bytes[0] % 2 && bytes[1] % 3)
        odd++;
    clock_gettime(CLOCK_MONOTONIC, &now);
    gettimeofday(&wall, NULL);
    time(&seconds);
    /* By their results alone. */
    srand(time(NULL) ^ now.tv_nsec);
    if (rand() % 2)
        odd++;
    if (random() % 3 && clock() % 2)
        odd++;
    if (now.tv_nsec % 2 || wall.tv_usec % 2 || seconds % 2)
        odd++;
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("seen %d, odd %d\n", seen, odd);
    return 0;
}
