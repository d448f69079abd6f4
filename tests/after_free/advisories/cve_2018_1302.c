// CVE-2018-1302, mod_http2 of Apache httpd: when a stream had been handled and was destroyed, the server could still write
// a NULL pointer into it. The fix does not touch a stream behind its end.
#include <pthread.h>
#include <stdlib.h>

struct stream {
    char *request;
    int done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *works(void *argument)
{
    struct stream *stream = argument;
    pthread_mutex_lock(&lock);
#ifdef FIXED
    stream->request = NULL;
    stream->done = 1;
    pthread_mutex_unlock(&lock);
#else
    stream->done = 1;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    stream->request = NULL; /* @use */
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

static void *manages(void *argument)
{
    struct stream *stream = argument;
    for (int tries = 0; tries < 3; tries++) {
        pthread_mutex_lock(&lock);
        int done = stream->done;
        if (done)
            free(stream); /* @free */
        pthread_mutex_unlock(&lock);
        if (done)
            break;
    }
    return NULL;
}

int main(void)
{
    struct stream *stream = calloc(1, sizeof *stream);
    pthread_t worker, manager;
    pthread_create(&worker, NULL, works, stream);
    pthread_create(&manager, NULL, manages, stream);
    pthread_join(worker, NULL);
    pthread_join(manager, NULL);
    return 0;
}
