/* A schedule may stop a thread within a call that gives a descriptor, or have others write to a channel between what a
   read finds and what it takes. The program makes such calls at once: a live run finds an order in which it can. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listening[2], connected[2], boxes[2];
static struct sockaddr_un names[2];
static socklen_t lengths[2];
static int over_first, over_second, beside, sent_first, sent_second, next;

static void must(int holds)
{
    if (!holds)
        abort();
}

/* A name that is in no file system. */
static void bound(int file, const char *word, int at)
{
    memset(&names[at], 0, sizeof names[at]);
    names[at].sun_family = AF_UNIX;
    int len = snprintf(names[at].sun_path + 1, sizeof names[at].sun_path - 1, "split_calls %s%d %d", word, at, (int)getpid());
    lengths[at] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    must(bind(file, (struct sockaddr *)&names[at], lengths[at]) == 0);
}

static void *writes_first(void *unused)
{
    over_first = 1; /* @over_first */
    must(write(connected[0], "x", 1) == 1);
    beside = 1; /* @beside_first */
    return unused;
}

/* The number that is closed is given out again. */
static void *writes_second(void *unused)
{
    over_second = 1; /* @over_second */
    must(write(connected[1], "x", 1) == 1);
    close(connected[1]);
    return unused;
}

static void *accepts_first(void *unused)
{
    char byte;
    int file = accept(listening[0], NULL, NULL);
    must(read(file, &byte, 1) == 1);
    must(over_first == 1); /* @sees_first */
    return unused;
}

static void *accepts_second(void *unused)
{
    char byte;
    int file = accept(listening[1], NULL, NULL);
    must(read(file, &byte, 1) == 1);
    must(over_second == 1); /* @sees_second */
    beside = 2;             /* @beside_second */
    return unused;
}

static void *sends_first(void *unused)
{
    int file = socket(AF_UNIX, SOCK_DGRAM, 0);
    sent_first = 1; /* @sends_first */
    must(sendto(file, "x", 1, 0, (struct sockaddr *)&names[0], lengths[0]) == 1);
    next = 1; /* @next_first */
    return unused;
}

static void *sends_second(void *unused)
{
    int file = socket(AF_UNIX, SOCK_DGRAM, 0);
    must(connect(file, (struct sockaddr *)&names[1], lengths[1]) == 0);
    sent_second = 1; /* @sends_second */
    must(send(file, "x", 1, 0) == 1);
    return unused;
}

static void *receives_first(void *unused)
{
    char byte;
    must(recv(boxes[0], &byte, 1, 0) == 1);
    must(sent_first == 1); /* @receives_first */
    return unused;
}

static void *receives_second(void *unused)
{
    char byte;
    must(recv(boxes[1], &byte, 1, 0) == 1);
    must(sent_second == 1); /* @receives_second */
    next = 2;               /* @next_second */
    return unused;
}

static void run(void *(*const roles[4])(void *))
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        listening[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        bound(listening[i], "stream", i);
        must(listen(listening[i], 1) == 0);
        connected[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        must(connect(connected[i], (struct sockaddr *)&names[i], lengths[i]) == 0);
    }
    run((void *(*const[])(void *)){writes_first, writes_second, accepts_first, accepts_second});
    for (int i = 0; i < 2; i++) {
        boxes[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
        bound(boxes[i], "box", i);
    }
    run((void *(*const[])(void *)){sends_first, sends_second, receives_first, receives_second});
    return 0;
}
