// The harmless twin of answer.c: who asked frees the request itself, after it has read the answer.
#include <pthread.h>
#include <stdlib.h>

struct request {
    int answered;
    int answer;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;

static void *ask(void *argument)
{
    struct request *mine = argument;
    pthread_mutex_lock(&lock);
    while (!mine->answered)
        pthread_cond_wait(&answered, &lock);
    int answer = mine->answer;
    pthread_mutex_unlock(&lock);
    free(mine);
    return answer > 42 ? argument : NULL;
}

static void *reply(void *argument)
{
    struct request *theirs = argument;
    pthread_mutex_lock(&lock);
    theirs->answer = 42;
    theirs->answered = 1;
    pthread_cond_signal(&answered);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    struct request *request = calloc(1, sizeof *request);
    pthread_t asker, server;
    pthread_create(&asker, NULL, ask, request);
    pthread_create(&server, NULL, reply, request);
    pthread_join(asker, NULL);
    pthread_join(server, NULL);
    return 0;
}
