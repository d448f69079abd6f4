/* What a thread does depends on what it reads from streams, which is something else in each run, and of another length. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A number, and lines of as many digits; few enough for the room that getline makes at first. */
static const char command[] = "n=$(($(od -An -N1 -tu1 /dev/urandom) % 90)); printf '%d\\n%0*d\\n%0*d\\n%d %0*d\\n' "
                              "$n $((n + 1)) $n $((n + 2)) $n $n $((n + 3)) $n";

static void *other(void *unused)
{
    char first[400], second[400], word[400], bytes[8];
    char *line = NULL;
    size_t room = 0;
    int number = 0;
    FILE *lines = popen(command, "r");
    if (!lines || !fgets(first, sizeof first, lines) || !fgets(second, sizeof second, lines))
        exit(9);
    ssize_t len = getline(&line, &room, lines);
    if (len < 0 || fscanf(lines, "%d %399s", &number, word) != 2)
        exit(9);
    pclose(lines);
    FILE *random = fopen("/dev/urandom", "r");
    if (!random || fread(bytes, 1, sizeof bytes, random) != sizeof bytes)
        exit(9);
    fclose(random);
    printf("%sof %zu, %zd and %zu, %d, and %d\n", first, strlen(second), len, strlen(word), number, bytes[0]);
    free(line);
    for (size_t rounds = (strlen(second) + (size_t)number + (unsigned char)bytes[1]) % 8; rounds > 0; rounds--) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    shared = 1; /* a */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    shared = 2; /* b */
    pthread_join(thread, NULL);
    return 0;
}
