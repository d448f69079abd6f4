// What one thread writes before it gives another leave to go on, by System V semaphores, by message queues of both kinds or by the lock
// of a file, that one may read after it: the kernel orders the two. What happens after it races.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

struct message {
    long type;
    char text[8];
};

static int semaphores, messages, locked[2];
static mqd_t queue;
static int by_semaphore, by_zero, by_message, by_queue, by_lock, late;

static int operate(int number, int by) {
    struct sembuf operation = {.sem_num = number, .sem_op = by};
    return semop(semaphores, &operation, 1);
}

static void *reader(void *unused) {
    struct message message;
    char text[16];
    unsigned priority;
    operate(0, -1);
    int sum = by_semaphore; /* @read_semaphore */
    operate(1, 0);
    sum += by_zero; /* @read_zero */
    msgrcv(messages, &message, sizeof message.text, 0, 0);
    sum += by_message; /* @read_message */
    mq_receive(queue, text, sizeof text, &priority);
    sum += by_queue; /* @read_queue */
    flock(locked[1], LOCK_EX);
    by_lock++; /* @lock_reader */
    flock(locked[1], LOCK_UN);
    operate(2, 1);
    late++; /* @late_reader */
    return sum == 4 ? unused : &late;
}

int main(void) {
    pthread_t t;
    struct message message = {.type = 1, .text = "go"};
    struct mq_attr sizes = {.mq_maxmsg = 1, .mq_msgsize = 16};
    char name[64], path[] = "/tmp/witness-locked.XXXXXX";
    snprintf(name, sizeof name, "/witness-%d", getpid());
    semaphores = semget(IPC_PRIVATE, 3, 0600);
    semctl(semaphores, 1, SETVAL, 1);
    messages = msgget(IPC_PRIVATE, 0600);
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &sizes);
    mq_unlink(name);
    locked[0] = mkstemp(path);
    locked[1] = open(path, O_RDWR);
    unlink(path);
    if (semaphores < 0 || messages < 0 || queue < 0 || locked[1] < 0) return 1;
    pthread_create(&t, NULL, reader, NULL);
    by_semaphore = 1; /* @write_semaphore */
    operate(0, 1);
    by_zero = 1; /* @write_zero */
    operate(1, -1);
    by_message = 1; /* @write_message */
    msgsnd(messages, &message, sizeof message.text, 0);
    by_queue = 1; /* @write_queue */
    mq_send(queue, "go", 3, 0);
    flock(locked[0], LOCK_EX);
    by_lock++; /* @lock_main */
    flock(locked[0], LOCK_UN);
    operate(2, -1);
    msgctl(messages, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    late++; /* @late_main */
    pthread_join(t, NULL);
    return 0;
}
