// A thread that waits for a pipe in calls which the recorder knows and in some which it does not.
#include <pthread.h>
#include <stdio.h>
#include <sys/select.h>
#include <unistd.h>

static int ends[2], got[3];

static void *reader(void *unused) {
    char byte;
    fd_set set;
    for (int i = 0; i < 2; i++) { read(ends[0], &byte, 1); got[i] = byte; }
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    select(ends[0] + 1, &set, 0, 0, 0);
    FILE *file = fdopen(ends[0], "r");
    got[2] = getc(file);
    return unused;
}

int main(void) {
    pthread_t t;
    pipe(ends);
    pthread_create(&t, 0, reader, 0);
    for (char c = 'a'; c <= 'c'; c++) { usleep(2000); write(ends[1], &c, 1); }
    pthread_join(t, 0);
    return got[0] == 'a' && got[1] == 'b' && got[2] == 'c' ? 0 : 1;
}
