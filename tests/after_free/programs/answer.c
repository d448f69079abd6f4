// Who asked is woken, and reads the answer after it has the lock again; who answered frees the request as soon as it can.
#include <pthread.h>
#include <stdlib.h>

struct request {
    int answered;
    int answer;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct request *request;

static void *ask(void *argument)
{
    struct request *mine = request;
    pthread_mutex_lock(&lock);
    while (!mine->answered)
        pthread_cond_wait(&answered, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    int answer = mine->answer; /* @use */
    pthread_mutex_unlock(&lock);
    return answer > 42 ? argument : NULL;
}

static void *reply(void *argument)
{
    struct request *theirs = argument;
    pthread_mutex_lock(&lock);
    theirs->answer = 42;
    theirs->answered = 1;
    pthread_cond_broadcast(&answered);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *clean(void *argument)
{
    struct request *old = argument;
    pthread_mutex_lock(&lock);
    while (!old->answered)
        pthread_cond_wait(&answered, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    free(old); /* @free */
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    request = calloc(1, sizeof *request);
    pthread_t asker, cleaner, server;
    pthread_create(&asker, NULL, ask, NULL);
    pthread_create(&cleaner, NULL, clean, request);
    pthread_create(&server, NULL, reply, request);
    pthread_join(asker, NULL);
    pthread_join(cleaner, NULL);
    pthread_join(server, NULL);
    return 0;
}
